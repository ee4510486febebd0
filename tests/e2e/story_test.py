"""The whole story in small: `muster up`, a PyTorch job through a killed rank to its report, and
`muster launch` alone."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from cluster import MUSTER, SOURCE, ClusterTest, is_alive, until, wait_gone
from gang import RANK_SCRIPT, Gang

TRAIN = os.path.join(SOURCE, "examples/charlm/train.py")


@functools.lru_cache(None)
def python_with_torch():
    for python in filter(None, (os.environ.get("MUSTER_PYTHON"), sys.executable, "python3", "/usr/bin/python3")):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", "import torch"], capture_output=True).returncode == 0:
            return found
    return None


class Up(ClusterTest):
    def test_up_runs_a_job_and_down_leaves_nothing(self):
        c = self.cluster(started=False)
        done = c.cli("up", "--nodes", "2", "--slots", "2", "--listen", "127.0.0.1:0", "--detach")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        nodes = c.cli_json("nodes")
        self.assertEqual(len(nodes["items"] if isinstance(nodes, dict) else nodes), 2)
        gang = Gang(self)
        c.submit([sys.executable, RANK_SCRIPT], ranks=4, name="small", env=gang.env())
        ranks = gang.gather(4)
        for rank in ranks.values():
            rank.tell("exit", code=0)
        self.assertEqual(c.wait_job("small")["workload"]["phase"], "succeeded")
        done = c.cli("down")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        until(lambda: not c.processes(), 30, "the end of all processes")

    def test_up_twice_says_so(self):
        c = self.cluster(started=False)
        self.assertEqual(c.cli("up", "--nodes", "1", "--slots", "1", "--listen", "127.0.0.1:0", "-d").returncode, 0)
        again = c.cli("up", "--nodes", "1", "--slots", "1", "--listen", "127.0.0.1:0", "-d")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn(c.state, again.stdout + again.stderr)

    def test_ctrl_c_ends_a_cluster_in_front(self):
        c = self.cluster(started=False)
        up = c.spawn("up", "up", "--state", c.state, "--nodes", "1", "--slots", "1", "--listen", "127.0.0.1:0")
        until(lambda: os.path.exists(os.path.join(c.state, "client.json")) and c.cli("nodes").returncode == 0,
              30, "the cluster")
        gang = Gang(self)
        until(lambda: any(n["schedulable"] for n in c.api().get("/v1/nodes")["items"]), 30, "a node")
        c.submit([sys.executable, RANK_SCRIPT], ranks=1, name="small", env=gang.env())
        rank = gang.gather(1)[0]
        os.killpg(up.pid, signal.SIGINT)
        up.wait(timeout=60)
        wait_gone(rank.pid)
        until(lambda: not c.processes(), 30, "the end of all processes")


class Training(ClusterTest):
    def setUp(self):
        if not python_with_torch():
            self.skipTest("no Python here can import torch (apt-get install python3-torch)")

    def test_a_model_is_trained_through_a_killed_rank(self):
        c = self.cluster()
        steps = 60
        job = c.submit([python_with_torch(), "-u", TRAIN, "--steps", str(steps), "--batch", "4", "--context", "16",
                        "--width", "16", "--layers", "1", "--megabytes", "0.05", "--checkpoint-every", "10"],
                       ranks=4, ranks_per_node=2, name="model")
        until(lambda: c.job("model")["workload"]["progress"]["step"] >= 14, 90, "step 15")
        os.kill(self.pid_of(job["id"], 2), signal.SIGKILL)
        detail = c.wait_job("model", limit=150)
        workload = detail["workload"]
        self.assertEqual((workload["phase"], workload["exit_code"], workload["restarts"]), ("succeeded", 0, 1),
                         json.dumps(detail["attempts"][-1].get("cause")))
        report = c.cli_json("report", "model")
        self.assertEqual(report["steps"], steps)
        self.assertLess(report["last_loss"], report["first_loss"])
        self.assertEqual(sum(row["share_per_million"] for row in report["account"]), 1_000_000)
        self.assertEqual(report["restarts"][0]["cause"]["rank"], 2)
        self.assertLess(report["restarts"][0]["lost_steps"], 15)
        for words in (["report", "model"], ["why", "model"], ["job", "model"], ["logs", "model"], ["events"]):
            done = c.cli(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.strip(), words)

    def pid_of(self, workload, rank):
        wanted = {f"MUSTER_WORKLOAD_ID={workload}".encode(), f"MUSTER_RANK={rank}".encode()}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if wanted <= set(file.read().split(b"\0")) and is_alive(int(name)):
                            return int(name)
                except OSError:
                    continue
        raise AssertionError(f"rank {rank} has no process")


class Launch(ClusterTest):
    """`muster launch` without a server."""

    def setUp(self):
        self.c = self.cluster(started=False)
        self.gang = Gang(self)

    def launch(self, *flags):
        return subprocess.Popen([MUSTER, "launch", *flags, "--", RANK_SCRIPT],
                                env=self.c.environment(**self.gang.env()), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    def end(self, process):
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def test_ranks_get_torchruns_environment(self):
        process = self.launch("--nproc-per-node", "2")
        ranks = self.gang.gather(2)
        for number, rank in ranks.items():
            env = rank.hello["env"]
            self.assertEqual((env["RANK"], env["LOCAL_RANK"], env["WORLD_SIZE"]), (str(number), str(number), "2"))
            rank.tell("exit", code=0)
        self.assertEqual(self.end(process)[0], 0)

    def test_a_killed_rank_is_restarted_with_the_gang(self):
        process = self.launch("--nproc_per_node=2", "--max_restarts=1")
        ranks = self.gang.gather(2)
        os.kill(ranks[1].pid, signal.SIGKILL)
        again = self.gang.gather(2)
        again[0].tell("exit", code=5)
        code, out = self.end(process)
        self.assertEqual(code, 5, out)

    def test_ctrl_c_ends_every_rank(self):
        process = self.launch("--nproc-per-node", "2")
        ranks = self.gang.gather(2)
        stray = ranks[0].ask("leave_child")
        os.killpg(process.pid, signal.SIGINT)
        code, out = self.end(process)
        self.assertEqual(code, 130, out)
        for rank in ranks.values():
            wait_gone(rank.pid)
        self.assertFalse(is_alive(stray))

    def test_sigkill_of_the_launcher_leaves_no_rank(self):
        process = self.launch("--nproc-per-node", "2")
        ranks = self.gang.gather(2)
        process.kill()
        process.communicate(timeout=60)
        for rank in ranks.values():
            wait_gone(rank.pid)


if __name__ == "__main__":
    unittest.main()
