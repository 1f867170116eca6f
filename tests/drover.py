"""What the end-to-end tests share: the binary driven as a user drives it, and a few things to wait for and to look at.

Every Drover has a data folder of its own and a mark in its environment, which every process below it inherits: what
still carries the mark when a test is over was left behind.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shlex
import signal
import sqlite3
import subprocess
import threading
import time
import uuid

BINARY = os.environ.get("DROVER_BIN") or str(pathlib.Path(__file__).parents[1] / "build/bin/drover")
# `make soak` runs the long forms of tests, `make endurance` forms that are longer still.
ENDURANCE = os.environ.get("DROVER_ENDURANCE") == "1"
SOAK = ENDURANCE or os.environ.get("DROVER_SOAK") == "1"
PATIENCE_S = 60
ITEM_STATES = {"pending", "waiting", "running", "succeeded", "failed", "cancelled"}


def wait_until(condition, what, seconds=PATIENCE_S):
    """The first true value of condition(), or a failure that says what never came."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.005)
    return value


def processes_marked(mark, folder):
    """Living processes whose environment or command line holds the mark, and the helpers of slots, which have neither, that
    hold something open below the folder: {pid: command line}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        process = pathlib.Path("/proc", pid)
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if mark.encode() in (process / "environ").read_bytes() or mark in command:
                found[int(pid)] = command
            elif (process / "comm").read_text() == "drover-slot\n" and any(
                    os.readlink(file).startswith(f"{folder}/") for file in (process / "fd").iterdir()):
                found[int(pid)] = "drover-slot"
        except OSError:
            continue
    return found


def file_hashes(folder):
    """Every file below the folder with a hash of its bytes. The index and the empty log that a reader of a database leaves
    beside it do not count."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(pathlib.Path(folder).rglob("*"))
        if path.is_file() and not path.name.endswith("-shm") and not (path.name.endswith("-wal") and path.stat().st_size == 0)
    }


class Gate:
    """Closed, it holds every item that runs `gate.word`; open, it holds none, now or later."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "w")
        self.close()

    @property
    def word(self):
        return f"flock -s {shlex.quote(str(self.path))} true"

    def open(self):
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def close(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)


class Done:
    """A drover that has ended."""

    def __init__(self, arguments, status, out, err):
        self.arguments, self.status, self.raw_out, self.raw_err = arguments, status, out, err
        self.out = out.decode(errors="surrogateescape")
        self.err = err.decode(errors="surrogateescape")

    def __repr__(self):
        shown = " ".join(str(word)[:200] for word in self.arguments)
        return f"\ndrover {shown}\nstatus {self.status}\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"

    @property
    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def summary(self):
        last = self.json_lines[-1]
        assert last["event"] == "summary", self
        return last

    def refuses(self, *names):
        """Bad usage or input: status 2, what it is about, and the next step."""
        assert self.status == 2, self
        for name in names:
            assert name in self.err, f"the message does not name {name!r}{self!r}"
        assert "next:" in self.err, f"the message names no next step{self!r}"
        return self


class Drain:
    """Reads a pipe to its end, so that the other side never waits, and keeps the last of it."""

    MOST = 64 << 20

    def __init__(self, pipe):
        self.pipe, self.kept = pipe, bytearray()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while piece := os.read(self.pipe.fileno(), 1 << 16):
            self.kept += piece
            if len(self.kept) > self.MOST:
                del self.kept[:self.MOST // 2]
        self.pipe.close()

    def all(self, seconds):
        """When the pipe is closed at the other end."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "a process still holds the pipe open"
        return bytes(self.kept)


class Running:
    """A drover that is on its way. Its standard error is read all the time."""

    def __init__(self, arguments, process):
        self.arguments, self.process = arguments, process
        self.pid = process.pid
        self.error = Drain(process.stderr) if process.stderr is not None else None
        process.stderr = None  # the drain's, not communicate()'s

    def signal(self, number):
        """Nothing happens to one that has ended: its number may be another's by now."""
        self.process.send_signal(number)

    def alive(self):
        return self.process.poll() is None

    def says(self, words):
        """Whether it has said this on its standard error by now."""
        return words.encode() in bytes(self.error.kept)

    def done(self, seconds=PATIENCE_S, input=None):
        out, _ = self.process.communicate(input=input, timeout=seconds)
        return Done(self.arguments, self.process.returncode, out or b"", self.error.all(seconds) if self.error else b"")

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.done()


