"""A small machine in an emulator, with the kernel that Debian ships: for what the kernel of this machine cannot do.

Nothing of it is kept: its root is in memory, with the programs that a test names and the libraries these need."""

import pathlib
import re
import shutil
import subprocess

BUSYBOX = "/bin/busybox"
MODULES = ["loop", "mbcache", "jbd2", "crc16", "crc32c_generic", "libcrc32c", "ext4", "quota_tree", "quota_v2", "overlay"]
DONE = "the machine is done"

# The first root of a machine cannot be left by pivot_root, which containers need.
FIRST = """#!/bin/busybox sh
/bin/busybox mkdir /new
/bin/busybox mount -t tmpfs -o size=75% none /new
for each in bin usr lib lib64 etc root modules start; do [ -e /$each ] && /bin/busybox cp -a /$each /new/; done
cd /new && /bin/busybox mkdir -p proc sys dev tmp run mnt
exec /bin/busybox switch_root /new /start
"""

START = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/bin HOME=/root
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev; mount -t tmpfs none /run; mount -t tmpfs none /tmp
mount -t cgroup2 none /sys/fs/cgroup
for each in {modules}; do [ -f /modules/$each.ko ] && insmod /modules/$each.ko; done
{script}
echo '{done}'
poweroff -f
"""


def fetch_kernel(work):
    """The one that Debian installs today, unpacked and not installed."""
    told = subprocess.run(["apt-cache", "depends", "linux-image-" + {"x86_64": "amd64", "aarch64": "arm64"}[machine()]], capture_output=True, text=True, check=True)
    package = re.search(r"Depends: (linux-image-\S+)", told.stdout).group(1)
    subprocess.run(["apt-get", "download", "-qq", package], cwd=work, check=True, capture_output=True)
    subprocess.run(["dpkg-deb", "-x", next(work.glob("linux-image-*.deb")), work / "kernel"], check=True)
    return next((work / "kernel/boot").glob("vmlinuz-*")), next((work / "kernel/lib/modules").iterdir())


def machine():
    return subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()


def run(work, programs, files, script, seconds=400):
    """What it says on its console until `script` has ended. `files` go to its /root, under their names."""
    kernel, modules = fetch_kernel(work)
    root = work / "root"
    for name in ("bin", "etc", "root", "modules", "usr/bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    (root / "bin/sh").symlink_to("busybox")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    for program in programs:
        shutil.copy(program, root / "usr/bin")
        for library in re.findall(r"(/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout):
            place = root / library.rstrip(":").lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library.rstrip(":"), place)
    for name in MODULES:
        for found in modules.rglob(f"{name}.ko"):
            shutil.copy(found, root / "modules")
    for file in files:
        subprocess.run(["cp", "-a", "--sparse=always", file, root / "root"], check=True)
    for name, text in {"init": FIRST, "start": START.format(modules=" ".join(MODULES), script=script, done=DONE)}.items():
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    packed = work / "root.gz"
    with open(packed, "wb") as out:
        names = subprocess.run(["find", ".", "-print0"], cwd=root, capture_output=True, check=True).stdout
        with subprocess.Popen(["cpio", "-0", "-o", "-H", "newc", "--quiet"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pack:
            with subprocess.Popen(["gzip", "-1"], stdin=pack.stdout, stdout=out):
                pack.stdin.write(names)
                pack.stdin.close()
    emulator = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max"] if machine() == "x86_64" else ["qemu-system-aarch64", "-M", "virt", "-cpu", "max"]
    console = "ttyS0" if machine() == "x86_64" else "ttyAMA0"
    done = subprocess.run([*emulator, "-m", "4096", "-nographic", "-no-reboot", "-net", "none", "-kernel", kernel, "-initrd", packed,
                           "-append", f"console={console} quiet rdinit=/init panic=-1"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    said = re.sub(r"\x1b(c|\[[0-9;?]*[A-Za-z])|\r", "", done.stdout.decode(errors="replace"))
    assert DONE in said, said[-3000:]
    return said


def make_disk(path):
    """A disk that can hold folders to a size."""
    with open(path, "wb") as disk:
        disk.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-O", "project,quota", "-E", "quotatype=prjquota", path], check=True)
    return path
