"""What a new user stumbled over, line by line: limits that can be changed, hints that can be typed, messages that say what is
meant, and the verbs that were missed."""

import json
import os
import re
import signal
import socket
import time

import pytest

from drover import wait_until
from test_server import submit, worker
from test_verbs import said, server  # noqa: F401  (a fixture)


# --- wait


def test_wait_ends_with_the_run_and_has_its_exit_status(drover, gate):
    running = drover.start("run", "--name", "r", "--shell", "--", f"{gate.word}; test {{}} = a", ":::", "a", "b")
    wait_until(lambda: drover("status", "r").status == 0, "the run to begin")
    waiting = drover.start("wait", "r")
    gate.open()
    ended = waiting.done()
    assert ended.status == running.done().status == 1, ended
    assert ended.out == "run 'r' failed: 1 succeeded, 1 failed of 2 items\n"
    assert drover("run", "--name", "good", "--", "true", ":::", "a").status == 0
    told = drover("wait", "good", "r", "--json")
    assert told.status == 1 and [it["state"] for it in told.json_lines] == ["succeeded", "failed"], told
    drover("wait", "nobody").refuses("nobody")


def test_wait_gives_up_when_told_to_and_on_a_run_that_nobody_drives(drover, gate):
    running = drover.start("run", "--name", "r", "--jobs", 1, "--shell", "--", gate.word, ":::", "a", "b")
    wait_until(lambda: drover("status", "r").status == 0, "the run to begin")
    late = drover("wait", "r", "--timeout", "100ms")
    assert late.status == 124 and "--timeout" in late.err, late
    running.kill()
    stopped = drover("wait", "r")
    assert stopped.status == 1 and "drover resume r" in stopped.err, stopped


def test_wait_and_submit_wait_on_a_server(drover, server):
    worker(server)
    good = drover("submit", "--wait", "--name", "good", "--", "true", ":::", "a", "b")
    assert good.status == 0 and good.out.endswith("job 'good' succeeded: 2 succeeded, 0 failed of 2 items\n"), good
    bad = drover("submit", "--wait", "--json", "--name", "bad", "--", "false", ":::", "a")
    assert bad.status == 1 and [it["name"] for it in bad.json_lines] == ["bad", "bad"], bad
    assert bad.json_lines[-1]["state"] == "failed"
    # Without --server too: a server keeps its data here, and no run has that name.
    assert drover("wait", "good", "bad").status == 1
    server.cli("wait", "nobody").refuses("nobody")


def test_wait_outlasts_a_restart_and_a_stall_but_not_its_timeout(drover, server, gate):
    worker(server)
    waiting = drover.start("submit", "--wait", "--name", "job", "--shell", "--", f"{gate.word} {{}}", ":::", "a")
    waiting.process.stdout.readline()  # it is accepted
    server.kill()
    wait_until(lambda: waiting.says("waiting for the server"), "the wait to notice")
    server.start()
    server.running.signal(signal.SIGSTOP)
    began = time.monotonic()
    late = drover("wait", "job", "--timeout", "1s")
    assert late.status == 124 and "--timeout" in late.err and time.monotonic() - began < 15, late
    assert waiting.alive()
    server.running.signal(signal.SIGCONT)
    gate.open()
    ended = waiting.done()
    assert ended.status == 0 and ended.out.endswith("job 'job' succeeded: 1 succeeded, 0 failed of 1 item\n"), ended


# --- runs and rm


