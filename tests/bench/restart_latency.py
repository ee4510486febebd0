#!/usr/bin/env python3
"""restart_latency.py [--restarts 20] [--ranks 2] [--muster build/release/src/app/muster]

How long from kill -9 of a rank to its successor's first instruction, and from the start of the
launcher to a rank's first instruction over the bare start of the same program. Medians, in ms.
Ranks are shells: what is measured is Muster, not Python."""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

RANK = """#!/bin/sh
date +%s%N > "$NOTES/$RANK.$MUSTER_GENERATION.tmp"
echo $$ >> "$NOTES/$RANK.$MUSTER_GENERATION.tmp"
mv "$NOTES/$RANK.$MUSTER_GENERATION.tmp" "$NOTES/$RANK.$MUSTER_GENERATION"
[ "$MUSTER_GENERATION" -gt "$LAST" ] && exit 0
exec sleep 600
"""


def read_note(folder, rank, generation, limit=30):
    path = os.path.join(folder, f"{rank}.{generation}")
    deadline = time.monotonic() + limit
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise SystemExit(f"no {path} within {limit} s")
        # Allowed time.sleep here: a file has no event, and the look is what is measured with.
        time.sleep(0.001)
    with open(path, encoding="ascii") as file:
        at, pid = file.read().split()
    return int(at), int(pid)


def summary(name, values):
    values = [value / 1e6 for value in values]
    print(f"{name}: median {statistics.median(values):.1f} ms, worst {max(values):.1f} ms, n={len(values)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--muster", default="build/release/src/app/muster")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="muster-bench-")
    script = os.path.join(folder, "rank.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write(RANK)
    os.chmod(script, 0o755)
    env = {**os.environ, "NOTES": folder}

    def launch(last):
        return subprocess.Popen(
            [args.muster, "launch", "--nproc-per-node", str(args.ranks), "--no-python",
             script],
            env={**env, "LAST": str(last)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    bare, started = [], []
    for i in range(args.starts):
        began = time.time_ns()
        subprocess.run([script], check=True,
                       env={**env, "LAST": "0", "RANK": f"bare{i}", "MUSTER_GENERATION": "1"})
        bare.append(read_note(folder, f"bare{i}", 1)[0] - began)
        began = time.time_ns()
        launcher = launch(0)
        started.append(read_note(folder, 0, 1)[0] - began)
        launcher.wait()
        for rank in range(args.ranks):
            os.unlink(os.path.join(folder, f"{rank}.1"))

    # One restart a launch: a second failure without a new step would wait on purpose.
    restarted = []
    for _ in range(args.restarts):
        launcher = launch(1)
        victim = [read_note(folder, rank, 1)[1] for rank in range(args.ranks)][-1]
        began = time.time_ns()
        os.kill(victim, signal.SIGKILL)
        restarted.append(read_note(folder, args.ranks - 1, 2)[0] - began)
        if launcher.wait() != 0:
            raise SystemExit(f"the launcher ended with {launcher.returncode}")
        for name in os.listdir(folder):
            if name[0].isdigit():
                os.unlink(os.path.join(folder, name))
    shutil.rmtree(folder)
    summary("bare start of the program", bare)
    summary("start of muster launch to a rank's first line", started)
    summary("kill -9 of a rank to its successor's first line", restarted)


if __name__ == "__main__":
    main()
