"""Spot machines: jobs say whether their items run there, and items that are lost there again and again run elsewhere."""

import os
import signal

import pytest

from drover import wait_until
from test_fleets import delete_fleets, machines, set_fleet, workers_of
from test_server import Server

PROVIDER = """#!/usr/bin/python3
# Machines that are workers on this computer. There are no spot machines while the file 'none' is there.
import json, os, pathlib, subprocess, sys

here = pathlib.Path(__file__).parent
question = json.load(sys.stdin)
if sys.argv[1] == "shapes":
    print(json.dumps({"shapes": [{"name": "c1", "cpus": 1, "memory": "1GiB", "price": 1.0, "spot_price": 0.4}]}))
elif sys.argv[1] == "launch":
    if question["spot"] and (here / "none").exists():
        sys.exit("no spot capacity")
    folder = here / question["name"]
    folder.mkdir(exist_ok=True)
    worker = subprocess.Popen([os.environ["DROVER_BIN"], *question["worker"][1:], "--data", str(folder)],
                              env={**os.environ, "DROVER_JOIN": question["join_token"]}, start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=open(folder / "out", "w"), stderr=subprocess.STDOUT)
    (folder / "pid").write_text(str(worker.pid))
    print(json.dumps({"id": str(worker.pid)}))
else:
    there = []
    for path in here.glob("*/pid"):
        pid = path.read_text()
        if sys.argv[1] == "terminate" and path.parent.name == question["name"]:
            try:
                os.kill(int(pid), 9)
            except ProcessLookupError:
                pass
            path.unlink()
        else:
            there.append({"name": path.parent.name, "id": pid, "ended": not os.path.exists(f"/proc/{pid}")})
    print(json.dumps({"machines": there, "exact": True} if sys.argv[1] == "list" else {}))
"""


@pytest.fixture
def server(drover):
    server = Server(drover, "--lease", "5s")
    yield server
    if server.running.alive():
        delete_fleets(server)


def markets(server, fleet="f"):
    """What its machines are and were, in the order in which they were launched."""
    found = server.ask("GET", f"/api/v1/fleets/{fleet}")[1]["machines"]
    return ["spot" if it["spot"] else "on-demand" for it in sorted(found, key=lambda it: it["requested_ms"])]


def submit(server, name, *words):
    done = server.cli("submit", "--name", name, *words)
    assert done.status == 0, done.err


def test_a_job_chooses_its_machines(server):
    set_fleet(server, "f", most=4, shapes=["small"], spot=True)
    submit(server, "usual", "--", "true", ":::", "a")
    assert server.ends("usual")["state"] == "succeeded"
    assert markets(server) == ["spot"]
    submit(server, "careful", "--spot", "never", "--", "true", ":::", "a")
    assert server.ends("careful")["state"] == "succeeded"
    assert markets(server) == ["spot", "on-demand"]
    labels = {it["name"]: it["labels"]["market"] for it in server.ask("GET", "/api/v1/workers")[1]["workers"]}
    assert set(labels.values()) <= {"spot", "on-demand"} and labels


def test_a_job_that_no_fleet_serves_says_so(server):
    set_fleet(server, "f", most=1, shapes=["small"], spot=True, on_demand=False)
    submit(server, "careful", "--spot", "never", "--", "true", ":::", "a")
    said = "1 item waiting: not allowed on spot machines, and the fleet launches no on-demand machines\n"
    wait_until(lambda: server.cli("fleet", "explain", "f").out == said, "the planner to say why")
    assert "'drover fleet explain f' says why" in server.cli("why", "careful").out
    assert server.cli("fleet", "set", "f", "--on-demand").status == 0
    assert server.ends("careful")["state"] == "succeeded"
    assert markets(server) == ["on-demand"]
    assert "on-demand machines for items that cannot get one" in server.cli("fleet", "show", "f").out


