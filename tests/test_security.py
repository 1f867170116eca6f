"""Who may do what, how a machine joins, and where secrets are and are not: with the real binaries, over real sockets."""

import base64
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

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


# --- scopes


def make_key(server, scope):
    made = server.cli("key", "create", "--scope", scope, "--label", f"a {scope} key", "--json")
    assert made.status == 0, made
    return made.json_lines[0]["token"]


def test_a_key_does_what_its_scope_allows_and_no_more(server):
    submit(server, "mine", "--", "true", ":::", "a")
    keys = {scope: make_key(server, scope) for scope in ("read", "submit", "worker")}
    job = {"command": ["true"], "items": ["a"]}
    allowed = {
        ("GET", "/api/v1/jobs"): {"read", "submit"}, ("POST", "/api/v1/jobs"): {"submit"},
        ("POST", "/api/v1/manifests"): {"submit"}, ("POST", "/api/v1/jobs/mine/cancel"): {"submit"},
        ("POST", "/worker/v1/poll"): {"worker"}, ("GET", "/api/v1/keys"): set(), ("POST", "/api/v1/join-tokens"): set()}
    for (method, path), scopes in allowed.items():
        for scope, key in keys.items():
            status, _ = server.ask(method, path, job if method == "POST" else None, key)
            assert (status != 403) == (scope in scopes), (method, path, scope, status)
    for wrong in ("", "nonsense", keys["read"][:-1] + ("a" if keys["read"][-1] != "a" else "b"), "AKDRAAAAAAAAAAAAAAAA.x"):
        assert server.ask("GET", "/api/v1/jobs", key=wrong)[0] == 401
    key_id = keys["read"].split(".")[0]
    assert server.cli("key", "delete", key_id).status == 0
    assert server.ask("GET", "/api/v1/jobs", key=keys["read"])[0] == 401


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
    server = Server(drover, "--job-key-life", "5s")
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
    server = Server(drover, "--job-key-life", "5s")
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


# --- the key of a worker


def join_token(server, *flags, env=None):
    made = server.drover("key", "join", "--json", *flags, env={"DROVER_SERVER": server.address, **(env or {})})
    assert made.status == 0, made
    return made.json_lines[0]["token"]


def join(server, tmp_path, token, name, folder=None):
    """A worker that joins, from a data folder of its own; the key it was given is in .access."""
    data = tmp_path / (folder or f"at-{name}")
    running = server.drover.start("worker", "--name", name, env={"DROVER_DATA": str(data), "DROVER_JOIN": token})
    wait_until(lambda: running.says("registered") or not running.alive(), "the worker to join")
    running.data, running.access = data, data / f"workers/{name}/access.json"
    return running


def keys_of(server, scope):
    return [key for key in json.loads((server.drover.data / "server/keys.json").read_text())["keys"] if key["scope"] == scope]


def test_the_key_of_a_worker_that_joined_is_for_that_worker_alone(server, tmp_path):
    first = join(server, tmp_path, join_token(server), "first")
    assert first.alive(), first.done()
    key = json.loads(first.access.read_text())["token"]
    thief = server.drover("worker", "--name", "second", env={
        "DROVER_DATA": str(tmp_path / "thief"), "DROVER_SERVER": server.address, "DROVER_KEY": key})
    thief.refuses("'first'", "'second'")
    # A session of another worker cannot be spoken for either: neither its polls nor its reports, also after a restart.
    other = join(server, tmp_path, join_token(server), "other")
    assert other.alive(), other.done()
    (number, incarnation), = server.rows("select worker, incarnation from workers where name = 'other'")
    report = bytes([0x08, number, 0x11]) + (incarnation & (2**64 - 1)).to_bytes(8, "little")
    polled = bytes([0x0A, len(report)]) + report + bytes([0x10, 0x7F])
    for _ in range(2):
        for path, body in (("report", report), ("poll", polled)):
            status, words = problem(server.ask("POST", f"/worker/v1/{path}", body, key))
            assert status == 403 and "'first'" in words and "'other'" in words, words
        server.stop()
        server.start()
    assert server.ask("POST", "/worker/v1/report", report, json.loads(other.access.read_text())["token"])[0] == 200


