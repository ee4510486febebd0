#!/usr/bin/env python3
"""quickstart-train.py MUSTER TRAIN_SCRIPT: the middle of scripts/quickstart. Submits the training,
shows its progress, kills one rank with SIGKILL, shows what Muster saw and did, waits for the end.
Exits with the job's own code, or 1 where something else went wrong."""

import datetime
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

JOB = "charlm"
STEPS = 300
KILL_AFTER_STEP = 110  # between two checkpoints, so that there are steps to redo
VICTIM = 2
SUBMITTED_TO_STEPS_S = 180
RECOVERY_S = 120
WITHOUT_PROGRESS_S = 180
LOOK_EVERY_S = 0.5
PRINT_EVERY_S = 10  # where nobody looks at a terminal

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Failed(Exception):
    pass


def seconds(duration):
    """ "1m30s" -> 90.0 """
    sign = -1 if duration.startswith("-") else 1
    return sign * sum(float(n) * UNITS[u] for n, u in re.findall(r"([\d.]+)([a-z]+)", duration))


def for_people(s):
    return f"{s * 1000:.0f} ms" if s < 1 else f"{s:.1f} s" if s < 60 else f"{s // 60:.0f} min {s % 60:.0f} s"


def instant(text):
    """RFC 3339 in UTC -> seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Muster:
    def __init__(self, binary):
        self.binary = binary

    def text(self, *words):
        done = subprocess.run([self.binary, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"muster {' '.join(words)} ended with {done.returncode}: "
                         f"{(done.stderr or done.stdout).strip()}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.text(*words, "-o", "json"))

    def job(self):
        return self.json("job", JOB)


class Line:
    """The live line on a terminal; elsewhere a line now and then."""

    def __init__(self):
        self.live = sys.stdout.isatty()
        self.shown = False
        self.printed_at = 0.0

    def show(self, text):
        if self.live:
            print(f"\r\033[K    {text}", end="", flush=True)
            self.shown = True
        elif time.monotonic() - self.printed_at >= PRINT_EVERY_S:
            print(f"    {text}", flush=True)
            self.printed_at = time.monotonic()

    def say(self, text):
        if self.shown:
            print()
            self.shown = False
        self.printed_at = 0.0
        print(f"    {text}", flush=True)


def progress_text(workload):
    progress = workload["progress"]
    step, total = progress["step"] + 1, progress["total"]
    if not progress["reported"] or not total:
        return state_of(workload)
    parts = [f"{100 * step // total} %", f"step {step}/{total}"]
    if progress["has_loss"]:
        parts.append(f"loss {progress['loss']:.3f}")
    if progress["samples_per_second"] > 0:
        parts.append(f"{progress['samples_per_second']:.0f} samples/s")
    eta = seconds(progress["eta"])
    if eta >= 0:
        parts.append(f"ETA {for_people(eta)}")
    return "  ".join([f"{state_of(workload):10}"] + parts)


def state_of(workload):
    return workload["condition"] if workload["condition"] != "none" else workload["phase"]


def pid_of_rank(workload_id, rank):
    """The process that carries this rank's environment and was there first: the rank itself."""
    wanted = {f"MUSTER_WORKLOAD_ID={workload_id}".encode(), f"MUSTER_RANK={rank}".encode()}
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if wanted <= set(file.read().split(b"\0")):
                    pid = int(path.split("/")[2])
                    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                        fields = stat.read().rpartition(")")[2].split()
                    if fields[0] != "Z":
                        found.append((int(fields[19]), pid))  # its start time
        except (OSError, IndexError):
            continue  # it has just ended, or is not ours to read
    if not found:
        raise Failed(f"no process of rank {rank} was found")
    return min(found)[1]


def is_over(workload):
    return workload["phase"] in ("succeeded", "failed", "cancelled")


def follow(muster, line, until, limit, what):
    """Shows progress until `until(detail)`; gives up where `limit` seconds pass without a new step."""
    newest, deadline = None, time.monotonic() + limit
    while True:
        detail = muster.job()
        workload = detail["workload"]
        line.show(progress_text(workload))
        if until(detail):
            return detail
        if is_over(workload):
            raise Failed(f"the job ended before {what}: {workload['phase']}, "
                         f"exit code {workload.get('exit_code')}\n"
                         + muster.text("logs", JOB, "--tail", "40"))
        mark = (workload["progress"]["step"], workload["restarts"])
        if mark != newest:
            newest, deadline = mark, time.monotonic() + limit
        if time.monotonic() > deadline:
            raise Failed(f"{limit} s without progress while waiting for {what}\n" + muster.text("why", JOB))
        time.sleep(LOOK_EVERY_S)


def show_blame(muster, line, killed_at):
    restart = muster.json("report", JOB)["restarts"][0]
    cause = restart.get("cause") or {}
    where = f" on node {cause['node']}" if cause.get("node") else ""
    known_at = instant(muster.job()["attempts"][-1]["generations"][0]["detected_at"])
    line.say(f"detected   {for_people(max(0.0, known_at - killed_at))} after the kill")
    line.say(f"blame      rank {cause.get('rank')}{where}, exit code {cause.get('exit_code')} "
             f"(128 + signal 9); ranks {', '.join(map(str, cause.get('consequences', [])))} only followed")
    line.say(f"cleared    {for_people(seconds(restart['teardown']))} later no process of the old generation was left")
    line.say(f"restarted  {for_people(seconds(restart['restart']))} later all ranks were started again")


def main():
    muster, script = Muster(sys.argv[1]), sys.argv[2]
    line = Line()
    muster.text("run", "--detach", "--name", JOB, "--nodes", "2", "--nproc-per-node", "2", "--",
                script, "--steps", str(STEPS))

    def stepped(detail):
        return detail["workload"]["progress"]["step"] + 1 >= KILL_AFTER_STEP

    detail = follow(muster, line, stepped, SUBMITTED_TO_STEPS_S, f"step {KILL_AFTER_STEP}")
    pid = pid_of_rank(detail["workload"]["id"], VICTIM)
    line.say(f"now killing rank {VICTIM} (kill -9 {pid})")
    killed_at = time.time()
    os.kill(pid, signal.SIGKILL)

    def last_steps(detail):
        """The step of the killed generation and the newest one; None while there is no new one."""
        workload, generations = detail["workload"], detail["attempts"][-1]["generations"]
        again = generations and workload["restarts"] and workload["progress"]["reported"] \
            and workload["condition"] == "training"
        return (generations[0]["last_step"], workload["progress"]["step"]) if again else None

    def caught_up(detail):
        steps = last_steps(detail)
        return steps and steps[1] > steps[0]

    follow(muster, line, last_steps, RECOVERY_S, "the recovery")
    show_blame(muster, line, killed_at)
    line.say(f"training   {for_people(time.time() - killed_at)} after the kill, from the newest checkpoint")
    follow(muster, line, caught_up, RECOVERY_S, "the steps of before the kill")
    line.say(f"caught up  {for_people(time.time() - killed_at)} after the kill: the lost steps were made again")
    detail = follow(muster, line, lambda d: is_over(d["workload"]), WITHOUT_PROGRESS_S, "its end")
    workload = detail["workload"]
    line.say(f"{workload['phase']}, exit code {workload['exit_code']}, restarts {workload['restarts']}")
    if workload["phase"] != "succeeded":
        print(muster.text("logs", JOB, "--tail", "40"))
        return workload["exit_code"] or 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"\nerror: {failure}", file=sys.stderr)
        sys.exit(1)
