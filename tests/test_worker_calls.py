"""What a worker may say to its server, and what becomes of a server to which it says something else."""

import json
import sqlite3

import pytest

from test_server import Server, submit, worker
from worker_protocol import field, fixed, read, varint

MOST = 2**63 - 1
USED = ("started_ms", "wall_us", "user_us", "system_us", "peak_memory_kib", "read_bytes", "written_bytes", "gpu_busy_us", "peak_gpu_memory_kib", "gpu_energy_mj")


class BadWorker:
    """Speaks the worker protocol by hand, and says what it likes."""

    def __init__(self, server, name="bad"):
        self.server, self.polls = server, 0
        hello = field(1, 1) + field(2, name.encode()) + fixed(3, 7) + field(5, 4000)
        status, answer = self.say("register", hello)
        assert status == 200, answer
        self.number = read(answer)[2][0]

    def say(self, call, body):
        connection = self.server.connection()
        connection.request("POST", f"/worker/v1/{call}", body, {"Authorization": f"Bearer {self.server.key}"})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, text

    def who(self):
        return field(1, self.number) + fixed(2, 7)

    def take(self, want=1):
        """(grant, first item) of a lease."""
        self.polls += 1
        status, answer = self.say("poll", field(1, self.who()) + field(2, self.polls) + field(4, want) + field(5, 0))
        assert status == 200, answer
        lease = read(read(answer)[2][0])
        return lease[1][0], lease.get(3, [0])[0]

    def ended(self, lease, more=b"", **usage):
        """An item that succeeded."""
        used = b"".join(field(number, usage.get(name, 1)) for number, name in enumerate(
            USED, 1))
        return field(3, field(1, lease[0]) + field(2, lease[1]) + field(7, used) + more)

    def report(self, *ended, frames=b""):
        return self.say("report", self.who() + b"".join(ended) + frames)


def extents(*numbers):
    return field(11, b"".join(map(varint, numbers)))


@pytest.fixture
def server(drover):
    return Server(drover)


def test_however_much_a_worker_claims_to_have_used_sums_stay_sums(server):
    bad = BadWorker(server)
    submit(server, "job", "--range", "1-8", "--", "true")
    for claim in (MOST, -MOST - 1, MOST, -1):
        for _ in range(2):
            status, answer = bad.report(bad.ended(bad.take(), **dict.fromkeys(USED, claim)))
            assert status == 200, answer
    assert server.ends("job")["counts"]["succeeded"] == 8
    least, = server.rows("select min(started_ms), min(ended_ms - started_ms), min(cpu_ms), min(peak_memory_kib) from attempts")
    assert min(least) >= 0, least
    for by in ("owner", "job"):
        status, usage = server.ask("GET", f"/api/v1/usage?by={by}")
        assert status == 200 and all(value >= 0 for line in usage["usage"] for value in line.values() if isinstance(value, int)), usage
    assert server.cli("status", "job").status == 0
    assert server.cli("items", "job").status == 0


def test_extents_that_cannot_be_are_refused_and_those_that_are_not_here_left_out(server):
    bad = BadWorker(server)
    submit(server, "job", "--range", "1-3", "--", "true")
    lease = bad.take()
    for wrong in ((1, 2**64 - 1, 1), (1, 1, 2**64 - 1), (1, 2**63, 2**63), (2**64 - 1, 0, 1), (1, 0, 0), (1,), (1, 2)):
        status, answer = bad.report(bad.ended(lease, extents(*wrong)))
        assert status == 400 and "log positions that cannot exist" in json.loads(answer)["detail"], (wrong, answer)
        shown = field(2, bad.number) + field(3, field(1, lease[0]) + field(2, lease[1]) + field(3, b"".join(map(varint, wrong))))
        status, answer = bad.say("logs", shown)
        assert status == 400, (wrong, answer)
    # They could be, and are not here: the outcome counts, and there is no log.
    for away in ((1, 0, 100), (999, 0, 1), (1, 2**40, 1)):
        lease = lease or bad.take()
        status, answer = bad.report(bad.ended(lease, extents(*away)))
        assert status == 200, (away, answer)
        lease = None
    assert server.ends("job")["counts"]["succeeded"] == 3
    assert server.rows("select distinct length(log) from attempt_rows") in ([(0,)], [(None,)])
    for index in range(3):
        assert server.ask("GET", f"/api/v1/jobs/job/items/{index}/log") == (200, "")


def test_texts_without_end_are_cut_and_lists_without_end_refused(server):
    bad = BadWorker(server)
    submit(server, "job", "--range", "1-2", "--", "true")
    long = b"x" * (1 << 20)
    failed = field(3, 1) + field(6, long) + field(10, long)
    assert bad.report(bad.ended(bad.take(), failed))[0] == 200
    (reason, line), = server.rows("select length(reason), length(last_line) from attempts")
    assert reason <= 8192 and line <= 8192
    running = b"".join(field(4, field(1, number)) for number in range(100_001))
    assert bad.report(running)[0] == 400
    assert bad.say("poll", field(1, bad.who()) + field(2, 99) + field(7, 1) * 100_001)[0] == 400


def test_an_item_whose_text_is_damaged_fails_and_the_others_run(drover, server):
    items = [f"{number:04}" + "x" * 4000 for number in range(70)]
    submit(server, "torn", "--items", "-", "--", "sh", "-c", "echo ${#0}", "{}", input="\n".join(items).encode())
    ledger = sqlite3.connect(f"{drover.data}/server/drover.db", timeout=60)
    first, _ = ledger.execute("select first, count from manifest_chunks order by first desc limit 1").fetchone()
    assert 0 < first < 70
    ledger.execute("update manifest_chunks set data = x'00112233' where first = ?", (first,))
    ledger.commit()
    ledger.close()
    one = worker(server)
    submit(server, "next", "--range", "1-5", "--", "true")
    assert server.ends("next")["counts"]["succeeded"] == 5
    torn = server.ends("torn")
    assert (torn["counts"]["succeeded"], torn["counts"]["failed"]) == (first, 70 - first), torn
    rows = server.rows("select item, state, reason from attempts where job_name = 'torn' and state != 'succeeded' order by item")
    assert [(item, state) for item, state, _ in rows] == [(item, "failed") for item in range(first, 70)]
    assert all("the stored list of items is damaged" in reason for _, _, reason in rows), rows
    assert one.alive() and "quarantine" not in server.cli("workers").out
