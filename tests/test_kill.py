"""drover killed -9, at any moment, any number of times: nothing is lost, nothing counts twice, nothing stays behind."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from drover import SOAK, wait_until

KILLS, ITEMS = (50, 20_000) if SOAK else (8, 3_000)


@pytest.fixture
def chance():
    seed = int(os.environ.get("DROVER_SEED") or random.SystemRandom().randrange(2**32))
    print(f"again with the same numbers: DROVER_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def forever(drover, tmp_path):
    """A program that never ends and that is found by its name, whatever its environment."""
    return f"{shutil.copy('/bin/sleep', tmp_path / f'sleep-{drover.mark}')} 100000"


def done_so_far(drover, name):
    return sum(succeeded for succeeded, in drover.rows_if_any(name, "SELECT succeeded FROM jobs"))


class Killer:
    """Starts a run again and again and kills it after a while that fits what is left: the kills spread over the run."""

    def __init__(self, drover, chance, name, line, total):
        self.drover, self.chance, self.name, self.line, self.total = drover, chance, name, line, total
        self.done, self.seconds = 300, 0.3  # a first guess at the rate

    def start_again(self):
        if done_so_far(self.drover, self.name) > 0 and self.chance.random() < 0.5:
            return self.drover.start("resume", self.name, "--jobs", 4, "--quiet")
        return self.drover.start(*self.line)

    def kill_once(self):
        """Whether it was still running, and so was killed."""
        before = done_so_far(self.drover, self.name)
        left_s = (self.total - before) * self.seconds / self.done
        most_s = min(2 * left_s / (self.kills_left + 1), left_s / 2)
        running = self.start_again()
        begun = time.monotonic()
        try:
            running.process.wait(self.chance.uniform(0, most_s))
        except subprocess.TimeoutExpired:
            pass
        was_running = running.alive()
        if was_running:
            running.kill()
        ended = running.done()
        assert was_running or ended.status == 0, ended
        self.seconds += time.monotonic() - begun
        self.done += done_so_far(self.drover, self.name) - before
        return was_running

    def kill(self, times):
        self.kills_left = times
        while self.kills_left > 0:
            assert self.kill_once(), f"it was done with {self.kills_left} kills to go"
            self.kills_left -= 1
            if self.chance.random() < 0.2:
                wait_until(lambda: not self.drover.left_over(), "every descendant of the killed drover to die", 30)


def test_killed_at_random_moments_and_resumed_every_item_ends_exactly_once(drover, chance, forever, gate, script, tmp_path):
    log, ghosts, locks = tmp_path / "log", tmp_path / "ghosts", tmp_path / "locks"
    locks.mkdir()
    # The lock goes to everything the item starts: whoever finds it taken runs beside a ghost.
    item = script("item", f"""
        i=$DROVER_ITEM_INDEX
        exec 9>{locks}/$i
        flock -n 9 || {{ echo $i >> {ghosts}; exit 99; }}
        [ $i -lt {ITEMS - 8} ] || {gate.word}  # it is not done before the last kill
        case $((i % 40)) in
          0) setsid {forever} > /dev/null 2>&1 & ;;
          10) (env -i setsid {forever} > /dev/null 2>&1 & ) ;;
          20) {forever} & ;;
          30) trap '' TERM HUP INT; ({forever} &) ;;
          5 | 15 | 25 | 35) sleep 0.02 ;;
        esac
        echo $i $DROVER_ATTEMPT >> {log}""")
    line = ("run", "--name", "killed", "--quiet", "--jobs", 4, "--range", f"1-{ITEMS}", "--", item)
    Killer(drover, chance, "killed", line, ITEMS).kill(KILLS)
    gate.open()

    last = drover("resume", "killed", "--json", seconds=300)
    assert last.status == 0, last
    assert last.summary["counts"]["succeeded"] == ITEMS
    drover.check_all_succeeded("killed", ITEMS)
    assert not ghosts.exists(), f"ran beside their ghosts: {ghosts.read_text().split()[:10]}"

    latest, times = {}, {}
    for text in log.read_text().splitlines():
        index, attempt = map(int, text.split())
        latest[index] = attempt
        times[index] = times.get(index, 0) + 1
    assert latest == dict(drover.rows("killed", "SELECT item, attempt FROM items"))
    assert max(times.values()) <= KILLS + 1
    wait_until(lambda: not drover.left_over(), "every process to be gone", 30)


def test_killed_while_it_starts_it_starts_again(drover, chance, tmp_path):
    """The first hundredths of a second: the folder, the lock, the schema, the list, the job."""
    listed = tmp_path / "list"
    listed.write_text("".join(f"{i} {chance.randbytes(2000).hex()}\n" for i in range(200)))
    for name in range(100 if SOAK else 15):
        line = ("run", "--name", name, "--json", "--items", listed, "--jobs", 2, "--", "/bin/true")
        for _ in range(3):
            running = drover.start(*line)
            try:
                running.process.wait(chance.uniform(0, 0.05))
            except subprocess.TimeoutExpired:
                running.kill()
        again = drover(*line)
        assert again.status == 0, again
        assert drover.rows(name, "SELECT count(*) FROM jobs") == [(1,)]
        drover.check_all_succeeded(name, 200)


def test_killed_while_it_reads_its_list_it_takes_the_whole_list_the_next_time(drover):
    whole = b"".join(b"%d %s\n" % (i, os.urandom(20).hex().encode()) for i in range(30_000))
    line = ("run", "--name", "half", "--items", "-", "--max-failures", 0, "--", "sh", "-c", 'test "$1" != stop', "sh")
    reading = drover.start(*line, stdin=subprocess.PIPE)
    reading.process.stdin.write(whole[:len(whole) // 2])
    reading.process.stdin.flush()
    wait_until(drover.database("half").exists, "the database")
    reading.signal(signal.SIGKILL)
    reading.process.stdin.close()
    reading.process.wait(10)

    shown = drover("status", "half")
    shown.refuses("half", "drover run")
    drover("resume", "half").refuses("drover run")
    # The first line ends it early: what matters is that the list is the new one, and whole.
    again = drover(
        "run", "--json", "--name", "half", "--items", "-", "--max-failures", 0, "--", "sh", "-c", 'test "$1" != stop', "sh",
        input=b"stop\n" + whole)
    assert again.status == 1, again
    assert again.summary["total"] == 30_001
    assert drover.rows("half", "SELECT count(*) FROM jobs") == [(1,)]
    items = drover.items("half")
    assert [item["item"] for item in items] == ["stop", *whole.decode().splitlines()]


def test_a_killed_run_takes_every_descendant_with_it(drover, forever, script):
    item = script("breed", f"""
        trap '' TERM HUP INT QUIT
        setsid {forever} > /dev/null 2>&1 &
        (env -i setsid sh -c '{forever} & {forever}' > /dev/null 2>&1 &)
        nohup {forever} > /dev/null 2>&1 &
        {forever} &
        wait""")
    running = drover.start("run", "--name", "herd", "--jobs", 2, "--", item, ":::", 1, 2)
    wait_until(lambda: list(drover.left_over().values()).count(f"{forever} ") == 10, "the herd")
    running.kill()
    wait_until(lambda: not drover.left_over(), "every descendant to die", 30)


def test_an_attempt_that_a_kill_cut_short_is_lost_and_costs_no_try(drover, gate, script):
    item = script("item", f"{gate.word}; test $DROVER_ATTEMPT = 2")
    running = drover.start("run", "--name", "lost", "--", item, ":::", "only")
    wait_until(lambda: drover.rows_if_any("lost", "SELECT 1 FROM open_items WHERE counted"), "the attempt's record")
    running.kill()
    gate.open()
    assert drover("resume", "lost").status == 0
    assert drover.rows("lost", "SELECT attempt, state, ending, settled FROM attempts ORDER BY attempt") == [
        (1, "lost", "lost", 0), (2, "succeeded", "exited", 1)]
    drover.check_all_succeeded("lost", 1)


def test_an_item_that_was_not_seen_running_goes_back_without_a_trace(drover, gate, tmp_path, script):
    item = script("item", f"touch {tmp_path}/begun; {gate.word}")
    running = drover.start("run", "--name", "trace", "--", item, ":::", "only")
    wait_until((tmp_path / "begun").exists, "the item to begin")
    running.kill()
    gate.open()
    assert drover("resume", "trace").status == 0
    numbers = drover.rows("trace", "SELECT attempt FROM attempts")
    assert numbers in ([(1,)], [(1,), (2,)])  # the second, if it had been running for a second by then
    drover.check_all_succeeded("trace", 1)


def test_a_killed_helper_of_a_slot_costs_no_try_and_the_run_goes_on(drover, gate, script, forever):
    item = script("item", f"test $DROVER_ATTEMPT -gt 1 || {{ setsid {forever} > /dev/null 2>&1 & {gate.word}; }}")
    running = drover.start("run", "--name", "helper", "--jobs", 1, "--", item, ":::", *range(20))
    wait_until(lambda: f"{forever} " in drover.left_over().values(), "the item")
    helper, = [pid for pid, command in drover.left_over().items() if command == "drover-slot"]
    os.kill(helper, signal.SIGKILL)
    gate.open()
    ended = running.done()
    assert ended.status == 0, ended
    assert drover.rows("helper", "SELECT state FROM attempts WHERE item = 0 ORDER BY attempt") == [("lost",), ("succeeded",)]
    drover.check_all_succeeded("helper", 20)


def test_a_retry_of_many_items_is_resumed_where_it_was(drover, tmp_path):
    items = 1500
    words = ("--", "sh", "-c", f"test -e {tmp_path}/ok")
    assert drover("run", "--name", "many", "--jobs", 4, "--quiet", "--range", f"1-{items}", *words).status == 1
    (tmp_path / "ok").touch()
    running = drover.start("retry", "many", "--jobs", 4, "--quiet")
    wait_until(lambda: done_so_far(drover, "many") > 50 or not running.alive(), "the retry to be under way")
    running.kill()
    running.done()
    assert drover("resume", "many", "--jobs", 4, "--quiet").status == 0
    drover.check_ledger("many")
    assert drover.rows("many", "SELECT count(*) FROM items WHERE state = 'succeeded'") == [(items,)]
