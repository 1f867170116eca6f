"""The AWS credentials that an attempt has of its own: over TLS, from inside a container, with boto3 and the CLI. They may do what the job's
role says, and nothing when the attempt has ended."""

import json
import time
import uuid

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import pytest

from aws import REGION, Aws, code_of
from drover import wait_until
from test_aws_batch import CONTAINER, ended, image  # noqa: F401
from test_server import Server, worker
from test_streams import counts, create
from test_verbs import said

TRUST = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
# The machine's own Python and AWS CLI, in a container.
HOST = ("/usr", "/lib", "/lib64")

SCRIPT = """
import json, os, subprocess, sys, time
import boto3, botocore.exceptions
def client(service):
    return boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"])
def outcome(call, **arguments):
    try:
        call(**arguments)
        return "done"
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
command = ["/usr/bin/python3", "/usr/bin/aws", "--endpoint-url", os.environ["AWS_ENDPOINT_URL"], "sts", "get-caller-identity", "--output", "json"]
cli = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "AWS_PAGER": ""})
said = {
    "identity": client("sts").get_caller_identity()["Arn"],
    "cli": json.loads(cli.stdout)["Arn"] if cli.returncode == 0 else cli.stderr,
    "jobs": outcome(client("batch").describe_jobs, jobs=[os.environ["AWS_BATCH_JOB_ID"]]),
    "list": outcome(client("batch").list_jobs, jobQueue="short"),
    "submit": outcome(client("batch").submit_job, jobName="again", jobQueue="short", jobDefinition="other"),
    "groups": outcome(client("logs").describe_log_groups),
    "roles": outcome(client("iam").list_roles),
    "environment": {name: value for name, value in os.environ.items() if name.startswith("AWS_")},
}
with open("/out/said.json.new", "w") as out:
    json.dump(said, out)
os.rename("/out/said.json.new", "/out/said.json")
while not os.path.exists("/out/go"):
    time.sleep(0.05)
"""


@pytest.fixture
def server(drover):
    one = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    one.address = f"https://127.0.0.1:{one.listen.rsplit(':', 1)[1]}"
    return one


@pytest.fixture
def aws(server):
    return Aws(server, authority=server.drover.data / "server/ca.pem")


@pytest.fixture
def batch(server, aws):
    client = aws.client("batch")
    client.create_compute_environment(computeEnvironmentName="here", type="UNMANAGED")
    client.create_job_queue(jobQueueName="short", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "here"}])
    worker(server, env={"DROVER_SERVER": server.address})
    return client


class Attempt:
    """A job that looks around with the credentials that it has, and stays until it is let go."""

    def __init__(self, batch, server, image, folder, **container):
        self.folder, self.server, self.batch = folder, server, batch
        folder.mkdir()
        (folder / "look.py").write_text(SCRIPT)
        volumes = [{"name": f"v{n}", "host": {"sourcePath": path}} for n, path in enumerate(HOST)]
        points = [{"sourceVolume": f"v{n}", "containerPath": path, "readOnly": True} for n, path in enumerate(HOST)]
        batch.register_job_definition(
            jobDefinitionName=folder.name, type="container", containerProperties={
                **CONTAINER, "memory": 512, "image": image, "command": ["/usr/bin/python3", "/out/look.py"],
                "volumes": [*volumes, {"name": "out", "host": {"sourcePath": str(folder)}}],
                "mountPoints": [*points, {"sourceVolume": "out", "containerPath": "/out"}], **container})
        self.job = batch.submit_job(jobName=folder.name, jobQueue="short", jobDefinition=folder.name)["jobId"]

    def said(self):
        file = self.folder / "said.json"
        wait_until(lambda: file.exists() or self.batch.describe_jobs(jobs=[self.job])["jobs"][0]["status"] == "FAILED", "the attempt to look around")
        assert file.exists(), self.server.cli("logs", self.job + ":0").out
        return json.loads(file.read_text())

    def end(self):
        (self.folder / "go").touch()
        return ended(self.batch, self.job)


