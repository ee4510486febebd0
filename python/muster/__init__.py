"""What a training script tells Muster. Works unchanged without Muster: then every call does nothing.

    import muster

    for step in range(start, total):
        loss = train(batch)
        muster.progress(step=step, total=total, loss=loss, samples=len(batch))
        if step % 100 == 0:
            with muster.phase("checkpoint"):
                save(muster.checkpoint_dir())

Python 3.9 and later, no dependencies; one call costs about a microsecond, most of it in ctypes.
"""

import contextlib
import ctypes
import os

__all__ = ["progress", "phase", "checkpoint_dir", "active", "generation", "restarts"]

_library = None
_phase = None  # begun by progress(phase=...)


def _load():
    path = os.environ.get("MUSTER_LIBRARY")
    if not path or not os.environ.get("MUSTER_PROGRESS_PAGE"):
        return None
    try:
        library = ctypes.CDLL(path)
        library.muster_progress.argtypes = [ctypes.c_int64] * 3 + [ctypes.c_double, ctypes.c_int]
        library.muster_metric.argtypes = [ctypes.c_char_p, ctypes.c_double]
        library.muster_phase_begin.argtypes = [ctypes.c_char_p]
        return library if library.muster_open() == 0 else None
    except (OSError, AttributeError):
        return None  # training matters more than reporting


_library = _load()


def active():
    """True where this process is a rank of Muster and its progress is read."""
    return _library is not None


def generation():
    """Counts the starts of this attempt's ranks from 1; 1 outside Muster."""
    return int(os.environ.get("MUSTER_GENERATION") or 1)


def restarts():
    """How often this job was restarted before; 0 outside Muster."""
    return int(os.environ.get("MUSTER_RESTARTS") or 0)


def _number(value):
    """A float of what may be a tensor or an array of one element."""
    return float(value.item() if hasattr(value, "item") else value)


def progress(step=None, total=None, loss=None, samples=None, metrics=None, phase=None):
    """Tells that a step was done.

    step     counts from 0 over the whole job, also after a restart
    total    steps that the job will do
    loss     a number or a tensor of one element
    samples  of this step on this rank
    metrics  {"name": number}, at most 16 names; the newest values count
    phase    names what the rank does from now on ("" ends it); phase() is the scoped form
    """
    if _library is None:
        return
    for name, value in (metrics or {}).items():
        _library.muster_metric(str(name).encode(), _number(value))
    if phase is not None:
        _set_phase(phase)
    if step is not None:
        _library.muster_progress(
            int(step),
            int(total or 0),
            int(samples or 0),
            0.0 if loss is None else _number(loss),
            0 if loss is None else 1,
        )


def _set_phase(name):
    global _phase
    if name == _phase:
        return
    if _phase:
        _library.muster_phase_end()
    _phase = name or None
    if _phase:
        _library.muster_phase_begin(_phase.encode())


@contextlib.contextmanager
def phase(name):
    """Time inside counts for the phase: with muster.phase("checkpoint"): ..."""
    if _library is None:
        yield
        return
    _library.muster_phase_begin(str(name).encode())
    try:
        yield
    finally:
        _library.muster_phase_end()


def checkpoint_dir():
    """A folder of this job that survives restarts; made if it is not there yet.

    Under Muster it is MUSTER_CHECKPOINT_DIR, the same for all attempts of the job on this machine;
    without, ./checkpoints or what that variable says.
    """
    path = os.environ.get("MUSTER_CHECKPOINT_DIR") or os.path.join(os.getcwd(), "checkpoints")
    os.makedirs(path, exist_ok=True)
    return path
