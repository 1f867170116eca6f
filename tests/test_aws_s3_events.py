"""S3 on the wire: what happens to objects is told to queues, each event once, whenever the server is killed."""

import collections
import hashlib
import json
import random
import sqlite3
import threading
import time

import botocore.config
import botocore.exceptions
import pytest

from drover import wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import bucket, data_files, s3, status_of  # noqa: F401 (fixtures)

KILLS = 20
PART = 5 * 1024 * 1024


def policy_for(bucket):
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "SQS:SendMessage", "Resource": "*",
                                                               "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:s3:*:*:{bucket}"}}}]})


@pytest.fixture
def sqs(aws):
    return aws.client("sqs")


def make_queue(sqs, bucket, name="events"):
    url = sqs.create_queue(QueueName=name, Attributes={"Policy": policy_for(bucket)})["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def notify(s3, bucket, arn, *events, prefix="", suffix="", **more):
    rules = [{"Name": name, "Value": value} for name, value in (("prefix", prefix), ("suffix", suffix)) if value]
    queue = {"QueueArn": arn, "Events": list(events), **more}
    if rules:
        queue["Filter"] = {"Key": {"FilterRules": rules}}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [queue]})


def receive(sqs, url, wait_s=0):
    """All messages that are there, deleted."""
    out = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0 if out else wait_s).get("Messages"):
        out += [json.loads(message["Body"]) for message in messages]
        sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                                                        for number, message in enumerate(messages)])
    return out


def receive_events(sqs, url, count):
    """So many records, and no more."""
    out = []
    wait_until(lambda: out.extend(record for body in receive(sqs, url) for record in body["Records"]) or len(out) >= count, f"{count} events")
    assert len(out) == count, out
    return out


def test_the_test_event_comes_first_then_those_that_the_rules_name(aws, s3, sqs, bucket):
    url, arn = make_queue(sqs, bucket)
    notify(s3, bucket, arn, "s3:ObjectCreated:*", "s3:ObjectRemoved:*", prefix="in/", suffix=".jpg", Id="pictures")
    test, = receive(sqs, url, 10)
    assert (test["Service"], test["Event"], test["Bucket"]) == ("Amazon S3", "s3:TestEvent", bucket)
    s3.put_object(Bucket=bucket, Key="in/a b+ü.jpg", Body=b"12345")
    s3.put_object(Bucket=bucket, Key="in/a.png", Body=b"x")
    s3.put_object(Bucket=bucket, Key="a.jpg", Body=b"x")
    s3.copy_object(Bucket=bucket, Key="in/copy.jpg", CopySource=f"{bucket}/a.jpg")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="in/large.jpg")["UploadId"]
    etag = s3.upload_part(Bucket=bucket, Key="in/large.jpg", UploadId=upload, PartNumber=1, Body=b"x" * 100_000)["ETag"]
    s3.complete_multipart_upload(Bucket=bucket, Key="in/large.jpg", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]})
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "in/copy.jpg"}, {"Key": "in/never.jpg"}]})
    records = receive_events(sqs, url, 4)
    assert [(it["eventName"], it["s3"]["object"]["key"]) for it in records] == [
        ("ObjectCreated:Put", "in/a+b%2B%C3%BC.jpg"), ("ObjectCreated:Copy", "in/copy.jpg"),
        ("ObjectCreated:CompleteMultipartUpload", "in/large.jpg"), ("ObjectRemoved:Delete", "in/copy.jpg")]
    first, removed = records[0]["s3"]["object"], records[3]["s3"]["object"]
    assert (first["size"], first["eTag"]) == (5, hashlib.md5(b"12345").hexdigest()) and set(removed) == {"key", "sequencer"}
    assert records[1]["s3"]["object"]["sequencer"] < removed["sequencer"]
    assert (records[0]["eventVersion"], records[0]["eventSource"], records[0]["s3"]["configurationId"]) == ("2.1", "aws:s3", "pictures")
    told = s3.get_bucket_notification_configuration(Bucket=bucket)["QueueConfigurations"]
    assert told == [{"Id": "pictures", "QueueArn": arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
                     "Filter": {"Key": {"FilterRules": [{"Name": "Prefix", "Value": "in/"}, {"Name": "Suffix", "Value": ".jpg"}]}}}]
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    s3.put_object(Bucket=bucket, Key="in/late.jpg", Body=b"x")
    assert "QueueConfigurations" not in s3.get_bucket_notification_configuration(Bucket=bucket)
    time.sleep(0.5)
    assert receive(sqs, url) == []


