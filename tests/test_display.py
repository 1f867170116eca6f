"""What a person sees of a run: the live display, in a real terminal (tmux) of several sizes, while it is resized, interrupted
and stopped; and what is shown where there is no such terminal."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from drover import BINARY, wait_until

SIZES = [(80, 24), (200, 50)]
BAR = "▕"  # every state of the display but the smallest has it, and nothing else does
BLOCK = (BAR, "elapsed", "cores busy", "slots")
ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[[0-9;]+m")
STYLE = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def item(gate, script):
    """Items 1 and 2 fail, 3 succeeds, the others wait for the gate."""
    return script("item", f"""
        case $1 in
          1 | 2) echo "broken $1" >&2; exit 3 ;;
          3) echo fine ;;
          *) {gate.word} ;;
        esac""")


def in_a_shell(*words):
    """The words, after some lines of somebody else and before the status."""
    show = 'trap : INT; seq -f "before %.0f" 5; "$@"; echo "[status $?]"; exec cat'
    return ("sh", "-c", show, "sh", *map(str, words))


def run_line(item, *flags):
    return (BINARY, "run", "--name", "r", "--jobs", 4, "--range", "1-12", *flags, "--", item)


def check_no_debris(everything):
    for mark in BLOCK:
        assert mark not in everything, everything
    assert re.findall(r"before \d", everything) == [f"before {number}" for number in range(1, 6)], everything


def wait_for_block(shown, columns):
    """Until the display is there once, as wide as it should be."""

    def is_there():
        bars = [line for line in shown.lines() if BAR in line]
        return len(bars) == 1 and len(bars[0]) == min(columns - 1, 120)

    try:
        wait_until(is_there, f"a display for {columns} columns")
    except AssertionError:
        print(shown.everything())
        raise


# --- in a terminal


@pytest.mark.parametrize("columns, rows", SIZES)
def test_the_display_shows_how_far_the_run_is_and_leaves_the_summary(drover, gate, terminal, item, columns, rows):
    shown = terminal(columns, rows, *in_a_shell(*run_line(item)))
    shown.wait_for("3 of 12 done", "2 failed", "4 running", "25 %", "exit code 3", "broken 1", "broken 2", "4 slots", "elapsed")
    wait_for_block(shown, columns)
    shown.wait_for("running  #")
    assert len(shown.lines()) <= rows
    gate.open()
    shown.wait_for("[status 1]")
    everything = shown.everything()
    check_no_debris(everything)
    assert everything.count("run 'r' failed: 10 succeeded, 2 failed of 12 items") == 1, everything
    for text in ("drover: run 'r': 12 items", "p50", "exit code 3: broken", "drover logs r:0", "drover retry r"):
        assert text in everything, everything
    assert "r' failed" in shown.screen()


def test_the_display_follows_a_terminal_that_is_resized(gate, terminal, item):
    shown = terminal(80, 24, *in_a_shell(*run_line(item)))
    shown.wait_for("3 of 12 done", "running  #")
    for columns, rows in ((60, 24), (100, 30), (70, 22), (200, 50), (90, 24), (80, 24)):
        shown.resize(columns, rows)
        wait_for_block(shown, columns)
        shown.wait_for("3 of 12 done", "2 failed", "4 running")
    gate.open()
    shown.wait_for("[status 1]", "10 succeeded, 2 failed of 12 items")
    check_no_debris(shown.everything())


def test_the_display_survives_a_terminal_of_hardly_any_size(gate, terminal, item):
    """What a terminal pushes out of its top nobody can take back; but the run goes on, and ends as it should."""
    shown = terminal(80, 24, *in_a_shell(*run_line(item)))
    shown.wait_for("3 of 12 done")
    for columns, rows in ((30, 6), (10, 3), (2, 2), (1, 1)):
        shown.resize(columns, rows)
    shown.resize(30, 6)
    shown.wait_for("3 of 12")
    shown.resize(80, 24)
    # What a terminal of one line has pushed out may come back above it.
    wait_until(lambda: any(BAR in line and len(line) == 79 for line in shown.lines()), "a display for 80 columns")
    gate.open()
    shown.wait_for("[status 1]", "run 'r' failed: 10 succeeded, 2 failed of 12 items")


def test_one_interrupt_drains_and_says_so(drover, gate, terminal, item):
    shown = terminal(80, 24, *in_a_shell(*run_line(item)))
    shown.wait_for("3 of 12 done", "4 running")
    shown.type("C-c")
    shown.wait_for("drover: draining: 4 items still running", "Ctrl-C again")
    gate.open()
    shown.wait_for("[status 130]", "run 'r' interrupted: 5 succeeded, 2 failed, 5 left of 12 items", "drover resume r")
    check_no_debris(shown.everything())


def test_a_second_interrupt_kills(drover, terminal, item):
    shown = terminal(200, 50, *in_a_shell(*run_line(item)))
    shown.wait_for("3 of 12 done", "4 running")
    shown.type("C-c")
    shown.wait_for("drover: draining: 4 items still running", "Ctrl-C again")
    shown.type("C-c")
    shown.wait_for("drover: killing 4 running items", "[status 130]", "interrupted: 1 succeeded, 2 failed, 9 left of 12 items")
    check_no_debris(shown.everything())


@pytest.mark.parametrize("columns, rows", SIZES)
def test_three_hundred_failures_of_two_kinds_an_interrupt_and_the_rest(drover, gate, script, terminal, columns, rows):
    """600 items of which every third wants a file that is not there and every sixth is killed; the run stops in the middle."""
    item = script("item", f"""
        case $(($1 % 6)) in
          0) kill -9 $$ ;;
          1 | 4) echo "reading" >&2; echo "no such file: /data/in/$1.png" >&2; exit 2 ;;
        esac
        [ $1 != 302 ] && [ $1 != 303 ] || {gate.word}""")
    words = (BINARY, "run", "--name", "r", "--jobs", 2, "--range", "1-600", "--", item)
    both = 'trap : INT; "$@"; echo "[status $?]"; read line; "$0" resume r; echo "[status $?]"; exec cat'
    shown = terminal(columns, rows, "sh", "-c", both, *map(str, (BINARY, *words)))
    shown.wait_for("failed   #", "running  #", "#301", "#302", "no such file: /data/in/")
    wait_for_block(shown, columns)
    assert len(shown.lines()) <= rows
    shown.type("C-c")
    shown.wait_for("drover: draining:")
    gate.open()
    shown.wait_for("[status 130]", "run 'r' interrupted: ", "drover resume r")
    left = int(re.search(r"(\d+) left of 600 items", shown.everything())[1])
    assert 0 < left < 300
    shown.type("Enter")
    shown.wait_for("[status 1]")
    everything = shown.everything()
    for mark in BLOCK:
        assert mark not in everything, everything
    assert f"drover: run 'r' resumed: {left} of 600 items left" in everything
    summary = everything[everything.index("run 'r' failed: 300 succeeded, 300 failed of 600 items"):]
    groups = re.findall(r"^ +(\d+)  (.*)\n +see one: drover logs (r:\d+)$", summary, re.MULTILINE)
    assert [(number, re.sub(r"\d+\.png", "N.png", kind)) for number, kind, _ in groups] == [
        ("200", "exit code 2: no such file: /data/in/N.png"), ("100", "signal 9 (SIGKILL), without output")], summary
    index = int(groups[0][2].partition(":")[2])
    assert drover("logs", groups[0][2]).out == f"reading\nno such file: /data/in/{index + 1}.png\n"
    assert groups[0][1].endswith(f"/data/in/{index + 1}.png")


def test_a_display_that_was_stopped_goes_on_below_what_was_written_meanwhile(gate, terminal, item):
    shown = terminal(80, 40, "bash", "--norc", "-i", env={"PS1": "prompt: "})
    shown.wait_for("prompt:")
    shown.type(f"seq -f 'before %.0f' 5; {' '.join(map(str, run_line(item)))}", "Enter")
    shown.wait_for("3 of 12 done", "running  #")
    shown.type("C-z")
    shown.wait_for("Stopped")
    shown.type("echo; echo said in between; seq -f 'between %.0f' 9", "Enter")
    shown.wait_for("between 9")
    shown.type("fg", "Enter")
    wait_until(lambda: "3 of 12 done" in shown.screen().rpartition("between 9")[2], "the display to go on")
    gate.open()
    shown.wait_for("10 succeeded, 2 failed of 12 items")
    everything = shown.everything()
    assert re.findall(r"between \d", everything)[-9:] == [f"between {number}" for number in range(1, 10)], everything
    assert "\nsaid in between\n" in everything, everything
    assert BAR not in everything.rpartition("between 9")[2], everything


def test_in_the_background_nothing_is_drawn(gate, terminal, item):
    shown = terminal(80, 24, "bash", "--norc", "-i", env={"PS1": "prompt: "})
    shown.wait_for("prompt:")
    shown.type(f"{' '.join(map(str, run_line(item)))} &", "Enter")
    shown.wait_for("12 items")
    shown.type("fg", "Enter")
    shown.wait_for("3 of 12 done")
    wait_for_block(shown, 80)
    shown.type("C-z")
    shown.wait_for("Stopped")
    shown.type("clear; bg", "Enter")
    gate.open()
    shown.wait_for("10 succeeded, 2 failed of 12 items")
    assert BAR not in shown.screen()


# --- in a terminal, byte by byte


class Line:
    """A drover at one end of a pseudo-terminal."""

    def __init__(self, drover, *words, env=None, size=(24, 80)):
        self.end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        environment = {**drover.environment(), "TERM": "xterm-256color", **(env or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        self.process = subprocess.Popen([str(word) for word in words], env=environment, cwd=drover.folder, stdin=other,
                                        stdout=other, stderr=other, start_new_session=True)
        os.close(other)
        os.set_blocking(self.end, False)
        self.bytes = b""

    def read(self):
        try:
            while piece := os.read(self.end, 1 << 16):
                self.bytes += piece
        except BlockingIOError:
            pass
        except OSError:  # the other end is closed
            return False
        return True

    def says(self, text):
        self.read()
        return text.encode() in STYLE.sub(b"", self.bytes)

    def done(self):
        """Status and text, once it has ended."""
        wait_until(lambda: not self.read() or self.process.poll() is not None, "the end")
        self.read()
        os.close(self.end)
        return self.process.wait(60), self.bytes.decode()


def without_no_color(**more):
    return {"NO_COLOR": None, **more}


def test_colours_can_be_turned_off(drover, item, gate):
    gate.open()
    for env, coloured in ((without_no_color(), True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
        status, text = Line(drover, *run_line(item, "--fresh"), env=env).done()
        assert status == 1
        assert BAR in text and bool(COLOUR.search(text)) == coloured, (env, text)


@pytest.mark.parametrize("term", ["dumb", "", None])
def test_a_terminal_that_cannot_draw_gets_plain_lines(drover, item, gate, term):
    gate.open()
    status, text = Line(drover, *run_line(item), env={"TERM": term}).done()
    assert status == 1
    assert ESCAPE not in text and BAR not in text, text
    assert "drover: run 'r': 12 items\r\n" in text and "10 succeeded, 2 failed of 12 items\r\n" in text


def test_the_terminal_is_left_as_it_was(drover, item, gate):
    line = Line(drover, *run_line(item), env=without_no_color())
    wait_until(lambda: line.says("2 failed"), "the display")
    gate.open()
    _, text = line.done()
    for on, off in (("\x1b[?25h", "\x1b[?25l"), ("\x1b[?7h", "\x1b[?7l"), ("\x1b[?2026l", "\x1b[?2026h")):
        assert text.rfind(on) > text.rfind(off) >= 0, (on, off)
    assert ESCAPE not in text[text.index("run 'r' failed"):]


def test_a_terminal_of_unknown_size_is_drawn_on(drover, item, gate):
    gate.open()
    status, text = Line(drover, *run_line(item), env=without_no_color(), size=(0, 0)).done()
    assert status == 1 and BAR in text and "10 succeeded, 2 failed of 12 items" in text


def test_quiet_and_json_draw_nothing(drover, item, gate):
    gate.open()
    assert Line(drover, *run_line(item, "--quiet", "--fresh")).done() == (1, "")
    status, text = Line(drover, *run_line(item, "--json", "--fresh")).done()
    assert status == 1
    assert [json.loads(line)["event"] for line in text.splitlines()][::len(text.splitlines()) - 1] == ["started", "summary"]


def test_a_terminal_that_is_held_up_holds_up_no_item(drover, item, gate):
    """Ctrl-S stops what is shown, and nothing else."""
    line = Line(drover, *run_line(item))
    wait_until(lambda: line.says("2 failed"), "the display")
    os.write(line.end, b"\x13")
    gate.open()
    wait_until(lambda: drover.status("r")["counts"]["succeeded"] == 10, "every item to end")
    os.write(line.end, b"\x11")
    status, text = line.done()
    assert status == 1 and "10 succeeded, 2 failed of 12 items" in text


def test_a_run_goes_on_when_its_terminal_goes_away(drover, item, gate):
    line = Line(drover, *run_line(item))
    wait_until(lambda: line.says("2 failed"), "the display")
    os.close(line.end)
    gate.open()
    assert line.process.wait(60) == 1
    assert drover.status("r")["counts"]["succeeded"] == 10


# --- where there is no terminal


def test_without_a_terminal_there_is_a_line_now_and_then(drover, item, gate):
    """After ten seconds, and as often; in a terminal that cannot draw too."""
    running = drover.start(*run_line(item)[1:])
    dumb = Line(drover, BINARY, "run", "--name", "dumb", "--jobs", 4, "--range", "1-12", "--", item, env={"TERM": "dumb"})
    wait_until(lambda: running.says("of 12 done") and dumb.says("of 12 done"), "a line of both")
    gate.open()
    ended = running.done()
    assert ended.status == 1, ended
    said = ended.err.splitlines()
    assert said[0] == "drover: run 'r': 12 items"
    assert 1 <= len(said[1:]) <= 6  # one in ten seconds, were there not all the others on this machine
    for line in said[1:]:
        assert re.match(r"drover: \d+ of 12 done, 2 failed, \d+ running, [\d.]+ items/s", line), line
    assert ended.out.startswith("run 'r' failed: 10 succeeded, 2 failed of 12 items\n")
    status, text = dumb.done()
    assert status == 1 and ESCAPE not in text and re.search(r"drover: 3 of 12 done, 2 failed, 4 running", text), text


def test_an_interrupt_without_a_terminal_is_told_in_lines(drover, item, gate):
    running = drover.start(*run_line(item)[1:])
    wait_until(lambda: drover.rows_if_any("r", "SELECT failed FROM jobs WHERE failed = 2"), "the failures")
    running.signal(2)
    wait_until(lambda: running.says("draining"), "the word")
    gate.open()
    ended = running.done()
    assert ended.status == 130 and ESCAPE not in ended.err + ended.out, ended
    assert "interrupted" in ended.out and "drover resume r" in ended.out


def test_json_tells_what_happens_as_it_happens(drover, item, gate):
    running = drover.start(*run_line(item, "--json")[1:])
    os.set_blocking(running.process.stdout.fileno(), False)
    heard = b""

    def hears(words):
        nonlocal heard
        heard += running.process.stdout.read() or b""
        return words in heard

    wait_until(lambda: hears(b'"event":"progress"') and hears(b'"failed":2'), "a progress event with the failures")
    gate.open()
    os.set_blocking(running.process.stdout.fileno(), True)
    ended = running.done()
    assert (ended.status, ended.err) == (1, ""), ended
    events = [json.loads(line) for line in (heard + ended.raw_out).splitlines()]
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1]) == ("started", "summary") and set(kinds) == {"started", "progress", "failed", "summary"}
    assert (events[0]["name"], events[0]["total"], events[0]["left"], events[0]["resumed"]) == ("r", 12, 12, False)
    failed = sorted((it["item"], it["attempt"], it["ending"], it["exit_code"], it["signal"], it["last_line"])
                    for it in events if it["event"] == "failed")
    assert failed == [(0, 1, "exited", 3, None, "broken 1"), (1, 1, "exited", 3, None, "broken 2")]
    done = -1
    for event in (it for it in events if it["event"] == "progress"):
        assert sum(event[state] for state in ("succeeded", "failed", "cancelled", "running", "waiting", "pending")) == 12, event
        assert event["succeeded"] + event["failed"] >= done
        done = event["succeeded"] + event["failed"]
        assert {"seconds", "items_per_second", "left_seconds_low", "left_seconds_high"} <= set(event)
    assert events[-1]["counts"] == {"pending": 0, "waiting": 0, "running": 0, "succeeded": 10, "failed": 2, "cancelled": 0}
