#!/usr/bin/python3
"""SQS over HTTP: messages sent, received and deleted, one and ten at a time, and how soon, in how little memory.

64 keep-alive connections, bodies of 1 KiB, JSON 1.0, every request signed. First all connections send, then all receive what is there,
then all delete it; then each of them sends, receives and deletes in turn, which is the whole cycle. One load generator, on the same
cores as the server, for

  bare loop    one thread that checks nothing, and commits the same rows as durably, once for all requests of a loop turn: the limit
  drover       every answer is durable (synchronous=FULL)
  ElasticMQ    in memory

and beside them, with a load generator in Go and the protocol of its own,

  NATS, confirmed     a work queue in files: publish, fetch and acknowledge, each confirmed; on the disk after the server's next sync
  NATS, sync always   the same with sync_interval: always, where the installed version can (2.10 or later)

Then, of drover alone: how long after a send a receive that waits is answered; memory and start of a server with a million messages;
and how long it takes to purge and to delete a queue.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import aws_requests
import elasticmq
import harness
import peer_servers
import served

CONNECTIONS = 64
BATCHES = [1, 10]
PHASES = ["send", "receive", "delete", "cycle"]
BARE, DROVER, ELASTICMQ, NATS, NATS_SYNCED = "bare loop", "drover", "ElasticMQ", "NATS, confirmed", "NATS, sync always"
# SQS lets no queue have more than 120,000 messages in flight.
MOST_IN_FLIGHT = 100_000
ANY_KEY = "key.secret"  # for servers that do not look
PACKAGES = ["nats-server", "golang-go", "default-jre-headless"]


class Queues:
    """A connection for what is not measured by a load generator."""

    def __init__(self, port, key):
        self.port, self.key, self.channel = port, key, aws_requests.Channel(port)

    def ask(self, operation, value):
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": f"AmazonSQS.{operation}"}
        request = aws_requests.signed(self.key, f"127.0.0.1:{self.port}", "sqs", "/", headers, json.dumps(value).encode())
        return json.loads(self.channel.ask(request))

    def create(self, name):
        """Its URL. Messages stay in flight for as long as anything here takes."""
        return self.ask("CreateQueue", {"QueueName": name, "Attributes": {"VisibilityTimeout": "43200"}})["QueueUrl"]

    def count(self, url):
        found = self.ask("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]})
        return int(found["Attributes"]["ApproximateNumberOfMessages"])


def phases_of(command, cpu_seconds):
    """Runs a program that prints a line when each phase begins and one when it ends: {phase: figures}, with the server's CPU."""
    phases = {}
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        for line in map(json.loads, process.stdout):
            if "begins" in line:
                before = cpu_seconds()
            else:
                phases[line["ended"]] = {**line, "server_cpu_seconds": cpu_seconds() - before}
    if process.returncode != 0:
        sys.exit(f"bench: {command[0]} ended with {process.returncode}")
    return phases


def one_result(contender, batch, phase, seconds, messages, requests, cpu):
    return {"contender": contender, "batch": batch, "phase": phase, "messages_per_second": messages / seconds,
            "requests_per_second": requests / seconds, "server_cpu_us_per_message": cpu * 1e6 / max(messages, 1)}


def load(flags, program, port, key, url, *words):
    return [flags.build / "bench" / program, "127.0.0.1", port, key, url, *words]


def measure_phases(flags, contender, batch, port, key, url, pid, seconds):
    harness.progress(f"{contender}: {CONNECTIONS} connections, batches of {batch}")
    phases = phases_of(load(flags, "sqs_load", port, key, url, "phases", CONNECTIONS, batch, seconds, MOST_IN_FLIGHT), lambda: served.cpu_seconds(pid))
    return [one_result(contender, batch, phase, phases[phase]["seconds"], phases[phase]["messages"], phases[phase]["requests"],
                       phases[phase]["server_cpu_seconds"]) for phase in PHASES]


