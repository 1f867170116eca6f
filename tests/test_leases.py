"""A lease holds while the server cannot hear its worker through no fault of the worker's: the server is stopped, its ledger is locked, its logs have no
room. And workers that are gone are remembered as such."""

import signal
import sqlite3
import time
from pathlib import Path

import pytest

from drover import wait_until
from test_server import Server, check_all_succeeded_once, state_of_worker, submit, worker

LEASE_S = 6


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", f"{LEASE_S}s")


def run_one(server, gate, *flags, cpus=2):
    """A worker that runs one item until the gate is opened."""
    worker(server, cpus=cpus)
    submit(server, "held", *flags, "--", "sh", "-c", gate.word, ":::", "a")
    wait_until(lambda: server.job("held")["counts"]["running"] == 1, "it to run")


def outlast_the_lease():
    """Nothing happens for longer than a lease: time itself is what is waited for."""
    time.sleep(1.5 * LEASE_S)


def check_lease_held(server, gate):
    # Whoever was declared lost is so by the time something new was said and heard.
    submit(server, "next", "--", "true", ":::", "a")
    wait_until(lambda: server.job("next")["counts"]["succeeded"] == 1, "the worker to be heard again")
    gate.open()
    assert server.ends("held")["counts"]["succeeded"] == 1
    check_all_succeeded_once(server, "held", 1)
    assert server.rows("select count(*) from attempts where job_name = 'held'") == [(1,)]
    assert server.rows("select name from events where kind = 'worker_lost'") == []


def test_a_server_that_is_stopped_for_longer_than_a_lease_loses_nobody(server, gate):
    run_one(server, gate)
    server.running.signal(signal.SIGSTOP)
    outlast_the_lease()
    server.running.signal(signal.SIGCONT)
    check_lease_held(server, gate)


def test_a_ledger_that_is_locked_for_longer_than_a_lease_loses_nobody(server, gate):
    run_one(server, gate)
    other = sqlite3.connect(server.drover.data / "server/drover.db", isolation_level=None, timeout=60)
    other.execute("BEGIN IMMEDIATE")
    # The pipeline is full when it cannot commit what was said, and something more is said.
    waiting = [server.drover.start("queue", "set", f"more-{i}") for i in range(3)]
    outlast_the_lease()
    other.execute("ROLLBACK")
    other.close()
    assert [it.done().status for it in waiting] == [0, 0, 0]
    check_lease_held(server, gate)


def test_logs_without_room_cost_no_lease_and_hold_up_no_order(small_disk, drover, gate, tmp_path):
    (drover.data / "server").mkdir(parents=True)
    (drover.data / "server/logs").symlink_to(small_disk.path)
    server = Server(drover, "--lease", f"{LEASE_S}s")
    run_one(server, gate, "--strict-lease", cpus=3)
    pid = tmp_path / "pid"
    submit(server, "unwanted", "--", "sh", "-c", f"echo $$ > {pid}; exec sleep 600", ":::", "a")
    wait_until(lambda: server.job("unwanted")["counts"]["running"] == 1, "it to run")
    ballast = small_disk.path / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(1 << 16))
    # It does not fit into a page that is there.
    submit(server, "loud", "--", "sh", "-c", "head -c 100000 /dev/urandom", ":::", "a")
    wait_until(lambda: server.running.says("logs cannot be stored"), "its log to be refused")
    outlast_the_lease()
    began = tmp_path / "began"
    submit(server, "later", "--", "sh", "-c", f"touch {began}", ":::", "a")
    wait_until(began.exists, "an item to be handed out")
    assert server.cli("cancel", "unwanted").status == 0
    wait_until(lambda: not Path("/proc", pid.read_text().strip()).exists(), "it to be stopped")
    assert server.job("loud")["counts"]["succeeded"] == 0
    ballast.unlink()
    for job in ("loud", "later"):
        assert server.ends(job)["counts"]["succeeded"] == 1
    check_lease_held(server, gate)


def test_a_lost_worker_is_still_lost_after_a_restart_and_not_lost_again(server):
    worker(server).kill()
    lost = "select name from events where kind = 'worker_lost'"
    wait_until(lambda: server.rows(lost), "it to be lost")
    assert state_of_worker(server) == "lost"
    assert server.rows("select name, state, gone_ms > 0 from workers") == [("w1", "lost", 1)]
    server.kill()
    server.start()
    submit(server, "next", "--", "true", ":::", "a")
    assert server.cli("why", "next").out.endswith("none of 1 worker is connected\n")
    outlast_the_lease()
    assert server.rows(lost) == [("w1",)]
    worker(server)
    assert server.ends("next")["counts"]["succeeded"] == 1
    assert server.rows("select name, state, gone_ms from workers") == [("w1", "alive", 0)]


def test_a_worker_that_left_long_ago_is_forgotten_and_still_named(server):
    leaving = worker(server)
    submit(server, "done", "--", "true", ":::", "a")
    assert server.ends("done")["counts"]["succeeded"] == 1
    leaving.signal(signal.SIGTERM)
    assert leaving.done().status == 0
    server.stop()
    ledger = sqlite3.connect(server.drover.data / "server/drover.db")
    assert ledger.execute("select state from workers").fetchall() == [("left",)]
    ledger.execute("update workers set gone_ms = gone_ms - 86400000")
    ledger.commit()
    ledger.close()
    server.start()
    wait_until(lambda: server.rows("select count(*) from workers") == [(0,)], "it to be forgotten")
    assert server.rows("select worker from attempts union all select worker from items") == [("w1",), ("w1",)]
    assert server.ask("GET", "/api/v1/jobs/done/items/0")[1]["history"][0]["worker"] == "w1"
    assert server.ask("GET", "/api/v1/workers/w1")[0] == 404
