"""Workers behind a queue, as many people have them: objects that are put into a bucket become messages; boto3 workers, which run as jobs and are
killed at random, take a message, download the object, look at it, and delete the message. Every object is looked at."""

import hashlib
import os
import random
import signal
import time

from drover import processes_marked
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import run_aws
from test_aws_s3_events import make_queue, notify, receive
from test_server import submit, worker

FILES, KILLS, MARK = 2000, 12, "usual_worker.py"
# A message that is no notification, such as the test event, kills it; there is none when it starts.
WORKER = '''
import boto3, hashlib, json, os, sys, tempfile, urllib.parse
options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
queue = boto3.resource("sqs", **options).get_queue_by_name(QueueName="events")
bucket = boto3.resource("s3", **options).Bucket("photos")
path = tempfile.mktemp()
while True:
    messages = queue.receive_messages(VisibilityTimeout=8000, MaxNumberOfMessages=10, WaitTimeSeconds=5)
    if not messages and os.path.exists(sys.argv[1]):
        break
    for message in messages:
        key = urllib.parse.unquote_plus(json.loads(message.body)["Records"][0]["s3"]["object"]["key"])
        bucket.download_file(key, path)
        with open(path, "rb") as file:
            said = f"{key} {hashlib.md5(file.read()).hexdigest()}\\n"
        with open(sys.argv[2], "a") as file:
            file.write(said)
        message.delete()
'''


def test_every_object_that_is_synced_is_seen_by_workers_that_are_killed(aws, server, tmp_path):  # noqa: F811
    worker(server)
    s3, sqs = aws.client("s3"), aws.client("sqs")
    s3.create_bucket(Bucket="photos")
    url, arn = make_queue(sqs, "photos")
    notify(s3, "photos", arn, "s3:ObjectCreated:Put")
    assert receive(sqs, url, 10)[0]["Event"] == "s3:TestEvent"
    (tmp_path / MARK).write_text(WORKER)
    finished, said, folder, own = tmp_path / "all-is-there", tmp_path / "said", tmp_path / "files", random.Random(1)
    for number in range(FILES):
        path = folder / f"{number % 20} ü" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(str(number).encode())
    submit(server, "workers", "--retries", 100, "--", "/usr/bin/python3", tmp_path / MARK, finished, said, "{}", ":::", "one", "two")
    synced = run_aws(aws, "s3", "sync", folder, "s3://photos/in", "--quiet")
    assert synced.returncode == 0, synced
    finished.touch()

    def kill_one():
        running = [pid for pid, command in processes_marked(MARK, tmp_path).items() if command.startswith("/usr/bin/python3")]
        if running:
            os.kill(own.choice(running), signal.SIGKILL)
        return bool(running)

    kills = 0
    while kills < KILLS and int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"][
            "ApproximateNumberOfMessages"]) > 0:
        kills += kill_one()
        time.sleep(own.uniform(0.2, 1.0))
    assert kills > 3
    waited = server.cli("wait", "workers")
    assert waited.status == 0, waited
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (counts["ApproximateNumberOfMessages"], counts["ApproximateNumberOfMessagesNotVisible"]) == ("0", "0")
    seen = dict(line.rsplit(" ", 1) for line in said.read_text().splitlines())
    assert seen == {f"in/{number % 20} ü/{number}.jpg": hashlib.md5(str(number).encode()).hexdigest() for number in range(FILES)}
