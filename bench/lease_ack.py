#!/usr/bin/python3
"""Durable lease and ack of empty items: a real server over HTTP, the load generator beside it on the same cores.

Each connection is a worker that takes items, and reports them done with its next poll. Beside it, in the same run: what the
same store commits for ended items without HTTP (bench/store, batches of 1,000), and other queues from Debian's packages, each
with as many connections that take as many items at a time. What each of them promises when it has answered differs:

  drover            lease and ack are durable (synchronous=FULL)
  PostgreSQL        the ack is durable (synchronous_commit=on, fsync=on); a lease is a row lock of an open transaction. In one
                    queue, and in 64 of them with a worker for each. Not with 1,000 connections: each is a process
  Redis             lease and ack are durable (streams; appendonly yes, appendfsync always)
  NATS              acks are sent and not confirmed, as most people use it
  NATS, confirmed   acks are confirmed, and on the disk after the server's next sync: minutes
  NATS, sync always the same with sync_interval: always, where the installed version can (2.10 or later)

Drover's load generator is in C++, that of the others in Go with the clients that people use (bench/peers), which need more of the
two cores; so the CPU that the server alone spends on an item is shown too.
"""

import os
import sys

import harness
import peer_servers
import served

CONNECTIONS = [1, 64, 1000]
ITEMS = [1, 10, 100]
JUDGED = (64, 100)
DROVER = "drover"
# A process for each connection: who knows it puts a pool in front rather than open a thousand.
MOST_CONNECTIONS = {"PostgreSQL": 64, "PostgreSQL, sharded": 64}


def shapes(flags):
    if flags.tiny:
        return [(64, 10), JUDGED]
    return [(connections, items) for connections in CONNECTIONS for items in ITEMS]


def all_rounds(flags):
    """The judged shape is measured three times."""
    return shapes(flags) + ([] if flags.tiny else [JUDGED, JUDGED])


def one_result(contender, shape, seconds, items, steps, cpu, peak):
    return {"contender": contender, "connections": shape[0], "items_a_poll": shape[1], "items_per_second": items / seconds,
            "polls_per_second": steps / seconds, "server_cpu_us_per_item": cpu * 1e6 / max(items, 1), "server_peak_mib": peak}


def measure_drover(flags, work, seconds, some_shapes):
    for shape in some_shapes:
        harness.progress(f"{DROVER}: {shape[0]} connections, {shape[1]} items a poll")
        with harness.fresh_folder(work / "server") as data, served.serve(flags, data) as server:
            server.submit("--range", "1-1000000000", "--", "true")
            one, cpu = harness.measured_with([flags.build / "bench/lease_ack_load", "127.0.0.1", server.port, server.key, *shape, seconds],
                                             server.cpu_seconds)
            yield one_result(DROVER, shape, one["seconds"], one["items"], one["polls"], cpu, server.peak_mib())


def measure_peer(flags, load, process, address, contender, kind, seconds):
    for shape in all_rounds(flags):
        if shape[0] > MOST_CONNECTIONS.get(contender, shape[0]):
            continue
        harness.progress(f"{contender}: {shape[0]} connections, {shape[1]} items a fetch")
        one, cpu = harness.measured_with([load, kind, address, "take", *shape, seconds], lambda: served.cpu_seconds(process.pid))
        if one["ran_dry"]:
            harness.progress(f"{contender}: took all of its items in {one['seconds']:.1f} s; counted so far")
        yield one_result(contender, shape, one["seconds"] + one["settling_seconds"], one["items"], one["steps"], cpu, None)


def fill(load, kind, address, items):
    harness.progress(f"{kind}: {items:,} items")
    harness.measured([load, kind, address, "fill", items])


def measure_databases(flags, work, seconds, load, items):
    with harness.fresh_folder(work / "peer") as folder, peer_servers.postgres(folder) as (process, address):
        fill(load, "postgres", address, items)
        yield from measure_peer(flags, load, process, address, "PostgreSQL", "postgres", seconds)
        yield from measure_peer(flags, load, process, address, "PostgreSQL, sharded", "postgres-sharded", seconds)
    with harness.fresh_folder(work / "peer") as folder, peer_servers.redis(folder) as (process, address):
        fill(load, "redis", address, items)
        yield from measure_peer(flags, load, process, address, "Redis", "redis", seconds)


def measure_nats(flags, work, seconds, load, items):
    with harness.fresh_folder(work / "peer") as folder:
        with peer_servers.nats(folder) as (process, address):
            fill(load, "nats", address, items)
            yield from measure_peer(flags, load, process, address, "NATS", "nats", seconds)
            yield from measure_peer(flags, load, process, address, "NATS, confirmed", "nats-confirmed", seconds)
        if peer_servers.nats_can_sync_always(folder):
            with peer_servers.nats(folder, always=True) as (process, address):
                yield from measure_peer(flags, load, process, address, "NATS, sync always", "nats-confirmed", seconds)


