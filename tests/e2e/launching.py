"""LaunchTest: `muster launch` alone with ranks that are small scripts, for one test. Scripts leave notes as
files; a test waits for those and for processes, never for time."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from cluster import MUSTER, until

LAUNCH_LIMIT_S = 120

# Helpers for rank scripts.
PRELUDE = """
import os, signal, socket, subprocess, sys, threading
rank, generation = int(os.environ["RANK"]), int(os.environ["MUSTER_GENERATION"])
def note(name, text=""):
    path = os.path.join(os.environ["NOTES"], f"{name}.{rank}.{generation}")
    with open(path + ".tmp", "w") as file: file.write(str(text))
    os.rename(path + ".tmp", path)
def forever():
    threading.Event().wait()
def until(found):  # files of other ranks have no event
    while not found(): threading.Event().wait(0.01)
def noted(name, rank, generation):
    return os.path.exists(os.path.join(os.environ["NOTES"], f"{name}.{rank}.{generation}"))
"""


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="muster-launch-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.notes = os.path.join(self.folder, "notes")
        os.mkdir(self.notes)

    def script(self, body, name="rank.py"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(PRELUDE + textwrap.dedent(body))
        return path

    def start(self, ranks, command, *flags, **env):
        command = command if isinstance(command, list) else [command]
        process = subprocess.Popen(
            [MUSTER, "launch", "--nproc-per-node", str(ranks), *flags, *command],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
            env={**os.environ, "NOTES": self.notes, "MUSTER_PYTHON": sys.executable, **env})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def launch(self, ranks, command, *flags, **env):
        process = self.start(ranks, command, *flags, **env)
        output, _ = process.communicate(timeout=LAUNCH_LIMIT_S)
        return process.returncode, output

    def note(self, name, rank, generation=1):
        """What a rank noted, once it has."""
        path = os.path.join(self.notes, f"{name}.{rank}.{generation}")
        until(lambda: os.path.exists(path), 60, path)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def noted(self, name):
        return sorted(file for file in os.listdir(self.notes) if file.startswith(name + "."))
