#!/usr/bin/python3
"""From a submit while there is no machine to the first item running.

`drover up` in an empty folder; a job of one item, submitted with `drover submit`, brings up a worker on this machine, registers it and runs. The item writes CLOCK_MONOTONIC as the
first thing it does. Between jobs the machine leaves again. Beside it: the same submit when a worker waits, and what the start of `drover worker --version` takes, which is the least
that a new machine costs here.
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

import harness
from latency import Starts, wait_until

MOST_SECONDS = 2


class Up:
    """`drover up`, and what is asked of it."""

    def __init__(self, flags, data):
        self.drover, self.data = flags.build / "bin/drover", data
        self.process = subprocess.Popen([self.drover, "up", "--data", data, "--listen", "127.0.0.1:0"], env=harness.environment(), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_until(lambda: (data / "server/address").exists(), "the server to listen")

    def cli(self, *words):
        done = subprocess.run([self.drover, *map(str, words)], env={**harness.environment(), "DROVER_DATA": str(self.data)}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"bench: drover {words[0]} failed: {done.stderr}")
        return done.stdout

    def machines(self):
        fleet = json.loads(self.cli("fleet", "show", "local", "--json"))
        return [it for it in fleet["machines"] if it["state"] != "gone"]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(60) != 0:
            sys.exit("bench: drover up did not end well")


def first_item(up, program, starts, name):
    begun = time.monotonic_ns()
    up.cli("submit", "--name", name, "--", program, ":::", starts.path)
    return (starts.next_ns() - begun) / 1e9


def least(flags, rounds):
    seconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run([flags.build / "bin/drover", "version"], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - begun)
    return harness.median(seconds)


def main():
    flags = harness.options(__doc__.splitlines()[0]).parse_args()
    rounds = 1 if flags.tiny else 10
    program = flags.build / "bench/item_stamp"
    empty, waiting = [], []
    with harness.work_folder(flags) as work:
        starts = Starts(pathlib.Path(work) / "starts")
        up = Up(flags, pathlib.Path(work) / "data")
        try:
            up.cli("fleet", "set", "local", "--idle", "1s")
            for number in range(rounds):
                harness.progress(f"round {number + 1} of {rounds}")
                wait_until(lambda: up.machines() == [], "the machines to leave")
                empty.append(first_item(up, program, starts, f"empty-{number}"))
                waiting.append(first_item(up, program, starts, f"waiting-{number}"))
        finally:
            up.stop()
    start = least(flags, rounds)
    harness.print_table(f"Seconds from the submit to the item's first instruction, {rounds} times", ["", "p50", "longest"],
                        [["no machine is there", f"{harness.median(empty):.3f}", f"{max(empty):.3f}"],
                         ["a worker waits", f"{harness.median(waiting):.3f}", f"{max(waiting):.3f}"]])
    print(f"\n  a start of drover takes {start:.3f} s: an empty fleet costs {(harness.median(empty) - harness.median(waiting)) / start:.1f} of them")
    targets = harness.Targets()
    targets.below("seconds to the first item on an empty fleet", max(empty), MOST_SECONDS)
    return harness.finish(flags, "scale_up", {"empty": empty, "waiting": waiting, "start": start}, targets)


if __name__ == "__main__":
    sys.exit(main())
