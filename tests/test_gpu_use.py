"""What items make of their GPUs, as the driver's library tells it, and GPUs that fail."""

import json
import re
import uuid

import pytest

from driver_root import DriverRoot
from drover import wait_until
from test_server import Server, submit, worker

TOTAL_KIB = 16 << 20


class Gpus:
    """What the library of the driver says of each GPU."""

    def __init__(self, driver, path):
        self.driver, self.path = driver, path
        driver.add_nvml()
        self.says = {}
        for gpu in driver.uuids:
            self.set(gpu, 0, 500, 50)

    def set(self, gpu, busy, mib, watts):
        self.says[gpu] = f"{gpu} {busy} {mib} {watts}\n"
        new = self.path.with_suffix(".new")
        new.write_text("".join(self.says.values()))
        new.rename(self.path)

    def fail(self, gpu, what):
        with open(f"{self.path}.errors", "a") as file:
            file.write(f"{gpu} {what}\n")


@pytest.fixture
def driver(tmp_path):
    return DriverRoot(tmp_path / "driver", uuids=[f"GPU-{uuid.uuid4()}" for _ in range(4)], neuron=0)


@pytest.fixture
def gpus(driver, tmp_path):
    return Gpus(driver, tmp_path / "gpus")


@pytest.fixture
def environment(driver, gpus, tmp_path):
    return {"NVIDIA_CTK_CONFIG_FILE_PATH": str(driver.settings(tmp_path / "config.toml")), "FAKE_GPUS": str(gpus.path)}


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", "5s")


def check_use(last, busy, watts, gpus=1, mib=2000):
    """Of an attempt of some seconds whose GPUs were all alike."""
    assert busy * 0.8 <= last["gpu_busy_us"] / last["wall_us"] / gpus * 100 <= busy * 1.05, last
    assert last["peak_gpu_memory_kib"] == gpus * mib * 1024, last
    assert watts * 0.7 <= last["gpu_energy_mj"] / last["wall_us"] * 1000 / gpus <= watts * 1.2, last


def test_a_run_knows_what_its_items_made_of_their_gpus(drover, environment, gpus, tmp_path):
    for gpu in gpus.driver.uuids:
        gpus.set(gpu, 80, 2000, 300)
    done = drover.run("--name", "r", "--gpus", 2, "-j", 1, "--shell", "--", "sleep {}", ":::", "3", "0.01", env=environment)
    assert done.status == 0, done
    long, short = drover("items", "r", "--sort", "gpu", "--json").json_lines
    assert (long["index"], short["index"]) == (0, 1)
    check_use(long["last"], 80, 300, gpus=2)
    table = drover("items", "r", "--sort", "gpu").out
    assert "GPU" in table.splitlines()[0] and "MEMORY" not in table, table
    assert "GPU busy for 4." in drover("items", "r:0").out and "of GPU memory" in drover("items", "r:0").out
    row = drover("items", "r", "--sort", "gpu", "--tsv").out.splitlines()[:2]
    row = dict(zip(*(line.split("\t") for line in row)))
    assert int(row["gpu_busy_us"]) == long["last"]["gpu_busy_us"] and int(row["peak_gpu_memory_kib"]) == 4000 * 1024
    report = tmp_path / "report.html"
    assert drover("report", "r", "-o", report).status == 0
    page = report.read_text()
    assert "GPU time" in page and '<section id="busiest" >' in page


@pytest.mark.parametrize("item", ["test -e {errors} || sleep 6", "until test -e {errors}; do sleep 0.01; done; test $NVIDIA_VISIBLE_DEVICES != {broken}"],
                         ids=["the item runs on", "the item fails at once"])
