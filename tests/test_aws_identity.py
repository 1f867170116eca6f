"""Who AWS clients are, and what they may do: signatures, STS and IAM, as the AWS CLI and boto3 speak them."""

import datetime
import json
import urllib.request
from unittest import mock

import botocore.auth
import pytest

from aws import Aws, AwsError, code_of
from test_server import Server

TRUST = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"Service": "batch.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
READS = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}})
MANAGED = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.fixture
def aws(server):
    return Aws(server)


def test_callers_are_named_by_their_keys(server, aws):
    shown = aws("sts", "get-caller-identity")
    assert shown == {"UserId": aws.id, "Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/first"}
    made = server.cli("key", "create", "--scope", "read", "--label", "dashboard", "--json").json_lines[0]
    other = Aws(server, made["token"]).client("sts").get_caller_identity()
    assert other["Arn"] == "arn:aws:iam::123456789012:user/dashboard"


@pytest.mark.parametrize("service, call, unknown, wrong", [
    ("sts", "get_caller_identity", "InvalidClientTokenId", "SignatureDoesNotMatch"),
    ("iam", "list_roles", "InvalidClientTokenId", "SignatureDoesNotMatch"),
])
def test_keys_and_secrets_that_are_not_ours(server, aws, service, call, unknown, wrong):
    nobody = Aws(server, f"AKDR{'A' * 16}.{aws.secret}").client(service)
    assert code_of(getattr(nobody, call))[0] == unknown
    thief = Aws(server, f"{aws.id}.{'x' * 40}").client(service)
    assert code_of(getattr(thief, call))[0] == wrong


def test_a_clock_that_is_wrong(aws):
    client = aws.client("sts")
    past = datetime.datetime.utcnow() - datetime.timedelta(minutes=16)
    with mock.patch.object(botocore.auth.datetime, "datetime", mock.Mock(utcnow=lambda: past)):
        code, message = code_of(client.get_caller_identity)
    assert code == "SignatureDoesNotMatch" and "Signature expired" in message


def test_a_body_that_was_changed_on_its_way(aws):
    client = aws.client("sts")

    client.meta.events.register("before-send.sts", lambda request, **_: setattr(request, "body", request.body.replace("2011", "2012")))
    assert code_of(client.get_caller_identity)[0] == "SignatureDoesNotMatch"


