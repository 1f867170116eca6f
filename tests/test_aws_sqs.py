"""SQS on the wire: the AWS CLI and boto3, in the protocol of older clients and in that of newer ones."""

import hashlib
import json
import socket
import threading
import time

import pytest

from aws import Aws, AwsError, code_of, json_models
from drover import wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)

ACCOUNT = "123456789012"
ARN = f"arn:aws:sqs:us-east-1:{ACCOUNT}"
PROTOCOLS = ("query", "json")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return json_models(tmp_path_factory.mktemp("models"), "sqs", "2012-11-05", "AmazonSQS")


@pytest.fixture(params=PROTOCOLS)
def sqs(aws, models, request):
    return aws.client("sqs", models if request.param == "json" else None)


@pytest.fixture
def queue(sqs):
    return sqs.create_queue(QueueName="jobs")["QueueUrl"]


def codes(older, newer):
    """Either is the code of an error: older clients know the first, newer ones the second."""
    return (older, newer)


NO_QUEUE = codes("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
BAD_VALUE = codes("InvalidParameterValue", "InvalidParameterValueException")
MISSING = codes("MissingParameter", "MissingRequiredParameterException")


def take(sqs, queue, count=1, **options):
    """Messages that are there now, or soon."""
    taken = []
    while len(taken) < count:
        more = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=min(10, count - len(taken)), **{"WaitTimeSeconds": 20, **options}).get("Messages", [])
        assert more, f"only {len(taken)} of {count} messages came"
        taken += more
    return taken


def is_empty(sqs, queue):
    return "Messages" not in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=0)


def attributes(sqs, queue, *names):
    return sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(names) or ["All"])["Attributes"]


def counts(sqs, queue):
    shown = attributes(sqs, queue)
    return tuple(int(shown[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed"))


def test_a_message_from_its_sending_to_its_end(server, sqs, queue):
    assert queue == f"{server.address}/{ACCOUNT}/jobs"
    sent = sqs.send_message(QueueUrl=queue, MessageBody="hällo <&> \"", MessageAttributes={
        "a": {"DataType": "String", "StringValue": "x"}, "n": {"DataType": "Number.int", "StringValue": "7"},
        "b": {"DataType": "Binary", "BinaryValue": b"\0\xff"}})
    assert sent["MD5OfMessageBody"] == hashlib.md5("hällo <&> \"".encode()).hexdigest() and "SequenceNumber" not in sent
    got, = take(sqs, queue, AttributeNames=["All"], MessageAttributeNames=["All"])
    assert (got["MessageId"], got["Body"], got["MD5OfBody"]) == (sent["MessageId"], "hällo <&> \"", sent["MD5OfMessageBody"])
    assert got["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert got["MessageAttributes"]["b"] == {"DataType": "Binary", "BinaryValue": b"\0\xff"}
    assert got["MessageAttributes"]["n"] == {"DataType": "Number.int", "StringValue": "7"}
    shown = got["Attributes"]
    assert shown["ApproximateReceiveCount"] == "1" and shown["SenderId"] == server.key.split(".")[0]
    assert abs(int(shown["SentTimestamp"]) / 1000 - time.time()) < 60 and int(shown["ApproximateFirstReceiveTimestamp"]) >= int(shown["SentTimestamp"])
    assert "SequenceNumber" not in shown
    assert counts(sqs, queue) == (0, 1, 0) and is_empty(sqs, queue)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])
    assert counts(sqs, queue) == (0, 0, 0)
    sqs.delete_queue(QueueUrl=queue)
    code, message = code_of(sqs.send_message, QueueUrl=queue, MessageBody="late")
    assert code in NO_QUEUE and message.startswith("The specified queue does not exist")


def test_the_sum_of_attributes_is_that_of_aws(sqs, queue):
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}},
                            MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}})
    assert sent["MD5OfMessageAttributes"] == "a512aac9938034acb0b3c3d965944bf1"
    assert len(sent["MD5OfMessageSystemAttributes"]) == 32
    got, = take(sqs, queue, AttributeNames=["AWSTraceHeader"])
    assert got["Attributes"] == {"AWSTraceHeader": "Root=1"} and "MessageAttributes" not in got


