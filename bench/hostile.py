#!/usr/bin/python3
"""What bad requests cost a real job: its rate with 500 of them a second beside it, over its rate without.

One server, one worker that runs processes, and somebody who sends malformed, truncated, oversized and wrong requests from the same
machine. Rounds with and without alternate within one job, so that the machine's moods touch both alike.

Then somebody with a key that may only read besieges a server with everything that such a key can do (tests/siege.py), and the polls of a
worker are timed meanwhile.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import harness
import served

TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests"
sys.path.append(str(TESTS))

from worker_protocol import time_polls  # noqa: E402

BAD_A_SECOND = 500
MOST_POLL_MS = 100  # the 99th percentile, under siege


class Job:
    def __init__(self, flags, data):
        self.server = served.Server(flags, data)
        for name, items, command in (("probe", "1-3", "true"), ("job", "1-1000000000", flags.build / "bench/item_silent")):
            self.server.submit("--name", name, "--range", items, "--", command)
        self.worker = subprocess.Popen([self.server.drover, "worker", "--data", data, "--quiet"], env=harness.environment())
        self.hostile = flags.build / "tests/hostile/hostile"

    def ended(self, name="job"):
        connection = self.server.connection()
        job = self.server.ask(connection, "GET", f"/api/v1/jobs/{name}")
        connection.close()
        return job["counts"]["succeeded"]

    def rate(self, seconds, bad):
        """Items a second, and what the bad peers saw."""
        siege = None
        if bad:
            siege = subprocess.Popen([self.hostile, "127.0.0.1", str(self.server.port), self.server.key, "/api/v1/jobs/probe", str(int(seconds * BAD_A_SECOND)), "0",
                                      str(BAD_A_SECOND), str(time.monotonic_ns()), "1000"], stdout=subprocess.PIPE)
        before, began = self.ended(), time.monotonic()
        time.sleep(seconds)
        rate = (self.ended() - before) / (time.monotonic() - began)
        return rate, json.loads(siege.communicate()[0]) if bad else None

    def end(self):
        for process in (self.worker, self.server.process):
            process.send_signal(signal.SIGKILL)
            process.wait()


def percentile_99(ordered):
    return ordered[int(len(ordered) * 0.99)]


def polls_under_siege(flags, data, seconds):
    """How long polls take, in milliseconds, the shortest first: without and with a siege; and how the siege was answered."""
    server = served.Server(flags, data)
    connection = server.connection()
    server.submit("--name", "loud", "--range", "1-1", "--", "sh", "-c", "seq 300000")
    worker = subprocess.Popen([server.drover, "worker", "--data", data, "--quiet", "--exit-when-idle"], env=harness.environment())
    worker.wait()
    try:
        key = server.ask(connection, "POST", "/api/v1/keys", {"scope": "read", "label": "besieger"})["token"]
        worker_key = server.ask(connection, "POST", "/api/v1/keys", {"scope": "worker", "label": "besieged"})["token"]
        alone = time_polls(server.connection, worker_key, seconds)
        siege = subprocess.Popen([sys.executable, TESTS / "siege.py", "127.0.0.1", str(server.port), key, "loud", str(seconds)], stdout=subprocess.PIPE)
        besieged = time_polls(server.connection, worker_key, seconds, name="besieged")
        answers = json.loads(siege.communicate()[0])
    finally:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    return [took * 1000 for took in alone], [took * 1000 for took in besieged], answers


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="of each kind; default: 8")
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each round; default: 4")
    flags = parser.parse_args()
    rounds, seconds = flags.rounds or (1 if flags.tiny else 8), flags.seconds or (0.5 if flags.tiny else 4)
    without, with_bad, sent, wrong = [], [], 0, []
    with harness.work_folder(flags) as work, harness.fresh_folder(work / "server") as data:
        job = Job(flags, data)
        try:
            while job.ended("probe") < 3 or job.ended() == 0:
                time.sleep(0.05)
            for number in range(rounds):
                harness.progress(f"round {number + 1} of {rounds}")
                # Each kind comes first as often as the other.
                for bad in (False, True) if number % 2 == 0 else (True, False):
                    rate, seen = job.rate(seconds, bad)
                    (with_bad if bad else without).append(rate)
                    if seen:
                        sent += seen["requests"] / seen["seconds"]
                        wrong += seen["wrong"]
        finally:
            job.end()
    with harness.work_folder(flags) as work, harness.fresh_folder(work / "besieged") as data:
        harness.progress("siege")
        quiet, besieged, answers = polls_under_siege(flags, data, 1 if flags.tiny else 10)
    if wrong:
        sys.exit(f"bench: bad requests were answered wrongly: {wrong[:3]}")
    alone, beside = harness.median(without), harness.median(with_bad)
    harness.print_table(f"a real job on {len(os.sched_getaffinity(0))} cores, {rounds} rounds of {seconds:g} s each",
                        ["", "items/s", "bad requests/s"],
                        [["alone", f"{alone:,.0f}", "0"], ["with bad requests", f"{beside:,.0f}", f"{sent / rounds:,.0f}"]])
    harness.print_table("polls of a worker while one key besieges the server", ["", "polls", "median", "p99"],
                        [[words, f"{len(took):,}", f"{took[len(took) // 2]:.1f} ms", f"{percentile_99(took):.1f} ms"]
                         for words, took in (("alone", quiet), ("under siege", besieged))])
    targets = harness.Targets()
    if not flags.tiny:
        targets.below("p99 of a poll under siege, ms", percentile_99(besieged), MOST_POLL_MS)
        targets.at_least("rate with 500 bad requests a second / without", beside / alone, 0.90)
    return harness.finish(flags, "hostile", {"seconds": seconds, "without": without, "with": with_bad, "bad_per_second": sent / rounds, "poll_p99_ms": percentile_99(quiet),
                                             "poll_p99_besieged_ms": percentile_99(besieged), "siege": answers},
                          targets)


if __name__ == "__main__":
    sys.exit(main())
