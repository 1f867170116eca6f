"""Containers when things go wrong: images that cannot be had, items that try to leave their box, workers that are killed among ten thousand of
them."""

import os
import pathlib
import re
import signal
import subprocess
import time

import images
import pytest

from drover import ENDURANCE, SOAK, wait_until
from test_server import Server, check_all_succeeded_once, submit, worker

MANY = 10_000 if ENDURANCE else 1_500 if SOAK else 150
KILLS = 10 if SOAK else 3
MODES = {"crun": ["--runtime", "crun"], "crun overlay": ["--runtime", "crun", "--reuse", "--reset", "overlay"],
         "crun none": ["--runtime", "crun", "--reuse", "--reset", "none"], "runc": ["--runtime", "runc"],
         "runc overlay": ["--runtime", "runc", "--reuse", "--reset", "overlay"], "runc none": ["--runtime", "runc", "--reuse", "--reset", "none"]}
# Images that nobody needs to wait for, and that are small.
PATIENCE = {"DROVER_IMAGE_PATIENCE": "1500ms", "DROVER_IMAGE_SIZE": "64MiB"}
SOME_MODES = list(MODES) if SOAK else ["crun", "crun none", "runc overlay"]
BEGAN = time.time()
NOBODY_KNOWS = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    images.plain().write_layout(folder / "plain-gzip")
    other = images.Image([images.busybox_layer()], architecture=images.OTHER_ARCHITECTURE)
    other.write_layout(folder / "other-architecture")
    images.write_index(folder / "index-other", [other])
    images.Image([b"this is no tar\n" * 100]).write_layout(folder / "not-a-tar")
    images.Image([images.upper_layer()], diff_ids=[images.digest(b"something else")]).write_layout(folder / "wrong-diff-id")
    cut = images.plain(more=[images.Tar().add("data", os.urandom(100_000)).bytes()])
    cut.write_layout(folder / "cut")
    blob = folder / "cut/blobs/sha256" / cut.layers[2]["digest"][7:]
    blob.write_bytes(blob.read_bytes()[: blob.stat().st_size // 2])
    packed, diff_id = images.bomb(128 << 20)
    bomb = images.Image([], diff_ids=[diff_id])
    bomb.layers.append(bomb._blob("layer.v1.tar+gzip", packed))
    bomb.write_layout(folder / "bomb")
    disk = os.stat("/").st_dev
    tricks = folder / "tricks"
    subprocess.run(["cc", "-static", "-O1", f"-DDISK_MAJOR={os.major(disk)}", f"-DDISK_MINOR={os.minor(disk)}", "-o", tricks,
                    pathlib.Path(__file__).parent / "container_tricks.c"], check=True)
    more = images.Tar().add("bin/tricks", tricks.read_bytes(), mode=0o755).link("evil", "../../../../../../../../../tmp/drover-outside")
    more.folder("tmp/drover-outside").link("up", "/../../..").link("loop", "loop")
    for name in ("setsid", "mknod", "ln", "df"):
        more.link(f"bin/{name}", "busybox")
    images.Image([images.busybox_layer(), more.bytes()], Env=["PATH=/bin"]).write_layout(folder / "box")
    return folder


@pytest.fixture(scope="module")
def registry(catalogue):
    one = images.Registry()
    for name in ("plain-gzip", "index-other", "other-architecture"):
        one.push(f"oci:{catalogue}/{name}:latest", f"team/{name}:1", "--all")
    yield one
    one.close()


@pytest.fixture(scope="module")
def locked(catalogue):
    one = images.Registry(login=True)
    one.push(f"oci:{catalogue}/plain-gzip:latest", "team/secret:1", f"--dest-creds={images.USER}:{images.PASSWORD}")
    yield one
    one.close()


@pytest.fixture
def proxy(registry):
    made = []

    def make(mode):
        made.append(images.Proxy(mode, registry.host))
        return made[-1]

    yield make
    for one in made:
        one.close()


# --- images that cannot be had


def faults(catalogue, registry, locked, proxy):
    """What is wrong: the image, and what a user reads. What stands in `nobody` is tried again."""
    host = registry.host
    users = {
        "missing": (f"{host}/team/nothing@{NOBODY_KNOWS}", "image not found"),
        "missing digest": (f"{host}/team/plain-gzip@{NOBODY_KNOWS}", "image not found"),
        "missing path": (f"oci:{catalogue}/nowhere", "/nowhere: No such file or directory"),
        "login": (f"{locked.host}/team/secret@{NOBODY_KNOWS}", f"{locked.host} requires a login"),
        "architecture": (f"{host}/team/index-other:1", "only for linux/"),
        "corrupt": (f"oci:{catalogue}/cut", "a layer does not match its digest"),
        "not a tar": (f"oci:{catalogue}/not-a-tar", "cannot be unpacked"),
        "wrong content": (f"oci:{catalogue}/wrong-diff-id", "configuration says sha256:"),
        "too large": (f"oci:{catalogue}/bomb", "the files of the image are larger than "),
    }
    nobody = {
        "hangs": (f"{proxy('hang').host}/team/plain-gzip@{NOBODY_KNOWS}", "sent nothing for 1.5"),
        "hangs in the middle": (f"{proxy('hang-blobs').host}/team/plain-gzip:1", "sent nothing for 1.5"),
        "unreachable": (f"127.0.0.1:{images.free_port()}/team/plain:1", "is unreachable"),
        "digest": (f"{proxy('corrupt').host}/team/plain-gzip:1", "the received data does not match its digest"),
        "busy": (f"{proxy('busy').host}/team/plain-gzip:1", "is unreachable"),
    }
    return users, nobody


def test_a_run_says_what_is_wrong_with_its_image(drover, catalogue, registry, locked, proxy):
    users, nobody = faults(catalogue, registry, locked, proxy)
    users["missing tag"] = (f"{registry.host}/team/plain-gzip:nothing", "image not found")
    users["this architecture"] = (f"{registry.host}/team/other-architecture:1", "this machine is linux/")
    for name, (image, words) in (users | nobody).items():
        # Only what hangs is given up soon: on a busy machine a program that fetches may be silent for a while, too.
        env = PATIENCE if name.startswith("hangs") else {**PATIENCE, "DROVER_IMAGE_PATIENCE": "30s"}
        done = drover("run", "--name", "x", "--image", image, "--", "true", ":::", "a", env=env)
        assert done.status in (1, 2) and f"image {image.split('@')[0]}" in done.err and words in done.err and "next:" in done.err, (name, done)
        assert "trying again" not in done.err, (name, done)
        assert drover.runs() == [], name


def test_with_the_right_login_it_runs(drover, locked, tmp_path):
    images.auth_file(tmp_path / "auth.json", locked.host)
    words = ["run", "--name", "x", "--image", f"{locked.host}/team/secret:1", "--entrypoint", "", "--", "echo", "in", ":::", "a"]
    drover(*words).refuses(f"{locked.host} requires a login", f"docker login {locked.host}")
    images.auth_file(tmp_path / "wrong.json", locked.host, password="wrong")
    drover(*words, env={"DROVER_REGISTRY_AUTH": str(tmp_path / "wrong.json")}).refuses(f"{locked.host} requires a login")
    done = drover(*words, env={"DROVER_REGISTRY_AUTH": str(tmp_path / "auth.json")})
    assert done.status == 0, done
    assert drover("logs", "x:0").out == "in a\n"


def test_broken_login_data_is_called_so(drover, locked, tmp_path):
    words = ["run", "--image", f"{locked.host}/team/secret:1", "--", "true", ":::", "a"]
    for name, text in {"helper": f'{{"credHelpers": {{"{locked.host}": "nowhere"}}}}', "cut": '{"auths": {', "base64":
                       f'{{"auths": {{"{locked.host}": {{"auth": "!!!"}}}}}}'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
        done = drover(*words, env={"DOCKER_CONFIG": str(tmp_path / name)})
        assert done.status != 0 and "the registry credentials on this machine cannot be used" in done.err and "config.json" in done.err, done
        assert "again" not in done.err, done
    drover("run", "--image", "UPPER/case", "--", "true", ":::", "a").refuses("image names must be lower case", "did you mean upper/case?")


def test_an_image_that_has_no_room(on_small_disk, small_disk, catalogue):
    small_disk.resize("1m")
    words = ["run", "--name", "x", "--image", f"oci:{catalogue}/plain-gzip", "--entrypoint", "", "--", "true", ":::", "a"]
    done = on_small_disk(*words)
    assert done.status == 1 and "is free" in done.err and "next: free some disk space, or run 'drover image prune'" in done.err, done
    small_disk.resize("64m")
    assert on_small_disk(*words).status == 0


def test_a_run_that_is_interrupted_while_its_image_comes_leaves_nothing(drover, proxy):
    image = f"{proxy('hang-blobs').host}/team/plain-gzip:1"
    for words in (["run", "--name", "x", "--image", image, "--", "true", ":::", "a"], ["image", "pull", image]):
        run = drover.start(*words)
        wait_until(lambda: run.says("fetching"), "the image to come")
        run.signal(signal.SIGINT)
        done = run.done()
        assert done.status == (130 if words[0] == "run" else 1), done
        assert f"image {image}: SIGINT stopped the fetch" in done.err, done
        stores = [path for path in drover.folder.rglob("images") if (path / "work").is_dir()]
        work = [path for store in stores for path in (store / "work").iterdir()]
        assert stores and work == [], work
    assert drover.runs() == []


def test_a_bad_patience_is_named(drover, catalogue):
    for name in ("DROVER_IMAGE_PATIENCE", "DROVER_IMAGE_SIZE"):
        drover("run", "--image", f"oci:{catalogue}/plain-gzip", "--", "true", ":::", "a", env={name: "much"}).refuses(name, "much")


def test_a_fault_of_the_users_ends_the_job_and_nothing_else(drover, catalogue, registry, locked, proxy):
    users, nobody = faults(catalogue, registry, locked, proxy)
    server = Server(drover)
    w1 = worker(server, env=PATIENCE)
    # One that hangs for ever keeps nobody else from his image.
    submit(server, "hangs", "--image", nobody["hangs"][0], "--", "true", ":::", "a")
    submit(server, "good", "--range", "1-20", "--image", f"{registry.host}/team/plain-gzip:1", "--entrypoint", "", "--", "echo", "{}")
    names = {}
    for number, (name, (image, words)) in enumerate(users.items()):
        names[f"bad{number}"] = (name, words)
        done = server.cli("submit", "--name", f"bad{number}", "--retries", "3", "--image", image, "--", "true", ":::", "a", "b", "c", env={
            "DROVER_IMAGE_PATIENCE": "1500ms"})
        if done.status != 0:  # seen from here as well: nothing was accepted
            done.refuses(words)
            del names[f"bad{number}"]
    assert {"missing", "missing digest", "missing path", "login", "architecture"} <= {name for name, _ in names.values()}
    submit(server, "plain", "--range", "1-20", "--", "echo", "{}")
    for job, (name, words) in names.items():
        ended = server.ends(job)
        assert (ended["state"], ended["counts"]["failed"], ended["counts"]["succeeded"]) == ("failed", 0, 0), (name, ended)
        assert words in ended["reason"], (name, ended)
        shown = server.cli("status", job)
        assert words in shown.out, shown
        assert words in server.cli("why", job).out, name
    assert server.rows("select job_name, item from attempts where job_name like 'bad%'") == []
    for job in ("good", "plain"):
        assert server.ends(job)["counts"]["succeeded"] == 20
    check_all_succeeded_once(server, "good", 20)
    assert w1.alive() and "quarantine" not in server.cli("workers").out
    # Whoever waits is told for what.
    waits = wait_until(lambda: "sent nothing" in (said := server.cli("why", "hangs").out) and said, "the worker to say what it waits for")
    assert waits.startswith("job 'hangs': worker w1: image "), waits
    wait_until(lambda: "sent nothing for 1.5" in server.cli("status", "hangs").out, "the status to say so")
    assert server.cli("cancel", "hangs").status == 0
    server.ends("hangs")


def test_images_that_hang_hold_up_nobody_else_and_end_with_their_jobs(drover, catalogue, proxy):
    server = Server(drover)
    w1 = worker(server)  # with all the patience that it usually has
    hangs = proxy("hang-blobs").host
    for number in range(4):
        submit(server, f"hangs{number}", "--image", f"{hangs}/team/plain-gzip:1", "--range", "1-500", "--", "true")
    other = proxy("hang").host
    for number in range(4):
        submit(server, f"away{number}", "--image", f"{other}/team/n{number}@{NOBODY_KNOWS}", "--", "true", ":::", "a")
    # Each is told for what it waits, also those that came to a fetch that does not move.
    for number in range(4):
        wait_until(lambda: "plain-gzip:1: fetching" in server.cli("why", f"hangs{number}").out, "the worker to say what it waits for")
    # Not even those that have a layer of it.
    submit(server, "good", "--range", "1-20", "--image", f"oci:{catalogue}/box", "--", "echo", "{}")
    assert server.ends("good")["counts"]["succeeded"] == 20
    fetchers = lambda: [words for words in children(w1.pid) if "skopeo" in words]
    # Between two tries there is none for a moment.
    of_image = lambda: sum("plain-gzip" in words for words in fetchers())
    assert wait_until(of_image, "a fetch of the image") == 1, "four jobs, one image, one fetch"
    for number in range(3):
        assert server.cli("cancel", f"hangs{number}").status == 0
        server.ends(f"hangs{number}")
    assert wait_until(of_image, "a fetch of the image") == 1, "somebody still waits for it"
    for job in ("hangs3", *(f"away{number}" for number in range(4))):
        assert server.cli("cancel", job).status == 0
        server.ends(job)
    wait_until(lambda: not fetchers(), "what nobody waits for to be given up")
    assert w1.alive()


def children(pid):
    """The command lines of a process's children, whichever of its threads started them."""
    out = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                out.append(pathlib.Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass  # it has just ended
    return out


def test_a_job_whose_image_came_late_is_tried_again(drover, catalogue, registry):
    server = Server(drover)
    w1 = worker(server, env=PATIENCE)
    late = images.plain(more=[images.Tar().add("late", b"at last\n").bytes()])
    digest = late.write_layout(drover.folder / "late")
    submit(server, "late", "--image", f"{registry.host}/team/late@{digest}", "--entrypoint", "", "--", "sh", "-c", "cat /late", "{}", ":::", "a", "b")
    assert "image not found" in server.ends("late")["reason"]
    registry.push(f"oci:{drover.folder}/late:latest", "team/late:1")
    again = server.cli("retry", "late")
    assert again.status == 0, again
    assert server.ends("late")["counts"]["succeeded"] == 2
    assert server.cli("logs", "late:1").out == "at last\n"
    assert server.rows("select max(attempt), count(*) from attempts where job_name = 'late'") == [(1, 2)]
    assert w1.alive()


def test_a_registry_that_comes_back_is_asked_again(drover, registry):
    server = Server(drover)
    worker(server, env=PATIENCE)
    port = images.free_port()
    digest = subprocess.run(["skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", f"docker://{registry.host}/team/plain-gzip:1"],
                            check=True, capture_output=True, text=True).stdout.strip()
    submit(server, "away", "--retries", "0", "--image", f"127.0.0.1:{port}/team/plain-gzip@{digest}", "--entrypoint", "", "--", "echo", "{}", ":::",
           "a", "b")
    waits = wait_until(lambda: "is unreachable" in (said := server.cli("why", "away").out) and said, "the worker to say what it waits for")
    assert f"127.0.0.1:{port}" in waits
    wait_until(lambda: "is unreachable" in server.cli("status", "away").out, "the status to say so")
    submit(server, "plain", "--", "true", ":::", "a")
    assert server.ends("plain")["state"] == "succeeded"
    forward = Forward(port, registry.port)
    try:
        assert server.ends("away")["counts"]["succeeded"] == 2
    finally:
        forward.close()
    assert server.rows("select attempt, state from attempts where job_name = 'away'") == [(1, "succeeded")] * 2


@pytest.mark.parametrize("mode", ["busy", "limited"])
def test_a_registry_that_refuses_for_a_while_costs_no_attempt(drover, proxy, mode):
    server = Server(drover)
    between = proxy("pass")
    image = f"{between.host}/team/plain-gzip:1"
    plain = ["--image", image, "--entrypoint", "", "--", "echo", "{}"]
    # A lost item may not come back: what is returned must leave no trace.
    server.ask("POST", "/api/v1/jobs", {"name": "waits", "command": ["echo", "{}"], "range": [1, 12], "image": image, "entrypoint": [], "lost_limit": 1})
    between.mode = mode
    one, two = worker(server, env=PATIENCE), worker(server, name="w2", env=PATIENCE)
    submit(server, "other", *plain, ":::", "a", "b", env=PATIENCE)
    waits = wait_until(lambda: "is unreachable" in (said := server.cli("why", "waits").out) and said, "a worker to say what it waits for")
    assert between.host in waits and "trying again in" in waits, waits
    wait_until(lambda: "is unreachable" in server.cli("status", "waits").out, "the status to say so")
    # They hold nothing of it meanwhile, and have time for others.
    submit(server, "plain", "--range", "1-20", "--", "true")
    assert server.ends("plain")["counts"]["succeeded"] == 20
    refused = between.refused
    wait_until(lambda: between.refused > refused, "the registry to be asked again")
    wait_until(lambda: server.job("waits")["counts"]["running"] == 0 and not server.rows("select 1 from grants"), "everything to be returned")
    between.mode = "pass"
    assert server.ends("waits")["counts"]["succeeded"] == 12
    assert server.ends("other")["counts"]["succeeded"] == 2
    assert server.rows("select max(attempt), count(*), count(distinct state) from attempts where job_name = 'waits'") == [(1, 12, 1)]
    check_all_succeeded_once(server, "waits", 12)
    check_all_succeeded_once(server, "other", 2)
    assert one.alive() and two.alive()


class Forward:
    """A port that leads to another."""

    def __init__(self, port, to):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", "import socketserver, socket, threading, sys\n"
             "def copy(a, b):\n"
             "    while data := a.recv(65536): b.sendall(data)\n"
             "    b.shutdown(socket.SHUT_WR)\n"
             "class Each(socketserver.BaseRequestHandler):\n"
             "    def handle(self):\n"
             f"        there = socket.create_connection(('127.0.0.1', {to}))\n"
             "        threading.Thread(target=copy, args=(there, self.request), daemon=True).start()\n"
             "        copy(self.request, there)\n"
             "socketserver.ThreadingTCPServer.allow_reuse_address = True\n"
             "socketserver.ThreadingTCPServer.daemon_threads = True\n"
             f"socketserver.ThreadingTCPServer(('127.0.0.1', {port}), Each).serve_forever()\n"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=images.die_with_parent)
        self.port = port

    def close(self):
        self.process.kill()
        self.process.wait()


def test_a_mount_that_is_not_there_fails_its_items_and_nothing_else(drover, catalogue):
    server = Server(drover)
    w1 = worker(server)
    submit(server, "gone", "--image", f"oci:{catalogue}/box", "--mount", "/no/such/folder:/data", "--", "true", ":::", "a", "b")
    submit(server, "odd", "--image", f"oci:{catalogue}/box", "--user", "nobody-here", "--", "true", ":::", "a")
    submit(server, "full", "--image", f"oci:{catalogue}/box", "--disk", "10MiB", "--", "true", ":::", "a")
    submit(server, "fine", "--image", f"oci:{catalogue}/box", "--", "true", ":::", "a", "b")
    assert server.ends("fine")["state"] == "succeeded"
    for job, words in {"gone": "cannot mount /no/such/folder", "odd": "the image has no user 'nobody-here'", "full": "has no project quotas"}.items():
        assert server.ends(job)["state"] == "failed"
        reasons = {item["last"]["reason"] for item in server.cli("items", job, "--json").json_lines}
        assert len(reasons) == 1 and words in reasons.pop(), job
    assert w1.alive()
    assert boxes(drover) == [] or wait_until(lambda: len(boxes(drover)) <= 2, "what was refused to be gone")


# --- items that try to leave


def boxes(drover):
    """Folders of slots."""
    return [each for owner in (drover.data / "containers").glob("*-ns*") for each in owner.iterdir() if each.name != "drover-init"]


def run_all(drover, catalogue, mode, scripts, *flags, name="x", jobs=2):
    """Every script as an item, as root inside; {index: (state, exit code, reason)} and what each printed."""
    done = drover("run", "--name", name, "-j", jobs, "-0", "--items", "-", "--image", f"oci:{catalogue}/box", "--user", "0:0", *MODES[mode], *flags,
                  "--", "sh", "-c", "{}", input="\0".join(scripts).encode())
    rows = {item: row for item, *row in drover.rows(name, "select item, state, exit_code, reason from items order by item")}
    assert sorted(rows) == list(range(len(scripts))), done
    return rows, [drover("logs", f"{name}:{index}").out for index in range(len(scripts))]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_hostile_item_tries_is_refused(drover, catalogue, mode):
    victim = drover.folder / "victim"
    victim.write_text("safe\n")
    before = {name: pathlib.Path(name).read_text() for name in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern")}
    rows, printed = run_all(drover, catalogue, mode, [
        "tricks",
        "tricks",  # after one that tried it all
        "echo x > /proc/sys/kernel/hostname",
        "echo x > /sys/kernel/mm/transparent_hugepage/enabled",
        f"cat {victim}; ls /proc/1/root/tmp /proc/1/cwd/ 2>&1",
        f"cat /proc/*/root{victim}; cat ../../../../../../..{victim}",
        "echo poison > /proc/1/root/bin/poison; echo poison > /proc/1/root/tmp/poison; true",
        "ls /bin/poison /tmp/poison",
        "kill -9 -1; kill -9 1; kill -STOP 1; for p in $(seq 2 400); do kill -9 $p; done; echo still here",
        "busybox reboot -f; busybox poweroff -f; echo still here",
    ], jobs=1)
    for out in printed[:2]:
        lines = out.splitlines()
        assert len(lines) > 30 and [line for line in lines if not line.endswith(": refused")] == [], out
    assert rows[2][0] == rows[3][0] == "failed" and "ead-only file system" in printed[2] and "ead-only file system" in printed[3], (rows, printed)
    assert "safe" not in printed[4] + printed[5]
    if "none" not in mode:
        assert rows[7][0] == "failed", printed[7]
    assert rows[7][0] == "failed" or "/bin/poison" not in printed[7]
    assert victim.read_text() == "safe\n"
    assert {name: pathlib.Path(name).read_text() for name in before} == before
    check_nothing_is_left(drover)


@pytest.mark.parametrize("mode", SOME_MODES)
def test_an_item_harms_no_neighbour(drover, catalogue, mode):
    """Two at a time: what one of them does, the other does not feel."""
    quiet = "i=0; while [ $i -lt 6 ]; do sleep 0.1; i=$((i+1)); done; echo $i"
    bomb = "f() { f | f & }; f; sleep 0.5; echo over"
    rows, printed = run_all(drover, catalogue, mode, [
        quiet, "kill -9 -1", quiet, bomb, quiet, "for i in 1 2 3; do setsid sleep 1000 & done; echo gone",
        "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' & echo gone", quiet,
    ], "--pids", 30, "--memory", "64MiB")
    for index in (0, 2, 4, 7):
        assert (rows[index][0], printed[index]) == ("succeeded", "6\n"), (index, rows[index], printed[index])
    # What they print through is open long after they have ended; nobody waits for it.
    for index in (5, 6):
        assert (rows[index][0], printed[index]) == ("succeeded", "gone\n"), (index, rows[index], printed[index])
    assert "can't fork" in printed[3] or rows[3][0] == "failed", printed[3]
    check_nothing_is_left(drover)


@pytest.mark.parametrize("mode", SOME_MODES)
def test_mounts_stay_inside(drover, catalogue, mode):
    outside = pathlib.Path("/tmp/drover-outside")
    assert not outside.exists()
    given = drover.folder / "given"
    given.mkdir()
    (given / "in").write_text("given\n")
    (drover.folder / "link").symlink_to(given)
    rows, printed = run_all(drover, catalogue, mode, ["cat /evil/a/in /up/b/in /c/in; echo out > /c/out; ls -d /tmp/drover-outside/a"] * 2,
                            "--mount", f"{given}:/evil/a:ro", "--mount", f"{given}:/up/b:ro", "--mount", f"{drover.folder}/link:/c",
                            "--tmpfs", "/evil/t")
    assert not outside.exists() and not pathlib.Path("/b").exists()
    assert all(out == "given\n" * 3 + "/tmp/drover-outside/a\n" for out in printed), (rows, printed)
    assert (given / "out").read_text() == "out\n"
    for target in ("/a/../../etc", "../etc", "/"):
        drover("run", "--image", f"oci:{catalogue}/box", "--mount", f"{given}:{target}", "--", "true", ":::", "a").refuses("--mount", target)
    rows, _ = run_all(drover, catalogue, mode, ["true"], "--mount", f"{given}:/loop/x", name="y")
    assert rows[0][0] == "failed" and rows[0][2].startswith("could not start the container: "), rows
    check_nothing_is_left(drover)


@pytest.mark.parametrize("mode", ["crun", "runc overlay"])
def test_an_item_that_fills_the_disk_has_only_its_own_room(drover, small_disk, catalogue, mode):
    drover.data.mkdir()
    (drover.data / "containers").symlink_to(small_disk.path)
    small_disk.resize("8m")
    fill = "dd if=/dev/zero of=/big bs=1M count=100; echo $?"
    rows, printed = run_all(drover, catalogue, mode, [fill, "echo fine > /x && cat /x", fill, "echo fine > /x && cat /x"], jobs=1)
    for index in (0, 2):
        assert "No space left on device" in printed[index] and "1\n" in printed[index], (rows, printed)
    for index in (1, 3):
        assert (rows[index][0], printed[index]) == ("succeeded", "fine\n"), (rows, printed)
    assert os.listdir(small_disk.path) == []


# --- nothing is left


def cgroups_of_drover(pids):
    """But not of others who had these numbers before."""
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup" in line:
            for root, folders, _ in os.walk(line.split()[4]):
                found += [f"{root}/{name}" for name in folders if (match := re.match(r"drover-(\d+)-", name)) and int(match[1]) in pids]
    return [each for each in found if os.path.exists(each) and os.stat(each).st_ctime >= BEGAN]


def members(cgroup):
    try:
        return pathlib.Path(cgroup, "cgroup.procs").read_text().count("\n")
    except OSError:  # it is gone
        return 0


def mounts_below(folder):
    """In any namespace."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            lines = [line for line in (process / "mountinfo").read_text().splitlines() if str(folder) in line]
            if lines and int(process.name) != os.getpid():
                found[f"{process.name} {(process / 'comm').read_text().strip()}"] = lines[:3]
        except OSError:
            continue
    return found


def check_nothing_is_left(drover):
    """Of what this drover has started: processes, mounts, cgroups, folders, network namespaces."""
    pids = {running.pid for running in drover.started}
    assert drover.left_over() == {}
    assert mounts_below(drover.data) == {}
    assert cgroups_of_drover(pids) == []
    containers = drover.data / "containers"
    assert not containers.exists() or [each.name for each in containers.iterdir() if each.name != "volumes"] == []


def kept_namespaces():
    """Those that would stay without a process: every process of ours is known to be gone. Docker and `ip netns` keep theirs there."""
    pinned = {line.split()[4] for line in pathlib.Path("/proc/1/mountinfo").read_text().splitlines() if " - nsfs " in line}
    return {place for place in pinned if not place.startswith(("/run/docker", "/run/netns/", "/tmp/drover-docker"))}


@pytest.mark.parametrize("mode", ["crun", "crun overlay"])
def test_of_many_containers_and_killed_workers_nothing_is_left(drover, catalogue, mode):
    before = kept_namespaces()
    total = MANY
    server = Server(drover)
    submit(server, "many", "--range", f"1-{total}", "--image", f"oci:{catalogue}/box", "--network", "none", *MODES[mode], "--memory", "64MiB",
           "--", "sh", "-c", "echo {} > /x; cat /x; setsid sleep 1000 & true")

    def done():
        return server.job("many")["counts"]["succeeded"]

    for kill in range(KILLS):
        running = worker(server)
        wait_until(lambda: done() >= (kill + 1) * total // (KILLS + 1), "some of them to end", 1800)
        running.kill()
    last = worker(server)
    assert server.ends("many", 3600)["counts"]["succeeded"] == total
    last.signal(signal.SIGTERM)
    assert last.done().status == 0
    check_all_succeeded_once(server, "many", total)
    lost = server.rows("select count(*) from attempts where state = 'lost'")[0][0]
    assert lost <= KILLS * 50, lost
    server.stop()
    check_nothing_is_left(drover)
    assert kept_namespaces() <= before


@pytest.mark.parametrize("mode", ["runc", "runc none"])
def test_what_a_killed_run_leaves_goes_with_the_next(drover, catalogue, mode):
    """Also by one that has no containers itself."""
    running = drover.start("run", "--name", "x", "-j", 2, "--range", "1-1000", "--image", f"oci:{catalogue}/box", "--network", "none", *MODES[mode], "--",
                           "sh", "-c", "dd if=/dev/zero of=/big bs=64k count=16 2>/dev/null; sleep 0.05")
    wait_until(lambda: drover.rows_if_any("x", "select 1 from attempts where item > 4"), "items to end")
    running.kill()
    wait_until(lambda: drover.left_over() == {}, "its processes to end")
    assert drover("run", "--name", "y", "--", "true", ":::", "a").status == 0
    check_nothing_is_left(drover)


@pytest.mark.parametrize("mode", ["crun", "runc overlay"])
def test_containers_whose_helpers_were_killed_too_go_with_the_next(drover, catalogue, mode):
    """As when the machine runs out of memory: nobody is left who would have ended them."""
    running = drover.start("run", "--name", "x", "-j", 2, "--image", f"oci:{catalogue}/box", "--network", "none", *MODES[mode], "--",
                           "sh", "-c", "setsid sleep 1000 & sleep 1000", "{}", ":::", "a", "b")
    wait_until(lambda: len({os.path.basename(folder) for folder in cgroups_of_drover({running.pid}) if members(folder) > 2}) == 2, "two containers")
    children = [int(pid) for pid in pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: none has ended before it is killed
        for pid in [running.pid, *children]:
            os.kill(pid, number)
    running.done()
    assert drover("run", "--name", "y", "--", "true", ":::", "a").status == 0
    wait_until(lambda: mounts_below(drover.data) == {}, "what was in the containers to end", 30)
    check_nothing_is_left(drover)