def test_a_key_made_for_workers_is_for_any_of_them(server):
    made = server.cli("key", "create", "--scope", "worker").out.strip()
    for name in ("one", "two"):
        assert worker(server, name=name, env={"DROVER_KEY": made, "DROVER_SERVER": server.address}).alive()
    assert {line.split()[0] for line in server.cli("workers").out.splitlines()} >= {"one", "two"}


def test_a_worker_that_joins_again_has_one_key(server, tmp_path):
    for number in range(3):
        running = join(server, tmp_path, join_token(server), "same", folder=f"again-{number}")
        assert running.alive(), running.done()
        assert [key["worker"] for key in keys_of(server, "worker")] == ["same"]
        if number < 2:
            former = json.loads(running.access.read_text())["token"]
            running.kill()
    assert problem(server.ask("POST", "/worker/v1/poll", b"", former))[0] == 401
    assert keys_of(server, "worker")[0]["id"] in running.access.read_text()


def test_a_worker_comes_back_with_the_token_it_joined_with(server, tmp_path):
    """As a unit of systemd does, which has the token in its environment each time."""
    token = join_token(server)
    for _ in range(2):
        running = join(server, tmp_path, token, "w")
        assert running.alive(), running.done()
        running.kill()
    assert len(keys_of(server, "worker")) == 1


def test_a_worker_that_has_yet_to_join_waits_for_its_server(server, tmp_path):
    """What a unit of systemd starts before the server is there must not be given up for good."""
    token = join_token(server)
    server.stop()
    running = server.drover.start("worker", "--name", "early", env={"DROVER_DATA": str(tmp_path / "at-early"), "DROVER_JOIN": token})
    wait_until(lambda: running.says("trying again"), "it to say that it waits")
    server.start()
    wait_until(lambda: running.says("registered") or not running.alive(), "the worker to join")
    assert running.alive(), running.done()


def test_a_removed_key_ends_a_worker_at_once(server, tmp_path):
    """Also one that waits for work in a poll: it gets none any more, and what it ran runs elsewhere."""
    running = join(server, tmp_path, join_token(server), "out")
    attempt = Attempt(server, "job", tmp_path)
    attempt.key()
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "the item to be named as running")
    assert server.cli("key", "delete", keys_of(server, "worker")[0]["id"]).status == 0
    ended = running.done(18)  # its poll would have waited for 20 s
    assert ended.status == 2 and "key" in ended.err and "next:" in ended.err, ended
    assert running.access.read_text() not in ended.err
    attempt.let_go()
    worker(server)
    assert server.ends("job")["counts"]["succeeded"] == 1
    assert server.rows("select attempt, state from attempts order by attempt") == [(1, "lost"), (2, "succeeded")]


def test_a_removed_key_is_refused_on_a_connection_that_is_open(server):
    made = server.cli("key", "create", "--scope", "read", "--json").json_lines[0]
    connection = server.connection()
    statuses, held = [], None
    for _ in range(2):
        connection.request("GET", "/api/v1/jobs", headers={"Authorization": f"Bearer {made['token']}"})
        assert held is None or connection.sock is held
        held = connection.sock
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
        server.cli("key", "delete", made["id"])
    assert statuses == [200, 401]
    connection.close()


def test_a_poll_that_waits_is_answered_when_its_key_is_removed(server):
    made = server.cli("key", "create", "--scope", "worker", "--json").json_lines[0]
    hello = bytes([0x08, 1, 0x12, 1]) + b"p" + bytes([0x19]) + (7).to_bytes(8, "little")
    assert server.ask("POST", "/worker/v1/register", hello, made["token"])[0] == 200
    (number,), = server.rows("select worker from workers where name = 'p'")
    report = bytes([0x08, number, 0x11]) + (7).to_bytes(8, "little")
    poll = bytes([0x0A, len(report)]) + report + bytes([0x10, 1, 0x20, 1, 0x28]) + bytes([0xA0, 0x9C, 0x01])  # 20 s
    connection = server.connection()
    connection.request("POST", "/worker/v1/poll", poll, {"Authorization": f"Bearer {made['token']}"})
    assert server.cli("key", "delete", made["id"]).status == 0
    connection.sock.settimeout(15)
    response = connection.getresponse()
    status, words = problem((response.status, json.loads(response.read())))
    assert status == 401 and "removed" in words
    submit(server, "job", "--", "true", ":::", "a")
    assert server.job("job")["counts"]["pending"] == 1
    connection.close()


