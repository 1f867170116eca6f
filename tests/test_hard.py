"""Programs that misbehave (tests/hard): each comes to the end that its name says, leaves nothing behind, and those that run
beside it never notice."""

import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from conftest import NOBODY
from drover import BINARY, SOAK, Drover, wait_until

PROGRAMS = pathlib.Path(BINARY).parents[1] / "tests/hard"

GOOD_LINES, GOOD_ITEMS = 2_000, 20
LINE_BYTES = 64
MIB = 1 << 20
DO_NOT_KILL = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
STOP = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


def program(name, *arguments):
    """A line of shell that becomes the program."""
    return " ".join(map(str, ("exec", PROGRAMS / name, *arguments)))


def numbered(first, end):
    """What writes_lines prints, from one line up to another."""
    return b"".join(b"%012d %s\n" % (i, b"-" * 50) for i in range(first, end))


GOOD_OUTPUT = numbered(0, GOOD_LINES)


def ending(item):
    last = item["last"]
    return item["state"], last["ending"], last["exit_code"], last["signal"]


def attempts(drover, name):
    return drover.rows(name, "SELECT item, attempt, state, ending, reason FROM attempts ORDER BY item, attempt")


def cgroups_of(pid):
    """The cgroups that the drover with this number made, in every hierarchy."""
    return [f"{folder}/{name}" for folder, below, _ in os.walk("/sys/fs/cgroup") for name in below
            if name.startswith(f"drover-{pid}-")]


def helpers_of(drover):
    return [pid for pid, command in drover.left_over().items() if command == "drover-slot"]


