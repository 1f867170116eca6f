"""drover run and the verbs around it, as a user meets them."""

import base64
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import NOBODY
from drover import BINARY, ITEM_STATES, SOAK, wait_until

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def counts(**given):
    return {state: given.get(state, 0) for state in ITEM_STATES}


def endings(drover, name):
    """How each attempt ended, in order."""
    return drover.rows(name, "SELECT item, attempt, state, ending, exit_code, signal FROM attempts ORDER BY item, attempt")


def running_items(drover, name):
    shown = drover("status", name, "--json")
    return [one["item"] for one in shown.json_lines[-1]["running"]] if shown.status == 0 else []


def wait_for_running(drover, name, number):
    wait_until(lambda: len(running_items(drover, name)) == number, f"{number} items to run")


# --- what a run says and returns


def test_all_succeeded_is_status_0_with_a_summary(drover):
    ended = drover("run", "--name", "r", "--", "echo", "{}", ":::", "a", "b", "c")
    assert ended.status == 0, ended
    assert "'r'" in ended.out and "3 succeeded" in ended.out and "0 failed" in ended.out
    for word in ("wall", "CPU", "p50", "p95", "max", "duration", "memory"):
        assert word in ended.out, word


def test_some_failed_is_status_1_and_failures_are_grouped_with_an_example(drover):
    ended = drover("run", "--name", "r", "--jobs", 1, "--", "sh", "-c",
                   'case $1 in k) kill -9 $$;; *) exit $1;; esac', "sh", ":::", 0, 3, 3, 5, "k", 3)
    assert ended.status == 1, ended
    assert "1 succeeded" in ended.out and "5 failed" in ended.out
    assert re.search(r"3\s+exit code 3", ended.out) and re.search(r"1\s+exit code 5", ended.out), ended
    assert re.search(r"1\s+signal 9 \(SIGKILL\)", ended.out), ended
    assert "drover logs r:1" in ended.out and "drover logs r:3" in ended.out and "drover logs r:4" in ended.out
    assert "drover retry r" in ended.out


def test_the_last_line_of_json_is_the_summary(drover):
    ended = drover.run("--name", "r", "--jobs", 1, "--", "sh", "-c", "exit $1", "sh", ":::", 0, 0, 7)
    assert ended.status == 1, ended
    summary = ended.summary
    assert re.fullmatch(UUID, summary["id"])
    assert (summary["name"], summary["state"], summary["total"]) == ("r", "failed", 3)
    assert summary["counts"] == counts(succeeded=2, failed=1)
    assert 0 < summary["seconds"] < 60
    assert [(group["what"], group["items"], group["example_item"]) for group in summary["failures"]] == [("exit code 7", 1, 2)]
    assert [line["event"] for line in ended.json_lines][0] == "started"


def test_quiet_prints_nothing_but_errors(drover):
    ended = drover("run", "--quiet", "--", "sh", "-c", "echo noise; exit 1", ":::", "a")
    assert (ended.status, ended.out, ended.err) == (1, "", "")
    assert drover("run", "--quiet", "--", "/no/such/program", ":::", "a").err != ""


def test_quiet_json_is_the_summary_still(drover):
    assert drover.run("--quiet", "--", "true", ":::", "a").summary["counts"]["succeeded"] == 1


