import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import drover as shared  # noqa: E402
import images  # noqa: E402
from clients import BUILD, Aws, DockerCli  # noqa: E402
from test_server import Server, worker  # noqa: E402

# A machine's driver: what a container is given of it. The library is a file that nothing loads.
NVIDIA_SMI = """#!/bin/sh
echo "NVIDIA-SMI 535.104 of the tests' driver root"
echo "GPUs: ${NVIDIA_VISIBLE_DEVICES:-none}"
"""


class World:
    """What the steps of one walkthrough share: a server with two workers, the clients, and what steps have made."""

    def __init__(self, folder):
        self.folder = folder
        self.drover = shared.Drover(folder)
        self.server = Server(self.drover)
        self.workers = [worker(self.server, name=name) for name in ("w1", "w2")]
        variables = self.drover("env-vars", "--json")
        assert variables.status == 0, variables
        self.aws = Aws(json.loads(variables.out), folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    one = World(tmp_path_factory.mktemp("walkthrough"))
    yield one
    assert one.drover.clean_up() == {}


@pytest.fixture(scope="module")
def server(world):
    return world.server


@pytest.fixture(scope="module")
def aws(world):
    return world.aws


@pytest.fixture(scope="module")
def busybox(tmp_path_factory):
    """An archive of an image, `drover.test/base:1`, with busybox alone; nothing is fetched from anywhere."""
    path = tmp_path_factory.mktemp("images") / "base.tar"
    images.Image([images.busybox_layer()], "", Env=["PATH=/usr/local/nvidia/bin:/usr/bin:/bin"]).write_docker_archive(path, "drover.test/base:1")
    return path


@pytest.fixture(scope="module")
def driver_root(tmp_path_factory):
    """Stands for the NVIDIA driver on a machine without one."""
    root = tmp_path_factory.mktemp("driver")
    for folder in ("bin", "usr/bin", "lib64", "usr/lib/x86_64-linux-gnu"):
        (root / folder).mkdir(parents=True)
    for path in (root / "bin/nvidia-smi", root / "usr/bin/nvidia-smi"):
        path.write_text(NVIDIA_SMI)
        path.chmod(0o755)
    for name in ("libcuda.so.535.104", "libnvidia-ml.so.535.104"):
        (root / "usr/lib/x86_64-linux-gnu" / name).write_bytes(b"")
    return root


@pytest.fixture(scope="module")
def docker(tmp_path_factory, busybox):
    """Docker with a daemon of its own. Its configuration names the runtimes that this project brings, whether they are there or not."""
    runtimes = {"nvidia": {"path": str(BUILD / "bin/drover-runtime")}, "oci-neuron": {"path": str(BUILD / "bin/drover-runtime"), "runtimeArgs": ["--vendor", "neuron"]}}
    daemon = images.Docker({"runtimes": runtimes})
    daemon.load(busybox)
    yield DockerCli(daemon, tmp_path_factory.mktemp("docker-home"))
    daemon.close()
