"""Machines on this machine have their CPUs and memory, and no more: each is a cgroup, which is gone when the machine is.

Where no cgroup can be made the server has to say so, and the tests hold it to that instead."""

import os
import pathlib
import shutil
import signal

import pytest

from drover import wait_until
from test_fleets import cgroups_of, delete_fleets, machines, nothing_is_left, set_fleet, workers_of
from test_server import Server
from test_up import Up

NOTICE = "local machines run without cgroups"
WORKER_MEMORY = 256 << 20
HOLD = "touch {runs}; until test -e {go}; do sleep 0.05; done"


@pytest.fixture
def server(drover):
    server = Server(drover, "--lease", "5s")
    yield server
    if server.running.alive():
        delete_fleets(server)


@pytest.fixture
def up(drover):
    it = Up(drover)
    yield it
    if it.running.alive():
        for _ in range(2):
            it.running.signal(signal.SIGINT)
        it.running.done()


def own_folder(controller):
    """Where version 1 has this process, if it is mounted."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        folder = pathlib.Path("/sys/fs/cgroup", controller)
        if controller in names.split(",") and folder.is_dir():
            return folder / path.lstrip("/")
    return None


def must_have_cgroups():
    """Version 1 allows this process what a server needs: then there is no excuse."""
    for controller in ("memory", "cpu"):
        folder = own_folder(controller)
        if folder is None or not folder.is_dir() or not os.access(folder, os.W_OK):
            return False
    return True


def has_cgroups(server):
    """There is a machine: either it has cgroups, or the server has said why not, once."""
    found = cgroups_of(server)
    if not found:
        assert not must_have_cgroups()
        assert bytes(server.running.error.kept).decode().count(NOTICE) == 1
    return bool(found)


def limits_of(folders):
    """(CPU quota in microseconds of 100,000, bytes of memory)"""
    cpus, memory = [], []
    for folder in map(pathlib.Path, folders):
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
            assert period == "100000"
            cpus.append(int(quota))
            memory.append(int((folder / "memory.max").read_text()))
        if (folder / "cpu.cfs_quota_us").exists():
            assert (folder / "cpu.cfs_period_us").read_text() == "100000\n"
            cpus.append(int((folder / "cpu.cfs_quota_us").read_text()))
        if (folder / "memory.limit_in_bytes").exists():
            memory.append(int((folder / "memory.limit_in_bytes").read_text()))
    (cpu,), (byte,) = cpus, memory
    return cpu, byte


def hold(server, tmp_path, name, *flags):
    """A job of one item that runs until the file it is called after is there."""
    runs, go = tmp_path / f"{name}.runs", tmp_path / f"{name}.go"
    script = "cat /proc/self/cgroup; " + HOLD.format(runs=runs, go=go)
    submitted = server.cli("submit", "--name", name, *flags, "--", "sh", "-c", script, ":::", "a")
    assert submitted.status == 0, submitted
    wait_until(runs.exists, f"the item of {name} to run")
    return go


def test_an_item_is_in_a_cgroup_with_its_machines_size(server, tmp_path):
    set_fleet(server, "f", most=1, shapes=["c6g.medium"])
    go = hold(server, tmp_path, "j")
    if has_cgroups(server):
        (cpus, memory), = server.rows("SELECT milli_cpus, memory_bytes FROM machines")
        assert cpus == 1000 and 0 < memory <= 2 << 30
        assert limits_of(cgroups_of(server)) == (100_000, memory + WORKER_MEMORY)
        name, = machines(server, "f")
        (_, worker), = workers_of(server)
        command = pathlib.Path(f"/proc/{worker}/cmdline").read_text().split("\0")
        assert command[command.index("--cpus") + 1] == "1.000"
        assert command[command.index("--memory") + 1] == str(memory)
        go.touch()
        assert server.ends("j")["state"] == "succeeded"
        printed = {line.split(":")[1]: line.split(":", 2)[2] for line in server.cli("logs", "j:0").out.splitlines()}
        where = [printed["memory"], printed["cpu"]] if "memory" in printed else [printed[""]]
        assert all(f".{name}/" in path or path.endswith(f".{name}") for path in where), printed
    go.touch()
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: nothing_is_left(server), "the machine to leave")
    assert cgroups_of(server) == []


def test_an_item_that_takes_more_than_its_machine_has_hurts_nobody_else(server, tmp_path):
    set_fleet(server, "tight", most=1, shapes=["t3.nano"], idle_s=60)
    set_fleet(server, "other", most=1, shapes=["small"], idle_s=60)
    for name in ("tight", "other"):
        assert server.cli("queue", "set", name, "--fleet", name).status == 0
    go = hold(server, tmp_path, "calm", "--queue", "other")
    before = workers_of(server)
    hog = "data = b'x' * (900 << 20); print(len(data))"
    submitted = server.cli("submit", "--name", "hog", "--queue", "tight", "--retries", "0", "--", "python3", "-c", hog, ":::", "a")
    assert submitted.status == 0, submitted
    ended = server.ends("hog")
    if has_cgroups(server):
        assert ended["state"] == "failed", ended
        assert "out_of_memory" in server.cli("items", "hog").out
        assert server.cli("logs", "hog:0").out == ""
    # Its machine is as good as before.
    assert server.cli("submit", "--name", "next", "--queue", "tight", "--", "true", ":::", "a").status == 0
    assert server.ends("next")["state"] == "succeeded"
    assert set(before) <= set(workers_of(server))
    go.touch()
    assert server.ends("calm")["state"] == "succeeded"
    assert server.rows("SELECT count(*) FROM attempts WHERE job_name = 'calm'") == [(1,)]
    delete_fleets(server)
    wait_until(lambda: nothing_is_left(server), "the machines to leave")
    assert cgroups_of(server) == []


def test_nothing_is_left_after_ctrl_c(up, tmp_path):
    hold(up, tmp_path, "j").touch()
    assert up.ends("j")["state"] == "succeeded"
    has_cgroups(up)
    up.interrupt()
    assert cgroups_of(up) == [] and nothing_is_left(up) and up.drover.left_over() == {}


@pytest.mark.parametrize("worker_too", [False, True])
def test_nothing_is_left_after_the_server_is_killed_and_comes_back(server, tmp_path, worker_too):
    set_fleet(server, "f", most=1, shapes=["small"], idle_s=60)
    go = hold(server, tmp_path, "j")
    had_cgroups = has_cgroups(server)
    (name, worker), = workers_of(server)
    server.kill()
    if worker_too:
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: server.drover.left_over() == {}, "the worker and its item to end")
    assert bool(cgroups_of(server)) == had_cgroups
    go.touch()
    server.start()
    assert server.ends("j")["state"] == "succeeded"
    if worker_too:
        wait_until(lambda: not any(one.endswith(name) for one in cgroups_of(server)), "the cgroup of the killed machine to be removed")
    delete_fleets(server)
    wait_until(lambda: nothing_is_left(server), "the machine to leave")
    assert cgroups_of(server) == []


def test_a_worker_keeps_working_for_a_server_that_may_return_and_ends_when_its_folder_is_deleted(server, tmp_path):
    set_fleet(server, "f", most=1, shapes=["small"], idle_s=60)
    go = hold(server, tmp_path, "one")
    script = HOLD.format(runs=tmp_path / "two.runs", go=tmp_path / "never")
    assert server.cli("submit", "--name", "two", "--", "sh", "-c", script, ":::", "a").status == 0
    (_, worker), = workers_of(server)
    left = cgroups_of(server)
    server.kill()
    go.touch()
    spool = server.drover.data / "workers"
    wait_until(lambda: any(path.stat().st_size for path in spool.glob("*/spool/index")), "the result to be kept for the server")
    log, = (server.drover.data / "server/machines/f").glob("*/log")
    wait_until(lambda: "trying again" in log.read_text(), "the worker to find that the server is away")
    assert worker in server.drover.left_over()
    written = open(log)
    shutil.rmtree(server.drover.data)
    wait_until(lambda: server.drover.left_over() == {}, "the worker to end")
    assert "was deleted" in written.read()
    for folder in left:  # the next server on this machine would do it
        assert pathlib.Path(folder, "cgroup.procs").read_text() == ""
        os.rmdir(folder)
