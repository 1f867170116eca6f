"""The verbs over a server's queues, definitions, fleets, events and usage; why something waits; and which key goes where."""

import http.server
import itertools
import json
import os
import re
import signal
import threading

import pytest

from drover import BINARY, wait_until
from test_server import Server, submit, worker


@pytest.fixture
def server(drover):
    return Server(drover)


def said(done, *words):
    assert done.status == 0, done
    for word in words:
        assert word in done.out, f"{word!r} is not there{done!r}"
    return done


def rows(done):
    """A table's rows, as cells by their headings."""
    said(done)
    head, *lines = done.out.splitlines()
    titles = re.split(r"\s{2,}", head.strip())
    return [dict(zip(titles, re.split(r"\s{2,}", line.strip()))) for line in lines]


# --- why


def test_why_is_one_sentence(server):
    submit(server, "huge", "--memory", "900TiB", "--range", "1-3", "--", "true")
    assert said(server.cli("why", "huge")).out == "job 'huge': no worker has ever joined\n"
    worker(server)
    wait_until(lambda: "needs 900" in server.cli("why", "huge").out, "the worker to be seen")
    lines = said(server.cli("why", "huge:2"), "item 2 of job 'huge': ").out.splitlines()
    assert len(lines) == 1
    told = server.cli("why", "huge", "--json").json_lines[0]
    assert (told["code"], told["name"], told["item"]) == ("nobody_suits", "huge", None) and "900" in told["reason"]
    said(server.cli("status", "huge"), "why        needs 900")
    assert said(server.cli("why")).out.startswith("job 'huge'"), "without a name it is the newest"
    server.cli("why", "huge:3").refuses("item 3")
    server.cli("why", "huge:x").refuses("invalid item reference 'huge:x'")
    server.cli("why", "nobody").refuses("nobody")


# --- queues


def test_a_queue_from_its_making_to_its_end(server):
    said(server.cli("queue", "set", "night", "--priority", 5, "--order", "fair", "--decay", "1h", "--reserve", 20, "--weight", "a=1",
                    "--weight", "batch*=2.5", "--fleet", "spot"), "new queue 'night'", "20 %", "4 %", "1 h")
    shown = server.cli("queue", "show", "night", "--json").json_lines[0]
    assert {name: shown[name] for name in ("priority", "order", "decay_s", "reserved_percent", "weights", "fleets", "enabled")} == {
        "priority": 5, "order": "fair", "decay_s": 3600, "reserved_percent": 20, "weights": {"a": 1.0, "batch*": 2.5}, "fleets": ["spot"],
        "enabled": True}
    said(server.cli("queue", "set", "night", "--weight", "b=4", "--fleet", ""))
    shown = server.cli("queue", "show", "night", "--json").json_lines[0]
    assert shown["weights"] == {"a": 1.0, "b": 4.0, "batch*": 2.5} and shown["fleets"] == [] and shown["priority"] == 5, "the rest stays"
    listed = {row["NAME"]: row for row in rows(server.cli("queue", "list"))}
    assert listed["night"]["ORDER"] == "fair" and listed["default"]["STATE"] == "enabled"
    said(server.cli("queue", "disable", "night"), "accepts no jobs")
    server.cli("submit", "--queue", "night", "--range", "1-2", "--", "true").refuses("night", "disabled")
    said(server.cli("queue", "enable", "night"))
    submit(server, "late", "--queue", "night", "--share", "a", "--range", "1-2", "--", "true")
    said(server.cli("status", "late"), "queue      night, share 'a', priority 0, submitted by first")
    server.cli("queue", "delete", "night").refuses("late")
    said(server.cli("queue", "disable", "night"))
    said(server.cli("why", "late"), "queue 'night' is disabled")
    said(server.cli("cancel", "late"))
    said(server.cli("queue", "delete", "night"), "deleted")
    server.cli("queue", "show", "night").refuses("night", "drover queue list")


