"""The control plane is killed, doubled, starved and lied to: no acknowledged request is lost, nothing
runs twice, training goes on meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from cluster import Api, ApiError, Cluster, ClusterTest, MUSTER, is_alive, until
from gang import RANK_SCRIPT, Gang

RANK = [sys.executable, "-u", RANK_SCRIPT]
REPORT_LIMIT_S = 60


class ServerKilled(ClusterTest):
    def setUp(self):
        self.c = self.cluster()
        self.gang = Gang(self)

    def end_all(self, ranks):
        for rank in ranks.values():
            rank.tell("exit", code=0)

    def steps(self, name):
        return self.c.job(name)["workload"]["progress"]["step"]

    def test_while_training(self):
        self.c.submit(RANK, ranks=4, name="trains", env=self.gang.env())
        ranks = self.gang.gather(4)
        for rank in ranks.values():
            rank.ask("progress", known={"step": 5, "total": 100, "loss": 1.5})
        until(lambda: self.steps("trains") == 5, REPORT_LIMIT_S, "step 5 at the server")
        before = self.c.facts()
        self.c.kill_server()
        for rank in ranks.values():  # training goes on meanwhile
            rank.ask("progress", known={"step": 9, "total": 100, "loss": 1.25})
        began = time.monotonic()
        self.c.start_server()
        until(lambda: self.steps("trains") == 9, REPORT_LIMIT_S, "the lead's report after the restart")
        print(f"re-attached {time.monotonic() - began:.2f} s after the server's start")
        # Nobody was declared lost, joined anew or started again on the way: no fact was made at all.
        self.assertEqual(self.c.facts(), before)
        self.assertTrue(self.gang.nobody_new(), "a rank was started twice")
        self.assertEqual([rank.ask("nothing") for rank in ranks.values()], ["nothing"] * 4)
        self.end_all(ranks)
        detail = self.c.wait_job("trains")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 0))
        self.assertEqual(len(detail["attempts"]), 1)
        self.assertTrue(self.gang.nobody_new())

    def test_a_rank_dies_while_the_server_is_away(self):
        self.c.submit(RANK, ranks=4, name="alone", env=self.gang.env())
        ranks = self.gang.gather(4)
        self.c.kill_server()
        os.kill(ranks[3].pid, signal.SIGKILL)
        again = self.gang.gather(4)  # the lead restarts the gang without asking
        self.assertEqual(again[0].hello["attempt"], ranks[0].hello["attempt"])
        self.c.start_server()
        self.end_all(again)
        detail = self.c.wait_job("alone")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 1))
        self.assertEqual(detail["attempts"][0]["generations"][0]["cause"]["rank"], 3)

    def test_a_job_ends_while_the_server_is_away(self):
        self.c.submit(RANK, ranks=2, name="ends", env=self.gang.env())
        ranks = self.gang.gather(2)
        self.c.kill_server()
        ranks[0].tell("exit", code=0)
        ranks[1].tell("exit", code=0)
        for rank in ranks.values():
            rank.wait_gone()
        self.c.start_server()
        detail = self.c.wait_job("ends")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("succeeded", 0))
        self.assertEqual(len(detail["attempts"]), 1, "the ended job was started again")

    def test_at_submit(self):
        """Kills the server in the middle of many submissions: what was answered is there afterwards,
        and the same client token gives the same job."""
        answered, unknown = {}, []
        stop = threading.Event()

        def submit_until_killed():
            number = 0
            while not stop.is_set():
                token = f"token-{threading.get_ident()}-{number}"
                number += 1
                try:
                    answered[token] = self.c.submit(["true"], ranks=1, token=token, devices_per_rank=0)["id"]
                except (OSError, ApiError, ValueError, Exception) as error:  # noqa: B014 any break is the point
                    if isinstance(error, ApiError):
                        raise
                    unknown.append(token)
                    return

        threads = [threading.Thread(target=submit_until_killed) for _ in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(answered) >= 20, 30, "twenty answered submissions")
        self.c.kill_server()
        stop.set()
        for thread in threads:
            thread.join(timeout=30)
        self.c.start_server()
        for token, workload in answered.items():
            self.assertEqual(self.c.submit(["true"], ranks=1, token=token, devices_per_rank=0)["id"], workload)
        for token in unknown:
            first = self.c.submit(["true"], ranks=1, token=token, devices_per_rank=0)["id"]
            self.assertEqual(self.c.submit(["true"], ranks=1, token=token, devices_per_rank=0)["id"], first)
        every = set(answered.values())
        self.assertEqual(len(every), len(answered))

    def test_an_agents_death_leaves_jobs_untouched(self):
        self.c.submit(RANK, ranks=4, name="stays", env=self.gang.env())
        ranks = self.gang.gather(4)
        for name in self.c.names:
            self.c.kill_agent(name)
        self.assertEqual([rank.ask("nothing") for rank in ranks.values()], ["nothing"] * 4)
        for name in self.c.names:
            self.c.start_agent(name)
        self.c.wait_nodes_ready()
        self.assertTrue(self.gang.nobody_new(), "a rank was started twice")
        self.end_all(ranks)
        detail = self.c.wait_job("stays")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 0))
        self.assertEqual(len(detail["attempts"]), 1)

    def test_a_launchers_death_ends_its_ranks_and_the_job_is_placed_again(self):
        self.c.submit(RANK, ranks=2, name="relaunch", env=self.gang.env(), ranks_per_node=2)
        ranks = self.gang.gather(2)
        for pid in self.c.launchers():
            os.kill(pid, signal.SIGKILL)
        again = self.gang.gather(2, limit=90)
        self.assertEqual(again[0].hello["attempt"], ranks[0].hello["attempt"] + 1)
        self.assertFalse(any(is_alive(rank.pid) for rank in ranks.values()))
        self.end_all(again)
        self.assertEqual(self.c.wait_job("relaunch")["workload"]["phase"], "succeeded")

    def test_a_stopped_launcher_is_missed_and_the_job_is_placed_again(self):
        self.c.submit(RANK, ranks=2, name="stopped", env=self.gang.env(), ranks_per_node=2)
        ranks = self.gang.gather(2)
        for pid in self.c.launchers():
            os.kill(pid, signal.SIGSTOP)
        again = self.gang.gather(2, limit=90)
        self.assertEqual(again[0].hello["attempt"], ranks[0].hello["attempt"] + 1)
        self.assertFalse(any(is_alive(rank.pid) for rank in ranks.values()))
        self.end_all(again)
        self.assertEqual(self.c.wait_job("stopped")["workload"]["phase"], "succeeded")
        self.assertIn("no sign for 20s", self.c.cli("why", "stopped").stdout)

    def test_everything_is_killed_at_once(self):
        self.c.submit(RANK, ranks=2, name="all", env=self.gang.env())
        ranks = self.gang.gather(2)
        self.c.kill_server()
        for name in self.c.names:
            self.c.kill_agent(name)
        for rank in ranks.values():
            self.assertEqual(rank.ask("nothing"), "nothing")
        self.c.start_server()
        for name in self.c.names:
            self.c.start_agent(name)
        self.c.wait_nodes_ready()
        self.end_all(ranks)
        detail = self.c.wait_job("all")
        self.assertEqual((detail["workload"]["phase"], len(detail["attempts"])), ("succeeded", 1))


class Refusals(ClusterTest):
    """Each says what is wrong and what to do, and hurts nothing."""

    def said(self, process, limit=30):
        out, _ = process.communicate(timeout=limit)
        return process.returncode, out

    def run_muster(self, cluster, *words, **env):
        return subprocess.Popen([MUSTER, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL, env=cluster.environment(**env))

    def test_a_wrong_token(self):
        c = self.cluster(nodes=1)
        with self.assertRaises(ApiError) as caught:
            Api(c.client()["server"], "wrong").get("/v1/workloads")
        self.assertEqual(caught.exception.status, 401)
        self.assertEqual(caught.exception.body["code"], "unauthenticated")
        done = c.cli("jobs", env={"MUSTER_SERVER": c.client()["server"], "MUSTER_TOKEN": "wrong"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("token", done.stderr)

    def test_an_agent_with_a_wrong_token(self):
        c = self.cluster(nodes=1)
        bad = os.path.join(c.state, "bad.token")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("wrong\n")
        code, out = self.said(self.run_muster(c, "agent", "--state", c.state, "--node", "n9", "--slots", "1",
                                              "--server", c.client()["server"], "--token-file", bad))
        self.assertNotEqual(code, 0, out)
        self.assertIn("token", out)
        self.assertNotIn("n9", [n["name"] for n in c.api().get("/v1/nodes")["items"]])

    def test_an_agent_of_another_installation(self):
        first, second = self.cluster(nodes=1), self.cluster(nodes=1)
        first.kill_agent("n1")
        # The agent's journal belongs to the first installation; now it is sent to the second.
        code, out = self.said(self.run_muster(
            first, "agent", "--state", first.state, "--node", "n1", "--slots", "2",
            "--server", second.client()["server"],
            "--token-file", os.path.join(second.state, "server/node.token")))
        self.assertNotEqual(code, 0, out)
        self.assertIn("installation", out)

    def test_a_second_server_on_the_same_state(self):
        c = self.cluster(nodes=1)
        code, out = self.said(self.run_muster(c, "server", "--state", c.state, "--listen", "127.0.0.1:0"))
        self.assertNotEqual(code, 0, out)
        self.assertIn(c.state, out)
        self.assertEqual(len(c.api().get("/v1/nodes")["items"]), 1, "the first server is hurt")
        self.assertEqual(c.client()["server"], f"http://{c.listen}")

    def test_a_second_agent_of_the_same_node(self):
        c = self.cluster(nodes=1)
        code, out = self.said(self.run_muster(c, "agent", "--state", c.state, "--node", "n1", "--slots", "2",
                                              "--server", c.client()["server"]))
        self.assertNotEqual(code, 0, out)

    def test_a_taken_port(self):
        c = self.cluster(nodes=1)
        other = tempfile.mkdtemp(prefix="muster-e2e-")
        self.addCleanup(shutil.rmtree, other)
        code, out = self.said(self.run_muster(c, "server", "--state", other, "--listen", c.listen))
        self.assertNotEqual(code, 0, out)
        self.assertIn(c.listen.split(":")[1], out)

    def test_a_state_that_cannot_be_written(self):
        c = Cluster(nodes=0)
        self.addCleanup(c.remove)
        mount = os.path.join(c.state, "ro")
        os.mkdir(mount)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", mount],
                          capture_output=True).returncode != 0:
            self.skipTest("mounting needs root and a machine that allows it")
        self.addCleanup(subprocess.run, ["umount", mount])
        code, out = self.said(self.run_muster(c, "server", "--state", mount, "--listen", "127.0.0.1:0"))
        self.assertNotEqual(code, 0, out)
        self.assertIn("ead-only", out)

    def test_a_full_disk_loses_nothing_that_was_answered(self):
        c = Cluster(nodes=1)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", c.state],
                          capture_output=True).returncode != 0:
            c.remove()
            self.skipTest("mounting needs root and a machine that allows it")
        self.addCleanup(lambda: (c.stop(), subprocess.run(["umount", "-l", c.state]), c.remove()))
        c.start()
        before = c.submit(["true"], ranks=1, name="before", token="before", devices_per_rank=0)
        filler = os.path.join(c.state, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        answered = {}
        for number in range(200):
            try:
                answered[f"t{number}"] = c.submit(
                    ["true"], ranks=1, token=f"t{number}", devices_per_rank=0, env={"FILL": "x" * 4000})["id"]
            except (ApiError, OSError, Exception):  # noqa: B014 refused or gone: both are allowed
                break
        os.unlink(filler)
        if c.server.poll() is not None:
            c.start_server()
        until(lambda: c.api().call("GET", "/readyz", raw=True)[0] == 200, 30, "a journal that writes again")
        self.assertEqual(c.submit(["true"], ranks=1, token="before", devices_per_rank=0)["id"], before["id"])
        for token, workload in answered.items():
            self.assertEqual(c.submit(["true"], ranks=1, token=token, devices_per_rank=0,
                                      env={"FILL": "x" * 4000})["id"], workload)
        done = c.cli("journal", "verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_server_says_how_to_start_one(self):
        c = Cluster(nodes=0)
        self.addCleanup(c.remove)
        done = c.cli("jobs")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("muster up", done.stderr)

    def test_a_broken_chain_refuses_to_start(self):
        c = self.cluster(nodes=1)
        c.submit(["true"], ranks=1, name="some", devices_per_rank=0)
        c.kill_server()
        journal = os.path.join(c.state, "server/journal.db")
        import sqlite3

        with sqlite3.connect(journal) as db:
            tables = [r[0] for r in db.execute("select name from sqlite_master where type='table'")]
            table = next(t for t in tables if "fact" in t or "record" in t)
            columns = [r[1] for r in db.execute(f"pragma table_info({table})")]
            text = next(x for x in columns if x in ("fact", "record", "body", "text", "json", "data"))
            db.execute(f"update {table} set {text} = replace(cast({text} as text), 'some', 'evil')"
                       f" where cast({text} as text) like '%some%'")
        code, out = self.said(self.run_muster(c, "server", "--state", c.state, "--listen", c.listen))
        self.assertNotEqual(code, 0, out)
        self.assertIn(journal, out)  # which file,
        self.assertIn("sequence", out)  # from where on,
        self.assertIn("muster journal verify", out)  # how to look closer,
        self.assertIn("restore the journal from a copy", out)  # and what to do about it
        looked = c.cli("journal", "verify")
        self.assertNotEqual(looked.returncode, 0, looked.stdout)
        self.assertIn("sequence", looked.stdout + looked.stderr)


if __name__ == "__main__":
    unittest.main()