# --- joining


def test_a_token_works_as_often_as_it_says(server, tmp_path):
    token = join_token(server, "--uses", 2)
    for name in ("a", "b"):
        assert join(server, tmp_path, token, name).alive()
    third = join(server, tmp_path, token, "c").done()
    third.refuses("used up", "2 workers", "drover key join")
    assert "drover-join" not in third.err and not (tmp_path / "at-c/workers/c/access.json").exists()
    assert {key["worker"] for key in keys_of(server, "worker")} == {"a", "b"}


def test_a_token_does_not_work_after_its_time(server, tmp_path):
    token = join_token(server, "--expires", "1s", "--uses", 5)
    made = join_token(server, "--expires", "1h")
    tokens = {it["id"]: it for it in server.cli("key", "list", "--json").json_lines[0]["join_tokens"]}
    ends_ms = min(it["expires_ms"] for it in tokens.values())
    wait_until(lambda: time.time() * 1000 > ends_ms, "the token to end")
    join(server, tmp_path, token, "late").done().refuses("expired", "drover key join")
    assert join(server, tmp_path, made, "in-time").alive()
    assert [key["worker"] for key in keys_of(server, "worker")] == ["in-time"]


def test_a_removed_token_does_not_work(server, tmp_path):
    made = server.cli("key", "join", "--json").json_lines[0]
    assert server.cli("key", "delete", made["id"]).status == 0
    join(server, tmp_path, made["token"], "w").done().refuses("unknown join token")


def test_what_is_no_token_is_refused(server, tmp_path):
    for text in ("drover-join-", "drover-join-AAAA", "nonsense", server.key):
        refused = join(server, tmp_path, text, "w").done()
        assert refused.status == 2 and server.key not in refused.err, refused


