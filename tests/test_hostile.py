"""Malformed, truncated, oversized and slow requests in numbers: the server neither falls over nor leaks nor answers wrongly."""

import contextlib
import json
import os
import pathlib
import random
import resource
import socket
import ssl
import subprocess

from drover import BINARY, SOAK, wait_until
from test_server import Server, submit, worker

COUNT = 100_000 if SOAK else 5_000
SLOW = 2_000 if SOAK else 100
# A head has ten seconds, a body that has stopped thirty.
PATIENCE_MS = 60_000 if SOAK else 20_000
HOSTILE = pathlib.Path(os.environ.get("DROVER_HOSTILE") or pathlib.Path(BINARY).parents[1] / "tests/hostile/hostile")
LITTLE = 512  # descriptors
MOST_GROWTH_KIB = 16 << 10


class Watched(Server):
    """A server whose log goes to a file: strangers make it talk more than a pipe holds."""

    def __init__(self, drover, *flags, **options):
        self.log = drover.folder / "server.log"
        with open(self.log, "ab") as file:
            super().__init__(drover, *flags, stderr=file, **options)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.running.pid}/fd"))

    def memory_kib(self):
        lines = pathlib.Path(f"/proc/{self.running.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    @property
    def port(self):
        return int(self.listen.rsplit(":", 1)[1])

    def besieged(self, count, slow=0, seed=1, tls=False):
        """What the peers with bad manners saw."""
        words = [HOSTILE, "127.0.0.1", self.port, self.key, "/api/v1/jobs/probe", count, slow, 0, seed, PATIENCE_MS, *(["tls"] if tls else [])]
        done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, timeout=900)
        assert done.returncode == 0, done
        seen = json.loads(done.stdout)
        assert seen["wrong_count"] == 0, seen["wrong"]
        assert seen["requests"] == count
        return seen


def test_bad_requests_in_numbers_hurt_nobody(drover):
    server = Watched(drover)
    first = worker(server)
    submit(server, "probe", "--", "echo", ":::", "a", "b")
    server.ends("probe")
    first.kill()  # a worker keeps as many connections as it happens to need
    seed = random.randrange(1 << 32)
    print("seed", seed)  # shown if it fails
    before = server.besieged(COUNT // 4, seed=seed)  # what is kept for later use is there after this
    descriptors, memory = server.descriptors(), server.memory_kib()

    second = worker(server, name="w2")
    submit(server, "beside", "--range", f"1-{COUNT // 10}", "--", "true")
    seen = server.besieged(COUNT, SLOW, seed + 1)
    assert server.ends("beside")["counts"]["succeeded"] == COUNT // 10
    assert seen["probes"] == COUNT // 100
    assert len(seen["kinds"]) >= 17, seen["kinds"]
    assert {"400", "401", "404", "408", "413", "431", "501", "closed"} <= set(seen["answers"]), seen["answers"]

    assert server.running.alive()
    second.kill()
    wait_until(lambda: server.descriptors() <= descriptors, f"the {descriptors} descriptors there were before")
    assert server.memory_kib() <= memory + MOST_GROWTH_KIB
    assert server.ask("GET", "/api/v1/jobs", key="")[0] == 401  # the next one also tells how many went before it
    said = server.log.read_bytes()
    assert server.key.split(".")[1].encode() not in said
    assert said.count(b"\n") < 25 * (before["seconds"] + seen["seconds"] + 10), "strangers fill the log"
    assert b"more requests refused" in said
    assert server.stop().status == 0


def test_what_is_no_tls_is_refused_by_a_port_that_speaks_it(drover):
    server = Watched(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    server.besieged(COUNT // 10, tls=True)
    descriptors, memory = server.descriptors(), server.memory_kib()
    seen = server.besieged(COUNT // 5, seed=2, tls=True)
    assert seen["answers"]["400"] > 0
    # And what is said badly in private.
    context = ssl.create_default_context(cafile=str(drover.data / "server/ca.pem"))
    dice = random.Random(7)
    good = f"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode()
    for number in range(COUNT // 50):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as peer:
                noisy = bytearray(good)
                noisy[dice.randrange(len(noisy))] = dice.randrange(256)
                peer.sendall(bytes(noisy) if number % 2 else dice.randbytes(100) + b"\r\n\r\n")
                if number % 3 == 0:
                    peer.recv(4096)
    status, jobs = server.ask("GET", "/api/v1/jobs")
    assert (status, jobs) == (200, {"jobs": [], "next": None})
    wait_until(lambda: server.descriptors() <= descriptors, "the descriptors there were before")
    assert server.memory_kib() <= memory + MOST_GROWTH_KIB
    assert server.stop().status == 0


def test_a_port_that_speaks_tls_says_so_to_plain_http(drover):
    server = Watched(drover, listen="0.0.0.0:0")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b"".join(iter(lambda: peer.recv(4096), b""))
    assert said.startswith(b"HTTP/1.1 400 ") and b"https://" in said, said
    wrong = drover("jobs", env={"DROVER_SERVER": f"http://127.0.0.1:{server.port}", "DROVER_KEY": server.key})
    assert wrong.status != 0 and "requires TLS" in wrong.err, wrong


def test_connections_without_end_leave_room_for_what_the_server_needs_itself(drover):
    """Somebody takes every connection there is. Whoever was there before goes on, and the ledger and the logs find the descriptors
    that they need."""
    server = Watched(drover, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LITTLE, LITTLE)))
    worker(server)
    submit(server, "job", "--range", "1-1000", "--", "sh", "-c", "echo a line of {}; sleep 0.01")
    with contextlib.ExitStack() as open_ones:
        for _ in range(2 * LITTLE):
            peer = open_ones.enter_context(socket.socket())
            peer.settimeout(60)
            peer.connect(("127.0.0.1", server.port))
        wait_until(lambda: server.rows("select count(*) from items")[0][0] == 1000, "the job to end", 240)
        assert server.descriptors() < LITTLE - 50
    wait_until(lambda: server.ends("job")["counts"]["succeeded"] == 1000, "the server to be reached again")
    assert server.cli("logs", "job:999").out == "a line of 1000\n"