@contextlib.contextmanager
def bare_loop(flags, folder):
    with subprocess.Popen([flags.build / "bench/sqs_bare", folder], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid, json.loads(process.stdout.readline())["port"]
        finally:
            process.kill()


def measure_bare(flags, work, batch, seconds):
    with harness.fresh_folder(work / "bare") as folder, bare_loop(flags, folder) as (pid, port):
        return measure_phases(flags, BARE, batch, port, ANY_KEY, "http://127.0.0.1/123456789012/load", pid, seconds)


def measure_drover(flags, work, batch, seconds):
    with harness.fresh_folder(work / "server") as data, served.serve(flags, data) as server:
        url = Queues(server.port, server.key).create("load")
        return measure_phases(flags, DROVER, batch, server.port, server.key, url, server.process.pid, seconds)


def measure_elasticmq(flags, work, jars, seconds, rounds):
    with harness.fresh_folder(work / "peer") as folder, elasticmq.serve(jars, folder) as (process, port):
        url = Queues(port, ANY_KEY).create("load")
        for batch in BATCHES:  # until its code is compiled
            measure_phases(flags, f"{ELASTICMQ}, warming up", batch, port, ANY_KEY, url, process.pid, 2 * seconds)
        return [one for batch in BATCHES for _ in range(rounds)
                for one in measure_phases(flags, ELASTICMQ, batch, port, ANY_KEY, url, process.pid, seconds)]


def measure_nats(work, program, seconds, rounds):
    results = []
    with harness.fresh_folder(work / "peer") as folder:
        for contender in [NATS] + ([NATS_SYNCED] if peer_servers.nats_can_sync_always(folder) else []):
            with peer_servers.nats(folder, always=contender == NATS_SYNCED) as (process, address):
                for batch in BATCHES * rounds:
                    harness.progress(f"{contender}: {CONNECTIONS} connections, batches of {batch}")
                    one, cpu = harness.measured_with([program, "nats-messages", address, "take", CONNECTIONS, batch, seconds],
                                                     lambda: served.cpu_seconds(process.pid))
                    # A step publishes, fetches and acknowledges.
                    results.append(one_result(contender, batch, "cycle", one["seconds"], one["items"], 3 * one["steps"], cpu))
    return results


def measure_rates(flags, work, seconds, rounds, with_peers):
    """The bare loop and drover take turns, and the peers are in between, so that a machine which changes its pace favours nobody."""
    def pairs(count):
        return [one for _ in range(count) for batch in BATCHES for measure in (measure_bare, measure_drover)
                for one in measure(flags, work, batch, seconds)]

    results = pairs((rounds + 1) // 2)
    if with_peers:
        results += measure_elasticmq(flags, work, elasticmq.fetch(flags), seconds, rounds)
        results += measure_nats(work, peer_servers.build_load(flags), seconds, rounds)
    return medians(results + pairs(rounds // 2))


def medians(results):
    """{(contender, batch, phase): figures}"""
    groups = {}
    for one in results:
        groups.setdefault((one["contender"], one["batch"], one["phase"]), []).append(one)
    numbers = ["messages_per_second", "requests_per_second", "server_cpu_us_per_message"]
    return {key: {**group[0], **{name: harness.median(one[name] for one in group) for name in numbers}, "rounds": len(group)}
            for key, group in groups.items()}


def measure_long_poll(flags, work, rounds):
    harness.progress(f"a receive that waits, {rounds} times")
    with harness.fresh_folder(work / "server") as data, served.serve(flags, data) as server:
        url = Queues(server.port, server.key).create("empty")
        return harness.measured(load(flags, "sqs_long_poll", server.port, server.key, url, rounds))


@contextlib.contextmanager
def started(flags, data):
    """The server, and how long it took to come up."""
    (data / "server/address").unlink(missing_ok=True)  # that of the one that was killed
    began = time.monotonic()
    with served.serve(flags, data) as server:
        queues = Queues(server.port, server.key)
        queues.ask("ListQueues", {})
        yield server, queues, time.monotonic() - began


def fill(flags, server, url, messages):
    harness.progress(f"{messages:,} messages")
    phases_of(load(flags, "sqs_load", server.port, server.key, url, "fill", CONNECTIONS, messages), server.cpu_seconds)


def timed(action):
    began = time.monotonic()
    action()
    return time.monotonic() - began


def measure_waiting(flags, work, messages):
    """A server that is killed and started again: without messages, and with many."""
    with harness.fresh_folder(work / "server") as data:
        with started(flags, data) as (server, queues, _):
            url, other = queues.create("waiting"), queues.create("waiting-too")
        with started(flags, data) as (server, queues, empty_seconds):
            empty_mib = server.resident_mib()
            fill(flags, server, url, messages)
            fill(flags, server, other, messages // 10)
            filled_mib = server.resident_mib()
        with started(flags, data) as (server, queues, start_seconds):
            mib = server.resident_mib()
            if queues.count(url) != messages:
                sys.exit(f"bench: {queues.count(url):,} of {messages:,} messages are there after a restart")
            purge_seconds = timed(lambda: queues.ask("PurgeQueue", {"QueueUrl": url}))
            if queues.count(url) != 0:
                sys.exit("bench: a purged queue has messages")
            delete_seconds = timed(lambda: queues.ask("DeleteQueue", {"QueueUrl": other}))
    return {"messages": messages, "empty_mib": empty_mib, "filled_mib": filled_mib, "mib": mib, "empty_start_seconds": empty_seconds,
            "start_seconds": start_seconds, "purge_seconds": purge_seconds, "delete_queue_messages": messages // 10,
            "delete_queue_seconds": delete_seconds}


def print_rates(rates):
    contenders = list(dict.fromkeys(contender for contender, _, _ in rates))
    header = ["", *PHASES, "cycle: requests/s", "of the bare loop", *(f"CPU µs: {phase}" for phase in PHASES)]
    for batch in BATCHES:
        rows = []
        for contender in contenders:
            by_phase = {phase: rates.get((contender, batch, phase)) for phase in PHASES}
            cycle = by_phase["cycle"]
            rows.append([contender, *(f"{one['messages_per_second']:,.0f}" if one else "–" for one in by_phase.values()),
                         f"{cycle['requests_per_second']:,.0f}",
                         f"{cycle['messages_per_second'] / rates[BARE, batch, 'cycle']['messages_per_second']:.2f}",
                         *(f"{one['server_cpu_us_per_message']:.1f}" if one else "–" for one in by_phase.values())])
        harness.print_table(f"batches of {batch}, {CONNECTIONS} connections on {len(os.sched_getaffinity(0))} cores, load generator included: "
                            "messages/s, and CPU of the server for a message", header, rows)


def print_rest(long_poll, waiting):
    harness.print_table("a receive that waits is answered, ms", ["", "p50", "p99"],
                        [["after the answer to the send", f"{long_poll['p50_ms']:.2f}", f"{long_poll['p99_ms']:.2f}"],
                         ["after the send", f"{long_poll['from_send_p50_ms']:.2f}", f"{long_poll['from_send_p99_ms']:.2f}"]])
    harness.print_table("a server that is started again", ["messages", "MiB", "seconds to start"],
                        [["none", f"{waiting['empty_mib']:.0f}", f"{waiting['empty_start_seconds']:.2f}"],
                         [f"{waiting['messages']:,}", f"{waiting['mib']:.0f}", f"{waiting['start_seconds']:.2f}"]])
    print(f"\nbefore the restart, all of them just sent: {waiting['filled_mib']:.0f} MiB"
          f"\npurge of {waiting['messages']:,} messages: {waiting['purge_seconds'] * 1000:.1f} ms"
          f"\ndelete of a queue with {waiting['delete_queue_messages']:,}: {waiting['delete_queue_seconds'] * 1000:.1f} ms")


def judge(targets, rates, long_poll, waiting, with_peers):
    def cycle(contender, batch):
        return rates[contender, batch, "cycle"]["messages_per_second"]

    for batch in BATCHES:
        targets.at_least(f"cycle in batches of {batch} / the bare loop", cycle(DROVER, batch) / cycle(BARE, batch), 0.4)
    if with_peers:
        targets.at_least("cycle in batches of 10 / ElasticMQ", cycle(DROVER, 10) / cycle(ELASTICMQ, 10), 5)
    targets.below("ms at p50 from the answer to a send until a receive that waits is answered", long_poll["p50_ms"], 5)
    targets.below(f"MiB with {waiting['messages']:,} messages after a restart", waiting["mib"], 64)
    targets.below(f"seconds to start with {waiting['messages']:,} messages", waiting["start_seconds"], 2)


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each send phase and each cycle; default: 3")
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="of each contender; default: 3")
    parser.add_argument("--messages", type=int, default=0, metavar="N", help="that wait in the server that is restarted; default: 1,000,000")
    parser.add_argument("--peers", choices=["yes", "no"], help="whether other queues are measured too; default: yes, but not with --tiny")
    flags = parser.parse_args()
    seconds, rounds = flags.seconds or (0.1 if flags.tiny else 3), flags.rounds or (1 if flags.tiny else 3)
    with_peers = flags.peers == "yes" if flags.peers else not flags.tiny
    if with_peers and (missing := peer_servers.missing(*PACKAGES)):
        sys.exit(f"bench: {', '.join(missing)} missing: ./tools/setup bench installs what is needed (or leave them out: --peers no)")
    with harness.work_folder(flags) as work:
        rates = measure_rates(flags, work, seconds, rounds, with_peers)
        long_poll = measure_long_poll(flags, work, 10 if flags.tiny else 500)
        waiting = measure_waiting(flags, work, flags.messages or (1_000 if flags.tiny else 1_000_000))
    print_rates(rates)
    print_rest(long_poll, waiting)
    figures = {"seconds": seconds, "rates": list(rates.values()), "long_poll": long_poll, "waiting": waiting}
    if with_peers:
        figures["versions"] = [elasticmq.version(), peer_servers.version([peer_servers.nats_program(), "--version"])]
        print("\n" + "\n".join(figures["versions"]))
    targets = harness.Targets()
    judge(targets, rates, long_poll, waiting, with_peers)
    return harness.finish(flags, "sqs", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