def measure_all(flags, work, seconds, with_peers):
    """Drover's judged shape once more before NATS and once after, so that a machine which changes its pace favours nobody."""
    judged = [] if flags.tiny else [JUDGED]
    results = list(measure_drover(flags, work, seconds, shapes(flags)))
    if with_peers:
        load, items = peer_servers.build_load(flags), 20_000 if flags.tiny else int(250_000 * seconds)
        results += measure_databases(flags, work, seconds, load, items)
    results += measure_drover(flags, work, seconds, judged)
    if with_peers:
        results += measure_nats(flags, work, seconds, load, items)
    results += measure_drover(flags, work, seconds, judged)
    return results


def medians(results):
    """One row for each contender and shape."""
    groups = {}
    for one in results:
        groups.setdefault((one["contender"], one["connections"], one["items_a_poll"]), []).append(one)
    numbers = ["items_per_second", "polls_per_second", "server_cpu_us_per_item"]
    return [{**group[0], **{name: harness.median(one[name] for one in group) for name in numbers}, "rounds": len(group)}
            for group in groups.values()]


def rate_of(results, contender, shape):
    return next((one["items_per_second"] for one in results
                 if (one["contender"], one["connections"], one["items_a_poll"]) == (contender, *shape)), None)


def versions():
    return {"nats": peer_servers.version([peer_servers.nats_program(), "--version"]),
            "postgres": peer_servers.version([peer_servers.postgres_folder() / "postgres", "--version"]),
            "redis": peer_servers.version([peer_servers.program("redis-server"), "--version"])}


def print_results(flags, results, without):
    cores = len(os.sched_getaffinity(0))
    ours = [one for one in results if one["contender"] == DROVER]
    harness.print_table(f"durable lease + ack on {cores} cores, load generator included",
                        ["connections", "items a poll", "items/s", "polls/s", "server's CPU µs/item", "server's peak MiB"],
                        [[f"{r['connections']:,}", r["items_a_poll"], f"{r['items_per_second']:,.0f}", f"{r['polls_per_second']:,.0f}",
                          f"{r['server_cpu_us_per_item']:.1f}", f"{r['server_peak_mib']:.0f}"] for r in ours])
    print(f"\nthe same commits without HTTP, batches of 1,000: {without:,.0f} items/s")
    contenders = list(dict.fromkeys(one["contender"] for one in results))
    if len(contenders) == 1:
        return
    for title, cell in {
        "items/s": lambda one, _: f"{one['items_per_second']:,.0f}",
        "drover / peer, items/s": lambda one, drover: f"{drover / max(one['items_per_second'], 1):.2f}",
        "CPU µs of the server alone, an item": lambda one, _: f"{one['server_cpu_us_per_item']:.1f}",
    }.items():
        rows = []
        for contender in contenders:
            by_shape = {(r["connections"], r["items_a_poll"]): r for r in results if r["contender"] == contender}
            rows.append([contender] + [cell(by_shape[shape], rate_of(results, DROVER, shape)) if shape in by_shape else "–"
                                       for shape in shapes(flags)])
        harness.print_table(f"{title}, connections × items at a time", ["", *(f"{c:,} × {i}" for c, i in shapes(flags))], rows)


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each shape; default: 2")
    parser.add_argument("--peers", choices=["yes", "no"], help="whether other queues are measured too; default: yes, but not with --tiny")
    flags = parser.parse_args()
    seconds = flags.seconds or (0.2 if flags.tiny else 2)
    with_peers = flags.peers == "yes" if flags.peers else not flags.tiny
    if with_peers and (missing := peer_servers.missing("nats-server", "postgresql", "redis-server", "golang-go")):
        sys.exit(f"bench: {', '.join(missing)} missing: ./tools/setup bench installs what is needed (or leave them out: --peers no)")
    served.allow_files(8192)
    with harness.work_folder(flags) as work:
        results = measure_all(flags, work, seconds, with_peers)
        count = 2_000 if flags.tiny else 1_000_000
        with harness.fresh_folder(work / "store") as folder:
            store = harness.measured([flags.build / "bench/store_bench", folder, count, 1_000])
    without = count / store["commit_seconds"]
    results = medians(results)
    print_results(flags, results, without)
    targets = harness.Targets()
    full = rate_of(results, DROVER, JUDGED)
    targets.at_least("items/s at 64 connections, 100 a poll", full, 200_000)
    targets.at_least("over HTTP / the same commits without", full / without, 0.35)
    figures = {"seconds": seconds, "results": results, "without_http": without}
    if with_peers:
        targets.at_least("drover / NATS at 64 connections, 100 a poll", full / rate_of(results, "NATS", JUDGED), 2.5)
        figures["versions"] = versions()
        print("\n" + "\n".join(figures["versions"].values()))
    return harness.finish(flags, "lease_ack", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