def test_runs_are_listed_with_state_age_and_size_and_can_be_removed(drover, gate):
    assert drover("runs", "--json").out == ""
    assert drover("run", "--name", "good", "--", "true", ":::", "a").status == 0
    assert drover("run", "--name", "bad", "--", "false", ":::", "a").status == 1
    running = drover.start("run", "--name", "busy", "--shell", "--", gate.word, ":::", "a", "b")
    wait_until(lambda: drover("status", "busy").status == 0, "the run to begin")
    listed = {it["name"]: it for it in drover("runs", "--json").json_lines}
    assert {name: it["state"] for name, it in listed.items()} == {"good": "succeeded", "bad": "failed", "busy": "running"}
    assert all(it["size_bytes"] > 0 and it["created_ms"] > 0 for it in listed.values())
    table = said(drover("runs"), "NAME", "STATE", "AGE", "SIZE", "good", "busy").out
    assert re.search(r"bad +failed +\d+ s +1 +0 +1 +[\d.]+ [KM]iB", table), table
    drover("rm", "busy").refuses("in use by process")
    running.kill()
    drover("rm", "busy").refuses("--force")
    said(drover("rm", "busy", "--force"), "run 'busy' removed")
    # What cannot be read may be worth something: it goes only when that is said.
    assert drover("run", "--name", "torn", "--", "true", ":::", "a").status == 0
    (drover.run_folder("torn") / "drover.db").write_bytes(b"no ledger" * 1000)
    drover("rm", "torn").refuses("'torn' cannot be read", "--force")
    said(drover("rm", "torn", "--force"), "run 'torn' removed")
    removed = drover("rm", "good", "nobody", "bad", "--json")
    assert removed.status == 2 and [it["name"] for it in removed.json_lines] == ["good", "bad"], removed
    assert drover.runs() == []


def test_an_ended_job_is_removed_from_a_server(drover, server, gate):
    worker(server)
    job = submit(server, "done", "--", "echo", ":::", "a", "b")
    server.ends("done")
    running = submit(server, "busy", "--shell", "--", gate.word, ":::", "a")
    server.cli("rm", "busy").refuses("has not ended")
    assert server.cli("rm", "done", "--json").json_lines == [{"id": job["id"], "name": "done", "removed": True}]
    server.cli("status", "done").refuses("done")
    server.cli("rm", job["id"]).refuses()
    wait_until(lambda: server.rows(f"select count(*) from attempt_rows where job = 1") == [(0,)], "its rows to be deleted")
    assert [it["name"] for it in server.cli("jobs", "--json").json_lines[0]["jobs"]] == ["busy"], running


# --- what items print


def test_run_print_prints_outputs_in_one_piece_and_in_order(drover):
    items = ["0.3", "0.2", "0.1"]
    command = ("--shell", "--", "echo {} begins; echo {} on stderr >&2; sleep {}; echo {} ends", ":::", *items)
    ended = drover("run", "--jobs", 3, "--print", "--keep-order", *command)
    assert ended.status == 0, ended
    assert ended.out == "".join(f"{i} begins\n{i} ends\n" for i in items)
    for i in items:
        assert f"{i} on stderr\n" in ended.err
    assert "succeeded: 3 succeeded" in ended.err, "the summary is not among the output"
    any_order = drover("run", "--jobs", 3, "--print", "--quiet", *command)
    pieces = re.findall(r"(0\.\d) begins\n\1 ends\n", any_order.out)
    assert sorted(pieces, reverse=True) == items and len(any_order.out) == len(ended.out), any_order
    drover("run", "--keep-order", "--", "true", ":::", "a").refuses("--keep-order requires --print")
    drover("run", "--print", "--json", "--", "true", ":::", "a").refuses("cannot be combined")


def test_run_print_prints_the_last_attempt_alone_and_what_a_resume_adds(drover, tmp_path):
    ended = drover("run", "--name", "r", "--print", "--retries", 2, "--shell", "--",
                   f"echo try >> {tmp_path}/tries; n=$(wc -l < {tmp_path}/tries); echo try $n; test $n = 3 # {{}}", ":::", "a")
    assert (ended.status, ended.out) == (0, "try 3\n"), ended
    line = ("run", "--name", "s", "--jobs", 1, "--print", "--keep-order", "--max-failures", 0, "--shell", "--",
            f"echo {{}}; test {{}} != b -o -e {tmp_path}/go", ":::", "a", "b", "c")
    assert drover(*line).out == "a\nb\n"
    (tmp_path / "go").touch()
    again = drover("retry", "s", "--print", "--keep-order")
    assert (again.status, again.out) == (0, "b\nc\n"), again


