"""The images of deploy/container, built by buildah of the tarball of `make dist`. No image is fetched: the worker's stands on a busybox. Server and
worker run a job, each started as its image says, by a few lines that do what a container runtime does."""

import json
import pathlib
import shutil
import subprocess

import pytest

from test_dist import SOURCE, tarball  # noqa: F401 (a fixture)

CONTAINER = SOURCE / "deploy/container"

# Starts an image's command, or another one, in a root folder: its user, folder and environment, and what -e would add.
ENTER = """
import json, os, sys
root, config, *words = sys.argv[1:]
config = json.loads(config)
os.chroot(root)
os.chdir(config["WorkingDir"])
user, group = map(int, config["User"].split(":"))
os.setgroups([])
os.setgid(group)
os.setuid(user)
words = [*config["Entrypoint"], *(words or config["Cmd"])]
added = {name: value for name, value in os.environ.items() if name.startswith("DROVER_")}
os.execve(words[0], words, {**dict(it.split("=", 1) for it in config["Env"]), **added})
"""

JOB = """
set -eu
enter=$0 server=$1 server_config=$2 worker=$3 worker_config=$4
ip link set lo up
for root in "$server" "$worker"; do
  mkdir -p "$root/proc" "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev"
  for device in null urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
done
server() { /usr/bin/python3 -c "$enter" "$server" "$server_config" "$@"; }
server 2>&1 | sed 's/^/server: /' >&2 &
while ! [ -s "$server/var/lib/drover/server/address" ]; do sleep 0.1; done
export DROVER_JOIN=$(server key join --quiet)
/usr/bin/python3 -c "$enter" "$worker" "$worker_config" 2>&1 | sed 's/^/worker: /' >&2 &
unset DROVER_JOIN
export DROVER_SERVER=https://127.0.0.1:8750
server submit --name job --workdir / --range 1-20 -- sh -c 'echo item $1 as $(id -u)' sh {}
until server status job | grep -q "'job' succeeded"; do sleep 0.2; done
server status job
server logs job:6
"""


class Buildah:
    """With a store of its own. `program` is what somebody would type instead of `buildah`."""

    def __init__(self, folder):
        self.program = folder / "buildah"
        self.program.write_text(f"#!/bin/sh\nexec buildah --root {folder}/images --runroot {folder}/run --storage-driver vfs \"$@\"\n")
        self.program.chmod(0o755)

    def __call__(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()


@pytest.fixture
def buildah(tmp_path):
    one = Buildah(tmp_path)
    yield one
    one("umount", "--all")


@pytest.fixture
def base(buildah, tmp_path):
    files = tmp_path / "base"
    (files / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), files / "bin/busybox")
    for name in ("sh", "id"):
        (files / "bin" / name).symlink_to("busybox")
    container = buildah("from", "scratch")
    buildah("copy", container, files, "/")
    buildah("config", "--env", "PATH=/bin", container)
    buildah("commit", container, "localhost/base")
    return "localhost/base"


def test_a_server_and_a_worker_of_the_images_run_a_job(buildah, base, tarball):  # noqa: F811
    built = subprocess.run([CONTAINER / "build", tarball, buildah.program, "--pull-never", "--build-arg", f"BASE={base}"],
                           capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, (built.stdout, built.stderr)
    words = []
    for role in ("server", "worker"):
        config = json.loads(buildah("inspect", "--type", "image", f"drover-{role}"))["OCIv1"]["config"]
        assert list(config["Volumes"]) == ["/var/lib/drover"]
        words += [buildah("mount", buildah("from", "--pull-never", f"drover-{role}")), json.dumps(config)]
    assert {path.name for path in pathlib.Path(words[0]).iterdir()} == {"opt", "var"}, "the server's image holds the server alone"
    done = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", JOB, ENTER, *words],
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done
    assert "20 succeeded" in done.stdout, done
    assert "item 7 as 10001\n" in done.stdout, done


def test_it_says_what_it_lacks(tmp_path):
    done = subprocess.run([CONTAINER / "build"], capture_output=True, text=True)
    assert done.returncode != 0 and "make dist" in done.stderr
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dirname", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    done = subprocess.run([CONTAINER / "build", "x.tar.gz"], capture_output=True, text=True, env={"PATH": str(tools)})
    assert done.returncode == 1 and "docker, podman or buildah" in done.stderr
