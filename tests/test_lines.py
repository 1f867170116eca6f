"""Workers on slow lines, and workers that are in each other's way."""

import time

import pytest

from drover import Drover, wait_until
from slow_line import SlowLine
from test_server import Server, check_all_succeeded_once, submit, worker


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", "6s")


def behind(server, line, *flags, name="slow"):
    running = server.drover.start("worker", "--name", name, "--cpus", 1, "--server", line.address, *flags, env={"DROVER_KEY": server.key})
    wait_until(lambda: running.says("registered") or not running.alive(), "the worker to register")
    return running


def test_a_log_that_takes_longer_than_a_lease_arrives_once(server):
    line = SlowLine(server.address, up=400_000)
    behind(server, line)
    submit(server, "loud", "--", "sh", "-c", "head -c 9000000 /dev/urandom | od -An -v -tx1 | head -c 9000000", ":::", "a")
    ended = server.ends("loud")
    assert ended["counts"]["succeeded"] == 1
    check_all_succeeded_once(server, "loud", 1)
    assert server.rows("select count(*) from attempts") == [(1,)]
    assert len(server.cli("logs", "loud:0").out) == 9_000_000
    assert line.brought_up < 2 * sum(path.stat().st_size for path in (server.drover.data / "server/logs").iterdir())
    line.close()


def test_many_logs_that_wait_for_the_server_arrive_piece_by_piece(server):
    line = SlowLine(server.address)
    running = behind(server, line)
    submit(server, "loud", "--range", "1-40", "--", "sh", "-c", "head -c 300000 /dev/urandom | od -An -v -tx1", "{}")
    wait_until(lambda: server.job("loud")["counts"]["succeeded"] >= 1, "the first to end")
    server.kill()
    time.sleep(5)
    server.start()
    assert server.ends("loud")["counts"]["succeeded"] == 40
    check_all_succeeded_once(server, "loud", 40)
    for item in (0, 20, 39):
        assert len(server.cli("logs", f"loud:{item}").out.splitlines()) == 18_750
    peak, = (int(line.split()[1]) for line in open(f"/proc/{running.pid}/status") if line.startswith("VmHWM"))
    assert peak < 256 << 10
    line.close()


def test_items_that_take_longer_than_a_lease_to_arrive_run_once(server, tmp_path):
    (tmp_path / "list").write_text("".join(f"{index:05}{'x' * 90_000}\n" for index in range(16)))
    line = SlowLine(server.address, down=120_000)
    behind(server, line)
    submit(server, "wide", "--items", tmp_path / "list", "--", "sh", "-c", 'printf %s "$1" | head -c 5; printf %s "$1" | wc -c', "sh")
    assert server.ends("wide")["counts"]["succeeded"] == 16
    check_all_succeeded_once(server, "wide", 16)
    assert server.rows("select count(*) from attempts") == [(16,)]
    assert server.cli("logs", "wide:7").out == "0000790005\n"
    line.close()


def test_a_second_worker_of_one_name_is_refused_on_this_machine(server):
    worker(server, name="twin")
    second = server.drover("worker", "--name", "twin", env={"DROVER_SERVER": server.address})
    second.refuses("'twin'", "--name")


def test_of_two_workers_with_one_name_on_two_machines_one_goes_and_the_work_is_done(server, tmp_path):
    twins = []
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        machine = Drover(tmp_path / place)
        twins.append(machine.start("worker", "--name", "twin", "--cpus", 1, "--server", server.address, env={"DROVER_KEY": server.key}))
    wait_until(lambda: sum(twin.alive() for twin in twins) == 1, "one of them to go")
    gone, = [twin for twin in twins if not twin.alive()]
    gone.done().refuses("another worker has registered as 'twin'", "--name")
    submit(server, "work", "--range", "1-20", "--", "true")
    assert server.ends("work")["counts"]["succeeded"] == 20
    for twin in twins:
        if twin.alive():
            twin.kill()


def test_a_worker_that_goes_when_idle_does_not_go_from_work(server, gate):
    submit(server, "first", "--", "sh", "-c", gate.word, "{}", ":::", "a")
    running = worker(server, "--exit-when-idle", cpus=1)
    wait_until(lambda: server.job("first")["counts"]["running"] == 1, "the first to run")
    time.sleep(3)
    submit(server, "second", "--range", "1-5", "--", "true")
    gate.open()
    assert running.done().status == 0
    assert server.job("second")["counts"]["succeeded"] == 5
