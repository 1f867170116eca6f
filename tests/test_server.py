"""drover server, drover worker and the CLI between them, as somebody uses them; and what happens when one of them is killed."""

import http.client
import itertools
import json
import os
import random
import signal
import socket
import sqlite3
import ssl
import threading
import time

import pytest

from drover import SOAK, wait_until

MANY = 20_000 if SOAK else 2_000
KILLS = 50 if SOAK else 5


class Server:
    """A server, and what it takes to speak to it."""

    def __init__(self, drover, *flags, listen="127.0.0.1:0", **options):
        self.drover, self.flags, self.listen, self.options = drover, flags, listen, options
        self.running = None
        self.start()

    def start(self):
        address = self.drover.data / "server/address"
        address.unlink(missing_ok=True)
        self.running = self.drover.start("server", "--listen", self.listen, *self.flags, **self.options)
        wait_until(lambda: (address.exists() and address.read_text().endswith("\n")) or not self.running.alive(), "the server to listen")
        assert self.running.alive(), self.running.done()
        self.address = address.read_text().strip()
        self.listen = f"{self.listen.rpartition(':')[0]}:{self.address.rpartition(':')[2]}"  # the same port after a restart

    def kill(self):
        self.running.kill()

    def stop(self):
        self.running.signal(signal.SIGTERM)
        ended = self.running.done()
        assert ended.status == 0, ended
        return ended

    @property
    def key(self):
        first, = [key for key in json.loads((self.drover.data / "server/keys.json").read_text())["keys"] if (key["scope"], key["label"]) == ("admin", "first")]
        return f"{first['id']}.{first['secret']}"

    def connection(self):
        scheme, place = self.address.split("://")
        host, port = place.rsplit(":", 1)
        if scheme == "http":
            return http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        context = ssl.create_default_context(cafile=str(self.drover.data / "server/ca.pem"))
        return http.client.HTTPSConnection("127.0.0.1", int(port), timeout=60, context=context)

    def ask(self, method, path, body=None, key=None):
        """(status, JSON or text)"""
        connection = self.connection()
        headers = {} if key == "" else {"Authorization": f"Bearer {key or self.key}"}
        connection.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        kind = response.headers.get("Content-Type", "")
        return response.status, json.loads(text) if "json" in kind and "ndjson" not in kind else text.decode(errors="replace")

    def cli(self, *arguments, **options):
        return self.drover(*arguments, env={"DROVER_SERVER": self.address, **options.pop("env", {})}, **options)

    def job(self, name):
        status, job = self.ask("GET", f"/api/v1/jobs/{name}")
        assert status == 200, job
        return job

    def ends(self, name, seconds=120):
        return wait_until(lambda: (job := self.job(name))["state"] != "running" and job, f"job {name} to end", seconds)

    def rows(self, query):
        connection = sqlite3.connect(f"file:{self.drover.data}/server/drover.db?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


@pytest.fixture
def server(drover):
    return Server(drover)


def worker(server, *flags, name="w1", cpus=2, **options):
    running = server.drover.start("worker", "--name", name, "--cpus", cpus, *flags, **options)
    wait_until(lambda: running.says("registered") or not running.alive(), "the worker to register")
    assert running.alive(), running.done()
    return running


def submit(server, name, *words, **options):
    done = server.cli("submit", "--json", "--name", name, *words, **options)
    assert done.status == 0, done
    return done.json_lines[0]


def check_all_succeeded_once(server, name, items):
    """Every item has exactly one attempt that counts, a success; attempts are numbered from 1; no try was spent on a loss."""
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
    rows = server.rows(f"select item, attempt, state, settled from attempts where job_name = '{name}' order by item, attempt")
    by_item = {}
    for item, attempt, state, settled in rows:
        by_item.setdefault(item, []).append((attempt, state, settled))
    assert sorted(by_item) == list(range(items))
    for attempts in by_item.values():
        assert [number for number, _, _ in attempts] == list(range(1, len(attempts) + 1)), attempts
        assert attempts[-1][1:] == ("succeeded", 1), attempts
        assert all(state == "lost" and not settled for _, state, settled in attempts[:-1]), attempts


# --- a job, from one end to the other


def test_a_job_runs_and_every_verb_shows_it(server):
    worker(server)
    job = submit(server, "greet", "--", "sh", "-c", "echo hello $0; echo oh >&2", "{}", ":::", "anna", "bert", "c d")
    assert job["total"] == 3
    assert server.ends("greet")["counts"]["succeeded"] == 3
    assert "3 succeeded" in server.cli("status", "greet").out
    assert server.cli("status", job["id"][:8], "--json").json_lines[0]["id"] == job["id"]
    listed = server.cli("items", "greet", "--json").json_lines
    assert [(item["index"], item["item"], item["state"]) for item in listed] == [
        (0, "anna", "succeeded"), (1, "bert", "succeeded"), (2, "c d", "succeeded")]
    assert server.cli("logs", "greet:2").out == "hello c d\noh\n"
    assert server.cli("logs", "greet:2", "--stderr").out == "oh\n"
    assert server.cli("logs", "greet:2", "--tail", 1).out == "oh\n"
    assert server.cli("logs", "greet", "--grep", "hello [ac]").out == "0:1:hello anna\n2:1:hello c d\n"
    assert [hit["item"] for hit in server.cli("logs", "greet", "--grep", "hello [ac]", "--json").json_lines] == [0, 2]
    assert server.cli("logs", "greet", "--grep", "nobody").status == 1
    assert job["id"][:8] in server.cli("jobs").out
    assert "w1" in server.cli("workers").out


def test_lines_of_a_log_as_json_are_those_of_a_run(drover, server, gate):
    """Streams, attempts and times, of what has ended and of what runs."""
    worker(server)
    lines = f'echo "try $DROVER_ATTEMPT"; echo oh >&2; printf "no end"; test "$1" != runs || {gate.word}; exit $0'
    began_ms = time.time() * 1000
    submit(server, "job", "--retries", 1, "--", "sh", "-c", lines, "{}", ":::", "3", "0")
    server.ends("job")
    local = drover("run", "--name", "job", "--retries", 1, "--", "sh", "-c", lines, "{}", ":::", "3", "0")
    assert local.status == 1, local

    def shown(ask, *words):
        done = ask("logs", *words, "--json")
        assert done.status == 0, done
        assert all(began_ms - 1000 <= line["time_ms"] <= time.time() * 1000 for line in done.json_lines), done
        return sorted((line["item"], line["attempt"], line["stream"], line["text"]) for line in done.json_lines)

    one_try = [(0, 1, "stderr", "oh"), (0, 1, "stdout", "no end"), (0, 1, "stdout", "try 1")]
    assert shown(server.cli, "job:0") == one_try + [(item, 2, stream, text.replace("1", "2")) for item, _, stream, text in one_try]
    for words in (("job:0",), ("job:1",), ("job:0", "--attempt", "2"), ("job:0", "--stderr")):
        assert shown(server.cli, *words) == shown(drover, *words), words
    assert shown(server.cli, "job", "--failed") == [line for line in shown(server.cli, "job:0") if line[1] == 2]
    assert len(server.cli("logs", "job:0", "--tail", "2", "--json").json_lines) == 2
    submit(server, "runs", "--", "sh", "-c", lines, "0", "{}", ":::", "runs")
    wait_until(lambda: len(shown(server.cli, "runs:0")) == 3, "what it has printed by now")
    assert shown(server.cli, "runs:0") == one_try
    gate.open()
    server.ends("runs")
    assert shown(server.cli, "runs:0") == one_try
    whole = server.ask("GET", "/api/v1/jobs/job/items/0/log?form=json")[1]
    assert server.ask("GET", f"/api/v1/jobs/job/items/0/log?form=json&skip={len(whole) // 2}") == (200, whole[len(whole) // 2:]), whole


def test_an_item_runs_with_what_its_job_says(server, tmp_path):
    worker(server)
    (tmp_path / "list").write_bytes(b"first\n\xff\xfe\n$(reboot)\n")
    submit(server, "env", "--items", tmp_path / "list", "--env", "COLOUR=green", "--workdir", tmp_path, "--",
           "sh", "-c", 'printf "%s " "$COLOUR" "$PWD" "$DROVER_ITEM_INDEX" "$DROVER_ATTEMPT"; printf %s "$0" | od -An -c | tr -d " \\n"')
    assert server.ends("env")["counts"]["succeeded"] == 3
    shown = [server.cli("logs", f"env:{index}").out for index in range(3)]
    assert shown == [f"green {tmp_path} 0 1 first", f"green {tmp_path} 1 1 377376", f"green {tmp_path} 2 1 $(reboot)"]


def test_a_retry_of_many_items_goes_on_through_restarts_of_the_server(server, tmp_path):
    """More items than one command reopens, so that most are still to be read when the server is killed."""
    items = 1500
    submit(server, "many", "--range", f"1-{items}", "--", "sh", "-c", f"test -e {tmp_path}/ok")
    worker(server, cpus=4)
    assert server.ends("many")["counts"]["failed"] == items
    assert server.ask("POST", "/api/v1/workers/w1/drain")[0] == 200
    (tmp_path / "ok").touch()
    status, said = server.ask("POST", "/api/v1/jobs/many/retry", {"exit_code": 1})
    assert (status, said["items"]) == (200, items)
    server.kill()
    server.start()
    worker(server, name="w2", cpus=4)
    counts = server.ends("many")["counts"]
    assert counts["succeeded"] == items, counts
    assert server.rows("select attempt, count(*) from items group by 1") == [(2, items)]


def test_a_cancel_stops_a_retry_of_many_items(server):
    submit(server, "many", "--range", "1-1000", "--", "false")
    busy = worker(server, cpus=4)
    assert server.ends("many")["counts"]["failed"] == 1000
    busy.kill()
    assert server.ask("POST", "/api/v1/jobs/many/retry")[1]["items"] == 1000
    assert server.ask("POST", "/api/v1/jobs/many/cancel")[0] == 200
    job = server.ends("many")
    assert job["state"] == "cancelled" and job["counts"]["failed"] + job["counts"]["cancelled"] == 1000
    assert server.rows("select reopening from jobs") == [(None,)]


def test_a_queue_is_served_by_its_fleets(server):
    def token(*flags):
        return server.cli("key", "join", "--quiet", *flags).out.strip()
    assert server.cli("queue", "set", "night", "--fleet", "spot").status == 0
    job = submit(server, "nightly", "--queue", "night", "--range", "1-3", "--", "true")
    worker(server, "--join", token("--fleet", "desktop"), name="desk")
    assert "needs a worker of fleet 'spot'; none of 1 worker belongs to it" in server.cli("why", job["id"]).out
    worker(server, "--join", token("--fleet", "spot"), name="cheap")
    assert server.ends("nightly")["state"] == "succeeded"
    assert server.rows("select distinct worker from items") == [("cheap",)]
    listed = {it["name"]: it["fleet"] for it in server.ask("GET", "/api/v1/workers")[1]["workers"]}
    assert listed == {"desk": "desktop", "cheap": "spot"}
    assert "FLEET" in server.cli("workers").out


def test_failures_are_retried_and_named(server):
    worker(server)
    submit(server, "bad", "--retries", 1, "--", "sh", "-c", "echo why >&2; exit $0", "{}", ":::", "0", "3", "0", "7")
    job = server.ends("bad")
    assert job["state"] == "failed" and job["counts"]["failed"] == 2
    failed = server.cli("items", "bad", "--state", "failed", "--json").json_lines
    assert [(item["index"], item["attempts"], item["last"]["exit_code"], item["last"]["last_line"]) for item in failed] == [
        (1, 2, 3, "why"), (3, 2, 7, "why")]
    assert server.cli("retry", "bad").status == 0
    again = server.ends("bad")
    assert again["counts"]["failed"] == 2
    assert server.rows("select max(attempt) from attempts where job_name = 'bad'") == [(4,)]


def test_a_command_that_is_not_there_fails_its_items_and_nothing_else(server):
    worker(server)
    submit(server, "typo", "--", "/no/such/program", ":::", "a", "b")
    assert server.ends("typo")["counts"]["failed"] == 2
    item = server.cli("items", "typo", "--json").json_lines[0]
    assert item["last"]["ending"] == "not_started" and "/no/such/program" in item["last"]["reason"]
    submit(server, "fine", "--", "true", ":::", "a")
    assert server.ends("fine")["state"] == "succeeded"


def test_searches_that_nobody_reads_hold_up_nobody(server):
    worker(server)
    submit(server, "chatty", "--range", "1-20", "--", "sh", "-c", "seq -f 'a line of the log, number %.0f' 50000", "{}")
    assert server.ends("chatty")["counts"]["succeeded"] == 20
    askers = []
    for _ in range(8):
        asker = server.connection()
        asker.request("GET", "/api/v1/jobs/chatty/search?grep=number&limit=1000000", headers={"Authorization": f"Bearer {server.key}"})
        askers.append(asker)
    assert server.job("chatty")["state"] == "succeeded"
    assert len(askers[0].getresponse().read(100)) == 100
    assert server.cli("logs", "chatty:3", "--tail", "1").out == "a line of the log, number 50000\n"
    for asker in askers:
        asker.close()
    status, hits = server.ask("GET", "/api/v1/jobs/chatty/search?grep=number+49999$")
    assert (status, [json.loads(line)["item"] for line in hits.splitlines()]) == (200, list(range(20)))
    status, refused = server.ask("GET", "/api/v1/jobs/chatty/search?grep=%28")
    assert (status, refused["code"]) == (400, "bad_input")


def test_a_search_says_what_it_could_not_read(server):
    worker(server)
    submit(server, "chatty", "--range", "1-20", "--", "sh", "-c", "seq -f \"item $0 line %.0f\" 20000", "{}")
    assert server.ends("chatty")["counts"]["succeeded"] == 20
    whole = server.cli("logs", "chatty", "--grep", "line")
    assert whole.status == 0 and whole.out.count("\n") == 400_000
    segment = sorted((server.drover.data / "server/logs").glob("*.zst"))[0]
    stored = segment.read_bytes()
    # What was sent twice, because an attempt ended during an upload, is in the segment twice, and one of them is nobody's.
    for part in range(1, 16):
        damaged = bytearray(stored)
        damaged[len(damaged) * part // 16] ^= 0x10
        segment.write_bytes(damaged)
        if server.cli("logs", "chatty", "--grep", "line").status != 0:
            break
    for flags in ((), ("--json",)):
        found = server.cli("logs", "chatty", "--grep", "line", *flags)
        assert found.status == 2 and 0 < found.out.count("\n") < 400_000, found
        assert "incomplete" in found.err and segment.name in found.err and " in 1 part" in found.err, found
    assert "incomplete" in found.json_lines[-1]["problem"], found


def test_logs_are_kept_again_when_there_is_room_again(on_small_disk, small_disk, drover, tmp_path):
    server = Server(on_small_disk, "--min-free", "0")
    submit(server, "loud", "--", "sh", "-c", "head -c 8000000 /dev/urandom | base64 -w 99", "{}", ":::", "a")
    small_disk.resize("4m")
    elsewhere = drover.start("worker", "--name", "w", "--server", server.address, env={"DROVER_KEY": server.key})
    wait_until(lambda: server.running.says("cannot be stored"), "the server to say what is wrong")
    assert server.job("loud")["counts"]["succeeded"] == 0
    small_disk.resize("64m")
    assert server.ends("loud")["counts"]["succeeded"] == 1
    assert server.running.says("can be stored again")
    encoded = (8_000_000 + 2) // 3 * 4
    assert len(server.cli("logs", "loud:0").out) == encoded + -(-encoded // 99)  # with the ends of its lines
    elsewhere.kill()


def test_logs_leave_the_ledger_its_room_and_cost_no_lease(on_small_disk, small_disk, drover):
    """The ledger keeps half of --min-free. A worker whose logs are refused keeps them, and its leases."""
    server = Server(on_small_disk, "--min-free", "32MiB", "--lease", "6s")
    access = {"DROVER_KEY": server.key}
    submit(server, "loud", "--require", "logs=many", "--range", "1-16", "--", "sh", "-c", "head -c 4000000 /dev/urandom | base64 -w 99")
    submit(server, "silent", "--require", "logs=none", "--range", "1-2", "--", "sleep", "4")
    submit(server, "talks", "--require", "logs=some", "--range", "1-50", "--", "sh", "-c", "head -c 20000 /dev/urandom | base64 -w 99")
    drover.start("worker", "--name", "loud", "--label", "logs=many", "--server", server.address, env=access)
    wait_until(lambda: server.running.says("cannot be stored") or not server.running.alive(), "the server to refuse logs")
    disk = os.statvfs(small_disk.path)
    assert 12 << 20 < disk.f_bavail * disk.f_frsize < 32 << 20
    # What a third one prints is refused with its reports, again and again, and it says so once.
    talks = drover.start("worker", "--name", "talks", "--label", "logs=some", "--server", server.address, env=access)
    # For longer than a lease another worker's items run, one after the other, and are recorded.
    drover.start("worker", "--name", "silent", "--cpus", 1, "--label", "logs=none", "--server", server.address, env=access)
    assert server.ends("silent")["counts"]["succeeded"] == 2
    assert server.job("loud")["counts"]["succeeded"] < 16
    wait_until(lambda: talks.says("trying again"), "the worker to say that its logs are refused")
    small_disk.resize("256m")
    assert server.ends("loud")["counts"]["succeeded"] == 16
    check_all_succeeded_once(server, "loud", 16)
    assert server.rows("select max(attempt) from attempts") == [(1,)], "no lease was lost"
    assert len(server.cli("logs", "loud:15").out) > 5_000_000
    assert server.ends("talks")["counts"]["succeeded"] == 50
    assert bytes(talks.error.kept).count(b"trying again") == 1


def test_a_page_deep_inside_a_job_is_found_at_once(server):
    submit(server, "vast", "--range", "0-2000000000", "--", "true")
    before = time.monotonic()
    listed = server.ask("GET", "/api/v1/jobs/vast/items?from=1999999990&limit=5")[1]
    assert [item["item"] for item in listed["items"]] == [str(number) for number in range(1999999990, 1999999995)]
    assert server.ask("GET", "/api/v1/jobs/vast/items/2000000000")[1]["state"] == "pending"
    assert server.ask("GET", "/api/v1/jobs/vast/items?state=failed")[1] == {"items": [], "next": None}
    assert time.monotonic() - before < 60  # going through them one by one takes minutes


def test_a_worker_that_has_not_come_back_yet_is_listed(server):
    gone, back = worker(server, name="gone"), worker(server, name="back")
    left = worker(server, name="left")
    left.signal(signal.SIGTERM)
    assert left.done().status == 0
    server.kill()
    gone.kill()
    server.start()

    def states():
        return {it["name"]: it["state"] for it in server.ask("GET", "/api/v1/workers")[1]["workers"]}

    wait_until(lambda: states() == {"gone": "unheard", "back": "alive", "left": "left"}, "the one to come back")
    assert "unheard" in server.cli("workers").out
    back.kill()


@pytest.mark.parametrize("loss", ["removed", "empty", "without tables"])
def test_a_server_that_has_lost_its_ledger_does_not_start(drover, server, loss):
    worker(server)
    submit(server, "job", "--", "echo", "{}", ":::", "a")
    server.ends("job")
    server.stop()
    ledger = drover.data / "server/drover.db"
    for file in ledger.parent.glob("drover.db*"):
        file.unlink()
    if loss == "empty":
        ledger.touch()
    if loss == "without tables":
        with sqlite3.connect(ledger) as connection:
            connection.execute("create table t(a)")
            connection.execute("drop table t")
        connection.close()
    drover("server", "--listen", "127.0.0.1:0").refuses(str(ledger), "missing or empty", "keys and logs", "backup")
    checks = {it["about"]: it for it in drover("doctor", "--json").json_lines[0]["checks"] if it["group"] == "folder"}
    assert checks["ledger"]["verdict"] == "problem" and "missing or empty" in checks["ledger"]["text"], checks


@pytest.mark.parametrize("file", ["drover.db", "drover.db-wal"])
def test_a_server_whose_ledger_is_removed_acknowledges_nothing_more(drover, server, file):
    submit(server, "kept", "--range", "1-3", "--", "true")
    (drover.data / "server" / file).rename(drover.data / "taken")
    lost = server.cli("submit", "--name", "lost", "--range", "1-3", "--", "true")
    assert lost.status != 0, lost
    ended = server.running.done()
    assert ended.status == 1 and "was removed or replaced" in ended.err and "backup" in ended.err, ended


def test_an_idle_server_notices_that_its_ledger_was_replaced(drover, server):
    ledger = drover.data / "server/drover.db"
    (drover.data / "copy").write_bytes(ledger.read_bytes())
    (drover.data / "copy").rename(ledger)
    ended = server.running.done()
    assert ended.status == 1 and "was removed or replaced" in ended.err, ended


def test_cancel_kills_what_runs(server):
    worker(server)
    submit(server, "long", "--range", "1-100", "--", "sleep", "1000")
    wait_until(lambda: server.job("long")["counts"]["running"] > 0, "items to run")
    assert "is cancelled" in server.cli("cancel", "long").out
    job = server.ends("long")
    assert job["state"] == "cancelled" and job["counts"]["cancelled"] == 100


def test_jobs_take_turns_on_one_slot(server, tmp_path):
    """Each job has an environment and a folder of its own, and the slot is set up anew between them."""
    server.drover.start("worker", "--name", "narrow", "--cpus", 1)
    for number in range(4):
        submit(server, f"job{number}", "--env", f"NUMBER={number}", "--range", "1-5", "--", "sh", "-c", "echo $NUMBER")
    for number in range(4):
        assert server.ends(f"job{number}")["counts"]["succeeded"] == 5
        assert server.cli("logs", f"job{number}:3").out == f"{number}\n"


def test_much_output_travels_whole(server):
    worker(server)
    submit(server, "much", "--log-limit", "0", "--", "seq", "-f", "%09.0f and some more text", "1", "{}", ":::", "1500000", "10")
    server.ends("much")
    shown = server.cli("logs", "much:0").raw_out
    assert shown.count(b"\n") == 1_500_000 and shown.endswith(b"001500000 and some more text\n")
    assert server.cli("logs", "much:1").raw_out.count(b"\n") == 10


def test_a_job_that_says_only_what_it_must_runs(server):
    worker(server)
    status, job = server.ask("POST", "/api/v1/jobs", {"command": ["echo", "{}"], "items": [{"a": 2}, {"b": 1}]})
    assert status == 201 and job["name"] == "echo", job
    assert server.ends(job["id"])["counts"]["succeeded"] == 2
    assert server.cli("logs", f"{job['id']}:1").out == '{"b":1}\n'


def test_the_same_client_token_is_the_same_job(server):
    first = submit(server, "once", "--client-token", "abc", "--", "true", ":::", "a")
    second = submit(server, "once", "--client-token", "abc", "--", "true", ":::", "a")
    assert first["id"] == second["id"]
    assert len(server.ask("GET", "/api/v1/jobs")[1]["jobs"]) == 1


def test_a_long_list_is_uploaded_as_it_is_read(server, tmp_path):
    count = 300_000
    with open(tmp_path / "list", "w") as file:
        for number in range(count):
            file.write(f"s3://bucket/some/folder/of/pictures/{number * 7919 % 999983}.jpg\n")
    job = submit(server, "long", "--items", tmp_path / "list", "--", "true")
    assert job["total"] == count
    _, listed = server.ask("GET", f"/api/v1/jobs/long/items?from={count - 1}")
    assert listed["items"][0]["item"] == f"s3://bucket/some/folder/of/pictures/{(count - 1) * 7919 % 999983}.jpg"
    assert listed["next"] is None


# --- kills


def test_killed_servers_and_workers_lose_nothing(server):
    """Everybody is killed again and again; every item ends once, and no try is spent on that."""
    dice = random.Random(5)
    workers = {name: worker(server, name=name) for name in ("w1", "w2")}
    submit(server, "many", "--range", f"1-{MANY}", "--", "sh", "-c", "echo line of $0", "{}")
    for _ in range(KILLS):
        before = server.rows("select count(*) from attempts")[0][0]
        wait_until(lambda: server.rows("select count(*) from attempts")[0][0] > before + dice.randrange(1, 60)
                   or server.job("many")["state"] != "running", "some progress")
        if dice.random() < 0.6:
            server.kill()
            server.start()
        else:
            name = dice.choice(sorted(workers))
            workers[name].kill()
            workers[name] = worker(server, name=name)
    assert server.ends("many", 600)["counts"]["succeeded"] == MANY
    check_all_succeeded_once(server, "many", MANY)
    for index in dice.sample(range(MANY), 20):
        assert server.cli("logs", f"many:{index}").out.splitlines()[-1] == f"line of {index + 1}"


def test_what_a_server_acknowledged_is_there_after_its_death(server):
    ids = []
    for number in range(10 if not SOAK else 50):
        ids.append(submit(server, f"job{number}", "--range", "1-10", "--", "true")["id"])
        server.kill()
        server.start()
    listed = server.ask("GET", "/api/v1/jobs?limit=1000")[1]["jobs"]
    assert [job["id"] for job in listed] == ids[::-1]
    assert all(job["total"] == 10 for job in listed)


def test_killed_under_load_of_several_clients_it_keeps_its_word(server):
    """Four clients submit and look while the server dies at random moments: what was acknowledged is there, and what was shown as
    ended has ended for good."""
    dice = random.Random(11)
    over = threading.Event()
    acknowledged, wrong = [], []

    def client(number):
        known, seen = [], {}
        for turn in itertools.count():
            if over.is_set():
                return
            token = f"client {number}, turn {turn}"
            try:
                status, job = server.ask("POST", "/api/v1/jobs", {"name": f"c{number}", "client_token": token, "command": ["true", "{}"],
                                                                  "range": [1, 40]})
                if status == 201:
                    known.append(job["id"])
                    acknowledged.append((job["id"], token))
                for one in random.sample(known, min(len(known), 3)):
                    status, job = server.ask("GET", f"/api/v1/jobs/{one}")
                    if status != 200 or job["counts"]["succeeded"] < seen.get(one, 0):
                        wrong.append((one, status, job, seen.get(one)))
                    seen[one] = job["counts"]["succeeded"]
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # it was killed just then

    worker(server)
    clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(4)]
    for one in clients:
        one.start()
    for _ in range(KILLS):
        time.sleep(dice.uniform(0.05, 0.6))
        server.kill()
        server.start()
    wait_until(lambda: len(acknowledged) > KILLS, "some jobs to be acknowledged")
    over.set()
    for one in clients:
        one.join()
    assert wrong == []
    assert len(acknowledged) > KILLS
    for one, token in acknowledged:
        job = server.ends(one, 300)
        assert (job["state"], job["counts"]["succeeded"]) == ("succeeded", 40), job
        # The same again is the same job.
    one, token = dice.choice(acknowledged)
    assert server.ask("POST", "/api/v1/jobs", {"client_token": token, "command": ["true", "{}"], "range": [1, 40]})[1]["id"] == one
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
    assert server.rows("select count(*) from attempts group by job, item having sum(settled and state = 'succeeded') <> 1") == []


def test_a_worker_outlives_an_absent_server(server, gate):
    running = worker(server)
    submit(server, "slow", "--", "sh", "-c", f"{gate.word}; echo done", ":::", "a", "b")
    wait_until(lambda: server.job("slow")["counts"]["running"] == 2, "both to run")
    server.kill()
    wait_until(lambda: running.says("trying again"), "the worker to notice")
    gate.open()
    server.start()
    assert server.ends("slow")["counts"]["succeeded"] == 2
    assert server.rows("select attempt, state from attempts") == [(1, "succeeded")] * 2


def state_of_worker(server, name="w1"):
    return server.ask("GET", f"/api/v1/workers/{name}")[1]["state"]


def test_a_drained_worker_finishes_what_it_runs_and_goes(server):
    running = worker(server)
    submit(server, "slow", "--range", "1-50", "--", "sh", "-c", "sleep 0.5")
    wait_until(lambda: server.rows("select count(*) from attempts")[0][0] > 0, "the first to end")
    running.signal(signal.SIGTERM)
    wait_until(lambda: state_of_worker(server) in ("draining", "left"), "it to say that it drains")
    assert running.done().status == 0
    assert state_of_worker(server) == "left"  # and not a lease later
    assert [kind for kind, in server.rows("select kind from events where kind like 'worker_%'")] == ["worker_joined", "worker_draining", "worker_left"]
    job = server.job("slow")
    assert job["counts"]["running"] == 0 and 0 < job["counts"]["succeeded"] < 50
    assert server.rows("select distinct state from attempts") == [("succeeded",)]


def test_a_worker_is_drained_from_afar(server, gate):
    running = worker(server)
    submit(server, "slow", "--range", "1-100", "--shell", "--", f"{gate.word}; true {{}}")
    wait_until(lambda: server.job("slow")["counts"]["running"] == 2, "two to run")
    said = server.cli("workers", "drain", "w1")
    assert said.status == 0 and "takes no new items" in said.out, said
    assert "draining" in server.cli("workers").out and 'drover_workers{state="draining"} 1' in server.ask("GET", "/metrics")[1]
    gate.open()
    assert running.done().status == 0
    assert "left" in server.cli("workers").out and 'drover_workers{state="left"} 1' in server.ask("GET", "/metrics")[1]
    assert server.cli("workers", "drain", "w1").status == 0 and state_of_worker(server) == "left", "once more changes nothing"
    counts = server.job("slow")["counts"]
    assert (counts["running"], counts["succeeded"]) == (0, 2)
    assert server.rows("select distinct state from attempts") == [("succeeded",)]
    server.cli("workers", "drain", "w9").refuses("worker 'w9' not found", "drover workers")


def test_a_worker_that_dies_while_it_drains_is_asked_again_when_it_is_back(server):
    first = worker(server)
    submit(server, "slow", "--range", "1-4", "--", "sleep", "60")
    wait_until(lambda: server.job("slow")["counts"]["running"] == 2, "two to run")
    assert server.cli("workers", "drain", "w1").status == 0
    wait_until(lambda: first.says("drain") or state_of_worker(server) == "draining", "it to hear of it")
    first.kill()
    again = server.drover.start("worker", "--name", "w1", "--cpus", 2)  # which may be gone as soon as it has registered
    assert again.done().status == 0
    counts = server.job("slow")["counts"]
    assert counts["pending"] + counts["waiting"] == 4, counts
    worker(server)  # it has done what it was asked, so this one is a worker like any other
    wait_until(lambda: server.job("slow")["counts"]["running"] == 2, "two to run again")


def test_who_has_left_is_not_lost_after_a_restart(drover):
    server = Server(drover, "--lease", "6s")
    gone = worker(server, name="gone")
    gone.signal(signal.SIGTERM)
    assert gone.done().status == 0
    dead = worker(server, name="dead")
    server.kill()
    dead.kill()
    server.start()
    wait_until(lambda: server.rows("select name from events where kind = 'worker_lost'"), "the dead one to be lost")
    assert server.rows("select name from events where kind = 'worker_lost'") == [("dead",)]


def test_what_a_fenced_worker_held_goes_to_others_at_once(server):
    """Its leases would last for another minute."""
    stopped = worker(server, name="stopped")
    submit(server, "few", "--range", "1-4", "--", "sh", "-c", "sleep 1")
    wait_until(lambda: server.rows("select count(*) from grants")[0][0] > 0, "some to be taken")
    stopped.signal(signal.SIGSTOP)
    assert server.cli("workers", "fence", "stopped").status == 0
    other = worker(server, name="other")
    job = server.ends("few", 40)
    assert job["counts"]["succeeded"] == 4
    stopped.signal(signal.SIGCONT)
    submit(server, "more", "--range", "1-20", "--", "sh", "-c", "sleep 0.1")
    assert server.ends("more")["counts"]["succeeded"] == 20
    check_all_succeeded_once(server, "few", 4)
    assert stopped.alive() and other.alive()


def test_workers_go_when_told_so_beforehand(server):
    submit(server, "few", "--range", "1-30", "--", "true")
    assert server.drover("worker", "--name", "idle", "--exit-when-idle").status == 0
    assert server.ends("few")["counts"]["succeeded"] == 30
    submit(server, "more", "--range", "1-1000", "--", "true")
    assert server.drover("worker", "--name", "some", "--max-items", 20).status == 0
    assert 20 <= server.job("more")["counts"]["succeeded"] < 1000


def test_a_lease_that_cannot_be_is_refused(drover):
    for lease in ("100ms", "48h"):
        drover("server", "--listen", "127.0.0.1:0", "--lease", lease).refuses("--lease", lease)
    drover("server", "--listen", "127.0.0.1:0", "--lease", "soon").refuses("soon")


def test_a_second_server_on_the_same_data_is_refused(server):
    second = server.drover("server", "--listen", "127.0.0.1:0")
    second.refuses("is in use by process", str(server.running.pid))


# --- peers that misbehave


def test_bad_requests_are_answered_with_what_is_wrong(server):
    for body, words in (
            (b"{", "not a JSON object"), ({"items": ["a"]}, "command"), ({"command": ["true"]}, "items"),
            ({"command": ["true"], "items": ["a", {"b": 1}]}, "both"), ({"command": ["true"], "items": ["a"], "retrys": 1}, "retrys"),
            ({"command": ["true"], "items": ["a"], "timeout": "soon"}, "soon"),
            ({"command": ["true"], "items": ["a"], "range": [1, 2]}, "cannot be combined"),
            ({"command": ["true"], "range": [5, 1]}, "range"), ({"command": ["true"], "manifest": 99}, "99"),
            ({"command": ["true"], "items": ["a"], "name": "a/b"}, "a/b"), ({"command": "true", "items": ["a"]}, "command")):
        status, said = server.ask("POST", "/api/v1/jobs", body)
        assert status in (400, 404) and words in said["detail"] and said["code"] in ("bad_input", "not_found"), (body, said)
    assert server.ask("GET", "/api/v1/jobs/none")[0] == 404
    assert server.ask("GET", "/api/v1/nothing")[0] == 404
    assert server.ask("DELETE", "/api/v1/jobs")[0] == 405
    assert server.ask("GET", "/api/v1/jobs?limit=many")[0] == 400
    assert server.ask("GET", "/api/v1/jobs")[1] == {"jobs": [], "next": None}


def test_noise_hurts_nobody(server):
    """Malformed, cut and oversized requests, while a job runs."""
    worker(server)
    submit(server, "job", "--range", f"1-{MANY // 4}", "--", "true")
    port = int(server.listen.rsplit(":", 1)[1])
    dice = random.Random(3)
    good = f"POST /worker/v1/poll HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\nContent-Length: 40\r\n\r\n".encode() + b"\x0a" * 40
    for number in range(20_000 if SOAK else 2_000):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
            kind = number % 4
            if kind == 0:
                peer.sendall(dice.randbytes(dice.randrange(1, 300)))
            elif kind == 1:
                peer.sendall(good[:dice.randrange(1, len(good))])
            elif kind == 2:
                peer.sendall(good.replace(b"40", b"99999999999999999999"))
            else:
                noisy = bytearray(good)
                for _ in range(3):
                    noisy[dice.randrange(len(noisy))] = dice.randrange(256)
                peer.sendall(bytes(noisy))
    assert server.ends("job")["counts"]["succeeded"] == MANY // 4
    assert server.running.alive()
    assert server.stop().status == 0


def test_a_worker_that_hung_up_keeps_nothing_waiting(server):
    """What its last poll was given goes to others at once, not when its lease is over."""
    first = worker(server, name="first")
    first.kill()
    submit(server, "quick", "--", "true", ":::", "1", "2")
    worker(server, name="second")
    begun = time.monotonic()
    assert server.ends("quick")["state"] == "succeeded"
    assert time.monotonic() - begun < 30  # a lease is a minute
    # To hang up is no fault of the server, and what nobody heard of was not handed out.
    figures = server.ask("GET", "/metrics")[1]
    assert 'drover_http_answers_total{code="5xx"} 0' in figures and "drover_leased_items_total 2\n" in figures, figures
    assert "ERROR" not in server.stop().err