def client_of(server, environment, service, region=REGION, **changed):
    """As somebody would use it who has taken the credentials out of the attempt."""
    said = {**environment, **changed}
    session = boto3.session.Session(said["AWS_ACCESS_KEY_ID"], said["AWS_SECRET_ACCESS_KEY"], said["AWS_SESSION_TOKEN"], region_name=region)
    return session.client(service, endpoint_url=server.address, verify=str(server.drover.data / "server/ca.pem"),
                          config=botocore.config.Config(retries={"max_attempts": 0}))


def signed_get(server, environment, path):
    """(status, text) of a request to Drover's own API that is signed as AWS clients sign."""
    credentials = botocore.credentials.Credentials(*(environment[f"AWS_{it}"] for it in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")))
    request = botocore.awsrequest.AWSRequest("GET", server.address + path)
    botocore.auth.SigV4Auth(credentials, "drover", REGION).add_auth(request)
    connection = server.connection()
    connection.request("GET", path, headers=dict(request.headers))
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def role(aws, name, *statements, trust=TRUST):
    iam = aws.client("iam")
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    if statements:
        iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps({"Statement": list(statements)}))
    return arn


def allow(*actions, resource="*", effect="Allow"):
    return {"Effect": effect, "Action": list(actions), "Resource": resource}


def test_a_role_says_what_an_attempt_may_do_and_only_while_it_runs(server, aws, batch, image, tmp_path):
    arn = role(aws, "looker", allow("batch:Describe*", "logs:*"), allow("logs:DescribeLogGroups", effect="Deny"))
    attempt = Attempt(batch, server, image, tmp_path / "look", jobRoleArn=arn)
    said = attempt.said()
    assert said["identity"] == said["cli"] == f"arn:aws:sts::123456789012:assumed-role/looker/{attempt.job}"
    assert {name: said[name] for name in ("jobs", "list", "submit", "groups", "roles")} == {
        "jobs": "done", "list": "AccessDeniedException", "submit": "AccessDeniedException", "groups": "AccessDeniedException", "roles": "AccessDenied"}
    environment = said["environment"]
    assert environment["AWS_ENDPOINT_URL"] == server.address and environment["AWS_CA_BUNDLE"] == "/run/drover/ca.pem"
    assert environment["AWS_DEFAULT_REGION"] == environment["AWS_REGION"] == REGION

    # Drover's own API takes keys, not sessions.
    status, text = signed_get(server, environment, f"/api/v1/jobs/{attempt.job}")
    assert status == 403 and "$DROVER_KEY" in text

    # They work from outside too while the attempt runs, and after a restart of the server.
    client_of(server, environment, "batch").describe_jobs(jobs=[attempt.job])
    server.kill()
    server.start()
    server.address = f"https://127.0.0.1:{server.listen.rsplit(':', 1)[1]}"
    client_of(server, environment, "batch").describe_jobs(jobs=[attempt.job])
    # What the role may do is asked each time.
    aws.client("iam").put_role_policy(RoleName="looker", PolicyName="own", PolicyDocument=json.dumps({"Statement": [allow("batch:ListJobs")]}))
    assert code_of(client_of(server, environment, "batch").describe_jobs, jobs=[attempt.job])[0] == "AccessDeniedException"
    client_of(server, environment, "batch").list_jobs(jobQueue="short")

    assert attempt.end()["status"] == "SUCCEEDED"
    assert code_of(client_of(server, environment, "batch").list_jobs, jobQueue="short")[0] == "ExpiredTokenException"
    assert code_of(client_of(server, environment, "sts").get_caller_identity)[0] == "ExpiredToken"


@pytest.mark.parametrize("container", [{}, {"jobRoleArn": "arn:aws:iam::123456789012:role/never-created"}])
def test_without_a_role_an_attempt_may_use_logs_and_nothing_administrative(server, batch, image, tmp_path, container):
    attempt = Attempt(batch, server, image, tmp_path / "plain", **container)
    said = attempt.said()
    assert said["identity"] == f"arn:aws:sts::123456789012:assumed-role/drover-job/{attempt.job}"
    assert {name: said[name] for name in ("jobs", "submit", "groups", "roles")} == {
        "jobs": "AccessDeniedException", "submit": "AccessDeniedException", "groups": "done", "roles": "AccessDenied"}
    attempt.end()


def test_without_a_role_of_its_own_it_has_that_of_the_machines(server, aws, batch, image, tmp_path):
    role(aws, "machines", allow("batch:ListJobs"))
    iam = aws.client("iam")
    iam.create_instance_profile(InstanceProfileName="machines")
    iam.add_role_to_instance_profile(InstanceProfileName="machines", RoleName="machines")
    batch.create_compute_environment(computeEnvironmentName="managed", type="MANAGED", computeResources={
        "type": "EC2", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": ["optimal"], "subnets": ["subnet-1"], "instanceRole": "machines"})
    batch.update_job_queue(jobQueue="short", computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "managed"}])
    attempt = Attempt(batch, server, image, tmp_path / "machine")
    said = attempt.said()
    assert (said["list"], said["jobs"]) == ("done", "AccessDeniedException") and "assumed-role/machines/" in said["identity"]
    attempt.end()


def test_credentials_cannot_be_changed_into_others(server, batch, image, tmp_path):
    attempt = Attempt(batch, server, image, tmp_path / "one")
    environment = attempt.said()["environment"]
    token = environment["AWS_SESSION_TOKEN"]
    head, grant, item, number, mac = token.rsplit(".", 4)
    for other in (f"{head}.{grant}.{int(item) + 1}.{number}.{mac}", f"{head}.{int(grant) + 1}.{item}.{number}.{mac}", token[:-1],
                  token + "A", f"{head}.{grant}.{item}.{number}", head, "drover-session-e30." + mac, "x"):
        code, _ = code_of(client_of(server, environment, "sts", AWS_SESSION_TOKEN=other).get_caller_identity)
        assert code == "InvalidClientTokenId", other
    assert code_of(client_of(server, environment, "sts", AWS_SECRET_ACCESS_KEY="x" * 40).get_caller_identity)[0] == "SignatureDoesNotMatch"
    assert code_of(client_of(server, environment, "sts", AWS_ACCESS_KEY_ID="ASDRAAAAAAAAAAAAAAAA").get_caller_identity)[0] == "InvalidClientTokenId"
    attempt.end()


def test_a_job_that_has_aws_settings_of_its_own_keeps_them(server, batch, image, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    batch.register_job_definition(jobDefinitionName="own", type="container", containerProperties={
        **CONTAINER, "image": image, "command": ["sh", "-c", "env > /out/env"], "environment": [{"name": "AWS_ENDPOINT_URL", "value": "https://s3.example.com"}],
        "volumes": [{"name": "out", "host": {"sourcePath": str(folder)}}], "mountPoints": [{"sourceVolume": "out", "containerPath": "/out"}]})
    assert ended(batch, batch.submit_job(jobName="own", jobQueue="short", jobDefinition="own")["jobId"])["status"] == "SUCCEEDED"
    seen = dict(line.split("=", 1) for line in (folder / "env").read_text().splitlines() if line.startswith("AWS_"))
    assert seen["AWS_ENDPOINT_URL"] == "https://s3.example.com" and not {"AWS_ACCESS_KEY_ID", "AWS_CA_BUNDLE"} & set(seen)


def test_a_role_is_assumed_by_those_whom_it_trusts(server, aws, batch):
    me = aws("sts", "get-caller-identity")["Arn"]
    named = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": me}, "Action": "sts:AssumeRole"}]})
    anyone_here = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}]})
    lister = role(aws, "lister", allow("batch:ListJobs"), trust=named)
    shared = role(aws, "shared", allow("logs:*"), trust=anyone_here)
    machines_only = role(aws, "machines-only", allow("*"))
    sts = aws.client("sts")
    made = sts.assume_role(RoleArn=lister, RoleSessionName="me")
    assert made["AssumedRoleUser"]["Arn"] == "arn:aws:sts::123456789012:assumed-role/lister/me"
    session = as_environment(made)
    assert client_of(server, session, "sts").get_caller_identity()["Arn"] == made["AssumedRoleUser"]["Arn"]
    client_of(server, session, "batch").list_jobs(jobQueue="short")
    code, message = code_of(client_of(server, session, "batch").describe_job_queues)
    assert code == "AccessDeniedException" and "assumed-role/lister/me is not authorized to perform: batch:DescribeJobQueues" in message
    assert code_of(client_of(server, session, "sts").assume_role, RoleArn=shared, RoleSessionName="me")[0] == "AccessDenied"
    assert code_of(sts.assume_role, RoleArn=machines_only, RoleSessionName="me")[0] == "AccessDenied"
    assert code_of(sts.assume_role, RoleArn=lister.replace("lister", "nobody"), RoleSessionName="me")[0] == "AccessDenied"
    assert code_of(sts.assume_role, RoleArn=lister, RoleSessionName="me", DurationSeconds=7200)[0] == "ValidationError"
    # Trusting the account is enough for an admin, not for another key.
    sts.assume_role(RoleArn=shared, RoleSessionName="me")
    submit_key = server.cli("key", "create", "--scope", "submit", "--json").json_lines[0]["token"]
    other = Aws(server, key=submit_key, authority=server.drover.data / "server/ca.pem").client("sts")
    assert code_of(other.assume_role, RoleArn=shared, RoleSessionName="me")[0] == "AccessDenied"
    aws.client("iam").delete_role_policy(RoleName="lister", PolicyName="own")
    aws.client("iam").delete_role(RoleName="lister")
    assert code_of(client_of(server, session, "batch").list_jobs, jobQueue="short")[0] == "AccessDeniedException"


