"""examples/scale-from-zero does what its README says."""

import pathlib
import re
import subprocess

import pytest

import drover as shared
from drover import wait_until
from test_fleets import delete_fleets, machines, nothing_is_left
from test_server import Server

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture
def server(drover):
    server = Server(drover)
    yield server
    delete_fleets(server)
    wait_until(lambda: nothing_is_left(server), "everything of the machines to be removed")


def test_150_messages_bring_up_two_machines_and_they_leave(server, drover, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/drover").symlink_to(shared.BINARY)
    typed, = re.findall(r"```sh\n(.*?)```", (ROOT / "examples/scale-from-zero/README.md").read_text(), re.DOTALL)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", typed.strip() + " 0.2"], env=drover.environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}), cwd=ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[-1] == "from 150 messages and no machine to 2 machines and back to none", done
    counts = [int(count) for count in re.findall(r"^ *\d+ s +(\d+) messages", done.stdout, re.MULTILINE)]
    assert counts[0] == 150 and counts[-1] == 0 and any("■■" in line for line in lines), done
    assert machines(server, "orders") == {}
    assert server.ends("orders")["state"] == "succeeded"
    assert server.rows("select count(*) from items where state = 'succeeded'") == [(150,)]
