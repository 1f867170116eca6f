"""SQS clients from PyPI: old and new ones, which speak different protocols, and a Celery worker."""

import contextlib
import pathlib
import subprocess

import pytest

from aws import AwsError
from drover import wait_until
from test_aws_clients import CLIENTS, Cli, environment, installed
from test_server import Server

TASKS = 60
# That CLI's SQS ignores AWS_ENDPOINT_URL.
CLIENTS = {**CLIENTS, "cli-1.32": lambda server: Cli("awscli==1.32.117", server, "--endpoint-url", server.address)}


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.mark.parametrize("which", CLIENTS)
def test_a_usual_day(server, which):
    with contextlib.closing(CLIENTS[which](server)) as sqs:
        letters = sqs("sqs", "CreateQueue", QueueName="letters")["QueueUrl"]
        arn = sqs("sqs", "GetQueueAttributes", QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        redrive = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": "1"}}'
        url = sqs("sqs", "CreateQueue", QueueName="work", Attributes={"VisibilityTimeout": "30", "RedrivePolicy": redrive})["QueueUrl"]
        assert url in sqs("sqs", "ListQueues", QueueNamePrefix="w")["QueueUrls"]
        assert sqs("sqs", "GetQueueUrl", QueueName="work")["QueueUrl"] == url
        sent = sqs("sqs", "SendMessage", QueueUrl=url, MessageBody="first", MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
        assert sent["MD5OfMessageAttributes"] == "a512aac9938034acb0b3c3d965944bf1"
        batch = sqs("sqs", "SendMessageBatch", QueueUrl=url, Entries=[{"Id": "b", "MessageBody": "second"}, {"Id": "c", "MessageBody": "bad \x01"}])
        assert [it["Id"] for it in batch["Successful"]] == ["b"]
        assert [(it["Id"], it["Code"]) for it in batch["Failed"]] == [("c", "InvalidMessageContents")]
        received = sqs("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"]
        assert sorted(it["Body"] for it in received) == ["first", "second"]
        first, second = sorted(received, key=lambda it: it["Body"])
        assert first["MessageAttributes"]["a"]["StringValue"] == "x" and first["Attributes"]["ApproximateReceiveCount"] == "1"
        assert "Messages" not in sqs("sqs", "ReceiveMessage", QueueUrl=url)
        sqs("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
        sqs("sqs", "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=second["ReceiptHandle"], VisibilityTimeout=0)
        dead = sqs("sqs", "ReceiveMessage", QueueUrl=letters, WaitTimeSeconds=5)["Messages"]
        assert [it["Body"] for it in dead] == ["second"]
        with pytest.raises(AwsError) as refused:
            sqs("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=11)
        assert refused.value.code == "InvalidParameterValue"
        with pytest.raises(AwsError) as refused:
            sqs("sqs", "GetQueueUrl", QueueName="nothing")
        assert refused.value.code in ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
        sqs("sqs", "DeleteQueue", QueueUrl=url)


def test_a_celery_worker(server, tmp_path):
    python = installed("celery[sqs]==5.4.0") / "bin/python3"
    results = tmp_path / "results"
    results.touch()
    key, secret = server.key.split(".")
    inherited = environment(server)
    variables = {**inherited, "BROKER": f"sqs://{key}:{secret}@{server.address.split('://')[1]}", "RESULTS": str(results), "AWS_DEFAULT_REGION": "us-east-1"}
    here = pathlib.Path(__file__).parent

    def start():
        log = open(tmp_path / "worker.log", "ab")
        return subprocess.Popen([python, "-m", "celery", "-A", "sqs_tasks", "worker", "--pool", "solo", "--loglevel", "INFO"], cwd=here, env=variables,
                                stdout=log, stderr=log)

    worker = start()
    try:
        subprocess.run([python, here / "sqs_tasks.py", str(TASKS)], cwd=here, env=variables, check=True, timeout=120)
        wait_until(lambda: len(results.read_text().splitlines()) >= TASKS // 3, "the worker to begin", 120)
        # What it holds comes back, to another.
        worker.kill()
        worker.wait()
        worker = start()
        expected = {str(2 * it) for it in range(TASKS)}
        wait_until(lambda: set(results.read_text().splitlines()) == expected, "all tasks to be done", 180)
        wait_until(lambda: server.ask("GET", "/api/v1/streams/tasks")[1]["counts"] == {"visible": 0, "in_flight": 0, "delayed": 0}, "the queue to be empty", 60)
    finally:
        worker.terminate()
        worker.wait(60)
