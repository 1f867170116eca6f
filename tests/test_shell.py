"""drover shell and drover repro: somebody at a terminal looks into an item, and runs it once more, of a run here and of a server's job."""

import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import select
import signal
import struct
import subprocess
import termios
import time

import images
import pytest

from drover import BINARY, PATIENCE_S, file_hashes, wait_until
from test_rootless import image, place, somebody  # noqa: F401
from test_server import Server, submit, worker

RUNTIMES = ["runc", "crun"]
_numbers = itertools.count(100)


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    images.plain().write_layout(folder / "plain")
    # A program and nothing else.
    images.Image([images.Tar().folder("opt").add("opt/busybox", pathlib.Path("/bin/busybox").read_bytes(), mode=0o755).bytes()]).write_layout(folder / "bare")
    return folder


class Seat:
    """Somebody at a terminal, who types and reads."""

    def __init__(self, command, env, cwd, rows=24, columns=80):
        self.ours, theirs = os.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs

        def sit_down():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, preexec_fn=sit_down)
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_some(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            self.seen += os.read(self.ours, 65536).decode(errors="replace").replace("\r\n", "\n")

    def type(self, text):
        os.write(self.ours, text.encode())

    def reads(self, words):
        """Waits until it stands there; what stood before it is forgotten."""
        until = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert time.monotonic() < until, f"no {words!r} in {self.seen!r}"
            self.read_some(0.1)
        before, _, self.seen = self.seen.partition(words)
        return before

    def ask(self, line, answer):
        """The answer, which must not stand in the line itself, for a terminal repeats that."""
        assert answer not in line
        self.type(line + "\n")
        return self.reads(answer)

    def is_as_before(self):
        return termios.tcgetattr(self.theirs) == self.before

    def ends(self):
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < until, self.seen
            self.read_some(0.02)
        self.read_some(0)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.ours, self.theirs):
            os.close(end)


@pytest.fixture
def seat(drover):
    taken = []

    def take(*words, env=None, **options):
        here = drover.environment({"SHELL": "/bin/sh", "PS1": "$ ", "TERM": "xterm", **(env or {})})
        taken.append(Seat([BINARY, *map(str, words)], here, drover.folder, **options))
        return taken[-1]

    take.taken = taken
    yield take
    for one in taken:
        one.close()


def sleeps():
    """Two commands that nobody else runs."""
    return [f"sleep {os.getpid()}{next(_numbers)}" for _ in range(2)]


