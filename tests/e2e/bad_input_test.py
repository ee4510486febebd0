"""What people and programs get wrong: each is answered with what to do; nothing crashes."""

import json
import os
import shutil
import sys
import tempfile
import unittest

from cluster import MUSTER, ApiError, ClusterTest
from gang import RANK_SCRIPT, Gang

RANK = [sys.executable, "-u", RANK_SCRIPT]
NOBODY = 65534


class Specs(ClusterTest):
    """One cluster for all: refusals leave nothing behind."""

    @classmethod
    def setUpClass(cls):
        from cluster import Cluster

        cls.c = Cluster(nodes=1).start()

    @classmethod
    def tearDownClass(cls):
        cls.c.stop()
        cls.c.remove()

    def tearDown(self):
        self.assertIsNone(self.c.server.poll(), "the server ended")
        self.assertEqual(self.c.api().get("/v1/workloads?all=true")["items"], [], "something was submitted")

    def refused(self, body, field=None, says=None, content_type="application/json"):
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        with self.assertRaises(ApiError) as caught:
            self.c.api().post("/v1/workloads", text, headers={"Content-Type": content_type})
        error = caught.exception.body
        self.assertEqual((caught.exception.status, error.get("code")), (400, "invalid_argument"), error)
        self.assertFalse(error["retryable"])
        if field:
            self.assertIn(field, error["field"])
        if says:
            self.assertIn(says, error["message"] + " " + error["hint"])

    def spec(self, **role):
        return {"roles": [{"command": ["true"], **role}]}

    def test_sizes(self):
        for ranks in (0, -1, 10**9, 2**62):
            self.refused(self.spec(ranks=ranks), "ranks")
        self.refused(self.spec(ranks=2**70), "ranks")
        self.refused(self.spec(ranks=1.5), "ranks")
        self.refused(self.spec(ranks="4"), "ranks")
        self.refused(self.spec(devices_per_rank=-1), "devices_per_rank")
        self.refused({**self.spec(), "priority": 101}, "priority")

    def test_unknown_keys_get_a_suggestion(self):
        self.refused(self.spec(rank=4), says="ranks")
        self.refused({**self.spec(), "priorty": 3}, says="priority")
        self.refused("rolls:\n- command: [x]\n", says="roles", content_type="application/yaml")

    def test_text_that_is_no_spec(self):
        for body in ("", "{", "[]", "null", "7", '{"roles": 3}', '{"roles": []}', '{"roles": [{}]}',
                     '{"roles": [{"command": []}]}', b"\xff\xfe\x00", "[" * 100_000):
            self.refused(body)
        for body in ("a: [", "- x", "? {a: b}: c", "a: &x [*x]", "\t", "!!binary x"):
            self.refused(body, content_type="application/yaml")

    def test_names(self):
        for name in ("UPPER", "a_b", "-a", "a" * 64, "", "a/b", "ä"):
            self.refused({**self.spec(), "name": name}, "name")

    def test_a_body_that_is_too_large(self):
        body = json.dumps({"name": "x" * (20 << 20)})
        try:
            self.c.api().post("/v1/workloads", body)
            self.fail("a body of 20 MiB was taken")
        except ApiError as error:
            self.assertEqual(error.status, 413)
        except OSError:
            pass  # closed while we were still sending: as good

    def test_paths_and_methods(self):
        for method, path, status in (("GET", "/v1/nothing", 404), ("GET", "/v1/workloads/none", 404),
                                     ("PUT", "/v1/workloads", 405), ("POST", "/v1/workloads/none:cancel", 404),
                                     ("GET", "/v1/workloads?limit=x", 400), ("GET", "/v1/%00", 400)):
            with self.assertRaises(ApiError, msg=path) as caught:
                self.c.api().call(method, path)
            self.assertEqual(caught.exception.status, status, f"{method} {path}: {caught.exception}")

    def test_the_command_line(self):
        for words, says in ((["run", "--ranks", "0", "--", "true"], "ranks"),
                            (["run", "--ranks", "1000000000", "--", "true"], "ranks"),
                            (["run", "--", "/no/such/script.py"], "/no/such/script.py"),
                            (["run", "--", "no-such-program-anywhere"], "no-such-program-anywhere"),
                            (["run"], "run"), (["job", "none"], "none"), (["jbos"], "jobs"),
                            (["submit", "/no/such/spec.yaml"], "/no/such/spec.yaml")):
            done = self.c.cli(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(says, done.stderr, words)
            self.assertNotIn("Segmentation", done.stderr)

    def test_an_argument_that_is_not_utf8(self):
        done = self.c.cli("run", "--", "echo", "fine", b"\xff")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("argument 2 of echo is not UTF-8", done.stderr)

    def test_an_agent_without_a_server(self):
        done = self.c.cli("agent", "--node", "n9")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("needs a server", done.stderr)
        self.assertIn("--server", done.stderr)

    def test_an_unreadable_script(self):
        script = os.path.join(self.c.state, "secret.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("print(1)\n")
        os.chmod(script, 0)
        as_anyone = {}
        if os.geteuid() == 0:  # root reads every file: a user asks, as people do
            shared = tempfile.mkdtemp(prefix="muster-user-")
            self.addCleanup(shutil.rmtree, shared)
            os.chmod(shared, 0o755)
            os.chmod(self.c.state, 0o711)
            known = self.c.client()
            # The folder of the build may be one that other users cannot enter.
            program = shutil.copy(MUSTER, shared)
            as_anyone = {"user": NOBODY, "group": NOBODY, "extra_groups": [],
                         "env": {"MUSTER_SERVER": known["server"], "MUSTER_TOKEN": known["token"],
                                 "HOME": shared, "XDG_DATA_HOME": shared}, "cwd": shared,
                         "program": program}
        done = self.c.cli("run", "--", script, **as_anyone)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(script, done.stderr)
        self.assertIn("ermission", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class Ranks(ClusterTest):
    """Jobs that are valid and go wrong where they run."""

    def setUp(self):
        self.c = self.cluster(nodes=1)
        self.gang = Gang(self)

    def test_more_than_any_node_has(self):
        with self.assertRaises(ApiError) as caught:
            self.c.submit(["true"], ranks=64, name="huge")
        error = caught.exception.body
        self.assertEqual(error["code"], "failed_precondition")
        for number in ("64", "2", "62"):  # asked, there, missing
            self.assertIn(number, error["message"] + error["hint"])
        done = self.c.cli("run", "--ranks", "64", "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("64", done.stderr)

    def test_a_missing_interpreter(self):
        self.c.submit(["/no/such/python3", "train.py"], ranks=2, name="nothing")
        detail = self.c.wait_job("nothing")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("failed", 127))
        self.assertEqual(detail["workload"]["restarts"], 0)
        self.assertIn("/no/such/python3", self.c.cli("why", "nothing").stdout)

    def test_a_missing_workdir(self):
        self.c.submit(["true"], ranks=1, name="homeless", workdir="/no/such/folder")
        detail = self.c.wait_job("homeless")
        self.assertEqual(detail["workload"]["phase"], "failed")
        self.assertIn("/no/such/folder", self.c.cli("why", "homeless").stdout)

    def test_a_script_that_only_the_rank_cannot_read(self):
        """The submitter reads it, the rank's own user does not: the job says so, and is not retried."""
        script = os.path.join(self.c.state, "theirs.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("print(1)\n")
        os.chmod(script, 0o400)
        drop = [] if os.geteuid() != 0 else ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        if not drop:
            os.chmod(script, 0)
        self.c.submit([*drop, sys.executable, script], ranks=1, name="theirs")
        detail = self.c.wait_job("theirs")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["restarts"]), ("failed", 0))
        why = self.c.cli("why", "theirs").stdout
        self.assertIn("theirs.py", why)
        self.assertIn("ermission denied", why)

    def test_output_that_is_not_utf8_and_a_huge_line(self):
        self.c.submit(RANK, ranks=1, name="noise", env=self.gang.env())
        rank = self.gang.gather(1)[0]
        rank.ask("print", hex=b"before \xff\xfe\x00\x1b[2J after\n".hex())
        rank.ask("print_much", text="x" * 1000, times=20_000)  # 20 MB without an end of line
        rank.ask("print", hex=b"\nthe last line\n".hex())
        rank.tell("exit", code=0)
        self.assertEqual(self.c.wait_job("noise")["workload"]["phase"], "succeeded")
        logs = self.c.cli("logs", "noise")
        self.assertEqual(logs.returncode, 0, logs.stderr)
        self.assertIn("before", logs.stdout)
        self.assertIn("the last line", logs.stdout)
        self.assertLess(len(logs.stdout), 16 << 20, "the line was kept whole")

    def test_a_flood_of_lines_keeps_the_first_error(self):
        self.c.submit(RANK, ranks=1, name="flood", env=self.gang.env())
        rank = self.gang.gather(1)[0]
        rank.ask("print_much", text="step ok, all is well, nothing to see\n", times=50_000)
        rank.ask("print", hex=b"RuntimeError: the one line that matters\n".hex())
        rank.ask("print_much", text="cleaning up, cleaning up, cleaning up\n", times=500_000)
        rank.tell("exit", code=0)
        self.assertEqual(self.c.wait_job("flood")["workload"]["phase"], "succeeded")
        logs = self.c.cli("logs", "flood", "--grep", "RuntimeError")
        self.assertIn("the one line that matters", logs.stdout)
        size = sum(os.path.getsize(os.path.join(folder, file))
                   for folder, _, files in os.walk(os.path.join(self.c.state, "nodes/n1/logs"))
                   for file in files)
        self.assertLess(size, 40 << 20, "the log has no bound")


if __name__ == "__main__":
    unittest.main()