def test_attributes_are_returned_as_asked(sqs, queue):
    given = {name: {"DataType": "String", "StringValue": name} for name in ("bar.one", "bar.two", "barn", "foo")}
    for wanted, expected in (([".*"], set(given)), (["bar.*"], {"bar.one", "bar.two"}), (["foo", "none"], {"foo"}), ([], set())):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        got, = take(sqs, queue, MessageAttributeNames=wanted)
        assert set(got.get("MessageAttributes", {})) == expected, wanted
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])


def test_what_is_not_deleted_comes_back(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    first, = take(sqs, queue, VisibilityTimeout=1)
    again, = take(sqs, queue, VisibilityTimeout=30, AttributeNames=["ApproximateReceiveCount"])
    assert (again["MessageId"], again["Attributes"]) == (first["MessageId"], {"ApproximateReceiveCount": "2"})
    assert again["ReceiptHandle"] != first["ReceiptHandle"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])
    assert counts(sqs, queue) == (0, 1, 0), "an old receipt deletes nothing"
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=40)
    assert is_empty(sqs, queue)
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=0)
    last, = take(sqs, queue, WaitTimeSeconds=0)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=last["ReceiptHandle"])
    code, message = code_of(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=last["ReceiptHandle"], VisibilityTimeout=1)
    assert code in BAD_VALUE and "Message does not exist" in message


def test_a_receipt_that_has_run_out_changes_nothing(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    got, = take(sqs, queue, VisibilityTimeout=1)
    wait_until(lambda: counts(sqs, queue) == (1, 0, 0), "the message to be visible again")
    code, _ = code_of(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=9)
    assert code in codes("AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight")


def test_a_message_is_hidden_for_twelve_hours_at_most(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    got, = take(sqs, queue)
    time.sleep(0.01)  # the limit counts from the receive, and some time must have passed
    code, message = code_of(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=43200)
    assert code in BAD_VALUE and "beyond the limit" in message


def test_delays(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="later", DelaySeconds=2)
    sqs.send_message(QueueUrl=queue, MessageBody="now")
    assert counts(sqs, queue) == (1, 0, 1)
    assert [it["Body"] for it in take(sqs, queue, 2)] == ["now", "later"]
    slow = sqs.create_queue(QueueName="slow", Attributes={"DelaySeconds": "900"})["QueueUrl"]
    sqs.send_message(QueueUrl=slow, MessageBody="later")
    sqs.send_message(QueueUrl=slow, MessageBody="now", DelaySeconds=0)
    assert counts(sqs, slow) == (1, 0, 1)


def test_batches_fail_entry_by_entry(sqs, queue):
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=[
        {"Id": "good", "MessageBody": "1"}, {"Id": "bad", "MessageBody": "\x01"}, {"Id": "late", "MessageBody": "2", "DelaySeconds": 901},
        {"Id": "more", "MessageBody": "3", "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x"}}}])
    assert [it["Id"] for it in sent["Successful"]] == ["good", "more"]
    assert sent["Successful"][1]["MD5OfMessageAttributes"] == "a512aac9938034acb0b3c3d965944bf1"
    assert [(it["Id"], it["Code"], it["SenderFault"]) for it in sent["Failed"]] == [
        ("bad", "InvalidMessageContents", True), ("late", "InvalidParameterValue", True)]
    got = take(sqs, queue, 2)
    assert {it["Body"] for it in got} == {"1", "3"}
    changed = sqs.change_message_visibility_batch(QueueUrl=queue, Entries=[
        {"Id": "a", "ReceiptHandle": got[0]["ReceiptHandle"], "VisibilityTimeout": 60}, {"Id": "b", "ReceiptHandle": "nonsense", "VisibilityTimeout": 60},
        {"Id": "c", "ReceiptHandle": got[1]["ReceiptHandle"], "VisibilityTimeout": 43201}])
    assert [it["Id"] for it in changed["Successful"]] == ["a"]
    assert [(it["Id"], it["Code"]) for it in changed["Failed"]] == [("b", "ReceiptHandleIsInvalid"), ("c", "InvalidParameterValue")]
    deleted = sqs.delete_message_batch(QueueUrl=queue, Entries=[
        {"Id": "a", "ReceiptHandle": got[0]["ReceiptHandle"]}, {"Id": "b", "ReceiptHandle": "nonsense"},
        {"Id": "c", "ReceiptHandle": got[1]["ReceiptHandle"]}])
    assert [it["Id"] for it in deleted["Successful"]] == ["a", "c"] and [it["Id"] for it in deleted["Failed"]] == ["b"]
    assert "Failed" not in sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": str(i), "MessageBody": str(i)} for i in range(10)])
    assert {it["Body"] for it in take(sqs, queue, 10)} == {str(i) for i in range(10)}


