"""Managed compute environments of AWS Batch are fleets: their machines come with the work and leave after it."""

import json
import os
import time

import images
import pytest

from aws import Aws, code_of
from drover import wait_until
from test_fleets import delete_fleets, machines, nothing_is_left
from test_server import Server

RESOURCES = {"type": "EC2", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": ["c5.large"], "subnets": ["subnet-1"], "instanceRole": "ecsInstanceRole"}
CPUS = min(2, os.cpu_count())  # of a c5.large, as far as this machine has them


@pytest.fixture
def server(drover):
    server = Server(drover, "--lease", "5s")
    yield server
    if server.running.alive():
        delete_fleets(server)
        wait_until(lambda: nothing_is_left(server), "everything of the machines to be removed")


@pytest.fixture
def batch(server):
    return Aws(server).client("batch")


def environment(batch, name="env"):
    shown, = batch.describe_compute_environments(computeEnvironments=[name])["computeEnvironments"]
    return shown


def vcpus(batch, name="env"):
    return environment(batch, name)["computeResources"]["desiredvCpus"]


def joined(server, name="env"):
    return [state for state in machines(server, name).values() if state == "joined"]


def test_an_environment_goes_from_nothing_to_machines_and_back_by_itself(server, tmp_path):
    images.plain("", Env=["PATH=/bin"], Cmd=["true"]).write_layout(tmp_path / "plain")
    aws = Aws(server)
    aws("batch", "create-compute-environment", "--compute-environment-name", "env", "--type", "MANAGED", "--compute-resources", json.dumps(RESOURCES))
    aws("batch", "create-job-queue", "--job-queue-name", "q", "--priority", "1", "--compute-environment-order", "order=1,computeEnvironment=env")
    aws("batch", "register-job-definition", "--job-definition-name", "d", "--type", "container", "--container-properties",
        json.dumps({"vcpus": 1, "memory": 64, "image": f"oci:{tmp_path}/plain", "command": ["sh", "-c", "echo $AWS_BATCH_CE_NAME"]}))
    assert machines(server, "env") == {}
    job = aws("batch", "submit-job", "--job-name", "j", "--job-queue", "q", "--job-definition", "d", "--array-properties", "size=6")["jobId"]
    batch = aws.client("batch")
    wait_until(lambda: vcpus(batch) == CPUS, "a machine")
    wait_until(lambda: batch.describe_jobs(jobs=[job])["jobs"][0]["status"] == "SUCCEEDED", "the job to succeed")
    # A job of a container finds the shape's numbers on its machine.
    worker, = [it for it in json.loads(server.cli("workers", "--json").out)["workers"] if it["name"] in machines(server, "env")]
    assert worker["cpus"] == CPUS and worker["memory_bytes"] <= 4 << 30, worker
    wait_until(lambda: machines(server, "env") == {}, "the machine to leave", 120)
    assert vcpus(batch) == 0
    wait_until(lambda: nothing_is_left(server), "everything of the machines to be removed")


def test_minimum_desired_and_state_are_obeyed(server, batch):
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources={**RESOURCES, "minvCpus": CPUS})
    wait_until(lambda: joined(server) and vcpus(batch) == CPUS, "the minimum")
    batch.update_compute_environment(computeEnvironment="env", state="DISABLED")
    wait_until(lambda: machines(server, "env") == {}, "the machines to leave")
    batch.update_compute_environment(computeEnvironment="env", state="ENABLED", computeResources={"minvCpus": 0})
    time.sleep(2)
    assert machines(server, "env") == {}, "nothing waits"
    batch.update_compute_environment(computeEnvironment="env", computeResources={"desiredvCpus": CPUS})
    wait_until(lambda: joined(server), "what is desired")
    assert vcpus(batch) == CPUS
    # What was desired once binds no later update.
    batch.update_compute_environment(computeEnvironment="env", computeResources={"maxvCpus": 1})
    batch.update_compute_environment(computeEnvironment="env", computeResources={"minvCpus": 1})
    assert server.ask("GET", "/api/v1/fleets/env")[1]["start_cpus"] == 0