def as_environment(answer):
    made = answer["Credentials"]
    return {"AWS_ACCESS_KEY_ID": made["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"], "AWS_SESSION_TOKEN": made["SessionToken"]}


def test_a_denied_resource_is_denied_however_it_is_named(server, aws, batch):
    """In whatever region, by name or by ARN, with or without a revision, through whichever service."""
    here = "us-east-1:123456789012"
    aws.client("iam").create_role(RoleName="admin", Path="/ops/", AssumeRolePolicyDocument=TRUST)
    aws.client("iam").create_instance_profile(InstanceProfileName="admin")
    aws.client("iam").create_instance_profile(InstanceProfileName="plain")
    role(aws, "hidden", allow("*"))
    policy = aws.client("iam").create_policy(PolicyName="all", PolicyDocument=json.dumps({"Statement": [allow("*")]}))["Policy"]["Arn"]
    ec2, logs = aws.client("ec2"), aws.client("logs")
    group = ec2.create_security_group(GroupName="inner", Description="x")["GroupId"]
    pair = ec2.create_key_pair(KeyName="door")["KeyPairId"]
    picture = ec2.create_image(InstanceId="i-0123456789abcdef0", Name="picture")["ImageId"]
    template = ec2.create_launch_template(LaunchTemplateName="machines", LaunchTemplateData={"ImageId": "ami-1"})["LaunchTemplate"]["LaunchTemplateId"]
    logs.create_log_group(logGroupName="audit")
    for name in ("prod", "test"):
        batch.create_job_queue(jobQueueName=name, priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "here"}])
        batch.register_job_definition(jobDefinitionName=name, type="container", containerProperties={**CONTAINER, "image": "nobody/nothing", "command": ["true"]})
    # A job may be named like the id of another.
    secret = batch.submit_job(jobName=str(uuid.uuid4()), jobQueue="test", jobDefinition="test", arrayProperties={"size": 9})
    me = aws("sts", "get-caller-identity")["Arn"]
    careful = role(aws, "careful", allow("*"), allow("*", effect="Deny", resource=[
        f"arn:aws:batch:{here}:job-queue/prod", f"arn:aws:batch:{here}:job-definition/prod:*", f"arn:aws:batch:{here}:compute-environment/here",
        "arn:aws:iam::123456789012:role/ops/admin", "arn:aws:iam::123456789012:instance-profile/admin", policy,
        f"arn:aws:ec2:{here}:security-group/{group}", f"arn:aws:ec2:{here}:key-pair/door", f"arn:aws:ec2:{here}:launch-template/{template}",
        f"arn:aws:ec2:us-east-1::image/{picture}", f"arn:aws:batch:{here}:job/{secret['jobId']}*", "arn:aws:iam::123456789012:role/hidden",
        f"arn:aws:logs:{here}:log-group:audit*"]),
        trust=json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": me}, "Action": "sts:AssumeRole"}]}))
    session = as_environment(aws.client("sts").assume_role(RoleArn=careful, RoleSessionName="me"))

    for region in ("us-east-1", "eu-central-1", "anywhere"):
        of = lambda service: client_of(server, session, service, region)
        queue = f"arn:aws:batch:{region}:123456789012:job-queue/prod"
        foreign = "arn:aws:batch:us-east-1:999999999999:job-queue/prod"
        one = {"jobName": "x", "jobQueue": "test", "jobDefinition": "test"}
        rule = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "CidrIp": "10.0.0.0/8"}
        tag = [{"Key": "a", "Value": "b"}]
        for call, arguments in [
                (of("batch").submit_job, {**one, "jobQueue": "prod"}), (of("batch").submit_job, {**one, "jobQueue": queue}),
                (of("batch").submit_job, {**one, "jobDefinition": "prod"}), (of("batch").submit_job, {**one, "jobDefinition": "prod:1"}),
                (of("batch").update_job_queue, {"jobQueue": "prod", "state": "DISABLED"}), (of("batch").delete_job_queue, {"jobQueue": foreign}),
                (of("batch").update_job_queue, {"jobQueue": "test", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "here"}]}),
                (of("batch").tag_resource, {"resourceArn": queue, "tags": {"a": "b"}}), (of("batch").tag_resource, {"resourceArn": foreign, "tags": {"a": "b"}}),
                (of("batch").submit_job, {**one, "jobDefinition": f"arn:aws:batch:{region}:123456789012:job-definition/prod:1"}),
                (of("batch").deregister_job_definition, {"jobDefinition": "prod:1"}),
                (of("batch").terminate_job, {"jobId": secret["jobId"], "reason": "x"}), (of("batch").terminate_job, {"jobId": secret["jobId"] + ":3", "reason": "x"}),
                (of("batch").list_tags_for_resource, {"resourceArn": f"arn:aws:batch:{region}:123456789012:job/{secret['jobId']}"}),
                (of("batch").register_job_definition, {"jobDefinitionName": "hidden", "type": "container", "containerProperties": {
                    **CONTAINER, "image": "x", "command": ["true"], "jobRoleArn": "arn:aws:iam::123456789012:role/hidden"}}),
                (of("iam").add_role_to_instance_profile, {"InstanceProfileName": "plain", "RoleName": "hidden"}),
                (of("ec2").create_tags, {"Resources": [picture], "Tags": tag}),
                (of("iam").attach_role_policy, {"RoleName": "admin", "PolicyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"}),
                (of("iam").put_role_policy, {"RoleName": "admin", "PolicyName": "x", "PolicyDocument": "{}"}), (of("iam").delete_role, {"RoleName": "admin"}),
                (of("iam").delete_instance_profile, {"InstanceProfileName": "admin"}), (of("iam").delete_policy, {"PolicyArn": policy}),
                (of("iam").create_role, {"RoleName": "admin", "Path": "/ops/", "AssumeRolePolicyDocument": TRUST}),
                (of("ec2").delete_security_group, {"GroupName": "inner"}), (of("ec2").authorize_security_group_ingress, {"GroupId": group, **rule}),
                (of("ec2").create_tags, {"Resources": [group], "Tags": tag}), (of("ec2").create_tags, {"Resources": [pair], "Tags": tag}),
                (of("ec2").delete_key_pair, {"KeyName": "door"}), (of("ec2").delete_key_pair, {"KeyPairId": pair}),
                (of("ec2").delete_launch_template, {"LaunchTemplateName": "machines"}), (of("ec2").delete_launch_template, {"LaunchTemplateId": template}),
                (of("logs").delete_log_group, {"logGroupName": "audit"}), (of("logs").put_retention_policy, {"logGroupName": "audit", "retentionInDays": 1}),
                (of("logs").tag_resource, {"resourceArn": f"arn:aws:logs:{region}:123456789012:log-group:audit", "tags": {"a": "b"}})]:
            code, message = code_of(call, **arguments)
            assert code in ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation") and "explicit deny" in message, (region, arguments, message)
        # Other spellings name nothing.
        for call, arguments in [
                (of("batch").submit_job, {**one, "jobDefinition": "prod:01"}), (of("batch").deregister_job_definition, {"jobDefinition": "prod:01"}),
                (of("batch").terminate_job, {"jobId": secret["jobId"].upper(), "reason": "x"}), (of("batch").terminate_job, {"jobId": secret["jobId"] + ":03", "reason": "x"}),
                *((of("batch").list_tags_for_resource, {"resourceArn": f"arn:aws:batch:{region}:123456789012:{it}"})
                  for it in (f"job/{secret['jobId'].upper()}", f"job/{secret['jobId']}:03", f"job/{secret['jobName']}", "job-definition/prod:01", "compute-environment/arn:x/here"))]:
            assert code_of(call, **arguments)[0] in ("ClientException", "AccessDeniedException"), arguments
        assert of("batch").terminate_job(jobId=secret["jobName"], reason="x")["ResponseMetadata"]["HTTPStatusCode"] == 200
        assert not of("batch").describe_jobs(jobs=[secret["jobName"]])["jobs"]
        assert code_of(of("batch").terminate_job, jobId="x" * 900_000, reason="x")[0] == "AccessDeniedException"
        of("batch").submit_job(**one)
        of("batch").update_job_queue(jobQueue="test", priority=2)
        of("iam").get_role(RoleName="careful")
    assert batch.describe_jobs(jobs=[secret["jobId"]])["jobs"][0]["status"] == "PENDING"


