"""Arrays far beyond AWS's 10,000: children in fresh containers and in warm ones, while a client asks how far they are."""

import json
import os
import pathlib
import statistics
import time

import pytest

from test_aws_batch import aws, batch, image, register, server  # noqa: F401
from test_aws_hostile import Description, Raw
from test_server import worker

SOAK = os.environ.get("DROVER_SOAK") == "1"
MOST_GROWTH_KIB = 64 * 1024


def resident_kib(process):
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


@pytest.mark.parametrize("kind, size", [("fresh", 10_000 if SOAK else 200), ("warm", 250_000 if SOAK else 5_000)])
def test_an_array_is_described_at_once_while_it_runs(server, batch, image, kind, size):
    worker(server)
    register(batch, image, container={"command": ["true"], "vcpus": 1, "memory": 16}, tags={"drover:reuse": "true" if kind == "warm" else "false"})
    raw, description = Raw(server), Description("batch")
    before = resident_kib(server.running.process.pid)
    job = batch.submit_job(jobName=kind, jobQueue="short", jobDefinition="demo", arrayProperties={"size": size})["jobId"]
    took_ms, status, most = [], None, before
    begun = time.monotonic()
    while status not in ("SUCCEEDED", "FAILED"):
        assert time.monotonic() - begun < 1000, f"{job} is {status}"
        for ids in ([job], [f"{job}:{n * (size // 100)}" for n in range(100)]):
            request = description.request("DescribeJobs", {"jobs": ids})
            at = time.perf_counter()
            code, text = raw("batch", *request)
            took = (time.perf_counter() - at) * 1000
            assert code == 200, text
            if len(ids) == 1:
                took_ms.append(took)
                status = json.loads(text)["jobs"][0]["status"]
        most = max(most, resident_kib(server.running.process.pid))
        time.sleep(0.02)
    seconds = time.monotonic() - begun
    shown = batch.describe_jobs(jobs=[job])["jobs"][0]["arrayProperties"]
    assert (status, shown["size"], shown["statusSummary"]["SUCCEEDED"]) == ("SUCCEEDED", size, size)
    last = batch.describe_jobs(jobs=[f"{job}:{size - 1}"])["jobs"][0]
    assert last["status"] == "SUCCEEDED" and last["container"]["exitCode"] == 0 and last["arrayProperties"]["index"] == size - 1
    slow = sorted(took_ms)[int(len(took_ms) * 0.99)]
    print(f"{kind}: {size} children in {seconds:.1f} s, {size / seconds:.0f}/s; describe-jobs p50 {statistics.median(took_ms):.1f} ms, "
          f"p99 {slow:.1f} ms of {len(took_ms)}; memory +{(most - before) / 1024:.0f} MiB")
    if SOAK:
        assert statistics.median(took_ms) < 10 and slow < 50
        assert most - before < MOST_GROWTH_KIB
