"""Programs of somebody else on a server's machine: as another user, with a key that may do little, and inside a container. They get
nothing, and others are served meanwhile."""

import json
import os
import pathlib
import resource
import select
import shutil
import socket
import stat
import subprocess
import sys

import images
import pytest

from conftest import NOBODY
from drover import wait_until
from siege import SQL as siege_sql
from siege import Siege
from test_server import Server, submit, worker
from worker_protocol import time_polls

LITTLE = 512  # descriptors

AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

# Takes a port, says when something is sent to it, and prints all of that when its standard input is closed. "late": accepts no sooner.
THIEF = """
import select, socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
late, peers, got, told = sys.argv[3] == "late", [], b"", False
while not told:
    ready, _, _ = select.select([sys.stdin, *peers, *([] if late else [listener])], [], [])
    told = sys.stdin in ready
    while select.select([listener], [], [], 0)[0] and (told or not late):
        peers.append(listener.accept()[0])
    for peer in list(peers):
        if not select.select([peer], [], [], 0.2 if told else 0)[0]:
            continue
        more = peer.recv(65536)
        if more and not got:
            print("got something", flush=True)
        got += more
        if not more:
            peers.remove(peer)
print(got.hex())
"""


class Thief:
    """Another user's process that listens where it should not."""

    def __init__(self, port, how="now", host="127.0.0.1"):
        self.process = subprocess.Popen([*AS_NOBODY, sys.executable, "-c", THIEF, host, str(port), how], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.says("ready")

    def says(self, words):
        assert self.process.stdout.readline() == f"{words}\n"

    def took(self):
        """All that was sent to it."""
        out, _ = self.process.communicate("", timeout=60)
        return bytes.fromhex(out.splitlines()[-1])


def free_port(host="127.0.0.1"):
    with socket.create_server((host, 0)) as one:
        return one.getsockname()[1]


def port_of(server):
    return int(server.address.rsplit(":", 1)[1])


def secret_of(key):
    return key.split(".")[1].encode()


def new_key(server, scope):
    status, key = server.ask("POST", "/api/v1/keys", {"scope": scope, "label": scope})
    assert status == 201, key
    return key["token"]


# --- the admin key

@pytest.mark.parametrize("end", ["killed", "stopped"])
@pytest.mark.parametrize("how", ["now", "late"])
def test_a_program_that_takes_the_port_of_a_server_that_is_down_gets_no_key(drover, end, how):
    server = Server(drover)
    server.kill() if end == "killed" else server.stop()
    thief = Thief(port_of(server), how)
    asked = [drover.start("key", "create", "--scope", "read"),
             drover.start("key", "create", "--scope", "read", env={"DROVER_SERVER": server.address}),
             drover.start("worker", "--name", "w1", env={"DROVER_SERVER": server.address})]
    for one in asked[:2]:
        done = one.done()
        assert done.status != 0, done
        if end == "stopped":
            assert f"belongs to user id {NOBODY}" in done.err, done
    wait_until(lambda: asked[2].says("trying again") or asked[2].says("belongs to user id"), "the worker to try")
    took = thief.took()
    assert secret_of(server.key) not in took and b"Bearer" not in took, took


def test_without_a_socket_the_port_of_the_server_itself_is_trusted(drover):
    """As of a server of an earlier version."""
    server = Server(drover)
    (drover.data / "server/api.sock").unlink()
    made = drover("key", "create", "--scope", "read")
    assert made.status == 0, made
    done = worker(server)
    assert done.alive()


def packets_of(sniffer, port):
    """The TCP bytes to or from that port which were seen until now, in one piece."""
    seen = b""
    while select.select([sniffer], [], [], 0)[0]:
        packet = sniffer.recv(1 << 17)
        ports = packet[(packet[0] & 15) * 4:][:4]
        if port in (int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big")):
            seen += packet[40:]
    return seen


def test_nothing_that_local_clients_and_workers_send_is_on_the_loopback_network(drover):
    server = Server(drover)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as sniffer:
        sniffer.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sniffer.bind(("lo", 0))
        # It would see such a key.
        assert server.ask("GET", "/api/v1/self")[0] == 200
        assert secret_of(server.key) in packets_of(sniffer, port_of(server))

        one = worker(server)
        submit(server, "job", "--range", "1-20", "--", "echo", "a line")
        wait_until(lambda: server.cli("status", "--json", "job").json_lines[0]["state"] == "succeeded", "the job to end")
        assert server.cli("logs", "job:3").out == "a line 4\n"
        assert drover("jobs", "--json").status == 0
        seen = packets_of(sniffer, port_of(server))
        assert b"Authorization" not in seen and secret_of(server.key) not in seen, seen
    keys = server.ask("GET", "/api/v1/keys")[1]["keys"]
    assert [(key["scope"], key["worker"]) for key in keys if key["label"] == "w1"] == [("worker", "w1")]
    # Another start, another key; the former one is void.
    one.kill()
    worker(server)
    again = [key for key in server.ask("GET", "/api/v1/keys")[1]["keys"] if key["worker"] == "w1"]
    assert len(again) == 1 and again[0]["id"] not in [key["id"] for key in keys]


def test_another_user_reaches_neither_the_socket_nor_the_files(any_user, gate):
    server = Server(any_user)
    any_user.data.chmod(0o755)
    socket_path = any_user.data / "server/api.sock"
    assert socket_path.stat().st_mode & 0o777 == 0o600
    worker(server)
    submit(server, "job", "--range", "1-4", "--", "sh", "-c", f"seq 100000; {gate.word}")
    wait_until(lambda: server.job("job")["counts"]["running"] > 0, "an item to run")
    wait_until(lambda: any((any_user.data / "workers/w1").glob("spool/*")), "the spool")
    os.chmod(any_user.data / "server", 0o755)  # as somebody might do by mistake
    attack = f"""
import os, socket
try:
    socket.socket(socket.AF_UNIX).connect({str(socket_path)!r})
    print("connected")
except PermissionError:
    print("refused")
for folder, _, files in os.walk({str(any_user.data)!r}):
    for name in files:
        path = os.path.join(folder, name)
        if os.access(path, os.R_OK) and ("spool" in path or "keys" in path):
            print(path)
"""
    done = subprocess.run([*AS_NOBODY, sys.executable, "-c", attack], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\n", "")
    gate.open()
    server.ends("job")


def test_a_data_folder_with_a_long_path_has_its_socket_too(tmp_path, drover):
    drover.data = tmp_path / ("x" * 120) / ("y" * 120)
    server = Server(drover)
    assert (drover.data / "server/api.sock").is_socket()
    submit(server, "job", "--range", "1-2", "--", "true")
    worker(server)
    assert server.ends("job")["counts"]["succeeded"] == 2
    server.kill()
    server.start()  # over the socket that the killed one left
    assert server.cli("status", "job").status == 0
    server.stop()
    assert not (drover.data / "server/api.sock").exists()


@pytest.mark.parametrize("scheme, in_clear", [("", False), ("https://", False), ("http://", True)])
def test_beyond_loopback_a_key_is_sent_in_clear_only_if_the_address_says_so(drover, scheme, in_clear):
    """0.0.0.0 is no loopback address, and reaches this machine."""
    port = free_port("0.0.0.0")
    thief = Thief(port, host="0.0.0.0")
    asked = drover.start("key", "create", "--scope", "read", "--server", f"{scheme}0.0.0.0:{port}",
                         env={"DROVER_KEY": "AKDRAAAAAAAAAAAAAAAA.of-somebody"})
    thief.says("got something")
    took = thief.took()
    asked.kill()
    assert (b"Bearer AKDRAAAAAAAAAAAAAAAA.of-somebody" in took) == in_clear, took


# --- what one key can take from others

class Follow:
    """Follows a log over a connection of its own."""

    def __init__(self, server, path, key):
        self.connection = server.connection()
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        self.response = self.connection.getresponse()

    @property
    def status(self):
        return self.response.status


def test_a_removed_key_follows_no_log(drover, gate, tmp_path):
    server = Server(drover)
    worker(server)
    submit(server, "job", "--range", "1-1", "--", "sh", "-c", f"echo before; {gate.word}; echo after")
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "the item to run")
    key = new_key(server, "read")
    removed = Follow(server, "/api/v1/jobs/job/items/0/log?follow=true", key)
    kept = Follow(server, "/api/v1/jobs/job/items/0/log?follow=true", server.key)
    assert removed.response.readline() == kept.response.readline() == b"before\n"
    assert server.ask("DELETE", f"/api/v1/keys/{key.split('.')[0]}")[0] == 204
    assert removed.response.read() == b"", "it ends although the item has not"
    gate.open()
    assert kept.response.read() == b"after\n"


def search(server, key, words="grep=^77$"):
    status, found = server.ask("GET", f"/api/v1/jobs/loud/search?{words}", key=key)
    return status, [json.loads(line)["text"] for line in found.splitlines()] if status == 200 else found


@pytest.fixture
def loud(drover):
    """A server with a job that has printed more than the sockets of a slow reader hold."""
    server = Server(drover)
    one = worker(server)
    submit(server, "loud", "--range", "1-1", "--", "sh", "-c", "seq 300000")
    assert server.ends("loud")["counts"]["succeeded"] == 1
    one.kill()
    return server


def test_slow_readers_of_searches_keep_nobody_from_searching(loud):
    greedy, modest = new_key(loud, "read"), new_key(loud, "submit")
    siege = Siege("127.0.0.1", port_of(loud), greedy, "loud", 0)
    for number in range(10):
        siege.hold("search", "GET", "/api/v1/jobs/loud/search?grep=1&limit=1000000", buffer=4096 if number else 1 << 18)
    assert siege.answers["search"] == {"200": 8, "429": 2}
    assert search(loud, modest) == (200, ["77"])
    assert search(loud, loud.key) == (200, ["77"])
    assert loud.ask("POST", "/api/v1/sql", {"query": "select 1 as one"}, key=modest)[0] == 200
    # What they were promised they get, if they read it.
    got = b""
    while not got.endswith(b"\r\n0\r\n\r\n"):
        got += siege.held[0].recv(1 << 20)
    assert got.count(b'"text"') == sum("1" in str(number) for number in range(1, 300_001))
    for peer in siege.held:
        peer.close()
    wait_until(lambda: search(loud, greedy)[0] == 200, "its share to be free again")
    assert loud.stop().status == 0


def test_sql_keeps_its_limit_and_a_stop_does_not_wait_for_it(loud):
    key = new_key(loud, "read")
    long = "with recursive n(x) as (select 1 union all select x + 1 from n) " \
           "select max(instr(printf('%.*c', 250000, 'a'), printf('%.*c', 125000, 'a') || x)) from n"
    assert loud.ask("POST", "/api/v1/sql", {"query": long}, key=key)[0] == 400
    ctes = "with a0 as (select 1 as x)" + "".join(f", a{i} as (select p.x from a{i - 1} p, a{i - 1} q)" for i in range(1, 40))
    assert loud.ask("POST", "/api/v1/sql", {"query": f"{ctes} select count(*) from a39"}, key=key)[0] == 400
    siege = Siege("127.0.0.1", port_of(loud), key, "loud", 0)
    peers = [siege.connect() for _ in range(4)]
    for peer in peers:
        siege.ask(peer, "POST", "/api/v1/sql", json.dumps({"query": siege_sql}).encode())
    assert loud.ask("POST", "/api/v1/sql", {"query": "select 1 as one"})[0] == 200, "somebody else's has its turn"
    assert loud.stop().status == 0


def test_one_key_does_not_take_every_connection(drover):
    server = Server(drover, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LITTLE, LITTLE)))
    greedy, modest = new_key(server, "read"), new_key(server, "submit")
    siege = Siege("127.0.0.1", port_of(server), greedy, "none", 0)
    for _ in range(LITTLE):
        siege.hold("connection", "GET", "/api/v1/self")
    assert set(siege.answers["connection"]) == {"200", "429"} and siege.answers["connection"]["200"] < LITTLE / 4
    assert server.ask("GET", "/api/v1/self", key=modest)[0] == 200
    assert server.ask("GET", "/api/v1/jobs")[0] == 200
    submit(server, "job", "--range", "1-20", "--", "true")
    worker(server, "--server", server.address, env={"DROVER_KEY": new_key(server, "worker")})
    assert server.ends("job")["counts"]["succeeded"] == 20


