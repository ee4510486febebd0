"""The command line on a terminal: the live line, watching, Ctrl-C, a server that goes away."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

from cluster import MUSTER, ClusterTest
from gang import RANK_SCRIPT, Gang

SEEN_LIMIT_S = 60
END_LIMIT_S = 60


class Terminal:
    """`muster WORDS` on a pseudo-terminal of a given width."""

    def __init__(self, test, cluster, *words, width=120, env=None):
        environment = {**cluster.environment(**(env or {})), "TERM": "xterm"}
        environment.pop("NO_COLOR")
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
            os.execve(MUSTER, [MUSTER, *words], environment)
        self.code = None
        test.addCleanup(self.close)

    def read(self, limit):
        """More of its output; False once it has closed the terminal."""
        if not select.select([self.fd], [], [], limit)[0]:
            raise AssertionError(f"nothing more came within {limit:.0f} s after:\n{self.text[-2000:]!r}")
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # how Linux tells that the other side is closed
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def see(self, pattern, limit=SEEN_LIMIT_S):
        deadline = time.monotonic() + limit
        while not re.search(pattern, self.text):
            if not self.read(max(0, deadline - time.monotonic())):
                raise AssertionError(f"it ended without {pattern!r}:\n{self.text[-2000:]!r}")
        return re.search(pattern, self.text)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, limit=END_LIMIT_S):
        deadline = time.monotonic() + limit
        while self.read(max(0, deadline - time.monotonic())):
            pass
        status = os.waitpid(self.pid, 0)[1]
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class OnATerminal(ClusterTest):
    def setUp(self):
        self.c = self.cluster(nodes=1, slots=2)
        self.gang = Gang(self)

    def run_job(self, name, ranks=1):
        terminal = Terminal(self, self.c, "run", "--name", name, "--ranks", str(ranks), "--restarts", "0", "-e",
                            "TEST_GANG",
                            "--", RANK_SCRIPT, env=self.gang.env())
        return terminal, self.gang.gather(ranks)

    def test_the_live_line_stays_below_what_ranks_print(self):
        terminal, ranks = self.run_job("live")
        ranks[0].ask("progress", known={"step": 4, "total": 10, "loss": 2.5})
        terminal.see(r"\r\x1b\[K.*live.*50 %.*step 5/10.*loss 2\.5")
        ranks[0].ask("print", hex=b"hello\n".hex())
        terminal.see(r"\[0\]\S* hello\r\n")
        ranks[0].tell("exit", code=3)
        self.assertEqual(terminal.end(), 3, terminal.text)
        self.assertIn("exit code 3", terminal.text)
        # The line was taken away before the verdict.
        self.assertRegex(terminal.text, r"\r\x1b\[K[^\r\n]*live failed after")

    def test_ctrl_c_detaches_and_the_job_goes_on(self):
        terminal, ranks = self.run_job("goes-on")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130, terminal.text)
        self.assertIn("muster logs -f goes-on", terminal.text)
        self.assertIn("muster cancel goes-on", terminal.text)
        self.assertEqual(self.c.job("goes-on")["workload"]["phase"], "running")
        ranks[0].tell("exit", code=0)
        self.assertEqual(self.c.wait_job("goes-on")["workload"]["phase"], "succeeded")

    def test_a_follow_outlives_its_server(self):
        terminal, ranks = self.run_job("stays")
        terminal.see("generation 1 of attempt 1")
        self.c.kill_server()
        terminal.see("does not answer")
        self.c.start_server()
        terminal.see("answers again")
        ranks[0].ask("print", hex=b"still here\n".hex())
        terminal.see("still here")
        ranks[0].tell("exit", code=0)
        self.assertEqual(terminal.end(), 0, terminal.text)

    def test_watching_jobs_redraws_and_ends_with_ctrl_c(self):
        terminal = Terminal(self, self.c, "jobs", "-w", width=80)
        terminal.see("no jobs")
        self.c.submit([sys.executable, RANK_SCRIPT], name="watched", env=self.gang.env())
        terminal.see(r"\x1b\[H\x1b\[2JNAME.*\n.*watched")
        for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", terminal.text).splitlines():
            self.assertLessEqual(len(line), 80)
        self.gang.gather(1)[0].tell("exit", code=0)
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 0, terminal.text)


if __name__ == "__main__":
    unittest.main()