@pytest.mark.parametrize("entries, code", [
    ([], "EmptyBatchRequest"), ([{"Id": str(i), "MessageBody": "x"} for i in range(11)], "TooManyEntriesInBatchRequest"),
    ([{"Id": "a", "MessageBody": "x"}] * 2, "BatchEntryIdsNotDistinct"), ([{"Id": "a b", "MessageBody": "x"}], "InvalidBatchEntryId"),
    ([{"Id": str(i), "MessageBody": "x" * 600_000} for i in range(2)], "BatchRequestTooLong")])
def test_batches_that_are_refused_as_a_whole(sqs, queue, entries, code):
    assert code_of(sqs.send_message_batch, QueueUrl=queue, Entries=entries)[0] in codes(f"AWS.SimpleQueueService.{code}", code)


def fifo_queue(sqs, name="f.fifo", **more):
    return sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true", **more})["QueueUrl"]


def test_fifo_groups_are_in_order(sqs):
    queue = fifo_queue(sqs, ContentBasedDeduplication="true")
    sent = [sqs.send_message(QueueUrl=queue, MessageBody=f"{group}{i}", MessageGroupId=group) for i in range(3) for group in "ab"]
    numbers = [it["SequenceNumber"] for it in sent]
    assert all(len(it) == 20 for it in numbers) and numbers == sorted(numbers)
    got, = take(sqs, queue, AttributeNames=["All"])
    assert (got["Body"], got["Attributes"]["MessageGroupId"], got["Attributes"]["SequenceNumber"]) == ("a0", "a", numbers[0])
    assert got["Attributes"]["MessageDeduplicationId"] == hashlib.sha256(b"a0").hexdigest()
    others = take(sqs, queue, 3)
    assert [it["Body"] for it in others] == ["b0", "b1", "b2"], "a group waits for what it has in flight"
    assert is_empty(sqs, queue)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])
    assert [it["Body"] for it in take(sqs, queue, 2)] == ["a1", "a2"]


def test_fifo_duplicates_are_sent_once(sqs):
    queue = fifo_queue(sqs)
    first = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="1")
    again = sqs.send_message(QueueUrl=queue, MessageBody="y", MessageGroupId="g", MessageDeduplicationId="1")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    assert counts(sqs, queue) == (1, 0, 0)
    assert code_of(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageDeduplicationId="2")[0] in MISSING
    code, message = code_of(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageGroupId="g")
    assert code in BAD_VALUE and "ContentBasedDeduplication" in message
    assert code_of(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="3", DelaySeconds=1)[0] in BAD_VALUE
    got, = take(sqs, queue, VisibilityTimeout=1)
    wait_until(lambda: counts(sqs, queue) == (1, 0, 0), "the message to be visible again")
    code, message = code_of(sqs.delete_message, QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])
    assert code in BAD_VALUE and "expired" in message