@pytest.mark.parametrize("redirection", ["| true", "2>&1 | true", "> /dev/full 2>&1", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_goes_on_when_nobody_listens(drover, gate, redirection):
    words = shlex.join([BINARY, "run", "--name", "r", "--range", "1-50", "--", "sh", "-c", gate.word])
    listening = subprocess.Popen(["bash", "-c", f"{words} {redirection}; exit ${{PIPESTATUS[0]}}"], env=drover.environment(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: listening.poll() is not None or running_items(drover, "r"), "the run to be under way")
    gate.open()
    assert listening.wait(60) == 0
    drover.check_all_succeeded("r", 50)


def test_every_verb_has_help_with_an_example(drover):
    for verb in ("run", "resume", "retry", "status", "items", "cancel", "sql", "version"):
        shown = drover(verb, "--help")
        assert shown.status == 0 and "xample" in shown.out and f"drover {verb}" in shown.out, shown
        assert "--json" in shown.out and "--data" in shown.out, shown
    assert drover("--help").status == 0


def test_version_names_version_commit_schema_and_build(drover):
    shown = drover("version")
    assert shown.status == 0, shown
    for word in ("drover", "commit", "schema", "build"):
        assert word in shown.out
    assert set(drover("version", "--json").json_lines[-1]) >= {"version", "commit", "schema", "build"}


# --- retries


def fail_until(attempt):
    return ("sh", "-c", f"test $DROVER_ATTEMPT -ge {attempt} || exit 3")


def test_an_item_that_fails_once_succeeds_with_one_retry(drover):
    ended = drover.run("--name", "r", "--retries", 1, "--", *fail_until(2), ":::", "a", "b")
    assert ended.status == 0, ended
    assert endings(drover, "r") == [
        (0, 1, "failed", "exited", 3, None), (0, 2, "succeeded", "exited", 0, None),
        (1, 1, "failed", "exited", 3, None), (1, 2, "succeeded", "exited", 0, None)]
    drover.check_all_succeeded("r", 2)


def test_retries_run_out(drover):
    ended = drover.run("--name", "r", "--retries", 2, "--", *fail_until(4), ":::", "a")
    assert ended.status == 1, ended
    assert [row[1:3] for row in endings(drover, "r")] == [(1, "failed"), (2, "failed"), (3, "failed")]
    assert drover.rows("r", "SELECT item, attempt, state FROM items") == [(0, 3, "failed")]
    drover.check_ledger("r")


@pytest.mark.parametrize("rule, line, attempts", [
    ("exit:75", "exit 75", 3), ("exit:75", "exit 74", 1), ("exit:7*", "exit 75", 3), ("signal:9", "kill -9 $$", 3),
    ("signal:9", "kill -15 $$", 1), ("signal:15", "kill -15 $$", 3), ("exit:75", "kill -9 $$", 1),
    ("signal:9", "exit 9", 1)])
def test_retry_on_retries_what_it_names_and_nothing_else(drover, rule, line, attempts):
    ended = drover.run("--name", "r", "--retries", 2, "--retry-on", rule, "--", "sh", "-c", line, ":::", "a")
    assert ended.status == 1, ended
    assert drover.rows("r", "SELECT count(*) FROM attempts") == [(attempts,)]


def test_retry_on_may_be_repeated(drover):
    ended = drover.run("--name", "r", "--retries", 1, "--retry-on", "exit:3", "--retry-on", "exit:5", "--", "sh", "-c",
                       "exit $1", "sh", ":::", 3, 4, 5)
    assert ended.status == 1, ended
    assert drover.rows("r", "SELECT item, max(attempt) FROM attempts GROUP BY item") == [(0, 2), (1, 1), (2, 2)]


def test_a_retry_waits_for_its_delay(drover):
    ended = drover.run("--name", "r", "--retries", 1, "--retry-delay", "700ms", "--", *fail_until(2), ":::", "a")
    assert ended.status == 0, ended
    (first_ended,), (second_started,) = (drover.rows("r", "SELECT ended_ms FROM attempts WHERE attempt = 1") +
                                         drover.rows("r", "SELECT started_ms FROM attempts WHERE attempt = 2"))
    assert second_started - first_ended >= 690


def test_an_item_that_could_not_start_is_retried_like_any_failure(drover):
    ended = drover.run("--name", "r", "--retries", 1, "--", "{}", ":::", "/no/such/program")
    assert ended.status == 1, ended
    assert [row[1:4] for row in endings(drover, "r")] == [(1, "failed", "not_started"), (2, "failed", "not_started")]


# --- timeouts


def test_a_timeout_ends_an_attempt_and_is_not_retried(drover):
    ended = drover.run("--name", "r", "--timeout", "3s", "--retries", 3, "--", "sleep", ":::", "1000", "0")
    assert ended.status == 1, ended
    rows = endings(drover, "r")
    assert [row[:4] for row in rows] == [(0, 1, "failed", "timed_out"), (1, 1, "succeeded", "exited")]
    assert rows[0][4] is None, "an exit code belongs to what exited"
    assert [group["what"] for group in ended.summary["failures"]] == ["timed out"]


def test_a_program_that_ignores_the_polite_signal_is_killed_after_the_grace(drover, script, tmp_path):
    stubborn = script("stubborn", f"trap 'echo term >> {tmp_path}/heard' TERM\nwhile :; do sleep 0.05; done")
    ended = drover.run("--name", "r", "--timeout", "3s", "--grace", "400ms", "--", stubborn, ":::", "a")
    assert ended.status == 1, ended
    assert (tmp_path / "heard").read_text() == "term\n"
    assert endings(drover, "r")[0][2:4] == ("failed", "timed_out")
    (wall_us,), = drover.rows("r", "SELECT wall_us FROM items")
    assert 3_350_000 <= wall_us < 60_000_000


def test_items_keep_their_order_behind_a_long_one(drover, tmp_path):
    started = tmp_path / "started"
    drover.run("--name", "r", "--jobs", 1, "--range", "1-200", "--", "sh", "-c", f'echo $1 >> {started}; [ $1 != 50 ] || sleep 0.3', "sh")
    assert [int(line) for line in started.read_text().split()] == list(range(1, 201))


def test_a_timeout_counts_from_the_start_of_the_item(drover):
    """Many slots on few processors: the last to begin has its whole time too."""
    drover("run", "--name", "r", "--quiet", "--jobs", 128, "--timeout", "500ms", "--range", "1-128", "--", "sh", "-c", "sleep 0.4")
    early = drover("sql", "--run", "r", "--json", "SELECT count(*) AS early FROM attempts WHERE state = 'failed' AND wall_us < 500000")
    assert early.json_lines == [{"early": 0}], early


def test_a_timeout_takes_descendants_that_escaped_with_it(drover, script):
    """Nothing may be left when the test ends: the fixture looks."""
    item = script("item", "trap '' TERM; setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000 & while :; do sleep 1; done")
    ended = drover.run("--timeout", "300ms", "--grace", "200ms", "--", item, ":::", "a", "b")
    assert ended.status == 1, ended
    wait_until(lambda: not drover.left_over(), "every descendant to be gone", 30)


def test_a_program_that_ends_well_on_the_polite_signal_has_timed_out_still(drover):
    ended = drover.run("--name", "r", "--timeout", "300ms", "--", "sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done",
                       ":::", "a")
    assert ended.status == 1, ended
    assert endings(drover, "r")[0][2:4] == ("failed", "timed_out")


def test_endings_are_told_apart(drover):
    ended = drover("run", "--name", "r", "--timeout", "3s", "--jobs", 1, "--", "sh", "-c", 'eval "$1"', "sh", ":::",
                   "exit 0", "exit 3", "kill -9 $$", "kill -SEGV $$", "exec sleep 1000", "exit 255")
    assert ended.status == 1, ended
    shown = drover("sql", "--run", "r", "--json", "SELECT item, state, ending, exit_code, signal FROM items ORDER BY item")
    assert shown.status == 0, shown
    told = [(row["state"], row["ending"], row["exit_code"], row["signal"]) for row in shown.json_lines]
    assert told[:4] == [("succeeded", "exited", 0, None), ("failed", "exited", 3, None), ("failed", "signalled", None, 9),
                        ("failed", "signalled", None, 11)]
    assert told[4][:3] == ("failed", "timed_out", None)
    assert told[5] == ("failed", "exited", 255, None)


# --- stopping early


def test_more_failures_than_allowed_stop_a_run_early(drover):
    line = ("--name", "r", "--jobs", 1, "--max-failures", 2, "--", "sh", "-c", 'test "$1" -gt 5 || test -e go', "sh", ":::",
            *range(1, 101))
    ended = drover.run(*line)
    assert ended.status == 1, ended
    summary = ended.summary
    assert summary["state"] == "failed" and "3" in summary["reason"] and "2" in summary["reason"], summary
    assert 3 <= summary["counts"]["failed"] <= 5  # those behind the third may have been on their way
    assert summary["counts"]["cancelled"] > 50
    assert sum(summary["counts"].values()) == 100
    drover.check_ledger("r")

    # What was left goes on; what failed for good stays so until it is retried.
    resumed = drover("resume", "r", "--json")
    assert resumed.status == 1, resumed
    assert resumed.summary["counts"] == counts(succeeded=95, failed=5)
    (drover.folder / "go").touch()
    assert drover("retry", "r").status == 0
    drover.check_all_succeeded("r", 100)


def test_exactly_as_many_failures_as_allowed_do_not_stop_a_run(drover):
    ended = drover.run("--jobs", 1, "--max-failures", 2, "--", "sh", "-c", 'test "$1" -gt 2', "sh", ":::", *range(1, 31))
    assert ended.status == 1, ended
    assert ended.summary["counts"] == counts(succeeded=28, failed=2)


def test_a_share_of_failures_stops_a_run_early(drover):
    ended = drover.run("--jobs", 1, "--max-failures", "10%", "--range", "1-100", "--", "sh", "-c", "exec false")
    assert ended.status == 1, ended
    assert 11 <= ended.summary["counts"]["failed"] < 40, ended
    assert ended.summary["counts"]["cancelled"] == 100 - ended.summary["counts"]["failed"]
    assert drover.run("--max-failures", "50%", "--jobs", 1, "--", "sh", "-c", "exit $1", "sh", ":::", 0, 1, 0,
                      1).summary["counts"] == counts(succeeded=2, failed=2)


def test_the_allowance_begins_anew_when_a_run_is_resumed(drover):
    line = ("--name", "r", "--jobs", 1, "--max-failures", 1, "--range", "1-40", "--", "sh", "-c", "exec false")
    assert drover.run(*line).status == 1
    failed = drover.status("r")["counts"]["failed"]
    resumed = drover("resume", "r", "--json")
    assert resumed.status == 1, resumed
    assert failed + 2 <= resumed.summary["counts"]["failed"] < 40
    drover.check_ledger("r")


def test_very_many_items_that_all_fail_end_in_a_sensible_summary(drover):
    total = 20_000 if SOAK else 2_000
    ended = drover("run", "--name", "r", "--range", f"1-{total}", "--", "sh", "-c", "exit $(($1 % 3 + 1))", "sh", seconds=300)
    assert ended.status == 1, ended
    assert len(ended.out.splitlines()) < 30, ended
    assert "0 succeeded" in ended.out and f"{total:,} failed" in ended.out
    for code in (1, 2, 3):
        group = re.search(rf"([\d,]+)\s+exit code {code}\b", ended.out)
        assert group and abs(int(group.group(1).replace(",", "")) - total / 3) < 2, ended
    assert drover.rows("r", "SELECT count(*), count(DISTINCT item), sum(state = 'failed') FROM items") == [(total, total, total)]
    drover.check_ledger("r")


# --- names, going on, starting over


def test_the_same_line_again_does_nothing_when_everything_is_done(drover, seen):
    line = ("--name", "r", "--", seen.program, ":::", "a", "b")
    first = drover.run(*line)
    again = drover.run(*line)
    assert (first.status, again.status) == (0, 0)
    assert again.summary["id"] == first.summary["id"]
    assert drover.rows("r", "SELECT count(*) FROM attempts") == [(2,)]


def test_the_same_line_again_leaves_failed_items_alone(drover):
    line = ("--name", "r", "--", "sh", "-c", "exit $1", "sh", ":::", 0, 1)
    assert drover.run(*line).status == 1
    again = drover.run(*line)
    assert again.status == 1 and again.summary["counts"] == counts(succeeded=1, failed=1), again
    assert drover("resume", "r").status == 1
    assert drover.rows("r", "SELECT count(*) FROM attempts") == [(2,)]


def test_policy_may_change_between_two_runs_of_the_same_line(drover):
    line = ("--", "sh", "-c", 'test "$1" != 1 || test -e go', "sh", ":::", 1, 2, 3)
    assert drover.run("--name", "r", "--jobs", 1, "--max-failures", 0, *line).status == 1
    (drover.folder / "go").touch()
    again = drover.run("--name", "r", "--jobs", 2, "--retries", 5, "--timeout", "10m", *line)
    assert again.summary["counts"] == counts(succeeded=2, failed=1), again
    assert drover("retry", "r").status == 0
    drover.check_all_succeeded("r", 3)


@pytest.mark.parametrize("changed, names", [
    (("--", "echo", "other", ":::", "a", "b"), ("command", "echo {}")),
    (("--shell", "--", "echo", "{}", ":::", "a", "b"), ("command", "echo {}")),
    (("--", "echo", "{}", ":::", "a", "c"), ("item 1", "'b'", "'c'")),
    (("--", "echo", "{}", ":::", "a"), ("2 items", "1")),
    (("--", "echo", "{}", ":::", "a", "b", "c"), ("2 items", "3")),
    (("--workdir", "/", "--", "echo", "{}", ":::", "a", "b"), ("it ran in",)),
    (("--env", "X=1", "--", "echo", "{}", ":::", "a", "b"), ("--env",)),
    (("--range", "1-2", "--", "echo", "{}"), ("item 0", "'a'", "'1'")),
], ids=["command", "shell", "an item", "fewer items", "more items", "workdir", "environment", "a range"])
def test_a_name_whose_line_changed_says_what_changed_and_what_to_do(drover, changed, names):
    assert drover("run", "--name", "r", "--", "echo", "{}", ":::", "a", "b").status == 0
    before = drover.rows("r", "SELECT * FROM attempts")
    refused = drover("run", "--name", "r", *changed).refuses("'r'", *names)
    for way in ("drover resume r", "--fresh", "--name"):
        assert way in refused.err, refused
    assert drover.rows("r", "SELECT * FROM attempts") == before


def test_fresh_starts_over(drover):
    first = drover.run("--name", "r", "--", "false", ":::", "a", "b")
    again = drover.run("--name", "r", "--fresh", "--", "true", ":::", "c")
    assert again.status == 0, again
    assert again.summary["id"] != first.summary["id"]
    drover.check_all_succeeded("r", 1)
    assert os.listdir(drover.data / "runs") == ["r"]


def test_fresh_of_a_name_that_is_new_is_a_run(drover):
    assert drover("run", "--name", "r", "--fresh", "--", "true", ":::", "a").status == 0


def test_an_unnamed_run_gets_a_name_and_prints_it(drover, script):
    program = script("my prog!.sh", "exit 0")
    ended = drover("run", "--", program, ":::", "a")
    assert ended.status == 0, ended
    name, = drover.runs()
    assert f"'{name}'" in ended.err and f"'{name}'" in ended.out
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name) and "my" in name
    assert re.search(r"\d{8}", name), "the time is in it"
    assert drover("status", name).status == 0


def test_two_unnamed_runs_of_the_same_second_have_two_names(drover):
    for _ in range(4):
        assert drover("run", "--", "true", ":::", "a").status == 0
    assert len(drover.runs()) == 4


def test_two_unnamed_runs_started_at_once_have_two_names(drover):
    started = [drover.start("run", "--", "true", ":::", "a") for _ in range(6)]
    assert [one.done().status for one in started] == [0] * 6
    assert len(drover.runs()) == 6


def test_runs_live_side_by_side(drover, gate):
    first = drover.start("run", "--name", "first", "--", "sh", "-c", gate.word, ":::", "a")
    wait_for_running(drover, "first", 1)
    assert drover("run", "--name", "second", "--", "true", ":::", "a").status == 0
    assert first.alive()
    gate.open()
    assert first.done().status == 0


def test_a_reference_is_a_name_an_id_a_prefix_or_nothing_for_the_newest(drover):
    ids = {name: drover.run("--name", name, "--", "true", ":::", "a").summary["id"] for name in ("old", "new")}
    for reference, name in ((["old"], "old"), ([ids["old"]], "old"), ([ids["old"][:8]], "old"), ([ids["new"][:13]], "new"),
                            ([], "new")):
        shown = drover("status", "--json", *reference)
        assert shown.status == 0 and shown.json_lines[-1]["name"] == name, shown
    assert drover("resume", "old").status == 0  # which makes it the one used last
    assert drover("items", f"{ids['new']}:0").status == 0


def test_an_id_prefix_that_fits_two_runs_is_refused(drover):
    for name in ("one", "two"):
        assert drover("run", "--name", name, "--", "true", ":::", "a").status == 0
        connection = sqlite3.connect(drover.database(name))
        connection.execute("UPDATE jobs SET id = 'deadbeef' || substr(id, 9)")
        connection.commit()
        connection.close()
    drover("status", "deadbeef").refuses("deadbeef", "2 runs")


# --- retry


def test_retry_takes_the_failed_too(drover):
    line = ("--name", "r", "--jobs", 1, "--", "sh", "-c", 'test "$1" = 0 || test -e go', "sh", ":::", 0, 1, 1)
    assert drover.run(*line).status == 1
    (drover.folder / "go").touch()
    ended = drover("retry", "r", "--json")
    assert ended.status == 0, ended
    assert drover.rows("r", "SELECT item, attempt, settled FROM attempts ORDER BY item, attempt") == [
        (0, 1, 1), (1, 1, 0), (1, 2, 1), (2, 1, 0), (2, 2, 1)]
    drover.check_all_succeeded("r", 3)


def test_retry_gives_an_item_all_its_tries_again(drover):
    line = ("--name", "r", "--retries", 1, "--", "sh", "-c", "test $DROVER_ATTEMPT -ge 4", ":::", "a")
    assert drover.run(*line).status == 1
    ended = drover("retry", "r")
    assert ended.status == 0, ended
    assert [row[1:3] for row in endings(drover, "r")] == [(1, "failed"), (2, "failed"), (3, "failed"), (4, "succeeded")]


def test_retry_of_a_run_that_goes_on_hands_the_failed_to_its_process(drover, gate, script):
    item = script("item", f'case $1 in wait) {gate.word} ;; *) test -e go ;; esac')
    running = drover.start("run", "--json", "--name", "r", "--jobs", 2, "--", item, ":::", "wait", "fails", "fails")
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE failed = 2"), "two failures")
    (drover.folder / "go").touch()
    retried = drover("retry", "r")
    assert retried.status == 0 and "2 items" in retried.out, retried
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE succeeded = 2"), "the retried to succeed")
    assert running.alive()
    gate.open()
    ended = running.done()
    assert ended.status == 0 and ended.summary["counts"] == counts(succeeded=3), ended
    drover.check_all_succeeded("r", 3)


def test_retry_of_a_run_without_failures_does_nothing(drover):
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    assert drover("retry", "r").status == 0
    drover.check_all_succeeded("r", 1)
    assert drover.rows("r", "SELECT count(*) FROM attempts") == [(1,)]


# --- cancel


def test_cancel_kills_what_runs_and_starts_nothing_more(drover, gate, script):
    item = script("item", f"setsid sleep 1000 & (setsid sleep 1000 > /dev/null 2>&1 &)\n{gate.word}")
    running = drover.start("run", "--json", "--name", "r", "--jobs", 2, "--grace", "1s", "--range", "1-10", "--", item)
    wait_for_running(drover, "r", 2)
    cancelled = drover("cancel", "r")
    assert cancelled.status == 0 and "'r'" in cancelled.out, cancelled
    ended = running.done()
    assert ended.status == 1, ended
    assert ended.summary["state"] == "cancelled" and ended.summary["counts"] == counts(cancelled=10), ended
    assert [row[2:4] for row in endings(drover, "r")] == [("cancelled", "stopped")] * 2
    assert {item["state"] for item in drover.items("r")} == {"cancelled"}
    wait_until(lambda: not drover.left_over(), "every descendant to be gone", 30)
    drover.check_ledger("r")

    gate.open()
    resumed = drover("resume", "r")
    assert resumed.status == 0, resumed
    drover.check_all_succeeded("r", 10)


def test_cancel_ends_an_item_that_ignores_the_polite_signal_after_the_grace(drover, script):
    item = script("item", "trap '' TERM\nwhile :; do sleep 0.05; done")
    running = drover.start("run", "--json", "--name", "r", "--grace", "300ms", "--", item, ":::", "a")
    wait_for_running(drover, "r", 1)
    assert drover("cancel", "r").status == 0
    ended = running.done()
    assert ended.status == 1 and ended.summary["counts"] == counts(cancelled=1), ended


def test_a_cancelled_item_is_not_retried(drover, gate):
    running = drover.start("run", "--json", "--name", "r", "--retries", 5, "--", "sh", "-c", gate.word, ":::", "a")
    wait_for_running(drover, "r", 1)
    assert drover("cancel", "r").status == 0
    assert running.done().summary["counts"] == counts(cancelled=1)
    assert [row[1:4] for row in endings(drover, "r")] == [(1, "cancelled", "stopped")]


def test_cancel_of_a_stopped_run_changes_the_record_alone(drover, gate, script):
    item = script("item", f'test "$1" -lt 4 || {gate.word}')
    running = drover.start("run", "--name", "r", "--jobs", 1, "--", item, ":::", *range(1, 7))
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE succeeded = 3"), "three items")
    running.kill()
    assert drover.status("r")["state"] == "running"
    assert drover("cancel", "r").status == 0
    job = drover.status("r")
    assert job["state"] == "cancelled" and job["counts"] == counts(succeeded=3, cancelled=3), job
    drover.check_ledger("r")
    gate.open()
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 6)


def test_cancel_of_a_run_that_ended_says_so(drover):
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    said = drover("cancel", "r")
    assert said.status == 0 and "already ended" in said.out, said
    drover.check_all_succeeded("r", 1)


# --- status


def test_status_of_a_run_that_goes_on_names_what_runs_and_who_runs_it(drover, gate, script):
    item = script("item", f'case $1 in done) ;; fails) exit 1 ;; *) {gate.word} ;; esac')
    running = drover.start("run", "--name", "r", "--jobs", 2, "--", item, ":::", "done", "fails", "x", "y", "z")
    expected = counts(succeeded=1, failed=1, running=2, pending=1)
    job = wait_until(lambda: next((job for job in [drover("status", "r", "--json")]
                                   if job.status == 0 and job.json_lines[0]["counts"] == expected), None),
                     "one done, one failed, two running").json_lines[0]
    assert (job["state"], job["held"], job["pid"]) == ("running", True, running.pid)
    now = [one["item"] for one in job["running"]]
    assert len(now) == 2 and set(now) < {2, 3, 4}
    assert all(one["attempt"] == 1 and 0 <= one["seconds"] < 60 for one in job["running"])
    shown = drover("status", "r")
    assert "running" in shown.out and all(f"item {item}" in shown.out for item in now), shown
    assert [item["state"] for item in drover.items("r")] == [
        "succeeded", "failed", *("running" if item in now else "pending" for item in (2, 3, 4))]
    gate.open()
    assert running.done().status == 1


def test_status_of_a_run_that_waits_for_a_retry_says_waiting(drover):
    running = drover.start("run", "--name", "r", "--retries", 1, "--retry-delay", "1h", "--", "false", ":::", "a")
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM attempts"), "the first attempt to end")
    assert drover.status("r")["counts"] == counts(waiting=1)
    assert [item["state"] for item in drover.items("r")] == ["waiting"]
    running.signal(signal.SIGINT)
    assert running.done().status == 130


def test_status_of_a_stopped_run_says_how_to_go_on(drover, gate):
    running = drover.start("run", "--name", "r", "--", "sh", "-c", gate.word, ":::", "a")
    wait_for_running(drover, "r", 1)
    running.kill()
    wait_until(lambda: not drover.left_over(), "its processes to be gone", 30)
    shown = drover("status", "r")
    assert shown.status == 0 and "stopped; resume with: drover resume r" in shown.out, shown
    job = drover.status("r")
    assert job["held"] is False and job["running"] == [] and job["counts"] == counts(pending=1), job


def test_status_of_a_run_that_ended_has_the_json_of_a_job(drover):
    before = int(time.time() * 1000)
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    job = drover.status("r")
    assert set(job) >= {"id", "name", "state", "total", "counts", "created_ms", "ended_ms", "queue"}
    assert set(job["counts"]) == ITEM_STATES
    assert before - 1000 <= job["created_ms"] <= job["ended_ms"] <= time.time() * 1000 + 1000


# --- items


def test_items_lists_states_attempts_and_endings(drover):
    drover("run", "--name", "r", "--retries", 1, "--jobs", 1, "--", "sh", "-c", "exit $1", "sh", ":::", 0, 3)
    shown = drover("items", "r")
    assert shown.status == 0, shown
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[1][:4] == ["0", "succeeded", "1", "0"] and rows[2][:4] == ["1", "failed", "2", "3"], shown
    assert [(item["index"], item["item"], item["state"], item["attempts"], item["last"]["exit_code"])
            for item in drover.items("r")] == [(0, "0", "succeeded", 1, 0), (1, "3", "failed", 2, 3)]


def test_items_chooses_by_state_and_stops_at_the_limit(drover):
    drover("run", "--name", "r", "--range", "1-250", "--", "sh", "-c", "exit $(($1 % 2))", "sh")
    assert len(drover("items", "r").out.splitlines()) == 101  # a heading, and the first hundred
    assert "--limit" in drover("items", "r").err
    failed = drover("items", "r", "--state", "failed", "--limit", "5", "--json").json_lines
    assert [item["index"] for item in failed] == [0, 2, 4, 6, 8]
    assert len(drover.items("r", "--state", "succeeded")) == 125
    assert drover.items("r", "--state", "pending") == []
    assert len(drover.items("r")) == 250


def test_an_item_that_is_not_utf_8_is_base64_in_json(drover):
    drover("run", "--name", "r", "--", "true", ":::", b"\xff", "grüße")
    first, second = drover.items("r")
    assert base64.b64decode(first["item_b64"]) == b"\xff" and "item" not in first
    assert second["item"] == "grüße" and "item_b64" not in second


def test_one_item_is_shown_with_every_attempt_and_its_output(drover):
    drover("run", "--name", "r", "--retries", 1, "--", "sh", "-c",
           'echo "out $DROVER_ATTEMPT"; echo "err $DROVER_ATTEMPT" >&2; exit $((2 - DROVER_ATTEMPT))', ":::", "a")
    shown = drover("items", "r:0")
    assert shown.status == 0, shown
    places = [shown.out.index(text) for text in ("attempt 1", "out 1", "err 1", "attempt 2", "out 2", "err 2")]
    assert places == sorted(places)
    one, = drover("items", "r:0", "--json").json_lines
    assert [(attempt["state"], attempt["stdout"], attempt["stderr"]) for attempt in one["attempts"]] == [
        ("failed", "out 1\n", "err 1\n"), ("succeeded", "out 2\n", "err 2\n")]


def test_the_last_64_kib_of_each_stream_are_kept(drover):
    drover("run", "--name", "r", "--", "sh", "-c", "seq 1 100000; seq 1 100000 >&2", ":::", "a")
    one, = drover("items", "r:0", "--json").json_lines
    for stream in ("stdout", "stderr"):
        kept = one["attempts"][0][stream]
        assert kept.endswith("\n99999\n100000\n") and 60_000 < len(kept) <= 65_536


def test_output_that_is_not_utf_8_does_not_break_json(drover):
    drover("run", "--name", "r", "--", "printf", r"a\377b\000c", ":::", "a")
    shown = drover("items", "r:0", "--json")
    assert shown.status == 0 and len(shown.json_lines) == 1, shown


def test_items_of_a_run_that_goes_on_can_be_read(drover, gate):
    running = drover.start("run", "--name", "r", "--jobs", 1, "--", "sh", "-c", f'test "$1" = a || {gate.word}', "sh",
                           ":::", "a", "b", "c")
    wait_until(lambda: running_items(drover, "r") == [1], "the second item")
    wait_until(lambda: [item["state"] for item in drover.items("r")] == ["succeeded", "running", "pending"], "what is so")
    assert "running" in drover("items", "r:1").out
    gate.open()
    assert running.done().status == 0


# --- sql


def test_sql_answers_in_rows_with_a_heading_or_in_json(drover):
    drover("run", "--name", "r", "--jobs", 1, "--", "sh", "-c", "exit $1", "sh", ":::", 0, 0, 3)
    query = "SELECT state, exit_code, count(*) AS n FROM items GROUP BY 1, 2 ORDER BY 1"
    assert drover("sql", query).out == "state\texit_code\tn\nfailed\t3\t1\nsucceeded\t0\t2\n"
    assert drover("sql", "--json", "--run", "r", query).json_lines == [
        {"state": "failed", "exit_code": 3, "n": 1}, {"state": "succeeded", "exit_code": 0, "n": 2}]


@pytest.mark.parametrize("view", ["attempts", "items"])
def test_the_ledger_has_the_columns_that_others_rely_on(drover, view):
    drover("run", "--name", "r", "--", "true", ":::", "a")
    row, = drover("sql", "--json", f"SELECT * FROM {view}").json_lines
    assert set(row) >= {"job", "job_name", "item", "attempt", "state", "exit_code", "signal", "reason", "worker", "started_ms",
                        "ended_ms", "cpu_ms", "peak_memory_kib"}
    assert re.fullmatch(UUID, row["job"]) and row["job_name"] == "r"


@pytest.mark.parametrize("query", [
    "DELETE FROM jobs", "UPDATE jobs SET state = 'x'", "DROP TABLE jobs", "CREATE TABLE t(x)", "PRAGMA user_version = 5",
    "PRAGMA journal_mode = DELETE", "ATTACH 'other.db' AS o", "VACUUM INTO 'other.db'", "BEGIN IMMEDIATE",
    "SELECT 1; DELETE FROM jobs"])
def test_sql_reads_and_never_writes(drover, query):
    drover("run", "--name", "r", "--", "true", ":::", "a")
    before = drover.database("r").read_bytes()
    drover("sql", query).refuses()
    assert drover.database("r").read_bytes() == before
    assert not (drover.folder / "other.db").exists()
    drover.check_all_succeeded("r", 1)


def test_sql_reads_a_run_that_goes_on(drover, gate):
    running = drover.start("run", "--name", "r", "--jobs", 1, "--", "sh", "-c", f'test "$1" = a || {gate.word}', "sh",
                           ":::", "a", "b")
    wait_for_running(drover, "r", 1)
    wait_until(lambda: drover("sql", "--json", "SELECT count(*) AS n FROM items").json_lines == [{"n": 1}], "the first row")
    gate.open()
    assert running.done().status == 0


# --- interrupts


def test_ctrl_c_once_lets_what_runs_end_and_resume_goes_on(drover, gate, script, tmp_path):
    item = script("item", f"{gate.word}; echo $DROVER_ITEM_INDEX >> {tmp_path}/ended")
    running = drover.start("run", "--name", "r", "--jobs", 2, "--range", "1-6", "--", item, start_new_session=True)
    wait_for_running(drover, "r", 2)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal sends it: to the whole group
    wait_until(lambda: running.says("drain"), "a word about draining")
    assert running.alive() and len(running_items(drover, "r")) == 2
    gate.open()
    ended = running.done()
    assert ended.status == 130, ended
    assert "interrupted" in ended.out and "drover resume r" in ended.out, ended
    assert sorted((tmp_path / "ended").read_text().split()) == ["0", "1"]
    assert drover.status("r")["counts"] == counts(succeeded=2, pending=4)
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 6)
    assert drover.rows("r", "SELECT count(*) FROM attempts") == [(6,)]


