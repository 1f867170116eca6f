"""Accelerators in containers, on a machine whose drivers are in a folder: drover-runtime and drover-hook below real runc, crun, Docker and containerd."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import images
from driver_root import FOLDER, UUIDS, VERSION, DriverRoot, busybox_root
from drover import BINARY, wait_until

PROGRAMS = pathlib.Path(BINARY).parent
RUNTIME, HOOK = PROGRAMS / "drover-runtime", PROGRAMS / "drover-hook"
CONTROL = ["nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"]
NODES = "cd /dev; echo nodes $(ls -d nvidia* neuron* 2>/dev/null)"
# crun refuses machines that have version 1 and version 2 of cgroups.
HIDE_UNIFIED = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                'test ! -d /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified; exec "$0" "$@"']


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    one = DriverRoot(tmp_path_factory.mktemp("driver"))
    one.add_mig(4, 9, 0, (30, 31))
    return one


@pytest.fixture(scope="module")
def settings(driver, tmp_path_factory):
    return driver.settings(tmp_path_factory.mktemp("settings") / "config.toml")


class Bundle:
    def __init__(self, folder, script, environment=(), **more):
        self.folder = folder
        if not (folder / "rootfs").exists():
            busybox_root(folder / "rootfs")
        (folder / "config.json").unlink(missing_ok=True)
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        config = json.loads((folder / "config.json").read_text())
        config["process"] |= {"terminal": False, "args": ["sh", "-c", script], "env": ["PATH=/bin:/usr/bin", *environment]}
        config["root"]["readonly"] = False
        for key, value in more.items():
            config[key] = config[key] | value if isinstance(value, dict) and key in config else value
        self.write(config)

    def write(self, config):
        (self.folder / "config.json").write_text(json.dumps(config, indent=1))
        self.before = (self.folder / "config.json").read_bytes()

    def config(self):
        return json.loads((self.folder / "config.json").read_text())

    def command(self, *options, below="runc", command="run"):
        wrap = HIDE_UNIFIED if below == "crun" else []
        return [*wrap, str(RUNTIME), "--runtime-path", shutil.which(below) or below, *map(str, options), "--log", f"{self.folder}/log", "--log-format", "json",
                command, "--bundle", str(self.folder), f"accel-{self.folder.parent.name[-40:]}-{below.rpartition('/')[2]}"]

    def run(self, settings, *options, below="runc", command="run", environment=None):
        return subprocess.run(self.command("--config", settings, *options, below=below, command=command), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, env={**os.environ, **(environment or {})})

    def output(self, settings, *options, **more):
        done = self.run(settings, *options, **more)
        assert done.returncode == 0, done
        return done.stdout

    def last_error(self):
        line = json.loads((self.folder / "log").read_text().splitlines()[-1])
        assert line["level"] == "error"
        return line["msg"]


@pytest.fixture
def bundle(tmp_path):
    def make(script, *environment, **more):
        (tmp_path / "bundle").mkdir(exist_ok=True)
        return Bundle(tmp_path / "bundle", script, environment, **more)

    return make


def nodes_in(output):
    line, = [line for line in output.splitlines() if line.startswith("nodes")]
    return sorted(line.split()[1:])


@pytest.mark.parametrize("below", ["runc", "crun"])
@pytest.mark.parametrize("asked, nodes", [
    ("0,1", ["nvidia1", "nvidia2"]), ("all", ["nvidia-caps", "nvidia1", "nvidia2", "nvidia3", "nvidia4"]), (UUIDS[2], ["nvidia3"]), ("3:0", ["nvidia-caps", "nvidia4"]),
    (f"MIG-{UUIDS[3]}/9/0", ["nvidia-caps", "nvidia4"]), ("runtime.nvidia.com/gpu=1", ["nvidia2"])])
def test_a_container_has_the_gpus_that_it_asks_for(bundle, settings, below, asked, nodes):
    shown = bundle(f"{NODES}; nvidia-smi; echo $NVIDIA_VISIBLE_DEVICES", f"NVIDIA_VISIBLE_DEVICES={asked}").output(settings, below=below)
    assert nodes_in(shown) == sorted(CONTROL + nodes)
    assert [line for line in shown.splitlines() if line.startswith("GPU ")] == [f"GPU {node[6:]}: Tesla T4" for node in nodes if node != "nvidia-caps"]
    assert shown.splitlines()[-1] == "void"


@pytest.mark.parametrize("below", ["runc", "crun"])
def test_none_is_the_driver_without_a_gpu(bundle, settings, below):
    shown = bundle(f"{NODES}; ls /{FOLDER}", "NVIDIA_VISIBLE_DEVICES=none").output(settings, below=below)
    assert nodes_in(shown) == [] and f"libcuda.so.{VERSION}" in shown


@pytest.mark.parametrize("environment", [[], ["NVIDIA_VISIBLE_DEVICES="], ["NVIDIA_VISIBLE_DEVICES=void"], ["NVIDIA_DRIVER_CAPABILITIES=all"]])
def test_who_asks_for_nothing_gets_nothing_and_keeps_the_file(bundle, settings, environment):
    one = bundle(f"{NODES}; test ! -e /{FOLDER} && echo no libraries", *environment)
    shown = one.output(settings)
    assert nodes_in(shown) == [] and "no libraries" in shown
    assert (one.folder / "config.json").read_bytes() == one.before


def test_the_cgroup_allows_what_was_given_and_nothing_else(bundle, settings):
    shown = bundle("cat /sys/fs/cgroup/devices/devices.list", "NVIDIA_VISIBLE_DEVICES=1").output(settings)
    rules = {line for line in shown.splitlines() if line.startswith(("c 195:", "c 508:", "c 237:", "a "))}
    assert rules == {"c 195:2 rw", "c 195:255 rw", "c 508:0 rw", "c 508:1 rw"}


@pytest.mark.parametrize("below", ["runc", "crun"])
def test_neuron_devices(bundle, settings, below):
    assert nodes_in(bundle(NODES, "AWS_NEURON_VISIBLE_DEVICES=1,2").output(settings, below=below)) == ["neuron1", "neuron2"]
    assert nodes_in(bundle(NODES, "AWS_NEURON_VISIBLE_DEVICES=ALL").output(settings, "--vendor", "neuron", below=below)) == ["neuron0", "neuron1", "neuron2"]
    assert nodes_in(bundle(NODES, "AWS_NEURON_VISIBLE_DEVICES=ALL").output(settings, "--vendor", "nvidia", below=below)) == []


@pytest.mark.parametrize("capabilities, there, missing", [
    ("utility", ["libnvidia-ml.so.1", "nvidia-smi"], ["libcuda.so.1", "libnvidia-encode.so.1"]),
    ("compute", ["libcuda.so", "libcuda.so.1", "libnvidia-ptxjitcompiler.so.1"], ["libnvidia-ml.so.1", "nvidia-smi"]),
    ("video", ["libnvidia-encode.so.1"], ["libcuda.so.1", "nvidia-smi"]),
    ("graphics", ["libGLX_nvidia.so.0", "libGLX_indirect.so.0", f"libnvidia-glcore.so.{VERSION}"], ["libcuda.so.1"]),
    ("all", ["libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-encode.so.1", "libGLX_nvidia.so.0", "nvidia-smi"], [])])
def test_capabilities_choose_the_libraries(bundle, settings, capabilities, there, missing):
    shown = bundle("find /usr", "NVIDIA_VISIBLE_DEVICES=0", f"NVIDIA_DRIVER_CAPABILITIES={capabilities}").output(settings)
    shown = {path.rpartition("/")[2] for path in shown.split()}
    assert set(there) <= shown and not set(missing) & shown


def test_ldconfig_reads_the_cache(bundle, settings):
    one = bundle("true", "NVIDIA_VISIBLE_DEVICES=0")
    one.output(settings)
    shown = subprocess.run(["/sbin/ldconfig", "-p", "-C", one.folder / "rootfs/etc/ld.so.cache"], check=True, capture_output=True, text=True).stdout
    for name in ("libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"):
        assert f"=> /{FOLDER}/{name}\n" in shown


LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  puts(cuda ? "loaded" : dlerror());
  return 0;
}
"""


