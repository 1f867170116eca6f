"""A training job on AWS Batch, with the AWS CLI alone: it checkpoints, is killed, resumes and exports, and its log is read and followed. Files in
mounted folders stand in for S3."""

import contextlib
import json
import os
import subprocess

import pytest

from drover import Drain, wait_until
from test_aws_attempts import HOST, TRUST
from test_aws_batch import aws, image, server  # noqa: F401 (fixtures)
from test_server import worker

DEFINITION, QUEUE, GROUP = "train", "training", "/aws/batch/job"
EPOCHS = 20
# Least squares by gradient descent, which writes a checkpoint after each epoch.
TRAIN = '''
import csv, json, os, sys, time

def rows(path):
    with open(path) as file:
        return [(float(x), float(y)) for x, y in csv.reader(file)]

def save(folder, name, value):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}.new", "w") as file:
        json.dump(value, file)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")

model, first = {"slope": 0.0, "offset": 0.0}, 0
checkpoint = os.environ["MODEL_DIR"] + "/checkpoint.json"
if os.path.exists(checkpoint):
    with open(checkpoint) as file:
        saved = json.load(file)
    model, first = saved["model"], saved["epoch"] + 1
    print("resumed at epoch", first, flush=True)
for epoch in range(first, 20):
    for x, y in rows(os.environ["TRAINING_DATA"]):
        error = model["slope"] * x + model["offset"] - y
        model["slope"] -= 0.05 * error * x
        model["offset"] -= 0.05 * error
    save(os.environ["MODEL_DIR"], "checkpoint.json", {"model": model, "epoch": epoch})
    print("epoch", epoch, flush=True)
    if os.environ.get("STOP_AFTER") == str(epoch):
        os.kill(os.getpid(), 9)
    while os.environ.get("HOLD_AFTER") == str(epoch) and not os.path.exists(os.environ["MODEL_DIR"] + "/continue"):
        time.sleep(0.02)
worst = max(abs(model["slope"] * x + model["offset"] - y) for x, y in rows(os.environ["TEST_DATA"]))
save(os.environ["EXPORT_PATH"], "model.json", {"model": model, "worst_error": worst})
print("exported", flush=True)
'''


class Training:
    """What a person prepares: code and data in one folder of the machine, and another one for models, which the first job creates."""

    def __init__(self, aws, image, folder):  # noqa: F811
        self.aws, self.folder = aws, folder
        self.inputs, self.models = folder / "inputs", folder / "models"
        (self.inputs / "code").mkdir(parents=True)
        (self.inputs / "code/train.py").write_text(TRAIN)
        for name, step in (("train", 0.1), ("test", 0.13)):
            (self.inputs / f"{name}.csv").write_text("".join(f"{n * step},{2 * n * step + 1}\n" for n in range(20)))
        aws("batch", "create-compute-environment", "--compute-environment-name", "here", "--type", "UNMANAGED")
        aws("batch", "create-job-queue", "--job-queue-name", QUEUE, "--priority", 1, "--compute-environment-order", "order=1,computeEnvironment=here")
        aws("iam", "create-role", "--role-name", "trainer", "--assume-role-policy-document", TRUST)
        self.role = aws("iam", "get-role", "--role-name", "trainer", "--query", "Role.Arn")
        volumes = {path.strip("/"): (path, path, True) for path in HOST}
        volumes |= {"inputs": (self.inputs, "/inputs", True), "models": (self.models, "/models", False)}
        self.container = {
            "image": image, "vcpus": 1, "memory": 512, "jobRoleArn": self.role, "privileged": True,
            "command": ["sh", "-c", 'exec /usr/bin/python3 "$RUN_SCRIPT"'],
            "volumes": [{"name": name, "host": {"sourcePath": str(source)}} for name, (source, _, _) in volumes.items()],
            "mountPoints": [{"sourceVolume": name, "containerPath": inside, "readOnly": read_only} for name, (_, inside, read_only) in volumes.items()]}
        made = aws("batch", "register-job-definition", "--cli-input-json", self.input_file("definition", {
            "jobDefinitionName": DEFINITION, "type": "container", "containerProperties": self.container, "retryStrategy": {"attempts": 1}}))
        assert made["revision"] == 1

    def input_file(self, name, value):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(value))
        return f"file://{path}"

    def submit(self, name, **more):
        environment = {"SCRIPT_DIR": "/inputs/code", "MODEL_DIR": "/models/one", "EXPORT_PATH": "/models/export", "TRAINING_DATA": "/inputs/train.csv",
                       "TEST_DATA": "/inputs/test.csv", "RUN_SCRIPT": "/inputs/code/train.py", **more}
        request = {"jobName": name, "jobQueue": QUEUE, "jobDefinition": DEFINITION,
                   "containerOverrides": {"environment": [{"name": key, "value": value} for key, value in environment.items()]}}
        return self.aws("batch", "submit-job", "--cli-input-json", self.input_file(name, request), "--query", "jobId")

    def shown(self, job):
        return self.aws("batch", "describe-jobs", "--jobs", job)["jobs"][0]

    def ended(self, job):
        return wait_until(lambda: (shown := self.shown(job))["status"] in ("SUCCEEDED", "FAILED") and shown, f"job {job} to end")

    def lines(self, job):
        return self.aws("logs", "get-log-events", "--log-group-name", GROUP, "--log-stream-name", f"{DEFINITION}/default/{job}",
                        "--query", "events[*].message", "--limit", 100)

    def checkpoint(self):
        return json.loads((self.models / "one/checkpoint.json").read_text())