def test_a_machine_joins_over_tls_and_a_token_is_used_once(drover, tmp_path):
    server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    assert server.address.startswith("https://")
    local = {"DROVER_SERVER": f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"}
    token = drover("key", "join", env=local).out.strip()
    assert token.startswith("drover-join-")
    elsewhere = {"DROVER_DATA": str(tmp_path / "elsewhere")}
    joined = drover.start("worker", "--join", token, "--name", "far", env=elsewhere)
    wait_until(lambda: joined.says("registered") or not joined.alive(), "the worker to join")
    assert joined.alive(), joined.done()
    done = drover("submit", "--name", "tls", "--", "echo", ":::", "a", env=local)
    assert done.status == 0, done
    server.ends("tls")
    joined.signal(signal.SIGTERM)
    joined.done()
    again = drover("worker", "--join", token, "--name", "other", env={"DROVER_DATA": str(tmp_path / "third")})
    assert again.status != 0 and "drover-join" not in again.err, again
    # The key that it was given is kept, and is all it takes the next time.
    back = drover.start("worker", "--name", "far", env=elsewhere)
    wait_until(lambda: back.says("registered") or not back.alive(), "the worker to come back")
    assert back.alive(), back.done()
    assert (tmp_path / "elsewhere/workers/far/access.json").stat().st_mode & 0o777 == 0o600


def test_a_server_with_another_authority_is_not_spoken_to(drover, tmp_path):
    server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    local = {"DROVER_SERVER": f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"}
    token = drover("key", "join", env=local).out.strip()
    server.stop()
    for name in ("ca.pem", "ca.key"):
        (drover.data / "server" / name).unlink()
    server.start()
    refused = drover("worker", "--join", token, "--name", "far", env={"DROVER_DATA": str(tmp_path / "elsewhere")})
    assert refused.status != 0 and "registered" not in refused.err, refused
    assert server.rows("select count(*) from workers") == [(0,)]


# --- where secrets are, and where they are not


class CommandLines:
    """Every command line of every process of a test, for as long as it looks."""

    def __init__(self, mark):
        self.mark, self.seen, self.going = mark.encode(), set(), True
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while self.going:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
                    if words not in self.seen and self.mark in pathlib.Path("/proc", pid, "environ").read_bytes():
                        self.seen.add(words)
                except OSError:
                    continue
            time.sleep(0.01)

    def stop(self):
        self.going = False
        self.thread.join()
        return self.seen


def holders(secrets, folder, but=()):
    """Which files below the folder hold one of the secrets."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name not in but:
            content = path.read_bytes()
            found += [(str(path), name) for name, secret in secrets.items() if secret in content]
    return found


def test_no_secret_is_where_it_does_not_belong(drover, tmp_path):
    server = Server(drover, "--advertise", "127.0.0.1", "--log", "json", listen="0.0.0.0:0")
    place = f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"
    local = {"DROVER_SERVER": place}
    lines = CommandLines(drover.mark)
    secrets = {"the first key": server.key.split(".")[1]}
    for scope in ("admin", "submit", "read", "worker"):
        made = drover("key", "create", "--scope", scope, "--json", env=local).json_lines[0]
        secrets[f"the {scope} key"] = made["token"].split(".")[1]
        if scope == "submit":
            submitting = {**local, "DROVER_KEY": made["token"]}
    token = drover("key", "join", "--uses", 3, "--json", env=local).json_lines[0]["token"]
    packed = token.removeprefix("drover-join-")
    secrets["the join token"] = packed
    inside = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    secrets["the join token's secret"] = re.search(rb"JNDR[A-Z2-7]{16}\.([A-Za-z0-9]{40})", inside).group(1).decode()

    by_variable = join(server, tmp_path, token, "by-variable")
    by_flag = drover.start("worker", "--name", "by-flag", "--join", token, env={"DROVER_DATA": str(tmp_path / "at-by-flag")})
    wait_until(lambda: by_flag.says("registered") or not by_flag.alive(), "the second worker to join")
    for running, name in ((by_variable, "by-variable"), (by_flag, "by-flag")):
        assert running.alive(), running.done()
        access = tmp_path / f"at-{name}/workers/{name}/access.json"
        secrets[f"the key of {name}"] = json.loads(access.read_text())["token"].split(".")[1]

    # Items that use their key, and one that is refused; a worker with a wrong token; a client with a wrong key.
    keys = tmp_path / "keys-of-attempts"
    keys.mkdir()
    done = drover("submit", "--name", "job", "--range", "1-20", "--env", "COLOUR=green", "--", "sh", "-c",
                  f'printf %s "$DROVER_KEY" > {keys}/$0; {shared.BINARY} status "$DROVER_JOB_ID"; {shared.BINARY} cancel "$DROVER_JOB_ID"; '
                  f'{shared.BINARY} logs "$DROVER_JOB_ID" --grep x; true', "{}", env=submitting)
    assert done.status == 0, done
    job = server.ends("job")
    assert job["counts"]["succeeded"] == 20, drover("logs", "job:0", env=local)
    for path in keys.iterdir():
        secrets[f"a job's key {path.name}"] = path.read_text().rsplit(".", 1)[1]
    third = drover("worker", "--name", "third", "--join", token[:-4] + "AAAA", env={"DROVER_DATA": str(tmp_path / "at-third")})
    wrong = drover("jobs", env={**local, "DROVER_KEY": server.key + "x"})
    shown = [drover("status", "job", "--json", env=local), drover("items", "job:0", "--json", env=local), drover("key", "list", "--json", env=local),
             drover("logs", "job", "--grep", ".", env=local)]
    saved = drover("backup", drover.data / "backup.tar.zst")
    assert saved.status == 0, saved
    subprocess.run(["zstd", "-qd", drover.data / "backup.tar.zst"], check=True)
    server.kill()
    server.start()
    server.ends("job")
    ended = [third, wrong, saved, *shown, server.stop(), by_variable.kill(), by_flag.kill()]

    seen = lines.stop()
    words = {name: secret.encode() for name, secret in secrets.items()}
    assert len(words) >= 10 and all(len(word) >= 40 for word in words.values()), words
    shutil.rmtree(keys)
    assert holders(words, drover.data, but={"keys.json", "ca.key"}) == []
    assert holders(words, tmp_path, but={"keys.json", "access.json"}) == []
    assert shown[-1].out.count("job 'job' running") == 20, shown[-1]
    database = sqlite3.connect(drover.data / "server/drover.db")
    dumped = "\n".join(database.iterdump()).encode()
    database.close()
    assert b"COLOUR" in dumped
    told = b"".join(it.raw_out + it.raw_err for it in ended) + dumped
    assert [name for name, word in words.items() if word in told] == []
    # A token behind --join is there for the moment that it takes to read it; nothing else ever is.
    only_read = {"the join token", "the join token's secret"}
    assert [name for name, word in words.items() if any(word in line for line in seen) and name not in only_read] == []
    assert any(b"status" in line for line in seen), "it looked at nothing"


def test_a_token_behind_join_is_wiped_from_the_command_line(server, tmp_path):
    token = join_token(server)
    running = server.drover.start("worker", "--name", "w", "--join", token, env={"DROVER_DATA": str(tmp_path / "w")})
    wait_until(lambda: running.says("registered") or not running.alive(), "the worker to join")
    line = pathlib.Path(f"/proc/{running.pid}/cmdline").read_bytes()
    assert token.encode() not in line and b"drover-join" not in line and b"--join\0xxxx" in line, line


def test_files_that_hold_secrets_are_their_owners_alone(drover, tmp_path):
    before = os.umask(0)
    try:
        server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
        server.address = f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"
        running = join(server, tmp_path, join_token(server), "w")
        assert running.alive(), running.done()
    finally:
        os.umask(before)
    folder = drover.data / "server"
    modes = {path: path.stat().st_mode & 0o777 for path in (folder, folder / "keys.json", folder / "ca.key", running.access)}
    assert modes == {folder: 0o700, folder / "keys.json": 0o600, folder / "ca.key": 0o600, running.access: 0o600}
    server.stop()
    for name in ("keys.json", "ca.key"):
        (folder / name).chmod(0o640)
        refused = drover("server", "--listen", server.listen)
        refused.refuses(name, "chmod 600")
        (folder / name).chmod(0o600)


# --- ids of requests


def ask_with_id(server, method, path, given=None, key=None, body=None):
    connection = server.connection()
    headers = {"Authorization": f"Bearer {key or server.key}", **({"X-Request-Id": given} if given else {})}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, response.headers["X-Request-Id"], text


def test_a_request_has_an_id_in_its_answer_and_in_the_log(drover):
    server = Server(drover, "--log", "json")
    made = server.cli("key", "create", "--scope", "read", "--json").json_lines[0]
    status, own, _ = ask_with_id(server, "GET", "/api/v1/jobs")
    assert status == 200 and re.fullmatch("[0-9a-f]{16}", own)
    assert ask_with_id(server, "GET", "/api/v1/jobs")[1] != own
    for given in ("trace-7:1.a_B", "x" * 128):
        assert ask_with_id(server, "GET", "/api/v1/jobs", given)[1] == given
    for insane in ("two words", "x" * 129, "quo\"te", "umläut".encode().decode("latin-1")):
        assert re.fullmatch("[0-9a-f]{16}", ask_with_id(server, "GET", "/api/v1/jobs", insane)[1]), insane
    _, missing, text = ask_with_id(server, "GET", "/api/v1/jobs/none")
    assert json.loads(text)["request_id"] == missing
    status, refused, text = ask_with_id(server, "POST", "/api/v1/jobs/none/cancel", "mine", made["token"])
    assert (status, refused, json.loads(text)["request_id"]) == (403, "mine", "mine")
    ask_with_id(server, "POST", "/api/v1/jobs", "bad-job", body="{")
    ask_with_id(server, "POST", "/worker/v1/poll", "bad-poll", body="\xff")
    _, submitted, _ = ask_with_id(server, "POST", "/api/v1/jobs", body=json.dumps({"command": ["true"], "items": ["a"]}))
    lines = [json.loads(line) for line in server.stop().err.splitlines()]
    by_id = {line["request_id"]: line for line in lines if "request_id" in line}
    assert by_id[missing]["status"] == 404 and by_id[missing]["path"] == "/api/v1/jobs/none"
    assert (by_id["bad-job"]["status"], by_id["bad-poll"]["status"]) == (400, 400)
    assert by_id["mine"]["status"] == 403 and by_id["mine"]["method"] == "POST"
    assert by_id[submitted]["status"] == 201 and by_id[submitted]["key"] == server.key.split(".")[0]
    assert own not in by_id, "what was only read, and went well, is not told"
    assert all(line["time"] and line["level"] and line["message"] for line in lines)


def test_ids_of_requests_are_in_a_log_for_people_too(server):
    ask_with_id(server, "GET", "/api/v1/jobs/none", "where-is-it")
    line, = [line for line in server.stop().err.splitlines() if "where-is-it" in line]
    assert re.match(r"\d{4}-\d\d-\d\dT\S+Z info 127\.0\.0\.1:\d+ GET /api/v1/jobs/none 404 in \d+ ms key=AKDR\w{16} request=where-is-it$", line), line


def test_a_flood_of_failures_is_no_flood_in_the_log(server):
    asked = 0

    def fail():
        nonlocal asked
        asked += 1
        assert server.ask("GET", "/api/v1/jobs", key="wrong")[0] == 401

    while not server.running.says("more requests refused or failed") or asked < 100:
        fail()
        assert asked < 100_000
    lines = server.stop().err.splitlines()
    told = [line for line in lines if " 401 " in line]
    left_out = sum(int(re.search(r"(\d+) more requests refused or failed", line).group(1)) for line in lines if "more requests refused or failed" in line)
    assert left_out > 0 and len(told) + left_out <= asked, (asked, len(told), left_out)


# --- whom the server connects to


class FakeRegistry:
    """Answers everything with what a test says, and remembers what it was asked."""

    def __init__(self, status, headers, body=b""):
        self.asked, fake = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fake.asked.append((self.path, dict(self.headers)))
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_the_name_of_an_image_makes_the_server_connect_nowhere_private(drover):
    """A registry of the attacker's sends the server on to a service that only the server's machine can reach, and would get its answer as a token."""
    job = {"command": ["true"], "range": [1, 1]}
    with FakeRegistry(200, {"Content-Type": "application/json"}, b'{"token": "credentials-of-the-machine"}') as inside:
        realm = {"WWW-Authenticate": f'Bearer realm="http://{inside.host}/latest/meta-data",service="x"'}
        with FakeRegistry(401, realm) as evil, FakeRegistry(307, {"Location": f"http://{inside.host}/latest/meta-data"}) as moved:
            # By default no registry on a private address is asked at all, by number or by name.
            server = Server(drover)
            for host in (evil.host, evil.host.replace("127.0.0.1", "localhost"), inside.host):
                status, said = server.ask("POST", "/api/v1/jobs", {**job, "image": f"{host}/team/tool:1"})
                assert status == 201 and "is not one of the registries that this server queries" in said["notice"], said
            assert evil.asked == inside.asked == []
            server.stop()
            # One that the operator named is asked, and leads nowhere else that was not named.
            server = Server(drover, "--registries", f"http://{evil.host},http://{moved.host}")
            for host in (evil.host, moved.host):
                status, said = server.ask("POST", "/api/v1/jobs", {**job, "image": f"{host}/team/tool:1"})
                assert status == 201 and "redirects to a private address" in said["notice"], said
            assert len(evil.asked) == len(moved.asked) == 1 and inside.asked == []
            assert all("Authorization" not in headers for _, headers in evil.asked)


def test_registries_are_read_from_flags_and_refused_if_malformed(drover):
    drover("server", "--listen", "127.0.0.1:0", "--registries", "not a host").refuses("'not a host' is not a valid registry")
