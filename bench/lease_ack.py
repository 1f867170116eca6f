#!/usr/bin/python3
"""Durable lease and ack of empty items: a real server over HTTP, the load generator beside it on the same cores.

Each connection is a worker that takes items, and reports them done with its next poll. Beside it stands what the same store
commits for ended items without HTTP (bench/store, batches of 1,000), in the same run.
"""

import json
import os
import signal
import subprocess
import sys
import time

import harness

SHAPES = [(1, 1), (1, 100), (64, 1), (64, 10), (64, 100), (1000, 100)]


def serve(flags, data):
    process = subprocess.Popen([flags.build / "bin/drover", "server", "--data", data, "--listen", "127.0.0.1:0"],
                               stderr=subprocess.DEVNULL)
    address = data / "server/address"
    for _ in range(1000):
        if address.exists() and address.read_text().endswith("\n"):
            return process, address.read_text().strip()
        time.sleep(0.01)
    sys.exit("bench: the server does not come up")


def measure(flags, work, connections, items, seconds):
    with harness.fresh_folder(work / "server") as data:
        server, address = serve(flags, data)
        key = json.loads((data / "server/keys.json").read_text())["keys"][0]
        host, port = address.split("//")[1].split(":")
        subprocess.run([flags.build / "bin/drover", "submit", "--quiet", "--data", data, "--range", "1-1000000000", "--", "true"],
                       check=True)
        one = harness.measured([flags.build / "bench/lease_ack_load", host, port, f"{key['id']}.{key['secret']}", connections, items, seconds])
        status = open(f"/proc/{server.pid}/status").read()
        peak = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
        server.send_signal(signal.SIGKILL)
        server.wait()
    return {"connections": connections, "items_a_poll": items, "items_per_second": one["items"] / one["seconds"],
            "polls_per_second": one["polls"] / one["seconds"], "server_peak_mib": peak}


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each shape; default: 5")
    flags = parser.parse_args()
    seconds = flags.seconds or (0.2 if flags.tiny else 5)
    with harness.work_folder(flags) as work:
        results = []
        for connections, items in SHAPES[3:5] if flags.tiny else SHAPES:
            harness.progress(f"{connections} connections, {items} items a poll")
            results.append(measure(flags, work, connections, items, seconds))
        count = 2_000 if flags.tiny else 1_000_000
        with harness.fresh_folder(work / "store") as folder:
            store = harness.measured([flags.build / "bench/store_bench", folder, count, 1_000])
    without = count / store["commit_seconds"]
    harness.print_table(f"durable lease + ack on {len(os.sched_getaffinity(0))} cores, load generator included",
                        ["connections", "items a poll", "items/s", "polls/s", "server's peak MiB"],
                        [[f"{r['connections']:,}", r["items_a_poll"], f"{r['items_per_second']:,.0f}", f"{r['polls_per_second']:,.0f}",
                          f"{r['server_peak_mib']:.0f}"] for r in results])
    print(f"\nthe same commits without HTTP, batches of 1,000: {without:,.0f} items/s")
    targets = harness.Targets()
    full = next(r for r in results if (r["connections"], r["items_a_poll"]) == (64, 100))
    if not flags.tiny:
        targets.at_least("items/s at 64 connections, 100 a poll", full["items_per_second"], 200_000)
        targets.at_least("over HTTP / the same commits without", full["items_per_second"] / without, 0.35)
    return harness.finish(flags, "lease_ack", {"seconds": seconds, "results": results, "without_http": without}, targets)


if __name__ == "__main__":
    sys.exit(main())
