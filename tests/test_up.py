"""`drover up`: a server and this machine as its fleet, in one command."""

import json
import signal

import images
import pytest

from aws import Aws
from drover import wait_until
from test_aws_fleets import RESOURCES
from test_fleets import cgroups_of, machines, nothing_is_left, workers_of
from test_server import Server


class Up(Server):
    def start(self):
        address = self.drover.data / "server/address"
        address.unlink(missing_ok=True)
        self.running = self.drover.start("up", "--listen", self.listen, *self.flags, **self.options)
        wait_until(lambda: (address.exists() and address.read_text().endswith("\n")) or not self.running.alive(), "the server to listen")
        assert self.running.alive(), self.running.done()
        self.address = address.read_text().strip()
        self.listen = f"{self.listen.rpartition(':')[0]}:{self.address.rpartition(':')[2]}"

    def interrupt(self):
        self.running.signal(signal.SIGINT)
        ended = self.running.done()
        assert ended.status == 0, ended
        return ended


@pytest.fixture
def up(drover):
    it = Up(drover)
    yield it
    if it.running.alive():
        for _ in range(2):
            it.running.signal(signal.SIGINT)
        it.running.done()


def test_up_then_submit_then_nothing(up):
    assert workers_of(up) == [], "no work, no machines"
    # Without a flag: the next shell finds the server where it is.
    submitted = up.drover("submit", "--name", "j", "--range", "1-8", "--", "echo", "{}")
    assert submitted.status == 0, submitted
    job = up.ends("j")
    assert job["counts"]["succeeded"] == 8
    up.cli("fleet", "set", "local", "--idle", "0s")
    wait_until(lambda: nothing_is_left(up), "the machine to leave by itself")
    up.interrupt()
    assert up.drover.left_over() == {}


def test_ctrl_c_drains_what_runs(up, tmp_path):
    submitted = up.drover("submit", "--name", "j", "--", "sh", "-c", f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done", ":::", "a")
    assert submitted.status == 0, submitted
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    up.running.signal(signal.SIGINT)
    wait_until(lambda: up.running.says("draining"), "the server to drain")
    assert up.running.alive() and up.job("j")["state"] == "running"
    (tmp_path / "go").touch()
    ended = up.running.done()
    assert ended.status == 0 and "all machines have drained" in ended.err, ended
    assert nothing_is_left(up) and up.drover.left_over() == {}
    assert up.rows("SELECT state FROM attempts") == [("succeeded",)]


def test_a_second_ctrl_c_kills_what_runs_and_it_runs_again_later(up, tmp_path):
    command = f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done"
    assert up.drover("submit", "--name", "j", "--retries", "0", "--", "sh", "-c", command, ":::", "a").status == 0
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    up.running.signal(signal.SIGINT)
    wait_until(lambda: up.running.says("draining"), "the server to drain")
    up.running.signal(signal.SIGINT)
    ended = up.running.done()
    assert ended.status == 0, ended
    assert nothing_is_left(up) and up.drover.left_over() == {}
    (tmp_path / "go").touch()
    up.start()
    assert up.ends("j")["state"] == "succeeded"
    up.interrupt()


def test_settings_of_the_local_fleet_stay(up):
    cpus = up.cli("fleet", "show", "local", "--json").json_lines[0]["most"]
    assert cpus >= 1
    assert up.cli("fleet", "set", "local", "--most", "1").status == 0
    up.interrupt()
    up.start()
    assert up.cli("fleet", "show", "local", "--json").json_lines[0]["most"] == 1
    up.interrupt()



def test_a_stream_and_a_batch_environment_go_from_nothing_to_machines_and_back(up, tmp_path):
    up.cli("fleet", "set", "local", "--idle", "0s")
    up.cli("stream", "create", "s")
    assert up.ask("POST", "/api/v1/streams/s/messages", [{"body": str(i)} for i in range(5)])[0] == 200
    assert up.ask("POST", "/api/v1/jobs", {"name": "messages", "command": ["echo", "{}"], "stream": "s", "until_empty": True})[0] == 201
    assert up.ends("messages")["counts"]["succeeded"] == 5
    wait_until(lambda: nothing_is_left(up), "the machines of the stream to leave")
    images.plain("", Env=["PATH=/bin"], Cmd=["true"]).write_layout(tmp_path / "plain")
    aws = Aws(up)
    aws("batch", "create-compute-environment", "--compute-environment-name", "env", "--type", "MANAGED", "--compute-resources", json.dumps(RESOURCES))
    aws("batch", "create-job-queue", "--job-queue-name", "q", "--priority", "1", "--compute-environment-order", "order=1,computeEnvironment=env")
    container = {"vcpus": 1, "memory": 64, "image": f"oci:{tmp_path}/plain", "command": ["true"]}
    aws("batch", "register-job-definition", "--job-definition-name", "d", "--type", "container", "--container-properties", json.dumps(container))
    job = aws("batch", "submit-job", "--job-name", "j", "--job-queue", "q", "--job-definition", "d", "--array-properties", "size=3")["jobId"]
    wait_until(lambda: aws("batch", "describe-jobs", "--jobs", job)["jobs"][0]["status"] == "SUCCEEDED", "the job to succeed", 60)
    assert up.rows("SELECT DISTINCT fleet FROM machines ORDER BY fleet") == [("env",), ("local",)]
    wait_until(lambda: machines(up, "env") == {} and nothing_is_left(up), "the machines of the environment to leave", 120)
    up.interrupt()
    assert cgroups_of(up) == [] and up.drover.left_over() == {}
    assert up.rows("SELECT count(*) FROM grants") == [(0,)]