def test_logs_raw_is_what_was_printed_and_nothing_else(drover, tmp_path):
    blob = bytes(range(256)) * 3
    (tmp_path / "blob").write_bytes(blob)
    assert drover("run", "--name", "r", "--shell", "--retries", 1, "--",
                  f"echo noise >&2; test {{}} = a && cat blob || {{ echo $DROVER_ATTEMPT; false; }}", ":::", "a", "b").status == 1
    one = drover("logs", "r:0", "--raw")
    assert (one.status, one.raw_out, one.err) == (0, blob, "noise\n"), one
    assert drover("logs", "r", "--raw").raw_out == blob + b"2\n"
    assert drover("logs", "r:1", "--raw", "--attempt", 1).raw_out == b"1\n"
    drover("logs", "r:1", "--raw", "--attempt", 9).refuses("no attempt 9")
    drover("logs", "r:7", "--raw").refuses("no item 7")
    drover("logs", "r", "--raw", "--json").refuses("--raw")


# --- limits that can be changed


def test_limits_can_be_changed_for_what_failed(drover):
    hog = "python3 -c 'b = bytearray(64 << 20); print(len(b))' {}"
    line = ("run", "--name", "r", "--memory", "24MiB", "--shell", "--", hog, ":::", "a")
    assert drover(*line).status == 1
    again = drover("run", "--name", "r", "--memory", "1GiB", *line[5:])
    assert again.status == 1 and "limit per item:" not in again.err, "it is not announced where nothing runs"
    assert "drover retry r --memory" in again.err, again
    ended = drover("retry", "r", "--memory", "1GiB")
    assert ended.status == 0 and "1.0 GiB of memory" in ended.err, ended
    assert drover("run", "--name", "slow", "--timeout", "50ms", "--shell", "--", "sleep 0.3 # {}", ":::", "a").status == 1
    assert drover("retry", "slow").status == 1, "the limit stays"
    assert drover("retry", "slow", "--timeout", "1m").status == 0


def test_a_resume_goes_on_with_the_folder_and_the_number_at_a_time(drover, gate, tmp_path):
    gate.open()
    assert drover("run", "--name", "r", "--jobs", 3, "--out", tmp_path / "out", "--max-failures", 0, "--shell", "--",
                  f"echo {{}}; test -e {tmp_path}/go && {gate.word}", ":::", *map(str, range(60))).status == 1
    (tmp_path / "go").touch()
    before = set(os.listdir(tmp_path / "out"))
    gate.close()
    running = drover.start("retry", "r")
    wait_until(lambda: drover.status("r")["counts"]["running"] == 3, "three items at a time")
    gate.open()
    assert running.done().status == 0
    after = set(os.listdir(tmp_path / "out"))
    assert after == {f"{i}.{end}" for i in range(60) for end in ("out", "err")} and after > before
    assert (tmp_path / "out" / "5.out").read_text() == "5\n"


# --- while a run starts


def test_status_of_a_run_that_is_starting_never_speaks_of_a_foreign_database(drover):
    seen = set()
    for i in range(12):
        running = drover.start("run", "--name", f"r{i}", "--", "true", ":::", "a")
        while not drover.run_folder(f"r{i}").exists():
            time.sleep(0.0005)
        while running.alive():
            shown = drover("status", f"r{i}")
            seen.add(shown.err)
            assert "not a Drover ledger" not in shown.err, shown
            assert shown.status == 0 or "not found" in shown.err or "reading its list" in shown.err, shown
        assert running.done().status == 0
    assert seen


def test_an_empty_database_is_called_empty(drover):
    drover.run_folder("r").mkdir(parents=True)
    drover.database("r").touch()
    shown = drover("status", "r")
    assert shown.status == 2 and "no data has been recorded" in shown.err and "not a Drover ledger" not in shown.err, shown