@pytest.fixture
def training(server, aws, image, tmp_path):  # noqa: F811
    worker(server)
    return Training(aws, image, tmp_path / "training")


def epochs(first, end):
    return [f"epoch {number}" for number in range(first, end)]


def test_killed_in_the_middle_it_resumes_from_its_checkpoint(training):
    assert not training.models.exists()
    shown, = training.aws("batch", "describe-job-definitions", "--job-definitions", f"{DEFINITION}:1")["jobDefinitions"]
    assert shown["containerProperties"] == training.container and shown["retryStrategy"] == {"attempts": 1}

    killed = training.submit("killed", STOP_AFTER="7")
    shown = training.ended(killed)
    assert (shown["status"], shown["container"]["exitCode"], len(shown["attempts"])) == ("FAILED", 137, 1), shown
    assert shown["container"]["privileged"] and shown["container"]["jobRoleArn"] == training.role
    assert training.lines(killed) == epochs(0, 8) and training.checkpoint()["epoch"] == 7
    assert not (training.models / "export").exists()

    resumed = training.submit("resumed")
    assert training.ended(resumed)["status"] == "SUCCEEDED"
    assert training.lines(resumed) == ["resumed at epoch 8", *epochs(8, EPOCHS), "exported"]
    exported = json.loads((training.models / "export/model.json").read_text())
    assert abs(exported["model"]["slope"] - 2) < 0.2 and abs(exported["model"]["offset"] - 1) < 0.2 and exported["worst_error"] < 0.2
    assert exported["model"] == training.checkpoint()["model"]


@contextlib.contextmanager
def following(server):  # noqa: F811
    """`aws logs tail --follow` while it runs; what it has printed so far."""
    variables = json.loads(server.cli("env-vars", "--json").out)
    process = subprocess.Popen(["/usr/bin/aws", "--endpoint-url", server.address, "logs", "tail", GROUP, "--follow", "--format", "short"],
                               env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    drain = Drain(process.stdout)
    process.stdout = None  # the drain's
    try:
        yield lambda: drain.kept.decode()
        assert process.poll() is None, f"aws logs tail ended: {drain.kept.decode()}"
    finally:
        process.kill()
        process.wait()


def test_the_log_of_a_running_job_is_followed(server, training):  # noqa: F811
    job = training.submit("followed", HOLD_AFTER="3")
    wait_until(lambda: (training.models / "one/checkpoint.json").exists() and training.checkpoint()["epoch"] == 3, "the job to train")
    with following(server) as printed:
        wait_until(lambda: "epoch 3\n" in printed(), "the lines so far")
        assert training.shown(job)["status"] == "RUNNING" and "epoch 4\n" not in printed()
        (training.models / "one/continue").touch()
        wait_until(lambda: "exported\n" in printed(), "the lines that come later")
        said = [line.split(" ", 1)[1] for line in printed().splitlines()]
    assert said == [*epochs(0, EPOCHS), "exported"], said
    assert training.ended(job)["status"] == "SUCCEEDED"
