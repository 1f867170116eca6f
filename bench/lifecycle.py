#!/usr/bin/python3
"""What single commands cost the core's thread when very much comes and goes, and whether its memory comes back.

One core, without a store: jobs that have ended; workers that join, wait, are given work, fall silent and are forgotten; a job that all of
them hold items of, cancelled; a failed job that very many come after; a retry of very many items. For each kind of command the longest is
shown, in the processor's time, with what it takes to make the batch for the store. No command may take longer than a millisecond, however
much there is; and when all of it is over, the core holds what it held before.
"""

import sys

import harness

FULL = (100_000, 10_000, 100_000, 100_000, 10_000_000)  # workers, their kinds, ended jobs, dependents, retried items
TINY = (50, 10, 50, 600, 3_000)
MOST_US = 1_000
MOST_GROWTH = 1.1


def main():
    flags = harness.options(__doc__.splitlines()[0]).parse_args()
    rounds = 1 if flags.tiny else 3
    runs = []
    for number in range(rounds):
        harness.progress(f"round {number + 1} of {rounds}")
        runs.append(harness.measured([flags.build / "bench/lifecycle_bench", *(TINY if flags.tiny else FULL)]))
    # The longest of a million commands is often one that the kernel interrupted: what counts is what comes back each time.
    commands = {name: {"count": one["count"], "mean_us": harness.median(run["commands"][name]["mean_us"] for run in runs),
                       "most_us": min(run["commands"][name]["most_us"] for run in runs)}
                for name, one in runs[0]["commands"].items()}
    memory = runs[0]["memory"]
    harness.print_table(
        f"Microseconds of the core's time; the longest of all, least of {rounds} runs", ["command", "how many", "mean", "longest"],
        [[name, f"{one['count']:,}", f"{one['mean_us']:.2f}", f"{one['most_us']:.0f}"] for name, one in commands.items()])
    harness.print_table(
        "Memory in use, MiB", ["when what is gone again", "before", "after"],
        [[name, f"{one['before'] / 2**20:.1f}", f"{one['after'] / 2**20:.1f}"] for name, one in memory.items()])
    targets = harness.Targets()
    for name, one in commands.items():
        targets.below(f"the longest: {name}, µs", one["most_us"], MOST_US)
    for name, one in memory.items():
        targets.below(f"memory after {name} beside before", one["after"] / one["before"], MOST_GROWTH)
    return harness.finish(flags, "lifecycle", {"rounds": rounds, "commands": commands, "memory": memory,
                                               "peak_kib": max(run["peak_kib"] for run in runs)}, targets)


if __name__ == "__main__":
    sys.exit(main())
