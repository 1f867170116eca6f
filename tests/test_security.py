"""Who may do what, how a machine joins, and where secrets are and are not: with the real binaries, over real sockets."""

import json
import os

import pytest

import drover as shared
from drover import wait_until
from test_server import Server, submit, worker


@pytest.fixture
def server(drover):
    return Server(drover)


def problem(answer):
    """A refusal in the words of the API: (status, what it says)."""
    status, said = answer
    assert said["code"] == "denied" and said["detail"] and said["next"], said
    return status, said["detail"]


# --- the key of an attempt


class Attempt:
    """An item that runs until it is let go, and the key in its environment."""

    def __init__(self, server, name, tmp_path, *flags, count=1):
        self.folder = tmp_path / f"keys-of-{name}"
        self.folder.mkdir()
        self.job = submit(server, name, *flags, "--range", f"1-{count}", "--", "sh", "-c",
                          f'echo "$DROVER_KEY" > {self.folder}/$DROVER_ITEM_INDEX.new; '
                          f'mv {self.folder}/$DROVER_ITEM_INDEX.new {self.folder}/$DROVER_ITEM_INDEX; '
                          f'while [ ! -e {self.folder}/go ]; do sleep 0.02; done')

    def key(self, item=0):
        path = self.folder / str(item)
        wait_until(path.exists, f"item {item} to run")
        return path.read_text().strip()

    def let_go(self):
        (self.folder / "go").touch()


def test_an_item_reads_its_own_job_with_what_it_finds_in_its_environment(server):
    worker(server, name="w1")
    job = submit(server, "looks", "--", "sh", "-c",
                 f'{shared.BINARY} status "$DROVER_JOB_ID" --json && {shared.BINARY} items "$DROVER_JOB_ID" --json', ":::", "a")
    assert server.ends("looks")["state"] == "succeeded", server.cli("logs", "looks:0").out
    status, item = map(json.loads, server.cli("logs", "looks:0").out.splitlines())
    assert status["id"] == job["id"] and status["counts"]["pending"] + status["counts"]["running"] == 1
    assert item["item"] == "a"


def test_an_item_reads_its_own_job_over_tls(drover, tmp_path):
    server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    local = {"DROVER_SERVER": f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"}
    token = drover("key", "join", env=local).out.strip()
    joined = drover.start("worker", "--name", "far", "--join", token, env={"DROVER_DATA": str(tmp_path / "elsewhere")})
    wait_until(lambda: joined.says("registered") or not joined.alive(), "the worker to join")
    assert joined.alive(), joined.done()
    done = drover("submit", "--name", "tls", "--", "sh", "-c",
                  f'{shared.BINARY} status "$DROVER_JOB_ID"; echo "$DROVER_CA"', ":::", "a", env=local)
    assert done.status == 0, done
    server.ends("tls")
    said = drover("logs", "tls:0", env=local).out
    assert "job 'tls' running" in said and f"{tmp_path}/elsewhere/workers/far/ca.pem\n" in said, said


def test_a_jobs_key_reads_its_own_job_and_does_nothing_else(server, tmp_path):
    worker(server)
    other = submit(server, "other", "--", "true", ":::", "a")["id"]
    attempt = Attempt(server, "mine", tmp_path)
    mine, key = attempt.job["id"], attempt.key()
    for path in ("", "/items", "/items/0", "/items/0/log", "/search?grep=x"):
        assert server.ask("GET", f"/api/v1/jobs/{mine}{path}", key=key)[0] == 200, path
    refused = [
        ("GET", f"/api/v1/jobs/{other}"), ("GET", f"/api/v1/jobs/{other}/items/0/log"), ("GET", "/api/v1/jobs"),
        ("GET", "/api/v1/jobs/other"), ("GET", "/api/v1/jobs/mine"), ("GET", f"/api/v1/jobs/{mine[:8]}"),
        ("GET", "/api/v1/workers"), ("GET", "/api/v1/keys"), ("POST", "/api/v1/keys"), ("POST", "/api/v1/join-tokens"),
        ("POST", "/api/v1/jobs"), ("POST", "/api/v1/manifests"), ("POST", f"/api/v1/jobs/{mine}/cancel"),
        ("POST", f"/api/v1/jobs/{mine}/retry"), ("POST", f"/api/v1/jobs/{other}/cancel"), ("POST", "/worker/v1/register"),
        ("POST", "/worker/v1/poll"), ("POST", "/worker/v1/job")]
    for method, path in refused:
        body = {"command": ["true"], "items": ["a"]} if method == "POST" else None
        status, words = problem(server.ask(method, path, body, key))
        assert status == 403 and mine in words, (method, path, status, words)
    for verb in (("status", "other"), ("cancel", mine), ("submit", "--", "true", ":::", "a")):
        done = server.cli(*verb, env={"DROVER_KEY": key})
        done.refuses(mine, "DROVER_JOB_ID")
    attempt.let_go()
    assert server.ends("mine")["state"] == "succeeded"
    assert len(server.ask("GET", "/api/v1/jobs")[1]["jobs"]) == 2


def test_attempts_of_a_job_share_a_key_which_is_renewed_and_ends(drover, tmp_path):
    server = Server(drover, "--job-key-life", "1s")
    worker(server)
    attempt = Attempt(server, "long", tmp_path, count=2)
    first = attempt.key(0)
    assert attempt.key(1) == first
    wait_until(lambda: server.ask("GET", f"/api/v1/jobs/{attempt.job['id']}", key=first)[0] == 401, "the key to end")
    status, words = problem(server.ask("GET", f"/api/v1/jobs/{attempt.job['id']}", key=first))
    assert (status, "expired" in words) == (401, True), words
    # What starts after that has one that is good, although nothing else was asked of the server about this job.
    again = Attempt(server, "again", tmp_path, "--timeout", "1h")
    attempt.let_go()
    assert server.ask("GET", f"/api/v1/jobs/{again.job['id']}", key=again.key())[0] == 200
    limit_s = 3600
    assert int(again.key().split(".")[2]) - int(first.split(".")[2]) > limit_s * 1000
    again.let_go()
    assert server.ends("again")["state"] == "succeeded"


def test_what_starts_late_starts_with_a_fresh_key(drover, tmp_path):
    """The second item came with the same lease, and starts when the first key has ended."""
    server = Server(drover, "--job-key-life", "1s")
    worker(server, name="narrow", cpus=1)
    submit(server, "late", "--range", "1-2", "--", "sh", "-c",
           f'echo "$DROVER_KEY" > {tmp_path}/$DROVER_ITEM_INDEX; {shared.BINARY} status "$DROVER_JOB_ID" && '
           f'if [ $0 = 1 ]; then while {shared.BINARY} status "$DROVER_JOB_ID"; do sleep 0.1; done; fi', "{}")
    assert server.ends("late")["counts"]["succeeded"] == 2
    assert (tmp_path / "0").read_text() != (tmp_path / "1").read_text()


def test_a_jobs_key_goes_with_that_of_its_worker(server, tmp_path):
    made = server.cli("key", "create", "--scope", "worker", "--json").json_lines[0]
    running = worker(server, env={"DROVER_KEY": made["token"], "DROVER_SERVER": server.address})
    attempt = Attempt(server, "mine", tmp_path)
    key = attempt.key()
    path = f"/api/v1/jobs/{attempt.job['id']}"
    assert server.ask("GET", path, key=key)[0] == 200
    assert made["token"] not in key
    assert server.cli("key", "delete", made["id"]).status == 0
    assert problem(server.ask("GET", path, key=key))[0] == 401
    running.kill()
