"""examples/charlm/train.py: learns, resumes to the same weights, and sees the same samples on any
number of ranks. Runs it as a person would, without Muster."""

import functools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("MUSTER_SOURCE", os.path.join(os.path.dirname(__file__), "../.."))
TRAIN = os.path.join(SOURCE, "examples/charlm/train.py")
SMALL = ["--steps", "12", "--batch", "6", "--context", "16", "--width", "16", "--layers", "1",
         "--megabytes", "0.05", "--log-every", "1", "--checkpoint-every", "6", "--sample", "20"]
LIMIT_S = 100


@functools.cache
def python_with_torch():
    for python in filter(None, (os.environ.get("MUSTER_PYTHON"), sys.executable, "python3", "/usr/bin/python3")):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", "import torch"], capture_output=True).returncode == 0:
            return found
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class CharLm(unittest.TestCase):
    def setUp(self):
        if not python_with_torch():
            self.skipTest("no Python here can import torch (apt-get install python3-torch)")
        self.folder = tempfile.mkdtemp(prefix="charlm-")
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *options, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        env.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", PYTHONPATH=self.folder, **environment)
        return subprocess.Popen([python_with_torch(), TRAIN, *SMALL, *options], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_one(self, *options, **environment):
        process = self.start(*options, **environment)
        output, _ = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0, output)
        return output

    def losses(self, output):
        return [float(x) for x in re.findall(r"^step .*loss ([\d.]+)", output, re.M)]

    def weights(self, output):
        return re.search(r"weights (\w+)", output).group(1)

    def test_learns(self):
        losses = self.losses(self.run_one("--steps", "60"))
        self.assertEqual(len(losses), 60)
        self.assertLess(sum(losses[-5:]) / 5, losses[0] - 0.5)

    def test_resumes_to_the_same_weights(self):
        checkpoints = os.path.join(self.folder, "checkpoints")
        whole = self.run_one("--checkpoint-dir", checkpoints)
        self.assertEqual(sorted(os.listdir(checkpoints)), ["step-00000006.pt", "step-00000012.pt"])
        os.unlink(os.path.join(checkpoints, "step-00000012.pt"))
        resumed = self.run_one("--checkpoint-dir", checkpoints)
        self.assertIn("from step 6 to 12", resumed)
        self.assertEqual(self.losses(resumed), self.losses(whole)[6:])
        self.assertEqual(self.weights(resumed), self.weights(whole))

    def test_takes_the_older_checkpoint_where_the_newest_is_damaged(self):
        checkpoints = os.path.join(self.folder, "checkpoints")
        whole = self.run_one(MUSTER_CHECKPOINT_DIR=checkpoints)
        newest = os.path.join(checkpoints, "step-00000012.pt")
        with open(newest, "r+b") as file:
            file.seek(-100, os.SEEK_END)
            file.write(b"\0\1\2\3")
        resumed = self.run_one(MUSTER_CHECKPOINT_DIR=checkpoints)
        self.assertIn("the checkpoint of step 12 is damaged", resumed)
        self.assertEqual(self.weights(resumed), self.weights(whole))

    def test_sees_the_same_samples_on_any_number_of_ranks(self):
        alone = self.run_one()
        port = str(free_port())
        ranks = [self.start(RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE="4", LOCAL_WORLD_SIZE="4",
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for r in range(4)]
        outputs = [rank.communicate(timeout=LIMIT_S)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * 4, "\n".join(outputs))
        # 6 sequences over 4 ranks: unequal shares. Rank 0's own loss differs from the whole batch's;
        # the model that comes out must not, so the written text is the same.
        self.assertEqual(alone.split("it writes:")[1], outputs[0].split("it writes:")[1])

    def test_reports_to_muster(self):
        with open(os.path.join(self.folder, "muster.py"), "w", encoding="utf-8") as file:
            file.write("import contextlib, os\n"
                       "def checkpoint_dir(): return os.environ['WHERE']\n"
                       "def progress(**known): print('progress', known['step'], known['total'], known['samples'])\n"
                       "@contextlib.contextmanager\n"
                       "def phase(name):\n    print('begins', name)\n    yield\n    print('ends', name)\n")
        output = self.run_one(WHERE=os.path.join(self.folder, "given"))
        self.assertEqual(re.findall(r"^progress (\d+) 12 (\d+)$", output, re.M),
                         [(str(s), "6") for s in range(12)])
        self.assertEqual(re.findall(r"^(begins|ends) checkpoint$", output, re.M), ["begins", "ends"] * 2)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "given", "step-00000012.pt")))
