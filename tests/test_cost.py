"""What machines and attempts cost: the parts add up to the machines' bills exactly, wherever they are shown."""

import json
import os
import re
import signal

import pytest

from drover import BINARY, wait_until
from test_fleets import CLOUD, machines, nothing_is_left, set_fleet, workers_of
from test_metrics import figures
from test_server import Server

SPOT_HOURLY = 120_000_000_000  # micro-dollars: attempts of less than a second cost some dollars
CPU, GIB = 31611, 4237  # what parts of a machine count
PRICES = "shapes:\n  small: {price: 360000, spot_price: 120000}\n"


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text(PRICES)
    return file


@pytest.fixture
def server(drover, prices):
    server = Server(drover, "--lease", "5s", "--prices", prices)
    yield server
    if server.running.alive():
        delete_fleets(server)


def delete_fleets(server):
    for fleet in server.ask("GET", "/api/v1/fleets")[1]["fleets"]:
        server.ask("DELETE", f"/api/v1/fleets/{fleet['name']}")
    wait_until(lambda: server.ask("GET", "/api/v1/fleets")[1]["fleets"] == [], "the fleets to be deleted")


def dollars(microdollars):
    """As the CLI shows them, for amounts from a dollar on."""
    assert microdollars >= 1_000_000
    return f"${(microdollars + 5_000) // 10_000 / 100:,.2f}"


def costs(server, fleet):
    status, answer = server.ask("GET", f"/api/v1/fleets/{fleet}")
    assert status == 200, answer
    return answer["costs"]


