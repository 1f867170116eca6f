"""Messages last: kill -9 of the server at any moment loses none that was acknowledged, and brings back none whose deletion was. And very
many of them cost little."""

import json
import random
import threading
import time

import botocore.exceptions

from aws import Aws
from drover import SOAK, wait_until
from test_server import Server

KILLS = 30 if SOAK else 4
MESSAGES = 200_000 if SOAK else 6_000
MANY = 1_000_000 if SOAK else 30_000
BATCH = 10


class Traffic:
    """Senders and receivers of one standard and one FIFO queue, who try again whatever gets no answer."""

    def __init__(self, server, messages):
        self.server, self.messages = server, messages
        self.lock = threading.Lock()
        self.acknowledged, self.received, self.deleted = set(), set(), set()
        self.order = {}  # of each group of the FIFO queue: the numbers received, without repetitions
        self.wrong, self.sending = [], 4
        sqs = Aws(server).client("sqs")
        # Ten messages whose receiver was killed come back soon.
        self.queues = [sqs.create_queue(QueueName="plain", Attributes={"VisibilityTimeout": "5"})["QueueUrl"],
                       sqs.create_queue(QueueName="ordered.fifo", Attributes={"VisibilityTimeout": "5", "FifoQueue": "true"})["QueueUrl"]]

    def client(self):
        return Aws(self.server).client("sqs")

    def again(self, call, **arguments):
        """Until it is answered."""
        while not self.wrong:
            try:
                return call(**arguments)
            except botocore.exceptions.ClientError as refused:
                self.wrong.append(f"refused: {refused}")
            except (botocore.exceptions.BotoCoreError, OSError):
                time.sleep(0.05)
        raise SystemExit

    def send(self, number):
        sqs, queue = self.client(), self.queues[number % 2]
        is_fifo = queue.endswith(".fifo")
        for first in range(0, self.messages // 4, BATCH):
            names = [f"{number}-{first + i}" for i in range(BATCH)]
            entries = [{"Id": str(i), "MessageBody": json.dumps({"name": name, "padding": "x" * 900})} for i, name in enumerate(names)]
            if is_fifo:
                for i, entry in enumerate(entries):
                    entry |= {"MessageGroupId": f"{number}-{i % 5}", "MessageDeduplicationId": names[i]}
            answer = self.again(sqs.send_message_batch, QueueUrl=queue, Entries=entries)
            if answer.get("Failed"):
                self.wrong.append(f"not sent: {answer['Failed']}")
            with self.lock:
                self.acknowledged.update(names)
        with self.lock:
            self.sending -= 1

    def receive(self, number):
        sqs, queue = self.client(), self.queues[number % 2]
        quiet = 0
        while quiet < 3 or self.sending > 0:
            answer = self.again(sqs.receive_message, QueueUrl=queue, MaxNumberOfMessages=BATCH, WaitTimeSeconds=2)
            messages = answer.get("Messages", [])
            quiet = 0 if messages else quiet + 1
            names = {it["ReceiptHandle"]: json.loads(it["Body"])["name"] for it in messages}
            with self.lock:
                for name in names.values():
                    if name in self.deleted:
                        self.wrong.append(f"message {name} came back after its deletion was acknowledged")
                    if queue.endswith(".fifo") and name not in self.received:
                        sender, at = map(int, name.split("-"))
                        self.order.setdefault((sender, at % BATCH % 5), []).append(at)
                    self.received.add(name)
            if not messages:
                continue
            entries = [{"Id": str(i), "ReceiptHandle": it["ReceiptHandle"]} for i, it in enumerate(messages)]
            answer = self.again(sqs.delete_message_batch, QueueUrl=queue, Entries=entries)
            # A receipt of a FIFO queue whose time has run out while the server was away is refused.
            with self.lock:
                self.deleted.update(names[messages[int(it["Id"])]["ReceiptHandle"]] for it in answer.get("Successful", []) if queue.endswith(".fifo"))

    def run(self, meanwhile):
        threads = [threading.Thread(target=act, args=(number,), daemon=True) for number in range(4) for act in (self.send, self.receive)]
        for thread in threads:
            thread.start()
        meanwhile(lambda: any(thread.is_alive() for thread in threads))
        for thread in threads:
            thread.join(600)
        assert not self.wrong, self.wrong[:5]
        assert not any(thread.is_alive() for thread in threads)


def counts(server, name):
    status, stream = server.ask("GET", f"/api/v1/streams/{name}")
    assert status == 200, stream
    return stream["counts"]


def ledger_bytes(server):
    return sum(it.stat().st_size for it in (server.drover.data / "server").glob("drover.db*"))


def test_kill_9_loses_no_message_and_brings_none_back(drover):
    server = Server(drover)
    traffic = Traffic(server, MESSAGES)

    def kill_now_and_then(busy):
        for _ in range(KILLS):
            time.sleep(random.uniform(0.2, 2.5))
            server.kill()
            server.start()
        wait_until(lambda: not busy(), "all messages to be processed", 900)

    traffic.run(kill_now_and_then)
    assert traffic.received >= traffic.acknowledged, sorted(traffic.acknowledged - traffic.received)[:5]
    assert len(traffic.acknowledged) == MESSAGES // BATCH // 4 * BATCH * 4
    for group, numbers in traffic.order.items():
        assert numbers == sorted(numbers), f"group {group} was received out of order"
    # Nothing is left; what a receiver had in its hands when the server was killed has been processed by another.
    for name in "plain", "ordered.fifo":
        wait_until(lambda: all(counts(server, name)[it] == 0 for it in ("visible", "in_flight", "delayed")), f"{name} to be empty", 30)
    # Their room on the disk is given back.
    most = 48 << 20  # pages that are used again, and the log
    wait_until(lambda: ledger_bytes(server) < most, "the ledger to shrink", 120)


def resident_bytes(server):
    with open(f"/proc/{server.running.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def send_many(server, name, count):
    connection = server.connection()
    lines = b"".join(json.dumps({"body": f"{i:08}" + "x" * 200}).encode() + b"\n" for i in range(500))
    for _ in range(count // 500):
        connection.request("POST", f"/api/v1/streams/{name}/messages", lines, {"Authorization": f"Bearer {server.key}", "Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
    connection.close()


def test_very_many_waiting_messages_cost_little(drover):
    server = Server(drover)
    for name in "many", "other":
        status, said = server.ask("PUT", f"/api/v1/streams/{name}", {})
        assert status in (200, 201), said
    server.stop()
    server.start()
    before = resident_bytes(server)
    send_many(server, "many", MANY)
    assert counts(server, "many")["visible"] == MANY
    server.stop()
    since = time.monotonic()
    server.start()
    started = time.monotonic() - since
    assert counts(server, "many")["visible"] == MANY
    grown = resident_bytes(server) - before
    print(f"{MANY} messages: {grown >> 10} KiB of memory after a start of {started:.2f} s")
    assert grown < 64 << 20
    assert started < 2 or not SOAK
    # A purge, and the deletion of a stream, take no time, and nobody else waits for them either.
    for act in ("POST", "/api/v1/streams/many/purge"), ("DELETE", "/api/v1/streams/many"):
        since = time.monotonic()
        status, said = server.ask(*act)
        assert status in (200, 204), said
        if act[0] == "POST":
            assert counts(server, "many")["visible"] == 0
        print(f"{act[0]} {act[1]}: {time.monotonic() - since:.3f} s")
        slowest = 0
        for _ in range(50):
            since = time.monotonic()
            send_many(server, "other", 1000)
            slowest = max(slowest, time.monotonic() - since)
        print(f"the slowest of 50 sends of 1,000 messages meanwhile: {slowest:.3f} s")
        if act[0] == "POST":
            send_many(server, "many", MANY // 10)
    status, _ = server.ask("DELETE", "/api/v1/streams/other")
    assert status in (200, 204)
    wait_until(lambda: ledger_bytes(server) < 48 << 20, "the ledger to shrink", 240)