def test_a_request_that_is_not_signed(server):
    request = urllib.request.Request(server.address + "/", b"Action=GetCallerIdentity&Version=2011-06-15", method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    assert refused.value.code == 403 and b"<Code>MissingAuthenticationToken</Code>" in refused.value.read()


def test_a_role_from_its_creation_to_its_end(server, aws):
    made = aws("iam", "create-role", "--role-name", "worker", "--assume-role-policy-document", TRUST, "--description", "ünits & <more>",
               "--tags", "Key=team,Value=vision")["Role"]
    assert made["Arn"] == "arn:aws:iam::123456789012:role/worker" and made["AssumeRolePolicyDocument"] == json.loads(TRUST)
    aws("iam", "attach-role-policy", "--role-name", "worker", "--policy-arn", MANAGED)
    server.kill()
    server.start()
    aws("iam", "put-role-policy", "--role-name", "worker", "--policy-name", "reads", "--policy-document", READS)
    shown = aws("iam", "get-role", "--role-name", "worker")["Role"]
    assert shown == made and shown["Description"] == "ünits & <more>" and shown["Tags"] == [{"Key": "team", "Value": "vision"}]
    assert aws("iam", "list-attached-role-policies", "--role-name", "worker")["AttachedPolicies"] == [
        {"PolicyName": "AmazonS3ReadOnlyAccess", "PolicyArn": MANAGED}]
    assert aws("iam", "get-role-policy", "--role-name", "worker", "--policy-name", "reads")["PolicyDocument"] == json.loads(READS)
    assert aws("iam", "list-role-policies", "--role-name", "worker")["PolicyNames"] == ["reads"]
    iam = aws.client("iam")
    assert code_of(iam.delete_role, RoleName="worker")[0] == "DeleteConflict"
    aws("iam", "detach-role-policy", "--role-name", "worker", "--policy-arn", MANAGED)
    aws("iam", "delete-role-policy", "--role-name", "worker", "--policy-name", "reads")
    aws("iam", "delete-role", "--role-name", "worker")
    assert code_of(iam.get_role, RoleName="worker")[0] == "NoSuchEntity"


def test_an_instance_profile_has_one_role(aws):
    iam = aws.client("iam")
    iam.create_role(RoleName="machine", Path="/ours/", AssumeRolePolicyDocument=TRUST)
    iam.create_role(RoleName="other", AssumeRolePolicyDocument=TRUST)
    made = iam.create_instance_profile(InstanceProfileName="machines")["InstanceProfile"]
    assert made["Roles"] == [] and made["Arn"].endswith(":instance-profile/machines")
    iam.add_role_to_instance_profile(InstanceProfileName="machines", RoleName="machine")
    assert code_of(iam.add_role_to_instance_profile, InstanceProfileName="machines", RoleName="other")[0] == "LimitExceeded"
    shown, = iam.get_instance_profile(InstanceProfileName="machines")["InstanceProfile"]["Roles"]
    assert shown["Arn"] == "arn:aws:iam::123456789012:role/ours/machine"
    assert [it["InstanceProfileName"] for it in iam.list_instance_profiles_for_role(RoleName="machine")["InstanceProfiles"]] == ["machines"]
    assert code_of(iam.delete_role, RoleName="machine")[0] == "DeleteConflict"
    assert code_of(iam.delete_instance_profile, InstanceProfileName="machines")[0] == "DeleteConflict"
    iam.remove_role_from_instance_profile(InstanceProfileName="machines", RoleName="machine")
    iam.delete_instance_profile(InstanceProfileName="machines")
    iam.delete_role(RoleName="machine")


def test_policies_of_ones_own(aws):
    iam = aws.client("iam")
    arn = iam.create_policy(PolicyName="reads", PolicyDocument=READS)["Policy"]["Arn"]
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=TRUST)
    iam.attach_role_policy(RoleName="reader", PolicyArn=arn)
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    assert code_of(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    iam.detach_role_policy(RoleName="reader", PolicyArn=arn)
    iam.delete_policy(PolicyArn=arn)
    assert code_of(iam.attach_role_policy, RoleName="reader", PolicyArn=arn)[0] == "NoSuchEntity"


def test_what_cannot_be_right_is_named(aws):
    iam = aws.client("iam")
    code, message = code_of(iam.create_role, RoleName="a" * 65, AssumeRolePolicyDocument=TRUST)
    assert (code, message) == ("ValidationError", "RoleName must have 1 to 64 characters")
    assert code_of(iam.create_role, RoleName="a/b", AssumeRolePolicyDocument=TRUST)[0] == "ValidationError"
    assert code_of(iam.create_role, RoleName="a", Path="x", AssumeRolePolicyDocument=TRUST)[0] == "ValidationError"
    code, message = code_of(iam.create_role, RoleName="a", AssumeRolePolicyDocument='{"Statement": {"Effect": "Perhaps"}}')
    assert code == "MalformedPolicyDocument" and "Effect" in message
    assert code_of(iam.list_users)[0] == "InvalidAction"
    iam.create_role(RoleName="a", AssumeRolePolicyDocument=TRUST)
    assert code_of(iam.create_role, RoleName="a", AssumeRolePolicyDocument=TRUST)[0] == "EntityAlreadyExists"


def test_lists_come_in_pages(aws):
    iam = aws.client("iam")
    for number in range(7):
        iam.create_role(RoleName=f"role{number}", AssumeRolePolicyDocument=TRUST)
    pages = iam.get_paginator("list_roles").paginate(PaginationConfig={"PageSize": 3})
    listed = [[role["RoleName"] for role in page["Roles"]] for page in pages]
    assert listed == [["role0", "role1", "role2"], ["role3", "role4", "role5"], ["role6"]]


def test_scopes_mean_the_same_as_in_the_native_api(server, aws):
    aws.client("iam").create_role(RoleName="a", AssumeRolePolicyDocument=TRUST)
    for scope, may_read in (("read", True), ("submit", True), ("worker", False)):
        key = server.cli("key", "create", "--scope", scope, "--label", scope, "--json").json_lines[0]["token"]
        iam = Aws(server, key).client("iam")
        if may_read:
            assert iam.get_role(RoleName="a")["Role"]["RoleName"] == "a"
        else:
            assert code_of(iam.get_role, RoleName="a")[0] == "AccessDenied"
        code, message = code_of(iam.delete_role, RoleName="a")
        assert code == "AccessDenied" and "iam:DeleteRole" in message


def test_the_cli_says_what_was_refused(aws):
    with pytest.raises(AwsError) as refused:
        aws("iam", "get-role", "--role-name", "nobody")
    assert refused.value.code == "NoSuchEntity" and "nobody" in refused.value.message


def test_a_service_that_is_not_there_says_so(server):
    code, message = code_of(Aws(server).client("sns").list_topics)
    assert code == "InvalidAction" and "'sns' is not available here" in message
    code, message = code_of(Aws(server).client("glacier").list_vaults)
    assert "'glacier' is not available here" in message