def runs(command, state="S"):
    """Whether some process of the machine has just this command line, and waits for something (`S`)."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cmdline").read_bytes() == wanted and (path / "stat").read_text().rpartition(") ")[2][0] == state:
                return True
    return False


def cgroups_of(pids):
    """Those that these processes made."""
    begin = tuple(f"drover-{pid}-" for pid in pids)
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if pathlib.Path(folder).name.startswith(begin)]


def containers_left(drover):
    folder = drover.data / "containers"
    return [path.name for path in folder.iterdir() if path.name != "volumes"] if folder.exists() else []


@pytest.fixture
def nothing_left(drover, seat):
    """Neither cgroup nor mount is left of what was started and has ended."""
    yield
    pids = [it.pid for it in drover.started if not it.alive()] + [it.process.pid for it in seat.taken]
    wait_until(lambda: not cgroups_of(pids), f"no cgroup to be left: {cgroups_of(pids)}", 30)
    assert str(drover.folder) not in pathlib.Path("/proc/mounts").read_text()


def run(drover, name, *words, status=1):
    done = drover("run", "--quiet", "--name", name, "-j", "1", *words)
    assert done.status == status, done


IMAGE = ["--entrypoint", "", "--env", "MODE=fast"]


# --- a shell

def test_a_process_item_gets_a_terminal(drover, seat, tmp_path):
    (tmp_path / "work").mkdir()
    run(drover, "job", "--env", "MODE=fast", "--workdir", tmp_path / "work", "--", "sh", "-c", "exit 3", "{}", ":::", "one", "it's two")
    before = file_hashes(drover.run_folder("job"))
    one = seat("shell", "job:1", rows=31, columns=97)
    one.reads("""drover: item 1 of 'job' (attempt 1: exit code 3) runs: sh -c 'exit 3' 'it'\\''s two'""")
    one.reads("$ ")
    one.ask("echo [$DROVER_ITEM] $DROVER_ITEM_INDEX $DROVER_ATTEMPT $MODE", "[it's two] 1 1 fast")
    one.ask("pwd", str(tmp_path / "work"))
    one.ask("stty size", "31 97")
    one.ask("tty", "/dev/pts/")
    one.resize(40, 132)
    one.ask("until stty size | grep -q 40.132; do sleep 0.1; done; stty size", "40 132")
    # Keys are the shell's, not ours.
    first, second = sleeps()
    one.type(f"{first}\n")
    wait_until(lambda: runs(first), "it to sleep")
    one.type("\x03")
    one.ask("echo code $?", "code 130")
    one.type(f"{second}\n")
    wait_until(lambda: runs(second), "it to sleep again")
    one.type("\x1a")
    one.ask("jobs", "Stopped")
    one.type("fg\n")
    wait_until(lambda: runs(second, "S"), "it to go on")
    one.type("\x03")
    one.ask("echo code $?", "code 130")
    assert not one.is_as_before()
    one.type("exit 7\n")
    assert one.ends() == 7 and one.is_as_before()
    assert file_hashes(drover.run_folder("job")) == before


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_container_item_gets_a_terminal_of_the_container(drover, seat, catalogue, tmp_path, nothing_left, runtime):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_text("given\n")
    run(drover, "job", "--image", f"oci:{catalogue}/plain", "--runtime", runtime, *IMAGE, "--mount", f"{tmp_path}/in:/data:ro", "--user", "1000:1000",
        "--workdir", "/tmp", "--pids", "77", "--", "cat", "/nothing/{}", ":::", "a", "b c")
    one = seat("shell", "job:1", rows=31, columns=97)
    one.reads("runs: cat '/nothing/b c'")
    one.reads("$ ")
    one.ask("echo [$DROVER_ITEM] $DROVER_ATTEMPT $MODE $TERM $(id -u) $(pwd)", "[b c] 1 fast xterm 1000 /tmp")
    one.ask("cat /data/file /hello; echo x >/data/new", "given\nhello from the image\n")
    one.reads("Read-only file system")
    one.ask("busybox stty size", "31 97")
    one.ask("busybox tty", "/dev/pts/0")
    one.ask("echo through >/dev/stderr; echo and >/dev/tty", "through\n")
    one.resize(40, 132)
    one.ask("until busybox stty size | grep -q 40.132; do sleep 0.1; done; busybox stty size", "40 132")
    one.ask("sleep 1000 & echo st''arted", "started")
    first, second = sleeps()
    one.type(f"{first}\n")
    wait_until(lambda: runs(first), "it to sleep")
    one.type("\x1a")
    one.ask("jobs", "Stopped")
    one.type("fg\n")
    wait_until(lambda: runs(first, "S"), "it to go on")
    one.type("\x03")
    one.ask("echo code $?", "code 130")
    one.type(f"{second}\n")
    wait_until(lambda: runs(second), "it to sleep again")
    one.type("\x03")
    one.ask("echo code $?", "code 130")
    one.type("exit 9\n")
    assert one.ends() == 9 and one.is_as_before()
    assert containers_left(drover) == []


def test_the_command_itself_is_the_first_process_without_an_init(drover, seat, catalogue, nothing_left):
    run(drover, "job", "--image", f"oci:{catalogue}/plain", *IMAGE, "--no-init", "--", "false", "{}", ":::", "a")
    one = seat("shell", "job:0")
    one.reads("$ ")
    one.ask("echo pid $$; busybox tty", "pid 1\n/dev/pts/0")
    one.type("exit\n")
    assert one.ends() == 0


def test_a_warm_container_is_not_needed_for_a_shell(drover, seat, catalogue, nothing_left):
    run(drover, "job", "--image", f"oci:{catalogue}/plain", *IMAGE, "--reuse", "--", "false", "{}", ":::", "a")
    one = seat("shell", "job:0")
    one.reads("$ ")
    one.ask("busybox tty", "/dev/pts/0")
    one.type("exit\n")
    assert one.ends() == 0
    again = drover("repro", "job:0")
    assert again.status == 1 and "the same as recorded: exit code 1 on attempt 1" in again.err, again


