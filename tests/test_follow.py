"""drover logs --follow against a server: lines come while the item runs, each once and in order, whatever happens meanwhile."""

import os
import queue
import signal
import threading
import time

import pytest

from drover import wait_until
from test_server import Server, submit, worker

LEASE_S = 10
SOON_S = 60


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", f"{LEASE_S}s")


class Follower:
    """`drover logs … --follow`, its lines as they come."""

    def __init__(self, server, *arguments, **options):
        self.running = server.drover.start("logs", *arguments, "--follow", env={"DROVER_SERVER": server.address}, **options)
        self.lines = []
        self.waiting = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.running.process.stdout:
            self.waiting.put(line.decode())
        self.waiting.put(None)

    def next(self, seconds=SOON_S):
        """The next line; None: there are no more."""
        try:
            line = self.waiting.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no line in {seconds} s behind {self.lines[-3:]}") from None
        if line is not None:
            self.lines.append(line.rstrip("\n"))
            return self.lines[-1]
        return None

    def until(self, wanted, seconds=SOON_S):
        deadline = time.monotonic() + seconds
        while (line := self.next(max(0.1, deadline - time.monotonic()))) is not None:
            if line == wanted:
                return
        raise AssertionError(f"{wanted!r} never came; the last lines are {self.lines[-3:]}")

    def rest(self, seconds=60):
        """All that is left, and its exit status."""
        while self.next(seconds) is not None:
            pass
        self.running.process.wait(timeout=seconds)
        self.err = self.running.error.all(seconds).decode()
        return self.running.process.returncode


def counting(script, gate, before=5, after=5, more=""):
    """Prints numbered lines, waits at the gate, and prints some more."""
    return script("count", f"""
        for i in $(seq 1 {before}); do echo "$DROVER_ATTEMPT line $i"; sleep 0.3; done
        {gate.word}
        {more}
        for i in $(seq {before + 1} {before + after}); do echo "$DROVER_ATTEMPT line $i"; done""")


def lines(attempt, count):
    return [f"{attempt} line {i}" for i in range(1, count + 1)]


def test_lines_come_while_the_item_runs_and_each_once(server, script, gate):
    worker(server)
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a", "b")
    followers = [Follower(server, "job:0") for _ in range(2)] + [Follower(server, "job:1")]
    for follower in followers:
        follower.until("1 line 5")
        assert follower.lines == lines(1, 5)
    wait_until(lambda: server.job("job")["counts"]["running"] == 2, "both to be named as running")
    # Whoever asks without following gets what there is by now.
    assert server.cli("logs", "job:0").out.splitlines() == lines(1, 5)
    assert server.cli("logs", "job:0", "--tail", 2).out.splitlines() == lines(1, 5)[3:]
    gate.open()
    for follower in followers:
        assert follower.rest() == 0
        assert follower.lines == lines(1, 10)
    server.ends("job")
    assert server.cli("logs", "job:0").out.splitlines() == lines(1, 10)
    # Of one that has ended there is nothing to wait for.
    late = Follower(server, "job:1")
    assert late.rest() == 0
    assert late.lines == lines(1, 10)


def test_an_item_that_waits_is_followed_from_its_first_line(server, script, gate):
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a")
    follower = Follower(server, "job:0")
    time.sleep(1.5)
    assert follower.running.alive()
    worker(server)
    follower.until("1 line 5")
    gate.open()
    assert follower.rest() == 0
    assert follower.lines == lines(1, 10)


def test_an_item_that_says_nothing_for_long_is_waited_for(server, script, gate):
    worker(server)
    submit(server, "job", "--", script("quiet", f"{gate.word}; printf 'no newline'"), "{}", ":::", "a")
    follower = Follower(server, "job:0")
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "the item to be named as running")
    time.sleep(1.5 * LEASE_S)
    assert follower.running.alive() and follower.waiting.empty()
    gate.open()
    assert follower.rest() == 0
    assert follower.lines == ["no newline"]


def test_a_line_that_is_not_ended_is_seen(server, script, gate):
    worker(server)
    submit(server, "job", "--", script("bar", f"printf '10 %%'; {gate.word}; printf ' 20 %%\\n'"), "{}", ":::", "a")
    follower = server.drover.start("logs", "job:0", "--follow", env={"DROVER_SERVER": server.address})
    assert os.read(follower.process.stdout.fileno(), 100) == b"10 %"
    gate.open()
    assert follower.done().raw_out == b" 20 %\n"


def test_only_standard_error_only_the_last_lines_only_one_attempt(server, script, gate):
    worker(server)
    program = script("both", f"""
        for i in 1 2 3; do echo "$DROVER_ATTEMPT out $i"; echo "$DROVER_ATTEMPT err $i" >&2; done
        [ "$DROVER_ATTEMPT" = 1 ] && exit 3
        {gate.word}
        echo "$DROVER_ATTEMPT out 4"; echo "$DROVER_ATTEMPT err 4" >&2""")
    submit(server, "job", "--retries", 1, "--", program, "{}", ":::", "a")
    every = Follower(server, "job:0", "--stderr")
    every.until("2 err 3")
    # What is printed to both streams at almost the same time may be read in another order.
    both = lambda: [line["text"] for line in server.cli("logs", "job:0", "--json").json_lines if line["attempt"] == 2]
    last = wait_until(lambda: len(shown := both()) == 6 and shown[-1], "what both streams have by now")
    tail = Follower(server, "job:0", "--tail", 1)
    first = Follower(server, "job:0", "--attempt", 1)
    assert tail.next() == last
    assert first.rest() == 0
    assert sorted(first.lines) == [f"1 {stream} {i}" for stream in ("err", "out") for i in (1, 2, 3)]
    gate.open()
    assert every.rest() == 0
    assert every.lines == [f"{attempt} err {i}" for attempt in (1, 2) for i in range(1, 4)] + ["2 err 4"]
    assert "attempt 1 has ended (exited with code 3); attempt 2 follows" in every.err
    assert tail.rest() == 0
    assert sorted(tail.lines[1:]) == ["2 err 4", "2 out 4"]


