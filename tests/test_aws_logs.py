"""CloudWatch Logs on the wire: the logs of jobs, as `aws logs` and boto3 read them."""

import json
import time

import pytest

from aws import Aws, code_of
from drover import wait_until
from test_server import Server, worker

GROUP = "/aws/batch/job"


@pytest.fixture
def server(drover):
    one = Server(drover)
    worker(one)
    return one


@pytest.fixture
def aws(server):
    return Aws(server)


def submit(server, script, *flags, items="0"):
    """A native job; its streams have no definition of AWS's."""
    server.cli("submit", "--name", "job", *flags, "--", "sh", "-c", script, "sh", ":::", *items)
    return server.job("job")["id"]


def test_the_lines_of_a_job(server, aws):
    job = submit(server, "echo first; echo second >&2; printf 'no newline ü'")
    server.ends("job")
    stream = f"drover-native/default/{job}"
    lines = aws("logs", "get-log-events", "--log-group-name", GROUP, "--log-stream-name", stream, "--query", "events[*].message", "--limit", 100)
    assert sorted(lines) == ["first", "no newline ü", "second"]
    shown, = aws("logs", "describe-log-streams", "--log-group-name", GROUP)["logStreams"]
    assert shown["logStreamName"] == stream and shown["firstEventTimestamp"] <= shown["lastEventTimestamp"]
    assert [it["logGroupName"] for it in aws("logs", "describe-log-groups")["logGroups"]] == [GROUP]


def test_pages_in_both_directions(server, aws):
    job = submit(server, "seq 0 99")
    server.ends("job")
    logs = aws.client("logs")

    def page(**more):
        answer = logs.get_log_events(logGroupName=GROUP, logStreamName=f"drover-native/default/{job}", limit=40, **more)
        return [int(it["message"]) for it in answer["events"]], answer

    newest, answer = page()
    assert newest == list(range(60, 100))
    older, answer = page(nextToken=answer["nextBackwardToken"])
    assert older == list(range(20, 60))
    oldest, answer = page(nextToken=answer["nextBackwardToken"])
    assert oldest == list(range(20))
    none, again = page(nextToken=answer["nextBackwardToken"])
    assert none == [] and again["nextBackwardToken"] == answer["nextBackwardToken"]
    first, answer = page(startFromHead=True)
    assert first == list(range(40))
    seen = first
    while (following := page(nextToken=answer["nextForwardToken"]))[0]:
        seen, answer = seen + following[0], following[1]
    assert seen == list(range(100)) and following[1]["nextForwardToken"] == answer["nextForwardToken"]


def test_times_bound_a_page(server, aws):
    job = submit(server, "echo early; sleep 1.2; echo late")
    server.ends("job")
    logs = aws.client("logs")
    where = {"logGroupName": GROUP, "logStreamName": f"drover-native/default/{job}"}
    early, late = logs.get_log_events(**where)["events"]
    assert [it["message"] for it in logs.get_log_events(**where, startTime=early["timestamp"] + 1)["events"]] == ["late"]
    assert [it["message"] for it in logs.get_log_events(**where, endTime=late["timestamp"])["events"]] == ["early"]


def test_items_and_attempts_have_streams_of_their_own(server, aws):
    job = submit(server, "echo $0 $1 $DROVER_ATTEMPT; test $DROVER_ATTEMPT = 2", "--retries", "1", items="01")
    server.ends("job")
    logs = aws.client("logs")
    streams = [it["logStreamName"].rpartition("/")[2] for it in logs.describe_log_streams(logGroupName=GROUP)["logStreams"]]
    assert streams == [f"{job}.0", f"{job}.0.2", f"{job}.1", f"{job}.1.2"]
    lines = logs.get_log_events(logGroupName=GROUP, logStreamName=f"drover-native/default/{job}.1.2")["events"]
    assert [it["message"] for it in lines] == ["sh 1 2"]
    pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, PaginationConfig={"PageSize": 3})
    assert sum(len(page["logStreams"]) for page in pages) == 4


