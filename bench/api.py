#!/usr/bin/python3
"""How long people wait for lists and states while workers keep the server busy.

A server with thousands of jobs; 64 workers that take 100 items a poll and report them with the next, beside it on the same cores.
Meanwhile one client asks for the newest hundred jobs, for one job, and why one waits, again and again over a keep-alive connection.
"""

import subprocess
import sys
import threading
import time

import harness
import served

SHAPE = (64, 100)
QUESTIONS = {"list of 100": "/api/v1/jobs?limit=100", "state of one": "/api/v1/jobs/busy", "why": "/api/v1/jobs/idle-1/why",
             "list by queue": "/api/v1/jobs?queue=default&state=running&limit=100"}


def ask_until(server, over, seen):
    connection = server.connection()
    while not over.is_set():
        for name, path in QUESTIONS.items():
            start = time.monotonic_ns()
            server.ask(connection, "GET", path)
            seen[name].append((time.monotonic_ns() - start) / 1e6)
            time.sleep(0.02)


def fill(server, jobs):
    """Jobs that no worker can run, so that they stay."""
    connection = server.connection()
    for number in range(jobs):
        server.ask(connection, "POST", "/api/v1/jobs", {"name": f"idle-{number}", "command": ["true"], "range": [1, 1000],
                                                        "cpus": 64, "require": {"class": str(number % 100)}})


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="beside the one that runs; default: 10,000")
    parser.add_argument("--seconds", type=int, default=0, metavar="S", help="default: 15")
    flags = parser.parse_args()
    jobs = flags.jobs or (20 if flags.tiny else 10_000)
    seconds = flags.seconds or (1 if flags.tiny else 15)
    seen = {name: [] for name in QUESTIONS}
    with harness.work_folder(flags) as work, served.serve(flags, work / "data") as server:
        harness.progress(f"{jobs:,} jobs")
        fill(server, jobs)
        server.submit("--name", "busy", "--range", "1-1000000000", "--", "true")
        harness.progress(f"{SHAPE[0]} connections, {SHAPE[1]} items a poll, for {seconds} s")
        over = threading.Event()
        asking = threading.Thread(target=ask_until, args=(server, over, seen))
        load = [flags.build / "bench/lease_ack_load", "127.0.0.1", server.port, server.key, *SHAPE, seconds]
        with subprocess.Popen([str(word) for word in load], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()  # the measured time begins
            asking.start()
            ended = process.stdout.readline()
            over.set()
            asking.join()
            process.stdin.close()
        one = harness.json.loads(ended)
    rate = one["items"] / one["seconds"]
    results = {name: {"asked": len(all_ms), "p50_ms": harness.median(all_ms), "p99_ms": harness.percentile(all_ms, 99), "max_ms": max(all_ms)}
               for name, all_ms in seen.items()}
    harness.print_table(f"answers while {rate:,.0f} items a second are leased and acknowledged, {jobs:,} other jobs", ["", "asked", "p50 ms", "p99 ms", "max ms"],
                        [[name, r["asked"], f"{r['p50_ms']:.2f}", f"{r['p99_ms']:.2f}", f"{r['max_ms']:.2f}"] for name, r in results.items()])
    targets = harness.Targets()
    targets.at_least("items a second meanwhile", rate, 200_000)
    for name in ("list of 100", "state of one"):
        targets.below(f"ms at p50, {name}", results[name]["p50_ms"], 10)
        targets.below(f"ms at p99, {name}", results[name]["p99_ms"], 50)
    return harness.finish(flags, "api", {"items_per_second": rate, "jobs": jobs, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
