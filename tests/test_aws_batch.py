"""AWS Batch on the wire: the AWS CLI and boto3 as people have them, jobs that really run, in containers, on a worker."""

import json
import re
import time

import images
import pytest

from aws import Aws, code_of
from drover import wait_until
from test_server import Server, worker

CONTAINER = {"vcpus": 1, "memory": 64}
RESOURCES = {"type": "SPOT", "minvCpus": 0, "maxvCpus": 8, "desiredvCpus": 0, "instanceTypes": ["p2.xlarge"], "bidPercentage": 60,
             "imageId": "ami-1", "subnets": ["subnet-1"], "securityGroupIds": ["sg-1"], "ec2KeyPair": "key", "instanceRole": "ecsInstanceRole",
             "spotIamFleetRole": "arn:aws:iam::123456789012:role/fleet"}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    images.plain("", Env=["PATH=/bin"], Cmd=["true"]).write_layout(folder / "plain")
    return f"oci:{folder}/plain"


@pytest.fixture
def server(drover):
    return Server(drover, "--batch-machines", "none")


@pytest.fixture
def aws(server):
    return Aws(server)


@pytest.fixture
def batch(aws):
    """With an environment and a queue."""
    client = aws.client("batch")
    client.create_compute_environment(computeEnvironmentName="spot", type="MANAGED", state="ENABLED", computeResources=RESOURCES,
                                      serviceRole="arn:aws:iam::123456789012:role/batch")
    client.create_job_queue(jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}])
    return client


def register(batch, image, name="demo", **more):
    container = {**CONTAINER, "image": image, **more.pop("container", {})}
    return batch.register_job_definition(jobDefinitionName=name, type="container", containerProperties=container, **more)


def ended(batch, job, seconds=60):
    def look():
        shown, = batch.describe_jobs(jobs=[job])["jobs"]
        return shown if shown["status"] in ("SUCCEEDED", "FAILED") else None

    return wait_until(look, f"job {job} to end", seconds)


def test_an_environment_from_its_creation_to_its_end(server, aws):
    made = aws("batch", "create-compute-environment", "--compute-environment-name", "spot", "--type", "MANAGED", "--compute-resources", json.dumps(RESOURCES),
               "--tags", "team=vision")
    assert made["computeEnvironmentArn"] == "arn:aws:batch:us-east-1:123456789012:compute-environment/spot"
    server.kill()
    server.start()
    shown, = aws("batch", "describe-compute-environments", "--compute-environments", "spot")["computeEnvironments"]
    assert (shown["state"], shown["status"], shown["tags"]) == ("ENABLED", "VALID", {"team": "vision"})
    assert shown["computeResources"] == RESOURCES
    batch = aws.client("batch")
    assert code_of(batch.create_compute_environment, computeEnvironmentName="spot", type="UNMANAGED") == ("ClientException", "Object already exists")
    batch.update_compute_environment(computeEnvironment="spot", computeResources={"maxvCpus": 16})
    batch.create_job_queue(jobQueueName="q", priority=3, computeEnvironmentOrder=[{"order": 5, "computeEnvironment": made["computeEnvironmentArn"]}])
    assert server.cli("fleet", "list", "--json").json_lines[0]["fleets"][0]["name"] == "spot"
    assert "state must be DISABLED" in code_of(batch.delete_compute_environment, computeEnvironment="spot")[1]
    batch.update_compute_environment(computeEnvironment="spot", state="DISABLED")
    assert "JobQueue relationship" in code_of(batch.delete_compute_environment, computeEnvironment="spot")[1]
    assert "state must be DISABLED" in code_of(batch.delete_job_queue, jobQueue="q")[1]
    batch.update_job_queue(jobQueue="q", state="DISABLED")
    batch.delete_job_queue(jobQueue="q")
    batch.delete_compute_environment(computeEnvironment="spot")
    assert batch.describe_compute_environments()["computeEnvironments"] == []


def test_queues_are_those_of_the_native_api(server, batch):
    shown, = batch.describe_job_queues(jobQueues=["short"])["jobQueues"]
    arn = "arn:aws:batch:us-east-1:123456789012:compute-environment/spot"
    assert (shown["priority"], shown["state"], shown["computeEnvironmentOrder"]) == (1, "ENABLED", [{"order": 1, "computeEnvironment": arn}])
    server.cli("queue", "set", "short", "--priority", "7")
    server.cli("queue", "close", "short")
    shown, = batch.describe_job_queues(jobQueues=[shown["jobQueueArn"]])["jobQueues"]
    assert (shown["priority"], shown["state"]) == (7, "DISABLED")
    batch.update_job_queue(jobQueue="short", state="ENABLED", priority=2)
    native = server.cli("queue", "show", "short", "--json").json_lines[0]
    assert (native["closed"], native["priority"], native["fleets"]) == (False, 2, ["spot"])


