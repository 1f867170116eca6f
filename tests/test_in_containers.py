"""Items in containers: the same job through a registry, a layout, an archive, a root folder and Docker, by `drover run` and on a worker of a
server; and what a user sees when there is something wrong with the image."""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import threading

import images
import pytest

from drover import BINARY, wait_until
from test_server import Server, worker

# What an item does, how it ends, and what it prints.
CASES = [
    ("echo out; echo err >&2", 0, "out\n", "err\n"),
    ("exit 3", 3, "", ""),
    ("kill -9 $$", 137, "", ""),
    ("kill -15 $$", 143, "", ""),
    ("cat /hello /etc/old/new; cat /etc/gone 2>/dev/null || echo gone", 0, "hello from the image\nnew\ngone\n", ""),
    ("echo $GREETING; id -u; pwd", 0, "hello there\n1000\n/tmp\n", ""),
    ("echo $DROVER_ITEM_INDEX $DROVER_ATTEMPT $MODE", 0, "6 1 fast\n", ""),
    ("cat /data/in; echo no > /data/out", 1, "given\n", "sh: can't create /data/out: Read-only file system\n"),
    ("touch /tmp/mine && ls /tmp", 0, "mine\n", ""),
    ("a=x; while :; do a=$a$a$a$a; done", "out of memory", "", None),
    ("seq 100000 | sha256sum | head -c 64", 0, hashlib.sha256("".join(f"{i}\n" for i in range(1, 100_001)).encode()).hexdigest(), ""),
    ("echo -n 'no newline at its end'", 0, "no newline at its end", ""),
]
FLAGS = ["--memory", "96MiB", "--env", "MODE=fast", "--entrypoint", ""]
WORDS = ["--", "sh", "-c", "{}"]


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    images.make_all(folder)
    images.plain("").write_docker_archive(folder / "plain.tar", "drover.test/plain:1")
    root = folder / "root"
    root.mkdir()
    for layer in (images.busybox_layer(), images.upper_layer()):
        subprocess.run(["tar", "-x", "-C", root, "--exclude", ".wh.*"], input=layer, check=True)
    (root / "etc/gone").unlink()
    (root / "etc/old/gone").unlink()
    return folder


@pytest.fixture(scope="module")
def registry(catalogue):
    one = images.Registry()
    one.push(f"oci:{catalogue}/plain-gzip:latest", "team/plain:1")
    one.push(f"oci:{catalogue}/other-architecture:latest", "team/other:1")
    yield one
    one.close()


@pytest.fixture(scope="module")
def docker(catalogue):
    one = images.Docker()
    one.load(catalogue / "plain.tar")
    yield one
    one.close()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "in").write_text("given\n")
    return folder


def source(name, catalogue, registry, docker):
    """Flags, and what the environment must say."""
    plain = {"registry": f"{registry.host}/team/plain:1", "layout": f"oci:{catalogue}/plain-zstd", "archive": f"docker-archive:{catalogue}/plain.tar",
             "root": f"rootfs:{catalogue}/root"}
    if name in plain:
        own = ["--user", "1000:1000", "--workdir", "/tmp", "--env", "GREETING=hello there"] if name == "root" else []
        return ["--image", plain[name], *own], {}
    if name == "docker":
        return ["--image", "docker-daemon:drover.test/plain:1", "--runtime", "docker"], {"DOCKER_HOST": docker.host}
    runtime, reset = name.split()
    return ["--image", plain["layout"], "--runtime", runtime, *(["--reuse", "--reset", reset] if reset != "fresh" else [])], {}


SOURCES = ["registry", "layout", "archive", "root", "docker", "runc fresh", "crun none", "crun overlay", "runc overlay"]


SCRIPTS = b"\0".join(script.encode() for script, *_ in CASES)


ITEMS = "select item, state, exit_code, reason from items where job_name = 'cases' order by item"


def check_cases(ask, ledger):
    """`ask` is drover, or its client."""
    rows = {item: {"state": state, "exit_code": code, "reason": reason} for item, state, code, reason in ledger}
    assert sorted(rows) == list(range(len(CASES)))
    for index, (script, ending, out, err) in enumerate(CASES):
        row = rows[index]
        if ending == "out of memory":
            assert row["state"] == "failed" and row["reason"].startswith("out of memory"), (script, row)
        else:
            assert (row["state"], row["exit_code"]) == ("succeeded" if ending == 0 else "failed", ending), (script, row)
        if err is None:
            continue
        printed = ask("logs", f"cases:{index}").out.splitlines()
        wrong = ask("logs", f"cases:{index}", "--stderr").out.splitlines()
        assert sorted(printed) == sorted((out + ("\n" if out and not out.endswith("\n") else "") + err).splitlines()), script
        assert wrong == err.splitlines(), script


