"""A Debian to try packages in: the files of `lower`, which is the machine's own root or one that debootstrap made, and above them a
layer that takes whatever is written. It has mounts, processes and a network of its own, and nothing of it is left when it is closed.
It takes root, and no systemd: a small `systemctl` stands in for it, which starts what the units say as the user whom they name."""

import hashlib
import os
import pathlib
import re
import signal
import subprocess

from drover import wait_until

KEEP = """
set -eu
lower=$0 layer=$1 share=$2
hostname "$3"
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
cd "$layer/root"
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
ln -s /proc/self/fd dev/fd
mount --bind "$share" mnt
ip link set lo up
echo ready
sleep infinity & wait
"""

# The same with systemd as its first process, which needs a whole root (chroot is not enough for its sandboxes) and a cgroup to be the top of.
BOOT = """
set -eu
lower=$0 layer=$1 share=$2
hostname "$3"
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root" "$layer/cgroup"
mount -t cgroup2 cgroup2 "$layer/cgroup"
mkdir "$layer/cgroup/drover-test-$4-$3"
echo 0 >"$layer/cgroup/drover-test-$4-$3/cgroup.procs"
umount "$layer/cgroup"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
ip link set lo up
exec unshare --cgroup sh -c '
set -eu
cd "$0"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount --bind "$1" mnt
mkdir -p media/host
pivot_root . media/host
umount -l /media/host
echo ready
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init --log-target=null >/dev/null 2>&1
' "$layer/root" "$share"
"""

# Starts, as systemd would but without its sandbox, what a unit says.
SYSTEMCTL = r"""#!/bin/sh
set -eu
told=$*
[ "$1" != --no-reload ] || shift
verb=$1; shift
[ "${1:-}" != --now ] || shift
echo "$told" >>/run/systemctl.log
# Ends when it has heard that the service is ready. Perl is in every Debian.
LISTEN='alarm 60; socket(S, PF_UNIX, SOCK_DGRAM, 0); bind(S, sockaddr_un($ARGV[0])); recv(S, $heard, 100, 0); exit($heard ne "READY=1")'
setting() { sed -n "s/^$1=//p" "/usr/lib/systemd/system/$unit.service" | tail -n 1; }
running() { [ -e "/run/$unit.pid" ] && kill -0 "$(cat "/run/$unit.pid")" 2>/dev/null; }
stop() {
  running || return 0
  pid=$(cat "/run/$unit.pid")
  kill -TERM "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
  rm "/run/$unit.pid"
}
start() {
  user=$(setting User)
  install -d -o "$user" -g "$(setting Group)" -m "$(setting StateDirectoryMode)" "/var/lib/$(setting StateDirectory)"
  umask "$(setting UMask | grep . || echo 0022)"
  cd "$(setting WorkingDirectory | grep . || echo /)"
  notice=
  if [ "$(setting Type)" = notify ]; then
    notice=/run/$unit.notice
    rm -f "$notice"
    perl -MSocket -e "$LISTEN" "$notice" &
    listener=$!
    while ! [ -e "$notice" ]; do sleep 0.01; done
    chown "$user" "$notice"
  fi
  # Its parent, and so who reaps it, is the first process, as with systemd.
  setsid setpriv --reuid "$user" --regid "$(setting Group)" --init-groups --no-new-privs --bounding-set -all --inh-caps -all \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="/var/lib/$user" USER="$user" ${notice:+NOTIFY_SOCKET=$notice} $(setting ExecStart) >>"/run/$unit.log" 2>&1 </dev/null &
  echo $! >"/run/$unit.pid"
  [ -z "$notice" ] || wait "$listener"
}
case "$verb" in
  daemon-reload) exit 0 ;;
esac
for name in "$@"; do
  unit=${name%.service}
  case "$verb" in
    enable|start) running || start ;;
    restart) stop; start ;;
    try-restart) if running; then stop; start; fi ;;
    disable|stop) stop ;;
    is-active) running && echo active ;;
    status) running && cat "/run/$unit.log" ;;
    *) echo "systemctl: what is '$verb'?" >&2; exit 1 ;;
  esac
done
"""

QUIET_APT = 'APT::Get::Assume-Yes "true";\nAPT::Sandbox::User "root";\nDpkg::Use-Pty "0";\n'
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}


