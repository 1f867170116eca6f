"""How AWS Batch retries, waits for other jobs, cancels and terminates, as a table of jobs that are run through its API."""

import pytest

from aws import code_of
from drover import wait_until
from test_aws_batch import aws, batch, ended, image, register, server  # noqa: F401
from test_server import worker


def rule(action, **on):
    return {"action": action, **on}


# (name, what each attempt does, the strategy, how often it runs, status, the last exit code)
RETRIES = [
    ("without a strategy a failure is final", "exit 1", None, 1, "FAILED", 1),
    ("attempts count the first", "exit 1", {"attempts": 3}, 3, "FAILED", 1),
    ("a success ends it", "test $AWS_BATCH_JOB_ATTEMPT -ge 2", {"attempts": 5}, 2, "SUCCEEDED", 0),
    ("EXIT by exit code", "exit 3", {"attempts": 4, "evaluateOnExit": [rule("EXIT", onExitCode="3")]}, 1, "FAILED", 3),
    ("RETRY by exit code", "exit 3", {"attempts": 2, "evaluateOnExit": [rule("RETRY", onExitCode="3"), rule("EXIT", onExitCode="*")]}, 2, "FAILED", 3),
    ("a glob of exit codes", "exit 137", {"attempts": 3, "evaluateOnExit": [rule("EXIT", onExitCode="13*")]}, 1, "FAILED", 137),
    ("a glob that does not match", "exit 42", {"attempts": 2, "evaluateOnExit": [rule("EXIT", onExitCode="13*")]}, 2, "FAILED", 42),
    ("no match means retry", "exit 9", {"attempts": 3, "evaluateOnExit": [rule("EXIT", onExitCode="8")]}, 3, "FAILED", 9),
    ("the first match counts", "exit 5", {"attempts": 3, "evaluateOnExit": [rule("EXIT", onExitCode="5"), rule("RETRY", onExitCode="5")]}, 1, "FAILED", 5),
    ("actions in any case", "exit 5", {"attempts": 3, "evaluateOnExit": [rule("exit", onExitCode="5")]}, 1, "FAILED", 5),
    ("conditions of a rule are all required", "exit 5", {"attempts": 2, "evaluateOnExit": [rule("EXIT", onExitCode="5", onReason="OutOfMemory*")]}, 2, "FAILED", 5),
    ("a reason that matches", "exit 5", {"attempts": 3, "evaluateOnExit": [rule("EXIT", onReason="*")]}, 1, "FAILED", 5),
    ("a status reason", "exit 5", {"attempts": 3, "evaluateOnExit": [rule("EXIT", onStatusReason="Essential container*")]}, 1, "FAILED", 5),
    ("another status reason", "exit 5", {"attempts": 2, "evaluateOnExit": [rule("EXIT", onStatusReason="Host EC2*")]}, 2, "FAILED", 5),
    ("rules differ from attempt to attempt", "exit $AWS_BATCH_JOB_ATTEMPT", {"attempts": 5, "evaluateOnExit": [rule("EXIT", onExitCode="3"), rule("RETRY", onExitCode="*")]}, 3, "FAILED", 3),
]


def test_retries(server, batch, image):
    """All of the table at once: the jobs are independent."""
    worker(server)
    jobs = {}
    for number, (name, script, strategy, *_) in enumerate(RETRIES):
        register(batch, image, f"retry-{number}", container={"command": ["sh", "-c", script]})
        more = {"retryStrategy": strategy} if strategy else {}
        jobs[name] = batch.submit_job(jobName=f"retry-{number}", jobQueue="short", jobDefinition=f"retry-{number}", **more)["jobId"]
    wrong = []
    for name, _, _, attempts, status, exit_code in RETRIES:
        shown = ended(batch, jobs[name], 120)
        seen = (len(shown["attempts"]), shown["status"], shown["container"]["exitCode"])
        if seen != (attempts, status, exit_code):
            wrong.append(f"{name}: {seen} instead of {(attempts, status, exit_code)}")
        if [it["container"]["logStreamName"] for it in shown["attempts"]] == []:
            wrong.append(f"{name}: attempts without log streams")
    assert not wrong, "\n".join(wrong)


