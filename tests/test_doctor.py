"""drover doctor: each kind of trouble is named, with a next step; a sound machine has none."""

import contextlib
import email.utils
import http.server
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

import drover as shared
from test_server import Server, submit, worker

NOBODY_IS_THERE = "http://127.0.0.1:1"


def examine(drover, *flags, **options):
    """{(group, about): [check, …]}, and the exit status."""
    # Names that nobody knows are looked up too, perhaps where no name server answers.
    options["env"] = {"RES_OPTIONS": "timeout:1 attempts:1", **options.get("env", {})}
    done = drover("doctor", "--json", *flags, **options)
    assert done.err == "" and done.status in (0, 1), done
    answer = done.json_lines[0]
    checks = {}
    for check in answer["checks"]:
        assert (check["next"] is None) == (check["verdict"] == "ok"), check
        checks.setdefault((check["group"], check["about"]), []).append(check)
    assert done.status == (1 if answer["problems"] else 0)
    return checks, done.status


def troubles(checks, verdict="problem"):
    return [check for several in checks.values() for check in several if check["verdict"] == verdict]


def only_problem(checks, group, about, *words):
    found, = troubles(checks)
    assert (found["group"], found["about"]) == (group, about), found
    for word in words:
        assert word in found["text"], found


def test_a_sound_machine(drover):
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    checks, status = examine(drover)
    assert status == 0 and troubles(checks) == [], checks
    assert {"kernel", "cgroups", "memory", "open files", "processes", "/dev/shm", "core dumps", "clock", "containers", "images"} <= {
        about for group, about in checks if group == "machine"}
    assert "1 checked, no damage found" in checks["folder", "ledger"][0]["text"]
    assert not any(group == "server" for group, _ in checks), "nobody spoke of a server"
    shown = drover("doctor")
    assert "this machine" in shown.out and "0 problems" in shown.out, shown
    assert not (drover.data / f".doctor-{os.getpid()}").exists()


def test_a_folder_that_is_not_there_yet(drover):
    checks, status = examine(drover)
    assert status == 0 and "by the first run" in checks["folder", "data folder"][0]["text"]
    assert not drover.data.exists(), "looking changes nothing"


def test_a_folder_that_cannot_be_written(on_small_disk, small_disk):
    assert on_small_disk("run", "--name", "r", "--", "true", ":::", "a").status == 0
    checks, _ = examine(on_small_disk)
    disk, = checks["folder", "disk"]
    assert disk["verdict"] == "problem" and "tmpfs" in disk["text"], "64 MiB are too few"
    small_disk.resize("1g")
    checks, _ = examine(on_small_disk)
    disk, = checks["folder", "disk"]
    assert disk["verdict"] == "warning" and "memory" in disk["text"]
    small_disk.read_only(True)
    checks, _ = examine(on_small_disk)
    small_disk.read_only(False)
    only_problem(checks, "folder", "data folder", "Read-only")


def test_a_file_in_the_place_of_the_folder(drover):
    drover.data.write_text("")
    checks, _ = examine(drover)
    assert any("is not a folder" in check["text"] for check in troubles(checks))


def test_a_damaged_ledger(drover):
    for name in ("good", "bad"):
        assert drover("run", "--name", name, "--range", "1-2000", "--", "true").status == 0
    with open(drover.database("bad"), "r+b") as file:
        file.seek(4096)
        file.write(b"\x13" * 8192)
    checks, _ = examine(drover)
    only_problem(checks, "folder", "ledger", "run 'bad'", "damaged")
    assert any("1 checked" in check["text"] for check in checks["folder", "ledger"])


def test_a_ledger_of_another_version(drover):
    for name in ("older", "newer"):
        assert drover("run", "--name", name, "--", "true", ":::", "a").status == 0
    for name, version in (("older", 2), ("newer", 99)):
        with contextlib.closing(sqlite3.connect(drover.database(name))) as ledger, ledger:
            ledger.execute("UPDATE schema_version SET version = ?", (version,))
    checks, _ = examine(drover)
    only_problem(checks, "folder", "ledger", "run 'newer'", "newer Drover", "99")
    warned, = [check for check in troubles(checks, "warning") if check["about"] == "ledger"]
    assert "'older'" in warned["text"] and "resume" in warned["next"]


def test_who_holds_what(drover, gate):
    running = drover.start("run", "--name", "held", "--range", "1-1", "--", "sh", "-c", gate.word)
    while drover("status", "held", "--json").status != 0:
        assert running.alive()
    checks, status = examine(drover)
    assert status == 0 and f"'held' by process {running.pid}" in checks["folder", "locks"][-1]["text"]
    gate.open()
    assert running.done().status == 0
    assert examine(drover)[0]["folder", "locks"][0]["text"] == "no run is locked"


