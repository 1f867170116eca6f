import json
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import drover as shared  # noqa: E402
import images  # noqa: E402
from clients import BUILD, Aws, DockerCli  # noqa: E402
from driver_root import DriverRoot  # noqa: E402
from test_server import Server, worker  # noqa: E402

# As the images of these machines' vendors have it: all GPUs, unless somebody says otherwise; and a program that shows Neuron devices.
VARIABLES = ["PATH=/usr/local/nvidia/bin:/usr/bin:/bin", "NVIDIA_VISIBLE_DEVICES=all"]
NEURON_LS = b"""#!/bin/sh
cd /dev && ls -d neuron*
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
    layers = [images.busybox_layer(), images.Tar().add("bin/neuron-ls", NEURON_LS, mode=0o755).bytes()]
    images.Image(layers, "", Env=VARIABLES).write_docker_archive(path, "drover.test/base:1")
    return path


@pytest.fixture(scope="module")
def driver_root(tmp_path_factory):
    """Stands for the drivers of four GPUs and three Neuron devices on a machine without any."""
    machine = DriverRoot(tmp_path_factory.mktemp("driver"))
    # Also as a volume, of which older machines mounted the programs.
    (machine.folder / "bin").mkdir()
    shutil.copy(machine.folder / "usr/bin/nvidia-smi", machine.folder / "bin")
    return machine


@pytest.fixture(scope="module")
def docker_of(driver_root, busybox, tmp_path_factory):
    """docker_of(default, settings, hooks): Docker with a daemon of its own, which knows our runtime as `nvidia` and as `oci-neuron`."""
    daemons = []
    path = tmp_path_factory.mktemp("path")
    (path / "nvidia-container-runtime-hook").symlink_to(BUILD / "bin/drover-hook")

    def start(default="runc", settings="", hooks=None):
        folder = tmp_path_factory.mktemp("docker-home")
        arguments = ["--config", str(driver_root.settings(folder / "config.toml", top=settings)), *(["--hook-config-path", str(hooks)] if hooks else [])]
        program = {"path": str(BUILD / "bin/drover-runtime")}
        runtimes = {"nvidia": program | {"runtimeArgs": arguments}, "oci-neuron": program | {"runtimeArgs": [*arguments, "--vendor", "neuron"]}}
        daemons.append(images.Docker({"runtimes": runtimes, "default-runtime": default}, path=path))
        daemons[-1].load(busybox)
        return DockerCli(daemons[-1], folder)

    yield start
    for daemon in daemons:
        daemon.close()


@pytest.fixture(scope="module")
def docker(docker_of):
    """On a machine for GPUs every container can have them."""
    return docker_of("nvidia")