def test_an_item_that_is_lost_too_often_runs_on_demand(server, tmp_path):
    set_fleet(server, "f", most=3, shapes=["small"], spot=True, idle_s=600)
    script = f'if test -e {tmp_path}/lost; then exit 0; fi; touch {tmp_path}/runs; sleep 600'
    submit(server, "j", "--on-demand-after-losses", "1", "--", "sh", "-c", script, ":::", "a")
    wait_until(lambda: server.job("j")["counts"]["running"] == 1, "the item to be named as running")
    (tmp_path / "lost").touch()
    assert server.cli("fleet", "pause", "f").status == 0
    for name, pid in workers_of(server):
        os.kill(pid, signal.SIGKILL)
    said = wait_until(lambda: "was lost" in (it := server.cli("why", "j").out) and it, "the item to be kept from spot machines")
    assert "item 0 was lost 1 time, so it waits up to" in said
    assert "for a machine that is not a spot machine; fleet 'f' is paused" in said
    assert server.cli("fleet", "resume", "f").status == 0
    assert server.ends("j")["state"] == "succeeded"
    assert markets(server) == ["spot", "on-demand"]


def test_on_demand_machines_replace_spot_machines_that_cannot_be_had(drover):
    program = drover.data.parent / "vms"
    program.mkdir()
    (program / "vms").write_text(PROVIDER)
    (program / "vms").chmod(0o755)
    (program / "none").touch()
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}/vms")
    try:
        set_fleet(server, "f", provider="command", command="vms", most=2, spot=True, bid_percent=50)
        submit(server, "patient", "--on-demand-after", "1h", "--", "true", ":::", "a")
        shown = wait_until(lambda: (it := server.ask("GET", "/api/v1/fleets/f")[1])["spot_failures"] > 1 and it, "launches to fail")
        assert (shown["failures"], shown["trouble"]) == (0, None) and shown["spot_trouble"].endswith("no spot capacity")
        said = server.cli("fleet", "show", "f").out
        assert "state        spot failing\n" in said and "\n  spot failure " in said and "no spot capacity (failed " in said, said
        assert "spot failing" in server.cli("fleet", "list").out
        assert "launches no spot machines for" in wait_until(
            lambda: "no spot machine" in (it := server.cli("why", "patient").out) and it, "the reason")
        assert set(markets(server)) == {"spot"}
        submit(server, "hasty", "--on-demand-after", "1s", "--", "true", ":::", "a")
        assert server.ends("hasty")["state"] == "succeeded"
        assert "on-demand" in markets(server)
        # What prefers spot machines runs on any that is there.
        assert server.ends("patient")["state"] == "succeeded"
        wait_until(lambda: machines(server, "f") == {}, "the machine to leave")
        (program / "none").unlink()
        submit(server, "again", "--", "true", ":::", "a")
        assert server.ends("again")["state"] == "succeeded"
        assert markets(server)[-1] == "spot"
        prices = {it["spot"]: it["hourly_microdollars"] for it in server.ask("GET", "/api/v1/fleets/f")[1]["machines"]}
        assert prices == {True: 400_000, False: 1_000_000}
        assert server.cli("fleet", "set", "f", "--bid", "39").status == 0
        wait_until(lambda: machines(server, "f") == {}, "the machine to leave")
        submit(server, "dear", "--spot", "only", "--", "true", ":::", "a")
        said = "1 item waiting: a spot machine of shape 'c1' costs 40% of the on-demand price; the bid is 39%\n"
        wait_until(lambda: server.cli("fleet", "explain", "f").out == said, "the planner to keep to the bid")
    finally:
        delete_fleets(server)


def test_settings_are_checked_and_shown(server):
    submit(server, "j", "--spot", "only", "--on-demand-after", "2m", "--", "true", ":::", "a")
    shown = server.job("j")
    assert (shown["spot"], shown["on_demand_after_losses"], shown["on_demand_after_ms"]) == ("only", 3, 120_000)
    assert "needs a worker with market=spot" in server.cli("why", "j").out or "no worker" in server.cli("why", "j").out
    server.cli("submit", "--spot", "sometimes", "--", "true", ":::", "a").refuses("prefer", "only", "never")