def redrive(name, count):
    return json.dumps({"deadLetterTargetArn": f"{ARN}:{name}", "maxReceiveCount": count})


def test_dead_letters(sqs, queue):
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": redrive("dead", "2")})
    assert json.loads(attributes(sqs, queue)["RedrivePolicy"]) == json.loads(redrive("dead", 2))
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [queue]
    sent = sqs.send_message(QueueUrl=queue, MessageBody="poison", MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
    for _ in range(2):
        got, = take(sqs, queue)
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=0)
    assert is_empty(sqs, queue)
    got, = take(sqs, dead, AttributeNames=["All"], MessageAttributeNames=["All"])
    assert (got["Body"], got["MessageId"], set(got["MessageAttributes"])) == ("poison", sent["MessageId"], {"a"})
    assert got["Attributes"]["DeadLetterQueueSourceArn"] == f"{ARN}:jobs"
    assert counts(sqs, queue) == (0, 0, 0) and counts(sqs, dead) == (0, 1, 0)


def test_a_queue_chooses_whose_dead_letters_it_takes(sqs, queue):
    fifo_queue(sqs, "dead.fifo")
    sqs.create_queue(QueueName="dead", Attributes={"RedriveAllowPolicy": json.dumps({"redrivePermission": "denyAll"})})
    for name, reason in (("none", "does not exist"), ("dead.fifo", "same type"), ("dead", "does not permit")):
        code, message = code_of(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"RedrivePolicy": redrive(name, 2)})
        assert code in BAD_VALUE and reason in message
    allow = json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [f"{ARN}:jobs"]})
    sqs.set_queue_attributes(QueueUrl=queue.replace("jobs", "dead"), Attributes={"RedriveAllowPolicy": allow})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": redrive("dead", 2)})


def test_a_purge_leaves_nothing_and_is_not_repeated_at_once(sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="1")
    take(sqs, queue)
    sqs.send_message(QueueUrl=queue, MessageBody="2")
    sqs.purge_queue(QueueUrl=queue)
    assert counts(sqs, queue) == (0, 0, 0)
    assert code_of(sqs.purge_queue, QueueUrl=queue)[0] in codes("AWS.SimpleQueueService.PurgeQueueInProgress", "PurgeQueueInProgress")
    sqs.send_message(QueueUrl=queue, MessageBody="3")
    assert take(sqs, queue)[0]["Body"] == "3"


def test_a_long_poll_is_answered_when_a_message_comes(aws, sqs, queue):
    got = []
    waiting = threading.Thread(target=lambda: got.append((aws.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=20), time.monotonic())))
    waiting.start()
    time.sleep(0.5)
    sent = time.monotonic()
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    waiting.join(30)
    (answer, at), = got
    assert answer["Messages"][0]["Body"] == "x" and at - sent < 10
    begun = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1)
    assert time.monotonic() - begun >= 0.9



def test_a_client_that_is_killed_while_it_waits_takes_no_message(server, aws, sqs, queue):
    body = f"Action=ReceiveMessage&Version=2012-11-05&QueueUrl={queue}&WaitTimeSeconds=20"
    headers = aws.signed("sqs", body, {"Content-Type": "application/x-www-form-urlencoded", "Host": server.address.split("//")[1]})
    head = "POST / HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + f"Content-Length: {len(body)}\r\n\r\n"
    host, port = server.address.split("//")[1].split(":")
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall((head + body).encode())
            time.sleep(0.3)
    time.sleep(0.3)
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    got, = take(sqs, queue, WaitTimeSeconds=0, AttributeNames=["ApproximateReceiveCount"])
    assert got["Attributes"]["ApproximateReceiveCount"] == "1"


