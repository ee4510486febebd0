#!/usr/bin/env python3
"""What an idle agent costs: share of a core and resident memory, beside a real server.

    python3 tests/bench/agent_cost.py [--muster build/release/src/app/muster] [--rounds 5] [--seconds 10]

Prints one line a round and the medians. Goal: under 0.5 % of a core, under 30 MB."""

import argparse
import glob
import json
import os
import select
import shutil
import statistics
import subprocess
import tempfile
import time

READY_LIMIT_S = 30
WARM_UP_S = 2


def wait(seconds, process):
    """Lets time pass, or says that the process has ended."""
    fd = os.pidfd_open(process.pid)
    try:
        if select.select([fd], [], [], seconds)[0]:
            raise SystemExit(f"{process.args[1]} ended with code {process.wait()}")
    finally:
        os.close(fd)


def cpu_ns(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", default="build/release/src/app/muster")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="muster-bench-")
    log = open(os.path.join(state, "log"), "wb")
    started = []

    def start(*arguments):
        process = subprocess.Popen([options.muster, *arguments], stdout=log, stderr=log)
        started.append(process)
        return process

    try:
        server = start("server", "--state", state, "--listen", "127.0.0.1:0")
        client = os.path.join(state, "client.json")
        deadline = time.monotonic() + READY_LIMIT_S
        while not os.path.exists(client):
            if time.monotonic() > deadline:
                raise SystemExit("the server does not listen")
            wait(0.05, server)
        with open(client, encoding="utf-8") as file:
            url = json.load(file)["server"]
        agent = start("agent", "--state", state, "--server", url, "--node", "bench", "--slots", "2")
        wait(WARM_UP_S, agent)
        shares, sizes = [], []
        for number in range(options.rounds):
            before, began = cpu_ns(agent.pid), time.monotonic()
            wait(options.seconds, agent)
            share = (cpu_ns(agent.pid) - before) / ((time.monotonic() - began) * 1e9)
            shares.append(share * 100)
            sizes.append(resident_bytes(agent.pid) / 1e6)
            print(f"round {number + 1}: {shares[-1]:.3f} % of a core, {sizes[-1]:.1f} MB")
        print(f"median: {statistics.median(shares):.3f} % of a core (goal 0.5), "
              f"{statistics.median(sizes):.1f} MB (goal 30)")
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        log.close()
        shutil.rmtree(state)


if __name__ == "__main__":
    main()