def test_few_files_and_no_cgroups(any_user):
    checks, status = examine(any_user, as_user=65534,
                             preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NOFILE, (256, 256)))
    assert "256" in checks["machine", "open files"][0]["text"] and checks["machine", "open files"][0]["verdict"] == "warning"
    assert checks["machine", "cgroups"][0]["verdict"] == "warning" and "--pids has no effect" in checks["machine", "cgroups"][0]["text"]


def test_containers_and_what_they_lack(drover, any_user, tmp_path):
    checks, _ = examine(drover)
    assert "run with crun" in checks["machine", "containers"][0]["text"] and "skopeo" in checks["machine", "images"][0]["text"]
    checks, _ = examine(drover, env={"PATH": str(tmp_path)})
    images, = checks["machine", "images"]
    assert images["verdict"] == "warning" and "skopeo is not installed" in images["text"] and "apt-get install skopeo" in images["next"]
    checks, _ = examine(any_user, as_user=65534)
    containers, = checks["machine", "containers"]
    assert containers["verdict"] == "warning" and "rootless, but only as user 0 in the container" in containers["text"] and "--add-subuids" in containers["next"]


def examined_after(drover, script, data):
    """What the doctor says of the containers of a machine on which this was done; it is undone when he has gone."""
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", f'{script}; exec "$0" doctor --json --data "$1"', shared.BINARY, data],
                          env=drover.environment(), capture_output=True, text=True, timeout=60)
    checks = json.loads(done.stdout)["checks"]
    return {check["about"]: check for check in checks if check["about"] in ("containers", "images", "layers")}


def test_a_machine_without_a_runtime(drover):
    hidden = "; ".join(f"mount --bind /dev/null {path}" for path in map(shutil.which, ("crun", "runc")))
    said = examined_after(drover, hidden + "; unset DOCKER_HOST; mount -t tmpfs tmpfs /run", drover.data)["containers"]
    assert said["verdict"] == "warning" and "neither crun nor runc" in said["text"] and "install crun" in said["next"], said
    broken = f"mount --bind /bin/false {shutil.which('crun')}"
    assert "failed" in examined_after(drover, broken, drover.data)["containers"]["text"]


def test_a_chroot_holds_no_container(drover, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    enter = f"mount --rbind / {root}; mount -t tmpfs tmpfs {root}/run; unset DOCKER_HOST; exec chroot {root}"

    def inside(*words):
        return subprocess.run(["unshare", "--mount", "sh", "-ec", f'{enter} "$0" "$@"', shared.BINARY, words[0], "--data", drover.data, *words[1:]],
                              env=drover.environment(), capture_output=True, text=True, timeout=60)

    containers, = (check for check in json.loads(inside("doctor", "--json").stdout)["checks"] if check["about"] == "containers")
    assert containers["verdict"] == "warning" and "drover runs in a chroot" in containers["text"] and "pivot_root" in containers["next"]
    run = inside("run", "--image", "rootfs:/", "--range", "1-1", "/bin/true")
    assert run.returncode != 0 and "drover runs in a chroot" in run.stderr, run


def test_data_on_an_overlay(drover, tmp_path):
    place = tmp_path / "overlay"
    for name in ("lower", "upper", "work", "root"):
        (place / name).mkdir(parents=True)
    mounted = f"cd {place}; mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root"
    said = examined_after(drover, mounted, place / "root/data")
    assert said["layers"]["verdict"] == "warning" and "regular file system" in said["layers"]["next"], said
    assert not (place / "upper/data").exists(), "looking changes nothing"


# --- the way to a server

def test_a_server_in_order(drover):
    server = Server(drover)
    worker(server, name="w1")
    checks, status = examine(drover)
    assert status == 0, checks
    said = {about: several[0] for (group, about), several in checks.items() if group == "server"}
    assert set(said) == {"server", "name", "connection", "clocks", "latency", "version", "key", "workers"}
    assert "admin" in said["key"]["text"] and "1 worker" in said["workers"]["text"] and "server and client" in said["version"]["text"]


def test_a_key_of_less_scope_and_a_wrong_one(drover, tmp_path):
    server = Server(drover)
    made = drover("key", "create", "--scope", "submit", "--json").json_lines[0]
    elsewhere = {"DROVER_SERVER": server.address, "DROVER_DATA": str(tmp_path / "client")}
    checks, status = examine(drover, env={**elsewhere, "DROVER_KEY": made["token"]})
    key, = checks["server", "key"]
    assert status == 0 and "submit" in key["text"] and "administrate" not in key["text"]
    checks, _ = examine(drover, env={**elsewhere, "DROVER_KEY": made["token"][:-1] + "?"})
    only_problem(checks, "server", "key", "refused")
    checks, _ = examine(drover, env=elsewhere)
    only_problem(checks, "server", "server", "no key")


def test_nobody_is_there(drover):
    checks, _ = examine(drover, "--server", NOBODY_IS_THERE, env={"DROVER_KEY": "a.b"})
    only_problem(checks, "server", "connection", "refused")
    checks, _ = examine(drover, "--server", "http://no-such-host.invalid:8750", env={"DROVER_KEY": "a.b"})
    only_problem(checks, "server", "name", "no-such-host.invalid")
    checks, _ = examine(drover, "--server", "ftp://x", env={"DROVER_KEY": "a.b"})
    only_problem(checks, "server", "server", "ftp://x")


def test_a_server_that_was_here_once(drover):
    Server(drover).stop()
    checks, status = examine(drover)
    assert status == 0 and "is not running" in checks["server", "server"][0]["text"]


def test_one_that_takes_calls_and_never_answers(drover):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        checks, _ = examine(drover, "--server", f"http://127.0.0.1:{silent.getsockname()[1]}", env={"DROVER_KEY": "a.b"})
        only_problem(checks, "server", "HTTP")
        checks, _ = examine(drover, "--server", f"https://127.0.0.1:{silent.getsockname()[1]}", env={"DROVER_KEY": "a.b"})
        only_problem(checks, "server", "TLS", "handshake")


def test_tls(drover, tmp_path):
    server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    port = server.address.rsplit(":", 1)[1]
    there = {"DROVER_SERVER": f"https://127.0.0.1:{port}"}
    checks, status = examine(drover, env=there)
    tls, = checks["server", "TLS"]
    assert status == 0 and "ca.pem" in tls["text"] and "valid until 20" in tls["text"]
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other",
                    "-keyout", tmp_path / "other.key", "-out", other, "-days", "2"], check=True, capture_output=True)
    checks, _ = examine(drover, env={**there, "DROVER_CA": str(other)})
    only_problem(checks, "server", "TLS", "other.pem")
    checks, _ = examine(drover, env={"DROVER_SERVER": f"https://localhost4.invalid:{port}", "DROVER_KEY": "a.b"})
    only_problem(checks, "server", "name")