class DebianRoot:
    script = KEEP

    def __init__(self, folder, lower="/", name="head"):
        folder.mkdir(parents=True)
        self.lower, self.name = pathlib.Path(lower), name
        self.layer, self.share = folder / "layer", folder / "share"
        self.inside = self.root_inside()
        self.layer.mkdir()
        self.share.mkdir()
        self.keeper = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "sh", "-c", self.script, str(lower),
             str(self.layer), str(self.share), name, str(os.getpid())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "ready\n", f"{self.keeper.communicate()} (it takes root)"
        self.first = int(pathlib.Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children").read_text())

    def root_inside(self):
        """Its root folder, in its own mounts."""
        return f"{self.layer}/root"

    def close(self):
        os.kill(self.first, signal.SIGKILL)
        self.keeper.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- files

    @property
    def path(self):
        """Its root folder, as seen from outside."""
        return pathlib.Path(f"/proc/{self.first}/root{self.inside}")

    def write(self, path, text, mode=0o644):
        file = self.path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, path):
        return (self.path / path.lstrip("/")).read_text()

    def exists(self, path):
        return os.path.lexists(self.path / path.lstrip("/"))

    def differs(self, path):
        """Whether the file or folder there is another than in `lower`; who wrote it, and when, does not count."""
        here, there = self.path / path.lstrip("/"), self.lower / path.lstrip("/")
        if not os.path.lexists(here) or not os.path.lexists(there):
            return os.path.lexists(here) != os.path.lexists(there)
        return here.is_dir() != there.is_dir() or (here.is_file() and here.read_bytes() != there.read_bytes())

    def changed(self):
        """Every path that was written, or removed."""
        upper = f"/proc/{self.first}/root/{self.layer}/upper"
        return sorted(f"{folder.removeprefix(upper)}/{name}" for folder, folders, files in os.walk(upper) for name in files + folders)

    # --- programs

    def words(self, words, env=None):
        given = {**ENVIRONMENT, **(env or {})}
        return ["nsenter", "--target", str(self.first), "--mount", "--pid", "--net", "--uts", "--ipc", "--root", "chroot", self.inside,
                "env", "-i", *[f"{name}={value}" for name, value in given.items()], *map(str, words)]

    def try_out(self, *words, env=None, input=None, seconds=120):
        return subprocess.run(self.words(words, env), input=input, capture_output=True, text=True, timeout=seconds)

    def __call__(self, *words, **options):
        """What it printed; it has to end well."""
        done = self.try_out(*words, **options)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def plays_systemd(self):
        """From here on there is a systemd, as far as packages can see."""
        (self.path / "run/systemd/system").mkdir(parents=True)
        self.write("/usr/local/bin/systemctl", SYSTEMCTL, 0o755)

    def systemctl_calls(self):
        log = self.path / "run/systemctl.log"
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return calls

    def has_reader(self, name="reader"):
        """Somebody with a home and with sudo, whom apt asks no questions."""
        self.write("/etc/sudoers.d/reader", f"{name} ALL=(ALL) NOPASSWD: ALL\n", 0o440)
        self.write("/etc/apt/apt.conf.d/90quiet", QUIET_APT)
        self.write("/etc/hosts", f"127.0.0.1 localhost {self.name}\n")
        self("useradd", "--create-home", "--shell", "/bin/bash", name)
        return name

    def wire_to(self, other, address, other_address):
        """A cable between the two."""
        inside = ["nsenter", "--target", str(self.first), "--net", "ip"]
        there = ["nsenter", "--target", str(other.first), "--net", "ip"]
        for words in ([*inside, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(other.first)],
                      [*inside, "address", "add", f"{address}/24", "dev", "eth0"], [*inside, "link", "set", "eth0", "up"],
                      [*there, "address", "add", f"{other_address}/24", "dev", "eth0"], [*there, "link", "set", "eth0", "up"]):
            subprocess.run(words, check=True)


class BootedDebian(DebianRoot):
    """One that systemd runs. `lower` is from debootstrapped()."""

    script = BOOT

    def __init__(self, folder, lower, name="head"):
        super().__init__(folder, lower, name)
        self.cgroup = pathlib.Path(f"/proc/{self.first}/cgroup").read_text().rsplit("0::", 1)[1].split("/init.scope")[0].strip()
        wait_until(lambda: self.try_out("systemctl", "is-system-running").stdout in ("running\n", "degraded\n"), "systemd to be up")
        self.write("/etc/hostname", f"{name}\n")
        self("hostname", name)

    def root_inside(self):
        return "/"

    def plays_systemd(self):
        """It is one."""

    def close(self):
        super().close()
        top = next(line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2")
        for folder, _, _ in os.walk(f"{top}{self.cgroup}", topdown=False):
            wait_until(lambda: not pathlib.Path(folder, "cgroup.procs").read_text(), "the last of it to end")
            os.rmdir(folder)


def debootstrapped(folder, package):
    """A small Debian with systemd and sudo, and, fetched but not installed, what the package needs. It is made once and kept until
    the package needs something else."""
    needs = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True).stdout
    root = folder / f"debian-root-{hashlib.sha256(needs).hexdigest()[:12]}"
    if root.exists():
        return root
    making = folder / "debian-root-making"
    subprocess.run(["rm", "-rf", *folder.glob("debian-root-*")], check=True)
    subprocess.run(["debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,sudo", "bookworm", making], check=True,
                   capture_output=True, timeout=900)
    subprocess.run(["cp", package, making / "tmp/drover.deb"], check=True)
    subprocess.run(["chroot", making, "sh", "-c", "apt-get update -qq && apt-get install -qq -y --download-only /tmp/drover.deb"],
                   check=True, capture_output=True, timeout=900, env=ENVIRONMENT)
    (making / "tmp/drover.deb").unlink()
    making.rename(root)
    return root


class Shell:
    """A shell of a user in such a root, to type line after line into."""

    def __init__(self, root, user):
        self.process = subprocess.Popen(
            root.words(["runuser", "-l", user, "-s", "/bin/bash"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def type(self, line):
        """(its exit status, what it printed)"""
        self.process.stdin.write(f"{line}\necho \"<<< $?\"\n")
        self.process.stdin.flush()
        heard = ""
        for answer in self.process.stdout:
            if ended := re.fullmatch(r"(.*)<<< (\d+)\n", answer):
                return int(ended[2]), heard + ended[1]
            heard += answer
        raise AssertionError(f"the shell ended at {line!r}: {heard}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
