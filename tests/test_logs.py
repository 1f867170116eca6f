"""What items printed, read back: byte for byte, as it comes, by a regular expression, and after everything that can
happen to a run and to the files its logs are in."""

import json
import os
import random
import re
import subprocess
import sys
import time

import pytest

from drover import BINARY, SOAK, wait_until

KILLS, KILLED_ITEMS, LINES, LONG_EVERY = (50, 6_000, 20, 200) if SOAK else (8, 1_000, 20, 50)
SHORT_LOGS = 100_000 if SOAK else 10_000
LARGE_LOG_MIB = 300
MEMORY_BOUND_MIB = 128
TORN_PLACES = 200 if SOAK else 50


@pytest.fixture
def chance():
    seed = int(os.environ.get("DROVER_SEED") or random.SystemRandom().randrange(2**32))
    print(f"again with the same numbers: DROVER_SEED={seed}")
    return random.Random(seed)


def logs(drover, *arguments, **options):
    """What `drover logs …` shows, as bytes."""
    shown = drover("logs", *arguments, **options)
    assert (shown.status, shown.err) == (0, ""), shown
    return shown.raw_out


def log_lines(drover, *arguments, **options):
    return logs(drover, *arguments, **options).decode(errors="surrogateescape").splitlines()


def json_lines(drover, *arguments):
    return [json.loads(line) for line in logs(drover, *arguments, "--json").splitlines()]


def grep(drover, *arguments):
    """The lines, if there are any."""
    found = drover("logs", *arguments)
    assert found.err == "" and found.status == (0 if found.out else 1), found
    return found.out.splitlines()


def segments(drover, name):
    return sorted((drover.run_folder(name) / "logs").glob("*.zst"))


class Follower:
    """A `drover logs --follow` and what it has shown so far."""

    def __init__(self, drover, *arguments):
        self.running = drover.start("logs", *arguments, "--follow")
        self.shown = b""
        os.set_blocking(self.running.process.stdout.fileno(), False)

    def shows(self, words):
        self.shown += self.running.process.stdout.read() or b""
        return words.encode() in self.shown

    def wait_for(self, words):
        wait_until(lambda: self.shows(words), f"{words!r} to be shown")

    def end(self):
        """Everything, once it has ended by itself."""
        wait_until(lambda: self.shows("\0never\0") or not self.running.alive(), "the follower to end")
        os.set_blocking(self.running.process.stdout.fileno(), True)
        ended = self.running.done()
        assert (ended.status, ended.err) == (0, ""), ended
        return (self.shown + ended.raw_out).decode()


# --- one item


OUTPUTS = {
    "nothing": b"",
    "a line": b"hello\n",
    "no newline": b"one\ntwo",
    "only a newline": b"\n",
    "empty lines": b"\n\n\nx\n\n",
    "carriage returns": b"10 %\r20 %\r\nready\r\n",
    "NULs": b"\0\0a\0\n\0",
    "no UTF-8": b"caf\xe9 \xff\xfe\n\x80\n",
    "escapes": b"\x1b[31mred\x1b[m\n\a\b\n",
    "a long line": b"x" * 3_000_000 + b"\nshort\n",
    "a megabyte of noise": random.Random(1).randbytes(1 << 20),
    "many lines": b"".join(b"line %d\n" % i for i in range(100_000)),
}


@pytest.mark.parametrize("stream", ["out", "err"])
def test_what_an_item_printed_comes_back_byte_for_byte(drover, tmp_path, stream):
    for index, output in enumerate(OUTPUTS.values()):
        (tmp_path / str(index)).write_bytes(output)
    command = {"out": "cat", "err": "cat >&2"}[stream]
    ended = drover("run", "--name", "r", "--quiet", "--range", f"0-{len(OUTPUTS) - 1}", "--shell", "--", f"{command} < {{}}")
    assert ended.status == 0, ended
    for index, (what, output) in enumerate(OUTPUTS.items()):
        assert logs(drover, f"r:{index}") == output, what
        assert logs(drover, f"r:{index}", "--stderr") == (output if stream == "err" else b""), what


def test_zstd_reads_the_files_too(drover):
    assert drover("run", "--name", "r", "--quiet", "--range", "1-100", "--", "echo", "text of {}").status == 0
    for segment in segments(drover, "r"):
        plain = subprocess.run(["zstd", "-dc", str(segment)], stdout=subprocess.PIPE, check=True).stdout
        assert plain.count(b"text of") == 100


def test_every_attempt_has_a_heading_and_can_be_asked_for(drover, script):
    item = script("item", 'echo "out of $DROVER_ATTEMPT"; printf "err of $DROVER_ATTEMPT" >&2; test $DROVER_ATTEMPT = 3 || exit 7')
    assert drover("run", "--name", "r", "--quiet", "--retries", 2, "--", item, ":::", "a").status == 0
    shown = log_lines(drover, "r:0")
    assert [line for line in shown if line.startswith("==> attempt")] == [
        "==> attempt 1, failed: exited with code 7 <==", "==> attempt 2, failed: exited with code 7 <==",
        "==> attempt 3, succeeded <=="]
    assert [line for line in shown if not line.startswith("==>")] == [
        f"{stream} of {attempt}" for attempt in (1, 2, 3) for stream in ("out", "err")]
    for attempt in (1, 2, 3):
        assert logs(drover, "r:0", "--attempt", attempt) == f"out of {attempt}\nerr of {attempt}".encode()
        assert logs(drover, "r:0", "--attempt", attempt, "--stderr") == f"err of {attempt}".encode()
    drover("logs", "r:0", "--attempt", 4).refuses("4", "drover items r:0")
    assert [(line["attempt"], line["stream"], line["text"]) for line in json_lines(drover, "r:0")] == [
        (attempt, f"std{stream}", f"{stream} of {attempt}") for attempt in (1, 2, 3) for stream in ("out", "err")]


def test_an_attempt_of_a_whole_run_is_chosen_or_refused(drover, script):
    item = script("item", 'echo "try $DROVER_ATTEMPT"; test $DROVER_ATTEMPT = 2')
    assert drover("run", "--name", "r", "--quiet", "--retries", 1, "--", item, ":::", "a", "b").status == 0
    for how in ((), ("--by-time",)):
        shown = drover("logs", "r", "--attempt", 2, *how)
        assert shown.status == 2 or sorted(shown.out.splitlines()) == ["0: try 2", "1: try 2"], shown


