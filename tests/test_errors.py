"""What goes wrong outside: the list, the command, the line that was typed, the disk, the database. Each has a clear error
that names the thing and the next step, overwrites nothing and loses nothing."""

import os
import resource
import shutil
import sqlite3

import pytest

from conftest import NOBODY
from drover import Drover, file_hashes, wait_until

READING = (("status", "r"), ("items", "r"), ("items", "r:0"), ("sql", "--run", "r", "SELECT count(*) FROM attempts"))
WRITING = (("resume", "r"), ("retry", "r"), ("cancel", "r"))


def half_done(drover, total=6, name="r"):
    """A run that stopped early: some items succeeded, one failed, some are left. It goes on once `go` is there."""
    line = ("run", "--name", name, "--jobs", 1, "--max-failures", 0, "--", "sh", "-c", 'test "$1" -lt 4 || test -e go', "sh",
            ":::", *range(1, total + 1))
    ended = drover(*line)
    assert ended.status == 1, ended
    return line


def finish(drover, total=6, name="r"):
    (drover.folder / "go").touch()
    ended = drover("retry", name, "--json")
    assert ended.status == 0, ended
    drover.check_all_succeeded(name, total)


def database_files(drover, name="r"):
    return {path: digest for path, digest in file_hashes(drover.run_folder(name)).items() if path.startswith("drover.db")}


def check_refused_untouched(drover, verbs, *names):
    """Every verb says no, names these, and leaves the database as it is."""
    before = database_files(drover)
    for verb in verbs:
        drover(*verb).refuses(*names)
        after = database_files(drover)
        assert {path: after.get(path) for path in before} == before, verb


# --- the list


def test_a_missing_list_is_named_and_leaves_no_run_behind(drover):
    drover("run", "--items", "no/such/list", "--", "true").refuses("no/such/list", "No such file")
    drover("run", "--jsonl", "no/such/list", "--", "true", "{a}").refuses("no/such/list", "No such file")
    drover("run", "--dir", "no/such/folder", "--", "true").refuses("no/such/folder", "No such file")
    assert drover.runs() == []


def test_a_folder_given_as_a_list_is_named_and_leaves_no_run_behind(drover, tmp_path):
    drover("run", "--items", tmp_path, "--", "true").refuses(str(tmp_path), "directory")
    drover("run", "--jsonl", tmp_path, "--", "true", "{a}").refuses(str(tmp_path), "directory")
    assert drover.runs() == []


def test_a_file_given_as_a_folder_is_named_and_leaves_no_run_behind(drover, tmp_path):
    (tmp_path / "file").touch()
    drover("run", "--dir", "file", "--", "true").refuses("file")
    assert drover.runs() == []


def test_a_list_that_may_not_be_read_is_named_and_leaves_no_run_behind(any_user, public_path):
    (public_path / "list").write_text("a\n")
    (public_path / "list").chmod(0o600)
    (public_path / "data").mkdir()
    os.chown(public_path / "data", NOBODY, NOBODY)
    any_user("run", "--items", public_path / "list", "--", "true", as_user=NOBODY).refuses("list", "Permission denied")
    (public_path / "closed").mkdir(mode=0o700)
    any_user("run", "--dir", public_path / "closed", "--", "true", as_user=NOBODY).refuses("closed", "Permission denied")
    assert any_user.runs() == []


def test_a_named_run_whose_list_was_missing_starts_when_it_is_there(drover, tmp_path):
    line = ("run", "--name", "r", "--items", "list", "--", "true")
    drover(*line).refuses("list")
    (tmp_path / "list").write_text("a\n")
    assert drover(*line).status == 0
    drover.check_all_succeeded("r", 1)


@pytest.mark.parametrize("content", [b"", b"\n\n\n"])
def test_an_empty_list_is_done_at_once_and_says_so(drover, tmp_path, content):
    (tmp_path / "list").write_bytes(content)
    for source in (("--items", "list"), ("--jsonl", "list")):
        ended = drover("run", *source, "--", "false", "{}")
        assert ended.status == 0, ended
        assert "0 items" in ended.out + ended.err or "no items" in ended.out + ended.err, ended
    summary = drover.run("--items", "list", "--", "false").summary
    assert (summary["state"], summary["total"], summary["counts"]["succeeded"]) == ("succeeded", 0, 0)


