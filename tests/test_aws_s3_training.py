"""A training job on AWS Batch whose script, data, checkpoints and model are in S3: fetched, killed, resumed and exported with the AWS CLI and boto3
inside the container, by the job's own credentials."""

import json

import pytest

from test_aws_batch import aws, image, server  # noqa: F401 (fixtures)
from test_aws_s3 import run_aws
from test_aws_training import DEFINITION, EPOCHS, Training, epochs
from test_server import worker

BUCKET = "training"
TRAIN = '''
import csv, io, json, os, urllib.parse
import boto3

s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])

def split(uri):
    parts = urllib.parse.urlparse(uri)
    return {"Bucket": parts.netloc, "Key": parts.path[1:]}

def read(uri):
    return s3.get_object(**split(uri))["Body"].read()

def rows(uri):
    return [(float(x), float(y)) for x, y in csv.reader(io.StringIO(read(uri).decode()))]

model, first = {"slope": 0.0, "offset": 0.0}, 0
checkpoint = os.environ["MODEL_DIR"] + "/checkpoint.json"
try:
    saved = json.loads(read(checkpoint))
    model, first = saved["model"], saved["epoch"] + 1
    print("resumed at epoch", first, flush=True)
except s3.exceptions.NoSuchKey:
    pass
for epoch in range(first, 20):
    for x, y in rows(os.environ["TRAINING_DATA"]):
        error = model["slope"] * x + model["offset"] - y
        model["slope"] -= 0.05 * error * x
        model["offset"] -= 0.05 * error
    s3.put_object(**split(checkpoint), Body=json.dumps({"model": model, "epoch": epoch}))
    print("epoch", epoch, flush=True)
    if os.environ.get("STOP_AFTER") == str(epoch):
        os.kill(os.getpid(), 9)
worst = max(abs(model["slope"] * x + model["offset"] - y) for x, y in rows(os.environ["TEST_DATA"]))
with open("/tmp/model.json", "w") as file:
    json.dump({"model": model, "worst_error": worst, "weights": "x" * 20_000_000}, file)
s3.upload_file("/tmp/model.json", **split(os.environ["EXPORT_PATH"] + "/model.json"))
print("exported", flush=True)
'''
FETCH_AND_RUN = '/usr/bin/aws --endpoint-url "$AWS_ENDPOINT_URL" s3 cp "$RUN_SCRIPT" /tmp/run.py && exec /usr/bin/python3 /tmp/run.py'


class TrainingInS3(Training):
    def __init__(self, aws, server_aws, image, folder):  # noqa: F811
        super().__init__(aws, image, folder)
        self.client = server_aws.client("s3")
        self.client.create_bucket(Bucket=BUCKET)
        (self.inputs / "code/train.py").write_text(TRAIN)
        assert run_aws(server_aws, "s3", "sync", self.inputs, f"s3://{BUCKET}/inputs").returncode == 0
        aws("iam", "attach-role-policy", "--role-name", "trainer", "--policy-arn", "arn:aws:iam::aws:policy/AmazonS3FullAccess")
        self.container["command"] = ["sh", "-c", FETCH_AND_RUN]
        aws("batch", "register-job-definition", "--cli-input-json", self.input_file("definition", {
            "jobDefinitionName": DEFINITION, "type": "container", "containerProperties": self.container, "retryStrategy": {"attempts": 1}}))

    def submit(self, name, **more):
        base = f"s3://{BUCKET}"
        return super().submit(name, **{"SCRIPT_DIR": f"{base}/inputs/code", "MODEL_DIR": f"{base}/model", "EXPORT_PATH": f"{base}/export",
                                       "TRAINING_DATA": f"{base}/inputs/train.csv", "TEST_DATA": f"{base}/inputs/test.csv",
                                       "RUN_SCRIPT": f"{base}/inputs/code/train.py", **more})

    def read(self, key):
        return json.loads(self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read())


@pytest.fixture
def training(server, aws, image, tmp_path):  # noqa: F811
    worker(server)
    return TrainingInS3(aws, aws, image, tmp_path / "training")


def test_it_trains_checkpoints_dies_resumes_and_exports(training):
    killed = training.submit("killed", STOP_AFTER="7")
    assert training.ended(killed)["status"] == "FAILED" and "epoch 7" in training.lines(killed), training.lines(killed)
    assert training.read("model/checkpoint.json")["epoch"] == 7
    resumed = training.submit("resumed")
    shown = training.ended(resumed)
    assert shown["status"] == "SUCCEEDED", training.lines(resumed)
    assert [line for line in training.lines(resumed) if not line.startswith(("download", "Completed"))] == [
        "resumed at epoch 8", *epochs(8, EPOCHS), "exported"]
    exported = training.read("export/model.json")
    assert abs(exported["model"]["slope"] - 2) < 0.2 and abs(exported["model"]["offset"] - 1) < 0.2 and exported["worst_error"] < 0.2
    assert training.client.head_object(Bucket=BUCKET, Key="export/model.json")["ETag"].endswith('-3"')


def test_a_role_that_may_only_read_cannot_checkpoint(training):
    training.aws("iam", "detach-role-policy", "--role-name", "trainer", "--policy-arn", "arn:aws:iam::aws:policy/AmazonS3FullAccess")
    training.aws("iam", "attach-role-policy", "--role-name", "trainer", "--policy-arn", "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    job = training.submit("reader")
    assert training.ended(job)["status"] == "FAILED"
    assert any("AccessDenied" in line and "PutObject" in line for line in training.lines(job))
