#!/usr/bin/python3
"""A long list over HTTP: from its first byte to a durable job, and how much memory the server takes for it.

Lines are 60 bytes, from the page cache. The list is a body of POST /api/v1/manifests, then comes POST /api/v1/jobs, over one
connection; beside it `drover submit --items`, from its start to its end. Each time a fresh server; its growth is the peak of
what is resident over what was before.
"""

import sys
import time

import harness
import served

LINE_BYTES = 60


def over_http(server, path, items):
    connection = server.connection()
    with open(path, "rb") as body:
        manifest = server.ask(connection, "POST", "/api/v1/manifests", body)
    if manifest["items"] != items:
        sys.exit(f"bench: {manifest['items']} items were taken of {items}")
    return server.ask(connection, "POST", "/api/v1/jobs", {"name": "bench", "command": ["true", "{}"], "manifest": manifest["manifest"]})


def with_the_cli(server, path, _):
    server.submit("--name", "bench", "--items", path, "--", "true", "{}")


WAYS = {"HTTP": over_http, "drover submit": with_the_cli}


def measure(flags, work, path, items, way):
    with harness.fresh_folder(work / "server") as data, served.serve(flags, data) as server:
        connection = server.connection()
        server.ask(connection, "GET", "/api/v1/jobs")
        connection.close()  # a server closes what idles, and the list takes its time
        before = server.resident_mib()
        server.forget_peak()
        start = time.perf_counter()
        WAYS[way](server, path, items)
        seconds = time.perf_counter() - start
        grown = server.peak_mib() - before
        job = server.ask(server.connection(), "GET", "/api/v1/jobs/bench")
        if job["total"] != items:
            sys.exit(f"bench: the job has {job['total']} items, not {items}")
        return {"way": way, "seconds": seconds, "grown_mib": grown, "stays_mib": server.resident_mib() - before}


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 5")
    flags = parser.parse_args()
    items, rounds = (20_000, 1) if flags.tiny else (1_000_000, 5)
    rounds = flags.rounds or rounds
    with harness.work_folder(flags) as work:
        path = work / "list"
        harness.measured([flags.build / "bench/manifest_bench", "list", path, items])
        ratio = harness.compressed_ratio(path)
        all_rounds = []
        for number in range(rounds):
            harness.progress(f"round {number + 1} of {rounds}")
            all_rounds += [measure(flags, work, path, items, way) for way in WAYS]
    results = []
    for way in WAYS:
        own = [one for one in all_rounds if one["way"] == way]
        results.append({"way": way, "seconds": harness.median(one["seconds"] for one in own), "grown_mib": max(one["grown_mib"] for one in own),
                        "stays_mib": max(one["stays_mib"] for one in own)})
    harness.print_table(f"submitting {items:,} lines of {LINE_BYTES} bytes ({ratio:.2f}:1 by zstd -1), median of {rounds}",
                        ["", "seconds", "items/s", "MB/s", "server grows MiB, at most", "of which it keeps"],
                        [[r["way"], f"{r['seconds']:.2f}", f"{items / r['seconds']:,.0f}", f"{items * LINE_BYTES / r['seconds'] / 1e6:.0f}",
                          f"{r['grown_mib']:.1f}", f"{r['stays_mib']:.1f}"] for r in results])
    targets = harness.Targets()
    targets.below(f"seconds for {items:,} lines over HTTP", results[0]["seconds"], 3)
    targets.below("MiB that the server grows by", results[0]["grown_mib"], 64)
    targets.below("texts compress, to 1", ratio, 5)
    return harness.finish(flags, "submit", {"items": items, "rounds": rounds, "ratio_of_zstd": ratio, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