def test_one_item_is_shown_with_what_each_attempt_printed(drover, script):
    item = script("item", 'echo "out of $DROVER_ATTEMPT"; echo "err of $DROVER_ATTEMPT" >&2; test $DROVER_ATTEMPT = 2')
    assert drover("run", "--name", "r", "--quiet", "--retries", 1, "--", item, ":::", "a").status == 0
    one, = drover("items", "r:0", "--json").json_lines
    assert [(it["stdout"], it["stderr"], it["log_bytes"]) for it in one["attempts"]] == [
        (f"out of {attempt}\n", f"err of {attempt}\n", 18) for attempt in (1, 2)]
    assert [it["last_line"] for it in one["attempts"]] == ["err of 1", None]


def test_an_item_or_a_run_that_does_not_exist_is_named(drover):
    assert drover("run", "--name", "r", "--quiet", "--", "echo", ":::", "a", "b").status == 0
    drover("logs", "r:2").refuses("r", "2")
    drover("logs", "nobody").refuses("nobody")
    drover("logs", "r:0", "--failed").refuses("--failed")
    drover("logs", "r", "--count").refuses("--count", "--grep")
    drover("logs", "r", "--context", 2).refuses("--context", "--grep")
    drover("logs", "r", "-i").refuses("--ignore-case", "--grep")
    drover("logs", "r", "--grep", "x", "--follow").refuses("--grep", "--follow")


def test_nothing_was_printed_is_no_error(drover):
    assert drover("run", "--name", "r", "--quiet", "--", "true", ":::", "a", "b").status == 0
    for arguments in (("r",), ("r:1",), ("r", "--tail", 3), ("r:1", "--tail", 3), ("r", "--by-time"), ("r", "--follow"),
                      ("r:0", "--follow"), ("r", "--json"), ("r", "--failed")):
        assert logs(drover, *arguments) == b"", arguments
    assert grep(drover, "r", "--grep", "") == []


# --- the last lines


def test_tail_is_the_last_lines_of_an_item(drover):
    assert drover("run", "--name", "r", "--quiet", "--", "seq", ":::", 100_000).status == 0
    for number in (0, 1, 2, 10, 54_321, 99_999, 100_000, 300_000):
        wanted = [str(line) for line in range(max(1, 100_001 - number), 100_001)]
        assert log_lines(drover, "r:0", "--tail", number) == wanted


def test_a_line_that_was_not_ended_counts_as_a_last_line(drover):
    assert drover("run", "--name", "r", "--quiet", "--", "sh", "-c", r"printf 'one\ntwo\nthree'", ":::", "a").status == 0
    for number, wanted in ((1, b"three"), (2, b"two\nthree"), (3, b"one\ntwo\nthree"), (4, b"one\ntwo\nthree")):
        assert logs(drover, "r:0", "--tail", number) == wanted


def test_tail_means_the_last_attempt(drover):
    command = "echo one $DROVER_ATTEMPT; echo two $DROVER_ATTEMPT; echo oops $DROVER_ATTEMPT >&2; test $DROVER_ATTEMPT = 3"
    assert drover("run", "--name", "r", "--quiet", "--retries", 2, "--", "sh", "-c", command, ":::", "a").status == 0
    assert log_lines(drover, "r:0", "--tail", 2, "--stderr") == ["oops 3"]
    assert sorted(log_lines(drover, "r:0", "--tail", 3)) == ["one 3", "oops 3", "two 3"]
    assert log_lines(drover, "r:0", "--tail", 1, "--stderr", "--attempt", 2) == ["oops 2"]


def test_tail_of_a_run_is_what_was_printed_last(drover):
    assert drover("run", "--name", "r", "--quiet", "--jobs", 1, "--range", "0-999", "--", "echo", "text {}").status == 0
    for number in (0, 1, 10, 600, 2_000):
        wanted = [f"{index}: text {index}" for index in range(max(0, 1_000 - number), 1_000)]
        assert log_lines(drover, "r", "--tail", number) == wanted


def test_tail_of_the_failed_leaves_the_others_away(drover):
    ended = drover("run", "--name", "r", "--quiet", "--jobs", 1, "--", "sh", "-c", "echo text $1; exit $1", "sh", ":::", 0, 3, 0)
    assert ended.status == 1, ended
    assert log_lines(drover, "r", "--failed") == ["1: text 3"]
    for how in (("--tail", 5), ("--by-time",)):
        shown = drover("logs", "r", "--failed", *how)
        assert shown.status == 2 or shown.out == "1: text 3\n", shown


# --- a whole run


def print_one_after_the_other(script, tmp_path):
    """A program whose items print in the reverse of their order: each waits for the one behind it."""
    return script("reversed", f"""
        while [ $1 -lt 5 ] && [ ! -e {tmp_path}/printed-$(($1 + 1)) ]; do sleep 0.01; done
        echo out of $1
        echo err of $1 >&2
        touch {tmp_path}/printed-$1""")


def test_a_whole_run_is_shown_item_after_item(drover, script, tmp_path):
    item = print_one_after_the_other(script, tmp_path)
    assert drover("run", "--name", "r", "--quiet", "--jobs", 6, "--range", "0-5", "--", item).status == 0
    assert log_lines(drover, "r") == [f"{index}: {stream} of {index}" for index in range(6) for stream in ("out", "err")]
    assert log_lines(drover, "r", "--stderr") == [f"{index}: err of {index}" for index in range(6)]
    assert [(line["item"], line["stream"]) for line in json_lines(drover, "r")] == [
        (index, stream) for index in range(6) for stream in ("stdout", "stderr")]
    assert log_lines(drover) == log_lines(drover, "r")