def bills(server, fleet):
    """{name: (bill, on demand, attempts)} of machines that are gone, from their prices and times alone."""
    rows = server.rows("SELECT name, hourly_microdollars, hourly_on_demand_microdollars, since_ms - billed_from_ms, attempts_microdollars "
                       f"FROM machines WHERE fleet = '{fleet}' AND state = 'gone' AND billed_from_ms > 0")
    return {name: (hourly * ms // 3_600_000, on_demand * ms // 3_600_000, attempts) for name, hourly, on_demand, ms, attempts in rows}


def sums_agree(server, fleet):
    """Of a fleet without machines. Returns its bill."""
    of_machines = bills(server, fleet)
    of_attempts = dict(server.rows("SELECT worker, sum(cost_microdollars) FROM attempts GROUP BY worker"))
    for name, (bill, _, attempts) in of_machines.items():
        assert attempts == of_attempts.get(name, 0) and 0 <= attempts <= bill, name
    shown = costs(server, fleet)
    bill = sum(it[0] for it in of_machines.values())
    assert shown["billed_microdollars"] == bill > 0
    assert shown["on_demand_microdollars"] == sum(it[1] for it in of_machines.values())
    assert shown["attempts_microdollars"] == sum(of_attempts[name] for name in of_machines if name in of_attempts)
    assert shown["idle_microdollars"] == bill - shown["attempts_microdollars"] >= 0
    assert server.rows(f"SELECT billed_microdollars, attempts_microdollars FROM fleets WHERE name = '{fleet}'") == [(bill, shown["attempts_microdollars"])]
    return bill


def all_gone(server, fleet):
    return machines(server, fleet) == {} and nothing_is_left(server)


def test_attempts_and_idle_time_cost_what_the_machines_cost(server):
    set_fleet(server, "f", most=2, shapes=["small"], spot=True)
    assert server.cli("submit", "--name", "a", "--range", "1-12", "--", "sleep", "0.1").status == 0
    assert server.cli("submit", "--name", "b", "--retries", "1", "--cpus", "0.5", "--", "sh", "-c", "sleep 0.2; exit $1", "sh", "{}", ":::", "0", "1").status == 0
    assert server.cli("submit", "--name", "c", "--range", "1-300", "--", "true").status == 0
    for name in "abc":
        server.ends(name)
    wait_until(lambda: all_gone(server, "f"), "the machines to leave")
    sums_agree(server, "f")

    # Each attempt costs its part of the machine, for as long as it ran: within a micro-dollar, which may be carried over.
    for job, cpus, wall_us, cost, on_demand, m_cpus, m_bytes, hourly in server.rows(
            "SELECT a.job_name, j.milli_cpus / 1000.0, a.wall_us, a.cost_microdollars, a.on_demand_microdollars, m.milli_cpus / 1000.0, m.memory_bytes, "
            "m.hourly_microdollars FROM attempts a JOIN machines m ON m.name = a.worker JOIN jobs j ON j.id = a.job"):
        part = min(1, CPU * cpus / (CPU * m_cpus + GIB * (m_bytes >> 20) / 1024))
        assert hourly == SPOT_HOURLY
        assert abs(cost - hourly * part * wall_us / 3.6e9) <= 1.01, job
        assert abs(on_demand - 3 * cost) <= 4, job

    of_jobs = {name: (cost, on_demand) for name, cost, on_demand in
               server.rows("SELECT job_name, sum(cost_microdollars), sum(on_demand_microdollars) FROM attempts GROUP BY job_name")}
    wasted, = server.rows("SELECT sum(cost_microdollars) FROM attempts WHERE state IN ('failed', 'lost')")[0]
    for name, (cost, on_demand) in of_jobs.items():
        used = server.job(name)["used"]
        assert (used["cost_microdollars"], used["on_demand_microdollars"]) == (cost, on_demand)
        assert used["wasted_microdollars"] == (wasted if name == "b" else 0)
    status = server.cli("status", "b").out
    cost, on_demand = of_jobs["b"]
    assert f"{dollars(cost)} ({dollars(on_demand)} on demand, {dollars(wasted)} for failed and lost attempts)" in status

    items = server.cli("items", "a", "--json").json_lines
    assert sum(it["last"]["cost_microdollars"] for it in items) == of_jobs["a"][0]
    assert re.search(r"attempt 2: failed.*, \$\d+\.\d+", server.cli("items", "b:1").out)

    everything = sum(cost for cost, _ in of_jobs.values())
    assert costs(server, "f")["attempts_microdollars"] == everything
    for by in ("job", "queue", "owner", "share"):
        lines = server.cli("usage", "--by", by, "--json").json_lines[0]["usage"]
        assert sum(it["cost_microdollars"] for it in lines) == everything, by
    table = server.cli("usage").out
    assert "COST" in table and dollars(everything) in table and dollars(sum(it for _, it in of_jobs.values())) in table

    shown = costs(server, "f")
    text = server.cli("fleet", "show", "f").out
    assert (f"{dollars(shown['billed_microdollars'])}: {dollars(shown['attempts_microdollars'])} for attempts, "
            f"{dollars(shown['idle_microdollars'])} idle; {dollars(shown['on_demand_microdollars'])} on demand") in text
    assert dollars(shown["billed_microdollars"]) in server.cli("fleet", "list").out
    now = figures(server)
    for metric, name in [("billed", "billed"), ("attempts", "attempts"), ("idle", "idle"), ("on_demand", "on_demand")]:
        assert round(now[(f"drover_fleet_{metric}_dollars", "f")] * 1e6) == shown[f"{name}_microdollars"]
    assert round(now[("drover_cost_dollars", "default")] * 1e6) == everything
    total, = server.cli("sql", "SELECT sum(cost_microdollars) AS cost FROM attempts", "--json").json_lines
    assert total["cost"] == everything

    server.kill()
    server.start()
    assert costs(server, "f") == shown and server.job("b")["used"]["cost_microdollars"] == cost


def test_a_lost_machine_is_billed_until_it_is_gone(server, tmp_path):
    set_fleet(server, "f", most=1, shapes=["small"])
    server.cli("submit", "--name", "j", "--", "sh", "-c", f"touch {tmp_path}/runs; until test -e {tmp_path}/go; do sleep 0.05; done", ":::", "a")
    wait_until(lambda: (tmp_path / "runs").exists(), "the item to run")
    wait_until(lambda: server.job("j")["counts"]["running"] == 1, "the item to be named as running")
    before = costs(server, "f")
    assert before["attempts_microdollars"] == 0 and before["idle_microdollars"] == before["billed_microdollars"] > 0
    wait_until(lambda: costs(server, "f")["billed_microdollars"] > before["billed_microdollars"], "the bill to grow")
    (_, pid), = workers_of(server)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.rows("SELECT count(*) FROM attempts WHERE state = 'lost'") == [(1,)], "the attempt to be lost")
    (tmp_path / "go").touch()
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: all_gone(server, "f"), "the machines to leave")
    sums_agree(server, "f")
    (lost,), = server.rows("SELECT cost_microdollars FROM attempts WHERE state = 'lost'")
    assert 0 < lost == server.job("j")["used"]["wasted_microdollars"]
    assert len(bills(server, "f")) == 2


