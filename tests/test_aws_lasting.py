"""What AWS clients were told is durable: a restart of the server between any two calls changes no answer, and kill -9 at any moment loses
no call that was acknowledged."""

import json
import random
import re
import threading
import time

import botocore.exceptions
import pytest

from aws import Aws
from test_server import Server

TRUST = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
POLICY = json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
CONTAINER = {"image": "busybox", "command": ["true"], "vcpus": 1, "memory": 64}
RESOURCES = {"type": "EC2", "minvCpus": 0, "maxvCpus": 8, "instanceTypes": ["optimal"], "subnets": ["subnet-1"], "instanceRole": "machines"}


class Session:
    """A team that sets up AWS Batch. What a call returns is kept under a name, for later calls."""

    def __init__(self, server):
        aws = Aws(server)
        self.iam, self.batch, self.logs, self.ec2 = (aws.client(it) for it in ("iam", "batch", "logs", "ec2"))
        self.jobs = {}

    def submit(self, name, **more):
        answer = self.batch.submit_job(jobName=name, jobQueue="short", jobDefinition="demo", **more)
        self.jobs[name] = answer["jobId"]
        return answer

    def steps(self):
        iam, batch, logs = self.iam, self.batch, self.logs
        yield lambda: iam.create_role(RoleName="machines", AssumeRolePolicyDocument=TRUST)
        yield lambda: iam.attach_role_policy(RoleName="machines", PolicyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
        yield lambda: iam.put_role_policy(RoleName="machines", PolicyName="own", PolicyDocument=POLICY)
        yield lambda: iam.create_instance_profile(InstanceProfileName="machines")
        yield lambda: iam.add_role_to_instance_profile(InstanceProfileName="machines", RoleName="machines")
        yield lambda: batch.create_compute_environment(computeEnvironmentName="spot", type="MANAGED", computeResources=RESOURCES, tags={"team": "a"})
        yield lambda: batch.create_scheduling_policy(name="fair", fairsharePolicy={"shareDecaySeconds": 60, "shareDistribution": [{"shareIdentifier": "a*", "weightFactor": 2.0}]})
        yield lambda: batch.create_job_queue(jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}])
        yield lambda: batch.register_job_definition(jobDefinitionName="demo", type="container", containerProperties=CONTAINER)
        yield lambda: batch.register_job_definition(jobDefinitionName="demo", type="container", containerProperties=CONTAINER, retryStrategy={"attempts": 3})
        yield lambda: self.submit("first", tags={"kind": "one"})
        yield lambda: self.submit("many", arrayProperties={"size": 20}, dependsOn=[{"jobId": self.jobs["first"]}])
        yield lambda: self.submit("chain", arrayProperties={"size": 20}, dependsOn=[{"type": "N_TO_N", "jobId": self.jobs["many"]}])
        yield lambda: batch.describe_jobs(jobs=list(self.jobs.values()))
        yield lambda: batch.list_jobs(jobQueue="short", jobStatus="PENDING")
        yield lambda: batch.tag_resource(resourceArn="arn:aws:batch:us-east-1:123456789012:job-queue/short", tags={"cost": "low"})
        yield lambda: batch.update_job_queue(jobQueue="short", priority=7)
        yield lambda: logs.create_log_group(logGroupName="/own", tags={"a": "b"})
        yield lambda: logs.create_log_stream(logGroupName="/own", logStreamName="one")
        yield lambda: logs.put_retention_policy(logGroupName="/own", retentionInDays=7)
        yield lambda: logs.describe_log_streams(logGroupName="/own")
        yield lambda: batch.terminate_job(jobId=self.jobs["chain"], reason="not needed")
        yield lambda: batch.cancel_job(jobId=self.jobs["first"], reason="not needed either")
        yield lambda: batch.describe_jobs(jobs=list(self.jobs.values()))
        yield lambda: batch.deregister_job_definition(jobDefinition="demo:1")
        yield from self.looks()
        yield lambda: batch.update_job_queue(jobQueue="short", state="DISABLED")
        yield lambda: logs.delete_log_group(logGroupName="/own")
        yield lambda: iam.detach_role_policy(RoleName="machines", PolicyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
        yield from self.looks()

    def looks(self):
        """Everything that can be described."""
        yield lambda: self.batch.describe_compute_environments()
        yield lambda: self.batch.describe_job_queues()
        yield lambda: self.batch.describe_job_definitions()
        yield lambda: self.batch.list_scheduling_policies()
        yield lambda: self.batch.list_tags_for_resource(resourceArn="arn:aws:batch:us-east-1:123456789012:job-queue/short")
        yield lambda: self.iam.list_roles()
        yield lambda: self.iam.list_attached_role_policies(RoleName="machines")
        yield lambda: self.iam.get_role_policy(RoleName="machines", PolicyName="own")
        yield lambda: self.iam.list_instance_profiles()
        yield lambda: self.logs.describe_log_groups()
        yield lambda: self.ec2.describe_subnets()


def plain(answer):
    """Without what differs from one server to the next: ids that are drawn, and times."""
    answer.pop("ResponseMetadata", None)
    text = json.dumps(answer, default=str, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"\b(AROA|AIPA|ANPA)[A-Z2-7]{17}\b", r"\1", text)
    text = re.sub(r"\b1[0-9]{12}\b", "MILLISECONDS", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00:00", "TIME", text)


def answers(server, after_each):
    out = []
    for step in Session(server).steps():
        out.append(plain(step()))
        after_each()
    return out


def test_a_restart_between_any_two_calls_changes_no_answer(drover, tmp_path):
    first = Server(drover, "--batch-machines", "none")
    expected = answers(first, lambda: None)
    first.stop()
    drover.data = tmp_path / "second"
    second = Server(drover, "--batch-machines", "none")

    def restart():
        second.stop()
        second.start()

    assert answers(second, restart) == expected


# What it does to the server, and how one sees later that it was done.
def acts(server):
    aws = Aws(server)
    iam, batch, logs, ec2 = (aws.client(it) for it in ("iam", "batch", "logs", "ec2"))
    return {
        "role": (lambda n: iam.create_role(RoleName=f"role-{n}", AssumeRolePolicyDocument=TRUST), lambda n: iam.get_role(RoleName=f"role-{n}")),
        "environment": (lambda n: batch.create_compute_environment(computeEnvironmentName=f"env-{n}", type="UNMANAGED"),
                        lambda n: one_of(batch.describe_compute_environments(computeEnvironments=[f"env-{n}"])["computeEnvironments"])),
        "definition": (lambda n: batch.register_job_definition(jobDefinitionName=f"def-{n}", type="container", containerProperties=CONTAINER),
                       lambda n: one_of(batch.describe_job_definitions(jobDefinitionName=f"def-{n}")["jobDefinitions"])),
        "job": (lambda n: batch.submit_job(jobName=f"job-{n}", jobQueue="short", jobDefinition="demo", arrayProperties={"size": 10}),
                lambda n: one_of(batch.list_jobs(jobQueue="short", filters=[{"name": "JOB_NAME", "values": [f"job-{n}"]}])["jobSummaryList"])),
        "group": (lambda n: logs.create_log_group(logGroupName=f"/group/{n}"),
                  lambda n: [it for it in logs.describe_log_groups(logGroupNamePrefix=f"/group/{n}")["logGroups"] if it["logGroupName"] == f"/group/{n}"][0]),
        "image": (lambda n: ec2.create_image(InstanceId="i-1", Name=f"image-{n}"),
                  lambda n: one_of(ec2.describe_images(Filters=[{"Name": "name", "Values": [f"image-{n}"]}])["Images"])),
    }


def one_of(found):
    assert len(found) >= 1
    return found[0]


def test_killed_at_any_moment_it_keeps_its_word(drover):
    server = Server(drover, "--batch-machines", "none")
    batch = Aws(server).client("batch")
    batch.create_compute_environment(computeEnvironmentName="spot", type="UNMANAGED")
    batch.create_job_queue(jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "spot"}])
    batch.register_job_definition(jobDefinitionName="demo", type="container", containerProperties=CONTAINER)
    acknowledged, over = [], threading.Event()

    def client(kind, act):
        number = 0
        while not over.is_set():
            number += 1
            try:
                act(number)
            except botocore.exceptions.BotoCoreError:
                time.sleep(0.02)  # it was not acknowledged
                continue
            acknowledged.append((kind, number))

    made = acts(server)
    clients = [threading.Thread(target=client, args=(kind, act)) for kind, (act, _) in made.items()]
    for it in clients:
        it.start()
    try:
        for _ in range(20):
            time.sleep(random.uniform(0.05, 0.4))
            server.kill()
            server.start()
    finally:
        over.set()
        for it in clients:
            it.join()
    assert len({kind for kind, _ in acknowledged}) == len(made) and len(acknowledged) > 60, len(acknowledged)
    for kind, number in acknowledged:
        made[kind][1](number)
