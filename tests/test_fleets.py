"""Fleets on this machine: capacity follows the work from nothing and back, whatever happens to the server in between."""

import base64
import json
import os
import signal
import sqlite3
import time

import pytest

from drover import BINARY, wait_until
from test_server import Server


def delete_fleets(server):
    for fleet in server.ask("GET", "/api/v1/fleets")[1]["fleets"]:
        server.ask("DELETE", f"/api/v1/fleets/{fleet['name']}")
    wait_until(lambda: server.ask("GET", "/api/v1/fleets")[1]["fleets"] == [], "the fleets to be deleted")


@pytest.fixture
def server(drover):
    server = Server(drover, "--lease", "5s")
    yield server
    if server.running.alive():
        delete_fleets(server)


def set_fleet(server, name, **settings):
    status, answer = server.ask("PUT", f"/api/v1/fleets/{name}", {"provider": "local", "idle_s": 0, "join_within_s": 60, **settings})
    assert status == 200, answer


def machines(server, fleet):
    """{name: state} of those that are not gone."""
    status, answer = server.ask("GET", f"/api/v1/fleets/{fleet}")
    assert status == 200, answer
    return {it["name"]: it["state"] for it in answer["machines"] if it["state"] != "gone"}


def workers_of(server):
    """Processes that are workers of this server's machines."""
    found = []
    for pid, command in server.drover.left_over().items():
        words = command.split()
        if len(words) > 1 and words[1] == "worker":
            found.append((words[words.index("--name") + 1], pid))
    return sorted(found)


def nothing_is_left(server):
    """No process, no folder, no key and no join token of a machine."""
    keys = json.loads((server.drover.data / "server/keys.json").read_text())
    folders = [path for root in ("server/machines", "workers") for path in (server.drover.data / root).glob("*/lock")]
    folders += list((server.drover.data / "server/machines").glob("*/*"))
    return (workers_of(server) == [] and folders == [] and not [key for key in keys["keys"] if key.get("worker")]
            and not keys.get("join_tokens"))


def cgroups_of(server):
    """Folders of cgroups of machines that this server has ever had."""
    names = [name for name, in server.rows("SELECT name FROM machines")]
    return [f"{folder}/{one}" for folder, below, _ in os.walk("/sys/fs/cgroup") for one in below
            if one.startswith("drover.machine.") and any(one.endswith(f".{name}") for name in names)]


def test_a_job_brings_up_machines_and_they_leave_again(server):
    set_fleet(server, "f", most=2, shapes=["small"])
    assert server.cli("fleet", "explain", "f").out == "nothing to do\n"
    job = server.cli("submit", "--name", "j", "--json", "--range", "1-6", "--", "sleep", "0.2").json_lines[0]
    assert server.ends("j")["state"] == "succeeded", job
    wait_until(lambda: machines(server, "f") == {}, "the machines to leave")
    wait_until(lambda: nothing_is_left(server), "everything of them to be gone")
    names = {name for name, in server.rows("SELECT name FROM machines")}
    assert 1 <= len(names) <= 2
    assert {name for name, in server.rows("SELECT DISTINCT worker FROM attempts")} <= names
    kinds = [kind for kind, in server.rows("SELECT kind FROM events WHERE kind LIKE 'machine%' ORDER BY event")]
    assert kinds[0] == "machine_requested" and kinds[-1] == "machine_gone"
    assert kinds.count("machine_requested") == kinds.count("machine_joined") == kinds.count("machine_gone") == len(names)
    assert all(why.startswith("idle for ") for why, in server.rows("SELECT ending FROM machines"))
    shown = server.cli("fleet", "show", "f")
    assert "gone" in shown.out and "idle for" in shown.out


def test_the_messages_of_a_stream_bring_up_machines(server):
    set_fleet(server, "f", most=1, shapes=["small"])
    server.cli("stream", "create", "s")
    status, answer = server.ask("POST", "/api/v1/streams/s/messages", [{"body": str(i)} for i in range(10)])
    assert status == 200, answer
    status, answer = server.ask("POST", "/api/v1/jobs", {"name": "j", "command": ["echo", "{}"], "stream": "s", "until_empty": True})
    assert status == 201, answer
    assert server.ends("j")["counts"]["succeeded"] == 10
    wait_until(lambda: machines(server, "f") == {} and nothing_is_left(server), "the machine to be gone")