def test_no_words_behind_three_colons_and_an_empty_folder_are_empty_lists(drover, tmp_path):
    (tmp_path / "folder").mkdir()
    assert drover("run", "--", "false", ":::").status == 0
    assert drover("run", "--dir", "folder", "--", "false").status == 0
    assert drover("run", "--dir", "/etc", "--match", "*.no-such-thing", "--", "false").status == 0


# --- the command


@pytest.mark.parametrize("command, names", [
    ("no-such-program-anywhere", ("no-such-program-anywhere", "PATH")),
    ("./no-such-program", ("./no-such-program", "not found")),
    ("/no/such/program", ("/no/such/program", "not found")),
    ("./plain-file", ("plain-file", "not an executable", "chmod +x")),
    ("./folder", ("folder", "is a directory")),
])
def test_a_command_that_cannot_run_is_refused_before_anything_is_made(drover, tmp_path, command, names):
    (tmp_path / "plain-file").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    drover("run", "--name", "r", "--", command, "{}", ":::", "a").refuses(*names)
    assert drover.runs() == []


def test_a_command_that_only_another_user_may_execute_is_refused(any_user, public_path):
    (public_path / "mine").write_text("#!/bin/sh\n")
    (public_path / "mine").chmod(0o700)
    (public_path / "data").mkdir(mode=0o777)
    any_user("run", "--", public_path / "mine", ":::", "a", as_user=NOBODY).refuses("mine", "not an executable")
    assert any_user.runs() == []


def test_a_program_whose_interpreter_is_missing_could_not_start(drover, tmp_path):
    (tmp_path / "program").write_text("#!/no/such/interpreter\n")
    (tmp_path / "program").chmod(0o755)
    ended = drover.run("--", "./program", ":::", "a", "b")
    assert ended.status == 1, ended
    rows = drover.rows(ended.summary["name"], "SELECT state, ending, exit_code, signal, reason FROM items")
    assert [row[:4] for row in rows] == [("failed", "not_started", None, None)] * 2
    assert rows[0][4].endswith("program: the file exists, but its interpreter does not: /no/such/interpreter")


def test_a_program_that_goes_away_in_mid_run_fails_what_is_left_by_name(drover, script):
    program = script("fleeting", 'rm -f "$0"')
    ended = drover.run("--jobs", 1, "--", program, ":::", *range(5))
    assert ended.status == 1, ended
    rows = drover.rows(ended.summary["name"], "SELECT ending, reason FROM items ORDER BY item")
    assert rows[0][0] == "exited" and rows[-1][0] == "not_started" and "No such file" in rows[-1][1]
    assert sum(ended.summary["counts"].values()) == 5


def test_a_resumed_run_whose_command_is_gone_says_so_and_loses_nothing(drover, script, tmp_path):
    program = script("program", 'test "$1" != 2 || test -e go')
    assert drover("run", "--name", "r", "--jobs", 1, "--max-failures", 0, "--", program, ":::", 1, 2, 3).status == 1
    os.rename(program, tmp_path / "away")
    drover("retry", "r").refuses("program", "not found")
    os.rename(tmp_path / "away", program)
    finish(drover, 3)


def test_a_resumed_run_whose_workdir_is_gone_says_so_and_loses_nothing(drover, tmp_path):
    (tmp_path / "work").mkdir()
    line = ("--", "sh", "-c", f'test "$1" != 2 || test -e {tmp_path}/go', "sh", ":::", 1, 2, 3)
    assert drover("run", "--name", "r", "--jobs", 1, "--max-failures", 0, "--workdir", "work", *line).status == 1
    os.rename(tmp_path / "work", tmp_path / "away")
    drover("retry", "r").refuses(str(tmp_path / "work"))
    os.rename(tmp_path / "away", tmp_path / "work")
    finish(drover, 3)


# --- the line that was typed


