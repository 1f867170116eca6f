#!/usr/bin/python3
"""AWS Batch's API: how many requests a second, and how long they take while workers keep the server busy.

Requests are signed beforehand: the client only sends bytes and waits for the answer, over 32 keep-alive connections, on the same cores as the
server. Beside them, with the same client: GET /healthz, which the server answers without looking anything up, and the same questions to Drover's own
API. The CPU of the server alone does not depend on the client.

Then 64 workers take 100 items a poll and report them with the next, and one client asks each question again and again.
"""

import itertools
import json
import os
import select
import subprocess
import sys
import time

import aws_requests
import harness
import served

CONNECTIONS = 32
SHAPE = (64, 100)
LIMIT = "GET /healthz"
# What Drover's own API has in their place.
NATIVE = {"submit-job": "native: submit", "describe-jobs, 1": "native: one job", "list-jobs, 100": "native: 100 jobs"}
IMAGE = "busybox@sha256:" + "0" * 64  # not by a tag, which the server would look up
# No worker here has a GPU, so that the jobs stay.
DEFINITION = {"jobDefinitionName": "train", "type": "container", "retryStrategy": {"attempts": 3}, "containerProperties": {
    "image": IMAGE, "command": ["echo", "Ref::word"], "environment": [{"name": "MODEL_DIR", "value": "/models"}],
    "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "512"}, {"type": "GPU", "value": "1"}]}}
JOB = {"jobName": "train", "jobQueue": "short", "jobDefinition": "train", "parameters": {"word": "hello"},
       "containerOverrides": {"environment": [{"name": "TRAINING_DATA", "value": "/data/train.csv"}]}}


class Signer:
    """Writes requests to AWS Batch."""

    def __init__(self, server):
        self.host, self.key = f"127.0.0.1:{server.port}", server.key

    def __call__(self, operation, value):
        return aws_requests.signed(self.key, self.host, "batch", f"/v1/{operation.lower()}", {"content-type": "application/json"}, json.dumps(value).encode())


def drive(server, requests):
    """Sends the requests over all connections, each as soon as one is free; milliseconds of each."""
    channels = {}
    ready = select.epoll()
    for request in itertools.islice(requests, CONNECTIONS):
        channel = aws_requests.Channel(server.port)
        channels[channel.socket.fileno()] = channel
        ready.register(channel.socket, select.EPOLLIN)
        channel.send(request)
    took_ms, waiting = [], len(channels)
    while waiting > 0:
        for number, _ in ready.poll():
            channel = channels[number]
            if channel.receive() is None:
                continue
            took_ms.append(channel.took_ms)
            if (request := next(requests, None)) is None:
                waiting -= 1
            else:
                channel.send(request)
    ready.close()
    for channel in channels.values():
        channel.socket.close()
    return took_ms


def again_for(seconds, requests):
    until = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < until, itertools.cycle(requests))


def measure_rate(server, requests):
    began, cpu = time.monotonic(), server.cpu_seconds()
    took_ms = drive(server, requests)
    seconds = time.monotonic() - began
    return {"requests": len(took_ms), "per_second": len(took_ms) / seconds, "server_cpu_us": (server.cpu_seconds() - cpu) * 1e6 / len(took_ms),
            "p50_ms": harness.median(took_ms), "p99_ms": harness.percentile(took_ms, 99)}


def prepare(server, sign):
    channel = aws_requests.Channel(server.port)
    channel.ask(sign("CreateComputeEnvironment", {"computeEnvironmentName": "here", "type": "UNMANAGED"}))
    channel.ask(sign("CreateJobQueue", {"jobQueueName": "short", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "here"}]}))
    channel.ask(sign("RegisterJobDefinition", DEFINITION))