def test_three_starts_of_one_name_do_not_speak_of_a_killed_run(drover, gate):
    for i in range(5):
        started = [drover.start("run", "--name", f"r{i}", "--shell", "--", gate.word, ":::", "a") for _ in range(3)]
        wait_until(lambda: sum(it.alive() for it in started) == 1, "two of them to be refused")
        gate.open()
        ended = [it.done() for it in started]
        gate.close()
        assert sorted(it.status for it in ended) == [0, 2, 2], ended
        assert not any("killed" in it.err for it in ended), ended
        assert sum("is in use by process" in it.err for it in ended) == 2, ended


# --- hints


def test_the_hints_of_a_run_can_be_typed_while_drover_server_is_set(drover):
    env = {"DROVER_SERVER": "http://127.0.0.1:1"}
    ended = drover("run", "--name", "r", "--shell", "--", "echo out; false # {}", ":::", "a", env=env)
    hints = re.findall(r"(?:see it|see one|with): drover (.+)$", ended.out, re.M)
    assert len(hints) == 3, ended
    for hint in hints:
        done = drover(*hint.split(), env=env)
        assert done.status == (1 if hint.startswith("retry") else 0), (hint, done)
    shown = drover("status", "r", "--local", env=env)
    assert "drover items r --state failed --local" in shown.out, shown
    assert drover("items", "r", "--state", "failed", "--local", env=env).status == 0
    assert "--local" not in drover("status", "r").out


def test_verbs_do_not_advise_a_flag_that_they_lack(drover, server):
    for verb in ("report", "resume"):
        assert "--server" not in drover(verb, "nobody").refuses("nobody").err
    # A server keeps its data here: what is not a run may be a job.
    assert "drover jobs" in drover("status", "nobody").refuses("job 'nobody' not found").err
    assert "drover jobs" not in drover("status", "nobody", "--local").refuses("run 'nobody' not found").err


def test_suggestions_are_near_or_not_made(drover):
    assert "did you mean" not in drover("status", "-k").refuses("-k").err
    refused = drover("run", "--queue", "fast", "--", "true", ":::", "a").refuses("--queue")
    assert "did you mean" not in refused.err and "'drover submit'" in refused.err, refused
    drover("run", "--itmes", "x", "--", "true").refuses("did you mean '--items'?")


# --- input


def test_an_empty_list_is_warned_of_unless_that_is_allowed(drover, tmp_path):
    (tmp_path / "empty").write_text("\n\n")
    warned = drover("run", "--items", "empty", "--", "true")
    assert warned.status == 0 and "has no items" in warned.err, warned
    assert "has no items" not in drover("run", "--items", "empty", "--allow-empty", "--", "true").err
    assert "has no items" not in drover("run", "--quiet", "--items", "empty", "--", "true").err


@pytest.mark.parametrize("word", ["{1}", "{2.}", "out/{1}.txt", "{%}", "{1/}", "--in={1}"])
def test_unknown_placeholders_are_refused(drover, word):
    drover("run", "--", "echo", word, ":::", "a").refuses("unknown placeholder", "{/.}")


def test_braces_that_are_no_placeholders_stay(drover):
    words = ("{print}", "[0-9]{4}", "a{2}", "${HOME}", "{a,b}", "{}")
    assert drover("run", "--print", "--quiet", "--", "echo", *words, ":::", "x").out == " ".join(words[:-1]) + " x\n"


def test_lists_with_windows_line_ends_are_recognised(drover, tmp_path):
    (tmp_path / "list").write_bytes(b"one\r\ntwo\r\n\r\nthree")
    assert drover("run", "--print", "--quiet", "--keep-order", "--items", "list", "--", "printf", "[%s]", "{}").out == "[one][two][three]"
    (tmp_path / "mixed").write_bytes(b"one\ntwo\r\n")
    out = drover("run", "--print", "--quiet", "--keep-order", "--items", "mixed", "--", "printf", "[%s]", "{}").raw_out
    assert out == b"[one][two\r]", "a carriage return in a list with other line ends is part of its item"


