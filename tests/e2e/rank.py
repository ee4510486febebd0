"""A rank that does what the test tells it: connects to the gang's listener (gang.py), says who it is,
then carries out one command a line until the test lets it end or goes away."""

import json
import os
import signal
import socket
import subprocess
import sys

KEPT = ("RANK", "WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")


def numbers(name):
    return int(os.environ.get(name, -1))


def main():
    host, port = os.environ["TEST_GANG"].split(":")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rw") as lines:
        hello = {"rank": numbers("RANK"), "pid": os.getpid(), "generation": numbers("MUSTER_GENERATION"),
                 "attempt": numbers("MUSTER_ATTEMPT"), "node": os.environ.get("MUSTER_NODE", ""),
                 "job": os.environ.get("MUSTER_JOB", ""), "workload": os.environ.get("MUSTER_WORKLOAD_ID", ""),
                 "env": {k: v for k, v in os.environ.items() if k in KEPT or k.startswith("MUSTER_")}}
        say(lines, hello)
        for line in lines:
            say(lines, {"did": carry_out(json.loads(line))})
    return 111  # the test went away


def say(lines, what):
    lines.write(json.dumps(what) + "\n")
    lines.flush()


def carry_out(order):
    what = order["do"]
    if what == "exit":
        if order.get("say"):
            print(order["say"], file=sys.stderr, flush=True)
        os._exit(order["code"])
    if what == "raise":
        raise ValueError(order["text"])
    if what == "signal":
        os.kill(os.getpid(), order["number"])
    if what == "print":
        sys.stdout.buffer.write(bytes.fromhex(order["hex"]))
        sys.stdout.flush()
    if what == "print_much":
        for _ in range(order["times"]):
            sys.stdout.write(order["text"])
        sys.stdout.flush()
    if what == "ignore_sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if what == "progress":
        import muster

        muster.progress(**order["known"])
    if what == "leave_child":
        # A process that leaves the session and the parent, and wants to outlive everything.
        code = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pause()"
        child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return child.pid
    return what


if __name__ == "__main__":
    sys.exit(main())
