"""Standard error and standard output that nobody reads: nothing that a long-lived process does waits for a reader."""

import fcntl
import json
import os
import signal

import pytest

from drover import wait_until
from test_server import Server, submit


class FullPipe:
    """A pipe that takes nothing more until it is read."""

    def __init__(self):
        self.reads, self.writes = os.pipe()
        fcntl.fcntl(self.writes, fcntl.F_SETPIPE_SZ, 4096)
        os.write(self.writes, bytes(4096))

    def read_all(self):
        """What came after the filling, when every writer has closed it."""
        os.close(self.writes)
        self.writes = None
        with os.fdopen(self.reads, "rb") as pipe:
            self.reads = None
            return pipe.read()[4096:].decode()

    def close(self):
        for end in (self.reads, self.writes):
            if end is not None:
                os.close(end)


@pytest.fixture
def full_pipe():
    pipe = FullPipe()
    yield pipe
    pipe.close()


def ends(running, status):
    """It exits by itself, although its pipe is full."""
    wait_until(lambda: not running.alive(), "the process to exit")
    assert running.process.returncode == status


def test_a_server_serves_and_stops(drover, full_pipe):
    server = Server(drover, stderr=full_pipe.writes)
    worker = drover.start("worker", "--name", "w1")
    for _ in range(100):
        assert server.ask("POST", "/api/v1/jobs", {"nothing": 1})[0] == 400
        assert server.ask("GET", "/healthz", key="") == (200, "ok\n")
    submit(server, "job", "--range", "1-20", "--", "true")
    assert server.ends("job")["counts"]["succeeded"] == 20
    assert "drover_dropped_log_entries_total 0" in server.ask("GET", "/metrics")[1]
    worker.signal(signal.SIGTERM)
    assert worker.done().status == 0
    server.running.signal(signal.SIGTERM)
    ends(server.running, 0)


def test_a_server_that_cannot_start_exits(drover, full_pipe):
    Server(drover)
    second = drover.start("server", "--listen", "127.0.0.1:0", stderr=full_pipe.writes)
    ends(second, 2)


def test_what_waited_is_written_when_the_reader_is_back(drover, full_pipe):
    server = Server(drover, stderr=full_pipe.writes)
    assert server.ask("POST", "/api/v1/jobs", {"nothing": 1})[0] == 400
    os.read(full_pipe.reads, 4096)
    said = b""
    while b"POST /api/v1/jobs 400" not in said:
        said += os.read(full_pipe.reads, 4096)
    assert said.decode().splitlines()[0].endswith(server.address), said


def test_a_long_path_is_cut_in_the_log(drover):
    server = Server(drover, "--log", "json")
    assert server.ask("GET", "/api/v1/" + "x" * 6000, key="nobody.knows")[0] == 401
    entries = [json.loads(line) for line in server.stop().err.splitlines()]
    paths = [entry["path"] for entry in entries if entry.get("status") == 401]
    assert len(paths) == 1 and paths[0].startswith("/api/v1/xxx") and len(paths[0].encode()) < 270
    assert all(len(json.dumps(entry)) < 1000 for entry in entries)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_worker_works_and_drains(drover, full_pipe, form):
    server = Server(drover)
    flags, stream = (("--json",), "stdout") if form == "json" else ((), "stderr")
    worker = drover.start("worker", "--name", "w1", *flags, **{stream: full_pipe.writes})
    submit(server, "job", "--range", "1-20", "--", "true")
    assert server.ends("job")["counts"]["succeeded"] == 20
    worker.signal(signal.SIGTERM)
    ends(worker, 0)


def test_a_run_ends(drover, full_pipe):
    running = drover.start("run", "--name", "r", "--range", "1-20", "--", "true", stderr=full_pipe.writes)
    ended = running.done()
    assert ended.status == 0 and "20 succeeded" in ended.out, ended


def test_a_run_is_interrupted(drover, full_pipe, gate):
    running = drover.start("run", "--name", "r", "--jobs", 2, "--range", "1-20", "--", "sh", "-c", gate.word, stderr=full_pipe.writes)
    wait_until(lambda: drover("items", "r", "--state", "running", "--json").out.count("\n") == 2, "two items to run")
    running.signal(signal.SIGINT)
    running.signal(signal.SIGINT)
    gate.open()
    ended = running.done()
    assert ended.status == 130 and "interrupted" in ended.out, ended


def test_a_run_for_programs_finishes_before_they_read(drover, full_pipe):
    running = drover.start("run", "--json", "--name", "r", "--range", "1-50", "--", "false", stdout=full_pipe.writes)
    wait_until(lambda: drover.rows_if_any("r", "SELECT failed FROM jobs WHERE failed = 50"), "every item to end")
    events = [json.loads(line) for line in full_pipe.read_all().splitlines()]
    assert [event["event"] for event in events if event["event"] != "progress"] == ["started", *["failed"] * 50, "summary"]
    ends(running, 1)
