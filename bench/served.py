"""A drover server of the benchmark's own: its process, its address, and what it costs."""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import harness

PATIENCE_SECONDS = 30


class Server:
    def __init__(self, flags, data, listen="127.0.0.1:0"):
        self.data, self.drover = data, flags.build / "bin/drover"
        self.process = subprocess.Popen([self.drover, "server", "--data", data, "--listen", listen], stderr=subprocess.DEVNULL,
                                        env=harness.environment())
        address = data / "server/address"
        until = time.monotonic() + PATIENCE_SECONDS
        while not (address.exists() and address.read_text().endswith("\n")):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit("bench: the server does not come up")
            time.sleep(0.01)
        self.address = address.read_text().strip()
        self.port = int(self.address.rsplit(":", 1)[1])
        first = json.loads((data / "server/keys.json").read_text())["keys"][0]
        self.key = f"{first['id']}.{first['secret']}"

    def connection(self):
        """Keep-alive, plain HTTP."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120, blocksize=1 << 20)

    def ask(self, connection, method, path, body=None):
        """The JSON of the answer. A body is what json can write, bytes, or an open file."""
        raw = body if body is None or hasattr(body, "read") or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}"}
        if hasattr(body, "read"):
            headers["Content-Length"] = str(os.fstat(body.fileno()).st_size)
        connection.request(method, path, raw, headers)
        response = connection.getresponse()
        text = response.read()
        if response.status not in (200, 201):
            sys.exit(f"bench: {method} {path}: {response.status} {text.decode(errors='replace')}")
        return json.loads(text)

    def submit(self, *words):
        """As a person does."""
        subprocess.run([self.drover, "submit", "--quiet", "--data", self.data, *map(str, words)], check=True, env=harness.environment())

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def resident_mib(self):
        return memory_mib(self.process.pid, "VmRSS")

    def peak_mib(self):
        return memory_mib(self.process.pid, "VmHWM")

    def forget_peak(self):
        """The peak begins anew at what is resident now."""
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


@contextlib.contextmanager
def serve(flags, data, **options):
    server = Server(flags, data, **options)
    try:
        yield server
    finally:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()


def memory_mib(pid, what):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(what + ":"))


def cpu_seconds(pid):
    """Of a process and of all that it ever started: what it has waited for, and what runs still, each with one thread."""
    fields = stat_fields(pathlib.Path(f"/proc/{pid}/stat"))
    total = sum(int(one) for one in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat_fields(stat)[1]) == pid:
                # In nanoseconds: a thousand children that have each run for less than a tick add up.
                total += int((stat.parent / "schedstat").read_text().split()[0]) / 1e9
    return total


def stat_fields(path):
    """Those behind the name, which may have spaces in it."""
    return path.read_text().rsplit(")", 1)[1].split()


def allow_files(count):
    """Lets this process, and what it starts from now on, have so many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count or soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard if hard == resource.RLIM_INFINITY else max(hard, count)))
    except (ValueError, PermissionError):
        sys.exit(f"bench: {count:,} files have to be open at once, {hard:,} may be; raise the hard limit (ulimit -Hn)")