def test_the_key_of_an_attempt_does_not_take_every_follow(drover, gate):
    server = Server(drover)
    worker(server)
    submit(server, "job", "--range", "1-1", "--", "sh", "-c", f"echo $DROVER_KEY; {gate.word}")
    log = "/api/v1/jobs/{}/items/0/log?follow=true"
    wait_until(lambda: server.job("job")["counts"]["running"] == 1, "the item to run")
    key = Follow(server, log.format("job"), server.key).response.readline().decode().strip()
    identity = server.job("job")["id"]
    follows = [Follow(server, log.format(identity), key) for _ in range(110)]
    assert [follow.status for follow in follows] == [200] * 100 + [429] * 10
    for other in (server.key, new_key(server, "read")):
        assert Follow(server, log.format(identity), other).response.readline().decode().strip() == key
    gate.open()
    assert server.ends("job")["counts"]["succeeded"] == 1


# --- all of it at once

def test_a_user_with_a_key_besieges_the_server_and_workers_are_served(loud, public_path):
    script = shutil.copy(pathlib.Path(__file__).parent / "siege.py", public_path)
    process = subprocess.Popen([*AS_NOBODY, sys.executable, script, "127.0.0.1", str(port_of(loud)), new_key(loud, "read"), "loud", "4"],
                               stdout=subprocess.PIPE, text=True)
    took = time_polls(loud.connection, new_key(loud, "worker"), 4)
    said, _ = process.communicate(timeout=300)
    print(f"{len(took)} polls: median {took[len(took) // 2] * 1000:.1f} ms, p99 {took[int(len(took) * 0.99)] * 1000:.1f} ms; the siege: {said}")
    answers = json.loads(said)
    assert "429" in answers["search"] and "429" in answers["connection"], answers
    assert all(set(kind) <= {"200", "400", "429"} for kind in answers.values()), answers
    assert search(loud, loud.key) == (200, ["77"])
    assert loud.stop().status == 0