def test_an_item_that_runs_can_be_read(server, aws):
    job = submit(server, "echo begun; sleep 1000")
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "the item to run")
    logs = aws.client("logs")
    where = {"logGroupName": GROUP, "logStreamName": f"drover-native/default/{job}"}
    wait_until(lambda: [it["message"] for it in logs.get_log_events(**where)["events"]] == ["begun"], "its line")
    server.cli("cancel", "job")


def test_what_is_not_there(server, aws):
    logs = aws.client("logs")
    code, message = code_of(logs.get_log_events, logGroupName=GROUP, logStreamName="demo/default/nothing")
    assert (code, message) == ("ResourceNotFoundException", "The specified log stream does not exist.")
    code, message = code_of(logs.get_log_events, logGroupName="other", logStreamName="x")
    assert (code, message) == ("ResourceNotFoundException", "The specified log group does not exist.")
    code, message = code_of(logs.get_log_events, logGroupName=GROUP, logStreamName="x", limit=10_001)
    assert code == "InvalidParameterException" and "limit" in message
    assert code_of(logs.put_log_events, logGroupName=GROUP, logStreamName="x", logEvents=[{"timestamp": 1, "message": "x"}])[0] == "UnknownOperationException"


def filtered(logs, **more):
    """The events of all pages."""
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, **more)
    return [it for page in pages for it in page["events"]]


def test_events_of_many_streams_are_filtered_and_paged(server, aws):
    submit(server, "echo item $1 begins; echo ERROR disk $1 is full >&2; echo 'ERROR but \"fine\"'; echo item $1 ends", items="0123456789")
    server.ends("job")
    logs = aws.client("logs")

    def messages(pattern, **more):
        found, token = [], {}
        while True:
            answer = logs.filter_log_events(logGroupName=GROUP, filterPattern=pattern, **token, **more)
            found += answer["events"]
            if "nextToken" not in answer:
                return found
            token = {"nextToken": answer["nextToken"]}

    everything = messages("")
    assert len(everything) == 40 and len({it["eventId"] for it in everything}) == 40
    assert [it["eventId"] for it in sorted(messages("", limit=7), key=lambda it: it["eventId"])] == sorted(it["eventId"] for it in everything)
    assert len(messages("ERROR")) == 20 and len(messages("ERROR -fine")) == 10 and len(messages("?begins ?ends")) == 20
    assert {it["message"] for it in messages('"disk 3 is"')} == {"ERROR disk 3 is full"}
    one = messages("", logStreamNames=[everything[0]["logStreamName"]])
    assert len(one) == 4 and len({it["logStreamName"] for it in one}) == 1
    assert messages("", logStreamNamePrefix="other/") == [] and len(messages("", logStreamNamePrefix="drover-native/")) == 40
    last = max(it["timestamp"] for it in everything)
    assert messages("", startTime=last + 1) == [] and len(messages("", endTime=last)) == 40
    code, message = code_of(logs.filter_log_events, logGroupName=GROUP, filterPattern="{ $.level = 1 }")
    assert code == "InvalidParameterException" and "JSON" in message
    assert code_of(logs.filter_log_events, logGroupName=GROUP, nextToken="x")[0] == "InvalidParameterException"
    assert code_of(logs.filter_log_events, logGroupName="/none")[0] == "ResourceNotFoundException"


def test_a_running_item_is_filtered_too(server, aws, gate):
    submit(server, f"echo waits; {gate.word}; echo goes")
    logs = aws.client("logs")
    seen = lambda: [it["message"] for it in logs.filter_log_events(logGroupName=GROUP)["events"]]  # noqa: E731
    wait_until(lambda: seen() == ["waits"], "its first line")
    gate.open()
    server.ends("job")
    assert seen() == ["waits", "goes"]


