"""What the benchmarks share: their options, a folder on a real disk, the table, the targets."""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
IN_MEMORY = {"tmpfs", "ramfs"}


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tiny", action="store_true", help="a few seconds, only to see that it works; no targets")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--build", metavar="DIR", default=REPOSITORY / "build", type=lambda d: pathlib.Path(d).resolve(),
                        help="where drover was built (default: build)")
    parser.add_argument("--dir", metavar="DIR", help="where to work; must be a disk (default: the build folder)")
    return parser


@contextlib.contextmanager
def work_folder(flags):
    """A fresh folder on disk, removed at the end."""
    parent = pathlib.Path(flags.dir or flags.build).resolve()
    kind = subprocess.run(["stat", "-f", "-c", "%T", parent], capture_output=True, text=True, check=True).stdout.strip()
    if kind in IN_MEMORY and not flags.tiny:
        sys.exit(f"bench: {parent} is in memory ({kind}): durable would mean nothing; give --dir on a disk")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit, so that what is below still happens
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-work-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def fresh_folder(path):
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def environment(**more):
    """Ours, without what a make above us would tell a make below. In the C locale: given an argument, /bin/true loads any
    other, which doubles its work."""
    ours = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DROVER_DATA")}
    return ours | {"LC_ALL": "C"} | more


def measured(command):
    """Runs a program that prints one line of JSON."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(str(word) for word in command)} ended with {done.returncode}")
    return json.loads(done.stdout)


def measured_with(command, sample):
    """Runs a program that prints one line of JSON when the measured time begins and one when it ends; its standard input ends only
    then. Gives the second line, and by how much the sample grew in between."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        begun = process.stdout.readline()
        before = sample()
        ended = process.stdout.readline()
        grew = sample() - before
        process.stdin.close()
    if process.returncode != 0 or not begun or not ended:
        sys.exit(f"bench: {command[0]} ended with {process.returncode}")
    return json.loads(ended), grew


def compressed_ratio(path):
    """How well zstd -1 compresses a file, to 1."""
    done = subprocess.Popen(["zstd", "-1", "-T1", "-q", "-c", path], stdout=subprocess.PIPE)
    packed = sum(len(part) for part in iter(lambda: done.stdout.read(1 << 20), b""))
    if done.wait() != 0:
        sys.exit("bench: zstd failed")
    return os.path.getsize(path) / packed


def progress(text):
    print(text, file=sys.stderr, flush=True)


def median(values):
    return statistics.median(list(values))


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def print_table(title, header, rows):
    """The first column is text, the others are figures."""
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        first = row[0].ljust(widths[0])
        print("  " + "   ".join([first] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip())


class Targets:
    """What must hold at full size."""

    def __init__(self):
        self.results = []

    def at_least(self, name, value, bound):
        self.results.append({"target": f"{name} at least {bound:g}", "value": round(value, 4), "met": value >= bound})

    def below(self, name, value, bound):
        self.results.append({"target": f"{name} below {bound:g}", "value": round(value, 4), "met": value < bound})

    def print(self):
        print("\nTargets")
        for one in self.results:
            print(f"  {'met   ' if one['met'] else 'MISSED'} {one['target']}: {one['value']:.3g}")

    def missed(self):
        return [one for one in self.results if not one["met"]]


def finish(flags, name, figures, targets):
    """Prints the targets, writes the JSON, and gives the exit status."""
    judged = Targets() if flags.tiny else targets
    if judged.results:
        judged.print()
    if flags.json:
        machine = {"arch": platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}
        result = {"benchmark": name, "tiny": flags.tiny, "machine": machine, **figures, "targets": judged.results}
        pathlib.Path(flags.json).write_text(json.dumps(result) + "\n")
    for one in judged.missed():
        print(f"bench/{name}: missed: {one['target']}, measured {one['value']:.3g}", file=sys.stderr)
    return 1 if judged.missed() else 0
