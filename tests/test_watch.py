"""drover status --watch in a real terminal (tmux): a server's jobs and workers, one job, a run; resized, stopped, left."""

import re

import pytest

from drover import BINARY, wait_until
from test_server import Server, submit, worker

SIZES = [(80, 24), (200, 50)]
BAR = "▕"


@pytest.fixture
def busy(drover, gate):
    """A server with a worker, a job that ended, one of which 4 of 12 have ended, and one that nobody can run."""
    server = Server(drover)
    worker(server, "--label", "zone=a", name="gpu-7")
    submit(server, "over", "--range", "1-20", "--", "true")
    server.ends("over")
    submit(server, "half", "--range", "1-12", "--", "sh", "-c",
           f'[ "$1" -gt 2 ] || {{ echo "broken $1" >&2; exit 3; }}; [ "$1" -lt 5 ] || {gate.word}', "sh")
    wait_until(lambda: sum(server.job("half")["counts"][state] for state in ("succeeded", "failed")) == 4, "four of twelve")
    submit(server, "huge", "--memory", "900TiB", "--range", "1-3", "--", "true")
    return server


def watching(*words):
    """It, after some lines of somebody else and before the status."""
    return ("sh", "-c", 'trap : INT; echo before; "$@"; echo "[status $?]"; exec cat', "sh", BINARY, "status", "--watch", *map(str, words))


def row(shown, name):
    found, = [line for line in shown.lines() if line.startswith(name)]
    return found


@pytest.mark.parametrize("columns, rows", SIZES)
def test_jobs_and_workers(busy, gate, terminal, columns, rows):
    shown = terminal(columns, rows, *watching(), env={"DROVER_SERVER": busy.address})
    shown.wait_for("JOB", "WORKER", "half", "over", "gpu-7", "q: quit", "2 running, 1 ended, 1 worker", "33.3 %", "4/12", "100 %", "waits: needs 900",
                   "zone=a")
    assert max(map(len, shown.lines())) < columns and busy.address in shown.lines()[0]
    half = row(shown, "half")
    assert BAR in half and "33.3 %" in half and "4/12" in half and " 2 " in half, half
    assert "succeeded" in row(shown, "over") and "100 %" in row(shown, "over")
    assert "waits: needs 900" in row(shown, "huge")
    assert "zone=a" in row(shown, "gpu-7")
    order = [line.split()[0] for line in shown.lines() if line.startswith(("huge", "half", "over"))]
    assert order == ["huge", "half", "over"], "what runs comes first, the newest at the top"
    gate.open()
    shown.wait_for("12/12", "1 running, 2 ended")
    shown.type("q")
    shown.wait_for("before", "[status 0]")
    assert BAR not in shown.everything(), "what stood there before is back, and nothing else"


def test_it_is_drawn_anew_each_second(busy, terminal):
    shown = terminal(80, 24, *watching(), env={"DROVER_SERVER": busy.address})
    shown.wait_for("half")
    first = shown.lines()[0]
    wait_until(lambda: shown.lines()[0][-8:] != first[-8:], "the clock to go on", 30)


def test_resizing(busy, terminal):
    shown = terminal(200, 50, *watching(), env={"DROVER_SERVER": busy.address})
    shown.wait_for("RUNNING")
    for columns, rows in ((80, 24), (30, 8), (9, 3), (1, 1), (200, 50)):
        shown.resize(columns, rows)
        wait_until(lambda: len(shown.lines()) <= rows and max(map(len, shown.lines()), default=0) <= max(1, columns - 1), f"{columns} x {rows}")
    shown.wait_for("RUNNING", "q: quit")


def test_rates_and_time_left(drover, terminal):
    server = Server(drover)
    worker(server, name="w", cpus=4)
    submit(server, "steady", "--range", "1-100000", "--cpus", "0.5", "--", "sh", "-c", "sleep 0.1")
    shown = terminal(100, 24, *watching(), env={"DROVER_SERVER": server.address})
    wait_until(lambda: re.search(r"steady .*\d/s +\S+.*(min|h|s)", shown.screen()), "a rate and a time left")
    one = terminal(80, 24, *watching("steady"), env={"DROVER_SERVER": server.address})
    wait_until(lambda: re.search(r"(min|h|s) left +[\d,.]+ items/s", one.screen()), "the same of one job")
    assert server.cli("cancel", "steady").status == 0
    shown.wait_for("cancelled")


def test_one_job(busy, gate, terminal):
    shown = terminal(80, 24, *watching("half"), env={"DROVER_SERVER": busy.address})
    shown.wait_for("half", BAR, "4 of 12 done", "2 failed", "#0", "broken 1", "exit code 3", "q: quit")
    gate.open()
    shown.wait_for("12 of 12 done", "100 %")
    shown.type("C-c")
    shown.wait_for("[status 0]")


def test_a_run_on_this_machine(drover, gate, terminal):
    running = drover.start("run", "--name", "r", "--jobs", 2, "--range", "1-5", "--", "sh", "-c", f'[ "$1" -lt 3 ] || {gate.word}', "sh")
    wait_until(lambda: drover("status", "r").status == 0, "the run to be there")
    shown = terminal(80, 24, *watching("r"))
    shown.wait_for("2 of 5 done", "2 running", "running  #")
    gate.open()
    assert running.done().status == 0
    shown.wait_for("5 of 5 done", "succeeded")
    shown.type("q")
    shown.wait_for("[status 0]")


def test_stopped_and_continued(busy, terminal):
    shown = terminal(80, 24, "bash", "--norc", "-i", env={"DROVER_SERVER": busy.address, "PS1": "now> "})
    shown.wait_for("now>")
    shown.type(f"{BINARY} status --watch", "Enter")
    shown.wait_for("gpu-7")
    shown.type("C-z")
    shown.wait_for("Stopped", "now>")
    assert "gpu-7" not in shown.screen()
    shown.type("fg", "Enter")
    shown.wait_for("gpu-7", "q: quit")
    shown.type("q")
    shown.wait_for("now>")
    shown.type("echo st''ill", "Enter")
    shown.wait_for("still")


def test_the_server_goes_and_comes_back(busy, terminal):
    shown = terminal(120, 24, *watching(), env={"DROVER_SERVER": busy.address})
    shown.wait_for("half")
    busy.kill()
    shown.wait_for("no response for", "half")
    busy.start()
    shown.wait_for("1 worker")
    wait_until(lambda: "no response" not in shown.screen(), "an answer")


def test_without_a_terminal(busy, drover):
    busy.cli("status", "--watch").refuses("terminal")
    busy.cli("status", "--watch", "--json").refuses("--json")
    drover("status", "--watch").refuses("terminal")


def test_what_is_not_there(busy, terminal):
    shown = terminal(80, 24, *watching("no-such-job"), env={"DROVER_SERVER": busy.address})
    shown.wait_for("job 'no-such-job' not found", "[status 2]")


def test_nobody_answers_at_the_start(terminal):
    shown = terminal(80, 24, *watching(), env={"DROVER_SERVER": "http://127.0.0.1:1", "DROVER_KEY": "a.b"})
    shown.wait_for("drover:", "next:", "[status 2]")
