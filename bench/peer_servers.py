"""Other queues, from Debian's packages, for lease_ack: each in a folder of its own, on a port of its own on 127.0.0.1."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

import harness

PATIENCE_SECONDS = 30


def missing(*packages):
    """Those of the packages that have to be installed before there is anything to measure."""
    needed = {"nats-server": nats_program, "postgresql": postgres_folder, "redis-server": lambda: program("redis-server"),
              "golang-go": lambda: program("go"), "default-jre-headless": lambda: program("java")}
    return [name for name in packages if needed[name]() is None]


def program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/go/bin")
    return pathlib.Path(found) if found else None


def nats_program():
    return program("nats-server")


def postgres_folder():
    """That of the newest version."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def version(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout.strip()


def build_load(flags):
    """The load generator for all of them."""
    target = flags.build / "bench/peers_load"
    subprocess.run([program("go"), "build", "-mod=readonly", "-o", target, "."], cwd=harness.REPOSITORY / "bench/peers", check=True)
    return target


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def running(command, folder, is_ready, how_to_stop=signal.SIGTERM, **options):
    """The server, once it is ready; stopped at the end."""
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, cwd=folder, env=harness.environment(), **options)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_ready():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"bench: {command[0]} does not come up:\n{(folder / 'log').read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)
        yield process
    finally:
        process.send_signal(how_to_stop)
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def nats_can_sync_always(folder):
    """Since version 2.10; before, nothing but the interval that is built in."""
    (folder / "probe.conf").write_text(nats_configuration(folder, 4222, always=True))
    return subprocess.run([nats_program(), "-t", "-c", folder / "probe.conf"], capture_output=True).returncode == 0


def nats_configuration(folder, port, always):
    sync = "sync_interval: always\n" if always else ""
    return f'listen: "127.0.0.1:{port}"\nmax_connections: 4096\njetstream {{\nstore_dir: "{folder}/store"\n{sync}}}\n'


@contextlib.contextmanager
def nats(folder, always=False):
    port = free_port()
    (folder / "nats.conf").write_text(nats_configuration(folder, port, always))
    with running([nats_program(), "-c", folder / "nats.conf"], folder, lambda: listens(port)) as process:
        yield process, f"nats://127.0.0.1:{port}"


@contextlib.contextmanager
def redis(folder):
    port = free_port()
    settings = {"bind": "127.0.0.1", "port": port, "dir": folder, "appendonly": "yes", "appendfsync": "always", "save": "",
                "auto-aof-rewrite-percentage": 0, "maxclients": 4096}
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    with running([program("redis-server"), *words], folder, lambda: listens(port)) as process:
        yield process, f"127.0.0.1:{port}"


@contextlib.contextmanager
def postgres(folder):
    """It refuses to run as root: then it is Debian's user for it who runs it."""
    port = free_port()
    as_user = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
        os.chmod(folder.parent, 0o711)
    bin_folder = postgres_folder()
    subprocess.run([bin_folder / "initdb", "-D", folder / "data", "-U", "bench", "-A", "trust", "--locale=C", "-E", "UTF8"],
                   stdout=subprocess.DEVNULL, check=True, cwd=folder, env=harness.environment(), **as_user)
    # fsync, synchronous_commit and full_page_writes stay on. The rest is what a machine of its own would be given: memory, and
    # no checkpoint in the middle of a measure.
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "max_connections": 200,
                "fsync": "on", "synchronous_commit": "on", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min",
                "wal_buffers": "64MB", "autovacuum_naptime": "1s", "jit": "off"}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    asks = [bin_folder / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres"]
    with running([bin_folder / "postgres", "-D", folder / "data", *words], folder, lambda: subprocess.run(asks).returncode == 0,
                 how_to_stop=signal.SIGINT, **as_user) as process:
        yield process, f"postgres://bench@127.0.0.1:{port}/postgres?sslmode=disable"