def test_much_and_fast(server, script):
    """Ten megabytes as fast as they go, followed from the beginning, and read afterwards: the same bytes."""
    worker(server)
    submit(server, "job", "--log-limit", "64MiB", "--", script("much", "sleep 1.2; seq -f 'line %.0f of many' 1 600000; sleep 2"), "{}", ":::", "a")
    follower = server.drover.start("logs", "job:0", "--follow", env={"DROVER_SERVER": server.address})
    shown = follower.done(120).raw_out
    wanted = b"".join(b"line %d of many\n" % i for i in range(1, 600001))
    assert len(wanted) > 10 << 20
    assert shown == wanted
    assert server.cli("logs", "job:0").raw_out == wanted


def test_a_follower_that_takes_nothing_hurts_nobody(server, script, gate):
    worker(server)
    submit(server, "job", "--log-limit", "64MiB", "--", script("much", f"seq -f 'line %.0f of many' 1 500000; {gate.word}"), "{}", ":::", "a")
    slow = server.drover.start("logs", "job:0", "--follow", env={"DROVER_SERVER": server.address})  # its pipe is read at the end
    quick = Follower(server, "job:0")
    quick.until("line 500000 of many", 240)
    gate.open()
    assert quick.rest() == 0
    assert server.ends("job")["state"] == "succeeded"
    assert slow.done(240).raw_out.count(b"\n") == 500000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_follower_that_goes_away_hurts_nobody(server, script, gate, number):
    worker(server)
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a")
    stays, goes = Follower(server, "job:0"), Follower(server, "job:0")
    goes.until("1 line 2")
    goes.running.signal(number)
    assert goes.rest() == -number
    assert goes.err == ""
    stays.until("1 line 5")
    gate.open()
    assert stays.rest() == 0
    assert stays.lines == lines(1, 10)


def test_a_worker_is_killed_and_the_item_runs_again_elsewhere(server, script, gate):
    first = worker(server, name="w1")
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a")
    follower = Follower(server, "job:0")
    follower.until("1 line 5")
    first.signal(signal.SIGKILL)
    worker(server, name="w2")
    follower.until("2 line 5", 60)
    gate.open()
    assert follower.rest() == 0
    assert follower.lines == lines(1, 5) + lines(2, 10)
    assert "attempt 1 has ended (lost: its worker went away); attempt 2 follows" in follower.err
    assert server.ends("job")["counts"]["succeeded"] == 1


def test_a_job_is_cancelled_while_it_is_followed(server, script, gate):
    worker(server)
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a", "b", "c", "d")
    runs, waits = Follower(server, "job:0"), Follower(server, "job:3")
    runs.until("1 line 5")
    assert server.cli("cancel", "job").status == 0
    assert runs.rest() == 0
    assert runs.lines == lines(1, 5)
    assert waits.rest() == 0
    assert waits.lines == []


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_the_server_is_started_anew_and_the_follower_goes_on(server, script, gate, end):
    worker(server)
    submit(server, "job", "--", counting(script, gate, before=12), "{}", ":::", "a")
    follower = Follower(server, "job:0")
    follower.until("1 line 5")
    getattr(server, end)()
    wait_until(lambda: follower.running.says("trying again"), "the follower to notice")
    server.start()
    follower.until("1 line 12", 60)
    gate.open()
    assert follower.rest() == 0
    assert follower.lines == lines(1, 17)
    assert "trying again" in follower.err
    assert server.ends("job")["counts"]["succeeded"] == 1
    assert server.cli("logs", "job:0").out.splitlines() == lines(1, 17)


def test_over_http_the_body_goes_on_until_the_item_has_ended(server, script, gate):
    worker(server)
    submit(server, "job", "--", counting(script, gate), "{}", ":::", "a")
    connection = server.connection()
    connection.request("GET", "/api/v1/jobs/job/items/0/log?follow=true&tail=3", headers={"Authorization": f"Bearer {server.key}"})
    response = connection.getresponse()
    assert response.status == 200
    seen = b""
    while b"1 line 5\n" not in seen:
        seen += response.read1()
    gate.open()
    while more := response.read1():
        seen += more
    connection.close()
    assert seen.decode().splitlines()[-5:] == lines(1, 10)[5:]
    status, text = server.ask("GET", "/api/v1/jobs/job/items/0/log?skip=9&attempt=1")
    assert (status, text.splitlines()) == (200, lines(1, 10)[1:])


def test_what_cannot_be_followed_is_refused(server, script):
    submit(server, "job", "--", "true", "{}", ":::", "a")
    server.cli("logs", "job", "--follow").refuses("requires an item", "job:0")
    server.cli("logs", "job:7", "--follow").refuses("no item 7")
    server.cli("logs", "nothing:0", "--follow").refuses("nothing")
    server.cli("logs", "job:0", "--follow", "--times").refuses("--times")
    server.cli("logs", "job:0", "--follow", "--grep", "x").refuses("--grep")
    status, problem = server.ask("GET", "/api/v1/jobs/job/items/0/log?skip=much")
    assert (status, problem["code"]) == (400, "bad_input")
