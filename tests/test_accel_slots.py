"""Items that ask for accelerators: each has devices of its own, and sees no others, in `drover run` and on workers, as processes and in containers."""

import json
import os
import pathlib
import random
import signal
import stat
import threading
import time
import uuid

import pytest

from driver_root import MAJOR, DriverRoot
from drover import wait_until
from test_in_containers import catalogue  # noqa: F401 (a fixture)
from test_server import Server, submit, worker

@pytest.fixture
def chance():
    seed = int(os.environ.get("DROVER_SEED") or random.SystemRandom().randrange(2**32))
    print(f"again with the same numbers: DROVER_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def driver(tmp_path):
    """Devices are locked for the whole machine: these are nobody else's."""
    return DriverRoot(tmp_path / "driver", uuids=[f"GPU-{uuid.uuid4()}" for _ in range(4)], neuron=0)


@pytest.fixture
def environment(driver, tmp_path):
    locks = tmp_path / "locks"
    locks.mkdir()
    return {"NVIDIA_CTK_CONFIG_FILE_PATH": str(driver.settings(tmp_path / "config.toml")), "LOCKS": str(locks)}


@pytest.fixture
def use(script):
    """Prints the GPUs that it was given, and sleeps. Ends with 9 if somebody else has one of them; a lock goes with its process, however that ends."""
    return script("use", """
        devices=$CUDA_VISIBLE_DEVICES
        case "$devices" in *,*) exec flock -n -E 9 $LOCKS/${devices%,*} flock -n -E 9 $LOCKS/${devices#*,} sh -c "echo $devices; sleep $1" ;;
        esac
        exec flock -n -E 9 $LOCKS/$devices sh -c "echo $devices; sleep $1" """)


def outputs(drover, name, count):
    return [drover("logs", f"{name}:{index}").out.strip() for index in range(count)]


def test_each_item_of_a_run_has_a_gpu_of_its_own(drover, environment, use):
    done = drover.run("--name", "r", "--gpus", 1, "-j", 16, "--range", "1-24", "--", use, 0.05, env=environment)
    assert done.status == 0, done
    assert set(outputs(drover, "r", 24)) == {"0", "1", "2", "3"}


def test_items_are_told_which_are_theirs(drover, environment, driver):
    done = drover.run("--name", "r", "--accelerator", "nvidia=2", "-j", 1, "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $DROVER_SLOT",
                      ":::", "a", env=environment)
    assert done.status == 0, done
    assert outputs(drover, "r", 1) == [f"{driver.uuids[0]},{driver.uuids[1]} PCI_BUS_ID 0"]


def test_runs_on_one_machine_share_its_gpus(drover, environment, use):
    first = drover.start("run", "--name", "long", "--gpus", 3, "--shell", "--", "sleep 60 # {}", ":::", "a", env=environment)
    wait_until(lambda: drover("items", "long", "--state", "running", "--json").json_lines, "the first to run")
    second = drover.run("--name", "second", "--gpus", 1, "--range", "1-3", "--", use, 0.05, env=environment)
    assert second.status == 0 and outputs(drover, "second", 3) == ["3", "3", "3"], second
    drover("run", "--name", "third", "--gpus", 2, "--range", "1-3", "--", use, 0.05, env=environment).refuses("others", "wait until")
    first.signal(signal.SIGKILL)
    first.done()
    third = drover.run("--name", "third", "--gpus", 2, "--range", "1-3", "--", use, 0.05, env=environment)
    assert third.status == 0, third


def test_the_gpus_of_this_process_are_those_it_was_given(drover, environment, use):
    done = drover.run("--name", "r", "--gpus", 1, "--range", "1-8", "--", use, 0.02, env={**environment, "CUDA_VISIBLE_DEVICES": "3,1"})
    assert done.status == 0 and set(outputs(drover, "r", 8)) == {"1", "3"}, done


def test_a_run_asks_for_what_is_there(drover, environment):
    drover("run", "--gpus", 5, "--", "true", ":::", "a", env=environment).refuses("5 accelerators", "'nvidia'", "has 4", "drover accel check")
    drover("run", "--accelerator", "neuron=1", "--", "true", ":::", "a", env=environment).refuses("1 accelerator of kind 'neuron'", "has none")
    drover("run", "--accelerator", "tpu=1", "--", "true", ":::", "a", env=environment).refuses("'tpu=1'", "nvidia, amd and neuron")
    assert drover.runs() == []


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", "5s")


def offered(server):
    one, = json.loads(server.cli("workers", "--json").out)["workers"]
    return one["accelerators"]


def test_a_worker_offers_what_is_there_and_no_two_items_have_the_same(server, environment, use):
    worker(server, cpus=8, env=environment)
    assert offered(server) == {"nvidia": 4, "amd": 0, "neuron": 0}
    submit(server, "two", "--gpus", 2, "--range", "1-6", "--", use, 0.1)
    submit(server, "one", "--gpus", 1, "--range", "1-30", "--", use, 0.05)
    submit(server, "none", "--range", "1-4", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES. $NVIDIA_VISIBLE_DEVICES")
    for name in ("two", "one", "none"):
        assert server.ends(name)["state"] == "succeeded", server.cli("items", name).out
    assert {server.cli("logs", f"none:{index}").out for index in range(4)} == {". void\n"}
    assert {server.cli("logs", f"two:{index}").out.strip() for index in range(6)} <= {f"{a},{b}" for a in range(4) for b in range(4) if a < b}


def test_a_worker_without_work_leaves_the_gpus_to_others(server, environment, use, drover):
    worker(server, cpus=8, env=environment)
    submit(server, "j", "--gpus", 4, "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j").out
    wait_until(lambda: drover.run("--name", f"r{uuid.uuid4().hex[:8]}", "--gpus", 4, "--", "true", ":::", "a", env=environment).status == 0,
               "the GPUs to be free", 20)


def test_two_workers_of_one_machine_never_give_the_same(server, environment, use):
    for name in ("w1", "w2"):
        worker(server, name=name, cpus=8, env=environment)
    submit(server, "j", "--gpus", 1, "--range", "1-60", "--", use, 0.1)
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j").out


def test_a_killed_workers_gpus_are_free_when_its_items_are_gone(server, environment, use):
    running = worker(server, cpus=8, env=environment)
    submit(server, "j", "--gpus", 2, "--retries", 0, "--range", "1-6", "--", use, 2)
    wait_until(lambda: server.cli("items", "j", "--state", "running", "--json").json_lines, "items to run")
    running.signal(signal.SIGKILL)
    running.done()
    worker(server, cpus=8, env=environment)
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j").out


def test_a_worker_does_not_pretend(server, environment, drover):
    drover("worker", "--gpus", 5, env=environment).refuses("5 accelerators", "has 4", "drover accel list")
    worker(server, "--gpus", 1, env=environment)
    assert offered(server)["nvidia"] == 1


LOOK = "cd /dev; echo $(ls -d nvidia[0-9]* 2>/dev/null) / $(/usr/bin/nvidia-smi 2>&1 | grep -c Tesla) / $CUDA_VISIBLE_DEVICES / $NVIDIA_VISIBLE_DEVICES"


@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_a_container_has_its_gpus_and_without_asking_none(drover, environment, driver, catalogue, runtime, tmp_path):  # noqa: F811
    image = ["--image", f"oci:{catalogue}/plain-zstd", "--runtime", runtime, "--entrypoint", ""]
    done = drover.run("--name", "r", "--gpus", 2, "-j", 2, "--range", "1-4", *image, "--", "sh", "-c", LOOK, env=environment)
    assert done.status == 0, (done, drover("logs", "r:0"))
    assert set(outputs(drover, "r", 4)) <= {f"nvidia1 nvidia2 / 2 / 0,1 / {driver.uuids[0]},{driver.uuids[1]}", f"nvidia3 nvidia4 / 2 / 0,1 / {driver.uuids[2]},{driver.uuids[3]}"}
    done = drover.run("--name", "none", *image, "--", "sh", "-c", LOOK, ":::", "a", env=environment)
    assert done.status == 0 and outputs(drover, "none", 1) == ["/ 0 / /"], outputs(drover, "none", 1)


@pytest.mark.parametrize("runtime", ["runc", "crun"])
@pytest.mark.parametrize("gpus", [0, 1])
def test_a_container_opens_no_device_that_it_was_not_given_by_whatever_node(drover, environment, catalogue, runtime, gpus, tmp_path):  # noqa: F811
    """The kernel knows no driver of these nodes: what the container may open has no device, and what it may not is refused before that is noticed."""
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    for minor in (1, 3):
        os.mknod(nodes / str(minor), stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
        os.chmod(nodes / str(minor), 0o666)
    look = f"cat /nodes/1; cat /nodes/3; mknod /tmp/1 c {MAJOR} 1 && cat /tmp/1"
    done = drover.run("--name", "r", *(["--gpus", gpus, "-j", 1] if gpus else []), "--image", f"oci:{catalogue}/plain-zstd", "--runtime", runtime, "--entrypoint", "", "--mount", f"{nodes}:/nodes",
                      "--", "sh", "-c", f"exec 2>&1; {look}; true", ":::", "a", env=environment)
    assert done.status == 0, done
    said = drover("logs", "r:0").out.splitlines()
    assert len(said) == 3 and all("Operation not permitted" in line for line in said[1:]), said
    assert ("No such device or address" if gpus else "Operation not permitted") in said[0], said


class Observer(threading.Thread):
    """Sees from outside which GPUs are in use: the items' locks, as the kernel lists them."""

    def __init__(self, locks):
        super().__init__(daemon=True)
        self.inodes = {}
        for index in range(4):
            (locks / str(index)).touch()
            self.inodes[(locks / str(index)).stat().st_ino] = index
        self.idle = {index: [] for index in range(4)}  # stretches, in seconds since the epoch
        self.wanted = True

    def held(self):
        out = set()
        for line in open("/proc/locks"):
            words = line.split()
            if words[1] == "FLOCK" and (index := self.inodes.get(int(words[5].rsplit(":", 1)[1]))) is not None:
                out.add(index)
        return out

    def run(self):
        since = {}
        while self.wanted:
            held, now = self.held(), time.time()
            for index in range(4):
                if index not in held:
                    since.setdefault(index, now)
                elif index in since:
                    self.idle[index].append((since.pop(index), now))
            time.sleep(0.01)
        for index, begun in since.items():  # one that nobody ever took again
            self.idle[index].append((begun, time.time()))


def test_two_workers_that_are_killed_again_and_again_leave_no_gpu_idle(server, environment, use, chance):
    observer = Observer(pathlib.Path(environment["LOCKS"]))
    start = lambda name: worker(server, name=name, cpus=8, env=environment)
    workers = {name: start(name) for name in ("w1", "w2")}
    submit(server, "j", "--gpus", 1, "--retries", 0, "--range", "1-500", "--", use, 0.2)
    wait_until(lambda: len(observer.held()) == 4, "all GPUs to be in use")
    observer.start()
    begun_at = time.time()
    kills = []
    while server.job("j")["counts"]["pending"] > 50:
        time.sleep(4)
        name = chance.choice(["w1", "w2"])
        workers[name].signal(signal.SIGKILL)
        workers[name].done()
        workers[name] = start(name)
        kills.append(time.time())
        until = kills[-1]
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j", "--state", "failed").out
    observer.wanted = False
    observer.join()
    assert kills and server.job("j")["counts"]["succeeded"] == 500
    assert server.rows("select count(*) from attempts where state = 'failed'") == [(0,)]
    # Until the last kills items waited all the time. What a killed worker's items had is free when they are gone, and what it had leased comes back when
    # it registers again.
    gaps = [min(ended, until) - begun for stretches in observer.idle.values() for begun, ended in stretches if begun < until]
    share = sum(gaps) / 4 / (until - begun_at)
    print(f"idle for {share:.0%} of the time, {max(gaps):.1f} s at most, {len(kills)} kills")
    assert max(gaps) < 5 and share < 0.25, (share, sorted(gaps)[-8:], kills)
