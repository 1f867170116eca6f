"""AWS clients older and newer than Debian's, from PyPI: each takes the same jobs from the first call to the last."""

import contextlib
import json
import os
import pathlib
import re
import subprocess

import pytest

import drover as shared
from aws import AwsError
from drover import wait_until
from test_aws_attempts import TRUST
from test_aws_batch import RESOURCES, image, server  # noqa: F401 (fixtures)
from test_server import worker

CALLS = pathlib.Path(__file__).parent / "boto3_calls.py"
GROUP = "/aws/batch/job"
COMMAND = "echo child $AWS_BATCH_JOB_ARRAY_INDEX says $WORD $0; test $AWS_BATCH_JOB_ARRAY_INDEX != 1 || test $AWS_BATCH_JOB_ATTEMPT = 2"


def installed(requirement):
    """A virtual environment below the build folder with this of PyPI's. One with a version is made once; one without is brought up to date."""
    folder = pathlib.Path(shared.BINARY).parents[1] / f"pypi-{requirement.replace('==', '-')}"
    mark = folder / "installed"
    if not mark.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", str(folder)], check=True)
    if not mark.exists() or "==" not in requirement:
        subprocess.run([str(folder / "bin/pip"), "install", "-q", "--disable-pip-version-check", "--upgrade", requirement], check=True)
        mark.touch()
    return folder