CANNOT_BE_SAID_OF_QUEUES = [
    (["set", "default"], ["default", "nothing"]), (["enable", "nihgt"], ["nihgt"]), (["disable", "nihgt"], ["nihgt"]),
    (["set", "q", "--weight", "a"], ["--weight 'a'", "SHARE=WEIGHT"]), (["set", "q", "--weight", "a=0"], ["--weight 'a=0'"]),
    (["set", "q", "--weight", "a=1x"], ["--weight 'a=1x'"]), (["set", "q", "--weight", "a b=1"], ["--weight 'a b=1'", "'a b'"]),
    (["set", "q", "--decay", "soon"], ["--decay 'soon'"]), (["set", "q", "--decay", "8d"], ["--decay 8d", "7d"]),
    (["set", "q", "--order", "random"], ["random", "fair"]), (["set", "not a name"], ["not a name"]), (["delete", "default"], ["default"]),
    (["set", "q", "--reserve", "100"], ["--reserve"]), (["set", "q", "--fleet", "a b"], ["--fleet 'a b'", "drover fleet list"]),
    (["--data", "/nowhere"], ["drover queue", "list, show, set"]), (["--data", "/nowhere", "list"], ["option '--data' must come after 'list'"]),
]


def test_what_cannot_be_said_of_a_queue(server):
    for words, names in CANNOT_BE_SAID_OF_QUEUES:
        server.cli("queue", *words).refuses(*names)
    assert [queue["name"] for queue in server.cli("queue", "list", "--json").json_lines[0]["queues"]] == ["default"], "nothing was made"


# --- definitions


def test_a_definition_and_jobs_from_it(server, tmp_path):
    worker(server)
    (tmp_path / "work").mkdir()
    file = tmp_path / "greet.yaml"
    file.write_text("name: greet\ncommand: [echo, hello, '{}']\nworkdir: work\nretries: 2\ncpus: 0.5\n")
    said(server.cli("definition", "register", file), "'greet:1'")
    said(server.cli("submit", "--definition", "greet", "--name", "g", "--workdir", tmp_path, ":::", "anna"))
    assert server.ends("g")["state"] == "succeeded"
    assert server.cli("logs", "g:0").out == "hello anna\n"
    said(server.cli("status", "g"), "definition greet:1")
    file.write_text("command: [echo, bye, '{}']\n")
    server.cli("definition", "register", file).refuses("greet.yaml", "does not name the definition", "--name")
    said(server.cli("definition", "register", file, "--name", "greet"), "'greet:2'")
    shown = server.cli("definition", "show", "greet:1", "--json").json_lines[0]
    assert shown["job"]["workdir"] == str(tmp_path / "work") and shown["job"]["retries"] == 2
    said(server.cli("definition", "show", "greet"), "'greet:2' is active", '["echo","bye","{}"]', "drover submit --definition greet")
    assert "items  " not in server.cli("definition", "show", "greet").out
    said(server.cli("definition", "retire", "greet"), "'greet:2' is retired")
    assert [(row["DEFINITION"], row["STATE"]) for row in rows(server.cli("definition", "list"))] == [("greet:1", "active"), ("greet:2", "retired")]
    server.cli("definition", "show", "nobody").refuses("nobody", "drover definition list")
    for field, line in (("items", "items: [a, b]"), ("range", "range: 1-3"), ("items_file", "items_file: x"), ("dir", "dir: /tmp")):
        file.write_text(f"name: greet\ncommand: [echo, '{{}}']\n{line}\n")
        server.cli("definition", "register", file).refuses("greet.yaml", f"'{field}'")
    file.write_text("name: greet\ncommand: [echo]\nretires: 2\n")
    wrong = server.cli("definition", "register", file)
    assert wrong.status == 2 and "greet.yaml:3" in wrong.err and "retries" in wrong.err, wrong


# --- fleets


def test_a_fleet_is_written_down(server):
    said(server.cli("fleet", "set", "spot", "--provider", "ec2", "--most", 100, "--spot", "--shape", "c7g.4xlarge", "--shape", "m7g.large"),
         "new fleet 'spot'", "0 to 100")
    said(server.cli("fleet", "set", "spot", "--least", 2, "--no-spot"))
    shown = server.cli("fleet", "show", "spot", "--json").json_lines[0]
    assert (shown["least"], shown["most"], shown["spot"], shown["shapes"], shown["provider"]) == (2, 100, False, ["c7g.4xlarge", "m7g.large"], "ec2")
    assert rows(server.cli("fleet", "list"))[0]["MOST"] == "100"
    for words, names in ((("--least", 200), ("--least 200", "--most 100")), (("--least", -1), ("--least", "-1", "1000000")),
                         (("--most", 10**7), ("--most", "1000000")), (("--bid", 0), ("--bid", "1000")), (("--shape", "a b"), ("--shape 'a b'",))):
        server.cli("fleet", "set", "spot", *words).refuses(*names)
    said(server.cli("fleet", "delete", "spot"))
    server.cli("fleet", "delete", "spot").refuses("spot", "drover fleet list")
    server.cli("fleet", "show", "spot").refuses("spot", "drover fleet list")


