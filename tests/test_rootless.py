"""Containers by somebody who is not root: in a user namespace, with the users that /etc/subuid gives him or with none but himself."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import images
import pytest

from drover import BINARY
from test_in_containers import CASES, SCRIPTS

SOMEBODY = 12345
FIRST_OF_HIS = 500_000


class Somebody:
    """Commands as a user of his own, who has a copy of the program and a home."""

    def __init__(self, home, users, runtime):
        self.home, self.users, self.runtime = home, users, runtime
        shutil.copy(BINARY, home / "drover")
        (home / "given").mkdir()
        (home / "given/in").write_text("given\n")
        self.own()

    def own(self):
        subprocess.run(["chown", "-R", f"{SOMEBODY}:{SOMEBODY}", self.home], check=True)

    def command(self, *words):
        inside = ["setpriv", "--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups", "env", "-i", f"HOME={self.home}", f"DROVER_DATA={self.home}/data",
                  f"PATH={os.environ['PATH']}", f"{self.home}/drover", *words]
        return ["unshare", "-m", "--propagation", "private", "sh", "-c", f'mount --bind {self.home.parent}/etc-{self.users} /etc && exec "$@"', "sh", *map(str, inside)]

    def start(self, *words, **more):
        return subprocess.Popen(self.command(*words), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def __call__(self, *words, input=None):
        process = self.start(*words)
        out, err = process.communicate(input, timeout=60)
        process.out, process.err = out.decode(), err.decode()
        return process

    def run(self, *words, image, command, input=b"x"):
        return self("run", "--name", "it", "--fresh", "--items", "-", "-0", "--runtime", self.runtime, "--entrypoint", "", *words, "--image", image, "--", *command, input=input)

    def rows(self):
        done = self("sql", "--run", "it", "select item, state, exit_code, reason from items order by item", "--json")
        return [json.loads(line) for line in done.out.splitlines()]

    def log(self, item=0):
        return self("logs", f"it:{item}").out


def write_etc(folder, home, given):
    """The machine's, with one user more."""
    shutil.copytree("/etc", folder, symlinks=True, ignore_dangling_symlinks=True)
    with open(folder / "passwd", "a") as users:
        users.write(f"somebody:x:{SOMEBODY}:{SOMEBODY}::{home}:/bin/sh\n")
    for name in ("subuid", "subgid"):
        (folder / name).write_text(given)


