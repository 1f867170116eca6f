#!/usr/bin/python3
"""Durable transitions per second: what the core emits for ended items, through Store::commit, against raw inserts.

An ended item is one attempt row; a batch adds what changed with it: blocks, the job, the counters, and a grant put and
deleted per 100 items. The raw side inserts as many rows, each as large as an attempt, in the same batches into one
table. Both are SQLite in WAL mode with synchronous=FULL, in fresh files on disk, one after the other in every round.
"""

import sys

import harness

FULL = {1: 20_000, 100: 500_000, 1_000: 1_000_000}  # batch → items
TINY = {1: 200, 100: 2_000, 1_000: 2_000}


def measure(flags, work, batch, items, rounds):
    program = flags.build / "bench/store_bench"
    runs = []
    for number in range(rounds):
        harness.progress(f"batches of {batch:,}: round {number + 1} of {rounds}")
        with harness.fresh_folder(work / "round") as folder:
            runs.append(harness.measured([program, folder, items, batch]))
    if any(one["items"] != items or one["rows"] <= items for one in runs):
        sys.exit("bench: the core did not emit a row for each ended item, and more")
    return {
        "batch": batch,
        "items": items,
        "store_items_per_second": round(harness.median(items / one["commit_seconds"] for one in runs)),
        "raw_rows_per_second": round(harness.median(items / one["raw_seconds"] for one in runs)),
        "store_to_raw": round(harness.median(one["raw_seconds"] / one["commit_seconds"] for one in runs), 4),
        "core_us_per_item": round(harness.median(one["core_seconds"] * 1e6 / items for one in runs), 4),
        "rows_per_item": round(runs[0]["rows"] / items, 4),
        "row_bytes": runs[0]["row_bytes"],
    }


def main():
    parser = harness.options(__doc__.splitlines()[0])
    flags = parser.parse_args()
    rounds = 1 if flags.tiny else 5
    with harness.work_folder(flags) as work:
        results = [measure(flags, work, batch, items, rounds) for batch, items in (TINY if flags.tiny else FULL).items()]
    harness.print_table(
        f"Durable ended items per second, median of {rounds}; raw: inserts of {results[0]['row_bytes']} bytes",
        ["batch", "store items/s", "raw rows/s", "store / raw", "rows per item", "core µs per item"],
        [[f"{r['batch']:,}", f"{r['store_items_per_second']:,}", f"{r['raw_rows_per_second']:,}", f"{r['store_to_raw']:.2f}",
          f"{r['rows_per_item']:.2f}", f"{r['core_us_per_item']:.2f}"] for r in results])
    return harness.finish(flags, "store", {"rounds": rounds, "results": results}, harness.Targets())


if __name__ == "__main__":
    sys.exit(main())
