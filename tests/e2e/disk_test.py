"""A disk that is full: what people are told, what goes on, and that nothing acknowledged is lost. The
state lies on a small file system of its own, so that it can be filled."""

import inspect
import os
import subprocess
import sys
import tempfile
import unittest

from cluster import ApiError, ClusterTest, until
from gang import RANK_SCRIPT, Gang

RANK = [sys.executable, "-u", RANK_SCRIPT]
DISK_SIZE = "48m"
READ_LIMIT_S = 5  # for what needs no disk
TOLD_LIMIT_S = 20


def fill(path):
    """Until not a byte more fits."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


FILL = "import os\n" + inspect.getsource(fill) + "\nfill(os.environ['FILLER'])\n"


class Disk(ClusterTest):
    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="muster-e2e-disk-")
        self.addCleanup(os.rmdir, self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", self.disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
        state = os.path.join(self.disk, "muster-e2e-" + os.path.basename(self.disk))
        os.mkdir(state)
        self.c = self.cluster(nodes=1, state=state)
        self.filler = os.path.join(self.disk, "filler")

    def ready(self):
        status, text = self.c.api().call("GET", "/readyz", raw=True, limit=READ_LIMIT_S)
        return status, text.decode()

    def get(self, path):
        return self.c.api().get(path, limit=READ_LIMIT_S)

    def refused(self, path, body=None, **headers):
        with self.assertRaises(ApiError) as caught:
            self.c.api().post(path, body, headers=headers, limit=READ_LIMIT_S)
        self.assertEqual(caught.exception.status, 503, caught.exception)
        error = caught.exception.body
        self.assertIn("the disk is full", error["message"])
        self.assertIn("No space left on device", error["message"])
        self.assertIn(self.c.state, error["message"])
        self.assertIn("free space", error["hint"])
        return error["code"]

    def log(self, name="server"):
        with open(os.path.join(self.c.state, f"{name}.log"), encoding="utf-8") as file:
            return file.read()

    def test_it_is_named_and_waited_out(self):
        gang = Gang(self)
        self.c.submit(RANK, name="before", env=gang.env())
        rank = gang.gather(1)[0]
        until(lambda: self.get("/v1/workloads/before")["workload"]["phase"] == "running", TOLD_LIMIT_S,
              "the first job runs")
        fill(self.filler)

        # The first change finds out; it may still be made, so its outcome is not known.
        spec = {"workdir": "/", "name": "during", "roles": [{"command": ["true"]}]}
        token = {"Client-Token": "the-token-of-during"}
        self.assertIn(self.refused("/v1/workloads", spec, **token), ("unknown_outcome", "unavailable"))
        until(lambda: self.ready()[0] == 503, TOLD_LIMIT_S, "the server says that it is not ready")
        self.assertIn("the disk is full", self.ready()[1])
        self.assertIn(self.c.state, self.ready()[1])

        # Reads are answered, from what is durable; changes are refused.
        self.assertEqual([job["name"] for job in self.get("/v1/workloads")["items"]], ["before"])
        self.assertEqual(self.get("/v1/workloads/before")["workload"]["phase"], "running")
        self.assertEqual(len(self.get("/v1/nodes")["items"]), 1)
        self.assertTrue(self.get("/v1/events?limit=1000")["items"])
        self.assertEqual(self.refused("/v1/workloads/before:cancel"), "unavailable")
        self.assertEqual(self.refused("/v1/workloads", {**spec, "name": "third"}), "unavailable")
        self.assertEqual(self.c.cli("jobs").returncode, 0)
        asked = self.c.cli("run", "--", "true")
        self.assertNotEqual(asked.returncode, 0)
        self.assertIn("the disk is full", asked.stderr)

        # A job that ends now has ended, once it can be written.
        self.assertEqual(rank.ask("nothing"), "nothing", "the disk is no reason to stop a job")
        rank.tell("exit", code=0)
        rank.wait_gone()
        until(lambda: not self.c.launchers(), TOLD_LIMIT_S, "the launcher's end")
        self.assertEqual(self.get("/v1/workloads/before")["workload"]["phase"], "running")

        os.unlink(self.filler)
        until(lambda: self.ready()[0] == 200, TOLD_LIMIT_S, "the server is ready again")
        detail = self.c.wait_job("before")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["attempt"]), ("succeeded", 1))
        self.c.api().post("/v1/workloads", spec, headers=token)
        self.assertEqual(self.c.wait_job("during")["workload"]["phase"], "succeeded")
        submitted = [e for e in self.c.facts() if e["type"] == "WorkloadSubmitted"]
        self.assertEqual(sorted(e["subject"] for e in submitted), ["job/before", "job/during"])
        self.assertEqual(self.log().count("journal_waits"), self.log().count("journal_writes_again"))
        self.assertIn("journal_waits", self.log())

    def test_a_server_that_is_started_again_on_it_answers_and_goes_on_once_there_is_room(self):
        self.c.submit(["true"], name="before")
        self.c.wait_job("before")
        self.c.kill_server()
        fill(self.filler)
        self.c.start_server()  # returns once it answers
        self.assertEqual([job["name"] for job in self.get("/v1/workloads?all=true")["items"]], ["before"])
        os.unlink(self.filler)
        spec = {"workdir": "/", "name": "after", "roles": [{"command": ["true"]}]}

        def taken():
            try:
                return self.c.api().post("/v1/workloads", spec, headers={"Client-Token": "after"})
            except ApiError as error:  # it may find out only now
                self.assertEqual(error.status, 503, error)
                return None

        until(taken, TOLD_LIMIT_S, "the next job is taken")
        self.assertEqual(self.c.wait_job("after")["workload"]["phase"], "succeeded")

    def test_a_job_that_fills_the_disk_and_succeeds_has_succeeded(self):
        self.c.submit([sys.executable, "-c", FILL], name="fills", env={"FILLER": self.filler}, workdir="/")
        until(lambda: os.path.exists(self.filler) and not self.c.launchers(), 60, "the launcher's end")
        os.unlink(self.filler)
        detail = self.c.wait_job("fills")
        self.assertEqual((detail["workload"]["phase"], detail["workload"]["exit_code"]), ("succeeded", 0))
        self.assertEqual((detail["workload"]["attempt"], detail["workload"]["restarts"]), (1, 0))


if __name__ == "__main__":
    unittest.main()
