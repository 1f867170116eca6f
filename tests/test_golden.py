"""Ledgers that earlier versions wrote. tests/golden/schema-N.sql is one of version N, as the sqlite3 shell dumps it."""

import pathlib
import sqlite3

import pytest

GOLDEN = sorted(pathlib.Path(__file__).with_name("golden").glob("schema-*.sql"))


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def old_run(request, drover):
    folder = drover.run_folder("old")
    folder.mkdir(parents=True)
    connection = sqlite3.connect(folder / "drover.db")
    connection.executescript(request.param.read_text())
    connection.close()
    return "old"


def test_there_is_one_of_every_version_before_this_one(drover):
    now = drover("version", "--json").json_lines[-1]["schema"]
    assert [path.stem for path in GOLDEN] == [f"schema-{version}" for version in range(1, now)]


def test_a_reader_says_how_to_bring_it_forward(drover, old_run):
    drover("items", old_run).refuses("older", "drover resume")


def test_it_is_brought_forward_with_all_that_it_knew(drover, old_run):
    assert drover("resume", old_run).status == 1  # one of its items failed for good
    drover.check_ledger(old_run)
    items = drover.items(old_run)
    assert [item["state"] for item in items] == ["succeeded"] * 3 + ["failed"] + ["succeeded"] * 2
    assert [item["attempts"] for item in items] == [1, 1, 1, 2, 1, 1]
    assert drover.rows(old_run, "SELECT exit_code, log_bytes FROM items WHERE state = 'failed'") == [(3, 0)]


def test_what_failed_then_can_run_again_now(drover, old_run):
    retried = drover("retry", old_run)
    assert retried.status == 1, retried
    drover.check_ledger(old_run)
    assert drover.rows(old_run, "SELECT max(attempt) FROM attempts WHERE item = 3") == [(4,)]
    assert "no four" in drover("logs", f"{old_run}:3").out


def test_the_longest_of_its_items_are_found(drover, old_run):
    drover("resume", old_run)
    longest = drover("items", old_run, "--sort", "duration", "--limit", 10, "--json").json_lines
    assert len(longest) == 6
