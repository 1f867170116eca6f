import faulthandler
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile

import pytest

import drover as shared
from terminal import Terminal

NOBODY = 65534

# What the tests start is on this machine: no proxy leads there.
for variable in [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
    del os.environ[variable]

# tests/bounded.py asks where a test is that takes too long.
if "DROVER_TEST_STACKS" in os.environ:
    stacks = open(os.environ.pop("DROVER_TEST_STACKS"), "a")
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)


@pytest.fixture
def drover(tmp_path):
    """The binary with a data folder of its own. Whatever it started must be gone when the test is."""
    one = shared.Drover(tmp_path)
    yield one
    left = one.clean_up()
    assert left == {}, f"processes were left over: {left}"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, which can be made smaller, larger and read-only."""

    class Disk:
        path = tmp_path / "disk"

        def mount(self, *options):
            subprocess.run(["mount", *options, str(self.path)], check=True)

        def resize(self, size):
            self.mount("-o", f"remount,size={size}")

        def read_only(self, yes):
            self.mount("-o", "remount,ro" if yes else "remount,rw")

    disk = Disk()
    disk.path.mkdir()
    disk.mount("-t", "tmpfs", "-o", "size=64m,mode=755", "drover-test")
    yield disk
    subprocess.run(["umount", str(disk.path)], check=True)


@pytest.fixture
def on_small_disk(small_disk, tmp_path):
    one = shared.Drover(tmp_path, small_disk.path / "data")
    yield one
    assert one.clean_up() == {}


@pytest.fixture
def terminal(drover):
    """terminal(columns, rows, words…) is a Terminal that closes with the test."""
    opened = []

    def open_one(columns, rows, *words, env=None):
        opened.append(Terminal(drover, columns, rows, *words, env=env))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def gate(tmp_path):
    gate = shared.Gate(tmp_path / "gate")
    yield gate
    gate.open()


@pytest.fixture
def script(tmp_path):
    """Makes a program of some lines of shell: script("name", "lines") is its path."""

    def make(name, lines):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def seen(tmp_path, script):
    """A program that keeps the arguments it is given; seen() is {index: [argument, …]} as bytes."""
    folder = tmp_path / "seen"
    folder.mkdir()

    class Seen:
        program = script("keep-arguments", f"printf '%s\\0' \"$@\" > {shlex.quote(str(folder))}/$DROVER_ITEM_INDEX")

        def __call__(self):
            return {int(name): (folder / name).read_bytes().split(b"\0")[:-1] for name in os.listdir(folder)}

    return Seen()


@pytest.fixture
def public_path():
    """A folder that every user may look into."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="drover-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def any_user(public_path, monkeypatch):
    """A drover that another user can start, wherever the binary was built."""
    program = shutil.copy(shared.BINARY, public_path / "drover")
    monkeypatch.setattr(shared, "BINARY", str(program))
    one = shared.Drover(public_path)
    yield one
    assert one.clean_up() == {}
