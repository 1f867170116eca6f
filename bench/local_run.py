#!/usr/bin/python3
"""Items per second on this machine, two at a time: drover run against xargs, GNU parallel, make and a bare spawn loop.

Each contender is run as people run it and timed whole, start and end included:

  drover      drover run --quiet -j2: output captured, every attempt durable, in a fresh folder on disk
  before      the same by another binary, given with --before: what a change has cost
  spawn loop  two threads that vfork, exec and wait; output to /dev/null: the limit
  xargs       xargs -n1 -P2
  make        make -s -j2 over a makefile of phony targets
  parallel    parallel -j2 --joblog: output grouped per item, a line of joblog each

Where items print nothing, the peers' output goes to /dev/null; where they print a line, to one file that the peers
share between their items. A round runs every contender once; the order moves by one from round to round. Ratios are
taken within a round; what is shown are medians over rounds.
"""

import collections
import os
import resource
import sqlite3
import subprocess
import sys
import time

import harness

LINE = b"one line, as an item would print it\n"
Program = collections.namedtuple("Program", "title path lines")


class Contender:
    """One way to run `items` items of a program."""

    name = ""

    def __init__(self, work, items):
        self.work = work
        self.items = items

    def command(self, program):
        raise NotImplementedError

    def verify(self, program):
        """After the clock has stopped: every item ran. Peers say it by their exit status and their output."""
        if program.lines and (self.work / "output").read_bytes() != LINE * self.items:
            sys.exit(f"bench: {self.name} lost output of {program.path}")

    def timed(self, program):
        """Items per second, and the microseconds of processor that an item cost, its own included."""
        command = [str(word) for word in self.command(program)]
        env = harness.environment(PARALLEL_HOME=str(self.work / "parallel"))
        with open(self.work / "list") as numbers, open(self.output(program), "wb") as output:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            status = subprocess.run(command, stdin=numbers, stdout=output, env=env, cwd=self.work).returncode
            seconds = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if status != 0:
            sys.exit(f"bench: {' '.join(command)} ended with {status}")
        self.verify(program)
        cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return self.items / seconds, cpu_seconds * 1e6 / self.items

    def output(self, program):
        return self.work / "output" if program.lines else os.devnull

    def prepare(self):
        (self.work / "list").write_text("".join(f"{i}\n" for i in range(1, self.items + 1)))


class Drover(Contender):
    name = "drover"

    def __init__(self, work, items, drover):
        super().__init__(work, items)
        self.drover = drover

    def command(self, program):
        return [self.drover, "run", "--data", "data", "--name", "bench", "--quiet", "-j2", "--range", f"1-{self.items}",
                "--", program.path]

    def output(self, program):
        return os.devnull

    def verify(self, program):
        with sqlite3.connect(self.work / "data/runs/bench/drover.db") as ledger:
            succeeded = ledger.execute("SELECT count(*) FROM items WHERE state = 'succeeded'").fetchone()[0]
        ledger.close()
        if succeeded != self.items:
            sys.exit(f"bench: the ledger has {succeeded} succeeded items of {self.items}")
        if program.lines:
            printed = subprocess.run([self.drover, "logs", "bench", "--data", "data", "--json"], cwd=self.work, capture_output=True)
            if printed.stdout.count(LINE.strip()) != self.items:
                sys.exit("bench: drover lost output")


class DroverBefore(Drover):
    name = "before"

    def verify(self, program):
        pass


class SpawnLoop(Contender):
    name = "spawn loop"

    def __init__(self, work, items, loop):
        super().__init__(work, items)
        self.loop = loop

    def command(self, program):
        return [self.loop, self.items, 2, program.path]

    def output(self, program):
        return os.devnull

    def verify(self, program):
        pass


class Xargs(Contender):
    name = "xargs -P2"

    def command(self, program):
        return ["xargs", "-n1", "-P2", program.path]


class Make(Contender):
    name = "make -j2"

    def prepare(self):
        super().prepare()
        targets = " ".join(f"item{i}" for i in range(1, self.items + 1))
        text = f".PHONY: all {targets}\nall: {targets}\n{targets}:\n\t@$(PROGRAM) $@\n"
        (self.work / "items.mk").write_text(text)

    def command(self, program):
        return ["make", "-s", "-j2", "-f", "items.mk", f"PROGRAM={program.path}"]


class Parallel(Contender):
    name = "GNU parallel -j2"

    def command(self, program):
        return ["parallel", "--will-cite", "-j2", "--joblog", "joblog", program.path]

    def verify(self, program):
        super().verify(program)
        with open(self.work / "joblog") as joblog:
            if sum(1 for _ in joblog) != self.items + 1:
                sys.exit("bench: the joblog of GNU parallel lacks items")


def measure(work, program, contenders, rounds):
    """Rates and processor use of each contender, one figure per round."""
    rates = {one.name: [] for one in contenders}
    cpu_us = {one.name: [] for one in contenders}
    for number in range(rounds):
        harness.progress(f"{program.title}: round {number + 1} of {rounds}")
        at = number % len(contenders)
        for one in contenders[at:] + contenders[:at]:
            with harness.fresh_folder(work / "round") as one.work:
                one.prepare()
                rate, cpu = one.timed(program)
            rates[one.name].append(round(rate, 1))
            cpu_us[one.name].append(round(cpu, 1))
    return rates, cpu_us


def ratio(rates, name, to):
    return harness.median(a / b for a, b in zip(rates[name], rates[to]))


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 5")
    parser.add_argument("--before", metavar="DROVER", help="another binary of drover, to hold this one against")
    flags = parser.parse_args()
    rounds = flags.rounds or (1 if flags.tiny else 5)
    items, parallel_items = (200, 20) if flags.tiny else (10_000, 1_000)
    programs = [Program("/bin/true, no output", "/bin/true", 0),
                Program("static program, no output", str(flags.build / "bench/item_silent"), 0),
                Program("static program, one line", str(flags.build / "bench/item_line"), 1)]

    results = []
    with harness.work_folder(flags) as work:
        contenders = [Drover(work, items, flags.build / "bin/drover"), SpawnLoop(work, items, flags.build / "bench/spawn_loop"),
                      Xargs(work, items), Make(work, items), Parallel(work, parallel_items)]
        if flags.before:
            contenders.insert(1, DroverBefore(work, items, flags.before))
        for program in programs:
            rates, cpu_us = measure(work, program, contenders, rounds)
            rows = [[one.name, f"{one.items:,}", f"{harness.median(rates[one.name]):,.0f}",
                     f"{harness.median(cpu_us[one.name]):,.0f}", f"{ratio(rates, 'drover', one.name):.2f}"] for one in contenders]
            harness.print_table(f"{program.title}: items/s, two at a time, median of {rounds}",
                                ["contender", "items", "items/s", "CPU µs/item", "drover is ×"], rows)
            results.append({"program": program.title, "items_per_second": rates, "cpu_us_per_item": cpu_us,
                            "drover_to": {one.name: round(ratio(rates, "drover", one.name), 4) for one in contenders}})

    targets = harness.Targets()
    plain = results[0]["drover_to"]
    targets.at_least("/bin/true: drover / xargs -P2", plain["xargs -P2"], 1.8)
    targets.at_least("/bin/true: drover / GNU parallel", plain["GNU parallel -j2"], 10)
    targets.at_least("/bin/true: drover / spawn loop", plain["spawn loop"], 0.85)
    if flags.before:
        targets.at_least("/bin/true: drover / before", plain["before"], 0.95)
    return harness.finish(flags, "local_run", {"rounds": rounds, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