def test_a_relative_mount_source_is_a_path(drover, tmp_path):
    (tmp_path / "data" / "in").mkdir(parents=True)
    for source in ("data", "./data", "data/in", "../" + tmp_path.name + "/data"):
        shown = drover("submit", "--dry-run", "--json", "--image", "busybox", "--mount", f"{source}:/in:ro", "--range", "1-2", "--", "true")
        assert shown.status == 0, shown
        mount, = shown.json_lines[0]["job"]["mounts"]
        expected = os.path.normpath(tmp_path / source)
        assert mount == f"{expected}:/in:ro"
    volume = drover("submit", "--dry-run", "--json", "--image", "busybox", "--mount", "cache:/in", "--range", "1-2", "--", "true")
    assert str(tmp_path) not in json.dumps(volume.json_lines[0]["job"]["mounts"]), "a name that nothing here has is a volume's"


def test_a_comma_in_retry_on_means_or(drover, tmp_path):
    for code in (75, 3):
        (tmp_path / "tries").write_text("")
        ended = drover("run", "--retries", 1, "--retry-on", "exit:75,exit:3", "--shell", "--",
                       f"echo >> {tmp_path}/tries; exit {code} # {{}}", ":::", "a")
        assert ended.status == 1 and (tmp_path / "tries").read_text() == "\n\n", (code, ended)
    drover("run", "--retries", 1, "--retry-on", "exit:75,whim:3", "--", "true", ":::", "a").refuses("whim")


def test_max_failures_stops_at_once(drover):
    ended = drover.run("--jobs", 1, "--max-failures", 5, "--range", "1-1000", "--", "false")
    assert ended.status == 1 and ended.summary["counts"]["failed"] == 6, ended.summary
    ended = drover.run("--jobs", 4, "--max-failures", 5, "--range", "1-1000", "--", "false")
    assert 6 <= ended.summary["counts"]["failed"] <= 9, ended.summary


# --- what is shown


def test_status_and_items_show_command_worker_and_elapsed_time(drover, server, gate):
    worker(server)
    submit(server, "job", "--shell", "--", f"{gate.word}; true {{}}", ":::", "a")
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "it to run")
    said(server.cli("status", "job"), "command ", gate.word)
    rows = said(server.cli("items", "job"), "WORKER").out.splitlines()
    assert re.search(r"0 +running .* w1 ", rows[1]), rows
    assert re.search(r" \d+(\.\d+)? (ms|s) ", rows[1]), rows
    local = drover.start("run", "--name", "r", "--shell", "--", f"{gate.word}; true {{}}", ":::", "a")
    wait_until(lambda: "running" in drover("items", "r").out, "it to run")
    said(drover("status", "r"), "command ", gate.word)
    assert re.search(r"0 +running .* \d+(\.\d+)? (ms|s) ", drover("items", "r").out), drover("items", "r")
    gate.open()
    assert local.done().status == 0
    server.ends("job")
    assert " w1 " in server.cli("items", "job").out


def test_items_that_workers_have_are_counted_before_they_are_named(server, gate):
    submit(server, "job", "--shell", "--", f"{gate.word}; true {{}}", ":::", "a", "b")
    worker(server)
    wait_until(lambda: server.job("job")["leased"] == 2, "the worker to take them")
    assert re.search(r"ASSIGNED", server.cli("jobs").out), server.cli("jobs")
    said(server.cli("status", "job"), "2 assigned to workers")
    why = said(server.cli("why", "job")).out
    assert "assigned to workers" in why or "running on worker" in why, why
    gate.open()


