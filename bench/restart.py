#!/usr/bin/python3
"""How soon a server is ready again that was killed -9 in full work, over a million items that have ended and as many that have not.

Workers on 64 connections take and finish items until the ledger has a million attempts; then the server is killed while they go
on, and started again: from the start of the process to its first `ready`.
"""

import http.client
import signal
import subprocess
import sys
import time

import harness
import served

TARGET_SECONDS = 2


def ready(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def killed_and_started(flags, work, items):
    with harness.fresh_folder(work / "server") as data:
        with served.serve(flags, data) as server:
            server.submit("--name", "job", "--range", f"1-{2 * items}", "--", "true")
            load = subprocess.Popen([flags.build / "bench/lease_ack_load", "127.0.0.1", str(server.port), server.key, "64", "100", "600"],
                                    stdout=subprocess.DEVNULL)
            asked = server.connection()
            while server.ask(asked, "GET", "/api/v1/jobs/job")["counts"]["succeeded"] < items:
                time.sleep(0.05)
        load.kill()
        load.wait()
        begun = time.monotonic()
        again = subprocess.Popen([server.drover, "server", "--data", data, "--listen", f"127.0.0.1:{server.port}"], stderr=subprocess.DEVNULL)
        while not ready(server.port):
            time.sleep(0.002)
        seconds = time.monotonic() - begun
        ended = server.ask(server.connection(), "GET", "/api/v1/jobs/job")["counts"]["succeeded"]
        again.send_signal(signal.SIGKILL)
        again.wait()
    return {"seconds": seconds, "succeeded": ended, "items": 2 * items}


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 3")
    flags = parser.parse_args()
    items = 2_000 if flags.tiny else 1_000_000
    results = []
    with harness.work_folder(flags) as work:
        for number in range(flags.rounds or (1 if flags.tiny else 3)):
            harness.progress(f"round {number + 1}")
            results.append(killed_and_started(flags, work, items))
    harness.print_table("from the start of a killed server to its being ready", ["items", "of them ended", "seconds"],
                        [[f"{r['items']:,}", f"{r['succeeded']:,}", f"{r['seconds']:.2f}"] for r in results])
    targets = harness.Targets()
    if not flags.tiny:
        targets.below("seconds, the slowest", max(r["seconds"] for r in results), TARGET_SECONDS)
    return harness.finish(flags, "restart", {"results": results}, targets)


if __name__ == "__main__":
    sys.exit(main())
