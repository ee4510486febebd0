"""Standalone `muster launch` with real processes: what goes wrong in practice, one test each. Every
rank is a small script; a test waits for processes (pidfd) and files that ranks write, never for time."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import unittest

from cluster import is_alive, until, wait_gone
from launching import LAUNCH_LIMIT_S, LaunchTest


class Launch(LaunchTest):
    # ---- ends

    def test_every_rank_succeeds(self):
        code, output = self.launch(3, self.script("print('hello from', rank, os.environ['WORLD_SIZE'])"))
        self.assertEqual(code, 0, output)
        for rank in range(3):
            self.assertIn(f"[{rank}] hello from {rank} 3\n", output)

    def test_the_exit_code_is_the_first_failing_ranks(self):  # U13
        code, output = self.launch(3, self.script("""
            if rank == 1: sys.exit(42)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
            forever()
            """), "--max-restarts", "0")
        self.assertEqual(code, 42, output)
        self.assertIn("rank 1 ended with exit code 42", output)

    def test_a_killed_rank_is_the_cause_not_those_ended_after_it(self):  # U4
        code, output = self.launch(3, self.script("""
            if rank == 2: os.kill(os.getpid(), signal.SIGKILL)
            forever()
            """), "--max-restarts", "0")
        self.assertEqual(code, 128 + signal.SIGKILL, output)
        self.assertIn("rank 2 was killed by signal 9", output)
        self.assertNotIn("rank 0 was killed", output)

    def test_a_typing_error_is_not_retried(self):  # U14
        parser = self.script("""
            note("start")
            import argparse
            argparse.ArgumentParser().parse_args()
            """)
        code, output = self.launch(3, [parser, "--no-such-flag"], "--max-restarts", "3")
        self.assertEqual(code, 2, output)
        self.assertEqual(len(self.noted("start")), 3, "every rank started once")

    def test_a_program_that_cannot_start_is_told_exactly(self):
        code, output = self.launch(2, "/no/such/program", "--no-python")
        self.assertEqual(code, 127, output)
        self.assertIn("No such file or directory", output)

    def test_a_long_epilogue_of_rank_0_is_waited_for(self):  # U22
        process = self.start(3, self.script("""
            note("pid", os.getpid())
            if rank == 0: sys.stdin = None; os.read(os.open(os.environ["GATE"], os.O_RDONLY), 1)
            """), GATE=self.gate())
        for rank in (1, 2):
            wait_gone(int(self.note("pid", rank)))
        self.assertIsNone(process.poll(), "others being done is no reason to end rank 0")
        self.open_gate()
        output, _ = process.communicate(timeout=LAUNCH_LIMIT_S)
        self.assertEqual(process.returncode, 0, output)

    def gate(self):
        path = os.path.join(self.folder, "gate")
        os.mkfifo(path)
        return path

    def open_gate(self):
        with open(os.path.join(self.folder, "gate"), "w", encoding="utf-8") as file:
            file.write("x")

    # ---- restarts

    def test_a_killed_rank_restarts_the_gang(self):
        code, output = self.launch(2, self.script("""
            note("pid", os.getpid())
            if generation == 1 and rank == 1:
                until(lambda: noted("pid", 0, 1))
                os.kill(os.getpid(), signal.SIGKILL)
            if generation == 1: forever()
            print("port", os.environ["MASTER_PORT"], "restarts", os.environ["TORCHELASTIC_RESTART_COUNT"])
            """))
        self.assertEqual(code, 0, output)
        self.assertIn("restarts 1", output)
        for generation in (1, 2):
            for rank in (0, 1):
                self.assertFalse(is_alive(int(self.note("pid", rank, generation))))

    def test_a_wrappers_grandchild_does_not_survive_the_restart(self):  # U2
        training = self.script("""
            held = socket.create_server(("127.0.0.1", 0))
            note("port", held.getsockname()[1]); note("pid", os.getpid())
            if generation == 1 and rank == 1:
                until(lambda: noted("pid", 0, 1))
                os.kill(os.getppid(), signal.SIGKILL)
            if generation == 1: forever()
            for other in (0, 1):  # of the first generation
                port = int(open(os.path.join(os.environ["NOTES"], f"port.{other}.1")).read())
                free = socket.socket(); free.bind(("127.0.0.1", port)); free.close()
            """)
        wrapper = os.path.join(self.folder, "wrapper.sh")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n{sys.executable} {training} & wait $!\n")
        os.chmod(wrapper, 0o755)
        code, output = self.launch(2, wrapper, "--no-python")
        self.assertEqual(code, 0, output)
        for rank in (0, 1):
            self.assertFalse(is_alive(int(self.note("pid", rank, 1))))

    def test_a_daemon_of_the_old_generation_is_gone_before_the_new_one_starts(self):  # U7
        code, output = self.launch(1, self.script("""
            if generation == 1:
                holder = subprocess.Popen([sys.executable, "-c",
                    "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
                    "memory = bytearray(50_000_000); print(os.getpid(), flush=True); signal.pause()"],
                    start_new_session=True, stdout=subprocess.PIPE, text=True)
                note("holder", holder.stdout.readline())
                os.kill(os.getpid(), signal.SIGKILL)
            pid = int(open(os.path.join(os.environ["NOTES"], "holder.0.1")).read())
            note("seen", os.path.exists(f"/proc/{pid}"))
            """))
        self.assertEqual(code, 0, output)
        self.assertEqual(self.note("seen", 0, 2), "False")

    def test_a_port_wanted_by_others_costs_no_restart(self):  # U3
        code, output = self.launch(2, self.script("""
            address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
            if rank == 1:  # a stranger in the window before rank 0 listens
                try:
                    socket.socket().bind(address)
                    note("stolen")
                except OSError as error:
                    note("refused", error.errno)
            else:
                until(lambda: noted("stolen", 1, 1) or noted("refused", 1, 1))
                store = socket.create_server(address)  # SO_REUSEADDR, as a store does
                note("listening")
            """))
        self.assertEqual(code, 0, output)
        self.assertEqual(self.noted("stolen"), [])
        self.assertEqual(self.noted("listening"), ["listening.0.1"], "in the first generation")

    # ---- reach

    def test_ending_one_job_leaves_the_one_beside_it_alone(self):  # U10
        sleeper = self.script("note('pid-' + sys.argv[1], os.getpid()); forever()")
        one = self.start(2, [sleeper, "one"])
        two = self.start(2, [sleeper, "two"])
        ones = [int(self.note("pid-one", rank)) for rank in (0, 1)]
        twos = [int(self.note("pid-two", rank)) for rank in (0, 1)]
        one.send_signal(signal.SIGTERM)
        one.communicate(timeout=LAUNCH_LIMIT_S)
        for pid in ones:
            self.assertFalse(is_alive(pid))
        for pid in twos:
            self.assertTrue(is_alive(pid))
        self.assertIsNone(two.poll())

    def test_ctrl_c_ends_every_process(self):  # U15
        process = self.start(2, self.script("""
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            note("child", child.pid); note("pid", os.getpid()); forever()
            """))
        pids = [int(self.note(name, rank)) for name in ("child", "pid") for rank in (0, 1)]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=LAUNCH_LIMIT_S)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, output)
        for pid in pids:
            self.assertFalse(is_alive(pid))

    def test_a_second_ctrl_c_does_not_wait_for_the_grace(self):
        process = self.start(1, self.script("""
            signal.signal(signal.SIGTERM, lambda *_: note("told"))
            note("pid", os.getpid())
            while True: signal.pause()
            """))
        pid = int(self.note("pid", 0))
        process.send_signal(signal.SIGINT)
        self.note("told", 0)
        process.send_signal(signal.SIGINT)
        wait_gone(pid, 10)  # the grace alone is 15 s
        process.communicate(timeout=LAUNCH_LIMIT_S)

    def test_nothing_is_left_of_the_launcher_itself(self):
        process = self.start(2, self.script("""
            note("id", os.environ["MUSTER_WORKLOAD_ID"])
            until(lambda: noted("end", 0, 1))
            """))
        names = (self.note("id", 0), f"probe-{process.pid}-")  # launchers of other tests run beside it
        self.assertTrue(self.traces(names), "a running launcher has a group and a folder of pages")
        with open(os.path.join(self.notes, "end.0.1"), "w", encoding="utf-8"):
            pass
        output, _ = process.communicate(timeout=LAUNCH_LIMIT_S)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(self.traces(names), [])

    @staticmethod
    def traces(names):
        """Groups and folders of pages that bear one of the names."""
        folders = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer", "/dev/shm")
        return [os.path.join(folder, entry) for folder in folders if os.path.isdir(folder)
                for entry in os.listdir(folder) if any(name in entry for name in names)]

    # ---- a launcher that is killed

    LEAVER = """
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note("child", child.pid); note("pid", os.getpid()); forever()
        """

    def killed(self, kill, **env):
        """Kills the launcher of ranks with a child in a session of its own each; all must go."""
        process = self.start(2, self.script(self.LEAVER), **env)
        pids = [int(self.note(name, rank)) for name in ("child", "pid") for rank in (0, 1)]
        kill(process)
        process.communicate(timeout=LAUNCH_LIMIT_S)
        for pid in pids:
            wait_gone(pid)
        until(lambda: not self.guards(), 30, "the end of the guard")

    def guards(self):
        found = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/comm", encoding="utf-8") as comm, \
                     open(f"/proc/{name}/environ", "rb") as environ:
                    if comm.read() == "muster-guard\n" and self.notes.encode() in environ.read():
                        found.append(int(name))
            except (OSError, ValueError):
                continue
        return [pid for pid in found if is_alive(pid)]

    def test_a_killed_launcher_leaves_no_process(self):
        self.killed(lambda process: process.kill())

    def test_a_killed_launcher_leaves_no_process_without_cgroups(self):
        self.killed(lambda process: process.kill(), MUSTER_GROUPS="session")

    def test_killing_the_launchers_process_group_leaves_no_process(self):
        self.killed(lambda process: os.killpg(process.pid, signal.SIGKILL))

    def test_in_a_cgroup_not_even_a_hidden_process_survives_a_killed_launcher(self):
        # Environment, session and parent dropped: only a cgroup still knows where it came from.
        hide = os.path.join(self.folder, "hide.py")
        with open(hide, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent("""
                import os, sys
                if os.fork() == 0:
                    os.setsid()
                    with open(sys.argv[1] + ".tmp", "w") as file: file.write(str(os.getpid()))
                    os.rename(sys.argv[1] + ".tmp", sys.argv[1])
                    os.execve("/bin/sleep", ["sleep", "600"], {})
                """))
        for backend in ("v2", "v1"):
            if self.launch(1, "true", "--no-python", MUSTER_GROUPS=backend)[0] == 0:
                break
        else:
            self.skipTest("neither version of cgroups can be used here")
        process = self.start(1, self.script("""
            note = os.path.join(os.environ["NOTES"], "hidden.0.1")
            subprocess.run([sys.executable, os.environ["HIDE"], note], env={})
            forever()
            """), MUSTER_GROUPS=backend, HIDE=hide)
        hidden = int(self.note("hidden", 0))
        self.assertTrue(is_alive(hidden))
        process.kill()
        wait_gone(hidden)
        process.communicate(timeout=LAUNCH_LIMIT_S)

    def test_no_guard_outlives_its_launcher(self):
        process = self.start(1, self.script("note('pid', os.getpid()); forever()"))
        self.note("pid", 0)
        self.assertEqual(len(self.guards()), 1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LAUNCH_LIMIT_S)
        self.assertEqual(self.guards(), [])

    # ---- logs

    def test_rotation_keeps_the_first_error(self):  # U16
        logs = os.path.join(self.folder, "logs")
        code, output = self.launch(1, self.script("""
            import traceback
            for i in range(1100): print("x" * 1000)
            try: raise ValueError("root cause")
            except ValueError: traceback.print_exc()
            sys.stderr.flush()
            for i in range(30): print(("y" * 1000 + chr(10)) * 1000, end="")
            """), "--log-dir", logs)
        self.assertEqual(code, 0, output[-2000:])
        with open(os.path.join(logs, "rank-0.error.log"), encoding="utf-8") as file:
            self.assertIn("ValueError: root cause", file.read())

    def test_a_runaway_log_is_bounded_and_other_ranks_errors_are_kept(self):  # U17
        logs = os.path.join(self.folder, "logs")
        code, output = self.launch(2, self.script("""
            if rank == 0:
                line = ("runaway " * 120 + chr(10)).encode() * 1000
                while True: os.write(1, line)
            until(lambda: sum(os.path.getsize(os.path.join(os.environ["LOGS"], f))
                              for f in os.listdir(os.environ["LOGS"]) if f.startswith("rank-0")) > 4_000_000)
            with open(f"/proc/{os.getppid()}/status") as status:
                note("peak_kb", next(line.split()[1] for line in status if line.startswith("VmHWM")))
            raise RuntimeError("the other rank's own error")
            """), "--log-dir", logs, "--max-restarts", "0", LOGS=logs)
        self.assertEqual(code, 1, output[-2000:])
        self.assertIn("rank 1 ended with exit code 1: RuntimeError: the other rank's own error", output)
        size = sum(os.path.getsize(os.path.join(logs, name)) for name in os.listdir(logs)
                   if name.startswith("rank-0."))
        self.assertLess(size, 14 * 1024 * 1024)
        self.assertLess(int(self.note("peak_kb", 1)), 64 * 1024, "the launcher holds the log in memory")

    def test_output_that_is_no_text_is_shown_and_kept(self):
        code, output = self.launch(1, self.script("""
            os.write(1, b"caf\\xe9 \\xff" + bytes([10])); os.write(2, b"no newline at the end")
            """))
        self.assertEqual(code, 0, output)
        self.assertIn("[0] caf\ufffd \ufffd", output)
        self.assertIn("[0] no newline at the end", output)

    # ---- progress

    def test_the_python_package_reports_and_is_harmless_alone(self):
        body = """
            import muster
            muster.progress(step=1, total=10, loss=0.5, samples=8, metrics={"lr": 0.1}, phase="warm-up")
            with muster.phase("checkpoint"): note("folder", muster.checkpoint_dir())
            note("active", muster.active())
            """
        code, output = self.launch(1, self.script(body))
        self.assertEqual(code, 0, output)
        self.assertEqual(self.note("active", 0), "True")
        self.assertTrue(os.path.isdir(self.note("folder", 0)))
        source = os.path.join(os.path.dirname(__file__), "../../python")
        alone = subprocess.run(
            [sys.executable, self.script(body)], cwd=self.folder, check=False, capture_output=True, text=True,
            env={"NOTES": self.notes, "RANK": "7", "MUSTER_GENERATION": "1", "PYTHONPATH": source})
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(self.note("active", 7), "False")


if __name__ == "__main__":
    unittest.main()
