"""Workers whose server is away or whose disk is full: they keep what has ended, in bounded memory, and catch up."""

import pathlib
import re
import signal
import socket
import threading

import pytest

from drover import wait_until
from test_server import Server, check_all_succeeded_once, submit, worker


def rss_mib(pid):
    """How much memory a process uses."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def results_in_spool(data, name="w1"):
    """How many records the index of a worker's spool holds."""
    path = pathlib.Path(data) / "workers" / name / "spool/index"
    try:
        rest = path.read_bytes()
    except FileNotFoundError:
        return 0
    count = 0
    while len(rest) >= 16:
        rest = rest[16 + int.from_bytes(rest[:8], "little"):]
        count += 1
    return count


class Deaf:
    """Takes the place of a server that was killed, and hangs up on every local worker that calls."""

    def __init__(self, server):
        path = server.drover.data / "server/api.sock"
        path.unlink()
        self.calls = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.hang_up)
        self.thread.start()

    def hang_up(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            self.calls += 1
            caller.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def noise(tmp_path):
    """A file of 400 KB that does not compress well."""
    path = tmp_path / "noise"
    with open("/dev/urandom", "rb") as random:
        path.write_text("".join(random.read(60).hex() + "\n" for _ in range(3_300)))
    return path


def test_memory_is_bounded_while_the_server_is_away_and_everything_arrives(drover, noise):
    # Short leases make the worker try again often: each failed call counts, not the time.
    server = Server(drover, "--lease", "3s")
    running = worker(server)
    items = 600
    submit(server, "loud", "--range", f"1-{items}", "--", "sh", "-c", f"cat {noise}; echo item {{}}")
    wait_until(lambda: server.job("loud")["counts"]["succeeded"] >= 20, "some to end")
    before = rss_mib(running.pid)
    server.kill()
    wait_until(lambda: running.says("trying again"), "the worker to notice")
    spooled = 0

    def nothing_more_ends():
        nonlocal spooled
        before, spooled = spooled, results_in_spool(drover.data)
        return spooled > 5 and spooled == before

    wait_until(nothing_more_ends, "the worker to have run what it had")
    most = 0
    with Deaf(server) as deaf:
        while deaf.calls < 50:
            calls = deaf.calls
            wait_until(lambda: deaf.calls > calls, "the worker to try again")
            most = max(most, rss_mib(running.pid))
    assert most < before + 96
    assert results_in_spool(drover.data) >= spooled
    server.start()
    assert server.ends("loud", 300)["counts"]["succeeded"] == items
    assert rss_mib(running.pid) < before + 96
    check_all_succeeded_once(server, "loud", items)
    for item in (0, items // 2, items - 1):
        (attempt,), = server.rows(f"select attempt from items where item = {item}")  # the first, unless a lease was lost
        assert server.cli("logs", f"loud:{item}", "--attempt", attempt).out == noise.read_text() + f"item {item + 1}\n"
    wait_until(lambda: results_in_spool(drover.data) == 0, "the spool to be emptied")


def test_results_that_ended_while_the_server_was_away_survive_a_restart_of_the_worker(drover, gate, noise, tmp_path):
    server = Server(drover)
    running = worker(server)
    ran = tmp_path / "ran"
    submit(server, "kept", "--range", "1-2", "--shell", "--", f"{gate.word}; cat {noise}; echo {{}} >> {ran}; [ {{}} = 1 ]")
    wait_until(lambda: server.job("kept")["counts"]["running"] == 2, "both to run")
    server.kill()
    gate.open()
    wait_until(lambda: results_in_spool(drover.data) == 2, "both to be in the spool")
    running.kill()

    again = drover.start("worker", "--name", "w1", "--cpus", 2, "--server", server.address, env={"DROVER_KEY": server.key})
    wait_until(lambda: again.says("reporting 2 results"), "the next process to find them")
    server.start()
    job = server.ends("kept")
    assert (job["counts"]["succeeded"], job["counts"]["failed"]) == (1, 1)
    assert server.rows("select item, attempt, state from attempts order by item") == [(0, 1, "succeeded"), (1, 1, "failed")]
    assert sorted(ran.read_text().split()) == ["1", "2"]  # each of them once
    for item in (0, 1):
        assert server.cli("logs", f"kept:{item}").out == noise.read_text()
    wait_until(lambda: again.says("registered"), "it to take new work")
    submit(server, "next", "--range", "1-2", "--", "true")
    assert server.ends("next")["counts"]["succeeded"] == 2


def test_a_worker_that_is_stopped_while_its_server_is_away_keeps_its_results(drover, gate):
    server = Server(drover)
    running = worker(server)
    submit(server, "kept", "--shell", "--", f"{gate.word}; echo said {{}}", ":::", "a")
    wait_until(lambda: server.job("kept")["counts"]["running"] == 1, "it to run")
    server.kill()
    gate.open()
    wait_until(lambda: results_in_spool(drover.data) == 1, "it to be in the spool")
    running.signal(signal.SIGTERM)
    wait_until(lambda: running.says("stopping"), "the worker to hear it")
    running.signal(signal.SIGTERM)
    ended = running.done()
    assert ended.status != 0 and "1 result" in ended.err and "start the worker again" in ended.err, ended
    server.start()
    worker(server)
    assert server.ends("kept")["counts"]["succeeded"] == 1
    assert server.rows("select attempt, state from attempts") == [(1, "succeeded")]
    assert server.cli("logs", "kept:0").out == "said a\n"


@pytest.fixture
def on_full_disk(drover, on_small_disk, small_disk):
    """A server with room, and a worker whose disk was filled by its items: (server, worker)."""
    server = Server(drover)
    submit(server, "loud", "--shell", "--", "head -c 12000000 /dev/urandom | base64 -w 99; echo item {}", ":::", "a", "b")
    small_disk.resize("2m")
    running = on_small_disk.start("worker", "--name", "w1", "--cpus", 2, "--server", server.address, env={"DROVER_KEY": server.key})
    wait_until(lambda: running.says("cannot be written") or not running.alive(), "the worker to say what is wrong")
    assert running.alive(), running.done()
    return server, running


def test_a_worker_whose_disk_was_full_goes_on_when_there_is_room(on_full_disk, small_disk):
    server, running = on_full_disk
    wait_until(lambda: server.ask("GET", "/api/v1/workers/w1")[1]["state"] == "alive", "its polls to go on")
    small_disk.resize("64m")
    assert server.ends("loud")["counts"]["succeeded"] == 2
    wait_until(lambda: running.says("the spool has space again"), "the worker to say so")
    check_all_succeeded_once(server, "loud", 2)
    encoded = (12_000_000 + 2) // 3 * 4
    for item, name in enumerate("ab"):
        text = server.cli("logs", f"loud:{item}").out
        assert len(text) == encoded + -(-encoded // 99) + len("item a\n") and text.endswith(f"item {name}\n")
    submit(server, "next", "--range", "1-20", "--", "true")
    assert server.ends("next")["counts"]["succeeded"] == 20


def test_a_worker_whose_disk_is_full_returns_its_items_and_exits_when_it_is_told(on_full_disk, drover):
    server, running = on_full_disk
    running.signal(signal.SIGTERM)
    ended = running.done()
    assert ended.status != 0 and "cannot be written" in ended.err, ended
    assert server.ask("GET", "/api/v1/workers/w1")[1]["state"] == "left"
    assert server.job("loud")["counts"]["failed"] == 0
    worker(server, name="w2")
    assert server.ends("loud")["counts"]["succeeded"] == 2
    check_all_succeeded_once(server, "loud", 2)


def test_items_of_a_strict_job_are_killed_when_their_lease_runs_out(drover, tmp_path):
    server = Server(drover, "--lease", "3s")
    worker(server)
    first, second = tmp_path / "first", tmp_path / "second"
    command = f"[ -e {second} ] && exit 0; echo $$ > {tmp_path}/{{}}.new; mv {tmp_path}/{{}}.new {first}.{{}}; exec sleep 1000"
    submit(server, "strict", "--strict-lease", "--shell", "--", command, ":::", "strict")
    submit(server, "lenient", "--shell", "--", command, ":::", "lenient")
    pids = [int(wait_until(lambda: (path := pathlib.Path(f"{first}.{name}")).exists() and path.read_text(), "it to run"))
            for name in ("strict", "lenient")]
    server.kill()
    wait_until(lambda: not pathlib.Path(f"/proc/{pids[0]}").exists(), "the strict one to be killed")
    assert pathlib.Path(f"/proc/{pids[1]}").exists()
    second.touch()
    server.start()
    assert server.ends("strict")["counts"]["succeeded"] == 1
    assert [state for state, in server.rows("select state from attempts where job_name = 'strict' order by attempt")][-1] == "succeeded"