def test_many_small_logs_are_paged_completely_and_named_ones_found_at_once(server, aws):
    many = 3_000
    server.cli("submit", "--name", "job", "--range", f"0-{many - 1}", "--", "echo", "line {}")
    server.ends("job")
    logs = aws.client("logs")
    events = filtered(logs, limit=700)
    assert sorted(it["message"] for it in events) == sorted(f"line {i}" for i in range(many))
    assert len({it["eventId"] for it in events}) == many
    prefix = f"drover-native/default/{server.job('job')['id']}"
    began = time.monotonic()
    assert [it["message"] for it in filtered(logs, logStreamNames=[f"{prefix}.{many - 1}"])] == [f"line {many - 1}"]
    assert time.monotonic() - began < 5
    assert sorted(it["message"] for it in filtered(logs, logStreamNamePrefix=f"{prefix}.299")) == sorted(f"line {i}" for i in [299, *range(2990, 3000)])
    assert len(filtered(logs, logStreamNames=[f"{prefix}.{i}" for i in range(100)], limit=7)) == 100


def test_the_edges_of_filtering(server, aws):
    job = submit(server, "echo $1", items="0123")
    server.ends("job")
    logs = aws.client("logs")
    assert len(filtered(logs, endTime=2**63 - 1)) == 4
    first = logs.filter_log_events(logGroupName=GROUP, limit=1)
    number, item, attempt, line = first["nextToken"].split(".")
    for token in (f"{number}.4.{attempt}.{line}", f"{number}.{item}.0.{line}", f"{number}.{item}.{attempt}", f"e/{job}.0.1.0"):
        assert code_of(logs.filter_log_events, logGroupName=GROUP, nextToken=token) == ("InvalidParameterException", "The specified nextToken is invalid."), token
    # The job that a token names is removed: what follows are later jobs.
    server.cli("submit", "--name", "later", "--", "echo", "later", ":::", "0")
    server.ends("later")
    server.cli("rm", "job")
    assert [it["message"] for it in logs.filter_log_events(logGroupName=GROUP, nextToken=first["nextToken"])["events"]] == ["later 0"]


def test_many_running_items_are_filtered_with_none_missed(drover, gate):
    server = Server(drover)
    worker(server, cpus=20)
    logs = Aws(server).client("logs")
    submit(server, f"echo waits $1; {gate.word}", items=[str(i) for i in range(40)])
    wait_until(lambda: server.job("job")["counts"]["running"] == 20, "the items to run")
    wait_until(lambda: len({it["message"] for it in filtered(logs)}) == 20, "the lines of all of them")
    gate.open()
    server.ends("job")
    events = filtered(logs)
    assert len(events) == len({it["message"] for it in events}) == 40


def test_a_policy_names_the_group(server, aws):
    logs, iam, sts = (aws.client(it) for it in ("logs", "iam", "sts"))
    for name in ("/own/a", "/own/b"):
        logs.create_log_group(logGroupName=name)
    anyone = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}]})
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=anyone)["Role"]["Arn"]
    # For tags AWS wants the ARN without the asterisk.
    allowed = ["arn:aws:logs:*:*:log-group:/own/a", "arn:aws:logs:*:*:log-group:/own/a:*", f"arn:aws:logs:*:*:log-group:{GROUP}:*"]
    iam.put_role_policy(RoleName="reader", PolicyName="own", PolicyDocument=json.dumps(
        {"Statement": [{"Effect": "Allow", "Action": "logs:*", "Resource": allowed}]}))
    session = sts.assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]
    limited = aws.client("logs", aws_access_key_id=session["AccessKeyId"], aws_secret_access_key=session["SecretAccessKey"],
                         aws_session_token=session["SessionToken"])
    arn = "arn:aws:logs:us-east-1:123456789012:log-group:/own/"
    for end in ("", ":*"):
        limited.tag_resource(resourceArn=f"{arn}a{end}", tags={"team": "vision"})
        assert limited.list_tags_for_resource(resourceArn=f"{arn}a{end}")["tags"] == {"team": "vision"}
        code, message = code_of(limited.tag_resource, resourceArn=f"{arn}b{end}", tags={"team": "vision"})
        assert code == "AccessDeniedException" and f"{arn}b " in message
    limited.filter_log_events(logGroupName=GROUP, logStreamNames=["x"])
    assert code_of(limited.filter_log_events, logGroupName="/own/b", logStreamNames=["x"])[0] == "AccessDeniedException"
    # All groups are more than these two.
    assert code_of(limited.describe_log_groups)[0] == "AccessDeniedException"
    allowed.append("arn:aws:logs:us-east-1:123456789012:*")
    iam.put_role_policy(RoleName="reader", PolicyName="own", PolicyDocument=json.dumps(
        {"Statement": [{"Effect": "Allow", "Action": "logs:*", "Resource": allowed}]}))
    assert len(limited.describe_log_groups(logGroupNamePrefix="/own/")["logGroups"]) == 2