def test_a_role_of_another_account_is_none_of_ours(server, aws, batch, image, tmp_path):
    arn = role(aws, "looker", allow("batch:*"))
    attempt = Attempt(batch, server, image, tmp_path / "foreign", jobRoleArn=arn.replace("123456789012", "999999999999"))
    assert attempt.said()["jobs"] == "AccessDeniedException"
    attempt.end()


def test_sessions_are_not_renewed_and_not_given_to_workers(server, aws, batch):
    authority = server.drover.data / "server/ca.pem"
    session = as_environment(aws.client("sts").get_session_token(DurationSeconds=900))
    assert code_of(client_of(server, session, "sts").get_session_token)[0] == "AccessDenied"
    # A worker names itself; a role that trusts a user of that name does not trust it.
    user = "arn:aws:iam::123456789012:user/ann"
    anns = role(aws, "anns", allow("*"), trust=json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": user}, "Action": "sts:AssumeRole"}]}))
    key = server.cli("key", "create", "--scope", "worker", "--label", "ann", "--json").json_lines[0]["token"]
    machine = Aws(server, key=key, authority=authority).client("sts")
    assert machine.get_caller_identity()["Arn"] == f"arn:aws:iam::123456789012:worker/{key.split('.')[0]}"
    assert code_of(machine.assume_role, RoleArn=anns, RoleSessionName="me")[0] == "AccessDenied"
    assert code_of(machine.get_session_token)[0] == "AccessDenied"
    key = server.cli("key", "create", "--scope", "read", "--label", "ann", "--json").json_lines[0]["token"]
    Aws(server, key=key, authority=authority).client("sts").assume_role(RoleArn=anns, RoleSessionName="me")
    # It is for AWS's services, and not for those that give what lasts.
    client_of(server, session, "batch").describe_job_queues()
    assert code_of(client_of(server, session, "iam").list_roles)[0] == "AccessDenied"
    status, text = signed_get(server, session, "/api/v1/keys")
    assert status == 403 and "session of AWS clients" in text


def trust_of(*principals, effect="Allow"):
    return {"Effect": effect, "Principal": {"AWS": list(principals)}, "Action": "sts:AssumeRole"}


def test_a_role_on_a_path_is_trusted_by_its_whole_name(server, aws, batch):
    me = aws("sts", "get-caller-identity")["Arn"]
    iam = aws.client("iam")
    in_team = iam.create_role(RoleName="r5", Path="/team/", AssumeRolePolicyDocument=json.dumps({"Statement": [trust_of(me)]}))["Role"]["Arn"]
    iam.put_role_policy(RoleName="r5", PolicyName="own", PolicyDocument=json.dumps({"Statement": [allow("*")]}))
    other = "arn:aws:iam::123456789012:role/r5"
    trusting = {name: role(aws, name, trust=json.dumps({"Statement": statements})) for name, statements in {
        "whole": [trust_of(in_team)], "short": [trust_of(other)], "but": [trust_of("123456789012"), trust_of(in_team, effect="Deny")]}.items()}
    session = as_environment(aws.client("sts").assume_role(RoleArn=in_team, RoleSessionName="me"))
    sts = client_of(server, session, "sts")
    sts.assume_role(RoleArn=trusting["whole"], RoleSessionName="me")
    for name in ("short", "but"):
        assert code_of(sts.assume_role, RoleArn=trusting[name], RoleSessionName="me")[0] == "AccessDenied"


def test_what_a_role_gave_goes_with_it(server, aws, batch, image, tmp_path):
    me = aws("sts", "get-caller-identity")["Arn"]
    trust = json.dumps({"Statement": [trust_of(me)]})
    arn = role(aws, "quiet", allow("*"), allow("logs:*", effect="Deny"), trust=trust)
    attempt = Attempt(batch, server, image, tmp_path / "quiet", jobRoleArn=arn)
    environment = attempt.said()["environment"]
    session = as_environment(aws.client("sts").assume_role(RoleArn=arn, RoleSessionName="me"))
    client_of(server, session, "batch").list_jobs(jobQueue="short")
    iam = aws.client("iam")
    iam.delete_role_policy(RoleName="quiet", PolicyName="own")
    iam.delete_role(RoleName="quiet")
    assert code_of(client_of(server, environment, "logs").describe_log_groups)[0] == "AccessDeniedException"
    # Another role of its name is another role.
    role(aws, "quiet", allow("*"))
    assert code_of(client_of(server, session, "batch").list_jobs, jobQueue="short")[0] == "AccessDeniedException"
    client_of(server, environment, "logs").describe_log_groups()
    attempt.end()


def test_a_session_token_is_its_key_for_a_while(server, aws, batch):
    read_key = server.cli("key", "create", "--scope", "read", "--json").json_lines[0]["token"]
    reader = Aws(server, key=read_key, authority=server.drover.data / "server/ca.pem")
    session = as_environment(reader.client("sts").get_session_token(DurationSeconds=900))
    client_of(server, session, "batch").describe_job_queues()
    assert code_of(client_of(server, session, "batch").cancel_job, jobId="x", reason="y")[0] == "AccessDeniedException"
    server.cli("key", "delete", read_key.split(".")[0])
    assert code_of(client_of(server, session, "batch").describe_job_queues)[0] == "UnrecognizedClientException"


def test_a_killed_attempt_holds_no_messages_back(server, aws, batch, image, tmp_path):
    """A worker of the user's own that runs as a job received ten messages for 8,000 seconds."""
    create(server, "orders")
    said(server.cli("stream", "send", "orders", *range(10)))
    arn = role(aws, "receiver", allow("sqs:*"))
    attempt = Attempt(batch, server, image, tmp_path / "take", jobRoleArn=arn)
    sqs = client_of(server, attempt.said()["environment"], "sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    taken = []
    while len(taken) < 10:
        taken += sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=8000).get("Messages", [])
    assert counts(server, "orders") == (0, 10, 0)
    batch.terminate_job(jobId=attempt.job, reason="enough")
    begun = time.monotonic()
    wait_until(lambda: counts(server, "orders") == (10, 0, 0), "the messages to be visible again")
    print(f"visible again after {time.monotonic() - begun:.1f} s")