def test_a_timeout_is_not_retried(server, batch, image):
    """Sixty seconds is the least that AWS takes: the rest of the table passes the time."""
    worker(server)
    register(batch, image, container={"command": ["sh", "-c", "sleep 600"]})
    assert code_of(batch.submit_job, jobName="late", jobQueue="short", jobDefinition="demo", timeout={"attemptDurationSeconds": 59})[0] == "ClientException"
    job = batch.submit_job(jobName="late", jobQueue="short", jobDefinition="demo", timeout={"attemptDurationSeconds": 60}, retryStrategy={"attempts": 3})["jobId"]
    shown = ended(batch, job, 150)
    assert (shown["status"], len(shown["attempts"])) == ("FAILED", 1)
    assert shown["statusReason"] == "Job attempt duration exceeded timeout" and 55_000 < shown["stoppedAt"] - shown["startedAt"] < 130_000


def test_a_lost_machine_costs_no_attempt_unless_a_rule_says_so(server, batch, image, tmp_path):
    (tmp_path / "marks").mkdir()
    container = {"command": ["sh", "-c", "touch /marks/$AWS_BATCH_JOB_ID.$AWS_BATCH_JOB_ATTEMPT; test $AWS_BATCH_JOB_ATTEMPT -gt 1 || sleep 600"],
                 "volumes": [{"name": "m", "host": {"sourcePath": str(tmp_path / "marks")}}], "mountPoints": [{"sourceVolume": "m", "containerPath": "/marks"}]}
    register(batch, image, container=container)
    lost = worker(server, name="lost")
    free = batch.submit_job(jobName="free", jobQueue="short", jobDefinition="demo", retryStrategy={"attempts": 1})["jobId"]
    final = batch.submit_job(jobName="final", jobQueue="short", jobDefinition="demo",
                             retryStrategy={"attempts": 3, "evaluateOnExit": [rule("EXIT", onStatusReason="Host EC2*")]})["jobId"]
    wait_until(lambda: {it.name for it in (tmp_path / "marks").iterdir()} == {f"{free}.1", f"{final}.1"}, "both to run")
    wait_until(lambda: all("startedAt" in it for it in batch.describe_jobs(jobs=[free, final])["jobs"]), "the server to hear of it")
    lost.kill()  # first: a fenced worker would register again and take them back
    assert server.cli("workers", "fence", "lost").status == 0
    worker(server, name="other")
    shown = ended(batch, free)
    assert (shown["status"], len(shown["attempts"])) == ("SUCCEEDED", 2), shown
    assert shown["attempts"][0]["statusReason"].startswith("Host EC2")
    shown = ended(batch, final)
    assert (shown["status"], len(shown["attempts"])) == ("FAILED", 1) and shown["statusReason"].startswith("Host EC2"), shown