def test_ctrl_c_twice_kills_what_runs_and_costs_no_try(drover, gate, script):
    item = script("item", f"trap '' TERM INT HUP; setsid sleep 1000 & {gate.word}")
    running = drover.start("run", "--json", "--name", "r", "--jobs", 2, "--range", "1-4", "--", item)
    wait_for_running(drover, "r", 2)
    running.signal(signal.SIGINT)
    wait_until(lambda: running.says("drain"), "a word about draining")
    running.signal(signal.SIGINT)
    ended = running.done()
    assert ended.status == 130, ended
    assert ended.summary["interrupted"] is True
    assert ended.summary["counts"]["failed"] == ended.summary["counts"]["cancelled"] == ended.summary["counts"]["succeeded"] == 0
    wait_until(lambda: not drover.left_over(), "every descendant to be gone", 30)
    assert {row[2] for row in endings(drover, "r")} <= {"lost"}
    gate.open()
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_that_ask_to_end_drain_too(drover, gate, number):
    running = drover.start("run", "--name", "r", "--jobs", 1, "--range", "1-3", "--", "sh", "-c", gate.word)
    wait_for_running(drover, "r", 1)
    running.signal(number)
    wait_until(lambda: running.says("drain"), "a word about draining")
    gate.open()
    assert running.done().status == 130
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 3)