# --- events


def follow(server, *words):
    return server.drover.start("events", "--follow", "--json", *words, env={"DROVER_SERVER": server.address})


def lines_of(running, count):
    return [json.loads(running.process.stdout.readline()) for _ in range(count)]


def test_events_go_on_behind_the_last_one_when_the_server_comes_back(server):
    submit(server, "one", "--range", "1-1", "--", "true")
    running = follow(server, "--after", "0")
    first, = lines_of(running, 1)
    assert (first["kind"], first["name"]) == ("job_submitted", "one")
    server.kill()
    wait_until(lambda: running.says("trying again"), "the break to be noticed")
    server.start()
    submit(server, "two", "--range", "1-1", "--", "true")
    second, = lines_of(running, 1)
    assert (second["kind"], second["name"]) == ("job_submitted", "two") and second["id"] > first["id"]
    wait_until(lambda: running.says("reconnected"), "it to be said")
    running.signal(signal.SIGTERM)
    running.done()


def pokes(server, follower):
    """Lets something happen; whether the follower has heard of any such thing."""
    assert server.ask("PUT", "/api/v1/queues/default", {"priority": 1})[0] == 200
    os.set_blocking(follower.process.stdout.fileno(), False)
    return follower.process.stdout.read()


def test_events_of_one_job_and_of_all(server):
    worker(server)
    submit(server, "other", "--range", "1-1", "--", "true")
    server.ends("other")
    late = follow(server)
    wait_until(lambda: pokes(server, late), "it to follow")
    submit(server, "mine", "--range", "1-1", "--", "true")
    server.ends("mine")
    kinds = [event["kind"] for event in server.cli("events", "mine", "--json").json_lines]
    assert kinds == ["job_submitted", "job_started", "job_ended"]
    shown = said(server.cli("events", "mine"), "job submitted", "mine (", "job ended", ": succeeded").out.splitlines()
    everything = server.cli("events", "--json").json_lines
    assert [event["id"] for event in everything] == sorted(event["id"] for event in everything) and len(everything) > len(shown) == 3
    assert server.cli("events", "--after", everything[-1]["id"], "--json").out == ""
    server.cli("events", "nobody").refuses("nobody")
    server.cli("events", "mine:0").refuses("expected a job, not one of its items")
    os.set_blocking(late.process.stdout.fileno(), True)
    comes = itertools.dropwhile(lambda event: event["kind"] == "queue_changed", iter(lambda: lines_of(late, 1)[0], None))
    assert [event["name"] for event in itertools.islice(comes, 3)] == ["mine"] * 3, "who follows everything sees what comes"
    late.signal(signal.SIGTERM)
    late.done()


# --- usage


def test_usage_in_hours(server):
    key = server.drover("key", "create", "--scope", "submit", "--label", "ci", "--json").json_lines[0]["token"]
    worker(server)
    submit(server, "good", "--range", "1-2", "--share", "a", "--", "sh", "-c", "while [ $(cut -d' ' -f14 /proc/$$/stat) -lt 5 ]; do :; done")
    submit(server, "bad", "--range", "1-2", "--share", "b", "--", "false", env={"DROVER_KEY": key})
    assert server.ends("good")["state"] == "succeeded" and server.ends("bad")["state"] == "failed"
    by_owner = {row["OWNER"]: row for row in rows(server.cli("usage"))}
    assert set(by_owner) == {"first", "ci", "all"} and by_owner["ci"]["FAILED"] == "2" and by_owner["all"]["JOBS"] == "2"
    assert by_owner["ci"]["WASTED"] in ("100 %", "-") and by_owner["first"]["WASTED"] == "0 %"
    assert {row["SHARE"] for row in rows(server.cli("usage", "--by", "share"))} == {"a", "b", "all"}
    assert any("good" in row["JOB"] for row in rows(server.cli("usage", "--by", "job")))
    assert [row["QUEUE"] for row in rows(server.cli("usage", "--by", "queue"))] == ["default"]
    told = server.cli("usage", "--json").json_lines[0]
    assert told["by"] == "owner" and {line["owner"] for line in told["usage"]} == {"first", "ci"}
    said(server.cli("status", "bad"), "CPU-hours", "of the reserved time, ", "of the CPU time: 2 attempts failed, 0 lost")