def test_by_time_shows_all_items_in_the_order_of_time(drover, script, tmp_path):
    item = print_one_after_the_other(script, tmp_path)
    assert drover("run", "--name", "r", "--quiet", "--jobs", 6, "--range", "0-5", "--", item).status == 0
    lines = json_lines(drover, "r", "--by-time", "--stderr")
    assert [line["time_ms"] for line in lines] == sorted(line["time_ms"] for line in lines)
    # A line's time is when it was read; on a busy machine two that were printed at almost the same time may change places.
    order = [line["item"] for line in lines]
    assert sorted(order) == list(range(6)) and order != list(range(6))
    assert log_lines(drover, "r", "--tail", 2, "--stderr") == [f"{item}: err of {item}" for item in order[-2:]]


def test_lines_of_items_that_print_at_once_stay_whole(drover, script):
    item = script("item", 'i=0; while [ $i -lt 200 ]; do printf "item %s "  $1; printf "line %s\\n" $i; i=$((i + 1)); done')
    assert drover("run", "--name", "r", "--quiet", "--jobs", 4, "--range", "0-7", "--", item).status == 0
    for how in ((), ("--by-time",)):
        shown = log_lines(drover, "r", *how)
        for index in range(8):
            mine = [line for line in shown if line.startswith(f"{index}: ")]
            assert mine == [f"{index}: item {index} line {line}" for line in range(200)]
    assert sorted(shown) == sorted(f"{index}: item {index} line {line}" for index in range(8) for line in range(200))


# --- times


@pytest.fixture
def old_and_new(drover, gate, script):
    """A run whose item printed "old", and "new" more than two seconds later; gives both times in milliseconds."""
    item = script("item", f"echo old; {gate.word}; echo new")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "old\n", "the first line")
    begun = time.monotonic()
    wait_until(lambda: time.monotonic() > begun + 2.1, "two seconds to pass")
    gate.open()
    assert running.done().status == 0
    return [line["time_ms"] for line in json_lines(drover, "r")]


def test_times_are_shown_and_chosen_by(drover, old_and_new):
    between_s = old_and_new[0] // 1000 + 1  # the first whole second after the old one
    assert old_and_new[0] < between_s * 1000 < old_and_new[1]
    tokyo = {"TZ": "TOK-9"}
    there = time.gmtime(between_s + 9 * 3600)
    for text in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"):
        assert log_lines(drover, "r:0", "--since", time.strftime(text, there), env=tokyo) == ["new"]
        assert log_lines(drover, "r:0", "--since", time.strftime(text + "Z", time.gmtime(between_s)), env=tokyo) == ["new"]
    for reference, prefix in (("r:0", ""), ("r", "0: ")):
        assert log_lines(drover, reference, "--since", "1h") == [f"{prefix}old", f"{prefix}new"]
        assert log_lines(drover, reference, "--since", "2000-01-01") == [f"{prefix}old", f"{prefix}new"]
        for nothing in ("0s", "2999-12-31", "2999-12-31 10:15"):
            assert log_lines(drover, reference, "--since", nothing) == []
    between = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(between_s))
    assert grep(drover, "r", "--grep", "o|e", "--since", between) == ["0:2:new"]
    assert log_lines(drover, "r", "--by-time", "--since", between) == ["0: new"]
    for wrong in ("yesterday", "2026-13-01", "10:15", "10 m"):
        drover("logs", "r", "--since", wrong).refuses("--since", wrong)

    # And with --times they stand before the lines.
    texts = [f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03}" for ms in old_and_new]
    utc = {"TZ": "UTC0"}
    assert log_lines(drover, "r:0", "--times", env=utc) == [f"{texts[0]} old", f"{texts[1]} new"]
    assert log_lines(drover, "r", "--times", env=utc) == [f"{texts[0]} 0: old", f"{texts[1]} 0: new"]
    assert drover("logs", "r", "--times", "--grep", "new", env=utc).out == f"{texts[1]} 0:2:new\n"


def test_json_names_all_there_is_to_know_of_a_line(drover):
    begun_ms = int(time.time() * 1000)
    assert drover("run", "--name", "r", "--quiet", "--", "sh", "-c", r"printf 'caf\351\n\304\303\244\tx'", ":::", "a").status == 0
    lines = json_lines(drover, "r:0")
    assert [set(line) for line in lines] == [{"item", "attempt", "stream", "time_ms", "text"}] * 2
    assert [line["text"] for line in lines] == ["caf\ufffd", "\ufffdä\tx"]
    for line in lines:
        assert (line["item"], line["attempt"], line["stream"]) == (0, 1, "stdout")
        assert begun_ms - 1_000 <= line["time_ms"] <= time.time() * 1000 + 1_000


# --- the search


WORDS = ["error", "Error", "warning", "ok", "42", "loss=nan", "loss=0.5", "", "   ", "ünïcode", "CUDA error: 2", "(x)"]


@pytest.fixture
def corpus(drover, tmp_path):
    """A run of items that print some lines each, to both streams; {item: [line, …]} of it. Every third item fails."""
    numbers = random.Random(7)
    printed = {}
    for index in range(60):
        printed[index] = [" ".join(numbers.choices(WORDS, k=numbers.randrange(4))) for _ in range(numbers.randrange(40))]
        (tmp_path / str(index)).write_text("".join(f"{line}\n" for line in printed[index]))
    ended = drover("run", "--name", "r", "--quiet", "--range", "0-59", "--", "sh", "-c", "cat $1; exit $(($1 % 3 == 0))", "sh")
    assert ended.status == 1, ended
    return printed


def matches(printed, pattern, flags=0):
    return [(index, number, line) for index, lines in printed.items() for number, line in enumerate(lines, 1)
            if re.search(pattern, line, flags)]


def hit(index, number, line):
    return f"{index}:{number}:{line}"


def test_the_search_finds_what_another_finds(drover, corpus):
    for pattern in ("error", "^error", "42$", "^$", "", r"\s", r"ok\s+42", "error|warning", "loss=(nan|0)", "ï.c", "^.{3}$",
                    r"\(x\)", "[^a-z]$", "nothing like it"):
        wanted = matches(corpus, pattern)
        assert grep(drover, "r", "--grep", pattern) == [hit(*one) for one in wanted], pattern
        counted = drover("logs", "r", "--grep", pattern, "--count", "--json")
        assert counted.json_lines == [{"lines": len(wanted), "attempts": len({index for index, _, _ in wanted})}]
        assert counted.status == (0 if wanted else 1)