def test_dependencies(server, batch, image):
    worker(server)
    for name, script in (("good", "true"), ("bad", "exit 1"), ("odd", "test $((AWS_BATCH_JOB_ARRAY_INDEX % 2)) = 0")):
        register(batch, image, name, container={"command": ["sh", "-c", script]})

    def submit(definition, *after, size=None):
        more = {"arrayProperties": {"size": size}} if size else {}
        return batch.submit_job(jobName=definition, jobQueue="short", jobDefinition=definition, dependsOn=list(after), **more)["jobId"]

    def on(job, **more):
        return {"jobId": job, **more}

    good, bad, odd = submit("good"), submit("bad"), submit("odd", size=6)
    after_good, after_bad, after_both = submit("good", on(good)), submit("good", on(bad)), submit("good", on(good), on(bad))
    after_after_bad = submit("good", on(after_bad))
    n_to_n = submit("good", on(odd, type="N_TO_N"), size=6)
    sequential = submit("odd", {"type": "SEQUENTIAL"}, size=4)
    expected = {good: "SUCCEEDED", bad: "FAILED", odd: "FAILED", after_good: "SUCCEEDED", after_bad: "FAILED", after_both: "FAILED", after_after_bad: "FAILED",
                n_to_n: "FAILED", sequential: "FAILED"}
    shown = {job: ended(batch, job) for job in expected}
    assert {job: it["status"] for job, it in shown.items()} == expected
    assert shown[odd]["arrayProperties"]["statusSummary"]["SUCCEEDED"] == 3 and shown[odd]["arrayProperties"]["statusSummary"]["FAILED"] == 3
    assert "attempts" in shown[after_bad] and shown[after_bad]["attempts"] == [] and "depend" in shown[after_bad]["statusReason"].lower()
    children = batch.describe_jobs(jobs=[f"{n_to_n}:{n}" for n in range(6)])["jobs"]
    assert [it["status"] for it in children] == ["SUCCEEDED", "FAILED"] * 3
    first, second, third, _ = batch.describe_jobs(jobs=[f"{sequential}:{n}" for n in range(4)])["jobs"]
    assert (first["status"], second["status"], third["status"], third["attempts"]) == ("SUCCEEDED", "FAILED", "FAILED", [])


def state(batch, job):
    return batch.describe_jobs(jobs=[job])["jobs"][0]["status"]


@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_in_every_state(server, batch, image, tmp_path, how):
    stop = {"cancel": batch.cancel_job, "terminate": batch.terminate_job}[how]
    go = tmp_path / "go"
    container = {"command": ["sh", "-c", "while [ ! -e /in/go ]; do sleep 0.05; done"],
                 "volumes": [{"name": "in", "host": {"sourcePath": str(tmp_path)}}], "mountPoints": [{"sourceVolume": "in", "containerPath": "/in"}]}
    register(batch, image, container=container)
    register(batch, image, "quick", container={"command": ["true"]})

    def submit(definition="demo", **more):
        return batch.submit_job(jobName="job", jobQueue="short", jobDefinition=definition, retryStrategy={"attempts": 3}, **more)["jobId"]

    runnable = submit()
    pending = submit(dependsOn=[{"jobId": runnable}])
    assert (state(batch, runnable), state(batch, pending)) == ("RUNNABLE", "PENDING")
    for job in (pending, runnable):
        stop(jobId=job, reason="not needed")
        shown = ended(batch, job)
        assert (shown["status"], shown["statusReason"], shown["attempts"]) == ("FAILED", "not needed", [])

    worker(server)
    done = submit("quick")
    assert ended(batch, done)["status"] == "SUCCEEDED"
    running, array = submit(), submit(arrayProperties={"size": 5})
    wait_until(lambda: state(batch, running) == "RUNNING", "it to run")
    wait_until(lambda: batch.describe_jobs(jobs=[array])["jobs"][0]["arrayProperties"]["statusSummary"].get("RUNNING"), "a child to run")
    for job in (done, running, array):
        stop(jobId=job, reason="stopped")
        stop(jobId=job, reason="again")
    assert state(batch, done) == "SUCCEEDED"
    if how == "cancel":
        assert state(batch, running) == "RUNNING"
        go.touch()
    shown = ended(batch, running)
    assert (shown["status"], len(shown["attempts"])) == (("SUCCEEDED", 1) if how == "cancel" else ("FAILED", 1))
    if how == "terminate":
        assert shown["statusReason"] == "stopped"
    whole = ended(batch, array)
    summary = whole["arrayProperties"]["statusSummary"]
    assert whole["status"] == "FAILED" and sum(summary.get(it, 0) for it in ("SUCCEEDED", "FAILED")) == 5
    assert summary.get("SUCCEEDED", 0) == (1 if how == "cancel" else 0), summary
    # Of a job that never was, and of what is no id.
    stop(jobId="00000000-0000-4000-8000-000000000000", reason="x")
    assert code_of(stop, jobId="no id at all", reason="x")[0] == "ClientException"
    assert code_of(stop, jobId=f"{array}:0", reason="x")[0] == "ClientException"