def test_no_machine_pretends_an_accelerator(server, batch):
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources={**RESOURCES, "minvCpus": 1, "instanceTypes": ["p3.2xlarge"]})
    wait_until(lambda: joined(server), "the machine")
    one, = json.loads(server.cli("workers", "--json").out)["workers"]
    assert one["accelerators"] == {"nvidia": 0, "amd": 0, "neuron": 0} or one["accelerators"]["nvidia"] <= len(os.sched_getaffinity(0))
    batch.create_job_queue(jobQueueName="q", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "env"}])
    batch.register_job_definition(jobDefinitionName="d", type="container", containerProperties={
        "vcpus": 1, "memory": 64, "image": "oci:/nowhere", "resourceRequirements": [{"type": "GPU", "value": "64"}]})
    job = batch.submit_job(jobName="j", jobQueue="q", jobDefinition="d")["jobId"]
    time.sleep(2)
    assert batch.describe_jobs(jobs=[job])["jobs"][0]["status"] == "RUNNABLE"
    assert "64 nvidia" in server.cli("why", "j").out, server.cli("why", "j").out
    batch.terminate_job(jobId=job, reason="over")


@pytest.mark.parametrize("resources, says", [
    ({"instanceTypes": ["x99.large"]}, "x99.large"), ({"minvCpus": 5}, "maxvCpus (4) must not be less than minvCpus (5)"),
    ({"desiredvCpus": 9}, "desiredvCpus (9) must be from minvCpus (0) to maxvCpus (4)"), ({"minvCpus": -1}, "minvCpus must be at least 0")])
def test_what_cannot_be_is_refused_by_name(batch, resources, says):
    code, message = code_of(batch.create_compute_environment, computeEnvironmentName="env", type="MANAGED", computeResources={**RESOURCES, **resources})
    assert code == "ClientException" and says in message, message


def test_types_that_are_not_known_are_told(server, batch):
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources={**RESOURCES, "instanceTypes": ["c5", "x99.large", "optimal"]})
    assert "x99.large" in environment(batch)["statusReason"]
    shapes = server.ask("GET", "/api/v1/fleets/env")[1]["shapes"]
    assert "c5.24xlarge" in shapes and "r5.large" in shapes and "x99.large" not in shapes


def test_an_environment_keeps_its_name_until_its_machines_have_drained(server, batch, tmp_path):
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources=RESOURCES)
    batch.create_job_queue(jobQueueName="q", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "env"}])
    script = f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done"
    assert server.cli("submit", "--name", "j", "--queue", "q", "--", "sh", "-c", script, ":::", "a").status == 0
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    batch.create_compute_environment(computeEnvironmentName="other", type="MANAGED", computeResources=RESOURCES)
    batch.update_job_queue(jobQueue="q", computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "other"}])
    batch.update_compute_environment(computeEnvironment="env", state="DISABLED")
    batch.delete_compute_environment(computeEnvironment="env")
    code, message = code_of(batch.create_compute_environment, computeEnvironmentName="env", type="MANAGED", computeResources=RESOURCES)
    assert code == "ClientException" and "Object already exists: env is still being deleted; retry after its machines have drained" in message, message
    (tmp_path / "go").touch()
    wait_until(lambda: server.ask("GET", "/api/v1/fleets/env")[0] == 404, "the environment to be deleted")
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources=RESOURCES)


def test_why_an_environment_has_no_spot_machines_is_told(drover, tmp_path):
    program = tmp_path / "vms"
    # The reason is cut at 500 bytes, which may be in the middle of a character.
    program.write_text("""#!/bin/sh
case $1 in
shapes) echo '{"shapes": [{"name": "c5.large", "cpus": 2, "memory": "4GiB"}]}' ;;
list) echo '{"machines": [], "exact": true}' ;;
*) echo 'no spot capacity TROUBLE' >&2; exit 1 ;;
esac
""".replace("TROUBLE", "€" * 300))
    program.chmod(0o755)
    server = Server(drover, "--fleet-command", f"vms={program}", "--batch-machines", "vms")
    batch = Aws(server).client("batch")
    spot = {**RESOURCES, "type": "SPOT", "minvCpus": 1}
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources=spot)
    wait_until(lambda: "could not be launched" in environment(batch)["statusReason"], "the reason")
    assert "no spot capacity €€" in environment(batch)["statusReason"], environment(batch)
    delete_fleets(server)


def test_a_server_that_launches_nothing_for_them(drover):
    drover("server", "--batch-machines", "clouds").refuses("'clouds'", "--fleet-command")
    server = Server(drover, "--batch-machines", "none")
    batch = Aws(server).client("batch")
    batch.create_compute_environment(computeEnvironmentName="env", type="MANAGED", computeResources={**RESOURCES, "minvCpus": 1})
    time.sleep(2)
    assert machines(server, "env") == {} and vcpus(batch) == 0