def test_a_terminal_without_root(somebody, image):
    user = ["--user", "0"] if somebody.users == "one" else []
    assert somebody.run(*user, image=image, command=["false"]).returncode == 1
    one = Seat(somebody.command("shell", "it:0"), dict(os.environ), "/", rows=31, columns=97)
    try:
        one.reads("runs: false x\n")
        one.ask("echo uid $(id -u) [$DROVER_ITEM]; busybox stty size; busybox tty", f"uid {0 if user else 1000} [x]\n31 97\n/dev/pts/0")
        one.ask("echo through >/dev/stderr", "through\n")
        one.type("exit 9\n")
        assert one.ends() == 9 and one.is_as_before()
    finally:
        one.close()
    assert somebody("repro", "it:0").returncode == 1


def test_a_terminal_by_way_of_docker(drover, seat, catalogue, tmp_path):
    images.plain("").write_docker_archive(tmp_path / "plain.tar", "drover.test/plain:1")
    docker = images.Docker()
    try:
        docker.load(tmp_path / "plain.tar")
        env = {"DOCKER_HOST": docker.host}
        done = drover("run", "--quiet", "--name", "job", "--image", "docker-daemon:drover.test/plain:1", "--runtime", "docker", *IMAGE, "--", "sh", "-c", "exit 4",
                      ":::", "a", env=env)
        assert done.status == 1, done
        one = seat("shell", "job:0", rows=31, columns=97, env=env)
        one.reads("$ ")
        one.ask("echo [$DROVER_ITEM] $MODE $TERM $(id -u)", "[a] fast xterm 1000")
        one.ask("busybox stty size", "31 97")
        one.resize(40, 132)
        one.ask("until busybox stty size | grep -q 40.132; do sleep 0.1; done; busybox stty size", "40 132")
        first, _ = sleeps()
        one.type(f"{first}\n")
        wait_until(lambda: runs(first), "it to sleep")
        one.type("\x03")
        one.ask("echo code $?", "code 130")
        one.type("exit 9\n")
        assert one.ends() == 9 and one.is_as_before()
        killed = seat("shell", "job:0", env=env)
        killed.reads("$ ")
        killed.process.send_signal(signal.SIGTERM)
        assert killed.ends() == 128 + signal.SIGTERM and killed.is_as_before()
        assert drover("shell", "job:0", "--", "sh", "-c", "echo out; exit 5", env=env).status == 5
        assert drover("repro", "job:0", env=env).status == 4
        assert json.loads(docker.request("GET", "/containers/json?all=1")) == []
    finally:
        docker.close()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_is_left_of_a_shell_that_is_killed(drover, seat, catalogue, nothing_left, runtime):
    run(drover, "job", "--image", f"oci:{catalogue}/plain", "--runtime", runtime, *IMAGE, "--", "false", "{}", ":::", "a")
    for number in (signal.SIGKILL, signal.SIGTERM):
        one = seat("shell", "job:0")
        one.reads("$ ")
        one.ask("sleep 1000 & echo st''arted", "started")
        one.process.send_signal(number)
        status = one.ends()
        assert status == (-number if number == signal.SIGKILL else 128 + number)
        wait_until(lambda: not drover.left_over(), "its processes to end", 30)
    assert one.is_as_before()
    # The next one tidies up after the first.
    assert drover("shell", "job:0", "--", "true").status == 0
    assert containers_left(drover) == []


def test_a_command_needs_no_terminal(drover, catalogue, nothing_left):
    run(drover, "job", "--image", f"oci:{catalogue}/plain", *IMAGE, "--", "false", "{}", ":::", "a")
    done = drover("shell", "job:0", "--", "sh", "-c", "cat; echo err >&2; exit 5", input=b"in\n\xff")
    assert (done.status, done.raw_out) == (5, b"in\n\xff") and done.err.endswith("\nerr\n"), done
    assert "(attempt 1: exit code 1) runs: false a\n" in done.err
    quiet = drover("shell", "--quiet", "job:0", "--", "sh", "-c", "kill -9 $$")
    assert (quiet.status, quiet.err) == (137, ""), quiet
    missing = drover("shell", "--quiet", "job:0", "--", "nothing")
    assert (missing.status, missing.err) == (127, "drover: could not start nothing: not found in the container's PATH\n"), missing


