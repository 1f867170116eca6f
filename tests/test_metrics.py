"""What /metrics says, as Prometheus' own parser reads it, and the dashboard that is made of it."""

import json
import pathlib
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drover import wait_until
from test_server import Server, worker

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture
def server(drover):
    return Server(drover)


def figures(server):
    status, text = server.ask("GET", "/metrics")
    assert status == 200, text
    out = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            out[(sample.name, *sorted(sample.labels.values()))] = sample.value
    return out


def test_items_workers_commits_and_use_are_counted(server):
    before = figures(server)
    assert before[("drover_workers", "alive")] == 0
    server.cli("submit", "--name", "some", "--retries", "0", "--", "sh", "-c", "echo hello; test $1 != 3", "sh", "{}", ":::", *"12345")
    assert figures(server)[("drover_items", "default", "pending")] == 5
    worker(server)
    after = wait_until(lambda: (now := figures(server)).get(("drover_jobs", "default", "failed")) == 1 and now, "all to end")
    assert after[("drover_items", "default", "succeeded")] == 4
    assert after[("drover_items", "default", "failed")] == 1 and after[("drover_items", "default", "pending")] == 0
    assert after[("drover_jobs", "default", "failed")] == 1
    assert after[("drover_leased_items_total",)] == 5 and 1 <= after[("drover_leases_total",)] <= 5
    assert after[("drover_attempts_total", "succeeded")] == 4 and after[("drover_attempts_total", "failed")] == 1
    assert after[("drover_log_bytes_total",)] == 5 * len("hello\n")
    assert after[("drover_workers", "alive")] == 1 and after[("drover_worker_cpus",)] > 0
    assert after[("drover_commit_seconds_count",)] > before.get(("drover_commit_seconds_count",), 0)
    assert after[("drover_commit_mutations_sum",)] > 5 and after[("drover_poll_seconds_count",)] >= 1
    assert after[("drover_attempt_cpu_seconds_total",)] > 0 and after[("process_resident_memory_bytes",)] > 1e6
    assert after[("drover_ledger_bytes", "ledger")] > 0 and after[("drover_free_bytes",)] > 0
    assert after[("drover_http_answers_total", "2xx")] > 0


def test_it_takes_a_key(server):
    assert server.ask("GET", "/metrics", key="")[0] == 401


def test_every_figure_of_the_dashboard_is_there(server):
    server.cli("submit", "--name", "one", "--", "true", ":::", "1")
    worker(server)
    server.ends("one")
    known = {key[0] for key in figures(server)}
    dashboard = json.loads((ROOT / "deploy/grafana/drover.json").read_text())
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            asked |= set(re.findall(r"\b(?:drover|process)_[a-z_]+", target["expr"]))
    assert len(asked) > 10
    assert asked <= known, asked - known