def test_nothing_is_said_of_costs_where_no_price_is_known(drover):
    server = Server(drover)
    set_fleet(server, "f", most=1, shapes=["small"])
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: all_gone(server, "f"), "the machine to leave")
    assert costs(server, "f") is None and server.rows("SELECT cost_microdollars FROM attempts") == [(None,)]
    assert server.cli("items", "j", "--json").json_lines[0]["last"]["cost_microdollars"] is None
    for words in (["status", "j"], ["fleet", "show", "f"], ["items", "j:0"], ["usage"]):
        assert "$" not in server.cli(*words).out, words
    assert not [name for name, *_ in figures(server) if "dollars" in name]
    delete_fleets(server)


def test_a_program_can_say_what_its_machines_cost(drover, tmp_path):
    program = tmp_path / "cloud"
    text = CLOUD.replace("@DROVER@", BINARY).replace("@DATA@", str(tmp_path / "vm-data"))
    program.write_text(text.replace('"memory": "1GiB"}', '"memory": "1GiB", "price": 7200, "spot_price": 3600.5}'))
    program.chmod(0o755)
    server = Server(drover, "--lease", "5s", "--fleet-command", f"vms={program}")
    assert server.cli("fleet", "set", "f", "--command", "vms", "--idle", "0s", "--shape", "c1", "--spot").status == 0
    server.cli("submit", "--name", "j", "--range", "1-1", "--", "sleep", "0.2")
    assert server.ends("j")["state"] == "succeeded"
    wait_until(lambda: machines(server, "f") == {}, "the machine to leave")
    assert server.rows("SELECT DISTINCT hourly_microdollars, hourly_on_demand_microdollars FROM machines") == [(3_600_500_000, 7_200_000_000)]
    sums_agree(server, "f")
    program.write_text(text.replace('"memory": "1GiB"}', '"memory": "1GiB", "price": "much"}'))
    server.stop()
    server.start()
    wait_until(lambda: "'price' is not a valid price" in server.cli("fleet", "explain", "f").out, "the reason")
    delete_fleets(server)


def test_the_machine_that_costs_least_is_launched(drover, tmp_path):
    (tmp_path / "prices.json").write_text(json.dumps({"shapes": {"small": {"price": 9}, "machine": {"price": 1}}}))
    server = Server(drover, "--prices", tmp_path / "prices.json")
    set_fleet(server, "f", most=1, shapes=["small", "machine"])
    server.cli("submit", "--name", "j", "--", "true", ":::", "a")
    assert server.ends("j")["state"] == "succeeded"
    assert server.rows("SELECT shape FROM machines") == [("machine",)]
    delete_fleets(server)


@pytest.mark.parametrize("text, reasons", [
    ("", ["'shapes' is missing"]),
    ("shapes: {small: {price: 1}", []),
    ("shapes: 3", ["does not list shapes"]),
    ("prices: {}", ["unknown field 'prices'", "shapes:"]),
    ("shapes:\n  small: {prices: 1}", [":2", "unknown field 'prices'", "did you mean 'price'?"]),
    ("shapes:\n  small: {price: cheap}", [":2", "'price' of shape 'small' is not a number"]),
    ("shapes:\n  small: {price: -1}", [":2", "'-1' is not an amount of dollars"]),
    ("shapes:\n  small: {price: 0.1, spot_price: 0.2}", [":2", "'spot_price' above its 'price'"]),
    ("shapes:\n  small: {spot_price: 0.2}", [":2", "not in the built-in price table"]),
])
def test_a_broken_file_of_prices_is_refused(drover, tmp_path, text, reasons):
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    drover("server", "--prices", file).refuses(f"prices file {file}", *reasons)


def test_a_file_of_prices_that_cannot_be_read_is_refused(drover, tmp_path):
    for verb in ("server", "up"):
        drover(verb, "--prices", tmp_path / "none").refuses(f"{tmp_path}/none", "No such file")
        drover(verb, "--prices", tmp_path).refuses(f"cannot read prices file: {tmp_path} is not a regular file")