def test_a_program_loads_the_library_from_a_folder_that_only_the_cache_knows(bundle, tmp_path):
    driver = DriverRoot(tmp_path / "driver", gpus=1, neuron=0, libraries="opt/nvidia/lib64")
    one = bundle("/loader", "NVIDIA_VISIBLE_DEVICES=0")
    root = one.folder / "rootfs"
    (tmp_path / "loader.c").write_text(LOADER)
    subprocess.run(["cc", "-o", root / "loader", tmp_path / "loader.c", "-ldl"], check=True)
    needed = subprocess.run(["ldd", root / "loader"], check=True, capture_output=True, text=True).stdout
    for path in {word for word in needed.split() if word.startswith("/")}:
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), root / path[1:])
    # Nothing below the linker's usual folders says where it is.
    assert "loaded" in one.output(driver.settings(tmp_path / "config.toml"))


def test_a_second_runtime_adds_nothing(bundle, settings):
    one = bundle(NODES, "NVIDIA_VISIBLE_DEVICES=0")
    one.output(settings)
    edited = (one.folder / "config.json").read_bytes()
    one.output(settings)
    assert (one.folder / "config.json").read_bytes() == edited != one.before


def test_what_others_wrote_into_the_file_stays(bundle, settings):
    one = bundle(NODES, "NVIDIA_VISIBLE_DEVICES=0")
    config = one.config()
    config["vendor.unknown"] = {"number": 18446744073709551615, "float": 1.0, "list": [None, True]}
    config["linux"]["seccomp"] = {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"],
                                  "syscalls": [{"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]}
    one.write(config)
    one.output(settings)
    text = (one.folder / "config.json").read_text()
    assert '"number": 18446744073709551615' in text and '"float": 1.0' in text
    after = json.loads(text)
    for key in ("vendor.unknown", "root", "hostname", "ociVersion"):
        assert after[key] == config[key]
    assert after["linux"]["seccomp"] == config["linux"]["seccomp"]


def test_hooks_of_nvidias_own_are_removed_and_others_stay(bundle, settings, tmp_path):
    other = {"path": "/bin/true", "args": ["true"]}
    one = bundle(NODES, "NVIDIA_VISIBLE_DEVICES=0",
                 hooks={"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook", "args": ["nvidia-container-runtime-hook", "prestart"]}, other]})
    one.output(settings)
    assert one.config()["hooks"]["prestart"] == [other]


def test_hooks_from_a_file(bundle, settings, tmp_path):
    hooks = {stage: [{"path": "/bin/sh", "args": ["sh", "-c", f"echo {stage} >> {tmp_path}/ran"]}] for stage in ("prestart", "createContainer", "poststart", "poststop")}
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    bundle("true").output(settings, "--hook-config-path", tmp_path / "hooks.json")
    assert (tmp_path / "ran").read_text().split() == ["prestart", "createContainer", "poststart", "poststop"]
    (tmp_path / "hooks.json").write_text('{"hooks": {"later": []}}')
    done = bundle("true").run(settings, "--hook-config-path", tmp_path / "hooks.json")
    assert done.returncode == 1 and "'later' is not the name of a hook" in done.stderr


def test_the_exit_status_and_signals_are_those_of_the_runtime_below(bundle, settings):
    assert bundle("exit 7", "NVIDIA_VISIBLE_DEVICES=0").run(settings).returncode == 7
    assert bundle("sh -c 'kill -TERM $$'; exit $?", "NVIDIA_VISIBLE_DEVICES=0").run(settings).returncode == 128 + signal.SIGTERM


def test_devices_of_cdi_files(bundle, driver, tmp_path):
    (tmp_path / "cdi").mkdir()
    (tmp_path / "cdi/x.yaml").write_text("cdiVersion: 0.5.0\nkind: vendor.com/thing\ndevices:\n- name: '0'\n  containerEdits:\n    env: [THING=0]\n    deviceNodes:\n"
                                         "    - {path: /dev/thing, hostPath: /dev/full}\n")
    settings = driver.settings(tmp_path / "config.toml", cdi_folders=[tmp_path / "cdi"])
    one = bundle("echo $THING; stat -c %t:%T /dev/thing", "NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0", annotations={"cdi.k8s.io/plugin_0": "vendor.com/thing=0"})
    assert one.output(settings) == "0\n1:7\n"
    unknown = bundle("true", annotations={"cdi.k8s.io/plugin_0": "vendor.com/thing=1"}).run(settings)
    assert unknown.returncode == 1 and "no CDI file names vendor.com/thing=1; the known devices are vendor.com/thing=0" in unknown.stderr


# What goes wrong

@pytest.mark.parametrize("variables, words", [
    (["NVIDIA_VISIBLE_DEVICES=9"], "there is no GPU '9' on this machine: it has 0, 1, 2, 3; see drover accel list"),
    (["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,x"], "'x' is not a driver capability"),
    (["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=geforce"], "the image requires 'cuda>=13.0 brand=geforce'"),
    (["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=all"], "only privileged containers can set NVIDIA_MIG_CONFIG_DEVICES"),
    (["AWS_NEURON_VISIBLE_DEVICES=0,2"], "are not contiguous"),
    (["AWS_NEURON_VISIBLE_DEVICES=7"], "there is no Neuron device 7 on this machine: it has 0, 1, 2")])
def test_a_request_that_cannot_be_met_says_why_and_changes_nothing(bundle, settings, variables, words):
    one = bundle("echo ran", *variables)
    done = one.run(settings)
    assert done.returncode == 1 and done.stdout == "" and words in done.stderr
    assert words in one.last_error() and one.last_error().startswith("drover-runtime: ")
    assert (one.folder / "config.json").read_bytes() == one.before


def test_a_malformed_config_json_is_named(bundle, settings):
    one = bundle("echo ran", "NVIDIA_VISIBLE_DEVICES=0")
    for text, words in (("", "a value is missing"), ('{"a": 1,}', "line 1, column 9"), ("[]", "not a JSON object")):
        (one.folder / "config.json").write_text(text)
        done = one.run(settings)
        assert done.returncode == 1 and done.stdout == "" and "config.json" in done.stderr and words in done.stderr
    (one.folder / "config.json").unlink()
    assert "config.json: No such file or directory" in one.run(settings).stderr


def test_a_missing_runtime_is_named(bundle, settings):
    done = bundle("true").run(settings, below="/nothing/runc")
    assert done.returncode == 1 and "looked for /nothing/runc; install one (apt-get install runc)" in done.stderr


def test_it_does_not_run_itself(bundle, settings, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/runc").symlink_to(RUNTIME)
    done = subprocess.run([RUNTIME, "--config", settings, "--version"], capture_output=True, text=True, timeout=20, env={"PATH": f"{tmp_path}/bin:/usr/sbin:/usr/bin"})
    assert done.returncode == 0 and "runc version" in done.stdout


def test_a_full_disk_is_named_and_nothing_runs(bundle, settings, tmp_path):
    (tmp_path / "bundle").mkdir()
    one = bundle("echo ran", "NVIDIA_VISIBLE_DEVICES=0")
    small = tmp_path / "small"
    small.mkdir()
    script = ('mount -t tmpfs -o size=16k tmpfs "$1"; cp "$2" "$1/config.json"; cat /dev/zero > "$1/full" 2>/dev/null; shift 2; exec "$@"')
    command = [str(small) if word == str(one.folder) else word for word in one.command("--config", settings)]
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", small, one.folder / "config.json", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == ""
    assert "config.json: the disk is full" in one.last_error()


def test_missing_libraries_are_named(bundle, tmp_path):
    driver = DriverRoot(tmp_path / "driver", gpus=1, neuron=0)
    shutil.rmtree(driver.folder / FOLDER)
    done = bundle("true", "NVIDIA_VISIBLE_DEVICES=0").run(driver.settings(tmp_path / "config.toml"))
    assert done.returncode == 1 and f"no library of NVIDIA's driver was found below {driver.folder}" in done.stderr


# Escapes, by the classes that NVIDIA's toolkit had.

def test_ld_preload_of_the_image_reaches_no_hook(bundle, settings, tmp_path):
    """CVE-2025-23266: the hook ran with the container's environment."""
    evil = tmp_path / "evil.c"
    evil.write_text(f'#include <fcntl.h>\n__attribute__((constructor)) void run(void) {{ open("{tmp_path}/escaped", O_CREAT | O_WRONLY, 0600); }}\n')
    one = bundle("true", "NVIDIA_VISIBLE_DEVICES=0", "LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/", "LD_AUDIT=/evil.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", one.folder / "rootfs/evil.so", evil], check=True)
    (one.folder / "rootfs/etc/ld.so.preload").write_text("/evil.so\n")
    (one.folder / "rootfs/etc/ld.so.conf").write_text("/\n")
    one.output(settings)
    assert not (tmp_path / "escaped").exists()
    hook, = one.config()["hooks"]["createContainer"]
    assert hook["env"] and all(not variable.startswith("LD_") for variable in hook["env"])
    headers = subprocess.run(["readelf", "--program-headers", HOOK], check=True, capture_output=True, text=True).stdout
    assert "INTERP" not in headers, "the hook is static: no linker obeys anything"


@pytest.mark.parametrize("below", ["runc", "crun"])
@pytest.mark.parametrize("place", ["etc", FOLDER, f"{FOLDER}/libcuda.so.1", "etc/ld.so.cache", "etc/ld.so.conf.d"])
def test_links_of_the_image_lead_nowhere_outside(bundle, settings, tmp_path, below, place):
    """CVE-2024-0132, CVE-2025-23359 and CVE-2024-0135 to 0137: links in the image that lead to the machine's files."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("ld.so.cache", "libcuda.so.1"):
        (outside / name).write_text("the machine's")
    before = sorted(outside.iterdir())
    one = bundle("""grep -l "the machine's" /etc/ld.so.cache /usr/lib/*/libcuda.so.1; echo looked""", "NVIDIA_VISIBLE_DEVICES=0")
    for up in ("", "../" * 20):
        target = one.folder / "rootfs" / place
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(f"{up}{str(outside)[1:] if up else outside}" + (f"/{target.name}" if "." in target.name and not target.name.endswith(".d") else ""))
        (one.folder / "config.json").write_bytes(one.before)
        done = one.run(settings, below=below)
        # What it cannot do it may refuse; what it did shows the container nothing of the machine's.
        assert done.stdout == "looked\n" if done.returncode == 0 else done.stdout == "" and place in done.stderr, done
        assert sorted(outside.iterdir()) == before and all(path.read_text() == "the machine's" for path in before)


def test_a_folder_of_the_machine_that_is_mounted_stays_as_it_is(bundle, settings, tmp_path):
    """-v /etc:/etc gives a container the machine's folder, not to the hook."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "ld.so.cache").write_text("the machine's")
    one = bundle("true", "NVIDIA_VISIBLE_DEVICES=0")
    config = one.config()
    config["mounts"].append({"destination": "/etc", "type": "bind", "source": str(outside), "options": ["rbind", "rw"]})
    one.write(config)
    one.output(settings)
    assert [path.name for path in outside.iterdir()] == ["ld.so.cache"] and (outside / "ld.so.cache").read_text() == "the machine's"


def test_nothing_stays_mounted(bundle, settings):
    before = pathlib.Path("/proc/mounts").read_text()
    bundle("true", "NVIDIA_VISIBLE_DEVICES=all").output(settings)
    assert [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if "nvidia" in line and line not in before] == []


def test_variables_grant_nothing_where_the_settings_say_so(bundle, driver, tmp_path):
    settings = driver.settings(tmp_path / "config.toml", top="accept-nvidia-visible-devices-envvar-when-unprivileged = false")
    assert nodes_in(bundle(NODES, "NVIDIA_VISIBLE_DEVICES=all").output(settings)) == []
    assert "NVIDIA_VISIBLE_DEVICES is ignored" in (tmp_path / "config.toml.log").read_text()
    privileged = bundle(NODES, "NVIDIA_VISIBLE_DEVICES=0")
    config = privileged.config()
    config["process"]["capabilities"]["bounding"].append("CAP_SYS_ADMIN")
    privileged.write(config)
    assert "nvidia1" in nodes_in(privileged.output(settings))


# Docker and containerd

@pytest.fixture(scope="module")
def hook_folder(tmp_path_factory):
    """Where dockerd finds the hook that it looks for."""
    folder = tmp_path_factory.mktemp("path")
    (folder / "nvidia-container-runtime-hook").symlink_to(HOOK)
    return folder


@pytest.fixture(scope="module")
def docker(settings, hook_folder, tmp_path_factory):
    runtime = {"path": str(RUNTIME), "runtimeArgs": ["--config", str(settings)]}
    daemon = images.Docker({"runtimes": {"nvidia": runtime, "oci-neuron": runtime | {"runtimeArgs": [*runtime["runtimeArgs"], "--vendor", "neuron"]}}}, path=hook_folder)
    archive = tmp_path_factory.mktemp("images") / "base.tar"
    images.Image([images.busybox_layer()], "", Env=["PATH=/usr/bin:/bin"]).write_docker_archive(archive, "drover.test/base:1")
    daemon.load(archive)

    def run(*words):
        return subprocess.run(["/usr/bin/docker", "--host", daemon.host, "run", "--rm", "--network", "none", *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

    yield run
    daemon.close()


@pytest.mark.parametrize("flags, nodes", [
    (["--gpus", "all"], ["nvidia-caps", "nvidia1", "nvidia2", "nvidia3", "nvidia4"]), (["--gpus", "2"], ["nvidia1", "nvidia2"]),
    (["--gpus", '"device=0,2"'], ["nvidia1", "nvidia3"]), (["--gpus", f"device={UUIDS[1]}"], ["nvidia2"]), (["--env", "NVIDIA_VISIBLE_DEVICES=3"], ["nvidia4"])])
def test_docker_gives_gpus(docker, flags, nodes):
    done = docker("--runtime=nvidia", *flags, "drover.test/base:1", "sh", "-c", f"{NODES}; nvidia-smi")
    assert done.returncode == 0, done
    assert nodes_in(done.stdout) == sorted(CONTROL + nodes)


def test_docker_without_gpus_gives_none(docker):
    done = docker("--runtime=nvidia", "drover.test/base:1", "sh", "-c", NODES)
    assert done.returncode == 0 and nodes_in(done.stdout) == [], done


def test_docker_gives_neuron_devices(docker):
    done = docker("--runtime=oci-neuron", "--env", "AWS_NEURON_VISIBLE_DEVICES=0", "drover.test/base:1", "sh", "-c", NODES)
    assert done.returncode == 0 and nodes_in(done.stdout) == ["neuron0"], done


def test_docker_tells_its_user_what_is_wrong(docker):
    missing = docker("--runtime=nvidia", "--gpus", "device=9", "drover.test/base:1", "true")
    assert missing.returncode == 125 and "there is no GPU '9' on this machine: it has 0, 1, 2, 3" in missing.stderr, missing
    plain = docker("--gpus", "all", "drover.test/base:1", "true")
    assert plain.returncode != 0 and "add --runtime=nvidia, or make it the default" in plain.stderr, plain


def test_containerd_by_its_runc_binary(settings, tmp_path):
    (tmp_path / "config.toml").write_text(f'version = 2\nroot = "{tmp_path}/root"\nstate = "{tmp_path}/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
                                          f'[grpc]\naddress = "{tmp_path}/sock"\n')
    root = busybox_root(tmp_path / "rootfs")
    daemon = subprocess.Popen(["containerd", "--config", tmp_path / "config.toml"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=(tmp_path / "log").open("w"), preexec_fn=images.die_with_parent, env={**os.environ, "NVIDIA_CTK_CONFIG_FILE_PATH": str(settings)})
    try:
        wait_until(lambda: (tmp_path / "sock").exists(), "containerd to listen", 60)
        done = subprocess.run(["ctr", "--address", tmp_path / "sock", "run", "--rm", "--runc-binary", RUNTIME, "--env", "NVIDIA_VISIBLE_DEVICES=0", "--env",
                               "PATH=/bin:/usr/bin", "--rootfs", root, "accel", "sh", "-c", f"{NODES}; nvidia-smi"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        assert nodes_in(done.stdout) == sorted([*CONTROL, "nvidia1"]) and "GPU 1: Tesla T4" in done.stdout
    finally:
        daemon.terminate()
        daemon.wait()