def test_a_disabled_queue_finishes_what_it_has(server, batch, image):
    worker(server)
    register(batch, image, container={"command": ["sleep", "1"]})
    job = batch.submit_job(jobName="a", jobQueue="short", jobDefinition="demo")["jobId"]
    batch.update_job_queue(jobQueue="short", state="DISABLED")
    code, message = code_of(batch.submit_job, jobName="b", jobQueue="short", jobDefinition="demo")
    assert code == "ClientException" and "closed" in message
    assert ended(batch, job)["status"] == "SUCCEEDED"


def test_scheduling_policies_reach_their_queues(server, batch):
    policy = {"shareDecaySeconds": 300, "computeReservation": 10, "shareDistribution": [{"shareIdentifier": "a*", "weightFactor": 0.5}]}
    arn = batch.create_scheduling_policy(name="fair", fairsharePolicy=policy)["arn"]
    batch.update_job_queue(jobQueue="short", schedulingPolicyArn=arn)
    native = server.cli("queue", "show", "short", "--json").json_lines[0]
    assert (native["order"], native["decay_s"], native["reserved_percent"], native["weights"]) == ("fair", 300, 10, {"a*": 0.5})
    batch.update_scheduling_policy(arn=arn, fairsharePolicy={"shareDecaySeconds": 60})
    assert server.cli("queue", "show", "short", "--json").json_lines[0]["decay_s"] == 60
    assert "uses the scheduling policy" in code_of(batch.delete_scheduling_policy, arn=arn)[1]
    register(batch, "busybox")
    assert "shareIdentifier is required" in code_of(batch.submit_job, jobName="a", jobQueue="short", jobDefinition="demo")[1]
    job = batch.submit_job(jobName="a", jobQueue="short", jobDefinition="demo", shareIdentifier="a1")["jobId"]
    assert batch.describe_jobs(jobs=[job])["jobs"][0]["shareIdentifier"] == "a1"
    batch.create_job_queue(jobQueueName="plain", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}])
    assert "must not be given" in code_of(batch.submit_job, jobName="a", jobQueue="plain", jobDefinition="demo", shareIdentifier="a1")[1]
    assert [it["arn"] for it in batch.list_scheduling_policies()["schedulingPolicies"]] == [arn]
    assert batch.describe_scheduling_policies(arns=[arn])["schedulingPolicies"][0]["fairsharePolicy"] == {"shareDecaySeconds": 60}


def test_a_definition_comes_back_as_it_was_registered(server, batch, image, tmp_path):
    container = {"image": image, "command": ["sh", "-c", "echo {} Ref::mode", "Ref::mode"], "jobRoleArn": "arn:aws:iam::123456789012:role/job",
                 "volumes": [{"host": {"sourcePath": str(tmp_path)}, "name": "data"}], "mountPoints": [{"containerPath": "/data", "readOnly": True, "sourceVolume": "data"}],
                 "environment": [{"name": "A", "value": "1"}], "ulimits": [{"name": "nofile", "softLimit": 100, "hardLimit": 200}], "user": "1000",
                 "resourceRequirements": [{"type": "VCPU", "value": "0.5"}, {"type": "MEMORY", "value": "128"}],
                 "linuxParameters": {"sharedMemorySize": 32, "tmpfs": [{"containerPath": "/scratch", "size": 8}], "initProcessEnabled": True},
                 "logConfiguration": {"logDriver": "awslogs"}}
    said = {"parameters": {"mode": "fast"}, "retryStrategy": {"attempts": 3, "evaluateOnExit": [{"onExitCode": "75", "action": "RETRY"}, {"onReason": "*", "action": "EXIT"}]},
            "timeout": {"attemptDurationSeconds": 120}, "tags": {"team": "vision"}, "propagateTags": True, "platformCapabilities": ["EC2"]}
    made = batch.register_job_definition(jobDefinitionName="demo", type="container", containerProperties=container, **said)
    assert (made["revision"], made["jobDefinitionArn"]) == (1, "arn:aws:batch:us-east-1:123456789012:job-definition/demo:1")
    assert register(batch, image)["revision"] == 2
    server.kill()
    server.start()
    shown, = batch.describe_job_definitions(jobDefinitions=["demo:1"])["jobDefinitions"]
    assert shown["containerProperties"] == container and {name: shown[name] for name in said} == said and shown["status"] == "ACTIVE"
    batch.deregister_job_definition(jobDefinition="demo:2")
    assert [it["revision"] for it in batch.describe_job_definitions(jobDefinitionName="demo", status="ACTIVE")["jobDefinitions"]] == [1]
    assert "INACTIVE" in code_of(batch.submit_job, jobName="a", jobQueue="short", jobDefinition="demo:2")[1]