def test_versions_have_events_of_their_own(s3, sqs, bucket):
    url, arn = make_queue(sqs, bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    notify(s3, bucket, arn, "s3:ObjectCreated:Put", "s3:ObjectRemoved:DeleteMarkerCreated")
    receive(sqs, url, 10)
    version = s3.put_object(Bucket=bucket, Key="k", Body=b"x")["VersionId"]
    marker = s3.delete_object(Bucket=bucket, Key="k")["VersionId"]
    s3.delete_object(Bucket=bucket, Key="k", VersionId=version)
    put, removed = receive_events(sqs, url, 2)
    assert put["s3"]["object"]["versionId"] == version
    assert (removed["eventName"], removed["s3"]["object"]["versionId"]) == ("ObjectRemoved:DeleteMarkerCreated", marker)


def test_a_target_that_cannot_be_sent_to_is_refused(s3, sqs, bucket):
    _, arn = make_queue(sqs, bucket)
    closed = sqs.create_queue(QueueName="closed")["QueueUrl"]
    other, _ = make_queue(sqs, "another-bucket", "other")

    def refused(arn, *events, **more):
        return status_of(notify, s3, bucket, arn, *events, **more)

    assert refused(arn.replace("events", "nowhere"), "s3:ObjectCreated:*") == (400, "InvalidArgument")
    assert refused(arn.replace("events", "closed"), "s3:ObjectCreated:*") == (400, "InvalidArgument")
    assert refused(arn.replace("events", "other"), "s3:ObjectCreated:*") == (400, "InvalidArgument")
    assert refused("arn:aws:sns:us-east-1:123456789012:topic", "s3:ObjectCreated:*") == (400, "InvalidArgument")
    assert refused(arn, "s3:Replication:*") == (400, "InvalidArgument")
    twice = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}, {"QueueArn": arn, "Events": ["s3:ObjectCreated:Put"]}]}
    assert status_of(s3.put_bucket_notification_configuration, Bucket=bucket, NotificationConfiguration=twice) == (400, "InvalidArgument")
    topic = {"TopicConfigurations": [{"TopicArn": "arn:aws:sns:us-east-1:123456789012:t", "Events": ["s3:ObjectCreated:*"]}]}
    assert status_of(s3.put_bucket_notification_configuration, Bucket=bucket, NotificationConfiguration=topic) == (501, "NotImplemented")
    assert "QueueConfigurations" not in s3.get_bucket_notification_configuration(Bucket=bucket)
    assert sqs.receive_message(QueueUrl=closed).get("Messages") is None and sqs.receive_message(QueueUrl=other).get("Messages") is None