def test_messages_whose_machine_was_lost_bring_up_another(server, tmp_path):
    set_fleet(server, "f", most=1, shapes=["small"])
    server.cli("stream", "create", "s")
    assert server.ask("POST", "/api/v1/streams/s/messages", [{"body": "a"}, {"body": "b"}])[0] == 200
    command = ["sh", "-c", f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done"]
    assert server.ask("POST", "/api/v1/jobs", {"name": "j", "command": command, "stream": "s", "until_empty": True})[0] == 201
    wait_until(lambda: (tmp_path / "runs").exists(), "an item to run")
    (name, pid), = workers_of(server)
    os.kill(pid, signal.SIGKILL)
    (tmp_path / "go").touch()
    # The stream is empty: its messages are the job's items by now.
    job = server.ends("j")
    assert (job["state"], job["counts"]["succeeded"]) == ("succeeded", 2)
    assert name not in {worker for worker, in server.rows("SELECT worker FROM attempts WHERE state = 'succeeded'")}
    wait_until(lambda: machines(server, "f") == {} and nothing_is_left(server), "the machines to be gone")


def test_step_scaling_follows_the_depth_of_a_stream(server):
    server.cli("stream", "create", "s")
    alarms = [{"when": ">=", "threshold": 1, "steps": [{"lower": 0, "upper": 100, "value": 1}, {"lower": 100, "value": 2}]},
              {"when": "<", "threshold": 1, "steps": [{"upper": 0, "value": 0}]}]
    set_fleet(server, "f", most=2, shapes=["small"], policy="step", stream="s", alarms=alarms)

    def joined():
        return sorted(machines(server, "f").values())

    for _ in range(10):
        assert server.ask("POST", "/api/v1/streams/s/messages", [{"body": "x"}] * 10)[0] == 200
    wait_until(lambda: joined() == ["joined"], "one machine for 100 messages")
    assert server.ask("POST", "/api/v1/streams/s/messages", [{"body": "x"}])[0] == 200
    wait_until(lambda: joined() == ["joined", "joined"], "a second machine for the 101st")
    assert server.cli("fleet", "explain", "f").out == "nothing to do\n"
    assert server.ask("POST", "/api/v1/streams/s/purge")[0] == 200
    wait_until(lambda: joined() == [], "no machine for no messages")


def test_a_fixed_number_of_machines_is_kept(server):
    set_fleet(server, "f", most=3, shapes=["small"], policy="fixed", desired=2)
    wait_until(lambda: sorted(machines(server, "f").values()) == ["joined", "joined"], "two machines")
    lost = workers_of(server)[0]
    os.kill(lost[1], signal.SIGKILL)
    wait_until(lambda: lost[0] not in machines(server, "f") and sorted(machines(server, "f").values()) == ["joined", "joined"],
               "the lost machine to be replaced")
    ended = dict(server.rows("SELECT name, ending FROM machines"))
    assert "worker" in ended[lost[0]], ended
    assert server.cli("fleet", "set", "f", "--desired", "0").status == 0
    wait_until(lambda: nothing_is_left(server), "all of it to be gone")


def test_a_leased_item_is_not_killed_by_scale_in(server, tmp_path):
    set_fleet(server, "f", most=1, shapes=["small"], policy="fixed", desired=1)
    server.cli("submit", "--name", "j", "--", "sh", "-c", f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done", ":::", "a")
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    assert server.cli("fleet", "delete", "f").status == 0
    wait_until(lambda: "draining" in machines(server, "f").values(), "the machine to drain")
    (tmp_path / "go").touch()
    ended = server.ends("j")
    assert ended["state"] == "succeeded"
    assert server.rows("SELECT count(*) FROM attempts") == [(1,)]
    wait_until(lambda: server.ask("GET", "/api/v1/fleets/f")[0] == 404, "the fleet to be deleted")
    wait_until(lambda: nothing_is_left(server), "all of it to be gone")


@pytest.mark.parametrize("moment", ["requested", "starting", "joined"])
def test_a_server_that_is_killed_leaks_nothing_and_doubles_nothing(server, moment):
    set_fleet(server, "f", most=3, shapes=["small"], policy="fixed", desired=2)
    reached = {"requested": ("requested", "starting", "joined"), "starting": ("starting", "joined"), "joined": ("joined",)}[moment]
    marks = ",".join(f"'{state}'" for state in reached)
    wait_until(lambda: server.rows(f"SELECT 1 FROM machines WHERE state IN ({marks})"), f"a machine that is {moment}")
    server.kill()
    server.start()
    wait_until(lambda: sorted(machines(server, "f").values()) == ["joined", "joined"], "two machines")
    assert [name for name, _ in workers_of(server)] == sorted(machines(server, "f"))
    assert server.ask("PUT", "/api/v1/fleets/f", {"provider": "local", "most": 3, "policy": "fixed", "desired": 0})[0] == 200
    wait_until(lambda: machines(server, "f") == {} and workers_of(server) == [], "no machine to be left")


def test_a_machine_that_the_server_does_not_know_is_terminated(server):
    set_fleet(server, "f", most=1, shapes=["small"], policy="fixed", desired=1)
    wait_until(lambda: list(machines(server, "f").values()) == ["joined"], "a machine")
    server.kill()
    # As after a restore of an older ledger.
    with sqlite3.connect(f"{server.drover.data}/server/drover.db") as ledger:
        ledger.execute("DELETE FROM machines")
    ledger.close()
    before = workers_of(server)
    server.start()
    wait_until(lambda: not set(before) & set(workers_of(server)), "the unknown machine to end")
    wait_until(lambda: list(machines(server, "f").values()) == ["joined"], "a new one")


def test_a_fleet_that_cannot_launch_says_why(server):
    set_fleet(server, "far", provider="ec2", most=2)
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    wait_until(lambda: server.job("j")["counts"]["pending"] == 1, "the job to wait")
    assert server.cli("fleet", "explain", "far").out == "1 item waiting: provider 'ec2' is not available on this server\n"
    missing = "provider 'local' has no shape 'enormous'; it has small"
    set_fleet(server, "odd", shapes=["enormous"])
    assert missing in server.cli("fleet", "explain", "odd").out
    assert missing in server.cli("fleet", "set", "odd", "--most", "0", "--shape", "small", "--shape", "enormous").out, "one of two is missing"
    assert missing in server.cli("fleet", "show", "odd").out
    assert missing in server.cli("fleet", "explain", "odd").out
    assert "problem      provider 'ec2' is not available on this server" in server.cli("fleet", "show", "far").out
    set_fleet(server, "f", most=0)
    assert server.cli("fleet", "explain", "f").out == "1 item waiting: at the maximum of 0 machines\n"
    server.cli("cancel", "j")


def test_launches_that_fail_back_off_and_are_named(server):
    # No folder can be made there.
    (server.drover.data / "server/machines").mkdir()
    (server.drover.data / "server/machines/f").symlink_to("/nonexistent/folder")
    set_fleet(server, "f", most=1, policy="fixed", desired=1)
    shown = wait_until(lambda: (it := server.ask("GET", "/api/v1/fleets/f")[1])["failures"] >= 2 and it, "two failures")
    assert "server/machines" in shown["trouble"] and shown["retry_at_ms"] > 0
    assert "failing" in server.cli("fleet", "list").out
    assert "server/machines" in server.cli("fleet", "show", "f").out
    (server.drover.data / "server/machines/f").unlink()
    wait_until(lambda: list(machines(server, "f").values()) == ["joined"], "a machine, now that it can be had")
    assert server.ask("GET", "/api/v1/fleets/f")[1]["failures"] == 0


def test_a_paused_fleet_does_nothing(server):
    set_fleet(server, "f", most=1)
    assert "paused" in server.cli("fleet", "pause", "f").out
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.cli("fleet", "explain", "f").out == "the fleet is paused\n1 item waiting: the fleet is paused\n"
    assert "paused" in server.cli("fleet", "list").out
    assert machines(server, "f") == {}
    assert server.cli("fleet", "resume", "f").status == 0
    assert server.ends("j")["state"] == "succeeded"
    server.cli("fleet", "resume", "none").refuses("none", "drover fleet list")


def test_a_queue_uses_its_fleets_in_order(server):
    set_fleet(server, "first", most=1, shapes=["small"], idle_s=60)
    set_fleet(server, "second", most=1, shapes=["small"], idle_s=60)
    assert server.cli("queue", "set", "q", "--fleet", "second", "--fleet", "first").status == 0
    server.cli("submit", "--name", "one", "--queue", "q", "--", "true", ":::", "a")
    assert server.ends("one")["state"] == "succeeded"
    assert len(machines(server, "second")) == 1 and machines(server, "first") == {}
    server.cli("submit", "--name", "two", "--queue", "q", "--range", "1-3", "--", "sleep", "0.5")
    assert server.ends("two")["state"] == "succeeded"
    assert len(machines(server, "first")) == 1


def test_a_fleet_from_a_file(server, tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text("""provider: local
most: 2
policy: step
queue: default
alarms:
- when: '>='
  threshold: 1
  steps:
  - {lower: 0, upper: 100, value: 1}
  - {lower: 100, value: 2}
""")
    assert server.cli("fleet", "set", "f", "--file", file, "--idle", "5m").status == 0
    shown = server.cli("fleet", "show", "f", "--json").json_lines[0]
    assert (shown["policy"], shown["queue"], shown["most"], shown["idle_s"]) == ("step", "default", 2, 300)
    assert shown["alarms"][0]["steps"][1] == {"lower": 100, "upper": None, "value": 2}


def alarm(*steps):
    return f"policy: step\nalarms:\n- {{when: '>=', threshold: 1, steps: [{', '.join(steps)}]}}\n"


OTHER_VALUE = "use another value, or remove the setting to use its default"
BROKEN = {  # what is wrong with the file: its text, and what has to be said of it
    "empty": ("", "does not contain a fleet's settings: the file is empty", "one setting per line, such as 'most: 10'"),
    "only comments": ("# most: 1\n", "does not contain a fleet's settings: the file is empty", "docs/fleets.md has an example"),
    "a list": ("- most: 1\n", "does not contain a fleet's settings: it is a list", "one setting per line"),
    "a word": ("local\n", "does not contain a fleet's settings: it is a single value", "one setting per line"),
    "two documents": ("most: 1\n---\nmost: 2\n", ":2: a second document begins here", "only one fleet", "move the second fleet to its own file"),
    "tabs": ("labels:\n\tzone: a\n", ":2: this line is indented with a tab", "indent with spaces"),
    "indented too far": ("most: 1\n  least: 0\n", ":2: this line is indented further than the line above", "begin it in the same column"),
    "no space after the colon": ("provider: local\nmost:1\n", ":2: unknown field 'most:1'", "did you mean 'most'?"),
    "an open list": ("provider: local\nshapes: [small\n", ":2: the list that begins here is not closed", "close it with ]"),
    "an open object": ("labels: {zone: a\n", ":1: the object that begins here is not closed", "close it with }"),
    "an open string": ("provider: 'local\n", ":1: the string that begins with this ' is not closed", "close it with another '"),
    "an open object in JSON": ('{"most": 1,\n "labels": {"zone": "a"\n', ":2: the object that begins here is not closed", "close it with }"),
    "a comparison for alarms": ("policy: step\nalarms: >=1\n", ":2: a value that begins with > starts a block of text", "put the value in quotes: '>=1'"),
    "a comparison without quotes": ("policy: step\nalarms:\n- when: >=\n  threshold: 1\n", ":3: a value that begins with >", "put the value in quotes: '>='"),
    "an unknown alias": ("provider: *local\n", ":1: this alias refers to an unknown anchor", "in quotes"),
    "a setting twice": ("most: 1\nleast: 0\nmost: 2\n", ":3: 'most' appears twice: first on line 1", "keep one of them"),
    "a label twice": ("labels:\n  zone: a\n  zone: b\n", ":3: 'labels.zone' appears twice: first on line 2", "keep one of them"),
    "not UTF-8": (b"most: 1\nprovider: l\xf6cal\n", ":2: invalid UTF-8", "save the file as UTF-8 text"),
    "a program": (b"\x7fELF\x02\x01\x01\x00\x00\x00", ":1: unexpected NUL byte", "save the file as UTF-8 text"),
    "an unknown setting": ("provider: local\nmots: 1\n", ":2: unknown field 'mots'", "did you mean 'most'?", "known fields: provider"),
    "a time as a flag has it": ("most: 1\nidle: 5m\n", ":2: unknown field 'idle'", "did you mean 'idle_s'?"),
    "a word for a number": ("provider: local\nmost: two\n", ":2: field 'most' must be a whole number from 0 to 1000000", OTHER_VALUE),
    "part of a machine": ("least: 0.5\n", ":1: field 'least' must be a whole number from 0 to 1000000", OTHER_VALUE),
    "less than nothing": ("provider: local\n\nmost: -1\n", ":3: field 'most' must be a whole number from 0 to 1000000", OTHER_VALUE),
    "too many machines": ("most: 1000001\n", ":1: field 'most' must be a whole number from 0 to 1000000", OTHER_VALUE),
    "a number of 30 digits": ("most: 100000000000000000000000000000\n", ":1: field 'most' must be a whole number from 0 to 1000000", OTHER_VALUE),
    "a time with a unit": ("idle_s: 5m\n", ":1: field 'idle_s' must be a whole number of seconds from 0 to 2592000", OTHER_VALUE),
    "no time to join": ("join_within_s: 0\n", ":1: field 'join_within_s' must be a whole number of seconds from 1 to 2592000", OTHER_VALUE),
    "yes for true": ("spot: yes\n", ":1: field 'spot' must be true or false", OTHER_VALUE),
    "a bid of nothing": ("spot: true\nbid_percent: 0\n", ":2: field 'bid_percent' must be a whole number from 1 to 1000", OTHER_VALUE),
    "an unknown provider": ("provider: azure\n", ":1: field 'provider' must be one of local, kubernetes", OTHER_VALUE),
    "an unknown policy": ("policy: guess\n", ":1: field 'policy' must be one of demand, step, backlog, fixed", OTHER_VALUE),
    "a program without a name": ("provider: command\n", ": provider 'command' requires 'command'", "drover server --fleet-command NAME=PROGRAM"),
    "one shape without a list": ("shapes: small\n", ":1: field 'shapes' must be a list of names", OTHER_VALUE),
    "a shape that is no name": ("shapes: [small, c5 large]\n", ":1: field 'shapes' must be a list of names", OTHER_VALUE),
    "labels as a list": ("labels: [zone]\n", ":1: field 'labels' must be an object of labels", OTHER_VALUE),
    "a label with a number": ("labels: {rack: 7}\n", ":1: field 'labels' has the label 'rack' whose value is not a string", "put it in quotes"),
    "an invalid label": ("labels: {a b: x}\n", ":1: field 'labels' has the invalid label 'a b'", "names use letters, digits"),
    "a label that Drover sets": ("most: 1\nlabels: {market: spot}\n", ":2: field 'labels' sets the label 'market'", "use another name for the label"),
    "a stream and a queue": ("stream: s\nqueue: q\n", ":1: 'stream' cannot be combined with 'queue'", "remove the other"),
    "least above most": ("least: 3\nmost: 2\n", ":1: 'least' (3) is greater than 'most' (2)", "lower 'least' or raise 'most'"),
    "least above the default": ("least: 3\n", ":1: 'least' (3) is greater than 'most' (1)", "lower 'least' or raise 'most'"),
    "more desired than most": ("most: 2\npolicy: fixed\ndesired: 3\n", ":3: 'desired' (3) must be from 'least' (0) to 'most' (2)", "between them"),
    "a backlog of nothing": ("policy: backlog\n", ": policy 'backlog' requires either 'items_per_machine' or 'seconds_per_machine'", "set one of them"),
    "steps without alarms": ("policy: step\n", ": policy 'step' requires 'alarms'", "add, for example"),
    "one alarm without a list": ("alarms: {threshold: 1}\n", ":1: field 'alarms' must be a list of alarms", OTHER_VALUE),
    "an alarm without steps": ("policy: step\nalarms:\n- threshold: 1\n", ":2: field 'alarms' has an alarm without steps", OTHER_VALUE),
    "an alarm below nothing": ("alarms:\n- {threshold: -1, steps: [{lower: 0, value: 1}]}\n", ":1: field 'alarms' has an invalid alarm: field 'threshold' must be a whole number", OTHER_VALUE),
    "an unknown comparison": ("alarms:\n- {when: above, steps: [{lower: 0, value: 1}]}\n", ":1: field 'alarms' has an invalid alarm: field 'when' must be one of >=, >, <=, <", OTHER_VALUE),
    "a step without a value": (alarm("{lower: 0}"), ":2: field 'alarms' has a step without a 'value'", OTHER_VALUE),
    "a step of the least number": (alarm("{lower: 0, value: -9223372036854775808}"), ":2: field 'alarms' has a step whose 'value' is not a whole number from -1000000 to 1000000", OTHER_VALUE),
    "a gap": (alarm("{lower: 0, upper: 10, value: 1}", "{lower: 20, value: 2}"), ":2: field 'alarms' has a gap between its steps, from 10 to 20", OTHER_VALUE),
    "an overlap": (alarm("{lower: 0, upper: 10, value: 1}", "{lower: 5, value: 2}"), ":2: field 'alarms' has steps that overlap", OTHER_VALUE),
}


def test_files_that_are_broken_are_refused_in_words(server, tmp_path):
    file = tmp_path / "fleet.yaml"
    for wrong, (text, what, *others) in BROKEN.items():
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        what = f"{file}{what}" if what.startswith(":") else f"{file} {what}"
        refused = server.cli("fleet", "set", "f", "--file", file)
        assert refused.status != 0 and "job" not in refused.err.replace(str(file), ""), (wrong, refused.err)
        refused.refuses(what, *others)
    assert server.ask("GET", "/api/v1/fleets")[1]["fleets"] == []
    server.cli("fleet", "set", "f", "--file", tmp_path / "missing.yaml").refuses("cannot read fleet file", "missing.yaml", "check the path")
    server.cli("fleet", "set", "f", "--file", tmp_path).refuses(f"cannot read fleet file {tmp_path}", "directory", "check the path")


def test_a_flag_that_is_wrong_is_not_blamed_on_the_file(server, tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text("policy: fixed\ndesired: 1\n")
    refused = server.cli("fleet", "set", "f", "--file", file, "--desired", 7)
    refused.refuses("'desired' (7) must be from", "between them")
    assert str(file) not in refused.err
    server.cli("fleet", "set", "f", "--file", file, "--least", 7).refuses("--least 7 is more than --most 1")


@pytest.mark.parametrize("settings, names", [
    ({"least": 3, "most": 2}, ("'least' (3)", "'most' (2)")),
    ({"provider": "cloud"}, ("'provider'", "local")),
    ({"policy": "guess"}, ("'policy'", "demand")),
    ({"colour": "red"}, ("'colour'",)),
    ({"shapes": "small"}, ("'shapes'", "list of names")),
    ({"shapes": ["a b"]}, ("'shapes'", "list of names")),
    ({"labels": {"fleet": "x"}}, ("'labels'", "'fleet'")),
    ({"labels": {"market": "spot"}}, ("'labels'", "'market'", "another name")),
    ({"alarms": [{"steps": [{"lower": 0, "value": -2**63}]}]}, ("'value'", "-1000000")),
    ({"labels": {"a b": "x"}}, ("'labels'", "'a b'")),
    ({"stream": "s", "queue": "q"}, ("'stream'", "'queue'")),
    ({"policy": "step"}, ("'step'", "'alarms'")),
    ({"policy": "backlog"}, ("'items_per_machine'", "'seconds_per_machine'")),
    ({"policy": "backlog", "items_per_machine": 1, "seconds_per_machine": 1}, ("either",)),
    ({"policy": "backlog", "seconds_per_machine": 1, "stream": "s"}, ("'seconds_per_machine'", "'stream'")),
    ({"policy": "fixed", "most": 2, "desired": 3}, ("'desired' (3)", "'most' (2)")),
    ({"alarms": [{}]}, ("alarm without steps",)),
    ({"alarms": [{"steps": []}]}, ("alarm without steps",)),
    ({"alarms": [{"when": "==", "steps": [{"lower": 0, "value": 1}]}]}, ("'when'", ">=")),
    ({"alarms": [{"steps": [{"value": 1}]}]}, ("'lower' or 'upper'",)),
    ({"alarms": [{"steps": [{"lower": 0, "upper": 10, "value": 1}, {"lower": 20, "value": 2}]}]}, ("gap", "10", "20")),
    ({"alarms": [{"steps": [{"lower": 0, "upper": 10, "value": 1}, {"lower": 5, "value": 2}]}]}, ("overlap",)),
    ({"alarms": [{"steps": [{"lower": 0, "value": 1}, {"lower": 5, "value": 2}]}]}, ("overlap",)),
    ({"alarms": [{"steps": [{"lower": 5, "upper": 5, "value": 1}]}]}, ("lower bound 5",)),
    ({"alarms": [{"steps": [{"lower": 0, "value": "x"}]}]}, ("'value'",)),
    ({"alarms": [{"steps": [{"lower": 0, "worth": 1, "value": 1}]}]}, ("'worth'",)),
    ({"join_within_s": 0}, ("'join_within_s'", "1")),
])
def test_settings_that_are_wrong_are_named(server, settings, names):
    status, answer = server.ask("PUT", "/api/v1/fleets/f", settings)
    assert status == 400, answer
    for name in names:
        assert name in json.dumps(answer), answer


def test_a_setting_that_a_body_has_twice_is_refused(server):
    status, answer = server.ask("PUT", "/api/v1/fleets/f", b'{"most": 1, "most": 2}')
    assert status == 400 and answer["detail"] == "field 'most' appears twice" and answer["next"] == "keep one of them", answer


CLOUD = """#!/usr/bin/python3
import json, os, pathlib, signal, subprocess, sys, time
asked = json.load(sys.stdin)
folder = pathlib.Path(__file__).parent / "vms"
folder.mkdir(exist_ok=True)


def runs(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        return "worker" in words or "sleep" in words
    except OSError:
        return False


if (trouble := pathlib.Path(__file__).with_suffix(".trouble")).exists():
    print(trouble.read_text(), file=sys.stderr)
    sys.exit(1)
mischief = pathlib.Path(__file__).with_suffix(".mischief")
mischief = mischief.read_text() if mischief.exists() else ""
if sys.argv[1] == "launch" and mischief:
    if mischief == "hang":
        time.sleep(600)
    if mischief == "rubbish":
        print("launching it now ...")
    if mischief == "twice":
        copy = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (folder / (asked["name"][:-12] + "0123456789ab")).write_text(str(copy.pid))
    if mischief != "twice":
        sys.exit()
if sys.argv[1] == "shapes":
    print(json.dumps({"shapes": [{"name": "c1", "cpus": 1, "memory": "1GiB"}, {"name": "c2", "cpus": 2, "memory": "2GiB"}]}))
if sys.argv[1] == "launch" and not (file := folder / asked["name"]).exists():
    environment = os.environ | {"DROVER_JOIN": asked["join_token"], "DROVER_DATA": f"@DATA@/{asked['name']}"}
    vm = subprocess.Popen(["@DROVER@", *asked["worker"][1:]], start_new_session=True, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file.write_text(str(vm.pid))
    print(json.dumps({"id": f"vm-{vm.pid}"}))
if sys.argv[1] == "list":
    print(json.dumps({"machines": [{"name": it.name, "id": f"vm-{it.read_text()}", "ended": not runs(it.read_text())} for it in folder.iterdir()],
                      "exact": not mischief.startswith("lag")}))
if sys.argv[1] == "terminate" and (file := folder / asked["name"]).exists():
    if runs(file.read_text()):
        os.kill(int(file.read_text()), signal.SIGKILL)
    file.unlink()
"""


@pytest.fixture
def cloud(drover, tmp_path):
    program = tmp_path / "cloud"
    program.write_text(CLOUD.replace("@DROVER@", BINARY).replace("@DATA@", str(tmp_path / "vm-data")))
    program.chmod(0o755)
    return program


def test_a_program_launches_machines_and_they_leave_again(drover, cloud, tmp_path):
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={cloud}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--most", 2, "--idle", "0s", "--shape", "c2").status == 0
    submitted = server.cli("submit", "--name", "j", "--range", "1-8", "--", "sleep", "0.3")
    assert submitted.status == 0
    assert server.ends("j")["state"] == "succeeded"
    workers = {it["worker"] for it in server.cli("items", "j", "--json").json_lines}
    assert 1 <= len(workers) <= 2 and all(name.startswith("f-") for name in workers)
    shown = server.cli("fleet", "show", "f").out
    assert "command" in shown and "vms" in shown and "vm-" in shown, shown
    wait_until(lambda: machines(server, "f") == {}, "the machines to leave")
    wait_until(lambda: list((tmp_path / "vms").iterdir()) == [], "nothing of them to be left")


def test_what_a_program_complains_of_is_shown(drover, cloud):
    server = Server(drover, "--fleet-command", f"vms={cloud}")
    assert server.cli("fleet", "set", "f", "--command", "vms").status == 0
    wait_until(lambda: server.cli("fleet", "explain", "f").out == "nothing to do\n", "the shapes to be known")
    cloud.with_suffix(".trouble").write_text("out of quota in zone b")
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    wait_until(lambda: server.running.says("out of quota in zone b"), "the reason")
    cloud.with_suffix(".trouble").unlink()
    assert server.ends("j")["state"] == "succeeded"
    server.cli("fleet", "set", "f", "--provider", "local").refuses("has 1 machine", "'most' to 0")
    server.cli("fleet", "set", "g", "--command", "clouds")
    assert "--fleet-command clouds=PROGRAM" in server.cli("fleet", "explain", "g").out
    delete_fleets(server)


@pytest.mark.parametrize("mischief, says", [("rubbish", "is not a JSON object"), ("forget", "no longer lists it"), ("hang", "60 s")])
def test_what_a_program_does_wrong_is_named_and_backed_off_from(drover, cloud, tmp_path, mischief, says):
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={cloud}")
    cloud.with_suffix(".mischief").write_text(mischief)
    assert server.cli("fleet", "set", "f", "--command", "vms", "--idle", "0s").status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    shown = wait_until(lambda: (it := server.ask("GET", "/api/v1/fleets/f")[1])["failures"] >= (1 if mischief == "hang" else 2) and it, "launches to fail", 120)
    assert says in shown["trouble"], shown
    assert says in server.cli("fleet", "show", "f").out, server.cli("fleet", "show", "f").out
    assert len([it for it in shown["machines"] if it["state"] != "gone"]) <= 1, shown
    assert "backing off" in server.cli("fleet", "explain", "f").out or len(machines(server, "f")) == 1
    cloud.with_suffix(".mischief").unlink()
    assert server.ends("j")["state"] == "succeeded"
    delete_fleets(server)
    wait_until(lambda: list((tmp_path / "vms").iterdir()) == [] and nothing_is_left(server), "nothing of them to be left")


def test_what_a_program_launches_twice_is_terminated(drover, cloud, tmp_path):
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={cloud}")
    cloud.with_suffix(".mischief").write_text("twice")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--idle", "1h").status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: [it.name for it in (tmp_path / "vms").iterdir()] == list(machines(server, "f")), "the copy to be terminated")
    delete_fleets(server)
    wait_until(lambda: list((tmp_path / "vms").iterdir()) == [] and nothing_is_left(server), "nothing of them to be left")


def test_what_is_wrong_with_a_provider_is_shown_until_it_works(drover, cloud, tmp_path):
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={cloud}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--idle", "1h").status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"

    def troubles():
        return server.ask("GET", "/api/v1/fleets/f")[1]["provider_troubles"]

    assert troubles() == []
    cloud.with_suffix(".trouble").write_text("the cloud is closed on Sundays")
    (trouble,) = wait_until(troubles, "the trouble to be shown")
    assert trouble.startswith("machines cannot be listed: ") and trouble.endswith("the cloud is closed on Sundays")
    assert trouble in server.cli("fleet", "show", "f").out
    cloud.with_suffix(".trouble").unlink()
    wait_until(lambda: troubles() == [], "the trouble to be over")
    # Somebody else's.
    (tmp_path / "vms/database").write_text("999999999")
    (trouble,) = wait_until(troubles, "the machine to be named")
    assert "did not launch; they are left alone: 'database'" in trouble
    (tmp_path / "vms/database").unlink()
    assert list(machines(server, "f").values()) == ["joined"]
    delete_fleets(server)


def test_a_fleet_that_is_deleted_waits_for_launches_whose_answers_were_lost(drover, cloud, tmp_path):
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={cloud}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--idle", "0s").status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: machines(server, "f") == {}, "the machine to leave")
    cloud.with_suffix(".mischief").write_text("lags")
    assert "will be deleted once its provider lists none of its machines" in server.cli("fleet", "delete", "f").out
    (name,) = [name for name, in server.rows("SELECT name FROM machines")]
    late = tmp_path / "vms" / (name[:-12] + "0123456789ab")
    late.write_text("999999999")
    wait_until(lambda: not late.exists(), "the machine that came late to be terminated")
    assert server.ask("GET", "/api/v1/fleets/f")[1]["deleting"]
    server.cli("fleet", "set", "f", "--provider", "local").refuses("is being deleted", "drover fleet show f")
    cloud.with_suffix(".mischief").unlink()
    wait_until(lambda: server.ask("GET", "/api/v1/fleets/f")[0] == 404, "the fleet to be deleted")


def test_machines_that_end_as_soon_as_they_have_joined_are_backed_off_from(server):
    set_fleet(server, "f", most=1, shapes=["small"], policy="fixed", desired=1)
    for failures in (1, 2):
        (name, pid), = wait_until(lambda: list(machines(server, "f").values()) == ["joined"] and workers_of(server), "a machine")
        os.kill(pid, signal.SIGKILL)
        shown = wait_until(lambda: (it := server.ask("GET", "/api/v1/fleets/f")[1])["failures"] == failures and it, "the failure")
        assert " after joining: its worker " in shown["trouble"], shown
    wait_until(lambda: list(machines(server, "f").values()) == ["joined"], "another machine")
    assert server.ask("GET", "/api/v1/fleets/f")[1]["failures"] == 2, "it may end as soon as the others"
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    shown = server.ask("GET", "/api/v1/fleets/f")[1]
    assert (shown["failures"], shown["trouble"]) == (0, None)


def test_a_server_refuses_programs_that_it_cannot_run(drover, tmp_path):
    (tmp_path / "text").write_text("")
    drover("server", "--fleet-command", "vms").refuses("'vms'", "NAME=PROGRAM")
    drover("server", "--fleet-command", f"vms={tmp_path}/text").refuses(f"{tmp_path}/text cannot be executed", "chmod +x")
    drover("server", "--fleet-command", "a=/bin/true", "--fleet-command", "a=/bin/false").refuses("given twice")


@pytest.mark.parametrize("ending", [("set", "slow", "--provider", "local"), ("delete", "slow")], ids=["another provider", "deleted"])
def test_a_slow_provider_that_a_fleet_no_longer_has_holds_up_no_other_fleet(drover, tmp_path, ending):
    slow = tmp_path / "slow"
    slow.write_text("""#!/usr/bin/python3
import json, pathlib, sys, time
if sys.argv[1] == "list":
    pathlib.Path(__file__).with_suffix(".listing").touch()
    time.sleep(50)
    print(json.dumps({"machines": [], "exact": True}))
if sys.argv[1] == "shapes":
    print(json.dumps({"shapes": [{"name": "c1", "cpus": 1}]}))
""")
    slow.chmod(0o755)
    server = Server(drover, "--lease", "5s", "--fleet-command", f"slow={slow}")
    assert server.cli("fleet", "set", "slow", "--command", "slow").status == 0
    wait_until(lambda: slow.with_suffix(".listing").exists(), "the list to be asked for")
    assert server.cli("fleet", *ending).status == 0
    set_fleet(server, "f", most=1, shapes=["small"])
    begun = time.monotonic()
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    assert time.monotonic() - begun < 20
    delete_fleets(server)


# A launch takes as long as there is a file; each is noted.
SLOW_CLOUD = """#!/usr/bin/python3
import contextlib, json, os, pathlib, signal, subprocess, sys, time
asked = json.load(sys.stdin)
folder = pathlib.Path(__file__).parent / "vms"
folder.mkdir(exist_ok=True)
if sys.argv[1] == "launch":
    with open(pathlib.Path(__file__).with_suffix(".launches"), "a") as launches:
        print(asked["name"], file=launches)
    until = time.monotonic() + 60
    while pathlib.Path(__file__).with_suffix(".slow").exists() and time.monotonic() < until:
        time.sleep(0.02)
    try:
        file = os.open(folder / asked["name"], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        sys.exit()
    environment = os.environ | {"DROVER_JOIN": asked["join_token"], "DROVER_DATA": f"@DATA@/{asked['name']}"}
    vm = subprocess.Popen(["@DROVER@", *asked["worker"][1:]], start_new_session=True, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.write(file, str(vm.pid).encode())
if sys.argv[1] == "shapes":
    print(json.dumps({"shapes": [{"name": "c1", "cpus": 1, "memory": "1GiB"}]}))
if sys.argv[1] == "list":
    print(json.dumps({"machines": [{"name": it.name} for it in folder.iterdir()], "exact": True}))
if sys.argv[1] == "terminate" and (file := folder / asked["name"]).exists():
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        os.kill(int(file.read_text()), signal.SIGKILL)
    file.unlink()
"""


def slow_cloud(tmp_path, text=SLOW_CLOUD):
    program = tmp_path / "cloud"
    program.write_text(text.replace("@DROVER@", BINARY).replace("@DATA@", str(tmp_path / "vm-data")))
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGKILL"])
def test_a_launch_that_the_servers_end_interrupts_is_carried_out_once(drover, tmp_path, ending):
    program = slow_cloud(tmp_path)
    launches, slow = program.with_suffix(".launches"), program.with_suffix(".slow")
    slow.touch()
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--most", 1, "--idle", "1h").status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    wait_until(lambda: launches.exists() and launches.read_text().endswith("\n"), "the launch to begin")
    if ending == "SIGTERM":
        server.stop()
    else:
        server.kill()
    assert server.rows("SELECT state FROM machines") == [("requested",)]
    server.start()
    wait_until(lambda: len(launches.read_text().splitlines()) == 2, "the launch to be repeated")
    slow.unlink()
    assert server.ends("j")["state"] == "succeeded"
    name, = set(launches.read_text().split())
    assert [it.name for it in (tmp_path / "vms").iterdir()] == [name]
    assert [it["name"] for it in server.ask("GET", "/api/v1/workers")[1]["workers"]] == [name]
    assert server.rows("SELECT count(*) FROM attempts") == [(1,)]
    shown = server.ask("GET", "/api/v1/fleets/f")[1]
    assert (shown["failures"], shown["trouble"], shown["provider_troubles"]) == (0, None, [])
    assert list(machines(server, "f").values()) == ["joined"]
    delete_fleets(server)
    wait_until(lambda: list((tmp_path / "vms").iterdir()) == [], "nothing of it to be left")


def test_machines_elsewhere_join_at_the_address_that_is_advertised(drover, tmp_path):
    program = tmp_path / "cloud"
    program.write_text("""#!/usr/bin/python3
import json, pathlib, sys
if sys.argv[1] == "launch":
    pathlib.Path(__file__).with_suffix(".asked").write_text(sys.stdin.read())
    sys.exit("no capacity")
print(json.dumps({"machines": [], "shapes": [{"name": "c1", "cpus": 1}], "exact": True}))
""")
    program.chmod(0o755)
    server = Server(drover, "--advertise", "head.example.org:4443", "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--most", 1).status == 0
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    asked = program.with_suffix(".asked")
    wait_until(lambda: asked.exists() and asked.read_text().endswith("\n"), "a launch")
    token = json.loads(asked.read_text())["join_token"].removeprefix("drover-join-")
    assert json.loads(base64.urlsafe_b64decode(token + "=="))["a"] == ["http://head.example.org:4443"]
    # Nothing was launched, as its provider's list says: it may have another one.
    wait_until(lambda: server.cli("fleet", "set", "f", "--provider", "local").status == 0, "the provider to be replaced")
    assert server.ends("j")["state"] == "succeeded"
    delete_fleets(server)


def test_a_fleet_is_deleted_while_its_program_is_slow_to_launch(drover, tmp_path):
    program = slow_cloud(tmp_path, SLOW_CLOUD.replace("    try:\n", "    time.sleep(2)\n    try:\n"))
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--most", 12, "--policy", "fixed", "--desired", 12).status == 0
    launches = program.with_suffix(".launches")
    wait_until(lambda: launches.exists() and launches.read_text().endswith("\n"), "the first launch")
    assert len(machines(server, "f")) == 12
    delete_fleets(server)
    assert len(launches.read_text().splitlines()) < 6, "the others were not wanted any more"
    assert list((tmp_path / "vms").iterdir()) == []


def test_a_fleet_whose_settings_cannot_be_read_keeps_its_machines(drover, tmp_path):
    program = slow_cloud(tmp_path)
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}")
    fleet = ["fleet", "set", "f", "--command", "vms", "--most", 2, "--policy", "fixed", "--desired", 2]
    assert server.cli(*fleet).status == 0
    wait_until(lambda: sorted(machines(server, "f").values()) == ["joined", "joined"], "two machines")
    before = machines(server, "f")
    server.kill()
    with sqlite3.connect(server.drover.data / "server/drover.db") as ledger:
        ledger.execute("UPDATE fleets SET text = json_set(text, '$.of_a_later_version', 1)")
    server.start()
    assert "its settings cannot be read: " in server.cli("fleet", "explain", "f").out
    submitted = server.cli("submit", "--name", "j", "--range", "1-4", "--", "sleep", "0.5")
    assert submitted.status == 0 and server.ends("j")["state"] == "succeeded"
    assert machines(server, "f") == before and len(list((tmp_path / "vms").iterdir())) == 2
    assert server.cli(*fleet).status == 0
    assert server.cli("fleet", "explain", "f").out == "nothing to do\n" and machines(server, "f") == before
    delete_fleets(server)


def test_an_ended_copy_of_a_machine_does_not_lose_its_work(drover, tmp_path):
    one = '{"name": it.name}'
    assert SLOW_CLOUD.count(f"[{one} for it") == 1
    text = SLOW_CLOUD.replace(f"[{one} for it in folder.iterdir()]", f'[entry for it in folder.iterdir() for entry in ({one}, {one} | {{"ended": True}})]')
    program = slow_cloud(tmp_path, text)
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--most", 1, "--idle", "1h").status == 0
    server.cli("submit", "--name", "j", "--", "sh", "-c", f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done", ":::", "a")
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    (trouble,) = wait_until(lambda: server.ask("GET", "/api/v1/fleets/f")[1]["provider_troubles"], "the copy to be named")
    (name,) = machines(server, "f")
    assert "more than one machine under the same name" in trouble and name in trouble
    assert trouble in server.cli("fleet", "show", "f").out
    (tmp_path / "go").touch()
    assert server.ends("j")["state"] == "succeeded"
    assert server.rows("SELECT worker FROM attempts") == [(name,)]
    assert machines(server, "f") == {name: "joined"}
    delete_fleets(server)


def test_a_machine_of_another_server_with_a_fleet_of_the_same_name_is_left_alone(drover, tmp_path):
    program = tmp_path / "cloud"
    program.write_text("""#!/usr/bin/python3
import json, pathlib, sys
asked = json.load(sys.stdin)
folder = pathlib.Path(__file__).parent / "vms"
if sys.argv[1] == "shapes":
    print(json.dumps({"shapes": [{"name": "c1", "cpus": 1}]}))
if sys.argv[1] == "list":
    (folder.parent / "server").write_text(asked["server"])
    print(json.dumps({"machines": [{"name": it.name, "server": it.read_text()} for it in folder.iterdir()], "exact": True}))
if sys.argv[1] == "terminate":
    assert asked["server"] == (folder.parent / "server").read_text()
    (folder / asked["name"]).unlink()
""")
    program.chmod(0o755)
    folder = tmp_path / "vms"
    folder.mkdir()
    (folder / "f-0123456789ab").write_text("another server")
    server = Server(drover, "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms").status == 0
    (trouble,) = wait_until(lambda: server.ask("GET", "/api/v1/fleets/f")[1]["provider_troubles"], "the machine to be named")
    assert "did not launch; they are left alone: 'f-0123456789ab'" in trouble
    own = (tmp_path / "server").read_text()
    assert own
    # It has the same id after a restart.
    server.kill()
    (folder / "f-ba9876543210").write_text(own)
    server.start()
    wait_until(lambda: [it.name for it in folder.iterdir()] == ["f-0123456789ab"], "the server's own machine to be terminated")
    assert (tmp_path / "server").read_text() == own
    delete_fleets(server)