@pytest.mark.parametrize("container, words", [
    ({"volumes": [{"name": "a", "efsVolumeConfiguration": {"fileSystemId": "fs-1"}}]}, "volumes[0] is on EFS"),
    ({"volumes": [{"name": "a", "host": {}}]}, "must have a host.sourcePath"),
    ({"mountPoints": [{"containerPath": "/x", "sourceVolume": "none"}]}, "mountPoints[0] names a sourceVolume"),
    ({"secrets": [{"name": "A", "valueFrom": "arn"}]}, "secrets is not supported"),
    ({"linuxParameters": {"maxSwap": 1}}, "linuxParameters.maxSwap is not supported"),
    ({"logConfiguration": {"logDriver": "splunk"}}, "must be awslogs"),
    ({"vcpus": 0}, "containerProperties.vcpus must be at least 1"),
    ({"resourceRequirements": [{"type": "GPU", "value": "some"}]}, "whole number as GPU"),
])
def test_what_cannot_be_honoured_is_refused(batch, image, container, words):
    code, message = code_of(register, batch=batch, image=image, container=container)
    assert code == "ClientException" and words in message, message
    assert batch.describe_job_definitions()["jobDefinitions"] == []


def test_a_job_in_its_container_with_its_host_volume(server, batch, image, tmp_path):
    worker(server)
    folder = tmp_path / "out" / "new"  # made as Docker does
    script = "env | sort > /out/env; echo literal '{}' $1; id -u"
    register(batch, image, container={
        "command": ["sh", "-c", script, "sh", "Ref::word"], "user": "0", "environment": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "volumes": [{"host": {"sourcePath": str(folder)}, "name": "out"}], "mountPoints": [{"containerPath": "/out", "sourceVolume": "out"}]},
        parameters={"word": "usual"})
    job = batch.submit_job(jobName="one", jobQueue="short", jobDefinition="demo", parameters={"word": "given"},
                           containerOverrides={"environment": [{"name": "B", "value": "3"}]})
    shown = ended(batch, job["jobId"])
    assert shown["status"] == "SUCCEEDED", shown
    seen = dict(line.split("=", 1) for line in (folder / "env").read_text().splitlines())
    assert {name: seen[name] for name in ("A", "B", "AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JQ_NAME", "AWS_EXECUTION_ENV")} == {
        "A": "1", "B": "3", "AWS_BATCH_JOB_ID": job["jobId"], "AWS_BATCH_JOB_ATTEMPT": "1", "AWS_BATCH_JQ_NAME": "short", "AWS_EXECUTION_ENV": "AWS_ECS_EC2"}
    assert "AWS_BATCH_CE_NAME" in seen and "AWS_BATCH_JOB_ARRAY_INDEX" not in seen
    assert server.cli("logs", job["jobId"] + ":0").out == "literal {} given\n0\n"
    attempt, = shown["attempts"]
    assert attempt["container"]["exitCode"] == 0 and attempt["container"]["logStreamName"] == f"demo/default/{job['jobId']}"
    assert attempt["startedAt"] <= attempt["stoppedAt"] == shown["stoppedAt"] and shown["startedAt"] >= shown["createdAt"]
    assert shown["container"]["exitCode"] == 0 and shown["jobDefinition"].endswith(":job-definition/demo:1") and shown["parameters"] == {"word": "given"}


