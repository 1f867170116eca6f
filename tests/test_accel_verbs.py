"""drover accel: what it lists and checks, the CDI files that it writes, and the engines that it tells of the OCI runtime."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import jsonschema
import pytest

import images
from driver_root import FOLDER, UUIDS, VERSION, DriverRoot, busybox_root
from drover import BINARY
from test_accel import HOOK, NODES, RUNTIME, nodes_in

SCHEMA = json.loads((pathlib.Path(__file__).parent / "data/cdi.schema.json").read_text())
# A container of podman's wants more than a machine without CAP_SYS_RESOURCE has.
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    one = DriverRoot(tmp_path_factory.mktemp("driver"))
    one.add_mig(4, 9, 0, (30, 31))
    return one


@pytest.fixture
def accel(drover, driver, tmp_path):
    """accel(WORDS) with the driver in a folder, and no CDI files but those below `cdi`."""
    settings = driver.settings(tmp_path / "accel.toml", cdi_folders=[tmp_path / "cdi"])
    return lambda part, *words: drover("accel", part, "--accel-config", settings, *words)


def test_list_shows_each_device(accel, driver):
    shown = accel("list")
    assert shown.status == 0
    for n in range(4):
        assert f"/dev/nvidia{n + 1}" in shown.out and UUIDS[n] in shown.out
    assert "3:0" in shown.out and "/dev/neuron2" in shown.out
    listed = json.loads(accel("list", "--json").out)
    assert listed["driver"] == VERSION and [gpu["index"] for gpu in listed["gpus"]] == [0, 1, 2, 3]
    assert listed["gpus"][3]["mig"] == [{"name": "3:0", "gpu_instance": 9, "compute_instance": 0}] and listed["neuron"] == [0, 1, 2]


def test_a_machine_without_accelerators_says_so(drover, tmp_path):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "dev").mkdir()
    for part in ("list", "check"):
        shown = drover("accel", part, "--driver-root", tmp_path)
        assert shown.status == 0 and "there is no accelerator on this machine" in shown.out
    drover("accel", "cdi", "--driver-root", tmp_path).refuses("no NVIDIA GPU was found", "modprobe nvidia")


def test_check_names_what_will_not_work(accel, drover, tmp_path):
    # No driver of this machine answers to the nodes' numbers.
    checked = accel("check")
    assert checked.status == 1 and f"NVIDIA's driver {VERSION} (CUDA 12.2)" in checked.out
    assert "/dev/nvidia1 cannot be opened: No such device or address" in checked.out and "next: " in checked.out
    other = DriverRoot(tmp_path / "other", gpus=1, neuron=0)
    other._write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1.2  x\n")
    other._write("proc/devices", "Character devices:\n  1 mem\n196 nvidia\n508 nvidia-uvm\n")
    checks = json.loads(drover("accel", "check", "--driver-root", other.folder, "--json").out)["checks"]
    said = [check["text"] for check in checks if check["verdict"] == "problem"]
    assert f"the kernel has NVIDIA's driver 570.1.2, and the libraries are version {VERSION}: programs cannot use the GPUs" in said
    assert "/dev/nvidia1 has the number 195, and its driver has 196" in said


def test_the_files_of_cdi_are_valid_and_ask_for_the_least_version(accel, driver, tmp_path):
    written = accel("cdi", "--write", "--folder", tmp_path / "cdi")
    assert written.status == 0, written
    nvidia, neuron = (json.loads((tmp_path / "cdi" / name).read_text()) for name in ("nvidia.com-gpu.json", "aws.amazon.com-neuron.json"))
    for spec in (nvidia, neuron):
        jsonschema.validate(spec, SCHEMA)
        assert spec["cdiVersion"] == "0.5.0", "names begin with digits, and the nodes are elsewhere"
    names = {device["name"] for device in nvidia["devices"]}
    assert names == {"0", "1", "2", "3", *UUIDS[:4], "3:0", "all"}
    assert {device["name"] for device in neuron["devices"]} == {"0", "1", "2", "all"}
    assert all((tmp_path / "cdi" / name).stat().st_mode & 0o777 == 0o644 for name in os.listdir(tmp_path / "cdi"))
    hook, = nvidia["containerEdits"]["hooks"]
    assert hook["path"] == str(HOOK) and hook["env"]
    assert f"{len(names) + 4} devices in CDI files" in accel("list").out
    shown = json.loads(accel("cdi", "--json").out)["files"]
    assert [one["spec"] for one in shown] == [nvidia, neuron] and shown[0]["file"] is None


def test_the_schema_refuses_what_is_wrong(accel, tmp_path):
    assert accel("cdi", "--write", "--folder", tmp_path / "cdi").status == 0
    for change in (lambda it: it.pop("kind"), lambda it: it.update(devices=[]), lambda it: it["devices"][0].update(name="-"),
                   lambda it: it["containerEdits"]["hooks"][0].update(hookName="x"), lambda it: it["devices"][0]["containerEdits"].update(other=1)):
        spec = json.loads((tmp_path / "cdi/nvidia.com-gpu.json").read_text())
        change(spec)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(spec, SCHEMA)


@pytest.mark.parametrize("runtime", ["/usr/sbin/runc", RUNTIME], ids=["runc", "drover-runtime"])
def test_podman_by_the_files_of_cdi(accel, tmp_path, runtime):
    etc = tmp_path / "etc"
    subprocess.run(["cp", "-a", "/etc", etc], check=True)
    assert accel("cdi", "--write", "--folder", etc / "cdi").status == 0
    root = busybox_root(tmp_path / "rootfs")
    # podman refuses long paths.
    short = tempfile.mkdtemp(prefix="podman-", dir="/tmp")
    words = ["podman", "--root", f"{short}/store", "--runroot", f"{short}/run", "--cgroup-manager", "cgroupfs", "--runtime", runtime, "run", "--rm", *LIMITS,
             "--network", "none", "--device", "nvidia.com/gpu=0", "--env", "PATH=/bin:/usr/bin", "--rootfs", root, "sh", "-c", f"{NODES}; nvidia-smi; ls /{FOLDER}"]
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /etc; exec "$@"', etc, *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    shutil.rmtree(short)
    assert done.returncode == 0, done
    assert nodes_in(done.stdout) == ["nvidia-uvm", "nvidia-uvm-tools", "nvidia1", "nvidiactl"]
    assert "GPU 1: Tesla T4" in done.stdout and "libcuda.so.1" in done.stdout


# Registering the runtime

FILES = {"docker": [None, b"{}", b'{\n  "log-level": "warn",\n  "runtimes": {\n    "kata": {"path": "/usr/bin/kata"}\n  }\n}\n'],
         "containerd": [None, b"version = 2\n", b'version = 2\nroot = "/x"'], "podman": [None]}


@pytest.mark.parametrize("engine, before", [(engine, before) for engine, befores in FILES.items() for before in befores])
def test_uninstalling_leaves_the_file_as_it_was(drover, tmp_path, engine, before):
    file, hooks = tmp_path / "etc/config", tmp_path / "bin"
    file.parent.mkdir()
    if before is not None:
        file.write_bytes(before)
        file.chmod(0o640)
    words = ["accel", "install", f"--{engine}", "--file", file, "--hook-dir", hooks, "--yes"]
    made = drover(*words)
    assert made.status == 0 and "  + " in made.out and str(RUNTIME) in file.read_text(), made
    assert before is None or file.stat().st_mode & 0o777 == 0o640
    assert "there is nothing to change" in drover(*words).out
    assert (hooks / "nvidia-container-runtime-hook").is_symlink() == (engine == "docker")
    assert drover(*words, "--uninstall").status == 0
    assert (file.read_bytes() if file.exists() else None) == before
    assert not (hooks / "nvidia-container-runtime-hook").exists()
    assert "there is nothing to change" in drover(*words, "--uninstall").out


def test_docker_and_containerd_take_the_files(drover, tmp_path):
    for engine in ("docker", "containerd"):
        file = tmp_path / engine
        assert drover("accel", "install", f"--{engine}", "--file", file, "--hook-dir", tmp_path / "bin", "--yes").status == 0
    daemon = images.Docker(json.loads((tmp_path / "docker").read_text()))
    try:
        assert {"nvidia", "oci-neuron", "drover"} <= set(json.loads(daemon.request("GET", "/info"))["Runtimes"])
    finally:
        daemon.close()
    dumped = subprocess.run(["containerd", "--config", tmp_path / "containerd", "config", "dump"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert dumped.count(f'BinaryName = "{RUNTIME}"') == 3


def test_nothing_changes_without_a_yes(drover, tmp_path):
    file = tmp_path / "daemon.json"
    words = ["accel", "install", "--docker", "--file", file, "--hook-dir", tmp_path / "bin"]
    drover(*words).refuses("nothing was changed", "add --yes")
    assert not file.exists() and not (tmp_path / "bin").exists()
    drover("accel", "install").refuses("which container engine", "--docker")
    made = json.loads(drover(*words, "--default", "--yes", "--json").out)
    assert made["changed"] and made["before"] is None and json.loads(made["after"])["default-runtime"] == "nvidia"
    assert json.loads(file.read_text())["runtimes"]["oci-neuron"] == {"path": str(RUNTIME), "runtimeArgs": ["--vendor", "neuron"]}


def test_what_is_not_ours_is_not_replaced(drover, tmp_path):
    file, hooks = tmp_path / "daemon.json", tmp_path / "bin"
    hooks.mkdir()
    (hooks / "nvidia-container-runtime-hook").write_text("another's")
    file.write_text('{"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}')
    words = ["accel", "install", "--docker", "--file", file, "--hook-dir", hooks, "--yes"]
    drover(*words).refuses("the runtime 'nvidia' is there already")
    file.write_text("{}")
    assert drover(*words).status == 0 and drover(*words, "--uninstall").status == 0
    assert (hooks / "nvidia-container-runtime-hook").read_text() == "another's"
    file.write_text('{"a": 1,}')
    drover(*words).refuses("malformed JSON: line 1, column 9", "repair the file first")
    assert file.read_text() == '{"a": 1,}'


def test_without_its_programs_it_says_so(tmp_path):
    alone = shutil.copy(BINARY, tmp_path / "drover")
    done = subprocess.run([alone, "accel", "install", "--docker", "--file", tmp_path / "x", "--yes"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "drover-runtime is not installed beside" in done.stderr
