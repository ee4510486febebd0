"""Cluster: a real server, real agents and real jobs on this machine, for one test. Starts them as
processes of its own, so that each can be killed; waits on the API's events and held requests, never
for a length of time; at the end removes every process and group that came from it, and prints the
logs where the test failed."""

import glob
import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

SOURCE = os.environ.get("MUSTER_SOURCE", os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))
BUILD = os.environ.get("MUSTER_BUILD", os.path.join(SOURCE, "build/dev"))
MUSTER = os.path.join(BUILD, "src/app/muster")

READY_LIMIT_S = 30
EVENT_LIMIT_S = 60
JOB_LIMIT_S = 90
CLI_LIMIT_S = 60
GONE_LIMIT_S = 30
LOOK_AGAIN_S = 0.02
TERMINAL = ("succeeded", "failed", "cancelled")


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body if isinstance(body, dict) else {}


def until(condition, limit, what):
    """For what has no event to wait for (a process of somebody else, a file). Returns what it found."""
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {limit} s")
        # Allowed time.sleep here: the one place that looks again; callers have no event to wait for.
        time.sleep(LOOK_AGAIN_S)


def wait_gone(pid, limit=GONE_LIMIT_S):
    """Waits for the end of a process that need not be our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([fd], [], [], limit)[0]:
            raise AssertionError(f"process {pid} still lives after {limit} s")
    finally:
        os.close(fd)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Api:
    """A connection's worth of REST: one request at a time."""

    def __init__(self, url, token):
        self.netloc = urllib.parse.urlparse(url).netloc
        self.token = token

    def call(self, method, path, body=None, limit=CLI_LIMIT_S, headers=None, raw=False):
        connection = http.client.HTTPConnection(self.netloc, timeout=limit)
        try:
            sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if raw:
            return response.status, text
        answer = json.loads(text) if text else None
        if response.status >= 400:
            raise ApiError(response.status, answer)
        return answer

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, body, **options)

    def events(self, after=0, limit=EVENT_LIMIT_S):
        """Yields events as they come, from the stream; ends with an AssertionError after `limit`."""
        deadline = time.monotonic() + limit
        connection = http.client.HTTPConnection(self.netloc, timeout=limit)
        try:
            connection.request("GET", f"/v1/events:stream?after={after}", headers={
                "Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"})
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.status, response.read().decode())
            data = []
            while time.monotonic() < deadline:
                try:
                    line = response.readline().decode().rstrip("\r\n")
                except (socket.timeout, TimeoutError):
                    break
                if line.startswith("data:"):
                    data.append(line[5:].strip())
                elif not line and data:
                    yield json.loads("\n".join(data))
                    data = []
            raise AssertionError(f"the awaited event did not come within {limit} s")
        finally:
            connection.close()


