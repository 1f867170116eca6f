#!/usr/bin/python3
"""Logs: how fast they are searched, and how fast they are captured.

Search: a run of many items that print log-like lines, 1 GiB in all, searched with `drover logs --grep`, against
`zstdcat | grep` over the same bytes in one file and `grep -r` over a file per item; each on one core, and drover's also on
all. Capture: one item that prints 1 GiB as fast as it can, against `cat > file` of the same bytes, with the limit lifted
and with the default one. All of it from the page cache.
"""

import os
import shutil
import subprocess
import sys

import harness

PATTERN = "ERROR needle of item [0-9]*7$"
ONE_CORE = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


# Whoever starts a process passes its own peak of memory on to it, so somebody small has to start those that are measured.
MEASURE = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:])
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def timed(command, **options):
    """Seconds, peak memory in MiB of the largest process of it, and what it printed."""
    ended = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=harness.environment(), **options)
    if ended.returncode != 0:
        sys.exit(f"bench: {command} ended with {ended.returncode}: {ended.stderr.decode()}")
    seconds, peak_kib = ended.stderr.split()[-2:]
    return float(seconds), int(peak_kib) / 1024, ended.stdout


def median_of(rounds, contenders):
    """{name: (seconds, MiB, printed)}, medians over alternating rounds."""
    seen = {name: [] for name in contenders}
    for number in range(rounds):
        harness.progress(f"round {number + 1} of {rounds}")
        for name, run in contenders.items():
            seen[name].append(run())
    return {name: (harness.median(one[0] for one in all), max(one[1] for one in all), all[0][2]) for name, all in seen.items()}


def search(flags, work, items, item_bytes, rounds):
    drover, item = flags.build / "bin/drover", flags.build / "bench/item_log"
    files = work / "files"
    subprocess.run([drover, "run", "--quiet", "--data", work / "data", "--name", "bench", "--range", f"0-{items - 1}", "--out", files,
                    "--", item, "{}", str(item_bytes)], check=True)
    for path in files.glob("*.err"):
        path.unlink()
    with open(work / "all", "wb") as whole:
        for number in range(items):
            whole.write((files / f"{number}.out").read_bytes())
    bytes_in_all = (work / "all").stat().st_size
    subprocess.run(["zstd", "-q", "-1", "--rm", work / "all", "-o", work / "all.zst"], check=True)
    packed = (work / "all.zst").stat().st_size
    in_run = sum(1 for _ in (work / "data/runs/bench").rglob("*"))
    logs = [drover, "logs", "bench", "--data", work / "data", "--grep", PATTERN]
    results = median_of(rounds, {
        "drover logs --grep, one core": lambda: timed([*ONE_CORE, *logs]),
        "drover logs --grep, all cores": lambda: timed(logs),
        "zstdcat | grep, one core": lambda: timed([*ONE_CORE, "sh", "-c", f"zstdcat all.zst | grep -aE '{PATTERN}'"], cwd=work),
        "grep -r, one core": lambda: timed([*ONE_CORE, "grep", "-raE", PATTERN, "files"], cwd=work),
    })
    counts = {name: len(one[2].splitlines()) for name, one in results.items()}
    if len(set(counts.values())) != 1:
        sys.exit(f"bench: not everybody found the same: {counts}")
    mib = bytes_in_all / 2**20
    harness.print_table(f"search of {mib:,.0f} MiB in {items:,} items ({bytes_in_all / packed:.2f}:1 by zstd -1), median of {rounds}",
                        ["contender", "seconds", "MiB/s", "peak MiB"],
                        [[name, f"{one[0]:.2f}", f"{mib / one[0]:,.0f}", f"{one[1]:.0f}"] for name, one in results.items()])
    return {"bytes": bytes_in_all, "items": items, "ratio_of_zstd": bytes_in_all / packed, "files_in_run": in_run,
            "seconds": {name: one[0] for name, one in results.items()}, "peak_mib": {name: one[1] for name, one in results.items()}}


def capture(flags, work, size, rounds):
    drover, item = flags.build / "bin/drover", flags.build / "bench/item_log"
    with open(work / "lines", "wb") as lines:
        subprocess.run([item, "1", str(size)], stdout=lines, check=True)

    on_disk = {}

    def run_drover(name, *limit):
        once = timed([drover, "run", "--quiet", "--data", work / "captured", "--name", "capture", *limit, "--", "cat", ":::", work / "lines"])
        on_disk[name] = sum(file.stat().st_size for file in (work / "captured").rglob("logs/*"))
        shutil.rmtree(work / "captured")
        return once

    def run_cat():
        once = timed(["sh", "-c", "cat lines > copy"], cwd=work)
        on_disk["cat > file"] = (work / "copy").stat().st_size
        (work / "copy").unlink()
        return once

    results = median_of(rounds, {
        "cat > file": run_cat,
        "drover run, no limit": lambda: run_drover("drover run, no limit", "--log-limit", "0"),
        "drover run, default limit": lambda: run_drover("drover run, default limit"),
    })
    mib = (work / "lines").stat().st_size / 2**20
    harness.print_table(f"capture of {mib:,.0f} MiB from one item, median of {rounds}",
                        ["contender", "seconds", "MiB/s", "peak MiB", "MiB on disk"],
                        [[name, f"{one[0]:.2f}", f"{mib / one[0]:,.0f}", f"{one[1]:.0f}", f"{on_disk[name] / 2**20:,.0f}"]
                         for name, one in results.items()])
    return {"bytes_on_disk": on_disk, "bytes": (work / "lines").stat().st_size, "seconds": {name: one[0] for name, one in results.items()},
            "peak_mib": {name: one[1] for name, one in results.items()}}


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 5")
    flags = parser.parse_args()
    rounds = flags.rounds or (1 if flags.tiny else 5)
    items, item_bytes = (200, 10_000) if flags.tiny else (100_000, 10_700)
    with harness.work_folder(flags) as work:
        captured = capture(flags, work, 4 << 20 if flags.tiny else 1 << 30, rounds)
        found = search(flags, work, items, item_bytes, rounds)

    targets = harness.Targets()
    cat = captured["seconds"]["cat > file"]
    targets.at_least("capture without limit / cat > file", cat / captured["seconds"]["drover run, no limit"], 0.2)
    targets.at_least("capture with the default limit / cat > file", cat / captured["seconds"]["drover run, default limit"], 0.6)
    targets.at_least("search / zstdcat | grep, one core each",
                     found["seconds"]["zstdcat | grep, one core"] / found["seconds"]["drover logs --grep, one core"], 0.5)
    targets.below("peak MiB of a search", max(found["peak_mib"][name] for name in found["peak_mib"] if name.startswith("drover")), 128)
    targets.below("files that a run leaves", found["files_in_run"], 500)
    targets.below("texts compress, to 1", found["ratio_of_zstd"], 5)
    return harness.finish(flags, "logs", {"rounds": rounds, "search": found, "capture": captured}, targets)


if __name__ == "__main__":
    sys.exit(main())
