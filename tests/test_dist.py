"""The tarball of `make dist`, in a root folder where there is nothing but a static busybox: a server and a worker run a job."""

import pathlib
import shutil
import subprocess

import pytest

from drover import BINARY

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(BINARY).parents[1]

JOB = """
set -eu
mount -t proc proc /proc
mkdir -p /tmp /data
/opt/drover/drover server --data /data --listen 127.0.0.1:0 2>/data/server.log &
while ! [ -s /data/server/address ]; do sleep 0.1; done
/opt/drover/drover worker --data /data --name bare 2>/data/worker.log &
/opt/drover/drover submit --data /data --server "$(cat /data/server/address)" --name job --range 1-20 -- sh -c 'echo item $1 of $0' bare {}
until /opt/drover/drover status --data /data --server "$(cat /data/server/address)" job | grep -q "'job' succeeded"; do sleep 0.2; done
/opt/drover/drover status --data /data --server "$(cat /data/server/address)" job
/opt/drover/drover logs --data /data --server "$(cat /data/server/address)" job:6
/opt/drover/drover run --data /data --quiet --name local --range 1-5 -- echo and here
/opt/drover/drover logs --data /data local:4
"""


@pytest.fixture(scope="module")
def tarball():
    subprocess.run(["cmake", "--build", BUILD, "--target", "drover_launcher"], check=True, capture_output=True)
    packed = subprocess.run([SOURCE / "deploy/dist/pack", BUILD], check=True, capture_output=True, text=True, cwd=SOURCE).stdout.strip()
    return SOURCE / packed


@pytest.fixture
def bare(tarball, tmp_path):
    """A root folder with the tarball unpacked below /opt, and busybox."""
    root = tmp_path / "root"
    for folder in ("bin", "proc", "dev", "opt"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for name in ("sh", "mount", "mkdir", "cat", "sleep", "grep", "echo"):
        (root / "bin" / name).symlink_to("busybox")
    subprocess.run(["mknod", root / "dev/null", "c", "1", "3"], check=True)
    subprocess.run(["tar", "-xzf", tarball, "-C", root / "opt"], check=True)
    unpacked, = (root / "opt").iterdir()
    unpacked.rename(root / "opt/drover")
    return root


def test_it_runs_where_there_is_nothing(bare):
    done = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c",
                           'ip link set lo up; exec chroot "$0" /bin/busybox env -i PATH=/bin HOME=/ /bin/sh -c "$1"', bare, JOB],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done
    assert "20 succeeded" in done.stdout, done
    assert "item 7 of bare\n" in done.stdout and "and here 5\n" in done.stdout


def test_the_programs_for_accelerators_run_too(bare):
    for words, said in ((["drover-runtime", "--help-drover"], "Takes the commands of runc"), (["drover-hook", "--help"], "drover-hook prepare")):
        done = subprocess.run(["chroot", bare, f"/opt/drover/{words[0]}", *words[1:]], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and said in done.stdout, done


def test_the_files_belong_together(bare):
    (bare / "opt/drover/lib/drover").unlink()
    done = subprocess.run([bare / "opt/drover/drover", "version"], capture_output=True, text=True)
    assert done.returncode == 127 and "/opt/drover/lib" in done.stderr