def test_an_interrupted_run_whose_last_items_end_is_done(drover, gate):
    running = drover.start("run", "--name", "r", "--", "sh", "-c", gate.word, ":::", "a")
    wait_for_running(drover, "r", 1)
    running.signal(signal.SIGINT)
    wait_until(lambda: running.says("drain"), "a word about draining")
    gate.open()
    assert running.done().status == 0  # all succeeded; there is nothing to go on with
    drover.check_all_succeeded("r", 1)


def test_an_interrupt_while_the_list_is_read_ends_it(drover):
    read_end, write_end = os.pipe()
    running = drover.start("run", "--name", "r", "--items", "-", "--", "true", stdin=read_end)
    os.close(read_end)
    os.write(write_end, b"a\nb\n")
    wait_until(drover.database("r").exists, "the database")
    running.signal(signal.SIGINT)
    try:
        assert running.done().status in (130, -signal.SIGINT)  # a shell calls both 130
    finally:
        os.close(write_end)


# --- where things are, and what they cost


def test_a_data_folder_with_a_long_path_works(drover, gate, tmp_path):
    drover.data = tmp_path / ("long" * 30)
    name = "r" * 128
    running = drover.start("run", "--name", name, "--", "sh", "-c", gate.word, ":::", "a")
    wait_for_running(drover, name, 1)
    assert drover("cancel").status == 0
    assert running.done().status == 1
    gate.open()
    assert drover("resume").status == 0
    drover.check_all_succeeded(name, 1)