def test_a_queue_again_is_the_same_queue(sqs):
    url = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "10", "DelaySeconds": "5"})["QueueUrl"]
    assert sqs.create_queue(QueueName="q")["QueueUrl"] == url
    assert sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "10"})["QueueUrl"] == url
    code, message = code_of(sqs.create_queue, QueueName="q", Attributes={"VisibilityTimeout": "11"})
    assert code in codes("QueueAlreadyExists", "QueueNameExists") and "VisibilityTimeout" in message
    assert sqs.get_queue_url(QueueName="q")["QueueUrl"] == url
    assert code_of(sqs.get_queue_url, QueueName="none")[0] in NO_QUEUE
    assert code_of(sqs.get_queue_url, QueueName="q", QueueOwnerAWSAccountId="999999999999")[0] in NO_QUEUE
    assert code_of(sqs.get_queue_attributes, QueueUrl=url.replace(ACCOUNT, "999999999999"))[0] in NO_QUEUE


@pytest.mark.parametrize("name, more", [("a b", {}), ("", {}), ("x" * 81, {}), ("ä", {}), ("f.fifo", {}), ("f", {"FifoQueue": "true"}),
                                        (".fifo", {"FifoQueue": "true"}), ("x" * 76 + ".fifo", {"FifoQueue": "true"})])
def test_names_that_are_none(sqs, name, more):
    assert code_of(sqs.create_queue, QueueName=name, Attributes=more)[0] in (*BAD_VALUE, *MISSING)


def test_attributes_of_a_queue(sqs):
    url = sqs.create_queue(QueueName="q", Attributes={"MaximumMessageSize": "2048", "KmsMasterKeyId": "alias/aws/sqs"})["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "0", "ReceiveMessageWaitTimeSeconds": "1"})
    shown = attributes(sqs, url)
    assert (shown["QueueArn"], shown["VisibilityTimeout"], shown["MaximumMessageSize"], shown["KmsMasterKeyId"]) == (f"{ARN}:q", "0", "2048", "alias/aws/sqs")
    assert abs(int(shown["CreatedTimestamp"]) - time.time()) < 60 and int(shown["LastModifiedTimestamp"]) >= int(shown["CreatedTimestamp"])
    assert attributes(sqs, url, "DelaySeconds", "VisibilityTimeout") == {"DelaySeconds": "0", "VisibilityTimeout": "0"}
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url)
    assert code_of(sqs.get_queue_attributes, QueueUrl=url, AttributeNames=["Colour"])[0] == "InvalidAttributeName"
    assert code_of(sqs.set_queue_attributes, QueueUrl=url, Attributes={"Colour": "red"})[0] == "InvalidAttributeName"
    assert code_of(sqs.set_queue_attributes, QueueUrl=url, Attributes={"DelaySeconds": "901"})[0] == "InvalidAttributeValue"
    code, message = code_of(sqs.send_message, QueueUrl=url, MessageBody="x" * 2049)
    assert code in BAD_VALUE and message == "One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes."
    sqs.send_message(QueueUrl=url, MessageBody="x" * 2048)


def test_the_longest_message(sqs, queue):
    body = "\"é" * 349_525
    assert len(body.encode()) == 1_048_575
    sqs.send_message(QueueUrl=queue, MessageBody=body)
    assert take(sqs, queue)[0]["Body"] == body
    assert code_of(sqs.send_message, QueueUrl=queue, MessageBody=body + "xx")[0] in BAD_VALUE


