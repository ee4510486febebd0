"""`muster up` and `muster down`: one supervisor, its children killed, its end, what keeps it from starting."""

import json
import os
import re
import signal
import socket
import unittest

from cluster import Cluster, GONE_LIMIT_S, is_alive, until, wait_gone

START_LIMIT_S = 90


class UpTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.stop)

    def up(self, *words):
        return self.cluster.cli("up", "--state", self.cluster.state, "--slots", "2", "--detach",
                                *(words or ("--nodes", "2", "--listen", "127.0.0.1:0")), limit=START_LIMIT_S)

    def pids_of(self, *words):
        return [pid for pid, line in self.cluster.processes() if all(f" {word} " in f"{line} " for word in words)]

    def only(self, *words):
        pids = self.pids_of(*words)
        self.assertEqual(len(pids), 1, f"{words}: {self.cluster.processes()}")
        return pids[0]

    def ready_nodes(self):
        return sum(node["schedulable"] for node in self.cluster.api().get("/v1/nodes")["items"])

    def start(self):
        done = self.up()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("2 nodes", done.stdout)
        self.assertEqual(self.ready_nodes(), 2)

    def test_children_that_are_killed_come_back_and_jobs_go_on(self):
        self.start()
        job = self.cluster.submit(["sleep", "600"], ranks=4, name="long")
        self.cluster.wait_event("GenerationStarted", "job/long")
        launchers = sorted(self.cluster.launchers())
        server, agent = self.only("server"), self.only("agent", "n1")
        for pid in (server, agent):
            os.kill(pid, signal.SIGKILL)
            wait_gone(pid)

        def back():
            try:
                return self.ready_nodes() == 2 and self.only("server") != server
            except (OSError, AssertionError, ValueError):
                return False

        until(back, GONE_LIMIT_S, "the killed server and agent again")
        self.assertEqual(sorted(self.cluster.launchers()), launchers, "the launchers are the same processes")
        self.assertEqual(self.cluster.job("long")["workload"]["id"], job["id"])

        down = self.cluster.cli("down", "--state", self.cluster.state)
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertEqual(self.cluster.processes(), [], "nothing is left")

    def test_a_second_one_says_who_runs(self):
        self.start()
        with open(os.path.join(self.cluster.state, "up.pid"), encoding="ascii") as file:
            supervisor = file.read().strip()
        second = self.up()
        self.assertEqual(second.returncode, 4)
        self.assertIn(f"already (process {supervisor})", second.stderr)
        self.assertEqual(self.ready_nodes(), 2)
        self.assertEqual(self.cluster.cli("down", "--state", self.cluster.state).returncode, 0)
        again = self.cluster.cli("down", "--state", self.cluster.state)
        self.assertEqual(again.returncode, 0)
        self.assertIn("no cluster runs", again.stdout)

    def test_a_killed_supervisor_leaves_jobs_to_the_next_one(self):
        self.start()
        self.cluster.submit(["sleep", "600"], ranks=4, name="long")
        self.cluster.wait_event("GenerationStarted", "job/long")
        launchers = sorted(self.cluster.launchers())
        server = self.only("server")
        with open(os.path.join(self.cluster.state, "up.pid"), encoding="ascii") as file:
            supervisor = int(file.read())
        os.kill(supervisor, signal.SIGKILL)
        wait_gone(server)
        self.assertEqual(sorted(self.cluster.launchers()), launchers)
        self.start()
        held = self.cluster.api().get("/v1/nodes")["items"]
        self.assertEqual(sorted(node["devices_used"] for node in held), [2, 2])
        self.assertTrue(all(is_alive(pid) for pid in launchers))
        self.assertEqual(self.cluster.cli("down", "--state", self.cluster.state).returncode, 0)
        self.assertEqual(self.cluster.processes(), [])

    def test_what_keeps_it_from_starting_is_told(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = self.up("--listen", f"127.0.0.1:{port}")
            self.assertEqual(done.returncode, 4)
            self.assertRegex(done.stderr, rf"port {port} .*taken")
        for words, text in ((("--nodes", "0"), "0 nodes"), (("--nodes", "1000"), "1000 nodes"),
                            (("--listen", "nonsense"), "not an address")):
            done = self.up(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(re.findall("^error: ", done.stderr, re.MULTILINE)), 1)
        self.assertEqual(self.cluster.processes(), [], "a failed start leaves nothing")
        file = os.path.join(self.cluster.state, "a-file")
        with open(file, "w", encoding="ascii") as made:
            made.write(json.dumps({}))
        done = self.cluster.cli("up", "--state", file, "--listen", "127.0.0.1:0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(file, done.stderr)


if __name__ == "__main__":
    unittest.main()