def test_an_array_its_children_and_its_lists(server, batch, image):
    worker(server)
    register(batch, image, container={"command": ["sh", "-c", "echo $AWS_BATCH_JOB_ARRAY_INDEX of $AWS_BATCH_JOB_ARRAY_SIZE; exit $AWS_BATCH_JOB_ARRAY_INDEX"]})
    job = batch.submit_job(jobName="many", jobQueue="short", jobDefinition="demo", arrayProperties={"size": 3})["jobId"]
    shown = ended(batch, job)
    assert shown["status"] == "FAILED" and shown["arrayProperties"]["size"] == 3
    assert {name: count for name, count in shown["arrayProperties"]["statusSummary"].items() if count} == {"SUCCEEDED": 1, "FAILED": 2}
    child, = batch.describe_jobs(jobs=[f"{job}:2"])["jobs"]
    assert (child["status"], child["arrayProperties"], child["container"]["exitCode"]) == ("FAILED", {"index": 2}, 2)
    assert child["statusReason"] == "Essential container in task exited"
    assert server.cli("logs", f"{job}:2").out == "2 of 3\n"
    failed = batch.list_jobs(arrayJobId=job, jobStatus="FAILED")["jobSummaryList"]
    assert [(it["jobId"], it["container"]["exitCode"]) for it in failed] == [(f"{job}:1", 1), (f"{job}:2", 2)]
    assert [it["jobId"] for it in batch.list_jobs(jobQueue="short", jobStatus="FAILED")["jobSummaryList"]] == [job]
    assert batch.list_jobs(jobQueue="short")["jobSummaryList"] == []
    named = batch.list_jobs(jobQueue="short", filters=[{"name": "JOB_NAME", "values": ["MA*"]}])["jobSummaryList"]
    assert [(it["jobName"], it["arrayProperties"]) for it in named] == [("many", {"size": 3})]
    assert batch.describe_jobs(jobs=["no-such-job", f"{job}:3"])["jobs"] == []


def test_retries_dependencies_and_sequences(server, batch, image):
    worker(server)
    register(batch, image, container={"command": ["sh", "-c", "test $AWS_BATCH_JOB_ATTEMPT = 2"]}, retryStrategy={"attempts": 3})
    first = batch.submit_job(jobName="first", jobQueue="short", jobDefinition="demo")["jobId"]
    second = batch.submit_job(jobName="second", jobQueue="short", jobDefinition="demo", dependsOn=[{"jobId": first}])["jobId"]
    assert batch.describe_jobs(jobs=[second])["jobs"][0]["status"] in ("PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED")
    shown = ended(batch, second)
    assert [it["container"]["exitCode"] for it in shown["attempts"]] == [1, 0] and shown["dependsOn"] == [{"jobId": first}]
    streams = [it["container"]["logStreamName"] for it in shown["attempts"]]
    assert streams[0] == f"demo/default/{second}" and re.fullmatch(rf"demo/default/{second}\S+", streams[1])
    never = batch.submit_job(jobName="never", jobQueue="short", jobDefinition="demo", retryStrategy={"attempts": 1})["jobId"]
    after = batch.submit_job(jobName="after", jobQueue="short", jobDefinition="demo", dependsOn=[{"jobId": never}])["jobId"]
    assert ended(batch, never)["status"] == "FAILED" and ended(batch, after)["status"] == "FAILED"


def test_terminate_and_cancel(server, batch, image):
    register(batch, image, container={"command": ["sleep", "1000"]})
    waiting = batch.submit_job(jobName="waiting", jobQueue="short", jobDefinition="demo")["jobId"]
    assert batch.describe_jobs(jobs=[waiting])["jobs"][0]["status"] == "RUNNABLE"
    batch.cancel_job(jobId=waiting, reason="changed my mind")
    shown = ended(batch, waiting)
    assert (shown["status"], shown["statusReason"]) == ("FAILED", "changed my mind")
    worker(server)
    running = batch.submit_job(jobName="running", jobQueue="short", jobDefinition="demo")["jobId"]
    wait_until(lambda: batch.describe_jobs(jobs=[running])["jobs"][0]["status"] == "RUNNING", "the job to run")
    batch.cancel_job(jobId=running, reason="too late")
    time.sleep(0.5)
    assert batch.describe_jobs(jobs=[running])["jobs"][0]["status"] == "RUNNING"
    batch.terminate_job(jobId=running, reason="enough")
    assert ended(batch, running)["statusReason"] == "enough"
    batch.terminate_job(jobId=running, reason="once more")


def test_tags_of_everything(batch, image):
    arn = register(batch, image, tags={"a": "1"})["jobDefinitionArn"]
    job = batch.submit_job(jobName="one", jobQueue="short", jobDefinition="demo", tags={"b": "2"})["jobArn"]
    queue = batch.describe_job_queues()["jobQueues"][-1]["jobQueueArn"]
    assert "256" in code_of(batch.tag_resource, resourceArn=queue, tags={"a": "x" * 257})[1]
    for one, tags in ((arn, {"a": "1"}), (job, {"b": "2"}), (queue, {})):
        assert batch.list_tags_for_resource(resourceArn=one)["tags"] == tags
        batch.tag_resource(resourceArn=one, tags={"x y": "ü/1"})
        assert batch.list_tags_for_resource(resourceArn=one)["tags"] == {**tags, "x y": "ü/1"}
        batch.untag_resource(resourceArn=one, tagKeys=["x y", "none"])
        assert batch.list_tags_for_resource(resourceArn=one)["tags"] == tags