def each_of(argument, cases):
    """A test for each case: what is typed, and what the message must name."""
    return pytest.mark.parametrize(f"{argument}, names", cases, ids=[" ".join(typed)[:40] for typed, _ in cases])


@each_of("flags", [
    (("--jobs", "0"), ("--jobs", "0")),
    (("--jobs", "many"), ("--jobs", "many")),
    (("--jobs", "-1"), ("--jobs", "-1")),
    (("--jobs", "1000000"), ("--jobs", "1000000")),
    (("--timeout", "soon"), ("--timeout", "soon")),
    (("--timeout", "10 parsecs"), ("--timeout", "10 parsecs")),
    (("--timeout", "0"), ("--timeout",)),
    (("--timeout", "-5s"), ("--timeout", "-5s")),
    (("--grace", "x"), ("--grace", "x")),
    (("--retry-delay", "x"), ("--retry-delay", "x")),
    (("--retries", "-1"), ("--retries", "-1")),
    (("--retries", "x"), ("--retries", "x")),
    (("--retry-on", "exit:75"), ("--retry-on", "--retries")),
    (("--retries", "1", "--retry-on", "75"), ("--retry-on", "75")),
    (("--retries", "1", "--retry-on", "exit:x"), ("--retry-on", "exit:x")),
    (("--retries", "1", "--retry-on", "exit:1*2"), ("--retry-on", "exit:1*2")),
    (("--retries", "1", "--retry-on", "signal:99"), ("--retry-on", "signal:99")),
    (("--retries", "1", "--retry-on", "weather:bad"), ("--retry-on", "weather")),
    (("--retries", "1", "--retry-on", ""), ("--retry-on",)),
    (("--max-failures", "few"), ("--max-failures", "few")),
    (("--max-failures", "-1"), ("--max-failures", "-1")),
    (("--max-failures", "101%"), ("--max-failures", "101%")),
    (("--max-failures", "%"), ("--max-failures",)),
    (("--env", "NAME"), ("--env", "NAME")),
    (("--env", "=value"), ("--env", "=value")),
    (("--workdir", "/no/such/folder"), ("--workdir", "/no/such/folder")),
    (("--workdir", "/etc/passwd"), ("--workdir", "/etc/passwd")),
    (("--out", "/etc/passwd/x"), ("/etc/passwd/x",)),
    (("--data", "/etc/passwd"), ("/etc/passwd",)),
    (("--name", "a/b"), ("a/b", "name")),
    (("--name", ".."), ("..", "name")),
    (("--name", "a b"), ("a b", "name")),
    (("--name", "n" * 129), ("name", "128")),
    (("--name", ""), ("name",)),
    (("--image", ""), ("--image", "is empty")),
    *((("--image", "oci:/no/such/image", flag, ""), (flag,)) for flag in ("--user", "--runtime", "--hostname", "--network", "--shm-size", "--disk")),
    (("--image", "oci:/no/such/image", "--reuse", "--reset", ""), ("--reset",)),
    (("--image", "oci:/no/such/image", "--reuse", "--reuse-limit", ""), ("--reuse-limit",)),
    (("--image", "oci:/no/such/image", "--ulimit", "nofile=10"), ("--ulimit", "nofile=10", "nofile=64")),
    (("--image", "oci:/no/such/image", "--device", "/dev/null:/etc/passwd"), ("--device", "/etc/passwd", "/dev/null:/dev/NAME")),
    (("--range", "1-2"), ("--range", ":::")),
    (("--items", "list"), ("--items", ":::")),
    (("-0",), ("-0", "--items")),
    (("--match", "*.gz"), ("--match", "--dir")),
    (("--no-such-flag",), ("--no-such-flag", "option")),
    (("--jsn",), ("--jsn", "option")),
])
def test_a_bad_flag_is_named_with_the_next_step_and_nothing_is_made(drover, flags, names):
    drover("run", *flags, "--", "true", ":::", "a").refuses(*names)
    assert drover.runs() == []


