#!/usr/bin/python3
"""What an OCI runtime that adds GPUs takes before the runtime below creates the container.

A container of busybox that asks for one GPU, with its bundle in memory, as engines have theirs below /run; the driver is a folder with as many libraries as a real one has, or --driver-root /. Each contender creates
the same container again and again, in turns; the time is from its start to its exit.

  runc                              of the config.json as drover-runtime has edited it: the limit
  drover-runtime                    looks for the driver's files each time
  drover-runtime, CDI               takes them from a CDI file
  nvidia-container-runtime, CDI     NVIDIA's own in Go, from the same CDI file; over runc of the config.json that it edits
  drover-runtime, no GPU            of a container that asks for none; over runc of the same

What a runtime adds is what it takes before it executes the one below, measured with `true` there: creating a container takes a few milliseconds more or
less each time, which is more than the difference. Both are shown. Last, how long a slot of drover's takes to find out what its containers are given,
and how long items in containers of their own take, with a GPU and without.
"""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import harness
import peer_servers

sys.path.insert(0, str(harness.REPOSITORY / "tests"))
from driver_root import VERSION, DriverRoot, busybox_root  # noqa: E402 (a module of the tests)

PEER = "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-container-runtime"
PEER_VERSION = "v1.18.0"
OURS, OURS_CDI, PEER_CDI, NO_GPU = "drover-runtime", "drover-runtime, CDI", "nvidia-container-runtime, CDI", "drover-runtime, no GPU"
# What version 535 has besides those of DriverRoot.
MORE_LIBRARIES = ["libcudadebugger", "libnvidia-opencl", "libnvidia-nvvm", "libnvidia-allocator", "libnvidia-cfg", "libnvidia-pkcs11", "libnvidia-pkcs11-openssl3",
                  "libnvidia-gpucomp", "libnvidia-fbc", "libnvidia-glsi", "libnvidia-tls", "libnvidia-eglcore", "libnvidia-rtcore", "libnvidia-opticalflow",
                  "libnvidia-ngx", "libnvcuvid", "libvdpau_nvidia", "libEGL_nvidia", "libGLESv2_nvidia", "libGLESv1_CM_nvidia", "libnvoptix"]