@pytest.mark.parametrize("name", SOURCES)
def test_a_table_of_cases_by_run(drover, catalogue, registry, docker, data, name):
    flags, env = source(name, catalogue, registry, docker)
    done = drover("run", "--name", "cases", "--json", "-j", 2, "--items", "-", "-0", "--mount", f"{data}:/data:ro", *FLAGS, *flags, *WORDS,
                  env=env, input=SCRIPTS)
    assert done.status == 1, done
    check_cases(drover, drover.rows("cases", ITEMS))


@pytest.mark.parametrize("name", SOURCES)
def test_a_table_of_cases_on_a_worker(drover, catalogue, registry, docker, data, name):
    flags, env = source(name, catalogue, registry, docker)
    server = Server(drover)
    worker(server, env=env)
    done = server.cli("submit", "--name", "cases", "--items", "-", "-0", "--mount", f"{data}:/data:ro", *FLAGS, *flags, *WORDS, input=SCRIPTS)
    assert done.status == 0, done
    server.ends("cases")
    check_cases(server.cli, server.rows(ITEMS))


# --- how it is asked to end


@pytest.mark.parametrize("flags", ["crun", "runc", "crun --reuse --reset overlay", "runc --reuse --reset none", "docker", "docker --reuse --reset none"])
def test_the_images_own_signal_asks_it_to_end(drover, docker, tmp_path, flags):
    images.Image([images.busybox_layer()], "", Env=["PATH=/bin"], StopSignal="SIGUSR1").write_docker_archive(tmp_path / "usr1.tar", "drover.test/usr1:1")
    lines = "trap 'echo usr1; exit 3' USR1; trap 'echo term; exit 4' TERM; echo ready; while :; do sleep 0.05; done"
    done = drover("run", "--name", "x", "--image", f"docker-archive:{tmp_path}/usr1.tar", "--timeout", "4s", "--grace", "60s", "--runtime", *flags.split(),
                  "--", "sh", "-c", lines, ":::", "a", env={"DOCKER_HOST": docker.host})
    assert done.status == 1, done
    printed = drover("logs", "x:0").out.splitlines()
    assert printed[0] == "ready" and "usr1" in printed and "term" not in printed, printed
    assert drover.rows("x", "select reason from items")[0][0].startswith("timed out")


# --- how it comes


@pytest.fixture
def slow(registry):
    proxy = images.Proxy("slow", registry.host)
    yield proxy
    proxy.close()


def test_whoever_waits_sees_how_far_the_image_is(drover, slow):
    server = Server(drover)
    worker(server)
    image = f"{slow.host}/team/plain:1"
    done = server.cli("submit", "--name", "waits", "--image", image, "--entrypoint", "", "--", "echo", "in", ":::", "a")
    assert done.status == 0, done
    how_far = rf"worker w1: image {re.escape(image)}: fetching, \d+(\.\d+)? KiB of \d\.\d MiB"
    wait_until(lambda: re.search(how_far, server.cli("status", "waits").out), "status to say how far it is")
    assert re.search(how_far, server.cli("why", "waits").out)
    assert re.search(how_far, server.cli("status", "waits", "--json").json_lines[0]["waits_for"])
    slow.go()
    assert server.ends("waits")["state"] == "succeeded"
    assert "fetching" not in server.cli("status", "waits").out


def test_a_run_says_how_far_its_image_is(drover, slow, terminal):
    image = f"{slow.host}/team/plain:1"
    words = ["--image", image, "--entrypoint", "", "--", "echo", "in", ":::", "a"]
    how_far = rf"image {re.escape(image)}: fetching, \d+(\.\d+)? KiB of \d\.\d MiB"
    shown = terminal(120, 24, BINARY, "run", "--name", "one", *words)
    wait_until(lambda: re.search(how_far, shown.screen()), "the screen to say how far it is")
    quiet = drover.start("run", "--name", "other", *words)
    wait_until(lambda: quiet.says(f"image {image}: waiting"), "the other one to say that it waits")
    slow.go()
    done = quiet.done()
    assert done.status == 0 and f"image {image}: fetching" not in done.err, done
    wait_until(lambda: "one" in drover.runs() and drover.status("one")["state"] == "succeeded", "the other one to end")


# --- which one is meant


