"""W4: accelerators in containers. Docker with the project's OCI runtime, as `nvidia` and as `oci-neuron`; and device plugins for Kubernetes."""

import json
import subprocess

import pytest

from clients import ROOT, missing, own_folder, own_program

IMAGE = "drover.test/base:1"


@pytest.fixture(scope="module")
def docker_by_name(docker_of):
    """Docker whose containers have GPUs only by --runtime."""
    return docker_of()


def test_01_a_device_of_the_machine(docker):
    shown = docker("run", "--rm", "--network", "none", "--device", "/dev/zero:/dev/x", IMAGE, "sh", "-c", "test -c /dev/x && head -c 3 /dev/x | wc -c")
    assert shown.strip() == "3"


def test_02_a_runtime_registered_in_daemon_json(docker):
    runtimes = json.loads(docker("info", "--format", "{{json .Runtimes}}"))
    assert {"nvidia", "oci-neuron"} <= set(runtimes)
    said = subprocess.run([own_program("drover-runtime"), "--version"], capture_output=True, text=True, timeout=20)
    assert said.returncode == 0 and "spec: 1." in said.stdout, said


def gpus_in(shown):
    return [int(line.split(":")[0].split()[1]) for line in shown.splitlines() if line.startswith("GPU ")]


# Nodes are counted from 1 on this machine, GPUs from 0.
@pytest.mark.parametrize("flags, gpus", [
    (["--runtime=nvidia", "--gpus=all"], [1, 2, 3, 4]), (["--runtime=nvidia", "--gpus=2"], [1, 2]), (["--runtime=nvidia", "--gpus", '"device=0,1"'], [1, 2])])
def test_03_gpus(docker_by_name, flags, gpus):
    assert gpus_in(docker_by_name("run", "--rm", "--network", "none", *flags, IMAGE, "nvidia-smi")) == gpus


def test_03_gpus_by_the_default_runtime(docker):
    assert gpus_in(docker("run", "--rm", "--network", "none", "--gpus=1", IMAGE, "nvidia-smi")) == [1]


def test_03_gpus_by_another_runtime_say_what_to_do(docker_by_name):
    done = docker_by_name.run("run", "--rm", "--network", "none", "--gpus=all", IMAGE, "nvidia-smi")
    assert done.returncode != 0 and "add --runtime=nvidia, or make it the default" in done.stderr


def test_04_config_toml_is_obeyed(docker_of):
    docker = docker_of("nvidia", settings='supported-driver-capabilities = "utility"')
    shown = docker("run", "--rm", "--network", "none", "--gpus=all", IMAGE, "busybox", "find", "/usr", "-name", "lib*.so.1")
    assert "libnvidia-ml.so.1" in shown and "libcuda.so.1" not in shown


NEURON_LS = ["run", "--rm", "--network", "none", "--env", "AWS_NEURON_VISIBLE_DEVICES=0"]


def test_05_neuron(docker_by_name):
    assert docker_by_name(*NEURON_LS, "--runtime=oci-neuron", IMAGE, "neuron-ls") == "neuron0\n"


def test_05_neuron_by_the_default_runtime(docker_of):
    assert docker_of("oci-neuron")(*NEURON_LS, IMAGE, "neuron-ls") == "neuron0\n"


def test_06_extra_hooks_from_a_json_file(docker_of, tmp_path):
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": {"prestart": [{"path": "/bin/sh", "args": ["sh", "-c", f"touch {tmp_path}/ran"]}]}}))
    docker_of("nvidia", hooks=tmp_path / "hooks.json")("run", "--rm", "--network", "none", IMAGE, "true")
    assert (tmp_path / "ran").exists()


@missing("device plugins: there are no manifests of daemonsets, and no program that advertises accelerators")
@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "aws.amazon.com/neuron"])
def test_07_kubernetes_device_plugins(resource):
    import yaml

    folder = own_folder("deploy/kubernetes/device-plugin")
    manifests = [one for path in sorted(folder.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    assert any(one["kind"] == "DaemonSet" and resource in json.dumps(one) for one in manifests), f"{folder.relative_to(ROOT)} names no {resource}"
    own_program("drover-device-plugin")