def test_what_cannot_be_looked_into_is_said(drover, seat, catalogue, tmp_path):
    run(drover, "job", "--", "false", "{}", ":::", "a")
    drover("shell", "job:0").refuses("shell requires a terminal", "drover shell job:0 -- ls -l")
    drover("shell", "job:0", "--json", "--", "ls").refuses("--json")
    for verb, more in (("shell", ["--", "true"]), ("repro", [])):
        drover(verb, "nothing:0", *more).refuses("run 'nothing' not found")
        drover(verb, "job", *more).refuses("an item is required", "JOB:INDEX")
        drover(verb, "job:1", *more).refuses("run 'job' has no item 1", "valid indexes are 0 to 0")
        drover(verb, "job:x", *more).refuses("invalid item reference")
        drover(verb, "job:0", "--attempt", "2", *more).refuses("job:0 has no attempt 2", "drover items job:0")
    drover("shell", "job:0", "ls").refuses("unexpected argument 'ls' before --")
    drover("shell", "job:0", "--nothing").refuses("--nothing")
    # An image without a shell.
    run(drover, "bare", "--image", f"oci:{catalogue}/bare", "--", "/opt/busybox", "false", ":::", "a")
    one = seat("shell", "bare:0")
    one.reads("drover: could not start /bin/sh: No such file or directory\n  next: if the image has no shell, name another program: drover shell bare:0 -- PROGRAM")
    assert one.ends() == 2 and one.is_as_before()
    assert drover("shell", "bare:0", "--", "/opt/busybox", "echo", "hi").out == "hi\n"
    # An image that is gone.
    images.plain().write_layout(tmp_path / "gone")
    run(drover, "gone", "--image", f"oci:{tmp_path}/gone", *IMAGE, "--", "false", "{}", ":::", "a")
    drover("image", "prune")
    (tmp_path / "gone").rename(tmp_path / "away")
    drover("repro", "gone:0").refuses("No such file or directory")


# --- once more

def test_an_item_runs_again_and_nothing_is_recorded(drover, tmp_path):
    script = "echo out $DROVER_ITEM $DROVER_ATTEMPT; echo err >&2; exit $(cat code)"
    (tmp_path / "code").write_text("3")
    run(drover, "job", "--workdir", tmp_path, "--retries", "1", "--", "sh", "-c", script, "{}", ":::", "a")
    before = file_hashes(drover.run_folder("job"))
    same = drover("repro", "job:0", cwd="/")
    assert (same.status, same.out) == (3, "out a 2\n"), same
    assert same.err.endswith("\nerr\ndrover: the same as recorded: exit code 3 on attempt 2\n"), same
    (tmp_path / "code").write_text("0")
    other = drover("repro", "job:0", "--attempt", "1")
    assert (other.status, other.out) == (0, "out a 1\n"), other
    assert other.err.endswith("drover: recorded: exit code 3 on attempt 1; here: exit code 0\n"), other
    assert drover("repro", "--quiet", "job:0").err == "err\n"
    told = drover("repro", "--json", "job:0")
    assert told.err == "out a 2\nerr\n"
    answer, = told.json_lines
    assert (answer["job"], answer["item"], answer["ending"], answer["exit_code"], answer["differences"]) == ("job", 0, "exited", 0, [])
    assert answer["recorded"] == {"attempt": 2, "how": "exit code 3", "worker": None}
    assert file_hashes(drover.run_folder("job")) == before