def test_events_for_a_queue_that_is_gone_hold_nothing_up(s3, sqs, bucket):
    gone, first = make_queue(sqs, bucket, "gone")
    url, second = make_queue(sqs, bucket, "stays")
    rules = [{"QueueArn": first, "Events": ["s3:ObjectCreated:*"], "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "a"}]}}},
             {"QueueArn": second, "Events": ["s3:ObjectCreated:*"], "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "b"}]}}}]
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={"QueueConfigurations": rules})
    receive(sqs, url, 10)
    sqs.delete_queue(QueueUrl=gone)
    s3.put_object(Bucket=bucket, Key="a", Body=b"x")
    s3.put_object(Bucket=bucket, Key="b", Body=b"x")
    assert [it["s3"]["object"]["key"] for it in receive_events(sqs, url, 1)] == ["b"]


class Story:
    """What was done to one key, by one thread: operations that were acknowledged, and those of which no answer came."""

    def __init__(self):
        self.done = []  # ("put", etag) or ("delete", None), in order, with whether it was acknowledged

    def may_be(self):
        """The ETags that it may have now; None: it is not there."""
        out = {None} if not self.done else set()
        for what, etag, acknowledged in reversed(self.done):
            out.add(etag)
            if acknowledged:
                return out
        return out | {None}


def work(aws, bucket, stories, thread, stop, failures):
    options = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=2, read_timeout=5)
    s3 = aws.client("s3", config=options)
    own = random.Random(f"{thread} {time.time()}")
    while not stop.is_set():
        key = f"{thread}/{own.randrange(6)}"
        story = stories[key]
        body = own.randbytes(own.choice((10, 2000, 100_000)))
        etag = hashlib.md5(body).hexdigest()
        choice = own.randrange(10)
        try:
            if choice < 6:
                story.done.append(["put", etag, False])
                s3.put_object(Bucket=bucket, Key=key, Body=body)
            elif choice < 8:
                story.done.append(["delete", None, False])
                s3.delete_object(Bucket=bucket, Key=key)
            else:
                named = {"Bucket": bucket, "Key": key}
                named["UploadId"] = s3.create_multipart_upload(**named)["UploadId"]
                bodies = [own.randbytes(16) * (PART // 16), body]
                parts = [{"PartNumber": number, "ETag": s3.upload_part(**named, PartNumber=number, Body=it)["ETag"]} for number, it in enumerate(bodies, 1)]
                etag = hashlib.md5(b"".join(hashlib.md5(it).digest() for it in bodies)).hexdigest() + "-2"
                story.done.append(["put", etag, False])
                s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})
            story.done[-1][2] = True
        except (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError):
            return
        except Exception as error:  # said at the end
            failures.append(repr(error))
            return


def acknowledged_puts(stories):
    return sum(what == "put" and acknowledged for story in list(stories.values()) for what, _, acknowledged in list(story.done))


def test_every_event_comes_once_and_every_object_is_whole_however_often_the_server_is_killed(aws, s3, sqs, bucket):
    url, arn = make_queue(sqs, bucket)
    notify(s3, bucket, arn, "s3:ObjectCreated:*", "s3:ObjectRemoved:*")
    stories, failures, own = collections.defaultdict(Story), [], random.Random()
    for _ in range(KILLS):
        stop = threading.Event()
        threads = [threading.Thread(target=work, args=(aws, bucket, stories, number, stop, failures)) for number in range(4)]
        before = acknowledged_puts(stories)
        for thread in threads:
            thread.start()
        # However slow the machine is, something has been acknowledged when the server dies.
        wait_until(lambda: failures or acknowledged_puts(stories) >= before + 4, "four puts to be acknowledged")
        time.sleep(own.uniform(0, 0.7))
        aws.server.kill()
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        aws.server.start()
    s3, sqs = aws.client("s3"), aws.client("sqs")
    url = sqs.get_queue_url(QueueName="events")["QueueUrl"]
    # Every object is what it may be, and whole.
    for key, story in stories.items():
        try:
            got = s3.get_object(Bucket=bucket, Key=key)
        except s3.exceptions.NoSuchKey:
            assert None in story.may_be(), (key, story.done)
            continue
        body, etag = got["Body"].read(), got["ETag"].strip('"')
        assert etag in story.may_be(), (key, etag, story.done)
        parts = [body] if not etag.endswith("-2") else [body[:PART], body[PART:]]
        sums = [hashlib.md5(it).digest() for it in parts]
        assert etag == (sums[0].hex() if len(sums) == 1 else hashlib.md5(b"".join(sums)).hexdigest() + "-2"), key
    # Every event came once.
    s3.put_object(Bucket=bucket, Key="last", Body=b"")
    records = []
    wait_until(lambda: records.extend(it for body in receive(sqs, url) for it in body.get("Records", [])) or
               any(it["s3"]["object"]["key"] == "last" for it in records), "the last event")
    created = collections.Counter((it["s3"]["object"]["key"], it["s3"]["object"]["eTag"]) for it in records if it["eventName"].startswith("ObjectCreated"))
    removed = collections.Counter(it["s3"]["object"]["key"] for it in records if it["eventName"].startswith("ObjectRemoved"))
    sequencers = [it["s3"]["object"]["sequencer"] for it in records]
    assert len(set(sequencers)) == len(sequencers)
    acknowledged = 0
    for key, story in stories.items():
        at = {(it["s3"]["object"].get("eTag")): it["s3"]["object"]["sequencer"] for it in records if it["s3"]["object"]["key"] == key}
        last = ""
        for what, etag, was_acknowledged in story.done:
            if what == "put":
                count = created.pop((key, etag), 0)
                assert count == 1 if was_acknowledged else count <= 1, (key, etag, count)
                acknowledged += was_acknowledged
                if count:
                    assert at[etag] > last
                    last = at[etag]
        assert removed[key] <= sum(what == "delete" for what, _, _ in story.done)
    assert set(created) == {("last", hashlib.md5(b"").hexdigest())}
    assert acknowledged > 50
    # Nothing is left of what was under way.
    for it in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
        s3.abort_multipart_upload(Bucket=bucket, Key=it["Key"], UploadId=it["UploadId"])

    def is_tidy():
        index = sqlite3.connect(f"file:{aws.server.drover.data}/server/objects/index.db?mode=ro", uri=True, timeout=30)
        known = {row[0] for row in index.execute("SELECT number FROM files WHERE uses > 0")}
        left, = index.execute("SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM garbage)").fetchone()
        return left == 0 and {int(it.name) for it in data_files(aws.server)} == known

    wait_until(is_tidy, "the files to be those of objects")


def test_an_event_that_is_sent_again_after_a_crash_is_taken_once(aws, s3, sqs, bucket):
    """As if the server had been killed between the message and the note that it was sent."""
    url, arn = make_queue(sqs, bucket)
    notify(s3, bucket, arn, "s3:ObjectCreated:*")
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    wait_until(lambda: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"][
        "ApproximateNumberOfMessages"] == "2", "two messages")
    aws.server.stop()
    index = sqlite3.connect(f"{aws.server.drover.data}/server/objects/index.db")
    index.execute("INSERT INTO outbox SELECT 2, 'events', 'r', 'ObjectCreated:Put', 'photos', 'us-east-1', 'me', 'k', 1, 'e', '', 9, 1, 'w', 'p', 'q'")
    index.commit()
    index.close()
    aws.server.start()
    sqs, s3 = aws.client("sqs"), aws.client("s3")
    url = sqs.get_queue_url(QueueName="events")["QueueUrl"]
    s3.put_object(Bucket=bucket, Key="next", Body=b"x")
    seen = []
    wait_until(lambda: seen.extend(receive(sqs, url)) or len(seen) >= 3, "three messages")
    time.sleep(0.3)
    seen += receive(sqs, url)
    assert [it["Records"][0]["s3"]["object"]["key"] for it in seen[1:]] == ["k", "next"]