def test_groups_of_ones_own(server, aws):
    logs = aws.client("logs")
    logs.create_log_group(logGroupName="/own/a", tags={"team": "vision"})
    logs.create_log_stream(logGroupName="/own/a", logStreamName="one")
    logs.put_retention_policy(logGroupName="/own/a", retentionInDays=30)
    logs.put_retention_policy(logGroupName=GROUP, retentionInDays=7)
    server.kill()
    server.start()
    assert {it["logGroupName"]: it.get("retentionInDays") for it in logs.describe_log_groups()["logGroups"]} == {"/aws/batch/job": 7, "/own/a": 30}
    assert [it["logStreamName"] for it in logs.describe_log_streams(logGroupName="/own/a")["logStreams"]] == ["one"]
    assert logs.get_log_events(logGroupName="/own/a", logStreamName="one")["events"] == []
    arn = "arn:aws:logs:us-east-1:123456789012:log-group:/own/a"
    logs.tag_resource(resourceArn=arn, tags={"cost": "low"})
    logs.untag_log_group(logGroupName="/own/a", tags=["team"])
    assert logs.list_tags_for_resource(resourceArn=arn)["tags"] == logs.list_tags_log_group(logGroupName="/own/a")["tags"] == {"cost": "low"}
    assert code_of(logs.create_log_group, logGroupName="/own/a")[0] == "ResourceAlreadyExistsException"
    assert code_of(logs.create_log_stream, logGroupName="/own/a", logStreamName="one")[0] == "ResourceAlreadyExistsException"
    assert code_of(logs.put_retention_policy, logGroupName="/own/a", retentionInDays=2)[0] == "InvalidParameterException"
    assert "drover rm" in code_of(logs.delete_log_group, logGroupName=GROUP)[1]
    logs.delete_log_stream(logGroupName="/own/a", logStreamName="one")
    logs.delete_log_group(logGroupName="/own/a")
    assert code_of(logs.describe_log_streams, logGroupName="/own/a")[0] == "ResourceNotFoundException"


def test_streams_in_the_order_of_time_or_name(server, aws):
    submit(server, "echo $1", items="abc")
    server.ends("job")
    logs = aws.client("logs")
    shown = logs.describe_log_streams(logGroupName=GROUP, orderBy="LastEventTime", descending=True, limit=1)
    newest = max(logs.describe_log_streams(logGroupName=GROUP)["logStreams"], key=lambda it: (it["lastEventTimestamp"], it["logStreamName"]))
    assert [it["logStreamName"] for it in shown["logStreams"]] == [newest["logStreamName"]] and "nextToken" in shown
    names = [it["logStreamName"] for it in logs.describe_log_streams(logGroupName=GROUP, descending=True)["logStreams"]]
    assert names == sorted(names, reverse=True)
    assert code_of(logs.describe_log_streams, logGroupName=GROUP, orderBy="LastEventTime", logStreamNamePrefix="d")[0] == "InvalidParameterException"