def test_the_search_takes_flags(drover, corpus):
    found = matches(corpus, "error")
    assert grep(drover, "r", "-i", "-g", "error") == [hit(*one) for one in matches(corpus, "error", re.I)]
    assert grep(drover, "r", "--failed", "--grep", "error") == [hit(*one) for one in found if one[0] % 3 == 0]
    one = found[-1][0]
    assert grep(drover, f"r:{one}", "--grep", "error") == [hit(*it) for it in found if it[0] == one]
    assert grep(drover, f"r:{one}", "--grep", "error", "--attempt", 2) == []
    assert grep(drover, "r", "--grep", "error", "--stderr") == []
    listed = [json.loads(line) for line in grep(drover, "r", "--grep", "error", "--json")]
    assert [(it["item"], it["line"], it["text"]) for it in listed] == found
    assert all(it["match"] and it["attempt"] == 1 and it["stream"] == "stdout" for it in listed)
    assert grep(drover, "r", "--grep", "error", "--count") == [
        f"{len(found)} lines in {len({index for index, _, _ in found})} attempts"]


def test_the_search_shows_what_stands_near_as_grep_does(drover, corpus, tmp_path):
    for context in (1, 3):
        for index in range(0, 60, 4):
            like_grep = subprocess.run(["grep", "-nE", f"-C{context}", "loss=nan|CUDA", str(tmp_path / str(index))],
                                       stdout=subprocess.PIPE, text=True).stdout.splitlines()
            wanted = [line if line == "--" else re.sub(r"^(\d+)([:-])", rf"{index}\2\1\2", line) for line in like_grep]
            assert grep(drover, f"r:{index}", "--grep", "loss=nan|CUDA", "--context", context) == wanted
        shown = [json.loads(line) for line in grep(drover, "r", "--grep", "loss=nan|CUDA", "--context", context, "--json")]
        assert [(it["item"], it["line"], it["text"]) for it in shown if it["match"]] == matches(corpus, "loss=nan|CUDA")


def test_a_search_ends_with_the_status_of_grep(drover, corpus):
    assert drover("logs", "r", "--grep", "error").status == 0
    assert drover("logs", "r", "--grep", "nothing like it").status == 1
    nothing = drover("logs", "r", "--grep", "nothing like it", "--count")
    assert (nothing.status, nothing.out) == (1, "0 lines in 0 attempts\n")
    for wrong in ("(", "[z-a]", "a**", "\\"):
        drover("logs", "r", "--grep", wrong).refuses(wrong, "regular expression")


def test_a_line_that_comes_in_pieces_is_found_whole(drover, script):
    item = script("item", "printf 'CUDA '; sleep 0.02; printf 'error: '; sleep 0.02; echo 'out of memory'")
    assert drover("run", "--name", "r", "--quiet", "--", item, ":::", "a").status == 0
    assert grep(drover, "r", "--grep", "^CUDA error: out of memory$") == ["0:1:CUDA error: out of memory"]


def test_reading_ends_when_nobody_reads_on(drover):
    assert drover("run", "--name", "r", "--quiet", "--", "seq", "-f", "line %.0f", ":::", 2_000_000).status == 0
    for arguments in (("r:0",), ("r",), ("r", "--by-time"), ("r", "--grep", "line"), ("r:0", "--json")):
        reading = drover.start("logs", *arguments)
        assert b"line" in reading.process.stdout.read(100)
        reading.process.stdout.close()
        wait_until(lambda: not reading.alive(), "the reading to end")
        assert reading.error.all(60) == b""


# --- as it comes


def test_following_an_item_shows_what_it_prints_until_it_ends(drover, gate, script):
    item = script("item", f"echo one; echo two >&2; {gate.word}; echo three")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out.count("\n") == 2, "the first lines")
    following = Follower(drover, "r:0")
    following.wait_for("two\n")
    assert following.running.alive()
    gate.open()
    assert sorted(following.end().split()) == ["one", "three", "two"]
    assert running.done().status == 0


def test_following_an_item_ends_with_the_item_and_not_with_the_run(drover, gate, script):
    item = script("item", f"echo begun $1; test $1 = a || {gate.word}")
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 2, "--", item, ":::", "a", "b")
    wait_until(lambda: drover.runs() == ["r"] and "begun b" in drover("logs", "r:1").out, "the second item")
    assert Follower(drover, "r:0").end() == "begun a\n"
    assert running.alive()
    gate.open()
    assert running.done().status == 0
    assert Follower(drover, "r:0").end() == "begun a\n"


def test_following_goes_on_through_a_retry(drover, gate, script):
    item = script("item", f"echo try $DROVER_ATTEMPT; {gate.word}; echo end $DROVER_ATTEMPT; test $DROVER_ATTEMPT = 2")
    running = drover.start("run", "--name", "r", "--quiet", "--retries", 1, "--retry-delay", "300ms", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "try 1\n", "the first try")
    following = Follower(drover, "r:0")
    following.wait_for("try 1\n")
    gate.open()
    shown = following.end()
    assert [line for line in shown.splitlines() if "==>" not in line] == ["try 1", "end 1", "try 2", "end 2"]
    assert "==> attempt 2" in shown
    assert running.done().status == 0


def test_following_with_a_tail_shows_no_earlier_attempt(drover, gate, script):
    item = script("item", f"seq -f '{{}} %.0f' 5 | sed s/{{}}/$DROVER_ATTEMPT/; test $DROVER_ATTEMPT = 2 || exit 1; {gate.word}; echo end")
    running = drover.start("run", "--name", "r", "--quiet", "--retries", 1, "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and "2 5" in drover("logs", "r:0").out, "the second try")
    following = Follower(drover, "r:0", "--tail", 2)
    following.wait_for("2 5")
    gate.open()
    assert following.end().splitlines() == ["2 4", "2 5", "end"]
    assert running.done().status == 0


def test_following_waits_for_an_item_that_has_not_started(drover, gate, script):
    item = script("item", f"{gate.word}; echo text of $1")
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 1, "--", item, ":::", "a", "b", "c")
    wait_until(lambda: drover.runs() == ["r"] and drover("status", "r").status == 0, "the run")
    following = Follower(drover, "r:2")
    gate.open()
    assert following.end() == "text of c\n"
    assert running.done().status == 0


