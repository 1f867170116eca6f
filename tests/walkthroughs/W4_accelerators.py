"""W4: accelerators in containers. Docker with the project's OCI runtime, as `nvidia` and as `oci-neuron`; and device plugins for Kubernetes."""

import json
import os
import subprocess

import pytest

import images
from clients import ROOT, DockerCli, missing, own_folder, own_program

IMAGE = "drover.test/base:1"


@pytest.fixture
def docker_with_default(busybox, tmp_path):
    """docker_with_default(NAME): Docker whose default runtime is ours under this name."""
    daemons = []

    def start(name):
        path = str(own_program("drover-runtime"))
        daemons.append(images.Docker({"runtimes": {name: {"path": path}}, "default-runtime": name}))
        daemons[-1].load(busybox)
        return DockerCli(daemons[-1], tmp_path)

    yield start
    for daemon in daemons:
        daemon.close()


def test_01_a_device_of_the_machine(docker):
    shown = docker("run", "--rm", "--network", "none", "--device", "/dev/zero:/dev/x", IMAGE, "sh", "-c", "test -c /dev/x && head -c 3 /dev/x | wc -c")
    assert shown.strip() == "3"


@missing("drover-runtime: there is no OCI runtime of ours to register")
def test_02_a_runtime_registered_in_daemon_json(docker):
    runtimes = json.loads(docker("info", "--format", "{{json .Runtimes}}"))
    assert {"nvidia", "oci-neuron"} <= set(runtimes)
    said = subprocess.run([own_program("drover-runtime"), "--version"], capture_output=True, text=True, timeout=20)
    assert said.returncode == 0 and "spec: 1." in said.stdout, said


@missing("drover-runtime: nothing brings GPUs into a container")
@pytest.mark.parametrize("flags, gpus", [
    (["--runtime=nvidia", "--gpus=all"], "all"), (["--runtime=nvidia", "--gpus=2"], "0,1"), (["--runtime=nvidia", "--gpus", '"device=0,1"'], "0,1")])
def test_03_gpus(docker, driver_root, flags, gpus):
    assert f"GPUs: {gpus}" in docker.run_with_gpus(driver_root, "--rm", "--network", "none", *flags, IMAGE, "nvidia-smi")


@missing("drover-runtime: there is no OCI runtime of ours to be the default")
def test_03_gpus_by_the_default_runtime(docker_with_default, driver_root):
    shown = docker_with_default("nvidia").run_with_gpus(driver_root, "--rm", "--network", "none", "--gpus=all", IMAGE, "nvidia-smi")
    assert "GPUs: all" in shown


@missing("drover-runtime: there is no config.toml to obey")
def test_04_config_toml_is_obeyed(docker, driver_root, tmp_path):
    runtime = own_program("drover-runtime")
    (tmp_path / "config.toml").write_text(f'[nvidia-container-cli]\nroot = "{driver_root}"\n[nvidia-container-runtime]\nlog-level = "debug"\n'
                                          f'debug = "{tmp_path}/log"\n')
    subprocess.run([runtime, "--config", tmp_path / "config.toml", "--version"], check=True, timeout=20)
    assert "debug" in (tmp_path / "log").read_text()


@missing("drover-runtime: nothing brings Neuron devices into a container")
def test_05_neuron(docker, driver_root):
    words = ["--rm", "--network", "none", "--env", "AWS_NEURON_VISIBLE_DEVICES=0", IMAGE, "neuron-ls"]
    assert "neuron" in docker.run_with_gpus(driver_root, "--runtime=oci-neuron", *words)


@missing("drover-runtime: there is no OCI runtime of ours to be the default")
def test_05_neuron_by_the_default_runtime(docker_with_default, driver_root):
    words = ["--rm", "--network", "none", "--env", "AWS_NEURON_VISIBLE_DEVICES=0", IMAGE, "neuron-ls"]
    assert "neuron" in docker_with_default("oci-neuron").run_with_gpus(driver_root, *words)


@missing("drover-hook: there is no program that runs extra hooks")
def test_06_extra_hooks_from_a_json_file(tmp_path):
    hook = own_program("drover-hook")
    (tmp_path / "hooks.json").write_text(json.dumps({"prestart": [{"path": "/bin/sh", "args": ["sh", "-c", f"touch {tmp_path}/ran"]}]}))
    subprocess.run([hook, "prestart"], input=json.dumps({"ociVersion": "1.0.2", "id": "x", "status": "created", "pid": os.getpid(), "bundle": str(tmp_path)}),
                   env={**os.environ, "DROVER_HOOKS": str(tmp_path / "hooks.json")}, check=True, text=True, timeout=20)
    assert (tmp_path / "ran").exists()


@missing("device plugins: there are no manifests of daemonsets, and no program that advertises accelerators")
@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "aws.amazon.com/neuron"])
def test_07_kubernetes_device_plugins(resource):
    import yaml

    folder = own_folder("deploy/kubernetes/device-plugin")
    manifests = [one for path in sorted(folder.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    assert any(one["kind"] == "DaemonSet" and resource in json.dumps(one) for one in manifests), f"{folder.relative_to(ROOT)} names no {resource}"
    own_program("drover-device-plugin")