class Cluster:
    def __init__(self, nodes=2, slots=2, state=None):
        self.state = state or tempfile.mkdtemp(prefix="muster-e2e-")
        self.slots = slots
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.server = None
        self.listen = "127.0.0.1:0"
        self.agents = {}
        self.children = []
        self.logs = []

    # ---- parts

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "GTEST_"))}
        env.update(MUSTER_STATE=self.state, MUSTER_PYTHON=sys.executable, NO_COLOR="1",
                   TEST_CLUSTER=os.path.basename(self.state), **more)
        return env

    def spawn(self, name, *words, **options):
        path = os.path.join(self.state, f"{name}.log")
        self.logs.append(path)
        with open(path, "ab") as log:
            child = subprocess.Popen([MUSTER, *words], stdout=log, stderr=subprocess.STDOUT,
                                     stdin=subprocess.DEVNULL, start_new_session=True,
                                     env=self.environment(), **options)
        self.children.append(child)
        return child

    def start(self):
        self.start_server()
        for name in self.names:
            self.start_agent(name)
        self.wait_nodes_ready()
        return self

    def start_server(self):
        client_file = os.path.join(self.state, "client.json")
        before = os.stat(client_file).st_mtime_ns if os.path.exists(client_file) else 0
        self.server = self.spawn("server", "server", "--state", self.state, "--listen", self.listen)

        def ready():
            if self.server.poll() is not None:
                raise AssertionError(f"the server ended with {self.server.returncode}:\n{self.log_tail('server')}")
            if not os.path.exists(client_file):
                return None
            if before and self.listen.endswith(":0") and os.stat(client_file).st_mtime_ns == before:
                return None
            try:
                return self.api().call("GET", "/readyz", raw=True, limit=5)[0] == 200
            except (OSError, ValueError, http.client.HTTPException):
                return None

        until(ready, READY_LIMIT_S, "an answer of the server")
        with open(client_file, encoding="utf-8") as file:
            self.listen = urllib.parse.urlparse(json.load(file)["server"]).netloc

    def start_agent(self, name, slots=None):
        self.agents[name] = self.spawn(f"agent-{name}", "agent", "--state", self.state, "--node", name,
                                       "--slots", str(slots or self.slots),
                                       "--server", f"http://{self.listen}")

    def wait_nodes_ready(self):
        api = self.api()

        def ready():
            nodes = api.get("/v1/nodes")["items"]
            return sum(n["schedulable"] for n in nodes) >= len(self.names)

        until(ready, READY_LIMIT_S, "all nodes in service")

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def kill_agent(self, name):
        self.agents[name].kill()
        self.agents[name].wait()

    # ---- asking

    def client(self):
        with open(os.path.join(self.state, "client.json"), encoding="utf-8") as file:
            return json.load(file)

    def api(self):
        known = self.client()
        return Api(known["server"], known["token"])

    def cli(self, *words, limit=CLI_LIMIT_S, program=MUSTER, **options):
        """A finished `muster WORDS`: returncode, stdout, stderr as text (bytes that are no UTF-8 replaced)."""
        return subprocess.run([program, *words], capture_output=True, text=True, errors="replace",
                              timeout=limit, stdin=subprocess.DEVNULL,
                              env=self.environment(**options.pop("env", {})), **options)

    def cli_json(self, *words, **options):
        done = self.cli(*words, "-o", "json", **options)
        if done.returncode != 0:
            raise AssertionError(f"muster {' '.join(words)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def submit(self, command, ranks=1, name=None, token=None, **more):
        """Submits a job of one role; `more` goes into the spec. Returns its view."""
        role = {"ranks": ranks, "command": command}
        for key in ("env", "ranks_per_node", "devices_per_rank"):
            if key in more:
                role[key] = more.pop(key)
        spec = {"workdir": self.state, "roles": [role], **more}
        if name:
            spec["name"] = name
        headers = {"Client-Token": token} if token else {}
        return self.api().post("/v1/workloads", spec, headers=headers)["workload"]

    def job(self, name):
        return self.api().get(f"/v1/workloads/{name}")

    def wait_job(self, name, limit=JOB_LIMIT_S):
        """Its detail once it is over."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            self.api().get(f"/v1/workloads/{name}:await?hold=10s")
            detail = self.job(name)
            if detail["workload"]["phase"] in TERMINAL:
                return detail
        raise AssertionError(f"{name} is not over after {limit} s: {json.dumps(self.job(name)['workload'])}")

    def wait_event(self, kind, subject=None, after=0, limit=EVENT_LIMIT_S):
        for event in self.api().events(after, limit):
            if event["type"] == kind and subject in (None, event["subject"]):
                return event
        return None

    def facts(self):
        """Every event there is so far."""
        found, after = [], 0
        while True:
            page = self.api().get(f"/v1/events?after={after}&limit=1000")
            found += page["items"]
            if page["next"] == after:
                return found
            after = page["next"]

    # ---- the end

    def processes(self):
        """[(pid, command line)] of everything that came from this cluster and lives."""
        mark, found = os.path.basename(self.state).encode(), []
        for path in glob.glob("/proc/[0-9]*"):
            pid = int(path[len("/proc/"):])
            try:
                with open(path + "/cmdline", "rb") as file:
                    cmdline = file.read()
                with open(path + "/environ", "rb") as file:
                    environ = file.read()
            except OSError:
                continue
            if pid != os.getpid() and (mark in cmdline or mark in environ) and is_alive(pid):
                found.append((pid, cmdline.replace(b"\0", b" ").decode("utf-8", "replace")))
        return found

    def launchers(self):
        return [pid for pid, cmdline in self.processes() if " launch " in f" {cmdline} "]

    def stop(self):
        def none_left():
            for pid, _ in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for process in self.children:
                process.poll()
            return not self.processes()

        until(none_left, GONE_LIMIT_S, "the end of the cluster's processes")
        for child in self.children:
            child.wait()
        self.remove_groups()

    def remove_groups(self):
        ids = {os.path.basename(p) for p in glob.glob(os.path.join(self.state, "nodes/*/logs/*"))}
        ids |= {os.path.basename(p).split(".")[0]
                for p in glob.glob(os.path.join(self.state, "nodes/*/attempts/*"))}
        for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"):
            for folder, _, _ in os.walk(base, topdown=False):
                if any(i in folder for i in ids):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass  # nested ones go first; one that is busy stays and shows

    def log_tail(self, name, lines=40):
        try:
            with open(os.path.join(self.state, f"{name}.log"), encoding="utf-8", errors="replace") as file:
                return "".join(file.readlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def all_logs(self):
        paths = self.logs + sorted(glob.glob(os.path.join(self.state, "nodes/*/attempts/*/launcher.log")))
        paths += sorted(glob.glob(os.path.join(self.state, "nodes/*/logs/*/*")))
        for path in dict.fromkeys(paths):
            if os.path.isfile(path) and os.path.getsize(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    tail = "".join(file.readlines()[-30:])[-6000:]
                print(f"---- {os.path.relpath(path, self.state)}\n{tail}", flush=True)

    def remove(self):
        shutil.rmtree(self.state, ignore_errors=True)


class ClusterTest(unittest.TestCase):
    """A test with clusters: stops them at the end, prints their logs where it failed."""

    def cluster(self, started=True, **options):
        made = Cluster(**options)
        self.addCleanup(self.finish, made)
        return made.start() if started else made

    def finish(self, cluster):
        outcome = getattr(self, "_outcome", None)
        if outcome is not None and not outcome.success:
            cluster.all_logs()
        cluster.stop()
        cluster.remove()

    def assert_no_rank_left(self, cluster, job_id):
        """No process carries the job's id: verified on the machine, not through Muster."""
        left = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    if f"MUSTER_WORKLOAD_ID={job_id}".encode() in file.read().split(b"\0"):
                        pid = int(path.split("/")[2])
                        if is_alive(pid):
                            left.append(pid)
            except OSError:
                continue
        self.assertEqual(left, [], "processes of the job are left")