def test_following_a_run_shows_what_all_items_print_until_it_ends(drover, gate, script):
    item = script("item", f"echo begin $1; test $1 -lt 30 || {gate.word}; echo end $1")
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 2, "--range", "0-39", "--", item)
    wait_until(lambda: drover.runs() == ["r"] and "begin 30" in drover("logs", "r").out, "the first that waits")
    following = Follower(drover, "r", "--tail", 1000)
    following.wait_for("30: begin 30\n")
    assert following.running.alive()
    gate.open()
    shown = following.end().splitlines()
    assert sorted(shown) == sorted(f"{index}: {word} {index}" for index in range(40) for word in ("begin", "end"))
    assert running.done().status == 0


def test_following_a_run_begins_with_a_little_of_what_was(drover, gate, script):
    item = script("item", f"echo text {{}} $1; test $1 -lt 50 || {gate.word}")
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 1, "--range", "0-50", "--", item)
    wait_until(lambda: drover.runs() == ["r"] and "50: text" in drover("logs", "r").out, "the last")
    following = Follower(drover, "r")
    following.wait_for("50: text")
    gate.open()
    assert [int(line.split(":")[0]) for line in following.end().splitlines()] == list(range(41, 51))
    assert running.done().status == 0


def test_following_ends_when_the_run_is_killed(drover, gate, script):
    item = script("item", f"echo begun; {gate.word}")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "begun\n", "the first line")
    followers = [Follower(drover, "r:0"), Follower(drover, "r")]
    for following in followers:
        following.wait_for("begun\n")
    running.kill()
    for following in followers:
        assert following.end().count("begun") == 1


def test_a_line_that_is_not_ended_can_be_read(drover, gate, script):
    item = script("item", f"printf 'working... '; {gate.word}; echo done")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "working... ", "half a line")
    assert drover("logs", "r").out == "0: working... \n"
    gate.open()
    assert running.done().status == 0
    assert logs(drover, "r:0") == b"working... done\n"
    assert grep(drover, "r", "--grep", "^working... done$") == ["0:1:working... done"]
    assert logs(drover, "r:0", "--tail", 1) == b"working... done\n"


def test_following_an_item_shows_lines_that_are_not_ended(drover, gate, script):
    item = script("item", f"printf '10 %%\\r'; printf '20 %%\\r'; {gate.word}; echo '100 %'")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "10 %\r20 %\r", "the first part of a line")
    following = Follower(drover, "r:0")
    following.wait_for("20 %\r")
    gate.open()
    assert following.end() == "10 %\r20 %\r100 %\n"
    assert running.done().status == 0


def test_what_was_once_seen_of_a_run_on_its_way_stays_to_be_seen(drover, script):
    """Also in the moment in which an attempt has ended and the ledger does not know of it yet."""
    item = script("item", "echo begin $1; sleep 0.0$(($1 % 10)); echo end $1")
    running = drover.start("run", "--name", "r", "--quiet", "--jobs", 4, "--range", "0-399", "--", item)
    wait_until(lambda: drover.runs() == ["r"] and drover("status", "r").status == 0, "the run")
    seen = {"r": set(), "r:7": set(), "r:350": set()}
    while running.alive():
        for reference, before in seen.items():
            shown = set(log_lines(drover, reference))
            assert before <= shown, f"{reference} has lost {sorted(before - shown)[:10]}"
            before |= shown
        assert drover("logs", "r", "--grep", "begin", "--count").status in (0, 1)
    assert running.done().status == 0
    assert log_lines(drover, "r") == [f"{index}: {word} {index}" for index in range(400) for word in ("begin", "end")]


# --- limits, copies, sizes


@pytest.mark.parametrize("width", [10, 13])
def test_a_long_output_keeps_its_beginning_and_its_end(drover, width):
    """Whether the cut falls between two lines or inside one."""
    lines = [f"{number:0{width - 1}}" for number in range(20_000)]
    ended = drover("run", "--name", "r", "--quiet", "--log-limit", "10KiB", "--", "seq", "-f", f"%0{width - 1}.0f", "0",
                   ":::", 19_999)
    assert ended.status == 0, ended
    printed = "".join(f"{line}\n" for line in lines)
    shown = logs(drover, "r:0").decode()
    assert len(shown) < 10_240 + 200
    note = re.search(r"\[drover: (\d+) bytes were cut out here; the limit is 10240 bytes of output\]\n", shown)
    begin, end = shown[:note.start()].removesuffix("\n"), shown[note.end():]
    assert printed.startswith(begin) and len(begin) > 4_000, begin[-100:]
    assert printed.endswith(end) and len(end) > 1_000, end[:100]
    assert abs(len(begin) + int(note.group(1)) + len(end) - len(printed)) <= 1
    assert grep(drover, "r", "--grep", lines[-1]) != [] and grep(drover, "r", "--grep", lines[0]) != []
    assert grep(drover, "r", "--grep", lines[10_000]) == []
    one, = drover("items", "r:0", "--json").json_lines
    assert one["attempts"][0]["log_bytes"] == len(printed)


def test_copies_are_whole_whatever_the_limit(drover, tmp_path):
    ended = drover("run", "--name", "r", "--quiet", "--log-limit", "10KiB", "--out", tmp_path / "out", "--",
                   "sh", "-c", "seq 50000; seq 7 >&2", ":::", "a")
    assert ended.status == 0, ended
    assert (tmp_path / "out/0.out").read_text() == "".join(f"{line}\n" for line in range(1, 50_001))
    assert (tmp_path / "out/0.err").read_text() == "".join(f"{line}\n" for line in range(1, 8))
    assert 0 < len(logs(drover, "r:0")) < 10_240 + 200


def test_many_short_logs_make_few_files(drover):
    ended = drover("run", "--name", "r", "--quiet", "--range", f"1-{SHORT_LOGS}", "--", "/bin/echo", "text of", seconds=1200)
    assert ended.status == 0, ended
    assert sum(len(files) for _, _, files in os.walk(drover.run_folder("r"))) < 500
    assert sum(file.stat().st_size for file in segments(drover, "r")) < SHORT_LOGS * 40
    assert grep(drover, "r", "--grep", "^text of", "--count") == [f"{SHORT_LOGS:,} lines in {SHORT_LOGS:,} attempts"]
    assert log_lines(drover, "r") == [f"{index}: text of {index + 1}" for index in range(SHORT_LOGS)]
    assert sorted(log_lines(drover, "r", "--by-time")) == sorted(log_lines(drover, "r"))