@pytest.mark.parametrize("flags", ["--env A=1", "--env A=1 --env B=2", "--retries 1 --retry-on exit:3", "--cap-drop ALL --image oci:/no/such/image",
                                   "--image oci:/no/such/image --entrypoint x", "--image oci:/no/such/image --mount /etc:/in"])
def test_a_flag_that_may_be_repeated_takes_one_word(drover, flags):
    done = drover("run", *flags.split(), "true", ":::", "a")
    assert (done.status == 0) == ("--image" not in flags) == ("/no/such/image" not in done.err), done
    nothing_to_run = drover("run", *flags.split(), ":::", "a")
    assert ("no command given" in nothing_to_run.err) == ("--image" not in flags), nothing_to_run
    assert "no items were given" not in nothing_to_run.err


@pytest.mark.parametrize("text", ["", "5", "5-", "-5", "5-1", "a-b", "1-2-3", "1..5", "1-99999999999999999999", " 1-2"])
def test_a_range_that_is_none_is_refused(drover, text):
    drover("run", "--range", text, "--", "true").refuses(*([f"'{text}'"] if text else []), "--range")
    assert drover.runs() == []


@each_of("line", [
    (("no-such-verb",), ("no-such-verb", "drover --help")),
    (("run",), ("no items", "--items")),
    (("run", "--"), ("items",)),
    (("run", "--", "true"), ("no items", "--items")),
    (("run", "--items",), ("--items",)),
    (("run", ":::", "a"), ("no command",)),
    (("run", "--range", "1-2"), ("no command",)),
    (("run", "--", "true", ":::", "a", ":::", "b"), (":::",)),
    (("run", "--range", "1-2", "--items", "x", "--", "true"), ("--range", "--items")),
    (("status", "no-such-run"), ("no-such-run",)),
    (("status", "r", "extra"), ("extra",)),
    (("status", "--no-such-flag"), ("--no-such-flag",)),
    (("resume", "no-such-run"), ("no-such-run",)),
    (("resume", "r:1"), ("item",)),
    (("retry", "no-such-run"), ("no-such-run",)),
    (("retry", "r", "--jobs", "x"), ("--jobs", "x")),
    (("cancel", "no-such-run"), ("no-such-run",)),
    (("cancel", "r:1"), ("item",)),
    (("items", "no-such-run"), ("no-such-run",)),
    (("items", "r:17"), ("17", "0 to 0")),
    (("items", "r:x"), ("r:x",)),
    (("items", "--state", "happy"), ("happy", "succeeded")),
    (("items", "--limit", "x"), ("--limit", "x")),
    (("items", "--limit", "-1"), ("--limit", "-1")),
    (("sql",), ("query",)),
    (("sql", "SELEKT 1"), ("SELEKT",)),
    (("sql", "SELECT * FROM nothing"), ("nothing",)),
    (("sql", ""), ()),
    (("sql", "--run", "no-such-run", "SELECT 1"), ("no-such-run",)),
])
def test_a_line_that_makes_no_sense_is_refused_with_the_next_step(drover, line, names):
    assert drover("run", "--name", "r", "-q", "--", "true", ":::", "a").status == 0
    before = database_files(drover)
    drover(*line).refuses(*names)
    assert drover.runs() == ["r"] and database_files(drover) == before


def test_drover_alone_shows_its_help_but_is_no_success(drover):
    shown = drover()
    assert shown.status == 2 and "drover run" in shown.out + shown.err, shown


def test_without_any_run_every_verb_says_how_to_start_one(drover):
    for verb in ("status", "items", "resume", "retry", "cancel"):
        drover(verb).refuses("no runs", "drover run")
    drover("sql", "SELECT 1").refuses("no runs", "drover run")
    assert not drover.data.exists()


# --- the disk


def check_survives_a_full_disk(drover, disk, line, total):
    stopped = drover(*line)
    assert stopped.status == 1, stopped
    assert "full" in stopped.err and "drover resume r" in stopped.err, stopped
    wait_until(lambda: not drover.left_over(), "its items to be gone", 30)
    shown = drover("status", "r", "--json")
    assert shown.status == 0, shown
    before = shown.json_lines[-1]
    assert before["state"] == "running" and before["held"] is False
    assert 0 < before["counts"]["succeeded"] < total, before

    disk.resize("256m")
    ended = drover("resume", "r", "--json")
    assert ended.status == 0, ended
    drover.check_all_succeeded("r", total)