def test_what_a_dead_worker_had_is_wasted(server):
    """Nobody told what CPU time it used: what counts is what was asked for, for so long."""
    doomed = worker(server, name="doomed")
    submit(server, "long", "--cpus", "0.5", "--shell", "--", "sleep 60; true {}", ":::", "1")
    wait_until(lambda: server.job("long")["counts"]["running"] == 1, "the item to run")
    doomed.kill()
    said(server.cli("workers", "fence", "doomed"))
    row, = rows(server.cli("usage"))
    assert (row["LOST"], row["WASTED"], row["WASTED-CPU-H"]) == ("1", "100 %", "0") and row["WASTED-H"] == row["ASKED-H"] != "0", row
    said(server.cli("status", "long"), "100 % of the reserved time", "0 attempts failed, 1 lost")
    figures = server.ask("GET", "/metrics")[1]
    assert 'drover_attempts_total{ending="lost"} 1' in figures
    assert 'drover_wasted_cpu_seconds{queue="default"} 0' in figures
    assert float(re.search(r'drover_wasted_reserved_cpu_seconds{queue="default"} (\S+)', figures)[1]) > 0


# --- jobs, workers, items, retry, logs, sql


def test_jobs_are_chosen_by_queue_share_owner_and_state(server, gate):
    said(server.cli("queue", "set", "night"))
    worker(server)
    submit(server, "runs", "--queue", "night", "--share", "s", "--range", "1-2", "--shell", "--", f"{gate.word}; true {{}}")
    submit(server, "waits", "--memory", "900TiB", "--range", "1-2", "--", "true")
    wait_until(lambda: server.job("runs")["counts"]["running"] == 2, "both to run")
    wait_until(lambda: rows(server.cli("jobs", "--queue", "night"))[0]["RUNNING"] == "2", "the list to know")
    row, = rows(server.cli("jobs", "--queue", "night"))
    assert (row["NAME"], row["QUEUE"], row["SHARE"], row["OWNER"]) == ("runs", "night", "s", "first")
    for flags, names in ((["--share", "s"], {"runs"}), (["--queue", "default"], {"waits"}), (["--owner", "first"], {"runs", "waits"}),
                         (["--owner", "nobody"], set()), (["--state", "failed"], set())):
        assert {row["NAME"] for row in rows(server.cli("jobs", *flags))} == names, flags
    assert "--limit 2" in server.cli("jobs", "--limit", 1).err
    gate.open()
    server.ends("runs")


def test_a_worker_with_accelerators(server):
    submit(server, "train", "--gpus", 2, "--range", "1-1", "--", "true")
    worker(server, name="plain")
    wait_until(lambda: "needs 2" in server.cli("why", "train").out, "the worker to be seen")
    worker(server, "--gpus", 2, "--accelerator", "neuron=1", name="strong")
    assert server.ends("train")["state"] == "succeeded"
    listed = {row["NAME"]: row for row in rows(server.cli("workers"))}
    assert (listed["strong"]["STATE"], listed["strong"]["ACCELERATORS"], listed["plain"]["ACCELERATORS"]) == ("alive", "nvidia=2 neuron=1", "-")
    for words in (["--accelerator", "tpu=1"], ["--accelerator", "nvidia"], ["--accelerator", "amd=x"]):
        server.drover("worker", "--name", "w9", *words).refuses(words[1], "nvidia, amd and neuron")
    server.drover("worker", "--name", "w9", "--gpus", 1, "--accelerator", "nvidia=1").refuses("--gpus")


def test_a_worker_on_which_all_fails_is_set_apart_and_let_in_again(server):
    submit(server, "both", "--range", "1-5000", "--shell", "--", 'sleep 0.02; test "$MACHINE" != bad || exit 1; true {}')
    worker(server, name="good")
    worker(server, name="bad", env={"MACHINE": "bad"})
    wait_until(lambda: "quarantined" in server.cli("workers").out, "the quarantine")
    shown = said(server.cli("workers"), "worker 'bad' is quarantined", "job both", "drover workers readmit bad").out
    assert {row["NAME"]: row["STATE"] for row in rows(server.cli("workers")) if "CPUS" in row} == {"good": "alive", "bad": "quarantined"}, shown
    assert any(event["kind"] == "worker_quarantined" for event in server.cli("events", "--json").json_lines)
    said(server.cli("cancel", "both"))
    said(server.cli("workers", "readmit", "bad"), "gets items again")
    assert "quarantined" not in server.cli("workers").out
    server.cli("workers", "readmit", "nobody").refuses("nobody")


