"""Ended jobs are kept for a while, and then go: from the lists, the ledger and the logs."""

import sqlite3
import time

import pytest

from drover import wait_until
from test_server import Server


def tables(server):
    connection = sqlite3.connect(f"file:{server.drover.data}/server/drover.db?mode=ro", uri=True)
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
              for table in ("jobs", "attempt_rows", "blocks", "open_items", "definitions", "manifests", "manifest_chunks", "deleted_jobs", "deleted_manifests")}
    connection.close()
    return counts


def segments(server):
    return sorted(path.name for path in (server.drover.data / "server/logs").glob("*.zst"))


def run_jobs(server):
    done = server.cli("worker", "--exit-when-idle")
    assert done.status == 0, done


@pytest.fixture
def server(drover):
    server = Server(drover, "--keep", "5s")
    yield server
    if server.running.alive():
        server.stop()


def test_an_ended_job_goes_with_its_rows_and_a_running_one_stays(server):
    old = server.cli("submit", "--name", "old", "--", "sh", "-c", "echo of the old; exit $1", "sh", ":::", "0", "1")
    assert old.status == 0, old
    run_jobs(server)
    server.cli("submit", "--name", "waits", "--", "echo", ":::", "a", "b", "c")
    wait_until(lambda: server.ask("GET", "/api/v1/jobs/old")[0] == 404, "the old job to be forgotten")
    left = {"jobs": 1, "attempt_rows": 0, "blocks": 0, "open_items": 0, "definitions": 1, "manifests": 1, "manifest_chunks": 1,
            "deleted_jobs": 0, "deleted_manifests": 0}
    wait_until(lambda: tables(server) == left, "its rows to be swept")
    assert [job["name"] for job in server.ask("GET", "/api/v1/jobs")[1]["jobs"]] == ["waits"]
    assert "deleted" in server.stop().err
    server.flags = ("--keep", "0")
    server.start()
    run_jobs(server)
    assert server.job("waits")["counts"]["succeeded"] == 3


def test_a_segment_goes_when_the_last_job_in_it_is_forgotten(server):
    hold = server.drover.data / "hold"
    hold.touch()
    server.cli("submit", "--name", "short", "--", "echo", "short", ":::", "a")
    # The second item keeps its job from ending; what the first one printed must stay as long.
    server.cli("submit", "--name", "long", "--", "sh", "-c", f"echo of the long $1; while [ $1 = b -a -e {hold} ]; do sleep 0.1; done", "sh", ":::", "a", "b")
    worker = server.drover.start("worker", env={"DROVER_SERVER": server.address})
    wait_until(lambda: server.job("long")["counts"]["succeeded"] == 1, "the long job's first item")
    first, = segments(server)
    server.kill()
    server.start()  # goes on in a new segment
    server.cli("submit", "--name", "other", "--", "echo", "of the other", ":::", "a")
    wait_until(lambda: len(segments(server)) == 2, "another segment")
    wait_until(lambda: server.ask("GET", "/api/v1/jobs/short")[0] == 404, "the short job to be forgotten")
    time.sleep(2)
    assert first in segments(server)
    assert server.cli("logs", "long:0").out == "of the long a\n"
    hold.unlink()
    wait_until(lambda: server.ask("GET", "/api/v1/jobs/long")[0] == 404, "the long job to be forgotten")
    wait_until(lambda: first not in segments(server), "its segment to go")
    worker.kill()


def lists(server):
    return [tables(server)[table] for table in ("manifests", "manifest_chunks", "deleted_manifests")]


def test_an_upload_that_breaks_off_leaves_nothing_behind(server):
    connection = server.connection()
    connection.putrequest("POST", "/api/v1/manifests")
    connection.putheader("Authorization", f"Bearer {server.key}")
    connection.putheader("Content-Length", str(1 << 30))
    connection.endheaders()
    while lists(server)[1] == 0:
        connection.send(b"".join(b"item %d\n" % number for number in range(100_000)))
    connection.close()
    wait_until(lambda: lists(server) == [0, 0, 0], "what it wrote to go")


def test_uploads_that_no_job_uses_go_after_a_while(server):
    status, unused = server.ask("POST", "/api/v1/manifests", b"a\nb\n")
    assert (status, unused["items"]) == (201, 2)
    job = {"name": "once", "command": ["true"], "items": ["a", "b"], "client_token": "the same"}
    assert [server.ask("POST", "/api/v1/jobs", job)[0] for _ in range(3)] == [201] * 3
    assert lists(server)[0] == 4
    wait_until(lambda: lists(server) == [1, 1, 0] and tables(server)["definitions"] == 1, "all but the job's own to go")
    status, problem = server.ask("POST", "/api/v1/jobs", {"command": ["true"], "manifest": unused["manifest"]})
    assert (status, problem["code"]) == (404, "not_found"), problem
    server.stop()
    server.flags = ("--keep", "0")  # else the job may be forgotten before we look
    server.start()
    run_jobs(server)
    assert server.ends("once")["counts"]["succeeded"] == 2


def test_an_old_job_is_still_there_when_the_server_has_just_started(drover):
    """Whoever was away, or whose clock is wrong, has time to see it."""
    server = Server(drover)
    server.cli("submit", "--name", "old", "--", "echo", ":::", "a")
    run_jobs(server)
    server.stop()
    ledger = sqlite3.connect(drover.data / "server/drover.db")
    ledger.executescript("UPDATE jobs SET created_ms = created_ms - 864000000, ended_ms = ended_ms - 864000000;"
                         "UPDATE counters SET now_ms = now_ms - 864000000;")
    ledger.close()
    server.start()
    time.sleep(2)
    assert server.job("old")["state"] == "succeeded"
    assert "deleted" not in server.stop().err


def test_with_zero_everything_is_kept(drover):
    server = Server(drover, "--keep", "0")
    server.cli("submit", "--name", "old", "--", "echo", ":::", "a")
    run_jobs(server)
    time.sleep(3)
    assert server.job("old")["state"] == "succeeded"
    server.stop()


def test_a_time_that_is_none_is_refused(drover):
    drover("server", "--keep", "soon").refuses("'soon'", "30s")