def test_the_data_folder_comes_from_the_flag_the_variable_or_the_home(drover, tmp_path):
    line = ("run", "--name", "r", "-q", "--", "true", ":::", "a")
    for place, options, env in ((tmp_path / "flag/data", ("--data", "flag/data"), {}),
                                (tmp_path / "variable", (), {"DROVER_DATA": "variable"}),
                                (tmp_path / ".local/share/drover", (), {"DROVER_DATA": ""})):
        assert drover("run", *options, *line[1:], env=env).status == 0
        assert (place / "runs/r/drover.db").exists()


def test_a_folder_with_odd_characters_works(drover, tmp_path):
    drover.data = tmp_path / "dätä #1? 100% 'x' \"y\"\nz"
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    for verb in (("status", "r"), ("items", "r"), ("sql", "SELECT 1"), ("resume", "r")):
        assert drover(*verb).status == 0


def test_memory_and_time_of_an_attempt_are_plausible(drover):
    hungry = "b = bytearray(100 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"
    assert drover("run", "--name", "hungry", "--", "/usr/bin/python3", "-c", hungry, ":::", "a").status == 0
    (kib, wall_us, user_us, system_us), = drover.rows(
        "hungry", "SELECT peak_memory_kib, wall_us, user_us, system_us FROM items")
    assert 100 << 10 <= kib < 200 << 10
    assert 0 < user_us + system_us and user_us + system_us < wall_us * 1.5 + 50_000

    assert drover("run", "--name", "small", "--range", "1-20", "--", "/bin/true").status == 0
    (most,), = drover.rows("small", "SELECT max(peak_memory_kib) FROM items")
    assert 0 < most < 8 << 10

    busy = "import time\nwhile time.process_time() < 0.4: pass"
    assert drover("run", "--name", "busy", "--", "/usr/bin/python3", "-c", busy, ":::", "a").status == 0
    (cpu_ms, wall_us, started, ended), = drover.rows("busy", "SELECT cpu_ms, wall_us, started_ms, ended_ms FROM items")
    assert 390 <= cpu_ms < 3_000 and wall_us >= 390_000 and abs(ended - started - wall_us / 1000) < 10