class Drover:
    def __init__(self, folder, data=None):
        self.folder = pathlib.Path(folder)
        self.data = pathlib.Path(data or self.folder / "data")
        self.mark = str(uuid.uuid4())
        self.started = []

    def environment(self, extra=None):
        ours = {"HOME": str(self.folder), "DROVER_DATA": str(self.data), "DROVER_TEST_MARK": self.mark}
        return {**os.environ, **ours, **(extra or {})}

    def start(self, *arguments, env=None, stdin=subprocess.DEVNULL, as_user=None, inside=None, **options):
        """As another user, or inside a network namespace, if one is named."""
        words = [BINARY, *map(_word, arguments)]
        if inside is not None:
            words = ["nsenter", f"--net=/run/netns/{inside}", *words]
        if as_user is not None:
            words = ["setpriv", f"--reuid={as_user}", f"--regid={as_user}", "--clear-groups", *words]
        process = subprocess.Popen(
            words, env=self.environment(env), stdin=stdin, stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE), cwd=options.pop("cwd", self.folder), **options)
        running = Running(arguments, process)
        self.started.append(running)
        return running

    def __call__(self, *arguments, seconds=PATIENCE_S, input=None, **options):
        """Runs drover to its end."""
        if input is None:
            return self.start(*arguments, **options).done(seconds)
        return self.start(*arguments, stdin=subprocess.PIPE, **options).done(seconds, input)

    def run(self, *arguments, **options):
        """`drover run --json …`, with its summary at hand."""
        return self("run", "--json", *arguments, **options)

    # --- what is in the data folder

    def runs(self):
        folder = self.data / "runs"
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.exists() else []

    def run_folder(self, name):
        return self.data / "runs" / str(name)

    def database(self, name):
        return self.run_folder(name) / "drover.db"

    def rows(self, name, query):
        """A query to a run's ledger that does not go through drover."""
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True, timeout=PATIENCE_S)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def rows_if_any(self, name, query):
        """The same of a run that may not have come as far as a database, or a table."""
        try:
            return self.rows(name, query)
        except sqlite3.OperationalError:
            return []

    def items(self, name, *arguments):
        listed = self("items", name, "--json", "--limit", "0", *arguments)
        assert listed.status == 0, listed
        return listed.json_lines

    def status(self, name):
        shown = self("status", name, "--json")
        assert shown.status == 0, shown
        return shown.json_lines[-1]

    # --- what must hold

    def left_over(self):
        return processes_marked(self.mark, self.data)

    def check_ledger(self, name):
        """The file is sound; attempts are numbered from 1 without gaps; no item settled twice; the counters agree."""
        assert self.rows(name, "PRAGMA integrity_check") == [("ok",)]
        gaps = self.rows(name, """
            SELECT item, count(*), min(attempt), max(attempt), sum(settled) FROM attempts GROUP BY item
            HAVING min(attempt) != 1 OR max(attempt) != count(*) OR sum(settled) > 1""")
        assert gaps == [], f"item, attempts, first, last, settled: {gaps[:10]}"
        settled = dict(self.rows(name, "SELECT state, count(*) FROM items GROUP BY state"))
        succeeded, failed, cancelled = self.rows(name, "SELECT succeeded, failed, cancelled FROM jobs")[0]
        assert (settled.get("succeeded", 0), settled.get("failed", 0), settled.get("cancelled", 0)) == (
            succeeded, failed, cancelled)

    def check_all_succeeded(self, name, total):
        """Every item ended exactly once, as succeeded."""
        self.check_ledger(name)
        job = self.status(name)
        assert (job["state"], job["total"], job["counts"]["succeeded"]) == ("succeeded", total, total), job
        assert self.rows(name, "SELECT count(*), count(DISTINCT item), min(item), max(item) FROM items "
                               "WHERE state = 'succeeded'") == [(total, total, 0, total - 1)]
        assert self.rows(name, "SELECT count(*) FROM items") == [(total,)]

    def clean_up(self):
        """Ends what the test started, and says what it left behind."""
        for running in self.started:
            if running.alive():
                running.kill()
        try:
            wait_until(lambda: not self.left_over(), "the processes of the test to end", 30)
            return {}
        except AssertionError:
            left = self.left_over()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return left


_help = {}


def help_of(drover, *words):
    """What --help says of a verb; the binary is asked once."""
    if words not in _help:
        shown = drover(*words, "--help")
        assert shown.status == 0 and shown.out.endswith("\n"), shown
        _help[words] = shown.out
    return _help[words]


def _word(argument):
    return argument if isinstance(argument, bytes) else str(argument)
