#!/usr/bin/python3
"""What a scheduling decision costs, and how that grows.

A decision is a poll that tells of one ended item and is answered with another, all of it, but for what the store does. All workers are
full; the queues have ten priorities, half of them share fairly among five; jobs have a hundred classes of requirements, and half of
the jobs fit no worker; no two workers have the same, and ten times as many jobs have ended as are there. Beside it: a job submitted while all workers wait, one of whom is given its item.

How a logarithm grows is measured in the same run: one look into a balanced tree of all items that run. Its steps grow with the logarithm,
its time also with what no longer fits the processor's caches; a decision may not grow faster.
"""

import math
import sys

import harness

FULL = [(10, 100, 100), (100, 1_000, 1_000), (1_000, 10_000, 10_000)]  # queues, jobs, workers, each of its own kind
TINY = [(4, 40, 10), (8, 80, 20)]
ENDED_PER_JOB = 10
ITEMS_PER_JOB = 10_000
TARGET_US = 20
MOST_US = 1_000


def measure(flags, queues, jobs, workers, decisions, rounds):
    program = flags.build / "bench/schedule_bench"
    runs = []
    for number in range(rounds):
        harness.progress(f"{jobs:,} jobs, {workers:,} workers: round {number + 1} of {rounds}")
        runs.append(harness.measured([program, queues, jobs, workers, jobs * ITEMS_PER_JOB, decisions, workers,
                                     jobs * ENDED_PER_JOB]))
    figures = {key: runs[0][key] for key in ("queues", "jobs", "workers", "items", "kinds", "ended")}
    for key in runs[0].keys() - figures.keys():
        figures[key] = round(harness.median(one[key] for one in runs), 3)
    return figures


def main():
    flags = harness.options(__doc__.splitlines()[0]).parse_args()
    rounds, decisions = (1, 500) if flags.tiny else (3, 100_000)
    results = [measure(flags, *size, decisions, rounds) for size in (TINY if flags.tiny else FULL)]
    harness.print_table(
        f"Microseconds of the core's time, mean of {decisions:,}, median of {rounds}",
        ["jobs", "queues", "workers", "items", "decision", "p50", "p99", "longest", "submitted to those who wait", "p99",
         "longest", "a look into a tree"],
        [[f"{r['jobs']:,}", f"{r['queues']:,}", f"{r['workers']:,}", f"{r['items']:,}", f"{r['decision_us']:.2f}",
          f"{r['decision_p50_us']:.2f}", f"{r['decision_p99_us']:.2f}", f"{r['decision_most_us']:.0f}",
          f"{r['submission_us']:.2f}", f"{r['submission_p99_us']:.2f}", f"{r['submission_most_us']:.0f}",
          f"{r['look_us']:.3f}"] for r in results])
    small, large = results[0], results[-1]
    by_log = math.log(large["jobs"] * large["workers"]) / math.log(small["jobs"] * small["workers"])
    growth = large["decision_us"] / small["decision_us"]
    tree_growth = large["look_us"] / small["look_us"]
    print(f"\n  a decision at full size: {large['decision_us'] / TARGET_US:.2f} of its target of {TARGET_US} µs; "
          f"from the smallest to the largest it grew {growth:.2f}-fold, the logarithm {by_log:.2f}-fold, "
          f"a look into a tree {tree_growth:.2f}-fold")
    targets = harness.Targets()
    targets.below("a decision, µs", large["decision_us"], TARGET_US)
    targets.below("a job submitted to those who wait, µs", large["submission_us"], TARGET_US)
    targets.below("the longest decision, µs", large["decision_most_us"], MOST_US)
    targets.below("the longest submission, µs", large["submission_most_us"], MOST_US)
    targets.below("growth of a decision beside that of a look into a tree", growth / tree_growth, 1)
    return harness.finish(flags, "schedule", {"rounds": rounds, "decisions": decisions, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