def peer_program(flags):
    """NVIDIA's runtime, built from the Go proxy."""
    folder = flags.build / "bench/nvidia"
    program = folder / "nvidia-container-runtime"
    if not program.exists():
        harness.progress(f"building nvidia-container-runtime {PEER_VERSION}")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([peer_servers.program("go"), "install", f"{PEER}@{PEER_VERSION}"], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return program


def make_driver(folder):
    driver = DriverRoot(folder, neuron=0)
    for name in MORE_LIBRARIES:
        driver.library(f"{name}.so.{VERSION}", f"{name}.so.1")
    (folder / "etc/ld.so.conf").write_text(f"/{driver.libraries}\n")
    subprocess.run(["/sbin/ldconfig", "-r", folder], check=True)
    return folder


class Bundle:
    def __init__(self, folder):
        self.folder = folder / "bundle"
        busybox_root(self.folder / "rootfs")
        subprocess.run(["runc", "spec"], cwd=self.folder, check=True)
        self.plain = json.loads((self.folder / "config.json").read_text())
        self.plain["process"] |= {"terminal": False, "args": ["sh", "-c", "exit 0"]}
        self.plain["root"]["readonly"] = False
        self.count = 0

    def text(self, gpus):
        config = json.loads(json.dumps(self.plain))
        config["process"]["env"] = ["PATH=/bin:/usr/bin", *([f"NVIDIA_VISIBLE_DEVICES={gpus}"] if gpus else [])]
        return json.dumps(config)

    def timed(self, text, command, makes_container=True):
        """Seconds that the command took to create a container of this config.json, and the one that it left."""
        path = self.folder / "config.json"
        path.write_text(text)
        self.count += 1
        name = f"bench-{os.getpid()}-{self.count}"
        # A file: the container that waits to be started would keep a pipe open.
        with open(self.folder / "said", "wb") as said:
            begun = time.perf_counter()
            done = subprocess.run([*command, "create", "--bundle", str(self.folder), name], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                  env=command.environment)
            seconds = time.perf_counter() - begun
        if done.returncode != 0:
            sys.exit(f"bench: {command[0]} failed: {(self.folder / 'said').read_text()}")
        if makes_container:
            subprocess.run(["runc", "delete", "--force", name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return seconds, path.read_text()


def settings(path, driver, cdi_folder, mode, below):
    path.write_text(f'[nvidia-container-cli]\nroot = "{driver}"\n[nvidia-container-runtime]\nmode = "{mode}"\nlog-level = "info"\ndebug = "/dev/null"\n'
                    f'runtimes = ["{below}"]\n[nvidia-container-runtime.modes.cdi]\ndefault-kind = "nvidia.com/gpu"\nspec-dirs = ["{cdi_folder}"]\n')
    return path


class Command(list):
    """Words, and variables beside those of this process."""

    def __init__(self, words, variables=()):
        super().__init__(words)
        self.environment = {**os.environ, **dict(variables)}


class Contenders:
    """The command of each runtime, above runc and above `true`."""

    def __init__(self, flags, work, driver, peer):
        cdi = work / "cdi"
        cdi.mkdir()
        drover = flags.build / "bin/drover"
        text = subprocess.run([drover, "accel", "cdi", "--driver-root", driver], check=True, capture_output=True, text=True).stdout
        (cdi / "nvidia.json").write_text(text)
        ours = str(flags.build / "bin/drover-runtime")
        self.commands = {}
        for kind, below in (("create", shutil.which("runc")), ("alone", shutil.which("true"))):
            jit = settings(work / f"jit-{kind}.toml", driver, cdi, "jit-cdi", below)
            by_cdi = settings(work / f"cdi-{kind}.toml", driver, cdi, "cdi", below)
            self.commands[kind] = {OURS: Command([ours, "--config", str(jit)]), OURS_CDI: Command([ours, "--config", str(by_cdi)]),
                                   NO_GPU: Command([ours, "--config", str(jit)])}
            if peer:
                self.commands[kind][PEER_CDI] = Command([str(peer)], {"NVIDIA_CTK_CONFIG_FILE_PATH": str(by_cdi)})


def measure(bundle, contenders, rounds):
    """{kind: {name: [seconds]}}; runc over what a runtime has left goes by that runtime's name in `below`."""
    asked, plain = bundle.text("0"), bundle.text("")
    seconds = {kind: {name: [] for name in names} for kind, names in contenders.commands.items()}
    seconds["below"] = {name: [] for name in contenders.commands["create"]}
    for number in range(rounds):
        names = list(contenders.commands["create"])
        at = number % len(names)
        for name in names[at:] + names[:at]:
            text = plain if name == NO_GPU else asked
            took, left = bundle.timed(text, contenders.commands["create"][name])
            seconds["create"][name].append(took)
            seconds["below"][name].append(bundle.timed(left, Command(["runc"]))[0])
            seconds["alone"][name].append(bundle.timed(text, contenders.commands["alone"][name], makes_container=False)[0])
    return seconds


def container_of_an_item(flags, work, rounds):
    """{gpus: seconds} that `drover run` takes for one item after another, each in a container of its own, with a GPU and without."""
    busybox_root(work / "root")
    seconds = {0: [], 1: []}
    variables = {**harness.environment(), "NVIDIA_CTK_CONFIG_FILE_PATH": str(work / "jit-create.toml")}
    for number in range(3):
        for gpus in (0, 1) if number % 2 else (1, 0):
            name = f"bench-{number}-{gpus}"
            command = [flags.build / "bin/drover", "run", "--data", work / "data", "--quiet", "--name", name, "-j", 1, *(["--gpus", 1] if gpus else []),
                       "--image", f"rootfs:{work / 'root'}", "--runtime", "runc", "--range", f"1-{rounds}", "--", "/bin/busybox", "true"]
            subprocess.run([str(word) for word in command], env=variables, check=True)
            with contextlib.closing(sqlite3.connect(work / f"data/runs/{name}/drover.db")) as ledger:
                started = [row[0] for row in ledger.execute("SELECT started_ms FROM attempts WHERE state = 'succeeded' ORDER BY started_ms")]
            if len(started) != rounds:
                sys.exit(f"bench: {len(started)} of {rounds} items succeeded with {gpus} GPUs")
            seconds[gpus].append((started[-1] - started[0]) / 1e3 / (rounds - 1))
    return {gpus: harness.median(values) for gpus, values in seconds.items()}


def true_seconds(rounds):
    """Of a process that does nothing, started as the others are."""
    out = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run(["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        out.append(time.perf_counter() - begun)
    return harness.median(out)


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 60")
    parser.add_argument("--driver-root", metavar="DIR", help="a real driver's root (default: a folder that stands for one)")
    parser.add_argument("--peer", metavar="PROGRAM", help="NVIDIA's runtime (default: it is built from the Go proxy)")
    flags = parser.parse_args()
    rounds = flags.rounds or (2 if flags.tiny else 60)
    targets = harness.Targets()
    peer = pathlib.Path(flags.peer) if flags.peer else None if flags.tiny else peer_program(flags)
    with harness.work_folder(flags) as work:
        driver = pathlib.Path(flags.driver_root) if flags.driver_root else make_driver(work / "driver")
        contenders = Contenders(flags, work, driver, peer)
        with tempfile.TemporaryDirectory(prefix="drover-bench-", dir="/dev/shm") as memory:
            seconds = measure(Bundle(pathlib.Path(memory)), contenders, rounds)
        nothing = true_seconds(rounds)
        item = container_of_an_item(flags, work, rounds)
        slot = harness.measured([flags.build / "bench/inject_time", work / "jit-create.toml", 10 if flags.tiny else 1000])
    adds = {name: harness.median(seconds["alone"][name]) - nothing for name in seconds["alone"]}
    harness.print_table(f"Milliseconds to create a container, medians of {rounds}", ["contender", "create", "runc of the same", "adds"],
                        [[name, f"{harness.median(seconds['create'][name]) * 1e3:.2f}", f"{harness.median(seconds['below'][name]) * 1e3:.2f}",
                          f"{adds[name] * 1e3:.2f}"] for name in adds])
    print(f"\n  what a slot of drover's does before its first container: {slot['seconds'] * 1e3:.3f} ms, for {slot['mounts']} files; the first slot of a worker {slot['first'] * 1e3:.3f} ms"
          f"\n  an item in a container of `drover run`: {item[0] * 1e3:.2f} ms, with one GPU {item[1] * 1e3:.2f} ms: runc mounts the files and runs drover-hook")
    targets.below("a slot's injection, ms", slot["seconds"] * 1e3, 0.2)
    targets.below("drover-runtime adds, ms", adds[OURS] * 1e3, 3)
    if peer:
        targets.below("adds, drover-runtime / nvidia-container-runtime, both by CDI", adds[OURS_CDI] / adds[PEER_CDI], 0.3)
        targets.below("adds, drover-runtime / nvidia-container-runtime by CDI", adds[OURS] / adds[PEER_CDI], 0.3)
    figures = {"rounds": rounds, "seconds": seconds, "adds": adds, "slot": slot, "item": item}
    return harness.finish(flags, "runtime", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