def test_memory_counts_grandchildren_too(drover):
    hungry = "b = bytearray(60 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"
    assert drover("run", "--name", "r", "--", "sh", "-c", f"/usr/bin/python3 -c '{hungry}'; true", ":::", "a").status == 0
    (kib,), = drover.rows("r", "SELECT peak_memory_kib FROM items")
    assert kib >= 60 << 10


def test_as_many_items_run_at_a_time_as_jobs_says(drover, gate):
    running = drover.start("run", "--name", "r", "--jobs", 7, "--range", "1-20", "--", "sh", "-c", gate.word)
    wait_for_running(drover, "r", 7)
    gate.open()
    assert running.done().status == 0
    drover.check_all_succeeded("r", 20)


def test_a_short_item_behind_a_long_one_does_not_wait_for_it(drover, gate, script):
    """Items handed ahead to a slot come back when the one before them turns out to be long."""
    item = script("item", f'test $DROVER_ITEM_INDEX -ne 200 || {gate.word}')
    running = drover.start("run", "--name", "r", "--jobs", 2, "--range", "1-400", "--", item)
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE succeeded = 399"), "every other item")
    wait_until(lambda: running_items(drover, "r") == [200], "it to be the only one that runs")
    gate.open()
    assert running.done().status == 0
    drover.check_all_succeeded("r", 400)