def test_items_by_what_they_took(server):
    worker(server)
    submit(server, "times", "--", "sh", "-c", "sleep $0", ":::", "0", "0.4", "0.1")
    server.ends("times")
    # On a busy machine "0" may take longer than any other.
    longest_first = [("0", "0.4", "0.1")[item] for item, in server.rows("select item from attempts order by wall_us desc")]
    assert [item["item"] for item in server.cli("items", "times", "--sort", "duration", "--json").json_lines] == longest_first
    assert [item["item"] for item in server.cli("items", "times", "--sort", "duration", "--limit", 1, "--json").json_lines] == longest_first[:1]
    shown = server.cli("items", "times", "--sort", "memory", "--limit", 2)
    assert "MEMORY" in said(shown).out.splitlines()[0] and "--limit 0" in shown.err
    table = said(server.cli("items", "times", "--tsv")).out.splitlines()
    assert table[0].startswith("index\tstate") and [line.split("\t")[-1] for line in table[1:]] == ["0", "0.4", "0.1"]
    server.cli("items", "times", "--sort", "started").refuses("--sort started")
    server.cli("items", "times", "--sort", "memory", "--state", "failed").refuses("state")


def test_a_retry_of_some(server, tmp_path):
    worker(server)
    (tmp_path / "bad").touch()
    submit(server, "some", "--workdir", tmp_path, "--", "sh", "-c", '[ ! -e bad ] || { [ "$0" != killed ] || kill -9 $$; exit "$0"; }',
           ":::", "3", "4", "killed", "4")
    server.ends("some")
    said(server.cli("retry", "some", "--exit-code", 77), "no failed items match")
    server.ends("some")
    (tmp_path / "bad").unlink()
    said(server.cli("retry", "some", "--exit-code", 4), "2 items will run again")
    assert [item["state"] for item in items_after(server, "some")] == ["failed", "succeeded", "failed", "succeeded"]
    said(server.cli("retry", "some", "--signal", 9, "--ending", "signalled"), "1 item")
    assert [item["state"] for item in items_after(server, "some")] == ["failed", "succeeded", "succeeded", "succeeded"]
    said(server.cli("retry", "some:0", "--memory", "1GiB", "--cpus", 2), "1 item")
    assert items_after(server, "some")[0]["state"] == "succeeded"
    assert server.job("some")["asks"] == {"cpus": 2.0, "memory_bytes": 1 << 30, "accelerators": {}}
    server.cli("retry", "some", "--item", 9).refuses("9")
    server.cli("retry", "some", "--memory", "lots").refuses("--memory", "lots", "4GiB")
    server.cli("retry", "some", "--signal", 9999).refuses("--signal", "9999", "64")
    server.cli("retry", "some", "--exit-code", 256).refuses("--exit-code", "255")
    server.cli("retry", "some", "--gpus", -1).refuses("--gpus", "-1")
    assert server.drover("run", "--name", "r", "--", "false", ":::", "x").status == 1
    server.drover("retry", "r", "--item", 0).refuses("--item", "--server")


def items_after(server, name):
    server.ends(name)
    return server.cli("items", name, "--json").json_lines


