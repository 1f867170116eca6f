"""Workers of different sizes and labels, and jobs that ask for some of what they have: what runs side by side has room, large items
get done among small ones, and what nobody may run waits for somebody who may."""

import collections
import shlex
import sys

import pytest

from drover import wait_until
from test_server import Server, check_all_succeeded_once, submit, worker


@pytest.fixture
def server(drover):
    return Server(drover)


class Diary:
    """Where items write down when they begin and end, in the order in which it happens."""

    def __init__(self, path):
        self.path = path

    def words(self, name, seconds):
        note = f"echo {{}} {name} $DROVER_ITEM_INDEX >> {shlex.quote(str(self.path))}"
        return ["--", "sh", "-c", f"{note.format('begin')}; sleep {seconds}; {note.format('end')}", "{}"]

    def lines(self):
        return [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def begun(self, name):
        return sum(line[:2] == ["begin", name] for line in self.lines())


def most_side_by_side(server, diary, asks):
    """The most CPUs and memory that were asked for at a time on each worker, and the most items."""
    ran_on = {(name, item): on for name, item, on in server.rows("SELECT job_name, item, worker FROM items")}
    now, most = collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(lambda: [0, 0, 0])
    for what, name, item in diary.lines():
        on = ran_on[name, int(item)]
        for i, amount in enumerate((*asks[name], 1)):
            now[on][i] += amount if what == "begin" else -amount
            most[on][i] = max(most[on][i], now[on][i])
    return most


def test_what_runs_side_by_side_has_room_and_the_large_get_done(server, tmp_path):
    diary = Diary(tmp_path / "diary")
    asks = {"halves": (0.5, 0), "usual": (1, 0), "whole": (4, 0), "roomy": (0.5, 2), "there": (1, 0)}
    flags = {"halves": ["--range", "1-60", "--cpus", "0.5"], "usual": ["--range", "1-30"], "whole": ["--range", "1-3", "--cpus", "4"],
             "roomy": ["--range", "1-8", "--cpus", "0.5", "--memory", "2GiB"],
             "there": ["--range", "1-6", "--cpus", "1", "--require", "zone=b"]}
    for name in asks:
        submit(server, name, *flags[name], *diary.words(name, 0.3))
    worker(server, "--memory", "4GiB", "--label", "zone=a", name="large", cpus=4)
    worker(server, "--memory", "1GiB", "--label", "zone=b", "--label", "spot=", name="small", cpus=1)
    for name, items in (("halves", 60), ("usual", 30), ("whole", 3), ("roomy", 8), ("there", 6)):
        assert server.ends(name)["state"] == "succeeded"
        check_all_succeeded_once(server, name, items)
    most = most_side_by_side(server, diary, asks)
    assert most["large"][0] <= 4 and most["large"][1] <= 4 and most["small"][0] <= 1 and most["small"][1] == 0, dict(most)
    assert most["large"][2] >= 5, f"halves of a CPU run two to a CPU: {dict(most)}"
    where = server.rows("SELECT DISTINCT job_name, worker FROM items WHERE job_name IN ('whole', 'roomy', 'there') ORDER BY 1")
    assert where == [("roomy", "large"), ("there", "small"), ("whole", "large")]
    shown, = [it for it in server.ask("GET", "/api/v1/workers")[1]["workers"] if it["name"] == "small"]
    assert (shown["cpus"], shown["memory_bytes"], shown["labels"]) == (1, 1 << 30, {"spot": "", "zone": "b"})


def test_a_large_item_is_not_kept_out_by_a_stream_of_small_ones(server, tmp_path):
    diary = Diary(tmp_path / "diary")
    submit(server, "first", "--range", "1-4", *diary.words("first", 1.5))
    worker(server, name="w", cpus=2)
    wait_until(lambda: diary.begun("first") >= 2, "both CPUs to be busy")
    submit(server, "large", "--range", "1-1", "--cpus", "2", *diary.words("large", 0.1))
    for i in range(20):
        submit(server, f"small-{i}", "--range", "1-5", *diary.words("small", 0.2))
    assert server.ends("large")["state"] == "succeeded"
    before_it = server.rows("SELECT count(*) FROM attempts WHERE job_name LIKE 'small-%' AND started_ms < "
                            "(SELECT started_ms FROM attempts WHERE job_name = 'large')")
    assert before_it[0][0] < 20, "it ran in its turn, and not when all the small ones were done"


def test_a_job_waits_for_a_worker_that_may_run_it(server, tmp_path):
    diary = Diary(tmp_path / "diary")
    submit(server, "elsewhere", "--range", "1-2", "--require", "zone=c", *diary.words("elsewhere", 0))
    submit(server, "huge", "--range", "1-2", "--cpus", "3", *diary.words("huge", 0))
    submit(server, "here", "--range", "1-20", *diary.words("here", 0))
    worker(server, "--label", "zone=a", name="w", cpus=2)
    assert server.ends("here")["state"] == "succeeded"
    assert diary.begun("elsewhere") == diary.begun("huge") == 0
    for name, words in (("elsewhere", "zone=c"), ("huge", "3 CPUs")):
        job = server.job(name)
        assert job["state"] == "running" and job["counts"]["pending"] == 2, job
        assert words in job["waits_for"], job
        assert words in server.cli("status", name).out
    worker(server, "--label", "zone=c", name="right", cpus=1)
    assert server.ends("elsewhere")["state"] == "succeeded"
    assert diary.begun("huge") == 0
    worker(server, name="strong", cpus=3)
    assert server.ends("huge")["state"] == "succeeded"
    assert server.job("huge")["waits_for"] is None


def test_no_more_items_at_a_time_than_jobs_says(server, tmp_path):
    diary = Diary(tmp_path / "diary")
    submit(server, "tiny", "--range", "1-30", "--cpus", "0.1", *diary.words("tiny", 0.3))
    worker(server, "--jobs", "3", name="w", cpus=2)
    assert server.ends("tiny")["state"] == "succeeded"
    most = most_side_by_side(server, diary, {"tiny": (0.1, 0)})
    assert most["w"][2] == 3, dict(most)


def test_a_restarted_server_knows_what_its_workers_have(server, tmp_path):
    diary = Diary(tmp_path / "diary")
    worker(server, "--label", "zone=a", name="w", cpus=2)
    server.kill()
    server.start()
    submit(server, "not-here", "--range", "1-2", "--require", "zone=b", *diary.words("not-here", 0))
    submit(server, "too-large", "--range", "1-2", "--cpus", "2.5", *diary.words("too-large", 0))
    submit(server, "here", "--range", "1-10", "--cpus", "2", "--require", "zone=a", *diary.words("here", 0.01))
    assert server.ends("here")["state"] == "succeeded"
    most = most_side_by_side(server, diary, {"here": (2, 0)})
    assert most["w"][0] == 2 and {line[1] for line in diary.lines()} == {"here"}


@pytest.mark.parametrize("flags", [["--require", "zone"], ["--require", "zo ne=a"], ["--require", "zone=a", "--require", "zone=b"]])
def test_what_cannot_be_required_is_refused(server, flags):
    server.cli("submit", *flags, "--range", "1-2", "--", "true").refuses("--require")


def test_what_cannot_be_a_label_is_refused(server):
    server.drover("worker", "--label", "zone").refuses("--label")
    status, problem = server.ask("POST", "/api/v1/jobs", {"command": ["true"], "range": [1, 2], "require": {"a b": "c"}})
    assert status == 400 and "require" in problem["detail"], problem


def test_a_retry_with_more_memory_is_held_to_more(server):
    """An item that ran out of memory is given more, and has it."""
    worker(server, cpus=1)
    takes_200_mib = "import sys; b = bytearray(200 << 20); b[::4096] = b'x' * len(b[::4096]); print(len(b))"
    submit(server, "hungry", "--memory", "64MiB", "--", sys.executable, "-c", takes_200_mib, ":::", "1")
    assert server.ends("hungry")["state"] == "failed"
    assert server.ask("POST", "/api/v1/jobs/hungry/retry", {"memory": "1GiB"})[0] == 200
    assert server.ends("hungry")["state"] == "succeeded"