# --- inside a container

ATTACK = r"""
ask() { wget -q -O /dev/null -S --header "$1" "$DROVER_SERVER$2" 2>&1 | grep -o 'HTTP/1.1 [0-9]*' | head -n 1; }
echo "own job: $(ask "Authorization: Bearer $DROVER_KEY" /api/v1/jobs/$DROVER_JOB_ID)"
echo "all jobs: $(ask "Authorization: Bearer $DROVER_KEY" /api/v1/jobs)"
echo "keys: $(ask "Authorization: Bearer $DROVER_KEY" /api/v1/keys)"
echo "as a worker: $(ask "Authorization: Bearer $DROVER_KEY" /worker/v1/poll)"
echo "without a key: $(ask 'X: y' /api/v1/jobs)"
echo "sockets: $(find / -xdev -type s 2>/dev/null | tr '\n' ' ')"
grep CapEff /proc/self/status
grep CapBnd /proc/self/status
env
find / -xdev -name keys.json -o -xdev -name access.json
"""


def test_a_default_container_gets_at_nothing_but_its_own_job(drover, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", root], input=images.busybox_layer(), check=True)
    server = Server(drover)
    worker(server)
    submit(server, "job", "--range", "1-1", "--image", f"rootfs:{root}", "--", "sh", "-c", ATTACK)
    assert server.ends("job")["counts"]["succeeded"] == 1, server.cli("logs", "job:0").out
    said = server.cli("logs", "job:0").out
    assert said.splitlines()[:6] == [
        "own job: HTTP/1.1 200", "all jobs: HTTP/1.1 403", "keys: HTTP/1.1 403", "as a worker: HTTP/1.1 403", "without a key: HTTP/1.1 401",
        "sockets: "], said
    for line in said.splitlines()[6:8]:
        assert int(line.split()[1], 16) & (1 << 13 | 1 << 12 | 1 << 21) == 0, "neither NET_RAW, NET_ADMIN nor SYS_ADMIN"
    for key in json.loads((drover.data / "server/keys.json").read_text())["keys"]:
        assert key["secret"] not in said
    assert "keys.json" not in said and "access.json" not in said


def test_a_hostile_image_harms_its_own_items_only(drover, tmp_path):
    """Its list of users is a device that has no end; its layers are small, and large in the memory of a careless reader."""
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", root], input=images.busybox_layer(), check=True)
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/passwd").unlink(missing_ok=True)
    os.mknod(root / "etc/passwd", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    server = Server(drover)
    one = worker(server)
    submit(server, "device", "--user", "somebody", "--image", f"rootfs:{root}", "--", "true", ":::", "a")
    for name, layer in (("attributes", images.many_xattrs(200_000)), ("holes", images.long_sparse_map(1 << 21))):
        images.Image([images.busybox_layer(), layer]).write_layout(tmp_path / name)
        submit(server, name, "--image", f"oci:{tmp_path / name}", "--", "true", ":::", "a")
    for name, reason in (("device", "no user 'somebody'"), ("attributes", "header too large"), ("holes", "of headers")):
        ended = server.ends(name)
        assert ended["state"] == "failed", ended
        assert reason in (ended["reason"] or server.cli("items", f"{name}:0").out), ended
    submit(server, "plain", "--", "true", ":::", "a")
    assert server.ends("plain")["counts"]["succeeded"] == 1
    peak, = (int(line.split()[1]) for line in open(f"/proc/{one.pid}/status") if line.startswith("VmHWM"))
    assert peak < 128 << 10
