#!/usr/bin/python3
"""From the submit of one item to its process starting on a worker that waits.

A server and one worker on this machine; the item writes CLOCK_MONOTONIC as the first thing it does. Submitted over a keep-alive
connection, as a program would, and with `drover submit`, whose own start then counts too. Each job has ended, and the worker has
had time to wait again, before the next is submitted.
"""

import contextlib
import os
import random
import select
import subprocess
import sys
import time

import harness
import served

PATIENCE_SECONDS = 30


@contextlib.contextmanager
def working(flags, server):
    """One worker, registered."""
    process = subprocess.Popen([server.drover, "worker", "--quiet", "--data", server.data, "--name", "bench", "--cpus", "1"],
                               env=harness.environment())
    try:
        connection = server.connection()
        wait_until(lambda: server.ask(connection, "GET", "/api/v1/workers")["workers"], "the worker to register")
        yield
    finally:
        process.kill()
        process.wait()


def wait_until(condition, what):
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"bench: waited in vain for {what}")
        time.sleep(0.005)


class Starts:
    """The pipe into which items write when they started."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # for writing too, or it ends with each item

    def next_ns(self):
        if not select.select([self.pipe], [], [], PATIENCE_SECONDS)[0]:
            sys.exit("bench: the item does not start")
        return int(os.read(self.pipe, 100))


def over_http(server, connection, name, program, item):
    server.ask(connection, "POST", "/api/v1/jobs", {"name": name, "command": [program], "items": [item]})


def with_the_cli(server, _, name, program, item):
    server.submit("--name", name, "--", program, ":::", item)


WAYS = {"HTTP, keep-alive": over_http, "drover submit": with_the_cli}


def measure(flags, server, starts, submits):
    """{way: [(milliseconds until the submit was answered, until the process started)]}"""
    connection = server.connection()
    pause = random.Random(1)
    seen = {way: [] for way in WAYS}
    for number in range(submits):
        for way, submit in WAYS.items():
            name = f"job-{number}-{list(WAYS).index(way)}"
            start = time.monotonic_ns()
            submit(server, connection, name, str(flags.build / "bench/item_stamp"), str(starts.path))
            answered = time.monotonic_ns()
            seen[way].append(((answered - start) / 1e6, (starts.next_ns() - start) / 1e6))
            wait_until(lambda: server.ask(connection, "GET", f"/api/v1/jobs/{name}")["state"] == "succeeded", f"{name} to succeed")
            time.sleep(pause.uniform(0.05, 0.15))
    return seen


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--submits", type=int, default=0, metavar="N", help="each way; default: 200")
    flags = parser.parse_args()
    submits = flags.submits or (5 if flags.tiny else 200)
    with harness.work_folder(flags) as work, served.serve(flags, work / "data") as server, working(flags, server):
        starts = Starts(work / "starts")
        measure(flags, server, starts, 1 if flags.tiny else 5)  # to warm up
        seen = measure(flags, server, starts, submits)
    results = {}
    for way, both in seen.items():
        started = [one[1] for one in both]
        results[way] = {"answered_p50_ms": harness.median(one[0] for one in both), "p50_ms": harness.median(started),
                        "p95_ms": harness.percentile(started, 95), "max_ms": max(started)}
    harness.print_table(f"submit of one item to its process starting, {submits} times", ["", "p50 ms", "p95 ms", "max ms", "submit answered, p50 ms"],
                        [[way, *(f"{r[name]:.2f}" for name in ("p50_ms", "p95_ms", "max_ms", "answered_p50_ms"))] for way, r in results.items()])
    targets = harness.Targets()
    targets.below("ms at p50, over HTTP", results["HTTP, keep-alive"]["p50_ms"], 5)
    return harness.finish(flags, "latency", {"submits": submits, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