def test_an_item_that_kills_every_helper_it_meets_is_given_up(drover):
    ended = drover.run("--name", "r", "--jobs", 1, "--", "sh", "-c", 'test "$1" != bad || { kill -9 $PPID; sleep 1000; }', "sh",
                       ":::", "good", "bad", "good")
    assert ended.status == 1, ended
    assert ended.summary["counts"] == counts(succeeded=2, failed=1), ended
    assert drover.rows("r", "SELECT state, count(*) FROM attempts WHERE item = 1 GROUP BY state ORDER BY state") == [
        ("failed", 1), ("lost", 19)]
    drover.check_ledger("r")


def test_an_item_that_prints_very_much_costs_little_memory(drover, gate, tmp_path):
    running = drover.start("run", "--name", "r", "--", "sh", "-c", f"head -c 200000000 /dev/zero; touch printed; {gate.word}",
                           ":::", "a")
    wait_until((tmp_path / "printed").exists, "all of it to be printed")
    helpers = [pid for pid, command in drover.left_over().items() if command == "drover-slot"]
    assert helpers != []
    for pid in (running.pid, *helpers):
        peak_kib = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1))
        assert peak_kib < 64 << 10
    gate.open()
    assert running.done().status == 0


def test_a_run_needs_its_list_no_more_once_it_has_read_it(drover, tmp_path):
    (tmp_path / "list").write_text("1\n2\n3\n")
    line = ("run", "--name", "r", "--jobs", 1, "--max-failures", 0, "--items", "list", "--", "sh", "-c", "test -e go")
    assert drover(*line).status == 1
    (tmp_path / "list").unlink()
    (tmp_path / "go").touch()
    assert drover("retry", "r").status == 0
    drover.check_all_succeeded("r", 3)


def test_a_user_without_privileges_can_do_all_of_it(any_user, public_path):
    (public_path / "data").mkdir()
    os.chown(public_path / "data", NOBODY, NOBODY)
    line = ("run", "--name", "r", "--timeout", "3s", "--grace", "200ms", "--", "sh", "-c",
            'trap "" TERM; setsid sleep 1000 & case $1 in hang) while :; do sleep 1; done ;; esac', "sh", ":::", "a", "hang", "b")
    ended = any_user(*line, as_user=NOBODY)
    assert ended.status == 1, ended
    assert [row[2:4] for row in endings(any_user, "r")] == [
        ("succeeded", "exited"), ("failed", "timed_out"), ("succeeded", "exited")]
    wait_until(lambda: not any_user.left_over(), "every descendant to be gone", 30)
    assert any_user("status", "r", as_user=NOBODY).status == 0
    assert any_user("retry", "r", as_user=NOBODY).status == 1


# --- what once went wrong


def test_a_run_of_quiet_long_items_can_still_be_cancelled(drover):
    """The poll that carries orders must be parked even when nothing is wanted."""
    run = drover.start("run", "--name", "r", "--jobs", 1, "--range", "1-20", "--", "sleep", 1000)
    wait_until(lambda: running_items(drover, "r"), "the first item to run")
    if SOAK:
        time.sleep(25)  # longer than a poll is parked
    assert drover("cancel", "r").status == 0
    assert run.done(30).status == 1
    assert drover("status", "r", "--json").json_lines[-1]["state"] == "cancelled"


