#!/usr/bin/python3
"""Time and memory to accept long lists of items, and to open a folder with a half-finished job of that size.

Lines are 60 bytes. Accepting is `drover run`'s own path, from a file to a durable job, in a process of its own; beside it
zstd -1 -T1 compresses the same file to nowhere. The list and the ledger are in the page cache for both. Half-finished: a
random half of the items succeeded, each with its row in the ledger, and a worker held four grants; opening ends when a
first lease of 512 items is granted and durable.
"""

import json
import shutil
import subprocess
import sys
import time

import harness

LINE_BYTES = 60
DISK_BYTES_PER_ITEM = 200  # the list, its chunks, and the attempts of half of the items
FULL_SIZES = {1: 5, 10: 3, 100: 3}  # millions of items → rounds


def zstd(path):
    """Seconds to compress the list, single-threaded."""
    start = time.perf_counter()
    subprocess.run(["zstd", "-1", "-T1", "-q", "-c", path], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def check_disk(folder, items):
    free = shutil.disk_usage(folder).free
    if free < items * DISK_BYTES_PER_ITEM:
        sys.exit(f"bench: {items:,} items need {items * DISK_BYTES_PER_ITEM >> 30} GiB on {folder}, {free >> 30} are free; "
                 "give --dir or smaller --sizes")


def check_status(flags, root, items, succeeded):
    """The product itself must read the folder back as what was built."""
    shown = subprocess.run([flags.build / "bin/drover", "status", "--data", root, "--json", "bench"], check=True,
                           stdout=subprocess.PIPE, text=True, env=harness.environment()).stdout
    counts = json.loads(shown)["counts"]
    if counts["succeeded"] != succeeded or sum(counts.values()) != items:
        sys.exit(f"bench: drover status counts {counts}, and {succeeded} of {items} succeeded")


def measure(flags, work, items, rounds):
    program = flags.build / "bench/manifest_bench"
    nbytes = items * LINE_BYTES
    items_list = work / "list"
    root = work / "data"
    database = root / "runs/bench/drover.db"
    check_disk(work, items)

    harness.progress(f"{items:,} items: writing the list")
    harness.measured([program, "list", items_list, items])
    if items_list.stat().st_size != nbytes:
        sys.exit("bench: the list has another size than it should")
    ratio = harness.compressed_ratio(items_list)
    if ratio > 5:
        sys.exit(f"bench: the list compresses {ratio:.1f}:1, too well to say anything")

    zstd_seconds, accepts = [], []
    for number in range(rounds):
        harness.progress(f"{items:,} items: round {number + 1} of {rounds}")
        shutil.rmtree(root, ignore_errors=True)
        database.parent.mkdir(parents=True)
        zstd_seconds.append(zstd(items_list))
        accepts.append(harness.measured([program, "accept", items_list, database]))
        if accepts[-1]["items"] != items:
            sys.exit(f"bench: {accepts[-1]['items']} items were accepted of {items}")
    items_list.unlink()

    harness.progress(f"{items:,} items: building the half-finished job")
    succeeded = harness.measured([program, "half", database])["succeeded"]
    check_status(flags, root, items, succeeded)
    # Opening changes the state (grants go back, new ones are given), but not its size.
    opens = [harness.measured([program, "open", database]) for _ in range(3)]
    if any(one["leased"] != 512 for one in opens):
        sys.exit("bench: the first poll was not given what it asked for")
    ledger_bytes = database.stat().st_size
    shutil.rmtree(root)

    return {
        "items": items,
        "rounds": rounds,
        "compressed_ratio": round(ratio, 2),
        "zstd_bytes_per_second": round(harness.median(nbytes / s for s in zstd_seconds)),
        "accept_bytes_per_second": round(harness.median(nbytes / one["seconds"] for one in accepts)),
        "accept_to_zstd": round(harness.median(s / one["seconds"] for s, one in zip(zstd_seconds, accepts)), 4),
        "accept_seconds": harness.median(one["seconds"] for one in accepts),
        "accept_peak_mib": max(one["peak_kib"] for one in accepts) / 1024,
        "succeeded": succeeded,
        "ledger_bytes": ledger_bytes,
        "open_seconds": harness.median(one["seconds"] for one in opens),
        "open_first_seconds": opens[0]["seconds"],
        "open_store_seconds": harness.median(one["store_seconds"] for one in opens),
        "open_load_seconds": harness.median(one["load_seconds"] for one in opens),
        "open_peak_mib": max(one["peak_kib"] for one in opens) / 1024,
    }


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1,10,100", metavar="LIST", help="millions of items (default: 1,10,100)")
    flags = parser.parse_args()
    sizes = [(int(float(size) * 1e6), FULL_SIZES.get(float(size), 3)) for size in flags.sizes.split(",")]
    if flags.tiny:
        sizes = [(20_000, 1)]

    results = []
    with harness.work_folder(flags) as work:
        for items, rounds in sizes:
            results.append(measure(flags, work, items, rounds))

    harness.print_table(
        "Accepting lines of 60 bytes, warm page cache; zstd -1 -T1 on the same file",
        ["items", "rounds", "list packs", "zstd MB/s", "accept MB/s", "accept / zstd", "seconds", "items/s", "peak MiB"],
        [[f"{r['items']:,}", r["rounds"], f"{r['compressed_ratio']:.2f}:1", f"{r['zstd_bytes_per_second'] / 1e6:.0f}",
          f"{r['accept_bytes_per_second'] / 1e6:.0f}", f"{r['accept_to_zstd']:.2f}", f"{r['accept_seconds']:.2f}",
          f"{r['items'] / r['accept_seconds']:,.0f}", f"{r['accept_peak_mib']:.0f}"] for r in results])
    harness.print_table(
        "Opening the half-finished job, warm page cache, median of 3",
        ["items", "attempts", "ledger GB", "open store s", "load s", "to first lease s", "the first time s", "peak MiB"],
        [[f"{r['items']:,}", f"{r['succeeded']:,}", f"{r['ledger_bytes'] / 1e9:.2f}", f"{r['open_store_seconds']:.3f}",
          f"{r['open_load_seconds']:.3f}", f"{r['open_seconds']:.3f}", f"{r['open_first_seconds']:.3f}",
          f"{r['open_peak_mib']:.0f}"] for r in results])

    targets = harness.Targets()
    for r in results:
        millions = f"{r['items'] / 1e6:g} million items"
        targets.at_least(f"{millions}: accept / zstd -1", r["accept_to_zstd"], 0.25)
        targets.below(f"{millions}: MiB to accept", r["accept_peak_mib"], 128)
        if r["items"] >= 100_000_000:
            targets.below(f"{millions}: seconds to open", max(r["open_seconds"], r["open_first_seconds"]), 3)
            targets.below(f"{millions}: MiB to open", r["open_peak_mib"], 256)
    return harness.finish(flags, "manifest", {"results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