def test_how_it_ended_is_an_exit_code(drover):
    run(drover, "job", "--memory", "64MiB", "--", "sh", "-c", "{}", ":::", "kill -9 $$", "a=x; while :; do a=$a$a$a$a; done", "exec /nothing", "kill -TERM $$")
    killed, large, missing, ended = [drover("repro", f"job:{index}") for index in range(4)]
    assert killed.status == 137 and "the same as recorded: signal 9 (SIGKILL) on attempt 1" in killed.err, killed
    assert large.status == 137 and "the same as recorded: out of memory on attempt 1" in large.err and "64 MiB" in large.err, large
    assert missing.status == 127 and ended.status == 143, (missing, ended)
    run(drover, "slow", "--timeout", "300ms", "--grace", "100ms", "--", "sh", "-c", "trap '' TERM; sleep 1000", "{}", ":::", "a")
    slow = drover("repro", "slow:0")
    assert slow.status == 124 and "the same as recorded: timed out on attempt 1 (timed out after 300.0 ms)" in slow.err, slow


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_container_item_runs_again(drover, catalogue, tmp_path, nothing_left, runtime):
    (tmp_path / "in").mkdir()
    (tmp_path / "in").chmod(0o777)
    run(drover, "job", "--image", f"oci:{catalogue}/plain", "--runtime", runtime, *IMAGE, "--mount", f"{tmp_path}/in:/data", "--memory", "64MiB", "--timeout", "10s",
        "--", "sh", "-c", "{}", ":::", "cat /hello /data/*; kill -9 $$", "a=x; while :; do a=$a$a$a$a; done", "touch /data/made")
    same = drover("repro", "job:0")
    assert same.status == 137 and same.out == "hello from the image\n", same
    assert "the same as recorded: exit code 137 on attempt 1" in same.err and "different on this machine" not in same.err, same
    assert "the same as recorded: out of memory on attempt 1" in (large := drover("repro", "job:1")).err and large.status == 137, large
    (tmp_path / "in").rename(tmp_path / "away")
    other = drover("repro", "job:2")
    assert other.status == 1 and f"different on this machine: /data is not mounted: {tmp_path}/in does not exist on this machine" in other.err, other
    assert "recorded: exit code 0 on attempt 1; here: exit code 1" in other.err, other
    assert containers_left(drover) == []


def test_ctrl_c_stops_an_item_and_a_second_one_kills_it(drover, seat):
    run(drover, "long", "--", "sh", "-c", "trap 'echo heard' TERM; {}", ":::", "test -e ready || { touch ready; exit 1; }; echo re''ady; while :; do sleep 0.05; done")
    one = seat("repro", "long:0")
    one.reads("ready\n")
    one.type("\x03")
    one.reads("heard\n")
    one.type("\x03")
    one.reads("recorded: exit code 1 on attempt 1; here: stopped (stopped by SIGINT)")
    assert one.ends() == 130 and one.is_as_before()


# --- of a server's job

@pytest.mark.parametrize("runtime", RUNTIMES)
def test_items_of_a_server(drover, seat, catalogue, nothing_left, runtime):
    server = Server(drover)
    submit(server, "later", "--", "echo", "hi", "{}", ":::", "x")
    env = {"DROVER_SERVER": server.address}
    not_yet = server.cli("repro", "later:0")
    assert (not_yet.status, not_yet.out) == (0, "hi x\n") and "recorded: it has not run yet; here: exit code 0" in not_yet.err, not_yet
    one = worker(server, name="far-away")
    submit(server, "job", "--image", f"oci:{catalogue}/plain", "--runtime", runtime, *IMAGE, "--memory", "64MiB", "--timeout", "20s", "--",
           "sh", "-c", "echo $DROVER_ITEM $DROVER_SERVER; exit 6", "{}", ":::", "a", b"\xff\xfe")
    server.ends("job")
    again = server.cli("repro", "job:1")
    assert (again.status, again.raw_out) == (6, b"\xff\xfe " + server.address.encode() + b"\n"), again
    assert "different on this machine: it ran on worker 'far-away'" in again.err and "DROVER_KEY is not set" in again.err, again
    assert "the same as recorded: exit code 6 on attempt 1 on worker 'far-away'" in again.err, again
    server.cli("repro", "job:7").refuses("job job has no item 7")
    server.cli("shell", "nothing:0", "--", "true").refuses("nothing")
    sitting = seat("shell", "job:0", env=env)
    sitting.reads("$ ")
    sitting.ask("echo [$DROVER_ITEM] [$DROVER_KEY] $(id -u)", "[a] [] 1000")
    sitting.type("exit 3\n")
    assert sitting.ends() == 3
    # Of the job nothing has changed.
    assert server.rows("select count(*) from attempts where job_name = 'job'") == [(2,)]
    one.signal(signal.SIGTERM)
    one.done()