def test_an_item_out_of_memory_is_called_so_on_a_server_too(drover, server):
    worker(server)
    submit(server, "hog", "--memory", "24MiB", "--shell", "--", "python3 -c 'bytearray(64 << 20)' # {}", ":::", "a")
    server.ends("hog")
    table = said(server.cli("items", "hog")).out
    assert "out_of_memory" in table and "SIG" not in table, table
    said(server.cli("items", "hog:0"), "out of memory")


def test_a_lost_attempt_is_called_lost_once(server, gate):
    first = worker(server)
    submit(server, "job", "--shell", "--", f"{gate.word}; true {{}}", ":::", "a")
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "it to run")
    first.kill()
    worker(server)
    gate.open()
    server.ends("job")
    shown = said(server.cli("items", "job:0"), "attempt 1: lost").out
    assert "lost, lost" not in shown, shown


# --- servers


def test_a_dead_server_is_named_at_once(drover):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    asking = drover.start("jobs", "--server", address, env={"DROVER_KEY": "drover-x-y"})
    wait_until(lambda: asking.says(address.removeprefix("http://")), "the address to be named", 20)
    asking.kill()


def test_https_against_a_plain_server_says_so(server):
    address = server.address.replace("http://", "https://")
    refused = server.drover("jobs", "--server", address, env={"DROVER_KEY": server.key})
    assert refused.status == 2 and "http://" in refused.err and "TLS" in refused.err, refused
    for word in ("SSL", "error:", "routines"):
        assert word not in refused.err, refused


def test_a_worker_that_left_cannot_be_readmitted(server):
    one = worker(server)
    one.signal(signal.SIGTERM)
    assert one.done().status == 0
    wait_until(lambda: "left" in server.cli("workers").out, "it to leave")
    server.cli("workers", "readmit", "w1").refuses("w1", "left")


def test_a_workers_version_is_known_after_a_restart_of_the_server(server):
    worker(server)

    def versions():
        return [it["version"] for it in server.cli("workers", "--json").json_lines[0]["workers"]]

    before = versions()
    assert before != [None] and before != [""]
    server.kill()
    server.start()
    wait_until(lambda: "alive" in server.cli("workers").out, "the worker to come back")
    assert versions() == before


def test_the_log_of_an_attempt_that_never_was_is_refused_by_a_server(server, gate):
    worker(server)
    submit(server, "job", "--", "echo", ":::", "a")
    server.ends("job")
    server.cli("logs", "job:0", "--attempt", 9).refuses("no attempt 9")
    said(server.cli("logs", "job:0", "--attempt", 1), "a")
    submit(server, "runs", "--shell", "--", f"echo {{}}; {gate.word}", ":::", "a")
    wait_until(lambda: server.job("runs")["counts"]["running"] == 1, "the item to run")
    server.cli("logs", "runs:0", "--attempt", 9).refuses("no attempt 9")
    wait_until(lambda: server.cli("logs", "runs:0", "--attempt", 1).out == "a\n", "what it printed")
    gate.open()


def test_every_refusal_of_the_api_has_a_request_id(server):
    connection = server.connection()
    for method, path in (("DELETE", "/api/v1/queues"), ("PUT", "/api/v1/jobs"), ("POST", "/api/v1/manifests?separator=x")):
        connection.request(method, path, headers={"Authorization": f"Bearer {server.key}"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status in (400, 405) and body["request_id"] == answer.headers["X-Request-Id"], body


def test_one_item_waits_in_the_singular(server):
    worker(server)
    submit(server, "first", "--", "false", ":::", "a")
    submit(server, "second", "--after-each", "first", "--", "true", ":::", "a")
    server.ends("second")
    said(server.cli("status", "second"), "1 item waits for items of job first")


def test_what_the_page_says_of_retry_is_what_retry_does(drover):
    with open(os.path.join(os.path.dirname(__file__), "../docs/cli.md")) as file:
        page = " ".join(file.read().split())
    assert "`--memory`, `--timeout`" in page
    for flag in ("--memory", "--timeout", "--retries"):
        assert flag in drover("retry", "--help").out
