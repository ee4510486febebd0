"""Somebody sets the wall clock while a cluster works: nothing is lost, no time goes back, and it is
told once. The clock is that of the cluster's processes alone (wall_clock.cpp)."""

import datetime
import os
import sys
import unittest

from cluster import BUILD, Cluster, ClusterTest, until
from gang import RANK_SCRIPT, Gang

RANK = [sys.executable, "-u", RANK_SCRIPT]
WALL_CLOCK = os.path.join(BUILD, "tests/e2e/libwall_clock.so")
HOUR_S = 3600
TOLD_LIMIT_S = 20
SPAN_MAX_S = 600  # of everything that happens in a test, by the facts' own times


class ClusterWithItsOwnClock(Cluster):
    def environment(self, **more):
        return super().environment(LD_PRELOAD=WALL_CLOCK, TEST_WALL_CLOCK=self.clock_file(), **more)

    def clock_file(self):
        return os.path.join(self.state, "wall-clock")

    def set_clock(self, seconds):
        with open(self.clock_file() + ".new", "w", encoding="utf-8") as file:
            file.write(str(seconds))
        os.rename(self.clock_file() + ".new", self.clock_file())

    def told(self, name, event):
        with open(os.path.join(self.state, f"{name}.log"), encoding="utf-8") as file:
            return sum(f" {event} " in line for line in file)


class Clock(ClusterTest):
    def setUp(self):
        if not os.path.exists(WALL_CLOCK):
            self.skipTest(f"{WALL_CLOCK} was not built (it cannot be preloaded under a sanitizer)")
        self.c = ClusterWithItsOwnClock(nodes=1)
        self.addCleanup(self.finish, self.c)
        self.c.start()
        self.gang = Gang(self)

    def times(self):
        return [datetime.datetime.fromisoformat(fact["at"].replace("Z", "+00:00")) for fact in self.c.facts()]

    def jump(self, seconds):
        self.c.submit(RANK, ranks=2, name="over-the-jump", env=self.gang.env())
        ranks = self.gang.gather(2)
        self.c.set_clock(seconds)
        for part in ("server", "agent-n1"):
            until(lambda part=part: self.c.told(part, "clock_jumped"), TOLD_LIMIT_S, f"{part} tells of the jump")
        self.c.submit(["true"], name="after")
        for rank in ranks.values():
            self.assertEqual(rank.ask("nothing"), "nothing")
            rank.tell("exit", code=0)
        for name in ("over-the-jump", "after"):
            detail = self.c.wait_job(name)["workload"]
            self.assertEqual((detail["phase"], detail["attempt"], detail["restarts"]), ("succeeded", 1, 0), name)
        self.assertNotIn("NodeLost", [fact["type"] for fact in self.c.facts()])
        times = self.times()
        self.assertEqual(times, sorted(times), "time went back")
        self.assertLess((times[-1] - times[0]).total_seconds(), SPAN_MAX_S, "time jumped")
        self.assertEqual(self.c.told("server", "clock_jumped"), 1)
        return times

    def test_the_wall_clock_is_set_forward_an_hour(self):
        self.jump(HOUR_S)

    def test_the_wall_clock_is_set_back_an_hour(self):
        before = self.jump(-HOUR_S)
        # A server that starts now begins at its newest fact, not an hour before it.
        self.c.kill_server()
        self.c.start_server()
        self.c.wait_nodes_ready()
        self.c.submit(["true"], name="again")
        self.assertEqual(self.c.wait_job("again")["workload"]["phase"], "succeeded")
        times = self.times()
        self.assertEqual(times, sorted(times), "time went back")
        self.assertGreater(times[-1], before[-1])
        self.assertEqual(self.c.told("server", "clock_behind_records"), 1)


if __name__ == "__main__":
    unittest.main()
