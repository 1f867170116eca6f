#!/usr/bin/python3
"""What a plan for fleets costs, and what of it the core does.

Four fleets of three shapes, half of whose machines are busy, and ten million waiting items of a thousand jobs. There are a hundred classes of requirements, half of which name
labels; of most jobs it is known how long an item takes. A plan is made from what the core says page by page, outside of the core's thread; its launches and drains are commands
again. Shown are the time of a plan, the time that the questions take together, and the longest of all commands, those among them that bring the machines up.
"""

import sys

import harness

MACHINES = [10, 1_000, 10_000]
JOBS, ITEMS = 1_000, 10_000_000
MOST_PLAN_MS, MOST_COMMAND_MS = 10, 1


def main():
    flags = harness.options(__doc__.splitlines()[0]).parse_args()
    sizes, jobs, items, rounds = ([10, 100], 20, 10_000, 2) if flags.tiny else (MACHINES, JOBS, ITEMS, 50)
    results = []
    for machines in sizes:
        harness.progress(f"{machines:,} machines")
        results.append(harness.measured([flags.build / "bench/planner_bench", machines, jobs, items, rounds]))
    harness.print_table(f"Milliseconds, medians of {rounds} plans for {items:,} items of {jobs:,} jobs", ["machines", "a plan", "longest plan", "questions", "longest command"],
                        [[f"{one['machines']:,}", f"{one['plan_ms']:.2f}", f"{one['longest_plan_ms']:.2f}", f"{one['look_ms']:.2f}", f"{one['longest_command_ms']:.3f} ({one['longest_command']})"]
                         for one in results])
    targets = harness.Targets()
    targets.below(f"a plan for {results[-1]['machines']:,} machines, ms", results[-1]["plan_ms"], MOST_PLAN_MS)
    targets.below("the longest command, ms", max(one["longest_command_ms"] for one in results), MOST_COMMAND_MS)
    return harness.finish(flags, "planner", {"rounds": rounds, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