@pytest.mark.parametrize("call, arguments, code", [
    ("receive_message", {"MaxNumberOfMessages": 11}, BAD_VALUE), ("receive_message", {"MaxNumberOfMessages": 0}, BAD_VALUE),
    ("receive_message", {"VisibilityTimeout": 43201}, BAD_VALUE), ("receive_message", {"WaitTimeSeconds": 21}, BAD_VALUE),
    ("receive_message", {"AttributeNames": ["Colour"]}, ("InvalidAttributeName",)),
    ("send_message", {"MessageBody": ""}, MISSING), ("send_message", {"MessageBody": "\x01"}, ("InvalidMessageContents",)),
    ("send_message", {"MessageBody": "x", "DelaySeconds": 901}, BAD_VALUE),
    ("send_message", {"MessageBody": "x", "MessageAttributes": {"AWS.a": {"DataType": "String", "StringValue": "x"}}}, BAD_VALUE),
    ("send_message", {"MessageBody": "x", "MessageAttributes": {"a": {"DataType": "String.\ufffe", "StringValue": "x"}}}, BAD_VALUE),
    ("send_message", {"MessageBody": "x", "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "x" * 1025}}}, BAD_VALUE),
    ("set_queue_attributes", {"Attributes": {"RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{ARN}:jobs", "maxReceiveCount": 3})}}, BAD_VALUE),
    ("set_queue_attributes", {"Attributes": {"KmsMasterKeyId": "x" * 70_000}}, BAD_VALUE),
    ("delete_message", {"ReceiptHandle": "nonsense"}, ("ReceiptHandleIsInvalid",)),
    ("change_message_visibility", {"ReceiptHandle": "nonsense", "VisibilityTimeout": 1}, ("ReceiptHandleIsInvalid",)),
    ("remove_permission", {"Label": "none"}, BAD_VALUE)])
def test_what_cannot_be_right_is_refused(sqs, queue, call, arguments, code):
    assert code_of(getattr(sqs, call), QueueUrl=queue, **arguments)[0] in code


def test_bytes_that_sqs_cannot_carry_come_in_base64(server, sqs, queue):
    sqs.send_message(QueueUrl=queue, MessageBody="before")
    status, _ = server.ask("POST", "/api/v1/streams/jobs/messages", [{"body_b64": "AP8="}, {"body": "\x01"}])
    assert status == 200
    got = take(sqs, queue, 3)
    assert sorted(it["Body"] for it in got) == ["AP8=", "AQ==", "before"]
    assert all(it["MD5OfBody"] == hashlib.md5(it["Body"].encode()).hexdigest() for it in got)
    for attribute in ({"type": "String.\ufffe", "value": "x"}, {"value_b64": "AP8="}):
        status, _ = server.ask("POST", "/api/v1/streams/jobs/messages", [{"body": "x", "attributes": {"a": attribute}}])
        assert status == 400, attribute


def test_a_receipt_is_good_for_its_queue_only(sqs, queue):
    other = sqs.create_queue(QueueName="other")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    got, = take(sqs, queue)
    assert code_of(sqs.delete_message, QueueUrl=other, ReceiptHandle=got["ReceiptHandle"])[0] == "ReceiptHandleIsInvalid"
    assert counts(sqs, queue) == (0, 1, 0)


def test_lists_come_in_pages(sqs):
    assert "QueueUrls" not in sqs.list_queues()
    urls = [sqs.create_queue(QueueName=f"{group}{i}")["QueueUrl"] for group in "ab" for i in range(3)]
    assert sqs.list_queues()["QueueUrls"] == urls
    assert sqs.list_queues(QueueNamePrefix="b")["QueueUrls"] == urls[3:]
    pages = list(sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 4}))
    assert [page["QueueUrls"] for page in pages] == [urls[:4], urls[4:]]
    assert code_of(sqs.list_queues, MaxResults=1001)[0] in BAD_VALUE
    assert code_of(sqs.list_queues, NextToken="!")[0] in BAD_VALUE