def test_the_server_looks_up_what_a_tag_means(drover, catalogue, registry, tmp_path):
    for word in ("first", "second"):
        images.Image([images.busybox_layer(), images.Tar().add("word", f"{word}\n".encode()).bytes()], Env=["PATH=/bin"]).write_layout(tmp_path / word)
    registry.push(f"oci:{tmp_path}/first:latest", "team/moves:1")
    server = Server(drover, "--registries", f"docker.io,{registry.host}")
    job = {"command": ["sh", "-c", "cat /word"], "range": [1, 1], "image": f"{registry.host}/team/moves:1"}
    status, said = server.ask("POST", "/api/v1/jobs", {"name": "tag", **job})
    assert (status, said["notice"]) == (201, None), said
    assert server.ask("POST", "/api/v1/definitions", {"name": "words", "command": job["command"], "image": job["image"]})[0] == 201
    registry.push(f"oci:{tmp_path}/second:latest", "team/moves:1")
    assert server.cli("submit", "--definition", "words", "--name", "named", "--range", "1-1").status == 0
    worker(server)
    for name, word in (("tag", "first"), ("named", "second")):
        assert server.ends(name)["state"] == "succeeded"
        assert server.cli("logs", f"{name}:0").out == f"{word}\n"


def test_a_tag_that_the_server_cannot_look_up_is_the_workers_affair(drover, registry):
    hangs = images.Proxy("hang", registry.host)
    absent = f"127.0.0.1:{images.free_port()}"
    server = Server(drover, "--registries", f"{absent},{registry.host}", "--registries", hangs.host)
    job = {"command": ["true"], "range": [1, 1]}
    for image, why in ((f"{absent}/team/plain:1", "unreachable"), (f"{registry.host}/team/nothing:1", "missing"),
                       ("registry.invalid/team/plain:1", "registry.invalid is not one of the registries that this server queries")):
        status, said = server.ask("POST", "/api/v1/jobs", {**job, "image": image})
        assert (status, said["notice"]) == (201, f"the server could not look up image {image} ({why}); each worker will look it up"), said
    # Paths and Docker's images are the worker's alone.
    for image in ("oci:/nowhere", "docker-daemon:none", f"{registry.host}/team/plain@sha256:{'0' * 64}"):
        assert server.ask("POST", "/api/v1/jobs", {**job, "image": image})[1]["notice"] is None
    # One that hangs holds up nobody else.
    answers = []
    asks = [threading.Thread(target=lambda n=n: answers.append(server.ask("POST", "/api/v1/jobs", {**job, "image": f"{hangs.host}/team/n{n}:1"})))
            for n in range(8)]
    for ask in asks:
        ask.start()
    for _ in range(20):
        assert server.ask("POST", "/api/v1/jobs", {**job, "name": "plain"})[0] == 201
    assert len(answers) < 8
    for ask in asks:
        ask.join()
    assert [status for status, _ in answers] == [201] * 8
    assert all("timed_out" in said["notice"] or "too many" in said["notice"] for _, said in answers), answers
    hangs.close()


# --- what stays in the store


def kept(drover):
    """The images that are here, by the last part of their names."""
    listed = drover("image", "list", "--json")
    assert listed.status == 0, listed
    return {image["names"][0].partition("@")[0].rpartition("/")[2]: image for image in listed.json_lines[0]["images"]}