def test_scopes_decide_what_may_be_changed(server, batch, image):
    register(batch, image)
    key = server.cli("key", "create", "--scope", "submit", "--label", "ci", "--json").json_lines[0]["token"]
    ci = Aws(server, key).client("batch")
    job = ci.submit_job(jobName="one", jobQueue="short", jobDefinition="demo")["jobArn"]
    ci.tag_resource(resourceArn=job, tags={"a": "1"})
    queue = batch.describe_job_queues(jobQueues=["short"])["jobQueues"][0]["jobQueueArn"]
    for call, arguments in ((ci.tag_resource, {"resourceArn": queue, "tags": {"a": "1"}}), (ci.update_job_queue, {"jobQueue": "short", "priority": 9}),
                            (ci.create_compute_environment, {"computeEnvironmentName": "mine", "type": "UNMANAGED"})):
        assert code_of(call, **arguments)[0] == "AccessDeniedException"
    assert server.job("one")["owner"] == "ci"


def test_only_aws_says_what_aws_batch_was_told(server):
    job = {"name": "forged", "command": ["true"], "items": ["a"], "aws_batch": '{"containerProperties": 5}'}
    for path in ("/api/v1/jobs", "/api/v1/definitions"):
        status, said = server.ask("POST", path, job)
        assert status == 400 and "aws_batch" in said["detail"], said


def test_a_native_job_from_a_definition_of_aws(server, batch, image):
    worker(server)
    register(batch, image, container={"command": ["echo", "{}"]})
    server.cli("submit", "--name", "ours", "--definition", "demo", "--queue", "short", ":::", "x")
    assert server.ends("ours")["state"] == "succeeded"
    assert server.cli("logs", "ours:0").out == "{}\n"
    shown, = batch.list_jobs(jobQueue="short", jobStatus="SUCCEEDED")["jobSummaryList"]
    detail, = batch.describe_jobs(jobs=[shown["jobId"]])["jobs"]
    assert detail["jobDefinition"].endswith("demo:1") and detail["container"]["image"] == image
    server.cli("submit", "--name", "other", "--definition", "demo", "--queue", "short", "--env", "A=9", ":::", "x")
    detail, = batch.describe_jobs(jobs=[server.job("other")["id"]])["jobs"]
    assert detail["container"]["environment"] == [{"name": "A", "value": "9"}]


def test_what_aws_cannot_say_it_does_not_submit(server, batch, tmp_path):
    job = tmp_path / "native.yaml"
    job.write_text("name: native\ncommand: [echo, '{}']\n")
    server.cli("definition", "register", job)
    code, message = code_of(batch.submit_job, jobName="a", jobQueue="short", jobDefinition="native")
    assert code == "ClientException" and "submit it with drover" in message
    server.cli("fleet", "set", "ours", "--provider", "local")
    assert "already exists; use another name" in code_of(batch.create_compute_environment, computeEnvironmentName="ours", type="UNMANAGED")[1]


def test_tags_end_with_their_queue(batch):
    arn = batch.describe_job_queues(jobQueues=["short"])["jobQueues"][0]["jobQueueArn"]
    batch.tag_resource(resourceArn=arn, tags={"a": "1"})
    batch.update_job_queue(jobQueue="short", state="DISABLED")
    batch.delete_job_queue(jobQueue="short")
    batch.create_job_queue(jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}], tags={"b": "2"})
    assert batch.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}


def test_what_native_jobs_look_like(server, batch):
    server.cli("submit", "--queue", "short", "--name", "native", "--range", "1-2", "--", "true")
    shown, = batch.list_jobs(jobQueue="short", jobStatus="PENDING")["jobSummaryList"]
    assert shown["jobName"] == "native" and shown["arrayProperties"] == {"size": 2}
    detail, = batch.describe_jobs(jobs=[shown["jobId"]])["jobs"]
    assert detail["jobDefinition"].endswith(":job-definition/drover-native:1") and detail["container"]["command"] == ["true"]
    assert server.cli("why", shown["jobId"]).out
