"""Drivers of accelerators on a machine that has none: a folder with what NVIDIA's and Neuron's drivers put into a machine. Libraries are real ones
with their sonames, made by the compiler; device nodes are real nodes, of numbers that no driver here has."""

import os
import pathlib
import shutil
import stat
import subprocess

VERSION = "535.104.05"
MAJOR, UVM_MAJOR, CAPS_MAJOR, NEURON_MAJOR = 195, 508, 237, 242
FOLDER = "usr/lib/x86_64-linux-gnu" if os.uname().machine == "x86_64" else "usr/lib/aarch64-linux-gnu"
UUIDS = [f"GPU-0{n}7fbb2c-1111-2222-3333-44444444444{n}" for n in range(8)]
PARAMS = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"

# What a container has: its nodes, and the libraries.
NVIDIA_SMI = f"""#!/bin/sh
test -e /{FOLDER}/libnvidia-ml.so.1 || {{ echo "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system." >&2; exit 12; }}
test "$1" = -L || echo "NVIDIA-SMI {VERSION}"
for node in /dev/nvidia[0-9]*; do test -c "$node" && echo "GPU ${{node#/dev/nvidia}}: Tesla T4"; done
exit 0
"""
# Library: soname. All but the last are named by the version of the driver.
LIBRARIES = {"libcuda": "libcuda.so.1", "libnvidia-ml": "libnvidia-ml.so.1", "libnvidia-encode": "libnvidia-encode.so.1", "libGLX_nvidia": "libGLX_nvidia.so.0",
             "libnvidia-ptxjitcompiler": "libnvidia-ptxjitcompiler.so.1", "libnvidia-glcore": None}


class DriverRoot:
    """`folder` stands for the root of a machine with NVIDIA GPUs and Neuron devices. The minors of the GPUs are not their indices: they are 1 and
    more."""

    def __init__(self, folder, gpus=4, neuron=3, version=VERSION, libraries=FOLDER, uuids=UUIDS):
        self.folder = pathlib.Path(folder)
        self.version, self.libraries, self.uuids = version, libraries, uuids
        for name in ("dev/nvidia-caps", "usr/bin", libraries, "etc", "proc/driver/nvidia/gpus", "run/nvidia-persistenced", f"lib/firmware/nvidia/{version}"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._proc(gpus)
        self._nodes(gpus, neuron)
        self._files()

    def _write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def _proc(self, gpus):
        self._write("proc/devices", f"Character devices:\n  1 mem\n{MAJOR} nvidia\n{UVM_MAJOR} nvidia-uvm\n{CAPS_MAJOR} nvidia-caps\n{NEURON_MAJOR} neuron\n\n"
                                    "Block devices:\n  8 sd\n")
        self._write("proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {self.version}  Sat Aug 19 01:15:15 UTC 2023\n"
                                                  "GCC version:  gcc version 12.2.0\n")
        self._write("proc/driver/nvidia/params", PARAMS)
        for n in range(gpus):
            self._write(f"proc/driver/nvidia/gpus/0000:{n + 1:02x}:00.0/information",
                        f"Model: \t\t Tesla T4\nIRQ:   \t\t 90\nGPU UUID: \t {self.uuids[n]}\nBus Location: \t 0000:{n + 1:02x}:00.0\nDevice Minor: \t {n + 1}\n"
                        "GPU Excluded:\t No\n")

    def add_mig(self, gpu_minor, gpu_instance, compute_instance, numbers):
        """`numbers`: the minors of /dev/nvidia-caps of the GPU instance and of the compute instance."""
        key = f"gpu{gpu_minor}/gi{gpu_instance}"
        self._write(f"proc/driver/nvidia/capabilities/gpu{gpu_minor}/mig/gi{gpu_instance}/ci{compute_instance}/access", f"DeviceFileMinor: {numbers[1]}\n")
        with self._minors() as file:
            file.write(f"{key}/access {numbers[0]}\n{key}/ci{compute_instance}/access {numbers[1]}\n")
        for number in numbers:
            self.node(f"dev/nvidia-caps/nvidia-cap{number}", CAPS_MAJOR, number, 0o444)

    def _minors(self):
        path = self.folder / "proc/driver/nvidia-caps/mig-minors"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")

    def node(self, name, major, minor, mode=0o666):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.mknod(path, stat.S_IFCHR | mode, os.makedev(major, minor))
            path.chmod(mode)

    def _nodes(self, gpus, neuron):
        self.node("dev/nvidiactl", MAJOR, 255)
        self.node("dev/nvidia-uvm", UVM_MAJOR, 0)
        self.node("dev/nvidia-uvm-tools", UVM_MAJOR, 1)
        for n in range(gpus):
            self.node(f"dev/nvidia{n + 1}", MAJOR, n + 1)
        for n in range(neuron):
            self.node(f"dev/neuron{n}", NEURON_MAJOR, n)

    def library(self, file, soname):
        path = self.folder / self.libraries / file
        words = ["cc", "-shared", "-nostdlib", "-o", path, "-x", "c", "/dev/null"]
        subprocess.run([*words, *([f"-Wl,-soname,{soname}"] if soname else [])], check=True)

    def add_nvml(self):
        """A libnvidia-ml that tells what $FAKE_GPUS says: tests/fake_nvml.c."""
        path = self.folder / self.libraries / f"libnvidia-ml.so.{self.version}"
        source = pathlib.Path(__file__).with_name("fake_nvml.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1", "-o", path, source], check=True)

    def _files(self):
        for name, soname in LIBRARIES.items():
            file = f"{name}.so.{self.version}"
            self.library(file, soname or file)
            if soname:
                (self.folder / self.libraries / soname).symlink_to(file)
        (self.folder / self.libraries / "libcuda.so").symlink_to("libcuda.so.1")
        self._write("usr/bin/nvidia-smi", NVIDIA_SMI, 0o755)
        self._write(f"lib/firmware/nvidia/{self.version}/gsp_tu10x.bin", "firmware")

    def settings(self, path, **more):
        """A config.toml that names this root, with more of its lines: cdi_folders, top (a text)."""
        path = pathlib.Path(path)
        folders = ", ".join(f'"{one}"' for one in more.get("cdi_folders", []))
        path.write_text(f'{more.get("top", "")}\n[nvidia-container-cli]\nroot = "{self.folder}"\n[nvidia-container-runtime]\ndebug = "{path}.log"\nlog-level = "debug"\n'
                        f'{more.get("runtime", "")}\n[nvidia-container-runtime.modes.cdi]\nspec-dirs = [{folders}]\n')
        return path


def busybox_root(folder):
    """A container's root with nothing but busybox."""
    folder = pathlib.Path(folder)
    for name in ("bin", "etc", "proc", "dev", "sys", "tmp"):
        (folder / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), folder / "bin/busybox")
    for name in ("sh", "ls", "cat", "echo", "test", "stat", "readlink", "mknod", "id", "env", "mount", "find"):
        (folder / "bin" / name).symlink_to("busybox")
    return folder