def test_a_disk_that_fills_up_in_mid_run_stops_it_and_resume_finishes_it(on_small_disk, small_disk):
    small_disk.resize("3m")
    line = ("run", "--name", "r", "--jobs", 2, "--range", "1-300", "--", "sh", "-c", "head -c 30000 /dev/urandom", "sh")
    check_survives_a_full_disk(on_small_disk, small_disk, line, 300)


def test_a_disk_that_somebody_else_fills_stops_the_run_and_resume_finishes_it(on_small_disk, small_disk, gate):
    """What is full at one moment and has room at the next, several times over."""
    drover, total = on_small_disk, 400
    small_disk.resize("4m")
    line = ("run", "--name", "r", "--jobs", 2, "--range", f"1-{total}", "--", "sh", "-c",
            f'test "$1" -lt 20 || {gate.word}; head -c 3000 /dev/urandom', "sh")
    running = drover.start(*line)
    ballast = small_disk.path / "ballast"

    def fill():
        try:
            with open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass

    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE succeeded >= 10"), "the first items")
    for _ in range(4):
        fill()
        gate.open()
        stopped = running.done()
        assert stopped.status in (0, 1), stopped
        ballast.unlink(missing_ok=True)
        if stopped.status == 0:
            break
        assert "full" in stopped.err, stopped
        gate.close()
        running = drover.start("resume", "r", "--jobs", 2)
        wait_until(lambda: not running.alive() or drover("status", "r", "--json").json_lines[-1]["running"], "it to go on")
    gate.open()
    if running.alive():
        running.done()
    small_disk.resize("64m")
    ended = drover("resume", "r")
    assert ended.status == 0, ended
    drover.check_all_succeeded("r", total)


def test_a_disk_that_is_full_from_the_start_is_named(on_small_disk, small_disk):
    small_disk.resize("4k")
    (small_disk.path / "ballast").write_bytes(bytes(4096))
    ended = on_small_disk("run", "--name", "r", "--", "true", ":::", "a")
    assert ended.status in (1, 2), ended
    assert "full" in ended.err.lower() or "No space left" in ended.err, ended
    assert "next:" in ended.err, ended
    small_disk.resize("16m")
    assert on_small_disk("run", "--name", "r", "--", "true", ":::", "a").status == 0
    on_small_disk.check_all_succeeded("r", 1)


def test_a_disk_that_fills_up_while_the_list_is_read_is_named_and_the_line_works_later(on_small_disk, small_disk, tmp_path):
    small_disk.resize("1m")
    (tmp_path / "list").write_text("".join(f"{os.urandom(500).hex()}\n" for _ in range(5_000)))
    line = ("run", "--name", "r", "--items", tmp_path / "list", "--max-failures", 0, "--", "false")
    ended = on_small_disk(*line)
    assert ended.status in (1, 2), ended
    assert "full" in ended.err and "next:" in ended.err, ended
    small_disk.resize("64m")
    ended = on_small_disk("run", "--json", *line[1:])
    assert ended.status == 1, ended
    assert ended.summary["total"] == 5_000
    on_small_disk.check_ledger("r")


def test_output_that_did_not_fit_under_out_is_not_lost_in_silence(drover, small_disk):
    small_disk.resize("64k")
    ended = drover("run", "--name", "r", "--out", small_disk.path, "--jobs", 1, "--", "head", "-c", "200000", ":::", "/dev/zero")
    assert ended.status == 1 and f"{small_disk.path / '0.out'}: No space left" in ended.err and "drover resume r" in ended.err, ended
    (state, reason), = drover.rows("r", "SELECT state, reason FROM attempts")
    assert state == "lost" and "No space left" in reason