def environment(server, **more):  # noqa: F811
    """What `drover env-vars` prints, and no settings of the machine's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**inherited, **json.loads(server.cli("env-vars", "--json").out), "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", **more}


class Cli:
    """The AWS CLI, version 1."""

    def __init__(self, requirement, server, *flags):  # noqa: F811
        self.program, self.environment, self.flags = installed(requirement) / "bin/aws", environment(server), flags

    def __call__(self, service, operation, **arguments):
        verb = re.sub(r"(?<!^)(?=[A-Z])", "-", operation).lower()
        done = subprocess.run([str(self.program), *self.flags, service, verb, "--cli-input-json", json.dumps(arguments)], env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if refused := re.search(r"An error occurred \(([\w.]+)\).* operation[^:]*:\s*(.*)", done.stderr, re.DOTALL):
            raise AwsError(refused[1], refused[2].strip())
        assert done.returncode == 0, done
        return json.loads(done.stdout or "{}")

    def close(self):
        pass


class Boto3:
    """boto3, in a process of its own."""

    def __init__(self, requirement, server, **more):  # noqa: F811
        self.process = subprocess.Popen([str(installed(requirement) / "bin/python3"), str(CALLS)], env=environment(server, **more), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __call__(self, service, operation, **arguments):
        self.process.stdin.write(json.dumps([service, operation, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"boto3 ended with {self.process.wait()} in {operation}"
        said = json.loads(line)
        if "refused" in said:
            raise AwsError(*said["refused"])
        return said["answer"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


CLIENTS = {
    "cli-1.32": lambda server: Cli("awscli==1.32.117", server),
    "boto3-1.20": lambda server: Boto3("boto3==1.20.54", server, ENDPOINT_OPTION=server.address),
    "boto3-newest": lambda server: Boto3("boto3", server),
}


@pytest.fixture(params=CLIENTS)
def call(request, server):  # noqa: F811
    worker(server)
    with contextlib.closing(CLIENTS[request.param](server)) as one:
        yield one


def ended(call, job):
    return wait_until(lambda: (shown := described(call, job))["status"] in ("SUCCEEDED", "FAILED") and shown, f"job {job} to end")


def described(call, job):
    shown, = call("batch", "DescribeJobs", jobs=[job])["jobs"]
    return shown


def refusal(call, service, operation, **arguments):
    with pytest.raises(AwsError) as refused:
        call(service, operation, **arguments)
    return refused.value.code


def prepare(call, image):  # noqa: F811
    """A role, an environment, a queue and a definition."""
    assert refusal(call, "iam", "GetRole", RoleName="job") == "NoSuchEntity"
    call("iam", "CreateRole", RoleName="job", AssumeRolePolicyDocument=TRUST)
    role = call("iam", "GetRole", RoleName="job")["Role"]
    assert role["Arn"] == "arn:aws:iam::123456789012:role/job" and role["AssumeRolePolicyDocument"] == json.loads(TRUST)
    call("batch", "CreateComputeEnvironment", computeEnvironmentName="spot", type="MANAGED", state="ENABLED", computeResources=RESOURCES,
         serviceRole="arn:aws:iam::123456789012:role/batch")
    shown, = call("batch", "DescribeComputeEnvironments", computeEnvironments=["spot"])["computeEnvironments"]
    assert (shown["status"], shown["computeResources"]) == ("VALID", RESOURCES)
    call("batch", "CreateJobQueue", jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}])
    container = {"image": image, "vcpus": 1, "memory": 64, "jobRoleArn": role["Arn"], "command": ["sh", "-c", COMMAND, "Ref::end"],
                 "environment": [{"name": "WORD", "value": "nothing"}]}
    made = call("batch", "RegisterJobDefinition", jobDefinitionName="demo", type="container", containerProperties=container, parameters={"end": "."},
                retryStrategy={"attempts": 2}, tags={"team": "vision"})
    assert made["revision"] == 1
    shown, = call("batch", "DescribeJobDefinitions", jobDefinitionName="demo", status="ACTIVE")["jobDefinitions"]
    assert shown["containerProperties"] == container and shown["tags"] == {"team": "vision"}


def check_an_array(call):
    made = call("batch", "SubmitJob", jobName="many", jobQueue="short", jobDefinition="demo", arrayProperties={"size": 3}, parameters={"end": "!"},
                containerOverrides={"environment": [{"name": "WORD", "value": "hello"}], "vcpus": 2})
    job = made["jobId"]
    shown = ended(call, job)
    assert shown["status"] == "SUCCEEDED" and shown["arrayProperties"]["statusSummary"]["SUCCEEDED"] == 3, shown
    child = described(call, f"{job}:1")
    assert [attempt["container"]["exitCode"] for attempt in child["attempts"]] == [1, 0] and child["arrayProperties"]["index"] == 1
    assert {"name": "WORD", "value": "hello"} in child["container"]["environment"]
    for whole in (shown["createdAt"], child["startedAt"], child["stoppedAt"], child["container"]["exitCode"]):
        assert type(whole) is int, child
    listed = call("batch", "ListJobs", arrayJobId=job, jobStatus="SUCCEEDED")["jobSummaryList"]
    assert [(it["jobId"], it["arrayProperties"]["index"]) for it in listed] == [(f"{job}:{index}", index) for index in range(3)]
    assert [it["jobName"] for it in call("batch", "ListJobs", jobQueue="short", jobStatus="SUCCEEDED")["jobSummaryList"]] == ["many"]

    stream = child["container"]["logStreamName"]
    events = call("logs", "GetLogEvents", logGroupName=GROUP, logStreamName=stream, startFromHead=True)["events"]
    assert [event["message"] for event in events] == ["child 1 says hello !"] and type(events[0]["timestamp"]) is int
    found = call("logs", "FilterLogEvents", logGroupName=GROUP, filterPattern='"child 1"')["events"]
    assert [event["logStreamName"] for event in found] == [attempt["container"]["logStreamName"] for attempt in child["attempts"]]
    assert refusal(call, "logs", "GetLogEvents", logGroupName=GROUP, logStreamName="demo/default/none") == "ResourceNotFoundException"

    call("batch", "TagResource", resourceArn=made["jobArn"], tags={"run": "7", "a b": "ü"})
    assert call("batch", "ListTagsForResource", resourceArn=made["jobArn"])["tags"] == {"run": "7", "a b": "ü"}
    call("batch", "UntagResource", resourceArn=made["jobArn"], tagKeys=["a b"])
    assert call("batch", "ListTagsForResource", resourceArn=made["jobArn"])["tags"] == {"run": "7"}


def check_termination(call):
    job = call("batch", "SubmitJob", jobName="long", jobQueue="short", jobDefinition="demo:1", containerOverrides={"command": ["sleep", "1000"]},
               timeout={"attemptDurationSeconds": 600})["jobId"]
    wait_until(lambda: described(call, job)["status"] == "RUNNING", "the job to run")
    call("batch", "TerminateJob", jobId=job, reason="enough")
    shown = ended(call, job)
    assert (shown["status"], shown["statusReason"]) == ("FAILED", "enough")


def remove(call):
    assert refusal(call, "batch", "DeleteJobQueue", jobQueue="short") == "ClientException"
    call("batch", "DeregisterJobDefinition", jobDefinition="demo:1")
    call("batch", "UpdateJobQueue", jobQueue="short", state="DISABLED")
    call("batch", "DeleteJobQueue", jobQueue="short")
    call("batch", "UpdateComputeEnvironment", computeEnvironment="spot", state="DISABLED")
    call("batch", "DeleteComputeEnvironment", computeEnvironment="spot")
    call("iam", "DeleteRole", RoleName="job")
    assert call("batch", "DescribeJobDefinitions", jobDefinitionName="demo", status="ACTIVE")["jobDefinitions"] == []
    assert call("batch", "DescribeComputeEnvironments", computeEnvironments=["spot"])["computeEnvironments"] == []


def test_from_the_first_call_to_the_last(call, image):  # noqa: F811
    identity = call("sts", "GetCallerIdentity")
    assert identity["Account"] == "123456789012" and identity["Arn"].startswith("arn:aws:iam::123456789012:"), identity
    prepare(call, image)
    check_an_array(call)
    check_termination(call)
    remove(call)