def test_tags(sqs):
    url = sqs.create_queue(QueueName="q", tags={"team": "vision", "a": "b"})["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"a": "c", "d": ""})
    sqs.untag_queue(QueueUrl=url, TagKeys=["team", "none"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"a": "c", "d": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["a", "d"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)
    assert code_of(sqs.tag_queue, QueueUrl=url, Tags={f"t{i}": "" for i in range(51)})[0] in BAD_VALUE


def test_permissions_become_statements(sqs, queue):
    sqs.add_permission(QueueUrl=queue, Label="share", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    statement, = json.loads(attributes(sqs, queue, "Policy")["Policy"])["Statement"]
    assert (statement["Sid"], statement["Principal"], statement["Resource"]) == ("share", {"AWS": ["arn:aws:iam::111122223333:root"]}, f"{ARN}:jobs")
    assert code_of(sqs.add_permission, QueueUrl=queue, Label="share", AWSAccountIds=["111122223333"], Actions=["*"])[0] in BAD_VALUE
    sqs.remove_permission(QueueUrl=queue, Label="share")
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])


def policy(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def test_scopes_and_denials_hold_for_keys(server, sqs, queue):
    reader = Aws(server, server.cli("key", "create", "--scope", "read", "--label", "dashboard", "--json").json_lines[0]["token"]).client("sqs")
    assert counts(reader, queue) == (0, 0, 0)
    assert code_of(reader.send_message, QueueUrl=queue, MessageBody="x")[0] == "AccessDenied"
    user = Aws(server, server.cli("key", "create", "--scope", "submit", "--label", "ann", "--json").json_lines[0]["token"]).client("sqs")
    user.send_message(QueueUrl=queue, MessageBody="x")
    deny = {"Sid": "NotAnn", "Effect": "Deny", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:user/ann"}, "Action": "sqs:SendMessage", "Resource": f"{ARN}:jobs"}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy(deny)})
    code, message = code_of(user.send_message_batch, QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": "x"}])
    assert code == "AccessDenied" and "NotAnn" in message and "user/ann" in message
    take(user, queue)
    everyone = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy(everyone)})
    assert code_of(sqs.send_message, QueueUrl=queue, MessageBody="x")[0] in codes("AccessDenied", "AccessDeniedException")
    assert code_of(user.delete_queue, QueueUrl=queue)[0] == "AccessDenied"
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": ""})
    user.send_message(QueueUrl=queue, MessageBody="an admin can repair it")


def test_sessions_do_what_their_role_or_the_queue_allows(server, aws, queue):
    trust = policy({"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"})
    iam = aws.client("iam")
    role = iam.create_role(RoleName="sender", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName="sender", PolicyName="p", PolicyDocument=policy(
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": f"{ARN}:jobs"}))
    session = Aws(server, session=aws.client("sts").assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]).client("sqs")
    session.send_message_batch(QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": "x"}])
    assert code_of(session.receive_message, QueueUrl=queue)[0] == "AccessDenied"
    other = aws.client("sqs").create_queue(QueueName="other")["QueueUrl"]
    assert code_of(session.send_message, QueueUrl=other, MessageBody="x")[0] == "AccessDenied"
    allow = {"Effect": "Allow", "Principal": {"AWS": role}, "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": f"{ARN}:jobs"}
    aws.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy(allow)})
    got, = take(session, queue, AttributeNames=["SenderId"])
    assert got["Attributes"]["SenderId"].endswith(":me")
    session.delete_message(QueueUrl=queue, ReceiptHandle=got["ReceiptHandle"])
    deny = {**allow, "Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage"}
    aws.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy(allow, deny)})
    assert code_of(session.send_message, QueueUrl=queue, MessageBody="x")[0] == "AccessDenied"


def test_messages_outlive_the_server(server, sqs, queue):
    for i in range(20):
        sqs.send_message(QueueUrl=queue, MessageBody=str(i), MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
    held, = take(sqs, queue, VisibilityTimeout=3600)
    done, = take(sqs, queue)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=done["ReceiptHandle"])
    server.kill()
    server.start()
    assert counts(sqs, queue) == (18, 1, 0)
    got = take(sqs, queue, 18, MessageAttributeNames=["All"])
    assert {it["Body"] for it in got} == {str(i) for i in range(20)} - {held["Body"], done["Body"]}
    assert got[0]["MD5OfMessageAttributes"] == "a512aac9938034acb0b3c3d965944bf1"
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=held["ReceiptHandle"])
    assert counts(sqs, queue) == (0, 18, 0)