def test_images_that_nothing_uses_go_by_size_and_age(drover, tmp_path):
    megabyte = 1 << 20
    for name in ("old", "used", "new"):
        own = images.Tar().add("own", os.urandom(megabyte)).bytes()
        images.Image([images.busybox_layer(), own], Env=["PATH=/bin"]).write_layout(tmp_path / name)
    shared = len(pathlib.Path("/bin/busybox").read_bytes())
    gate = tmp_path / "gate"
    gate.mkdir()
    assert drover("image", "pull", f"oci:{tmp_path}/old").status == 0
    server = Server(drover)
    one = worker(server, "--images-most", shared + megabyte * 3 // 2)
    done = server.cli("submit", "--name", "used", "--image", f"oci:{tmp_path}/used", "--mount", f"{gate}:/gate", "--", "sh", "-c",
                      "touch /gate/runs; until test -e /gate/open; do sleep 0.05; done; test -s /own", ":::", "a")
    assert done.status == 0, done
    wait_until(lambda: (gate / "runs").exists(), "the item to run")
    wait_until(lambda: set(kept(drover)) == {"used"}, "the one that nothing uses to go")
    assert server.cli("submit", "--name", "new", "--image", f"oci:{tmp_path}/new", "--", "sh", "-c", "test -s /own", ":::", "a").status == 0
    assert server.ends("new")["state"] == "succeeded"
    assert set(kept(drover)) == {"used", "new"}, "what is in use stays, however large"
    assert kept(drover)["used"]["in_use"]
    (gate / "open").touch()
    assert server.ends("used")["state"] == "succeeded"
    one.signal(signal.SIGTERM)
    assert one.done().status == 0

    digits = kept(drover)["used"]["digest"].removeprefix("sha256:")
    os.utime(drover.data / "images/images" / digits / "used", (images.MTIME, images.MTIME))
    worker(server, "--images-most", "0", "--images-unused", "1d")
    wait_until(lambda: set(kept(drover)) == {"new"}, "the one that is too old to go")


def test_a_run_keeps_the_store_small_if_it_shall(drover, tmp_path):
    for name in ("one", "two"):
        images.Image([images.busybox_layer(), images.Tar().add(name).bytes()], Env=["PATH=/bin"]).write_layout(tmp_path / name)
        done = drover("run", "--image", f"oci:{tmp_path}/{name}", "--", "true", ":::", "a", env={"DROVER_IMAGES_MOST": "1KiB"})
        assert done.status == 0, done
        assert set(kept(drover)) == {name}
    drover("run", "--image", f"oci:{tmp_path}/one", "--", "true", ":::", "a", env={"DROVER_IMAGES_UNUSED": "long"}).refuses("DROVER_IMAGES_UNUSED", "long")
    drover("worker", "--images-most", "much").refuses("--images-most", "much")


# --- what an image says of itself


def test_only_the_users_own_words_are_filled_in(drover, tmp_path):
    images.Image([images.busybox_layer()], Env=["PATH=/bin"], Entrypoint=["echo", "{}"], Cmd=["{/}", "own"]).write_layout(tmp_path / "box")
    for words, printed in [([], "{} {/} own a/b\n"), (["--", "x", "{/}"], "{} x b\n"), (["--", "x"], "{} x a/b\n"),
                           (["--entrypoint", "echo", "--entrypoint", "{#}", "--", "{}"], "{#} a/b\n")]:
        items = [":::", "a/b"]
        done = drover("run", "--name", "it", "--fresh", "--out", tmp_path / "out", "--image", f"oci:{tmp_path}/box", *words, *items)
        assert done.status == 0, done
        assert (tmp_path / "out/0.out").read_text() == printed


@pytest.mark.parametrize("flags", ["crun", "crun --no-init", "runc --reuse"])
def test_a_script_without_its_interpreter_says_which_one(drover, tmp_path, flags):
    scripts = images.Tar().folder("bin").add("bin/broken", b"#! /no/such/interpreter -x\n", mode=0o755)
    scripts.add("bin/windows", b"#!/bin/sh\r\necho in\r\n", mode=0o755)
    images.Image([images.busybox_layer(), scripts.bytes()], Env=["PATH=/sbin:/bin"]).write_layout(tmp_path / "box")
    done = drover("run", "--name", "it", "--image", f"oci:{tmp_path}/box", "--runtime", *flags.split(), "-j1", "--", "{}", ":::", "broken", "/bin/broken",
                  "windows", "absent")
    assert done.status == 1, done
    rows = drover.rows("it", "SELECT ending, reason FROM items ORDER BY item")
    assert {ending for ending, _ in rows} == {"not_started"}
    there = "the file exists, but its interpreter does not: "
    assert [reason.removeprefix("could not start ") for _, reason in rows] == [
        f"broken: {there}/no/such/interpreter", f"/bin/broken: {there}/no/such/interpreter",
        f"windows: {there}/bin/sh (followed by a carriage return: the file has Windows line endings)", "absent: not found in the container's PATH"]


def test_a_relative_path_of_an_image_begins_where_it_was_typed(drover, tmp_path):
    images.plain().write_layout(tmp_path / "my images/box")
    (tmp_path / "elsewhere").mkdir()
    words = ["--image", "oci:my images/box:latest", "--entrypoint", "", "--", "test", "-e", "{}", ":::", "/gone"]
    assert drover("run", "--name", "it", *words, cwd=tmp_path).status == 1
    assert drover("retry", "it", cwd=tmp_path / "elsewhere").status == 1
    assert drover.rows("it", "SELECT ending, attempt FROM attempts ORDER BY attempt") == [("exited", 1), ("exited", 2)]
    shown = drover("submit", "--dry-run", "--json", *words, cwd=tmp_path)
    assert shown.json_lines[0]["job"]["image"] == f"oci:{tmp_path}/my images/box:latest"
