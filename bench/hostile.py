#!/usr/bin/python3
"""What bad requests cost a real job: its rate with 500 of them a second beside it, over its rate without.

One server, one worker that runs processes, and somebody who sends malformed, truncated, oversized and wrong requests from the same
machine. Rounds with and without alternate within one job, so that the machine's moods touch both alike.
"""

import json
import os
import signal
import subprocess
import sys
import time

import harness
import served

BAD_A_SECOND = 500


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
    if wrong:
        sys.exit(f"bench: bad requests were answered wrongly: {wrong[:3]}")
    alone, beside = harness.median(without), harness.median(with_bad)
    harness.print_table(f"a real job on {len(os.sched_getaffinity(0))} cores, {rounds} rounds of {seconds:g} s each",
                        ["", "items/s", "bad requests/s"],
                        [["alone", f"{alone:,.0f}", "0"], ["with bad requests", f"{beside:,.0f}", f"{sent / rounds:,.0f}"]])
    targets = harness.Targets()
    if not flags.tiny:
        targets.at_least("rate with 500 bad requests a second / without", beside / alone, 0.90)
    return harness.finish(flags, "hostile", {"seconds": seconds, "without": without, "with": with_bad, "bad_per_second": sent / rounds},
                          targets)


if __name__ == "__main__":
    sys.exit(main())