def test_a_run_killed_while_it_was_being_cancelled_can_be_resumed(drover):
    run = drover.start("run", "--name", "r", "--jobs", 1, "--grace", "1h", "--", "sh", "-c", "trap '' TERM; sleep 5 & wait; sleep $1", "sh",
                       ":::", 0)
    wait_until(lambda: running_items(drover, "r"), "the item to run")
    assert drover("cancel", "r").status == 0
    run.kill()
    ended = drover("resume", "r")
    assert ended.status == 0, ended
    drover.check_all_succeeded("r", 1)


def test_fresh_interrupted_while_it_reads_its_list_keeps_the_old_run(drover, tmp_path):
    assert drover("run", "--name", "r", "--", "true", ":::", "a", "b").status == 0
    fifo = tmp_path / "list"
    os.mkfifo(fifo)
    run = drover.start("run", "--name", "r", "--fresh", "--items", fifo, "--", "true")
    wait_until(lambda: any(name.startswith(".aside") for name in os.listdir(drover.data / "runs")), "the old run to be set aside")
    time.sleep(0.3)  # it waits for its list
    run.signal(signal.SIGTERM)
    assert run.done(30).status == 130
    assert drover.status("r")["counts"] == counts(succeeded=2), "it is back at once"
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 2)
    assert os.listdir(drover.data / "runs") == ["r"]


def test_fresh_killed_while_it_reads_its_list_keeps_the_old_run(drover, tmp_path):
    assert drover("run", "--name", "r", "--", "true", ":::", "a", "b").status == 0
    os.mkfifo(tmp_path / "list")
    run = drover.start("run", "--name", "r", "--fresh", "--items", tmp_path / "list", "--", "true")
    wait_until(lambda: drover.database("r").exists() and any(name.startswith(".aside") for name in os.listdir(drover.data / "runs")),
               "the new run to have a ledger")
    run.kill()
    assert drover.status("r")["counts"] == counts(succeeded=2)
    assert drover("resume", "r").status == 0
    drover.check_all_succeeded("r", 2)


def test_a_list_that_is_given_up_leaves_nothing_behind(drover, tmp_path):
    assert drover("run", "--name", "good", "--", "true", ":::", "a").status == 0
    os.mkfifo(tmp_path / "list")
    for how in (signal.SIGINT, signal.SIGTERM):
        run = drover.start("run", "--items", tmp_path / "list", "--", "cat")
        wait_until(lambda: len(drover.runs()) == 2, "its folder to be made")
        time.sleep(0.3)  # it waits for its list
        run.signal(how)
        ended = run.done(30)
        assert ended.status == 130 and "nothing was started" in ended.err and "next:" in ended.err, ended
        assert drover.runs() == ["good"]


def test_the_newest_run_is_one_that_has_a_job(drover, tmp_path):
    assert drover("run", "--name", "good", "--", "true", ":::", "a").status == 0
    os.mkfifo(tmp_path / "list")
    run = drover.start("run", "--name", "young", "--items", tmp_path / "list", "--", "cat")
    wait_until(lambda: drover.database("young").exists(), "its ledger to be made")
    drover("status").refuses("'young'", "reading its list")
    run.kill()
    assert drover("status", "--json").json_lines[-1]["name"] == "good"
    assert drover("resume", "young").refuses("'young'")


def test_a_shell_line_names_the_run_by_its_first_word(drover):
    assert drover("run", "--shell", "--", "/bin/echo {} > /dev/null", ":::", "a").status == 0
    assert [name.split("-")[0] for name in drover.runs()] == ["echo"]


def test_an_item_that_does_not_fit_is_named_by_its_line(drover, tmp_path):
    (tmp_path / "l").write_text('{"a": 1}\n\n{"b": 2}\n')
    drover("run", "--jsonl", tmp_path / "l", "--", "echo", "{a}").refuses(str(tmp_path / "l"), "line 3", "'a'")


def test_an_answer_that_is_lost_is_told(drover):
    assert drover("run", "--name", "r", "--", "echo", ":::", "a").status == 0
    for words in (["version"], ["status", "r"], ["items", "r"], ["logs", "r"], ["sql", "--run", "r", "SELECT 1"]):
        with open("/dev/full", "wb") as full:
            said = subprocess.run([BINARY, *words], env=drover.environment(), stdout=full, stderr=subprocess.PIPE, text=True)
        assert said.returncode == 1 and "No space left on device" in said.stderr, said
    with open("/dev/full", "wb") as full:
        run = subprocess.run([BINARY, "run", "--json", "--", "true", ":::", "a"], env=drover.environment(), stdout=full, stderr=subprocess.PIPE)
    assert run.returncode == 0, "what it did is recorded"


def test_output_that_finds_no_room_stops_the_run_and_is_made_again(drover, small_disk):
    small_disk.resize("64k")
    line = ("--name", "r", "--jobs", 2, "--range", "1-60", "--out", small_disk.path / "o", "--", "sh", "-c", "head -c 4000 /dev/zero")
    ended = drover("run", *line)
    assert ended.status == 1 and "could not write all" in ended.err and "drover resume r" in ended.err, ended
    assert 0 < drover.status("r")["counts"]["succeeded"] < 60
    small_disk.resize("8m")
    assert drover("resume", "r", "--out", small_disk.path / "o").status == 0
    drover.check_all_succeeded("r", 60)
    assert {(small_disk.path / "o" / f"{item}.out").stat().st_size for item in range(60)} == {4000}


def test_a_repeated_env_setting_is_the_same_line(drover):
    line = ("run", "--name", "r", "--env", "A=1", "--env", "A=2", "--", "sh", "-c", "test $A = 2", "sh", ":::", "a")
    assert drover(*line).status == 0
    assert drover(*line).status == 0


def test_a_rule_that_is_not_utf8_is_kept(drover):
    assert drover("run", "--name", "r", "--retries", 1, "--retry-on", b"reason:\xff*", "--", "true", ":::", "a").status == 0
    assert drover("status", "r").status == 0


def test_a_range_of_too_many_items_is_refused(drover):
    drover("run", "--range", "1-900000000000000000", "--", "true").refuses("10,000,000,000", "several")


def test_a_long_json_line_runs_when_the_field_is_short(drover, tmp_path):
    (tmp_path / "l").write_text(json.dumps({"id": "x", "blob": "y" * 140_000}) + "\n")
    assert drover("run", "--jsonl", tmp_path / "l", "--", "true", "{id}").status == 0