def native_requests(server, count):
    """{name: requests}; the first one submits jobs that stay, the others ask for them."""
    def request(method, path, body=b""):
        return f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {server.key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def job(number):
        return json.dumps({"name": f"job-{number}", "command": ["true"], "range": [1, 1], "gpus": 1}).encode()

    return {"native: submit": [request("POST", "/api/v1/jobs", job(number)) for number in range(count)],
            "native: one job": [request("GET", f"/api/v1/jobs/job-{number}") for number in range(count)],
            "native: 100 jobs": [request("GET", "/api/v1/jobs?limit=100")]}


def questions(server, sign):
    """{name: requests that are sent in turn}, about the jobs that are there."""
    listed = aws_requests.Channel(server.port).ask(sign("ListJobs", {"jobQueue": "short", "jobStatus": "RUNNABLE"}))
    ids = [job["jobId"] for job in json.loads(listed)["jobSummaryList"]]
    hundreds = [(ids + ids[:100])[first:first + 100] for first in range(0, len(ids), 10)]
    return {
        "describe-jobs, 1": [sign("DescribeJobs", {"jobs": [one]}) for one in ids],
        "describe-jobs, 100": [sign("DescribeJobs", {"jobs": hundred}) for hundred in hundreds],
        "list-jobs, 100": [sign("ListJobs", {"jobQueue": "short", "jobStatus": "RUNNABLE", "maxResults": 100})],
        "list-jobs, none": [sign("ListJobs", {"jobQueue": "short", "jobStatus": "RUNNING"})],
        LIMIT: [f"GET /healthz HTTP/1.1\r\nHost: {sign.host}\r\n\r\n".encode()],
    }


def measure_rates(server, sign, jobs, seconds):
    """{name: figures}, and the questions about the jobs that are there then."""
    native = native_requests(server, jobs // 5)
    harness.progress(f"{jobs:,} jobs over {CONNECTIONS} connections, and {jobs // 5:,} native ones")
    rates = {"native: submit": measure_rate(server, iter(native.pop("native: submit"))),
             "submit-job": measure_rate(server, itertools.repeat(sign("SubmitJob", JOB), jobs))}
    asked = questions(server, sign)
    for name, requests in {**asked, **native}.items():
        harness.progress(f"{name} over {CONNECTIONS} connections for {seconds:g} s")
        rates[name] = measure_rate(server, again_for(seconds, requests))
    for name, one in rates.items():
        one["of_limit"] = one["per_second"] / rates[LIMIT]["per_second"]
        if name in NATIVE:
            one["of_native"] = one["per_second"] / rates[NATIVE[name]]["per_second"]
    return {name: rates[name] for name in ["submit-job", *asked, *NATIVE.values()]}, asked


def measure_busy(flags, server, asked, seconds):
    """Items a second, and the milliseconds of each question meanwhile."""
    server.submit("--name", "busy", "--range", "1-1000000000", "--", "true")
    channel, seen = aws_requests.Channel(server.port), {name: [] for name in asked}
    turns = {name: itertools.cycle(requests) for name, requests in asked.items()}
    load = [flags.build / "bench/lease_ack_load", "127.0.0.1", server.port, server.key, *SHAPE, seconds]
    with subprocess.Popen([str(word) for word in load], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()  # the measured time begins
        while not select.select([process.stdout], [], [], 0)[0]:
            for name, turn in turns.items():
                channel.ask(next(turn))
                seen[name].append(channel.took_ms)
                time.sleep(0.01)
        one = json.loads(process.stdout.readline())
        process.stdin.close()
    return one["items"] / one["seconds"], seen


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="that are there when questions are asked; default: 10,000")
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each question, and eight times as long while busy; default: 5")
    flags = parser.parse_args()
    jobs, seconds = flags.jobs or (200 if flags.tiny else 10_000), flags.seconds or (0.2 if flags.tiny else 5)
    with harness.work_folder(flags) as work, served.serve(flags, work / "data") as server:
        sign = Signer(server)
        prepare(server, sign)
        rates, asked = measure_rates(server, sign, jobs, seconds)
        harness.progress(f"{SHAPE[0]} connections, {SHAPE[1]} items a poll, for {8 * seconds:g} s")
        items, seen = measure_busy(flags, server, {"submit-job": [sign("SubmitJob", JOB)], **asked}, 8 * seconds)
    harness.print_table(f"AWS Batch over {CONNECTIONS} connections on {len(os.sched_getaffinity(0))} cores, client included, {jobs:,} jobs",
                        ["", "requests/s", f"of {LIMIT}", "of native", "server's CPU µs/request", "p50 ms", "p99 ms"],
                        [[name, f"{r['per_second']:,.0f}", f"{r['of_limit']:.3f}", f"{r['of_native']:.2f}" if "of_native" in r else "–",
                          f"{r['server_cpu_us']:,.0f}", f"{r['p50_ms']:.2f}", f"{r['p99_ms']:.2f}"] for name, r in rates.items()])
    busy = {name: {"asked": len(all_ms), "p50_ms": harness.median(all_ms), "p99_ms": harness.percentile(all_ms, 99), "max_ms": max(all_ms)}
            for name, all_ms in seen.items()}
    harness.print_table(f"answers while {items:,.0f} items a second are leased and acknowledged", ["", "asked", "p50 ms", "p99 ms", "max ms"],
                        [[name, r["asked"], *(f"{r[figure]:.2f}" for figure in ("p50_ms", "p99_ms", "max_ms"))] for name, r in busy.items()])
    targets = harness.Targets()
    for name in NATIVE:
        targets.at_least(f"{name} / {NATIVE[name]}, requests/s", rates[name]["of_native"], 0.5)
    for name in ("describe-jobs, 1", "list-jobs, 100"):
        targets.below(f"ms at p50 while busy, {name}", busy[name]["p50_ms"], 10)
        targets.below(f"ms at p99 while busy, {name}", busy[name]["p99_ms"], 50)
    return harness.finish(flags, "aws_batch", {"jobs": jobs, "rates": rates, "items_per_second": items, "busy": busy}, targets)


if __name__ == "__main__":
    sys.exit(main())