# Whoever starts a process passes its own peak on to it, so somebody small has to.
MEASURE = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""


def run_measured(drover, peak, *arguments):
    """Standard output's last line and size, and the peak memory of `drover …` in MiB, which goes through the file `peak`."""
    command = [sys.executable, "-c", MEASURE, peak, BINARY, *map(str, arguments)]
    process = subprocess.Popen(command, env=drover.environment(), stdout=subprocess.PIPE)
    size, last = 0, b""
    while piece := process.stdout.read(1 << 20):
        size += len(piece)
        last = (last + piece)[-1000:]
    process.stdout.close()
    assert process.wait() == 0, arguments
    return last.rstrip(b"\n").split(b"\n")[-1], size, int(peak.read_text()) / 1024


def test_a_log_larger_than_memory_is_read_in_little_memory(drover, tmp_path):
    """The lines have no end of numbers in them, so the files are large too."""
    line = "x" * 200
    lines = (LARGE_LOG_MIB << 20) // 210
    running = drover.start("run", "--name", "r", "--quiet", "--log-limit", 0, "--", "seq", "-f", f"%08.0f {line}", "1", ":::", lines)
    assert running.done(600).status == 0
    wanted = f"{lines:08} {line}".encode()
    size = lines * (len(wanted) + 1)
    assert size > (LARGE_LOG_MIB - 1) << 20
    assert run_measured(drover, tmp_path / "peak", "logs", "r:0")[:2] == (wanted, size)
    for arguments, last in (
            (("logs", "r:0"), wanted), (("logs", "r:0", "--tail", 3), wanted), (("logs", "r", "--tail", 3), b"0: " + wanted),
            (("logs", "r", "--by-time"), b"0: " + wanted), (("logs", "r", "--grep", f"^{lines:08}"), b"0:%d:%s" % (lines, wanted)),
            (("logs", "r", "--grep", "x", "--count"), b"%s lines in 1 attempt" % f"{lines:,}".encode()),
            (("logs", "r:0", "--grep", "00 x", "--context", 2), b"0-%d-%s" % (lines // 100 * 100 + 2, b"%08d %s" % (lines // 100 * 100 + 2, line.encode()))),
            (("items", "r:0"), wanted)):
        shown, _, memory_mib = run_measured(drover, tmp_path / "peak", *arguments)
        assert shown == last, arguments
        assert memory_mib < MEMORY_BOUND_MIB, f"{arguments} took {memory_mib:.0f} MiB"


# --- after a kill, and after worse


def varints(data):
    """The numbers in an attempt's row that say where its log is: segment, offset and size of each part."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def places(drover, name):
    """{(item, attempt): [(segment, offset, size), …]} of every attempt that the ledger knows."""
    found = {}
    for item, attempt, log in drover.rows(name, "SELECT item, attempt, log FROM attempt_rows"):
        numbers = varints(log or b"")
        found[item, attempt] = list(zip(numbers[::3], numbers[1::3], numbers[2::3]))
    return found


def check_reading(drover, name, item, damaged=None):
    """No verb that reads logs fails, but for a search in a file that is damaged."""
    for arguments in ((name,), (f"{name}:{item}",), (name, "--tail", 5), (f"{name}:{item}", "--tail", 5), (name, "--by-time"),
                      (name, "--follow"), (f"{name}:{item}", "--follow"), (name, "--failed"), (name, "--json")):
        logs(drover, *arguments)
    if damaged is None:
        grep(drover, name, "--grep", "9$", "--context", 1)
    else:
        check_search_is_incomplete(drover("logs", name, "--grep", "9$", "--context", 1), damaged)
    assert drover("items", f"{name}:{item}", "--json").status == 0


class Tries:
    """What became of every try at an item, by the lines it printed: {(item, attempt, its own id): {stream: [number, …]}}."""

    def __init__(self, lines):
        self.tries = {}
        for line in lines:
            item, attempt, own_id, number, *_ = line["text"].split()
            assert (int(item), int(attempt)) == (line["item"], line["attempt"]), line
            streams = self.tries.setdefault((int(item), int(attempt), own_id), {"stdout": [], "stderr": []})
            streams[line["stream"]].append(int(number))

    def check(self, ended):
        """Every attempt that has ended is whole; of any other there is the beginning."""
        whole = {}
        for (item, attempt, own_id), streams in self.tries.items():
            for stream, numbers in streams.items():
                assert numbers == list(range(1, len(numbers) + 1)), f"{item}, attempt {attempt}: {stream} has {numbers}"
            if all(len(numbers) == LINES for numbers in streams.values()):
                whole[item, attempt] = whole.get((item, attempt), 0) + 1
        missing = [attempt for attempt in ended if whole.get(attempt, 0) < 1]
        assert missing == [], f"{len(missing)} attempts that ended are not whole, such as {missing[:5]}"


def ended_attempts(drover, name):
    return set(drover.rows_if_any(name, "SELECT item, attempt FROM attempts WHERE ending = 'exited'"))


def test_killed_at_random_moments_every_log_of_an_attempt_that_ended_is_whole(drover, chance, gate, script):
    """Each try at an item prints numbered lines to both streams; some stop for a while in between, and some print enough for
    frames of their own."""
    item = script("item", f"""
        read own_id < /proc/sys/kernel/random/uuid
        i=$DROVER_ITEM_INDEX
        [ $i -lt {KILLED_ITEMS * 19 // 20} ] || {gate.word}  # it is not done before the last kill
        n=1
        long=
        [ $((i % {LONG_EVERY})) != 7 ] || long=$(printf %040000d 0)
        while [ $n -le {LINES} ]; do
          echo $i $DROVER_ATTEMPT $own_id $n $long
          echo $i $DROVER_ATTEMPT $own_id $n $long >&2
          n=$((n + 1))
          [ $n != 10 ] || [ $((i % 10)) != 3 ] || sleep 0.03
        done
        [ $((i % 5)) != 0 ] || [ $DROVER_ATTEMPT -ge 2 ]""")
    line = ("run", "--name", "r", "--quiet", "--jobs", 4, "--retries", 100, "--range", f"1-{KILLED_ITEMS}", "--", item)
    for kill in range(KILLS):
        running = drover.start(*line)
        # Somewhere in this share of the run.
        until = KILLED_ITEMS * (kill + chance.random()) / (KILLS + 1)
        wait_until(lambda: len(ended_attempts(drover, "r")) >= until or not running.alive(), "some items to end")
        assert running.alive(), f"it was done with {KILLS - kill} kills to go"
        running.kill()
        known = ended_attempts(drover, "r")
        Tries(json_lines(drover, "r")).check(known)
        check_reading(drover, "r", chance.choice(sorted(known))[0] if known else 0)
    gate.open()
    assert drover(*line, seconds=300).status == 0
    drover.check_all_succeeded("r", KILLED_ITEMS)

    known = ended_attempts(drover, "r")
    Tries(json_lines(drover, "r")).check(known)
    Tries(json_lines(drover, "r", "--by-time")).check(known)
    for index, attempt in chance.sample(sorted(known), 40):
        Tries(json_lines(drover, f"r:{index}", "--attempt", attempt)).check({(index, attempt)})


@pytest.fixture
def killed_try(drover, gate, script, tmp_path):
    """A run whose only item was killed with drover, having printed something; the next try prints what is in `next`, once the
    gate is open."""
    item = script("item", f"""
        test -e {tmp_path}/begun || {{ touch {tmp_path}/begun; echo of the killed try; }}
        {gate.word}
        cat {tmp_path}/next""")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")
    wait_until(lambda: drover.runs() == ["r"] and drover("logs", "r:0").out == "of the killed try\n", "the first try")
    running.kill()
    return tmp_path / "next"


def test_what_a_killed_try_printed_is_shown(drover, killed_try):
    assert log_lines(drover, "r:0") == ["of the killed try"]
    assert log_lines(drover, "r") == log_lines(drover, "r", "--by-time") == ["0: of the killed try"]
    assert grep(drover, "r", "--grep", "killed") == grep(drover, "r:0", "--grep", "killed") == ["0:1:of the killed try"]
    assert "of the killed try\n" in drover("items", "r:0").out
    check_reading(drover, "r", 0)


def test_a_line_that_was_not_ended_is_lost_with_no_more_than_the_last_second(drover, script):
    """Nobody reads meanwhile: that would make drover write it down."""
    item = script("item", "printf '10 %%\\r'; n=0; while :; do echo \"later $n\" >&2; n=$((n + 1)); sleep 0.1; done")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a")

    def on_disk():
        files = segments(drover, "r") if drover.runs() == ["r"] else []
        return b"".join(subprocess.run(["zstd", "-dc", str(file)], capture_output=True).stdout for file in files)

    wait_until(lambda: b"later 25\n" in on_disk(), "what was printed two seconds later")
    running.kill()
    assert b"10 %\r" in logs(drover, "r:0")


def test_what_a_killed_try_printed_is_shown_while_the_next_one_is_silent(drover, gate, killed_try):
    killed_try.write_text("")
    running = drover.start("resume", "r", "--quiet")
    wait_until(lambda: "running" in drover("items", "r").out, "the next try")
    assert "of the killed try" in log_lines(drover, "r:0")
    assert "0: of the killed try" in log_lines(drover, "r")
    gate.open()
    assert running.done().status == 0


@pytest.mark.parametrize("printed", ["of the next try\n", ""])
def test_what_a_killed_try_printed_is_not_taken_for_what_the_next_one_printed(drover, gate, killed_try, printed):
    killed_try.write_text(printed)
    gate.open()
    assert drover("resume", "r", "--quiet").status == 0
    attempt, = drover.rows("r", "SELECT attempt FROM items")[0]
    shown = log_lines(drover, "r:0")
    assert "of the killed try" in shown
    assert printed == "" or "of the next try" in shown
    # Whatever number the killed try went by: it never ended, and the other one did.
    headings = [index for index, line in enumerate(shown) if line.startswith("==> attempt")]
    assert len(headings) == 2, shown
    one, = drover("items", "r:0", "--json").json_lines
    assert sorted(it["stdout"] for it in one["attempts"]) == sorted(["of the killed try\n", printed])
    settled, = [it for it in one["attempts"] if it["state"] == "succeeded"]
    assert (settled["attempt"], settled["stdout"]) == (attempt, printed)


def test_a_torn_file_costs_what_was_torn_and_nothing_else(drover, chance):
    """Cut anywhere: every verb works, and what lies before the cut is whole."""
    command = "echo out of $1; echo err of $1 >&2; test $(($1 % 7)) != 0"
    ended = drover("run", "--name", "r", "--quiet", "--jobs", 2, "--range", "0-299", "--", "sh", "-c", command, "sh")
    assert ended.status == 1, ended
    segment, = segments(drover, "r")
    whole, where = segment.read_bytes(), places(drover, "r")
    assert len({tuple(at) for at in where.values()}) > 3, "there should be several frames"
    frames = sorted({offset + size for at in where.values() for _, offset, size in at})
    cuts = {0, 1, len(whole) - 1, len(whole) - 16, *(edge + chance.choice((-1, 0, 1)) for edge in chance.sample(frames, 3))}
    while len(cuts) < TORN_PLACES:
        cuts.add(chance.randrange(len(whole)))
    for cut in sorted(cuts, reverse=True):
        os.truncate(segment, cut)
        lines = [(line["item"], line["text"]) for line in json_lines(drover, "r") if line["stream"] != "drover"]
        safe = {item for (item, _), at in where.items() if all(offset + size <= cut for _, offset, size in at)}
        wanted = {(item, f"{stream} of {item}") for item in range(300) for stream in ("out", "err")}
        assert set(lines) <= wanted and len(set(lines)) == len(lines), f"cut at {cut}"
        assert {one for one in wanted if one[0] in safe} <= set(lines), f"cut at {cut}"
        found = drover("logs", "r", "--grep", "^err of")
        assert {f"{item}:2:err of {item}" for item in safe} <= set(found.out.splitlines()), f"cut at {cut}"
        if len(safe) < 300:
            check_search_is_incomplete(found, segment)
        else:
            assert (found.status, found.err) == (0, ""), found
        item = chance.randrange(300)
        arguments = chance.choice([
            (f"r:{item}",), ("r", "--tail", 5), (f"r:{item}", "--tail", 1), ("r", "--by-time"), ("r", "--follow"),
            (f"r:{item}", "--follow"), ("r", "--failed"), ("r", "--stderr", "--since", "1h")])
        logs(drover, *arguments)
    os.truncate(segment, len(whole) // 3)
    check_reading(drover, "r", 299, damaged=segment)
    assert drover("retry", "r", "--quiet").status == 1
    check_reading(drover, "r", 299, damaged=segment)


@pytest.fixture
def two_segments(drover):
    """Items 0 and 1 printed into the first segment, item 1 again into the second."""
    ended = drover("run", "--name", "r", "--quiet", "--jobs", 1, "--", "sh", "-c", "echo try of $1; test -e go || exit $1", "sh",
                   ":::", 0, 1)
    assert ended.status == 1, ended
    (drover.folder / "go").touch()
    assert drover("retry", "r", "--quiet").status == 0
    first, second = segments(drover, "r")
    return first, second


def check_search_is_incomplete(found, segment):
    """It says which file, and how much of it, and programs see it too."""
    assert found.status == 2 and "incomplete" in found.err and segment.name in found.err, found
    assert re.search(r"in \d+ parts?, with output of \d+ attempts?\)", found.err), found
    if "--json" in found.arguments:
        assert "incomplete" in found.json_lines[-1]["problem"] and found.json_lines[-1]["next"], found


def test_a_file_that_is_gone_is_named_and_the_others_are_read(drover, two_segments):
    first, _ = two_segments
    first.unlink()
    for arguments in (("r:0",), ("r",), ("r", "--grep", "try"), ("r:1", "--attempt", 1)):
        shown = drover("logs", *arguments)
        named = str(first) in shown.err or "damaged" in shown.out
        assert named and shown.status in (0, 1, 2), shown
    check_search_is_incomplete(drover("logs", "r", "--grep", "try"), first)
    assert logs(drover, "r:1", "--attempt", 2) == b"try of 1\n"
    assert "1:1:try of 1" in drover("logs", "r", "--grep", "try").out
    assert "1: try of 1" in drover("logs", "r").out
    logs(drover, "r", "--tail", 1)


@pytest.mark.parametrize("garbage", [b"", b"\0" * 1000, b"not what it was\n" * 10_000, os.urandom(70_000)],
                         ids=["empty", "zeros", "text", "noise"])
def test_a_file_of_garbage_is_noted_and_the_others_are_read(drover, two_segments, garbage):
    first, _ = two_segments
    first.write_bytes(garbage)
    for arguments in (("r:0",), ("r",), ("r:1", "--attempt", 1), *([("r", "--by-time")] if garbage else [])):
        assert b"damaged" in logs(drover, *arguments), arguments
    assert logs(drover, "r:1", "--attempt", 2) == b"try of 1\n"
    assert b"1: try of 1\n" in logs(drover, "r")
    for flags in ((), ("--json",), ("--count",)):
        check_search_is_incomplete(drover("logs", "r", "--grep", "try", *flags), first)
    assert "1:1:try of 1" in drover("logs", "r", "--grep", "try").out
    check_reading(drover, "r", 0, damaged=first)
    check_reading(drover, "r", 1, damaged=first)


def test_a_file_changed_in_the_middle_costs_one_frame(drover, tmp_path):
    (tmp_path / "text").write_text("".join(f"{random.Random(i).getrandbits(200)}\n" for i in range(50_000)))
    assert drover("run", "--name", "r", "--quiet", "--", "cat", ":::", tmp_path / "text").status == 0
    segment, = segments(drover, "r")
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 0x10
    segment.write_bytes(damaged)
    shown = logs(drover, "r:0").decode().splitlines()
    wanted = (tmp_path / "text").read_text().splitlines()
    note, = [line for line in shown if "damaged" in line]
    assert set(shown) - set(wanted) - {note} <= {shown[shown.index(note) - 1], shown[shown.index(note) + 1]}
    assert len(wanted) - 10_000 < len(shown) < len(wanted)
    assert shown[0] == wanted[0] and shown[-1] == wanted[-1]


def test_a_full_disk_tears_no_log(on_small_disk, small_disk, tmp_path):
    drover = on_small_disk
    noise = [tmp_path / str(index) for index in range(4)]
    for file in noise:
        file.write_bytes(random.Random(file.name).randbytes(4 << 20))
    small_disk.resize("10m")
    stopped = drover("run", "--name", "r", "--jobs", 1, "--", "cat", ":::", *noise)
    assert stopped.status == 1 and "full" in stopped.err and "drover resume r" in stopped.err, stopped
    check_reading(drover, "r", 0)
    small_disk.resize("64m")
    assert drover("resume", "r", "--quiet").status == 0
    for index, file in enumerate(noise):
        attempt, = drover.rows("r", f"SELECT attempt FROM items WHERE item = {index}")[0]
        assert file.read_bytes() in logs(drover, f"r:{index}", "--attempt", attempt)


def test_logs_that_cannot_be_written_stop_the_run_and_it_goes_on_later(drover, gate, script):
    item = script("item", f"{gate.word}; echo text of $1")
    running = drover.start("run", "--name", "r", "--quiet", "--", item, ":::", "a", "b")
    wait_until(lambda: drover.runs() == ["r"] and '"running":' in drover("status", "r", "--json").out, "the run")
    in_the_way = drover.run_folder("r") / "logs"
    in_the_way.write_text("")
    gate.open()
    ended = running.done()
    assert ended.status == 1 and str(in_the_way) in ended.err and "drover resume r" in ended.err, ended
    in_the_way.unlink()
    assert drover("resume", "r", "--quiet").status == 0
    assert log_lines(drover, "r") == ["0: text of a", "1: text of b"]