def test_tls_where_none_is_spoken(drover):
    server = Server(drover)
    checks, _ = examine(drover, env={"DROVER_SERVER": server.address.replace("http://", "https://"), "DROVER_KEY": "a.b"})
    only_problem(checks, "server", "TLS", "does not use TLS")


class Pretender:
    """A small server that answers as Drover's would, but for what it is told."""

    def __init__(self, *, seconds_off=0, version="0.1.0", status=200, body=None):
        answer = body if body is not None else json.dumps(
            {"version": version, "now_ms": 0, "key": {"id": "AKDR", "scope": "worker", "label": "", "job": None, "may": ["work"]}})

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer.encode())

            def date_time_string(self, timestamp=None):
                return email.utils.formatdate(time.time() + seconds_off, usegmt=True)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("off, word", [(-7500, "2 h 0"), (90, "behind")])
def test_clocks_that_disagree(drover, off, word):
    with Pretender(seconds_off=off) as there:
        checks, _ = examine(drover, "--server", there.address, env={"DROVER_KEY": "a.b"})
    only_problem(checks, "server", "clocks", word)


def test_another_version(drover):
    with Pretender(version="7.0.0") as there:
        checks, status = examine(drover, "--server", there.address, env={"DROVER_KEY": "a.b"})
    version, = checks["server", "version"]
    assert status == 0 and version["verdict"] == "warning" and "7.0.0" in version["text"]


@pytest.mark.parametrize("answer", [{"status": 404, "body": "nothing here"}, {"body": "<html>"}, {"body": "{}"}, {"body": '{"key":1,"version":[]}'}])
def test_somebody_else_answers(drover, answer):
    with Pretender(**answer) as there:
        checks, _ = examine(drover, "--server", there.address, env={"DROVER_KEY": "a.b"})
    only_problem(checks, "server", "HTTP", "not from a Drover server")


def test_what_waits_for_a_worker_that_nobody_is(drover):
    server = Server(drover)
    submit(server, "early", "--range", "1-2", "--", "true")
    checks, status = examine(drover)
    assert status == 0 and "jobs will wait" in checks["server", "workers"][0]["text"]
    worker(server, name="small")
    submit(server, "huge", "--memory", "900TiB", "--range", "1-2", "--", "true")
    checks, status = examine(drover)
    assert status == 0 and any("'huge' needs 900" in check["text"] for check in checks["server", "jobs"]), checks