def test_a_run_loses_the_item_of_a_gpu_that_fails_free_of_charge_and_goes_on_with_another(drover, environment, gpus, item):
    broken = gpus.driver.uuids[1]
    command = "echo $NVIDIA_VISIBLE_DEVICES; " + item.format(errors=f"{gpus.path}.errors", broken=broken)
    begun = drover.start("run", "--name", "r", "--gpus", 1, "-j", 3, "--retries", 0, "--range", "1-3", "--", "sh", "-c", command, env=environment)
    wait_until(lambda: all(drover("logs", f"r:{index}").out for index in range(3)), "all items to run")
    gpus.fail(broken, 79)
    done = begun.done()
    assert f"GPU {broken} failed: Xid 79" in done.out + done.err, done
    assert done.status == 0, done
    attempts = drover.rows("r", "select item, attempt, state, reason from attempts order by item, attempt")
    lost = [row for row in attempts if row[2] == "lost"]
    assert len(attempts) == 4 and len(lost) == 1 and broken in lost[0][3] and "Xid 79" in lost[0][3], attempts
    assert drover("logs", f"r:{lost[0][0]}").out.split()[-1] not in ("", broken)


def test_a_run_whose_only_gpu_fails_ends_and_can_go_on_later(drover, driver, environment, gpus):
    only = {**environment, "CUDA_VISIBLE_DEVICES": "3"}
    begun = drover.start("run", "--name", "r", "--gpus", 1, "--range", "1-2", "--", "sh", "-c", f"echo $NVIDIA_VISIBLE_DEVICES; test -e {gpus.path}.errors || sleep 60", env=only)
    wait_until(lambda: drover("logs", "r:0").out, "an item to run")
    gpus.fail(driver.uuids[3], "lost")
    done = begun.done()
    assert done.status != 0 and "there is no other for the items" in done.err and "drover resume r" in done.err, done
    assert drover("resume", "r", env=environment).status == 0
    assert drover.status("r")["state"] == "succeeded"


def test_a_gpu_that_failed_is_kept_from_others_while_its_worker_lives(server, drover, environment, gpus):
    first = worker(server, cpus=8, env=environment)
    submit(server, "j", "--gpus", 1, "--range", "1-1", "--", "sh", "-c", f"echo $NVIDIA_VISIBLE_DEVICES; test -e {gpus.path}.errors || sleep 60")
    wait_until(lambda: server.cli("logs", "j:0").out, "the item to run")
    broken, sound = gpus.driver.uuids[0], gpus.driver.uuids[1]
    gpus.fail(broken, 79)
    assert server.ends("j")["state"] == "succeeded"
    what = ["--gpus", 1, "-j", 1, "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES", ":::", "a"]
    wait_until(lambda: drover.run("--fresh", "--name", "r", *what, env=environment).status == 0 and drover("logs", "r:0").out.strip() == sound, "the GPU to be locked")
    first.kill()
    (gpus.path.parent / "gpus.errors").unlink()
    assert drover.run("--fresh", "--name", "r", *what, env=environment).status == 0 and drover("logs", "r:0").out.strip() == broken


def test_without_the_drivers_library_items_run_all_the_same(drover, driver, tmp_path):
    environment = {"NVIDIA_CTK_CONFIG_FILE_PATH": str(driver.settings(tmp_path / "config.toml"))}
    done = drover.run("--name", "r", "--gpus", 1, "--", "true", ":::", "a", env=environment)
    assert done.status == 0, done
    item, = drover("items", "r", "--json").json_lines
    assert item["last"]["gpu_busy_us"] == 0
    report = tmp_path / "report.html"
    assert drover("report", "r", "-o", report).status == 0 and "GPU time" not in report.read_text()


def test_a_server_keeps_it_and_adds_it_up(server, environment, gpus):
    gpus.set(gpus.driver.uuids[0], 60, 2000, 200)
    worker(server, "--gpus", 1, env=environment)
    submit(server, "j", "--gpus", 1, "--", "sleep", ":::", "3")
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j").out
    item, = server.cli("items", "j", "--sort", "gpu", "--json").json_lines
    check_use(item["last"], 60, 200)
    shown = json.loads(server.cli("status", "j", "--json").out)["used"]
    assert shown["gpu_busy_ms"] == pytest.approx(item["last"]["gpu_busy_us"] / 1000, abs=1)
    said = re.search(r"GPUs were busy for (\d+) %, [\d.]+ kJ", server.cli("status", "j").out)
    assert said and 50 <= int(said.group(1)) <= 62, server.cli("status", "j").out
    figures = dict(line.rsplit(" ", 1) for line in server.ask("GET", "/metrics")[1].splitlines() if not line.startswith("#"))
    assert float(figures["drover_attempt_gpu_busy_seconds_total"]) == pytest.approx(item["last"]["gpu_busy_us"] / 1e6)
    assert float(figures["drover_attempt_gpu_energy_joules_total"]) == pytest.approx(item["last"]["gpu_energy_mj"] / 1e3)
    assert server.rows("select gpu_busy_us, peak_gpu_memory_kib, gpu_energy_mj from items") == [
        (item["last"]["gpu_busy_us"], 2000 * 1024, item["last"]["gpu_energy_mj"])]


