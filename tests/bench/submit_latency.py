#!/usr/bin/env python3
"""From a submit to the first line of a rank, beside the bare start of the same process.

Usage: MUSTER_BUILD=build/release python3 tests/bench/submit_latency.py [--repeat 30]

Each round starts the same program twice: bare, as a child of this script, and as a job through the REST
interface of a real cluster (server, agent, launcher, rank). Both write their clock's time as their first
line. Printed are medians and the difference, which is what Muster adds.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from cluster import Cluster  # noqa: E402

PROGRAM = ["/bin/sh", "-c", 'date +%s%N > "$OUT.part" && mv "$OUT.part" "$OUT"']


def first_line_ns(path):
    with open(path, encoding="ascii") as file:
        return int(file.readline())


def bare_ms(path):
    begun = time.time_ns()
    subprocess.run(PROGRAM, env={**os.environ, "OUT": path}, check=True)
    return (first_line_ns(path) - begun) / 1e6


def submitted_ms(cluster, name, path):
    begun = time.time_ns()
    cluster.submit(PROGRAM, name=name, env={"OUT": path})
    cluster.wait_job(name)
    return (first_line_ns(path) - begun) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=30)
    repeat = parser.parse_args().repeat
    cluster = Cluster(nodes=1, slots=2).start()
    try:
        bare, submitted = [], []
        with tempfile.TemporaryDirectory() as folder:
            for i in range(repeat + 3):
                one = bare_ms(os.path.join(folder, f"bare-{i}"))
                two = submitted_ms(cluster, f"latency-{i}", os.path.join(folder, f"job-{i}"))
                if i >= 3:  # the first rounds warm caches
                    bare.append(one)
                    submitted.append(two)
        median_bare, median_job = statistics.median(bare), statistics.median(submitted)
        print(f"bare start       median {median_bare:7.1f} ms")
        print(f"submit to line   median {median_job:7.1f} ms   max {max(submitted):.1f} ms")
        print(f"added by Muster  median {median_job - median_bare:7.1f} ms   (target: at most 150 ms)")
    finally:
        cluster.stop()
        cluster.remove()


if __name__ == "__main__":
    main()
