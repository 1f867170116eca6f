#!/usr/bin/env python3
"""Runs a test within a time limit: tests/bounded.py SECONDS SOAK_SECONDS COMMAND [ARGUMENT...]

SOAK_SECONDS is the limit where DROVER_SOAK=1; with DROVER_ENDURANCE=1 it is two hours. When the limit is reached it prints the
command line and the stacks of every process that the test started, kills them all and fails. A test that ends and leaves processes
running fails too, after the same. Its exit status is the command's, or 1.

Every process that loses its parent becomes a child of this one (it is a subreaper), so none can get away, whatever session or
namespace it made for itself. gdb prints the stacks where it is installed; a Python process that handles SIGUSR1 as tests/conftest.py
does writes its own to the file that DROVER_TEST_STACKS names.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
# How long processes may take to end once the command has ended, and once they were killed.
GRACE_S = 10
ENDURANCE_S = 7200
# What printing stacks may take, for one process and for all of them.
ONE_S, ALL_S = 20, 120


class Expired(Exception):
    pass


class Stopped(Exception):
    pass


def raiser(error):
    def handler(number, _):
        raise error(signal.Signals(number).name)

    return handler


def fields_of(pid):
    """(state, parent) of a process, or None if it is gone."""
    try:
        state, parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent)
    except OSError:
        return None


def descendants():
    """The living processes below this one, parents first."""
    children = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        fields = fields_of(pid)
        if fields and fields[0] not in "ZX":
            children.setdefault(fields[1], []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found += sorted(children.get(pid, []))
    return found[1:]


def reap():
    """Collects the processes that have ended; whether none is left, living or dead."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def text_of(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def handles_usr1(pid):
    mask = [line.split()[1] for line in text_of(pid, "status").splitlines() if line.startswith("SigCgt:")]
    return bool(mask) and bool(int(mask[0], 16) & 1 << (signal.SIGUSR1 - 1)) and "python" in text_of(pid, "cmdline").split(" ")[0]


def python_stacks(pid, stacks):
    stacks.write_text("")
    os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + 2
    while not stacks.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.2)  # it writes a line at a time
    return stacks.read_text()


def native_stacks(pid, seconds):
    gdb = shutil.which("gdb")
    if gdb is None:
        return "(install gdb to see its stacks)\n"
    words = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load no", "-p", str(pid), "-ex", "thread apply all bt 40"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"(gdb took longer than {seconds:.0f} s)\n"
    frames = [line for line in done.stdout.splitlines() if line.startswith(("#", "Thread "))]
    return "\n".join(frames or done.stderr.splitlines()[-3:]) + "\n"


def show(pids, stacks):
    """What each process is, and what it is doing."""
    until = time.monotonic() + ALL_S
    for pid in pids:
        fields = fields_of(pid)
        if fields is None:
            continue
        print(f"\n--- process {pid}, child of {fields[1]}, state {fields[0]} {text_of(pid, 'wchan')}: "
              f"{text_of(pid, 'cmdline')[:1000] or text_of(pid, 'comm')}", flush=True)
        left = until - time.monotonic()
        if left < 1:
            print("(no time left to print its stacks)", flush=True)
        elif handles_usr1(pid):
            print(python_stacks(pid, stacks), flush=True)
        else:
            print(native_stacks(pid, min(left, ONE_S)), end="", flush=True)


def wait_for_none(seconds):
    """Whether no descendant is left by then, not even one that has ended and was not collected."""
    until = time.monotonic() + seconds
    while True:
        if reap():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.02)


def kill_all():
    until = time.monotonic() + GRACE_S
    while not reap() and time.monotonic() < until:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for_none(0.2)
    for pid in descendants():
        print(f"bounded: process {pid} survived SIGKILL: {text_of(pid, 'cmdline')}", flush=True)


def run(command, seconds, stacks):
    """The command's status, or 1."""
    signal.signal(signal.SIGALRM, raiser(Expired))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, raiser(Stopped))
    child = subprocess.Popen(command, env={**os.environ, "DROVER_TEST_STACKS": str(stacks)})
    status = 1
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        ended, code = os.wait()
        while ended != child.pid:
            ended, code = os.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        status = os.waitstatus_to_exitcode(code)
        if status < 0:
            print(f"bounded: the test was killed by {signal.Signals(-status).name}", flush=True)
            status = 1
        if not wait_for_none(GRACE_S):
            print("bounded: the test left these processes behind", flush=True)
            show(descendants(), stacks)
            status = status or 1
    except Expired:
        print(f"\nbounded: the test was not done after {seconds:g} s; it is killed with every process that it started", flush=True)
        show(descendants(), stacks)
    except Stopped as stop:
        print(f"bounded: stopped by {stop}", flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        kill_all()
    return status


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    seconds = float(sys.argv[2 if os.environ.get("DROVER_SOAK") == "1" else 1])
    if os.environ.get("DROVER_ENDURANCE") == "1":
        seconds = ENDURANCE_S
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit(f"bounded: cannot become a subreaper: {os.strerror(ctypes.get_errno())}")
    with tempfile.TemporaryDirectory(prefix="drover-bounded-") as folder:
        try:
            sys.exit(run(sys.argv[3:], seconds, pathlib.Path(folder, "stacks")))
        except Stopped as stop:  # while it printed stacks
            sys.exit(f"bounded: stopped by {stop}")


if __name__ == "__main__":
    main()
