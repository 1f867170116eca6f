"""Machines that the cloud takes away: workers hear of it from the metadata service, and it costs nobody anything."""

import http.server
import json
import signal
import threading
import time

import pytest

from drover import SOAK, wait_until
from test_server import Server, submit, worker

MANY, WORKERS = (20_000, 8) if SOAK else (2_000, 4)


class Metadata(http.server.ThreadingHTTPServer):
    """What a machine of Amazon's would ask: version 2 alone, as new machines have it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), MetadataHandler)
        self.documents = {}
        self.without_token = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def environment(self):
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{self.server_address[1]}"}

    def take_away(self, seconds):
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        self.documents["/latest/meta-data/spot/instance-action"] = json.dumps({"action": "terminate", "time": when})

    def recommend(self):
        self.documents["/latest/meta-data/events/recommendations/rebalance"] = json.dumps({"noticeTime": "2026-11-19T08:22:00Z"})


class MetadataHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        is_right = self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds") == "21600"
        self.answer(200 if is_right else 400, "token" if is_right else "")

    def do_GET(self):
        if self.headers.get("X-aws-ec2-metadata-token") != "token":
            self.server.without_token += 1
            return self.answer(401, "")
        text = self.server.documents.get(self.path)
        self.answer(404 if text is None else 200, text or "")

    def log_message(self, *_):
        pass


@pytest.fixture
def metadata():
    made = []

    def make():
        made.append(Metadata())
        return made[-1]
    yield make
    for one in made:
        one.shutdown()
        one.server_close()


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", "10s")


def attempts(server, job):
    return server.rows(f"select item, attempt, state, reason, worker from attempts where job_name = '{job}' order by item, attempt")


def test_a_notice_sends_a_worker_away_and_its_items_elsewhere(server, metadata):
    machine = metadata()
    going = worker(server, name="going", cpus=2, env=machine.environment)
    submit(server, "j", "--retries", 0, "--", "sh", "-c", "sleep $0", "{}", ":::", *["4"] * 2, "60", "60", "0.1", "0.1")
    wait_until(lambda: len(server.cli("items", "j", "--state", "running", "--json").json_lines) == 2, "items to run")
    machine.take_away(14)
    begun = time.time()
    wait_until(lambda: going.says("Amazon will terminate this machine"), "the worker to hear of it", 10)
    worker(server, name="staying", cpus=4)
    ended = going.done(30)
    assert ended.status == 0 and time.time() - begun < 14, ended
    wait_until(lambda: server.job("j")["counts"]["succeeded"] == 4, "the short ones to end", 30)
    rows = attempts(server, "j")
    assert {(item, state, name) for item, _, state, _, name in rows if item < 2} == {(0, "succeeded", "going"), (1, "succeeded", "going")}, rows
    assert all(state != "failed" for _, _, state, _, _ in rows), rows
    assert {name for item, _, _, _, name in rows if item > 1} <= {"staying", "going"} and machine.without_token == 0
    server.cli("cancel", "j")


def test_what_cannot_end_in_time_is_lost_free_of_charge_and_runs_elsewhere(server, metadata):
    machine = metadata()
    going = worker(server, name="going", cpus=1, env=machine.environment)
    submit(server, "j", "--retries", 0, "--", "sh", "-c", 'test "$DROVER_ATTEMPT" -gt 1 || sleep 60', ":::", "a")
    wait_until(lambda: server.cli("items", "j", "--state", "running", "--json").json_lines, "it to run")
    machine.take_away(9)
    ended = going.done(30)
    assert ended.status == 0 and "killing 1 running item" in ended.err, ended
    worker(server, name="staying", cpus=1)
    assert server.ends("j")["state"] == "succeeded"
    assert [(row[2], row[3] or "") for row in attempts(server, "j")] == [("lost", "lost: its machine is being taken away"), ("succeeded", "")]


@pytest.mark.parametrize("told_by", ["metadata", "SIGTERM"])
def test_an_item_that_checkpoints_resumes_where_it_was(server, metadata, tmp_path, script, told_by):
    machine = metadata()
    step = script("train", f"""
        file={tmp_path}/checkpoint; n=$(cat $file 2>/dev/null || echo 0)
        echo from $n
        trap 'echo $n > $file; exit 143' TERM
        while test $n -lt 40; do sleep 0.1; n=$((n + 1)); done
        echo done""")
    going = worker(server, name="going", cpus=1, env=machine.environment)
    submit(server, "j", "--retries", 0, "--on-notice", "checkpoint", "--", step, ":::", "a")
    wait_until(lambda: server.cli("items", "j", "--state", "running", "--json").json_lines, "it to run")
    time.sleep(0.5)
    begun = time.time()
    if told_by == "metadata":
        machine.take_away(120)
    else:
        going.signal(signal.SIGTERM)
    assert going.done(30).status == 0
    assert time.time() - begun < 20, "it does not wait for the machine's end"
    saved = int((tmp_path / "checkpoint").read_text())
    assert saved > 1
    worker(server, name="staying", cpus=1)
    assert server.ends("j")["state"] == "succeeded"
    first, second = attempts(server, "j")
    assert first[2] == "lost" and "told to save what it had" in first[3] and second[2] == "succeeded", (first, second)
    assert f"from {saved}\n" in server.cli("logs", "j:0").out and "done" in server.cli("logs", "j:0").out


def test_sigterm_lets_items_end_that_do_not_checkpoint(server, metadata):
    going = worker(server, name="going", cpus=1, env=metadata().environment)
    submit(server, "j", "--retries", 0, "--", "sleep", "{}", ":::", "3", "60")
    wait_until(lambda: server.cli("items", "j", "--state", "running", "--json").json_lines, "it to run")
    going.signal(signal.SIGTERM)
    assert going.done(30).status == 0
    assert [row[:3] for row in attempts(server, "j")] == [(0, 1, "succeeded")]
    server.cli("cancel", "j")


def test_a_recommendation_ends_nothing_that_runs(server, metadata):
    machine = metadata()
    going = worker(server, name="going", cpus=1, env=machine.environment)
    submit(server, "j", "--", "sleep", ":::", "6")
    wait_until(lambda: server.cli("items", "j", "--state", "running", "--json").json_lines, "it to run")
    machine.recommend()
    assert going.done(30).status == 0
    assert server.job("j")["state"] == "succeeded" and [row[2] for row in attempts(server, "j")] == ["succeeded"]


def test_a_notice_every_few_seconds_costs_little(server, metadata):
    machines = {}
    start = lambda name: machines.__setitem__(name, (machine := metadata(), worker(server, name=name, cpus=4, env=machine.environment)))
    for number in range(WORKERS):
        start(f"w{number}")
    submit(server, "j", "--retries", 0, "--range", f"1-{MANY}", "--", "sh", "-c", "sleep 0.2")
    notices, number = 0, WORKERS
    while server.job("j")["counts"]["succeeded"] < MANY * 0.9:
        name, (machine, running) = next(iter(machines.items()))
        machine.take_away(12)
        notices += 1
        time.sleep(2)
        start(f"w{number}")
        number += 1
        assert running.done(30).status == 0
        del machines[name]
    assert server.ends("j", 300)["state"] == "succeeded"
    rows = attempts(server, "j")
    lost = [row for row in rows if row[2] == "lost"]
    assert sorted(row[0] for row in rows if row[2] == "succeeded") == list(range(MANY)) and len(rows) == MANY + len(lost)
    assert notices >= 3 and len(lost) <= 0.1 * 4 * notices, (len(lost), notices, lost[:5])