def test_logs_of_what_failed_and_of_what_never_began(server, gate):
    worker(server, cpus=1)
    submit(server, "mixed", "--", "sh", "-c", 'echo "saw $0"; [ "$0" != b ]', ":::", "a", "b", "c", "b")
    server.ends("mixed")
    assert said(server.cli("logs", "mixed", "--failed")).out == "1: saw b\n3: saw b\n"
    lines = server.cli("logs", "mixed", "--failed", "--json").json_lines
    assert [(line["item"], line["attempt"], line["stream"], line["text"]) for line in lines] == [(1, 1, "stdout", "saw b"), (3, 1, "stdout", "saw b")]
    server.cli("logs", "mixed:1", "--failed").refuses("--failed")
    submit(server, "typo", "--", "/no/such/program", ":::", "x")
    server.ends("typo")
    silent = said(server.cli("logs", "typo:0"))
    assert silent.out == "" and "/no/such/program" in silent.err, silent
    assert server.cli("logs", "typo:0", "--quiet").err == ""
    done = server.drover("run", "--name", "killed", "--", "sh", "-c", "kill -9 $$", ":::", "x")
    local = server.drover("logs", "killed:0")
    assert done.status == 1 and local.out == "" and "item 0 has printed nothing: " in local.err and "9" in local.err, local
    submit(server, "held", "--memory", "900TiB", "--range", "1-1", "--", "true")
    assert "drover why held:0" in server.cli("logs", "held:0").err


def test_a_question_in_sql_through_a_server(server):
    worker(server)
    submit(server, "some", "--range", "1-3", "--", "echo")
    server.ends("some")
    assert said(server.cli("sql", "select job_name, count(*) as n from items group by 1")).out == "job_name\tn\nsome\t3\n"
    assert server.cli("sql", "--json", "select item, null as x from items order by 1 limit 1").json_lines == [{"item": 0, "x": None}]
    server.cli("sql", "drop table jobs").refuses()
    server.cli("sql", "--run", "r", "select 1").refuses("--run")


# --- as wide as the terminal


@pytest.mark.parametrize("columns", [80, 160])
def test_tables_fit_the_terminal(server, terminal, columns):
    name = "a-job-whose-name-says-everything-that-there-is-to-say-about-it"
    submit(server, name, "--share", "a-share", "--range", "1-1000", "--", "true")
    said(server.cli("queue", "set", "night", "--order", "fair", *[word for i in range(12) for word in ("--weight", f"team-{i}={i + 1}")]))
    shown = terminal(columns, 50, "sh", "-c", f"for it in jobs 'queue list' 'usage --by job' workers 'status {name}'; do \"$0\" $it; done; echo the end; exec cat",
                     BINARY, env={"DROVER_SERVER": server.address})
    shown.wait_for("the end")
    lines = [line for line in shown.everything().splitlines() if line]
    assert all(len(line) < columns for line in lines if "submitted" not in line), lines
    assert ("OWNER" in lines[0]) == (columns == 160) and "RUNNING" in lines[0], lines[0]
    assert shown.screen().count("…") >= (1 if columns == 80 else 0)


# --- keys


class Eavesdropper(http.server.BaseHTTPRequestHandler):
    heard = []

    def do_GET(self):
        self.heard.append(self.headers.get("Authorization"))
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_this_machines_key_goes_to_this_machines_server_alone(server):
    Eavesdropper.heard.clear()
    with http.server.HTTPServer(("127.0.0.1", 0), Eavesdropper) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        elsewhere = f"http://127.0.0.1:{other.server_port}"
        for words in (["jobs"], ["why", "x"], ["submit", "--range", "1-2", "--", "true"], ["events"]):
            server.drover(words[0], "--server", elsewhere, *words[1:]).refuses(elsewhere, server.address, "$DROVER_KEY")
            server.drover(*words, env={"DROVER_SERVER": elsewhere}).refuses(elsewhere)
        assert Eavesdropper.heard == [], "nobody heard of it"
        server.drover("jobs", "--server", elsewhere, env={"DROVER_KEY": "a.b"})
        assert Eavesdropper.heard == ["Bearer a.b"], "a key that was given for it"
        other.shutdown()
    for same in (server.address, server.address + "/", server.address.removeprefix("http://")):
        said(server.drover("jobs", "--server", same))


# --- completion


def test_names_of_queues_definitions_and_fleets_are_completed(server, tmp_path):
    (tmp_path / "d.yaml").write_text("name: resize\ncommand: [true]\n")
    said(server.cli("definition", "register", tmp_path / "d.yaml"))
    said(server.cli("queue", "set", "night"))
    said(server.cli("fleet", "set", "spot"))

    def offered(*words):
        return [line.split("\t")[0] for line in server.cli("__complete", "--", *words).out.splitlines()[1:]]

    assert offered("queue", "show", "") == ["default", "night"] and offered("submit", "--queue", "n") == ["night"]
    assert offered("definition", "show", "") == offered("submit", "--definition", "r") == ["resize"]
    assert offered("fleet", "show", "") == ["spot"]
