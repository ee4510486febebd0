"""Gang: the test's end of rank.py. Ranks report here when they start, so a test waits for the event
itself and then tells each rank what to do."""

import json
import os
import select
import socket
import time

RANK_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")
START_LIMIT_S = 60
ANSWER_LIMIT_S = 30


class Rank:
    """One rank process that said hello."""

    def __init__(self, connection):
        self.connection = connection
        connection.settimeout(ANSWER_LIMIT_S)
        self.lines = connection.makefile("r")
        self.hello = json.loads(self.lines.readline() or "null")
        if self.hello is None:
            raise EOFError("a rank ended before it said who it is")
        self.rank, self.pid = self.hello["rank"], self.hello["pid"]
        self.fence = (self.hello["attempt"], self.hello["generation"])

    def tell(self, do, **more):
        """Does not wait for the answer: for orders that end the rank."""
        self.connection.sendall((json.dumps({"do": do, **more}) + "\n").encode())

    def ask(self, do, **more):
        self.tell(do, **more)
        line = self.lines.readline()
        if not line:
            raise EOFError(f"rank {self.rank} ended instead of answering to '{do}'")
        return json.loads(line)["did"]

    def wait_gone(self, limit=ANSWER_LIMIT_S):
        """Returns when the process has ended: its end of the connection is closed by then."""
        self.connection.settimeout(limit)
        while self.connection.recv(4096):
            pass

    def alive(self):
        """Whether it still holds its end of the connection; never blocks."""
        if not select.select([self.connection], [], [], 0)[0]:
            return True
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except ConnectionError:
            return False


class Gang:
    def __init__(self, test):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.ranks = []
        test.addCleanup(self.close)

    @property
    def address(self):
        return "127.0.0.1:%d" % self.listener.getsockname()[1]

    def env(self):
        return {"TEST_GANG": self.address}

    def gather(self, count, limit=START_LIMIT_S, of_job=None):
        """{rank: Rank} of the next `count` ranks that start, all of one generation."""
        found, deadline = {}, time.monotonic() + limit
        while len(found) < count:
            rank = self.next_rank(deadline - time.monotonic())
            if of_job and rank.hello["job"] != of_job:
                raise AssertionError(f"a rank of {rank.hello['job']} started; expected one of {of_job}")
            if found and rank.fence != next(iter(found.values())).fence:
                raise AssertionError(f"ranks of different generations: {rank.hello}, {list(found)}")
            found[rank.rank] = rank
        return dict(sorted(found.items()))

    def next_rank(self, limit):
        self.listener.settimeout(max(0.01, limit))
        try:
            connection, _ = self.listener.accept()
        except (socket.timeout, TimeoutError):
            raise AssertionError("no further rank started in time") from None
        rank = Rank(connection)
        self.ranks.append(rank)
        return rank

    def nobody_new(self):
        """True where no rank waits to be heard at this moment."""
        return not select.select([self.listener], [], [], 0)[0]

    def close(self):
        for rank in self.ranks:
            rank.connection.close()
        self.listener.close()
