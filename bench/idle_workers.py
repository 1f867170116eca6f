#!/usr/bin/python3
"""What workers with nothing to do cost a server: memory, and CPU over two rounds of their polls.

Each worker is a connection with a parked poll, which the server answers after 20 seconds and the worker sends again. Plain HTTP,
and the same with TLS.
"""

import sys

import harness
import served

# A server speaks TLS beyond its own machine. This is ::1, which nobody else reaches, in a spelling that it does not know as such.
TLS_HOST = "0:0:0:0:0:0:0:1"
ANSWERED_AFTER_SECONDS = 20


def measure(flags, work, workers, seconds, tls):
    harness.progress(f"{workers:,} workers, {'TLS' if tls else 'plain HTTP'}")
    host, listen = (TLS_HOST, f"[{TLS_HOST}]:0") if tls else ("127.0.0.1", "127.0.0.1:0")
    with harness.fresh_folder(work / "server") as data, served.serve(flags, data, listen=listen) as server:
        if server.address.startswith("https://") != tls:
            sys.exit(f"bench: the server listens on {server.address}")
        empty = server.resident_mib()
        authority = [data / "server/ca.pem"] if tls else []
        command = [flags.build / "bench/idle_workers_load", host, server.port, server.key, workers, seconds, *authority]
        resident = []

        def sample():
            resident.append(server.resident_mib())
            return server.cpu_seconds()

        one, cpu = harness.measured_with(command, sample)
        return {"tls": tls, "workers": workers, "empty_mib": empty, "resident_mib": max(resident), "peak_mib": server.peak_mib(),
                "kib_per_worker": (max(resident) - empty) * 1024 / workers, "polls_per_second": one["polls"] / one["seconds"],
                "cpu_share": cpu / one["seconds"], "cpu_us_per_poll": cpu * 1e6 / max(one["polls"], 1)}


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="default: 10,000")
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="how long they wait; default: 40")
    flags = parser.parse_args()
    workers = flags.workers or (200 if flags.tiny else 10_000)
    seconds = flags.seconds or (1 if flags.tiny else 2 * ANSWERED_AFTER_SECONDS)
    served.allow_files(workers + 1000)
    with harness.work_folder(flags) as work:
        results = [measure(flags, work, workers, seconds, tls) for tls in (False, True)]
    harness.print_table(f"{workers:,} idle workers over {seconds:g} s",
                        ["", "resident MiB", "peak MiB", "KiB a worker", "% of a core", "polls/s", "CPU µs a poll"],
                        [["TLS" if r["tls"] else "plain HTTP", f"{r['resident_mib']:.0f}", f"{r['peak_mib']:.0f}", f"{r['kib_per_worker']:.1f}",
                          f"{r['cpu_share'] * 100:.1f}", f"{r['polls_per_second']:.0f}", f"{r['cpu_us_per_poll']:.0f}"] for r in results])
    targets = harness.Targets()
    targets.below("MiB resident, plain HTTP", results[0]["resident_mib"], 300)
    targets.below("% of a core, plain HTTP", results[0]["cpu_share"] * 100, 5)
    return harness.finish(flags, "idle_workers", {"seconds": seconds, "results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