def test_a_read_only_disk_is_named_and_what_is_on_it_can_still_be_read(on_small_disk, small_disk):
    drover = on_small_disk
    line = half_done(drover)
    small_disk.read_only(True)
    try:
        before = file_hashes(drover.data)
        for verb in (*WRITING, line, ("run", "--name", "new", "--", "true", ":::", "a")):
            drover(*verb).refuses(str(drover.data))
        for verb in READING:
            shown = drover(*verb)
            assert shown.status == 0, shown
        assert file_hashes(drover.data) == before
    finally:
        small_disk.read_only(False)
    finish(drover)


def test_a_data_folder_that_may_not_be_written_is_named(any_user, public_path):
    (public_path / "data").mkdir(mode=0o755)
    any_user("run", "--", "true", ":::", "a", as_user=NOBODY).refuses(str(public_path / "data"), "Permission denied", "--data")
    assert any_user.runs() == []


def test_another_users_run_can_be_read_but_not_changed(any_user):
    half_done(any_user)
    before = file_hashes(any_user.data)
    for verb in WRITING:
        any_user(*verb, as_user=NOBODY).refuses(str(any_user.data))
    for verb in READING:
        shown = any_user(*verb, as_user=NOBODY)
        assert shown.status == 0, shown
    assert file_hashes(any_user.data) == before
    finish(any_user)


# --- the database


def overwrite(path, at, content):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(content)


DAMAGES = {
    "its first page overwritten": lambda path: overwrite(path, 0, os.urandom(4096)),
    "its header overwritten": lambda path: overwrite(path, 0, b"something else entirely"),
    "everything behind its first page overwritten": lambda path: overwrite(path, 4096, os.urandom(path.stat().st_size - 4096)),
    "everything behind its first page zeroed": lambda path: overwrite(path, 4096, bytes(path.stat().st_size - 4096)),
    "cut to one page": lambda path: os.truncate(path, 4096),
    "cut within a page": lambda path: os.truncate(path, 5000),
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut within its header": lambda path: os.truncate(path, 50),
    "another kind of file": lambda path: path.write_text("These are my notes.\n" * 1000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_named_and_left_as_it_is(drover, damage):
    line = half_done(drover)
    copy = drover.folder / "copy.db"
    shutil.copy(drover.database("r"), copy)
    DAMAGES[damage](drover.database("r"))
    check_refused_untouched(drover, (*WRITING, *READING, line), str(drover.database("r")))
    # The copy that the error asks for brings everything back.
    for path in drover.run_folder("r").glob("drover.db*"):
        path.unlink()
    shutil.copy(copy, drover.database("r"))
    finish(drover)


def test_a_damaged_database_can_be_started_over_with_fresh(drover):
    line = half_done(drover)
    DAMAGES["its first page overwritten"](drover.database("r"))
    (drover.folder / "go").touch()
    ended = drover("run", "--fresh", *line[1:])
    assert ended.status == 0, ended
    drover.check_all_succeeded("r", 6)


def test_a_run_that_is_damaged_does_not_hide_the_others(drover):
    half_done(drover)
    assert drover("run", "--name", "other", "--", "true", ":::", "a").status == 0
    (uuid,), = drover.rows("other", "SELECT id FROM jobs")
    DAMAGES["its first page overwritten"](drover.database("r"))
    for reference in ("other", uuid, uuid[:8]):
        shown = drover("status", reference)
        assert shown.status == 0 and "run 'other'" in shown.out, shown


def test_somebody_elses_database_is_named_and_left_as_it_is(drover):
    drover.run_folder("r").mkdir(parents=True)
    connection = sqlite3.connect(drover.database("r"))
    connection.execute("CREATE TABLE photos(name)")
    connection.execute("INSERT INTO photos VALUES('sheep.jpg')")
    connection.commit()
    connection.close()
    verbs = (*WRITING, *READING, ("run", "--name", "r", "--", "true", ":::", "a"))
    check_refused_untouched(drover, verbs, str(drover.database("r")), "not a Drover ledger")


def test_a_newer_schema_is_named_and_left_as_it_is(drover):
    line = half_done(drover)

    def set_version(change):
        connection = sqlite3.connect(drover.database("r"))
        connection.execute(f"UPDATE schema_version SET version = version + {change}")
        connection.commit()
        connection.close()

    set_version(1000)
    check_refused_untouched(drover, (*WRITING, *READING, line), str(drover.database("r")), "newer")
    set_version(-1000)
    finish(drover)


def test_a_database_without_its_write_ahead_log_folder_file_is_a_whole_run(drover):
    """A run that ended can be copied as a folder, or as the one file."""
    half_done(drover)
    copied = drover.run_folder("copied")
    copied.mkdir()
    shutil.copy(drover.database("r"), copied)
    assert [item["state"] for item in drover.items("copied")] == [item["state"] for item in drover.items("r")]


# --- somebody else


def test_too_few_descriptors_for_so_many_jobs_are_named_and_the_run_goes_on_with_fewer(drover):
    line = ("run", "--name", "r", "--range", "1-50", "--", "true")
    stopped = drover(*line[:-2], "--jobs", 100, *line[-2:],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)))
    assert stopped.status in (1, 2), stopped
    assert "Too many open files" in stopped.err and "next:" in stopped.err, stopped
    assert "space" not in stopped.err, f"the next step is beside the point{stopped!r}"
    assert drover(*line).status == 0
    drover.check_all_succeeded("r", 50)