def test_the_cli_through_a_day(aws):
    url = aws("sqs", "create-queue", "--queue-name", "day", "--attributes", "VisibilityTimeout=60", "--tags", "team=vision")["QueueUrl"]
    sent = aws("sqs", "send-message", "--queue-url", url, "--message-body", "hello", "--message-attributes",
               json.dumps({"a": {"DataType": "String", "StringValue": "x"}}))
    assert aws("sqs", "get-queue-attributes", "--queue-url", url, "--attribute-names", "ApproximateNumberOfMessages") == {
        "Attributes": {"ApproximateNumberOfMessages": "1"}}
    got, = aws("sqs", "receive-message", "--queue-url", url, "--attribute-names", "All", "--message-attribute-names", "All", "--wait-time-seconds", "5")["Messages"]
    assert (got["MessageId"], got["Body"]) == (sent["MessageId"], "hello")
    aws("sqs", "delete-message", "--queue-url", url, "--receipt-handle", got["ReceiptHandle"])
    assert aws("sqs", "receive-message", "--queue-url", url) == {}
    assert aws("sqs", "list-queues") == {"QueueUrls": [url]}
    with pytest.raises(AwsError) as refused:
        aws("sqs", "get-queue-url", "--queue-name", "none")
    assert refused.value.message.endswith("The specified queue does not exist for this wsdl version.")
    aws("sqs", "delete-queue", "--queue-url", url)


def test_the_resources_of_boto3(aws):
    resource = aws.session().resource("sqs", **aws.options())
    queue = resource.create_queue(QueueName="jobs")
    queue.send_messages(Entries=[{"Id": str(i), "MessageBody": str(i)} for i in range(3)])
    bodies = set()
    for message in queue.receive_messages(MaxNumberOfMessages=10, WaitTimeSeconds=5):
        bodies.add(message.body)
        message.change_visibility(VisibilityTimeout=5)
        message.delete()
    assert bodies == {"0", "1", "2"}
    assert [it.url for it in resource.queues.all()] == [queue.url] and queue.attributes["QueueArn"] == f"{ARN}:jobs"


def test_errors_have_both_of_their_names(server, aws, sqs, queue):
    """Newer clients translate codes by a header."""
    body = json.dumps({"QueueUrl": f"{server.address}/{ACCOUNT}/none"})
    headers = aws.signed("sqs", body, {"X-Amz-Target": "AmazonSQS.DeleteQueue", "Content-Type": "application/x-amz-json-1.0"})
    connection = server.connection()
    connection.request("POST", "/", body, headers)
    response = connection.getresponse()
    assert response.status == 400 and response.headers["x-amzn-query-error"] == "AWS.SimpleQueueService.NonExistentQueue;Sender"
    assert response.headers["Content-Type"] == "application/x-amz-json-1.0"
    assert json.loads(response.read())["__type"] == "com.amazonaws.sqs#QueueDoesNotExist"
    thief = Aws(server, f"{aws.id}.{'x' * 40}")
    assert code_of(thief.client("sqs").list_queues)[0] == "SignatureDoesNotMatch"


def test_a_request_to_the_address_of_a_queue(server, aws, queue):
    body = "Action=SendMessage&Version=2012-11-05&MessageBody=x"
    path = queue.removeprefix(server.address)
    signer = Aws(server)
    signer.server = type("Place", (), {"address": queue})
    connection = server.connection()
    connection.request("POST", path, body, signer.signed("sqs", body, {"Content-Type": "application/x-www-form-urlencoded"}))
    response = connection.getresponse()
    assert response.status == 200 and b"<SendMessageResult>" in response.read()
    assert take(aws.client("sqs"), queue)[0]["Body"] == "x"