def devices(server):
    one, = json.loads(server.cli("workers", "--json").out)["workers"]
    return one["devices"]


def test_a_gpu_that_does_nothing_is_named(server, environment, gpus):
    gpus.set(gpus.driver.uuids[0], 0, 1234, 50)
    worker(server, "--gpus", 1, env={**environment, "DROVER_TEST_MARK": "x"})
    submit(server, "j", "--gpus", 1, "--", "sleep", ":::", "600")
    wait_until(lambda: [it for it in devices(server) if it["idle_ms"]], "the worker to tell of its GPU", 60)
    device = devices(server)[0]
    assert (device["id"], device["job_name"], device["item"], device["busy_percent"]) == (gpus.driver.uuids[0], "j", 0, 0)
    assert (device["memory_kib"], device["memory_total_kib"], device["failure"]) == (1234 * 1024, TOTAL_KIB, None)
    assert [it["job"] for it in devices(server)[1:]] == [None] * 3
    # People are told after a minute.
    assert "idle" not in server.cli("status", "j").out + server.cli("workers").out
    wait_until(lambda: "idle GPU" in server.cli("status", "j").out, "the status to name it", 120)
    assert re.search(r"idle GPU +GPU 0 of worker 'w1' for 1 min( \d+ s)?; item j:0 has it", server.cli("status", "j").out), server.cli("status", "j").out
    assert re.search(r"GPU 0 .*has been idle for 1 min( \d+ s)? while assigned to item j:0", server.cli("workers").out), server.cli("workers").out


@pytest.mark.parametrize("what, words", [("79", "Xid 79"), ("lost", "lost")])
def test_a_gpu_that_fails_gets_no_more_items_and_its_item_is_lost_free_of_charge(server, environment, gpus, what, words):
    running = worker(server, cpus=8, env=environment)
    submit(server, "j", "--gpus", 1, "--retries", 0, "--range", "1-4", "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; sleep 6")
    wait_until(lambda: len(server.cli("items", "j", "--state", "running", "--json").json_lines) == 4, "all items to run")
    broken = gpus.driver.uuids[2]
    gpus.fail(gpus.driver.uuids[1], 31)  # what a program does wrong
    gpus.fail(broken, what)
    wait_until(lambda: json.loads(server.cli("workers", "--json").out)["workers"][0]["accelerators"]["nvidia"] == 3, "the server to hear of it")
    assert server.ends("j")["state"] == "succeeded", server.cli("items", "j").out
    rows = server.rows("select item, attempt, state, reason from attempts order by item, attempt")
    lost = [row for row in rows if row[2] == "lost"]
    assert len(rows) == 5 and len(lost) == 1 and broken in lost[0][3] and words in lost[0][3], rows
    again = server.cli("logs", f"j:{lost[0][0]}").out.split()[-1]
    assert again in gpus.driver.uuids and again != broken
    assert [it["id"] for it in devices(server) if it["failure"]] == [broken]
    assert f"GPU 2 ({broken}) gets no more items: " in server.cli("workers").out, server.cli("workers").out
    # An item that asks for all that there were runs nowhere, and is told why.
    submit(server, "four", "--gpus", 4, "--", "true", ":::", "a")
    submit(server, "three", "--gpus", 3, "--", "true", ":::", "a")
    assert server.ends("three")["state"] == "succeeded"
    assert "4 nvidia" in server.cli("why", "four").out, server.cli("why", "four").out
    assert running.says(f"GPU {broken} failed") and running.alive()
