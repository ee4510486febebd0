"""What a user's job lives through: gangs, failures, restarts, exit codes, cancelling, cordons."""

import os
import signal
import sys
import unittest

from cluster import ClusterTest, is_alive, until, wait_gone
from gang import RANK_SCRIPT, Gang

PYTHON = [sys.executable, "-u"]
RANK = PYTHON + [RANK_SCRIPT]


class Jobs(ClusterTest):
    def setUp(self):
        self.c = self.cluster()
        self.gang = Gang(self)

    def submit(self, name, ranks=4, command=None, **more):
        env = {**self.gang.env(), **more.pop("env", {})}
        return self.c.submit(command or RANK, ranks=ranks, name=name, env=env, **more)

    def end_all(self, ranks, code=0):
        for rank in ranks.values():
            rank.tell("exit", code=code)

    def cause(self, detail):
        return detail["attempts"][-1]["cause"]

    def test_a_gang_runs_whole_and_ends(self):
        self.submit("whole", ranks_per_node=2)
        ranks = self.gang.gather(4)
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])
        self.assertEqual({r.hello["node"] for r in ranks.values()}, {"n1", "n2"})
        self.assertEqual({r.hello["env"]["WORLD_SIZE"] for r in ranks.values()}, {"4"})
        self.assertEqual(len({r.hello["env"]["MASTER_PORT"] for r in ranks.values()}), 1)
        self.end_all(ranks)
        detail = self.c.wait_job("whole")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("succeeded", 0))
        self.assert_no_rank_left(self.c, detail["workload"]["id"])
        until(lambda: all(n["devices_used"] == 0 for n in self.c.api().get("/v1/nodes")["items"]), 20,
              "all devices free")

    def test_a_gang_of_two_roles_starts_and_restarts_whole(self):
        env = self.gang.env()
        # Whole nodes for the trainers; helpers first, so that order alone does not give the right place.
        roles = [{"name": "helper", "ranks": 2, "devices_per_rank": 0, "command": RANK, "env": env},
                 {"name": "loader", "ranks": 1, "command": RANK, "env": env},
                 {"name": "trainer", "ranks": 2, "ranks_per_node": 2, "command": RANK, "env": env}]
        self.c.api().post("/v1/workloads", {"name": "roles", "workdir": self.c.state, "roles": roles})
        ranks = self.gang.gather(5)
        of_role = {}
        for rank in ranks.values():
            of_role.setdefault(rank.hello["env"]["ROLE_NAME"], []).append(rank)
        self.assertEqual({name: len(all_) for name, all_ in of_role.items()}, {"helper": 2, "loader": 1, "trainer": 2})
        for name, all_ in of_role.items():
            self.assertEqual(sorted(int(r.hello["env"]["ROLE_RANK"]) for r in all_), list(range(len(all_))), name)
            self.assertEqual({r.hello["env"]["ROLE_WORLD_SIZE"] for r in all_}, {str(len(all_))}, name)
        self.assertEqual(len({r.hello["node"] for r in of_role["trainer"]}), 1)
        self.assertNotEqual(of_role["loader"][0].hello["node"], of_role["trainer"][0].hello["node"])
        self.assertEqual({r.hello["env"]["MUSTER_DEVICES"] for r in of_role["helper"]}, {""})
        self.assertEqual({r.hello["env"]["WORLD_SIZE"] for r in ranks.values()}, {"5"})
        os.kill(of_role["helper"][0].pid, signal.SIGKILL)
        again = self.gang.gather(5)
        for rank in ranks.values():
            self.assertFalse(is_alive(rank.pid))
        self.end_all(again)
        detail = self.c.wait_job("roles")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 1))

    def test_a_killed_rank_restarts_the_gang_and_is_blamed(self):
        job = self.submit("killed")
        ranks = self.gang.gather(4)
        os.kill(ranks[2].pid, signal.SIGKILL)
        again = self.gang.gather(4)
        self.assertEqual(again[0].hello["generation"], ranks[0].hello["generation"] + 1)
        self.assertEqual({r.hello["env"]["TORCHELASTIC_RESTART_COUNT"] for r in again.values()}, {"1"})
        for rank in ranks.values():
            self.assertFalse(is_alive(rank.pid), "a rank of the old generation lives beside the new one")
        self.end_all(again)
        detail = self.c.wait_job("killed")
        self.assertEqual(detail["workload"]["phase"], "succeeded")
        self.assertEqual(detail["workload"]["restarts"], 1)
        generations = detail["attempts"][0]["generations"]
        cause = generations[0]["cause"]
        self.assertEqual((cause["rank"], cause["exit_code"]), (2, 128 + 9))
        self.assertEqual(sorted(cause["consequences"]), [0, 1, 3])
        report = self.c.api().get(f"/v1/workloads/{job['id']}/report")
        self.assertEqual(len(report["restarts"]), 1)
        self.assertEqual(sum(row["share_per_million"] for row in report["account"]), 1_000_000)

    def test_the_first_failing_ranks_code_is_the_jobs(self):
        self.submit("codes", restarts={"per_ten_minutes": 0, "per_day": 0})
        ranks = self.gang.gather(4)
        ranks[1].tell("exit", code=37, say="ValueError: the learning rate is not a number")
        detail = self.c.wait_job("codes")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("failed", 37))
        cause = self.cause(detail)
        self.assertEqual((cause["rank"], cause["exit_code"]), (1, 37))
        self.assertIn("the learning rate is not a number", "\n".join(cause["last_lines"]))
        waited = self.c.cli("wait", "codes")
        self.assertEqual(waited.returncode, 37, waited.stderr)

    def test_a_traceback_is_kept(self):
        self.submit("raises", ranks=2, restarts={"per_ten_minutes": 0, "per_day": 0})
        ranks = self.gang.gather(2)
        ranks[0].tell("raise", text="no such column: price")
        detail = self.c.wait_job("raises")
        self.assertEqual(detail["workload"]["exit_code"], 1)
        self.assertIn("ValueError: no such column: price", self.cause(detail)["traceback"])

    def test_the_same_failure_on_all_ranks_at_once_is_not_retried(self):
        self.submit("typo", command=PYTHON + ["-c", "import sys; sys.exit('error: unknown option --epocs')"])
        detail = self.c.wait_job("typo")
        self.assertEqual(detail["workload"]["phase"], "failed")
        self.assertEqual(detail["workload"]["restarts"], 0)
        self.assertEqual(detail["workload"]["reason"]["code"], "user_error")
        self.assertIn("--epocs", self.c.cli("why", "typo").stdout)

    def test_the_restart_budget_ends_a_job_that_always_fails(self):
        self.submit("again", ranks=2, restarts={"per_ten_minutes": 1, "per_day": 20})
        for _ in range(2):
            ranks = self.gang.gather(2)
            ranks[0].ask("progress", known={"step": ranks[0].fence[1] * 10, "total": 100})
            os.kill(ranks[1].pid, signal.SIGSEGV)
        detail = self.c.wait_job("again")
        self.assertEqual(detail["workload"]["phase"], "failed")
        self.assertEqual(detail["workload"]["reason"]["code"], "budget_spent")
        self.assertEqual(detail["workload"]["exit_code"], 128 + 11)

    def test_processes_that_left_the_session_do_not_outlive_their_generation(self):
        self.submit("strays", ranks=2, restarts={"per_ten_minutes": 1, "per_day": 20})
        ranks = self.gang.gather(2)
        strays = [rank.ask("leave_child") for rank in ranks.values()]
        self.assertTrue(all(is_alive(pid) for pid in strays))
        os.kill(ranks[0].pid, signal.SIGKILL)
        again = self.gang.gather(2)
        self.assertFalse(any(is_alive(pid) for pid in strays), "a process of the old generation is left")
        stray = again[1].ask("leave_child")
        self.end_all(again)
        detail = self.c.wait_job("strays")
        self.assertEqual(detail["workload"]["phase"], "succeeded")
        self.assertFalse(is_alive(stray))
        self.assert_no_rank_left(self.c, detail["workload"]["id"])

    def test_a_wrapper_shells_grandchild_ends_with_its_rank(self):
        shell = ["bash", "-c", f"'{sys.executable}' '{RANK_SCRIPT}' & wait"]
        self.submit("wrapped", ranks=2, command=shell, restarts={"per_ten_minutes": 1, "per_day": 20})
        ranks = self.gang.gather(2)
        with open(f"/proc/{ranks[0].pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        again = self.gang.gather(2)
        for rank in ranks.values():
            self.assertFalse(is_alive(rank.pid), "the grandchild survived the restart")
        self.end_all(again)
        self.assertEqual(self.c.wait_job("wrapped")["workload"]["phase"], "succeeded")

    def test_a_rank_that_ignores_sigterm_is_ended_after_its_grace(self):
        self.submit("stubborn", ranks=2, stop_grace="500ms")
        ranks = self.gang.gather(2)
        for rank in ranks.values():
            rank.ask("ignore_sigterm")
        self.c.api().post("/v1/workloads/stubborn:cancel")
        detail = self.c.wait_job("stubborn")
        self.assertEqual(detail["workload"]["phase"], "cancelled")
        for rank in ranks.values():
            wait_gone(rank.pid)

    def test_killing_one_job_never_touches_the_other(self):
        self.submit("one", ranks=2)
        one = self.gang.gather(2, of_job="one")
        self.submit("two", ranks=2)
        two = self.gang.gather(2, of_job="two")
        strays = [rank.ask("leave_child") for rank in two.values()]
        done = self.c.cli("cancel", "one", "--wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.c.wait_job("one")["workload"]["phase"], "cancelled")
        for rank in one.values():
            wait_gone(rank.pid)
        for rank in two.values():
            self.assertEqual(rank.ask("nothing"), "nothing")
        self.assertTrue(all(is_alive(pid) for pid in strays))
        self.end_all(two)
        self.assertEqual(self.c.wait_job("two")["workload"]["phase"], "succeeded")

    def test_a_gang_waits_whole_and_says_for_what(self):
        self.submit("large", ranks=3)
        large = self.gang.gather(3, of_job="large")
        self.submit("waits", ranks=2)
        detail = self.c.job("waits")
        self.assertEqual(detail["workload"]["phase"], "queued")
        why = self.c.cli("why", "waits").stdout
        self.assertIn("1", why)
        self.assertTrue(self.gang.nobody_new(), "half a gang was started")
        self.end_all(large)
        waits = self.gang.gather(2, of_job="waits")
        self.end_all(waits)
        self.assertEqual(self.c.wait_job("waits")["workload"]["phase"], "succeeded")

    def test_cancel_while_queued(self):
        self.submit("runs", ranks=4)
        runs = self.gang.gather(4)
        self.submit("never", ranks=1)
        self.assertEqual(self.c.cli("cancel", "never").returncode, 0)
        self.assertEqual(self.c.wait_job("never")["workload"]["phase"], "cancelled")
        self.end_all(runs)
        self.c.wait_job("runs")
        self.assertTrue(self.gang.nobody_new())

    def test_a_cordoned_node_takes_no_new_work(self):
        self.submit("before", ranks=1)
        before = self.gang.gather(1)
        node = before[0].hello["node"]
        done = self.c.cli("node", "cordon", node, "--reason", "new cables")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(before[0].ask("nothing"), "nothing", "a cordon must not touch what runs")
        self.submit("after", ranks=2)
        after = self.gang.gather(2)
        self.assertNotIn(node, {r.hello["node"] for r in after.values()})
        self.submit("third", ranks=1)
        self.assertEqual(self.c.job("third")["workload"]["phase"], "queued")
        self.assertEqual(self.c.cli("node", "uncordon", node).returncode, 0)
        third = self.gang.gather(1)
        self.assertEqual(third[0].hello["node"], node)
        for ranks in (before, after, third):
            self.end_all(ranks)
        for name in ("before", "after", "third"):
            self.assertEqual(self.c.wait_job(name)["workload"]["phase"], "succeeded")

    def test_one_long_epilogue_is_let_finish(self):
        self.submit("epilogue", ranks=4)
        ranks = self.gang.gather(4)
        for rank in (1, 2, 3):
            ranks[rank].tell("exit", code=0)
        for rank in (1, 2, 3):
            ranks[rank].wait_gone()
        self.assertEqual(ranks[0].ask("nothing"), "nothing")
        ranks[0].tell("exit", code=0)
        detail = self.c.wait_job("epilogue")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 0))

    def early_exit(self, name, ranks, **more):
        """All ranks start; rank 1 ends with 0 and the others stay. Returns the others."""
        self.submit(name, ranks=ranks, early_exit_limit="1s", **more)
        gang = self.gang.gather(ranks)
        gang.pop(1).tell("exit", code=0)
        return gang

    def test_a_rank_that_exits_with_0_while_others_wait_is_flagged(self):  # U11
        waiting = self.early_exit("early", 2, restarts={"per_ten_minutes": 0, "per_day": 0})
        detail = self.c.wait_job("early")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("failed", 1))
        self.assertEqual(self.cause(detail)["reason"]["code"], "early_exit")
        self.assertEqual(self.cause(detail)["rank"], 1)
        self.assertFalse(is_alive(waiting[0].pid), "its peer still waits")
        self.assertIn("rank 1", self.c.cli("why", "early").stdout)

    def test_one_of_four_tasks_that_returns_does_not_hang_the_job(self):  # U12
        waiting = self.early_exit("k-of-n", 4)
        again = self.gang.gather(4)
        for rank in waiting.values():
            self.assertFalse(is_alive(rank.pid), "a rank of the old generation lives beside the new one")
        self.end_all(again)
        detail = self.c.wait_job("k-of-n")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("succeeded", 1))
        cause = detail["attempts"][0]["generations"][0]["cause"]
        self.assertEqual((cause["reason"]["code"], cause["rank"]), ("early_exit", 1))

    def test_the_limit_of_an_early_exit_is_a_flag_of_run(self):
        script = os.path.join(self.c.state, "leaves.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import os, signal\nif os.environ['RANK'] == '0': signal.pause()\n")
        done = self.c.cli("run", "--ranks", "2", "--restarts", "0", "--early-exit", "1s", "--", script)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("rank 1", done.stdout + done.stderr)

    def test_run_follows_and_returns_the_jobs_own_code(self):
        script = os.path.join(self.c.state, "seven.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import os, sys\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])\n"
                       "sys.exit(7 if os.environ['RANK'] == '1' else 0)\n")
        done = self.c.cli("run", "--name", "seven", "--ranks", "2", "--restarts", "0", "--", script)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("rank 1 of 2", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
