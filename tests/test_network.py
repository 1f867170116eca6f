"""One server and three workers in four network namespaces, TLS between them, while workers die, lines are cut and the server is
killed: every item ends once, and no try is spent on what was lost."""

import os
import signal
import subprocess
import time

import pytest

from drover import SOAK, processes_marked, wait_until
from test_server import Server, check_all_succeeded_once

MANY = 100_000 if SOAK else 2_000
LEASE_S = 5
PORT = 8750


def ip(*words):
    done = subprocess.run(["ip", *words], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()} (the namespaces take root)"


class Network:
    """The server's namespace with a bridge in it, and one for each worker on a wire to that. Nothing of it is seen outside."""

    def __init__(self, workers):
        self.names = [f"drover-{os.getpid()}-{number}" for number in range(workers + 1)]
        self.server = self.names[0]
        self.address = "10.77.0.1"

    def make(self):
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.server, "link", "add", "lan", "type", "bridge")
        ip("-n", self.server, "address", "add", f"{self.address}/24", "dev", "lan")
        ip("-n", self.server, "link", "set", "lan", "up")
        for number in range(1, len(self.names)):
            name = self.names[number]
            ip("-n", self.server, "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.server, "link", "set", f"to{number}", "master", "lan", "up")
            ip("-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")

    def cut(self, number):
        """The wire is cut at the far end: what is sent is lost without a word."""
        ip("-n", self.server, "link", "set", f"to{number}", "down")

    def mend(self, number):
        ip("-n", self.server, "link", "set", f"to{number}", "up")

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


class FarServer(Server):
    """A server that only its network can reach: it is asked by the CLI from within, and its ledger is read from its folder."""

    def __init__(self, drover, network, host=None):
        self.network = network
        super().__init__(drover, "--lease", f"{LEASE_S}s", listen=f"{host or network.address}:{PORT}", inside=network.server)

    def cli(self, *arguments, **options):
        return self.drover(*arguments, inside=self.network.server, **options)

    def join(self, number, *flags):
        """A worker joins on a machine of its own, with a token that is good once."""
        token = self.cli("key", "join", "--quiet")
        assert token.status == 0, token
        running = self.drover.start(
            "worker", "--join", token.out.strip(), "--name", f"w{number}", *flags, inside=self.network.names[number],
            env={"DROVER_DATA": str(self.drover.folder / f"machine{number}")})
        wait_until(lambda: running.says("registered") or not running.alive(), "the worker to register")
        assert running.alive(), running.done()
        return running

    def ended(self):
        return self.rows("select count(*) from attempts where settled")[0][0]

    def holds(self, worker):
        """How many grants the worker has."""
        return self.rows(f"select count(*) from grants join workers using (worker) where name = '{worker}'")[0][0]

    def submit(self, name, *words):
        done = self.cli("submit", "--json", "--name", name, *words)
        assert done.status == 0, done
        return done.json_lines[0]

    def state(self, name):
        shown = self.cli("status", name, "--json", env={"DROVER_SERVER": self.address})
        assert shown.status == 0, shown
        return shown.json_lines[0]


@pytest.fixture
def network():
    network = Network(workers=3)
    try:
        network.make()
        yield network
    finally:
        network.remove()


@pytest.fixture
def server(drover, network):
    return FarServer(drover, network)


def test_every_item_ends_once_whatever_is_killed_or_cut_off(server, network):
    assert server.address == f"https://{network.address}:{PORT}"
    workers = {number: server.join(number, "--cpus", 2) for number in (1, 2, 3)}
    item = ("echo", "line of {}") if SOAK else ("sh", "-c", "echo line of {}; sleep 0.03")
    server.submit("many", "--range", f"1-{MANY}", "--", *item)

    def reaches(share):
        wait_until(lambda: server.ended() >= MANY * share, f"{share:.0%} of the items", 600)

    reaches(0.1)
    workers[1].kill()
    reaches(0.2)
    server.kill()
    server.start()
    reaches(0.3)
    network.cut(2)
    cut_at = time.monotonic()
    wait_until(lambda: server.holds("w2") == 0, "the leases of the worker that is cut off to run out")
    wait_until(lambda: time.monotonic() > cut_at + 2 * LEASE_S, "the cut to last")
    before = server.rows("select count(*) from attempts where worker = 'w2' and settled")[0][0]
    network.mend(2)
    reaches(0.6)
    server.kill()
    server.start()
    wait_until(lambda: server.rows("select count(*) from attempts where worker = 'w2' and settled")[0][0] > before,
               "the worker that was cut off to work again")
    job = wait_until(lambda: (job := server.state("many"))["state"] != "running" and job, "the job to end", 900)
    assert (job["state"], job["counts"]["succeeded"]) == ("succeeded", MANY), job
    assert workers[2].alive() and workers[3].alive()

    check_all_succeeded_once(server, "many", MANY)
    assert server.rows("select count(*) from attempts where state not in ('succeeded', 'lost')") == [(0,)]
    assert {name for name, in server.rows("select distinct worker from attempts where settled")} == {"w1", "w2", "w3"}
    for index in (0, MANY // 3, MANY - 1):
        shown = server.cli("logs", f"many:{index}", env={"DROVER_SERVER": server.address})
        assert shown.out.splitlines()[-1] == f"line of {index + 1}", shown
    for number in (2, 3):
        workers[number].signal(signal.SIGTERM)
        assert workers[number].done().status == 0
    server.stop()
    assert server.drover.left_over() == {}


@pytest.mark.parametrize("ends_while_away", [True, False])
def test_what_runs_beyond_its_lease_does_not_count(server, network, gate, ends_while_away):
    """Its worker is cut off, somebody else is given the item; when the line is mended, the first attempt is a lost one, whether it
    has ended meanwhile or still runs: then it is killed."""
    server.join(1, "--cpus", 1)
    runs_first = f"sleep {3 * LEASE_S}" if ends_while_away else gate.word
    server.submit("one", "--", "sh", "-c", f"echo attempt $DROVER_ATTEMPT; if [ $DROVER_ATTEMPT = 1 ]; then {runs_first}; else {gate.word}; fi",
                  ":::", "a")
    # An attempt is counted when it was named as running.
    wait_until(lambda: server.rows("select count(*) from open_items where grant_id and counted") == [(1,)], "the item to be seen running")
    network.cut(1)
    second = server.join(2, "--cpus", 1)
    wait_until(lambda: server.holds("w2") == 1, "the item to be handed on")
    here = lambda attempt: [pid for pid in processes_marked(server.drover.mark, server.drover.data)
                            if f"DROVER_ATTEMPT={attempt}\0" in environment_of(pid)]
    wait_until(lambda: here(2), "the second attempt to run")
    if ends_while_away:
        wait_until(lambda: not here(1), "the first attempt to end")
    else:
        assert here(1), "it runs on as long as nobody tells it otherwise"
    network.mend(1)
    wait_until(lambda: not here(1), "the first attempt to be killed")
    # The worker that was cut off is as good as before: it takes what the other one, busy for long, does not put by.
    server.submit("next", "--range", "1-10", "--", "true")
    wait_until(lambda: server.state("next")["state"] == "succeeded", "the next items to end")
    assert server.rows("select distinct worker from items where job_name = 'next'") == [("w1",)]
    assert server.rows("select count(*) from items where job_name = 'one'") == [(0,)], "the late report changed nothing"
    gate.open()
    wait_until(lambda: server.state("one")["state"] == "succeeded", "the item to end")
    rows = server.rows("select attempt, state, settled, worker from attempts where job_name = 'one' order by attempt")
    assert rows == [(1, "lost", 0, "w1"), (2, "succeeded", 1, "w2")]
    assert server.cli("logs", "one:0", env={"DROVER_SERVER": server.address}).out.splitlines()[-1] == "attempt 2"
    assert second.alive()


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def test_one_that_listens_everywhere_is_asked_here_and_joined_from_there(drover, network):
    """Nobody has told it by which addresses it is reached: it finds its machine's."""
    server = FarServer(drover, network, host="0.0.0.0")
    assert server.address == f"https://127.0.0.1:{PORT}"
    server.join(1)
    server.submit("job", "--range", "1-5", "--", "echo", "{}")
    wait_until(lambda: server.state("job")["state"] == "succeeded", "the job to end")
    key = {"DROVER_KEY": server.cli("key", "create", "--scope", "read", "--quiet").out.strip()}
    for name in (network.address, "localhost"):
        asked = server.cli("jobs", env={"DROVER_SERVER": f"https://{name}:{PORT}", **key})
        assert asked.status == 0 and "succeeded" in asked.out, asked
    asked = server.cli("jobs", env={"DROVER_SERVER": f"https://127.0.0.2:{PORT}", **key})
    assert asked.status == 2 and "--advertise" in asked.err, asked