def test_of_several_that_start_the_same_run_at_once_one_runs_it(drover, tmp_path):
    line = ("run", "--name", "r", "--range", "1-200", "--", "sh", "-c", f"echo $1 >> {tmp_path}/ran", "sh")
    for started in [drover.start(*line) for _ in range(5)]:
        ended = started.done()
        if ended.status != 0:
            ended.refuses("'r'", "in use by process")
    drover.check_all_succeeded("r", 200)
    assert len((tmp_path / "ran").read_text().split()) == 200


def test_a_folder_that_another_process_holds_is_refused_and_its_pid_named(drover, gate):
    line = ("run", "--name", "r", "--", "sh", "-c", gate.word, ":::", "a")
    running = drover.start(*line)
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM grants"), "the run to be under way")
    for verb in (line, ("run", "--fresh", *line[1:]), ("resume", "r"), ("resume",)):
        drover(*verb).refuses("'r'", str(running.pid))
    assert running.alive()
    gate.open()
    assert running.done().status == 0
    drover.check_all_succeeded("r", 1)


def test_somebody_elses_write_lock_makes_a_run_wait_and_say_so(drover, gate):
    total = 400
    running = drover.start("run", "--name", "r", "--jobs", 2, "--range", f"1-{total}", "--", "sh", "-c",
                           f'test "$1" -le 50 || {gate.word}; exec sleep 0.005', "sh")
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs WHERE succeeded > 20"), "the first items")
    connection = sqlite3.connect(drover.database("r"), isolation_level=None, timeout=60)
    connection.execute("BEGIN IMMEDIATE")
    (before,), = connection.execute("SELECT succeeded FROM jobs")
    gate.open()
    wait_until(lambda: running.says("write lock"), "a word about the write lock")
    assert running.alive()
    assert connection.execute("SELECT succeeded FROM jobs").fetchall() == [(before,)] and before < total
    connection.execute("ROLLBACK")
    connection.close()
    ended = running.done()
    assert ended.status == 0, ended
    drover.check_all_succeeded("r", total)
    assert drover.rows("r", "SELECT count(*) FROM attempts WHERE state != 'succeeded'") == [(0,)]


def test_somebody_who_reads_all_the_time_does_not_stop_a_run(drover):
    total = 1_000
    running = drover.start("run", "--name", "r", "--range", f"1-{total}", "--", "true")
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs"), "the job")
    connection = sqlite3.connect(f"file:{drover.database('r')}?mode=ro", uri=True, isolation_level=None)
    connection.execute("BEGIN")
    seen = connection.execute("SELECT succeeded FROM jobs").fetchall()
    assert running.done().status == 0
    assert connection.execute("SELECT succeeded FROM jobs").fetchall() == seen
    connection.close()
    drover.check_all_succeeded("r", total)