@pytest.fixture(scope="module")
def place():
    """That everybody may enter, unlike pytest's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drover-rootless-"))
    folder.chmod(0o755)
    images.plain("gzip").write_layout(folder / "plain")
    images.plain("").write_docker_archive(folder / "plain.tar", "drover.test/plain:1")
    write_etc(folder / "etc-one", folder / "one", "")
    write_etc(folder / "etc-many", folder / "many", f"somebody:{FIRST_OF_HIS}:65536\n")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=[("one", "runc"), ("many", "crun")], ids=" ".join)
def somebody(place, request):
    users, runtime = request.param
    home = place / users
    home.mkdir()
    one = Somebody(home, users, runtime)
    yield one
    left = [path for path in (home / "data/containers").glob("*") if path.name != "volumes"]
    shutil.rmtree(home)
    assert left == []


@pytest.fixture
def image(place):
    return f"oci:{place}/plain"


def test_the_table_of_cases(somebody, place, image):
    user = [] if somebody.users == "many" else ["--user", "0"]
    done = somebody.run("-j", 2, "--mount", f"{somebody.home}/given:/data:ro", "--memory", "96MiB", "--env", "MODE=fast",
                        *user, image=image, command=["sh", "-c", "{}"], input=SCRIPTS)
    rows = somebody.rows()
    assert len(rows) == len(CASES), done.err
    for row, (script, ending, out, err) in zip(rows, CASES):
        if ending == "out of memory":
            # Nobody but a cgroup can tell: the program is refused memory, and says so itself.
            assert row["state"] == "failed" and row["exit_code"] == 1 and "memory" in somebody.log(row["item"]), row
            continue
        assert (row["state"], row["exit_code"]) == ("succeeded" if ending == 0 else "failed", ending), (script, row)
        if somebody.users == "one":
            out = out.replace("1000\n", "0\n")
        assert sorted(somebody.log(row["item"]).splitlines()) == sorted((out + err).splitlines()), script


def test_an_archive_is_unpacked_without_root(somebody, place):
    somebody.run("--user", "0", image=f"docker-archive:{place}/plain.tar",
                 command=["sh", "-c", "cat /hello; cat /etc/gone 2>/dev/null || echo gone; cat /proc/self/uid_map"])
    lines = somebody.log().splitlines()
    assert lines[:2] == ["hello from the image", "gone"]
    assert [line.split() for line in lines[2:]] == [["0", str(SOMEBODY), "1"], ["1", str(FIRST_OF_HIS), "65536"]][:1 if somebody.users == "one" else 2]


def test_who_is_nobody_here_is_named(somebody, image):
    if somebody.users == "many":
        done = somebody.run("--user", "70000", image=image, command=["true"])
        assert "cannot run as user 70000:" in done.err
    else:
        done = somebody.run(image=image, command=["true"])
        assert "cannot run as user 1000:1000 on this machine: drover is not root, and has no subordinate id for it" in done.err
    assert "--add-subuids" in done.err and "--user 0" in done.err


def test_a_folder_of_somebody_else_is_named(somebody, place):
    root = place / "root"
    root.mkdir(exist_ok=True)
    done = somebody.run(image=f"rootfs:{root}", command=["true"])
    assert f"{root} belongs to user 0, which a rootless container cannot map" in done.err and "cp -r" in done.err


def test_limits_are_held_as_far_as_they_can(somebody, image):
    script = "i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; echo all; wait"
    somebody.run("--user", "0", "--pids", 8, "--cpus", 1, "--tmpfs", "/scratch", "--network", "none", "--read-only",
                 "--reuse", "--device", "/dev/zero:/dev/naught:r", image=image, command=["sh", "-c", f"head -c 3 /dev/naught | wc -c; touch /scratch/x && echo written; touch /x || echo kept; nproc; {script}"])
    log = somebody.log()
    assert "written\n" in log and "kept\n" in log and "\n1\n" in log, log
    assert log.startswith("3\n"), log
    assert "fork" in log, log


def test_nothing_is_left_of_one_that_was_killed(somebody, image):
    user = "1000" if somebody.users == "many" else "0"
    process = somebody.start("run", "--name", "it", "--runtime", somebody.runtime, "--user", user, "--entrypoint", "", "--image", image, "--", "sh", "-c",
                             "mkdir -p /tmp/a/b && touch /tmp/a/b/c; exec sleep 987.5", ":::", "x")

    def sleeping():
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", b"987.5"]:
                found.append(int(folder.name))
        return found

    deadline = time.monotonic() + 60
    while not sleeping():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while sleeping():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    somebody.run("--user", "0", image=image, command=["true"])


def test_what_others_wrote_in_his_name_goes_too(somebody, image):
    """The helper itself was killed, so files of users that only a user namespace knows are left."""
    namespace = os.stat("/proc/self/ns/pid").st_ino
    left = somebody.home / f"data/containers/1-1-ns{namespace}"
    inside = left / "1/scratch/1/u/tmp/of-another"
    inside.mkdir(parents=True)
    (inside / "file").write_text("x")
    somebody.own()
    if somebody.users == "many":
        for path in (inside.parent, inside, inside / "file"):
            os.chown(path, FIRST_OF_HIS + 999, FIRST_OF_HIS + 999)
        inside.parent.chmod(0o700)
    done = somebody.run("--user", "0", image=image, command=["true"])
    assert done.returncode == 0, done.err
    assert not left.exists()


def test_doctor_says_what_it_can(somebody):
    done = somebody("doctor")
    said = next(line for line in done.out.splitlines() if "containers" in line)
    assert ("as users 0 to 65536" if somebody.users == "many" else "only as user 0 in the container") in said, done.out