def peak_kib(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Which limits cgroups hold on this machine, as an item sees it from inside: some of memory, cpu and pids."""
    one = Drover(tmp_path_factory.mktemp("held"))
    ended = one("run", "--name", "r", "--memory", "1GiB", "--cpus", 1, "--", "sh", "-c", "cat /proc/self/cgroup", ":::", "a")
    assert ended.status == 0, ended
    found = set()
    for line in one("logs", "r:0").out.splitlines():
        _, controllers, path = line.split(":", 2)
        if re.search(r"/drover-\d+-[^/]+$", path):
            found |= set(controllers.split(",")) if controllers else {"memory", "cpu", "pids"}
    assert re.search(r"^drover: limit per item: 1\.0 GiB of memory and 1 CPUs, enforced by (cgroup v[12]|resource limits.*)$",
                     ended.err, re.MULTILINE), ended
    assert ("by cgroup" in ended.err) == bool(found & {"memory", "pids"}), (found, ended)
    return found & {"memory", "cpu", "pids"}


@pytest.fixture(autouse=True)
def tidy(drover, tmp_path, monkeypatch):
    """No cgroup is left, nothing where temporary files go, and in a run's folder only what every run has there."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield
    for running in drover.started:
        wait_until(lambda one=running: cgroups_of(one.pid) == [], "the cgroups to be removed", 30)
    assert os.listdir(temporary) == []
    for name in drover.runs():
        kept = {str(path.relative_to(drover.run_folder(name))) for path in drover.run_folder(name).rglob("*")}
        strange = {path for path in kept if not re.fullmatch(r"drover\.db(-wal|-shm)?|lock|settings\.json|logs(/\d+\.zst)?", path)}
        assert strange == set()


@pytest.fixture
def nobody(any_user, public_path, monkeypatch):
    """A drover that runs as a user who may make no cgroup, and who can reach the programs."""
    (public_path / "data").mkdir()
    os.chown(public_path / "data", NOBODY, NOBODY)
    monkeypatch.setattr(any_user, "start", functools.partial(any_user.start, as_user=NOBODY))
    any_user.program = lambda name: shutil.copy(PROGRAMS / name, public_path)
    return any_user


@pytest.fixture
def beside(drover, tmp_path):
    """Runs bad items, which are lines of shell, and twenty ordinary ones after them on two slots. The ordinary ones end as
    if they were alone; beside(…) is what became of the bad ones."""

    def run(*bad, options=(), bad_ones_running=None):
        before = {*os.listdir(tmp_path), "data"}
        good = [program("writes_lines", GOOD_LINES)] * GOOD_ITEMS
        running = drover.start("run", "--json", "--name", "r", "--jobs", 2, *options, "--", "sh", "-c", 'eval "$1"', "sh",
                               ":::", *bad, *good)
        if bad_ones_running is not None:
            bad_ones_running(running)
        ended = running.done()
        items = drover.items("r")
        ended_bad, ended_good = items[:len(bad)], items[len(bad):]
        assert [(ending(item), item["attempts"], item["last"]["log_bytes"]) for item in ended_good] == [
            (("succeeded", "exited", 0, None), 1, len(GOOD_OUTPUT))] * GOOD_ITEMS
        for item in ended_good:
            assert drover("logs", f"r:{item['index']}").raw_out == GOOD_OUTPUT
        assert ended.status == (0 if all(item["state"] == "succeeded" for item in ended_bad) else 1), ended
        drover.check_ledger("r")
        assert {*os.listdir(tmp_path), "data"} == before
        return ended_bad

    return run


# --- ends


def test_one_that_ignores_the_polite_signal_is_killed_after_the_grace(beside):
    deaf, = beside(program("ignores_sigterm"), options=("--timeout", "2s", "--grace", "500ms"))
    assert ending(deaf) == ("failed", "timed_out", None, signal.SIGKILL)
    assert deaf["last"]["reason"] == "timed out after 2.0 s"
    assert deaf["last"]["wall_us"] >= 2_200_000
    assert deaf["last"]["last_line"] == "deaf"


def test_one_that_has_stopped_itself_times_out(beside):
    stopped, = beside(program("stops_itself"), options=("--timeout", "2s"))
    assert ending(stopped) == ("failed", "timed_out", None, signal.SIGTERM)
    assert stopped["last"]["reason"] == "timed out after 2.0 s"


def test_one_that_leaves_its_group_or_its_session_behind_times_out(beside):
    for left in beside(*(program("leaves_its_group", how) for how in ("group", "session")), options=("--timeout", "5s")):
        assert ending(left) == ("failed", "timed_out", None, signal.SIGTERM)
        assert left["last"]["last_line"] == "left"


def test_one_that_stops_its_helper_times_out(drover):
    running = drover.start("run", "--name", "r", "--timeout", "3s", "--grace", "500ms", "--jobs", 1, "--", "sh", "-c",
                           'test "$1" = good || { kill -STOP $PPID; sleep 1000; }', "sh", ":::", "bad", "good")
    assert running.done().status == 1
    bad, good = drover.items("r")
    assert bad["state"] == "failed" and bad["last"]["ending"] in ("timed_out", "lost")
    assert ending(good) == ("succeeded", "exited", 0, None)


def test_the_highest_exit_code_is_told(beside):
    exited, = beside(program("exits", 255))
    assert ending(exited) == ("failed", "exited", 255, None)
    assert exited["last"]["reason"] == "exited with code 255"


def test_every_signal_that_kills_is_told_by_number_and_name(beside):
    signals = [number for number in signal.Signals if number < 32 and number not in STOP]
    died = beside(*(program("dies_of", int(number)) for number in signals))
    for number, item in zip(signals, died):
        if number in DO_NOT_KILL:
            assert ending(item) == ("succeeded", "exited", 0, None), number
            continue
        assert ending(item) == ("failed", "signalled", None, number)
        names = {number.name, *(["SIGPOLL"] if number == signal.SIGIO else [])}
        assert item["last"]["reason"] in {f"killed by signal {int(number)} ({name})" for name in names}


def test_a_real_time_signal_is_told_by_number_and_name(beside):
    for number, item in zip((34, 40, 64), beside(*(program("dies_of", number) for number in (34, 40, 64)))):
        assert ending(item) == ("failed", "signalled", None, number)
        assert re.fullmatch(rf"killed by signal {number} \(SIGRT\w+([+-]\d+)?\)", item["last"]["reason"])


# --- descendants


def test_a_daemon_dies_with_the_item_that_forked_it(beside):
    forked, = beside(program("forks_daemon"))
    assert ending(forked) == ("succeeded", "exited", 0, None)


def test_a_pipe_left_open_in_a_grandchild_keeps_nobody_waiting(beside, drover):
    left, = beside(program("leaves_pipe_open"))
    assert ending(left) == ("succeeded", "exited", 0, None)
    assert re.fullmatch(rb"parent\n(grandchild\n)*", drover("logs", "r:0").raw_out)


def test_one_that_forks_until_it_cannot_gets_as_many_as_it_may_have(beside, drover, held):
    forked, = beside(program("forks_until_it_cannot", 500), options=("--pids", 50))
    assert ending(forked) == ("succeeded", "exited", 0, None)
    assert int(drover("logs", "r:0").out) == (49 if "pids" in held else 500)  # and itself


def test_a_fork_bomb_harms_nobody(beside, held):
    if "pids" not in held:
        pytest.skip("nothing would stop it here")
    bomb, = beside(program("is_a_fork_bomb"), options=("--pids", 50, "--timeout", "5s"))
    assert ending(bomb) == ("failed", "timed_out", None, signal.SIGTERM)


def test_without_cgroups_what_an_item_forked_is_gone_with_it_too(nobody):
    ended = nobody.run("--name", "r", "--pids", 50, "--", nobody.program("forks_until_it_cannot"), ":::", 100)
    assert ended.status == 0, ended
    assert nobody.left_over() == {}


# --- output


def test_one_that_closes_its_output_is_heard_until_then(beside, drover):
    closed, = beside(program("closes_output"))
    assert ending(closed) == ("succeeded", "exited", 0, None)
    assert drover("logs", "r:0").out == "last words\n" * 2
    assert drover("logs", "r:0", "--stderr").out == "last words\n"


def test_a_gibibyte_of_output_is_cut_in_the_middle_and_costs_little_memory(beside, drover, gate, tmp_path):
    lines, limit = (1 << 30) // LINE_BYTES, 64 * MIB
    written = tmp_path / "written"
    peaks = []

    def measure(running):
        wait_until(lambda: written.exists() or not running.alive(), "all of it to be written", 300)
        peaks.append(peak_kib(running.pid))
        peaks.append(max(map(peak_kib, helpers_of(drover))))
        written.unlink()
        gate.open()

    much, = beside(f"{PROGRAMS}/writes_lines {lines} && touch {written} && {gate.word}", bad_ones_running=measure)
    assert ending(much) == ("succeeded", "exited", 0, None)
    assert much["last"]["log_bytes"] == lines * LINE_BYTES
    assert peaks[0] < 150 << 10 and peaks[1] < 16 << 10

    kept = drover("logs", "r:0").raw_out
    head, cut, tail = re.fullmatch(
        rb"(.*)\[drover: (\d+) bytes were cut out here; the limit is 67108864 bytes of output\]\n(.*)",
        kept, re.DOTALL).groups()
    assert len(head) + int(cut) + len(tail) == lines * LINE_BYTES
    assert limit * 0.99 < len(head) + len(tail) <= limit and len(tail) > MIB * 0.9
    assert head == numbered(0, len(head) // LINE_BYTES)
    first_whole = lines - len(tail) // LINE_BYTES
    assert tail[len(tail) % LINE_BYTES:] == numbered(first_whole, lines)
    assert sum(path.stat().st_size for path in (drover.run_folder("r") / "logs").iterdir()) < limit + MIB


@pytest.mark.parametrize("size, count, burst", [(2_100, 20_000, 0), (2_100, 20_000, 300), (64, 400_000, 5_000)])
def test_what_is_left_of_a_long_output_is_in_order_however_it_was_written(beside, drover, size, count, burst):
    """Pages of a pipe that are half empty, and both streams in turn."""
    printed, = beside(program("writes_records", size, count, burst), options=("--log-limit", "4MiB"))
    assert ending(printed) == ("succeeded", "exited", 0, None)
    assert printed["last"]["log_bytes"] == size * count
    kept = drover("logs", "r:0").raw_out
    head, cut, tail = re.fullmatch(
        rb"(.*)\[drover: (\d+) bytes were cut out here; the limit is 4194304 bytes of output\]\n(.*)", kept, re.DOTALL).groups()
    assert len(head) + int(cut) + len(tail) == size * count
    assert len(head) == 3 * MIB and MIB * 0.4 < len(tail) <= MIB
    numbers = {"stdout": [], "stderr": []}
    for line in drover("logs", "r:0", "--json").json_lines:
        if whole := re.fullmatch(rf"(\d{{12}}) -{{{size - 14}}}", line["text"]):
            numbers[line["stream"]].append(int(whole[1]))
    assert sum(map(len, numbers.values())) * size > len(head) + len(tail) - 5 * size  # no more were cut in two
    for seen in numbers.values():
        assert seen == sorted(set(seen))
    assert max(map(max, filter(None, numbers.values()))) == count - 1


def test_a_line_of_a_hundred_mebibytes_is_cut_like_any_output(beside, drover):
    line, failed = beside(program("writes_one_line", 100 * MIB), f"{PROGRAMS}/writes_one_line {100 * MIB} >&2; exit 3")
    assert ending(line) == ("succeeded", "exited", 0, None)
    assert line["last"]["log_bytes"] == 100 * MIB
    kept = drover("logs", "r:0").raw_out
    assert 63 * MIB < len(kept) < 65 * MIB and kept.endswith(b"x\n")
    assert len(re.findall(rb"\[drover: \d+ bytes were cut out here", kept)) == 1
    assert ending(failed) == ("failed", "exited", 3, None)
    assert 0 < len(failed["last"]["last_line"]) < 5_000


def test_a_line_of_a_hundred_mebibytes_is_whole_without_a_limit(beside, drover):
    line, = beside(program("writes_one_line", 100 * MIB), options=("--log-limit", 0))
    assert ending(line) == ("succeeded", "exited", 0, None)
    kept = drover("logs", "r:0").raw_out
    assert len(kept) == 100 * MIB and kept.count(b"x") == 100 * MIB - 1


def test_bytes_of_every_value_are_kept_as_they_are(beside, drover):
    written = bytes(range(256)) * 100
    for item in beside(program("writes_binary"), program("writes_binary", ">&2")):
        assert ending(item) == ("succeeded", "exited", 0, None)
        assert item["last"]["log_bytes"] == len(written)
        reference, stream = f"r:{item['index']}", ("stdout", "stderr")[item["index"]]
        assert drover("logs", reference).raw_out == written
        assert drover("logs", reference, "--stderr").raw_out == (written if stream == "stderr" else b"")
        assert {line["stream"] for line in drover("logs", reference, "--json").json_lines} == {stream}
        assert drover("items", reference, "--json").json_lines[0]["state"] == "succeeded"


def test_one_byte_a_second_is_seen_as_it_comes(beside, drover):
    written = "abcdefgh"

    def look(running):
        seen = wait_until(lambda: drover("logs", "r:0").out.strip(), "the first byte to be seen")
        assert running.alive() and seen != written and written.startswith(seen)

    slow, = beside(program("writes_slowly", written), bad_ones_running=look)
    assert ending(slow) == ("succeeded", "exited", 0, None)
    assert drover("logs", "r:0").out.strip() == written


# --- memory


def test_one_that_eats_all_memory_is_told_as_out_of_memory(beside, held):
    ate, = beside(program("eats_memory", 1_000), options=("--memory", "64MiB"))
    if "memory" in held:
        assert ending(ate) == ("failed", "out_of_memory", None, signal.SIGKILL)
        assert ate["last"]["reason"].startswith("out of memory: killed by signal 9")
        assert 32 << 10 < ate["last"]["peak_memory_kib"] <= 70 << 10
    else:
        assert ending(ate) == ("failed", "signalled", None, signal.SIGABRT)
        assert "bad_alloc" in ate["last"]["last_line"]


def test_without_cgroups_one_that_eats_all_memory_fails_in_its_own_way(nobody):
    """Its next allocation fails, and what it makes of that is its own affair: this one throws, and nobody catches it."""
    ended = nobody.run("--name", "r", "--memory", "64MiB", "--jobs", 2, "--", nobody.program("eats_memory"), ":::",
                       1_000, *[1] * 10)
    assert ended.status == 1, ended
    assert "limit per item: 64.0 MiB of memory, enforced by per-process resource limits" in ended.err, ended
    ate, *modest = nobody.items("r")
    assert ending(ate) == ("failed", "signalled", None, signal.SIGABRT)
    assert ate["last"]["reason"] == "killed by signal 6 (SIGABRT)" and "bad_alloc" in ate["last"]["last_line"]
    assert {ending(item) for item in modest} == {("succeeded", "exited", 0, None)}


@pytest.mark.parametrize("how", ["waits", "leaves"])  # whether it takes its child's status, or leaves it to the helper
def test_one_whose_child_runs_out_of_memory_says_itself_whether_that_was_fatal(beside, held, how):
    if "memory" not in held:
        pytest.skip("nobody counts kills here")
    parents = (program("outlives_its_child", how, code, PROGRAMS / "eats_memory", 1_000) for code in (0, 1))
    fine, failed = beside(*parents, options=("--memory", "64MiB"))
    assert ending(fine) == ("succeeded", "exited", 0, None)
    assert "killed: out of memory" in (fine["last"]["reason"] or "")
    assert failed["state"] == "failed" and failed["last"]["ending"] == "out_of_memory"
    assert failed["last"]["reason"].startswith("out of memory: exited with code 1")


def test_a_kill_for_want_of_memory_is_held_against_nobody_else(drover, held):
    if "memory" not in held:
        pytest.skip("nobody counts kills here")
    survivor = program("outlives_its_child", "waits", 0, PROGRAMS / "eats_memory", 1_000)
    ended = drover.run("--name", "r", "--jobs", 1, "--memory", "64MiB", "--", "sh", "-c", 'eval "$1"', "sh", ":::",
                       survivor, program("exits", 1), program("exits", 0), survivor, program("dies_of", 9))
    assert ended.status == 1, ended
    assert [ending(item) for item in drover.items("r")] == [
        ("succeeded", "exited", 0, None), ("failed", "exited", 1, None), ("succeeded", "exited", 0, None),
        ("succeeded", "exited", 0, None), ("failed", "signalled", None, signal.SIGKILL)]


def test_running_out_of_memory_is_told_of_each_attempt_and_retried(drover, held):
    if "memory" not in held:
        pytest.skip("nobody counts kills here")
    eats = program("eats_memory", 1_000)
    ended = drover.run("--name", "r", "--retries", 2, "--memory", "64MiB", "--", "sh", "-c", 'eval "$1"', "sh", ":::",
                       eats, f"test $DROVER_ATTEMPT -ge 3 || {eats}")
    assert ended.status == 1, ended
    assert [row[:4] for row in attempts(drover, "r")] == [
        (0, 1, "failed", "out_of_memory"), (0, 2, "failed", "out_of_memory"), (0, 3, "failed", "out_of_memory"),
        (1, 1, "failed", "out_of_memory"), (1, 2, "failed", "out_of_memory"), (1, 3, "succeeded", "exited")]
    group, = ended.summary["failures"]
    assert group["items"] == 1 and group["what"].startswith("out of memory")


def test_many_small_processes_run_out_of_memory_as_one_large_one_does(beside, held):
    """The largest process is the helper's own then."""
    if not held >= {"memory", "pids"}:
        pytest.skip("nothing would stop it here")
    forked, = beside(program("forks_until_it_cannot", 1_000), options=("--memory", "16MiB"))
    assert forked["attempts"] == 1, "the helper was killed"
    assert forked["last"]["ending"] in ("out_of_memory", "exited")


def test_one_that_prints_much_needs_no_memory_for_it(beside, held):
    """What the helper keeps of its output is not the item's."""
    if "memory" not in held:
        pytest.skip("the helper has no limit here")
    printed, = beside(program("writes_lines", 3_000_000), options=("--memory", "4MiB"))
    assert ending(printed) == ("succeeded", "exited", 0, None)
    assert printed["attempts"] == 1, "the helper was killed"


def test_what_an_item_leaves_in_memory_is_not_counted_against_the_next(drover, held):
    if "memory" not in held or not os.access("/dev/shm", os.W_OK):
        pytest.skip("nothing is counted here")
    left = f"/dev/shm/drover-test-{drover.mark}"
    try:
        ended = drover.run("--name", "r", "--jobs", 1, "--memory", "64MiB", "--", "sh", "-c", 'eval "$1"', "sh", ":::",
                           f"head -c {40 * MIB} /dev/zero > {left}", program("eats_memory", 40))
        assert ended.status == 0, ended
    finally:
        pathlib.Path(left).unlink(missing_ok=True)


def test_too_little_memory_for_any_program_is_refused(drover):
    drover("run", "--memory", "3MiB", "--", "true", ":::", "a").refuses("--memory", "4MiB")
    assert drover.runs() == []


# --- processor time


def test_half_a_processor_is_half_the_time(drover, held):
    ended = drover("run", "--name", "r", "--cpus", 0.5, "--", "sh", "-c", f"nproc; {program('spins', 1)}", ":::", "a")
    assert ended.status == 0, ended
    last = drover.items("r")[0]["last"]
    assert last["wall_us"] >= 1_000_000
    if "cpu" in held:
        assert last["cpu_ms"] * 1_000 / last["wall_us"] < 0.7
    else:
        assert drover("logs", "r:0").out == "1\n"


def test_without_cgroups_items_get_as_many_processors_as_they_may_use(nobody):
    ended = nobody("run", "--name", "r", "--cpus", 0.5, "--", "sh", "-c", "nproc", ":::", "a")
    assert ended.status == 0, ended
    assert "limit per item: 0.5 CPUs, enforced by per-process resource limits" in ended.err, ended
    assert nobody("logs", "r:0").out == "1\n"


def test_items_are_as_nice_as_they_should_be(drover):
    assert drover("run", "--name", "r", "--nice", 7, "--", "sh", "-c", "nice", ":::", "a").status == 0
    assert int(drover("logs", "r:0").out) == min(os.nice(0) + 7, 19)


# --- a long run, and one that is killed


def test_a_long_run_of_bad_items_leaks_no_descriptor(drover, gate, tmp_path):
    bad = [program("forks_daemon"), program("leaves_pipe_open"), program("closes_output"), program("dies_of", 9),
           program("writes_binary"), program("exits", 255), "exec /no/such/program", program("writes_lines", 100_000),
           program("writes_records", 64, 50_000, 2_000)]
    last_gate = tmp_path / "last"
    first = f"touch {tmp_path}/first-began; {gate.word}"
    last = f"touch {tmp_path}/last-began; until test -e {last_gate}; do sleep 0.05; done"
    number = 2_000 if SOAK else 200
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 1, "--log-limit", "2MiB", "--", "sh", "-c", 'eval "$1"',
                           "sh", ":::", first, *(bad[i % len(bad)] for i in range(number)), last)
    wait_until((tmp_path / "first-began").exists, "the first item")
    helper, = helpers_of(drover)
    before, helper_before = descriptors(running.pid), descriptors(helper)
    gate.open()
    wait_until((tmp_path / "last-began").exists, "the last item", 300)
    assert helpers_of(drover) == [helper]
    # Files of the log and the ledger may not have been open yet.
    wait_until(lambda: descriptors(running.pid) <= before + 5, f"no more than the {before} descriptors there were, and 5")
    wait_until(lambda: descriptors(helper) == helper_before, f"the {helper_before} descriptors of the helper")
    last_gate.touch()
    assert running.done().status == 1
    assert drover.rows("r", "SELECT count(*), max(attempt) FROM attempts") == [(number + 2, 1)]


def start_daemons(drover, gate, tmp_path):
    """A run of four items at a time that have each forked a daemon and wait at the gate."""
    running = drover.start("run", "--name", "r", "--jobs", 4, "--memory", "64MiB", "--range", "1-4", "--", "sh", "-c",
                           f"{PROGRAMS}/forks_daemon; touch began-$1; {gate.word}", "sh")
    began = [tmp_path / f"began-{i}" for i in range(1, 5)]
    wait_until(lambda: all(one.exists() for one in began), "all items to begin")
    for one in began:
        one.unlink()
    return running


def test_killed_while_items_run_it_leaves_no_cgroup(drover, gate, held, tmp_path):
    """The helpers remove them, however soon after drover's death they are done."""
    for _ in range(50 if SOAK else 8):
        running = start_daemons(drover, gate, tmp_path)
        assert bool(cgroups_of(running.pid)) == bool(held)
        running.kill()
        wait_until(lambda: not drover.left_over(), "every descendant to die", 30)
        wait_until(lambda pid=running.pid: not cgroups_of(pid), "the cgroups to be removed", 30)
    gate.open()
    assert drover("resume", "r").status == 0


@pytest.mark.parametrize("next_run", [("resume", "r"), ("run", "--name", "other", "--", "true", ":::", "a")])
def test_killed_with_its_helpers_the_next_run_removes_what_is_left(drover, gate, held, tmp_path, next_run):
    if not held:
        pytest.skip("what is left cannot be found here")
    running = start_daemons(drover, gate, tmp_path)
    helpers = helpers_of(drover)
    assert len(helpers) == 4 and cgroups_of(running.pid) != []
    assert any("forks_daemon" in command for command in drover.left_over().values())
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that none has the time to tidy up
        for pid in (running.pid, *helpers):
            os.kill(pid, number)
    running.done()
    gate.open()
    assert drover(*next_run).status == 0
    assert cgroups_of(running.pid) == []
    wait_until(lambda: not drover.left_over(), "the daemons to die", 30)
    assert drover("resume", "r").status == 0


def test_a_cgroup_that_an_item_made_goes_with_it(drover, held):
    """As one does that runs containers."""
    if "memory" not in held:
        pytest.skip("there is none to make it in")
    item = """
        import os, pathlib
        own = [line.rstrip().split(":", 2) for line in open("/proc/self/cgroup")]
        paths = [path for _, names, path in own if names in ("", "memory") and "/drover-" in path]
        below = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if any(folder.endswith(path) for path in paths)]
        for folder in below: pathlib.Path(folder, "inner").mkdir()
        assert below"""
    script = "\n".join(line.strip() for line in item.splitlines())
    ended = drover("run", "--name", "r", "--memory", "64MiB", "--", "/usr/bin/python3", "-c", script, ":::", "a")
    try:
        assert ended.status == 0, ended
        assert cgroups_of(drover.started[0].pid) == []
    finally:
        for folder in cgroups_of(drover.started[0].pid):
            for each in (f"{folder}/inner", folder):
                if os.path.isdir(each):
                    os.rmdir(each)


def test_a_run_in_another_pid_namespace_is_left_alone(drover, gate, held, tmp_path):
    """It has the same cgroups, and numbers of processes that mean nothing here."""
    apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if not held or subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("nothing is shared, or nothing is apart")
    inner = subprocess.Popen([*apart, BINARY, "run", "--quiet", "--name", "inner", "--jobs", "1", "--", "sh", "-c",
                              f"touch began; {gate.word}", ":::", "a"],
                             env=drover.environment(), cwd=tmp_path, stdin=subprocess.DEVNULL)
    try:
        wait_until((tmp_path / "began").exists, "the item in there")
        assert drover("run", "--name", "outer", "--", "true", ":::", "a").status == 0
        gate.open()
        assert inner.wait(60) == 0
    finally:
        inner.kill()
        inner.wait()
    assert [row[:4] for row in attempts(drover, "inner")] == [(0, 1, "succeeded", "exited")]
