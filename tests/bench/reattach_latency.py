#!/usr/bin/env python3
"""From the start of a server to the moment when every node and the running job are known again.

Usage: MUSTER_BUILD=build/program python3 tests/bench/reattach_latency.py [--repeat 10]

Each round kills the server with SIGKILL beside a running job of one rank on each node, leaves it away for a
while (1 to 10 s, so that the agents' and launchers' pauses between tries are met at every place), starts it,
and asks until all nodes are in service and the job shows a step that was made while the server was away.
Printed are the median and the worst, and of that the time until the server answered at all.
"""

import argparse
import os
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from cluster import Cluster  # noqa: E402

NODES = 2
LIMIT_S = 60
LOOK_S = 0.02
# A step each 20 ms, for as long as it is let.
RANK = [sys.executable, "-c", "import muster, threading\nstep = 0\nwhile True:\n"
        "    muster.progress(step=step, total=1_000_000)\n    step += 1\n    threading.Event().wait(0.02)"]


def step(cluster):
    return (cluster.job("trains")["workload"].get("progress") or {}).get("step", -1)


def await_known(cluster, begun, last_step):
    while time.monotonic() - begun < LIMIT_S:
        nodes = cluster.api().get("/v1/nodes")["items"]
        if len(nodes) == NODES and all(node["schedulable"] for node in nodes) and step(cluster) > last_step:
            return time.monotonic() - begun
        threading.Event().wait(LOOK_S)
    raise SystemExit(f"not known again after {LIMIT_S} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=10)
    repeat = parser.parse_args().repeat
    cluster = Cluster(nodes=NODES, slots=1).start()
    try:
        cluster.submit(RANK, ranks=NODES, name="trains", ranks_per_node=1)
        await_known(cluster, time.monotonic(), 0)
        whole, answered = [], []
        for i in range(repeat):
            before = step(cluster)
            cluster.kill_server()
            threading.Event().wait(1 + i % 10)
            begun = time.monotonic()
            cluster.start_server()
            answered.append(time.monotonic() - begun)
            whole.append(await_known(cluster, begun, before))
        print(f"server answers          median {statistics.median(answered):6.2f} s   max {max(answered):.2f} s")
        print(f"nodes and job known     median {statistics.median(whole):6.2f} s   max {max(whole):.2f} s   (target: 3 s)")
    finally:
        cluster.stop()
        cluster.remove()


if __name__ == "__main__":
    main()
