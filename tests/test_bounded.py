"""tests/bounded.py: a test that takes too long says what its processes were doing, and nothing that a test started survives it."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from drover import wait_until

BOUNDED = pathlib.Path(__file__).with_name("bounded.py")

# Starts a process that leaves its session and its parent, as a daemon does, and writes down which one it is.
DAEMON = """
import os, sys, time
def daemon(path):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(3):
        os.close(number)
    with open(path + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".part", path)
    time.sleep(600)
    os._exit(0)
"""


def bounded(seconds, *words, soak_seconds=None, env=None):
    soak_seconds = seconds if soak_seconds is None else soak_seconds
    return subprocess.run([sys.executable, BOUNDED, str(seconds), str(soak_seconds), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=240, env={**os.environ, "DROVER_SOAK": "0", "DROVER_ENDURANCE": "0", **(env or {})})


def runs(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("words, status", [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 1), ("kill -15 $$", 1)])
def test_the_status_is_the_commands(words, status):
    done = bounded(60, "sh", "-c", f"echo said; {words}")
    assert (done.returncode, done.stdout.splitlines()[0]) == (status, "said"), done


def test_what_takes_too_long_is_killed_with_its_stacks(tmp_path):
    """The process itself, its child and a daemon that left both."""
    script = tmp_path / "hangs.py"
    script.write_text(DAEMON + f"""
import subprocess
subprocess.Popen(["sleep", "601"])
daemon({str(tmp_path / "daemon")!r})
def waits_for_ever():
    time.sleep(602)
waits_for_ever()
""")
    began = time.monotonic()
    done = bounded(8, sys.executable, script)
    assert done.returncode == 1 and "not done after 8 s" in done.stdout, done
    assert time.monotonic() - began < 200
    daemon = int((tmp_path / "daemon").read_text())
    for process in ("sleep 601", str(script), f"process {daemon}, "):
        assert process in done.stdout, (process, done.stdout)
    # A frame of the C library, which gdb names.
    assert "nanosleep" in done.stdout, done.stdout
    wait_until(lambda: not runs(daemon), "the daemon to be gone", 30)


def test_pytest_says_which_line_it_is_at(tmp_path):
    (tmp_path / "conftest.py").write_text(BOUNDED.with_name("conftest.py").read_text())
    (tmp_path / "test_it.py").write_text("import time\n\n\ndef test_that_never_ends():\n    time.sleep(600)\n")
    done = bounded(20, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_it.py",
                   env={"PYTHONPATH": str(BOUNDED.parent)})
    assert done.returncode == 1 and "in test_that_never_ends" in done.stdout, done


def test_what_is_left_behind_fails_the_test(tmp_path):
    (tmp_path / "leaves.py").write_text(DAEMON + f"daemon({str(tmp_path / 'daemon')!r})\nwhile not os.path.exists({str(tmp_path / 'daemon')!r}):\n    time.sleep(0.01)\n")
    done = bounded(60, sys.executable, tmp_path / "leaves.py")
    daemon = int((tmp_path / "daemon").read_text())
    assert done.returncode == 1 and f"process {daemon}, " in done.stdout, done
    assert not runs(daemon)


def test_orphans_are_reaped_while_the_test_runs(tmp_path):
    """A test that looks whether a process still exists must not see one that has ended."""
    (tmp_path / "orphan.py").write_text(f"""
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.3)
        open({str(tmp_path / "orphan")!r}, "w").write(str(os.getpid()))
        os._exit(0)
    os._exit(0)
os.wait()
until = time.monotonic() + 60
def there():
    try:
        return os.path.exists("/proc/" + str(int(open({str(tmp_path / "orphan")!r}).read())))
    except (OSError, ValueError):
        return True
while there():
    assert time.monotonic() < until
    time.sleep(0.01)
print("it is gone")
""")
    done = bounded(120, sys.executable, tmp_path / "orphan.py")
    assert (done.returncode, done.stdout) == (0, "it is gone\n"), done


def test_whoever_stops_it_stops_everything(tmp_path):
    (tmp_path / "waits.py").write_text(DAEMON + f"daemon({str(tmp_path / 'daemon')!r})\ntime.sleep(600)\n")
    running = subprocess.Popen([sys.executable, BOUNDED, "300", "300", sys.executable, tmp_path / "waits.py"], stdout=subprocess.PIPE, text=True)
    wait_until((tmp_path / "daemon").exists, "the daemon")
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 1 and "stopped by SIGTERM" in out, out
    assert not runs(int((tmp_path / "daemon").read_text()))


def test_the_long_tests_have_a_limit_of_their_own():
    words = ("sh", "-c", "sleep 2")
    assert bounded(1, *words, soak_seconds=60, env={"DROVER_SOAK": "1"}).returncode == 0
    assert bounded(60, *words, soak_seconds=1, env={"DROVER_SOAK": "1"}).returncode == 1
