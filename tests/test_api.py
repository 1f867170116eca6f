"""What each call of the native API does, as somebody who writes a client would expect it; and fair shares, for real."""

import json
import urllib.error
import urllib.request

import pytest

from drover import SOAK, wait_until
from test_server import Server, worker


class Api:
    """A server, asked with nothing but urllib."""

    def __init__(self, server, key=None):
        self.server, self.key = server, key or server.key

    def __call__(self, method, path, body=None, status=200):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server.address}/api/v1/{path}", data, {"Authorization": f"Bearer {self.key}"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                code, kind, text = response.status, response.headers["Content-Type"], response.read()
        except urllib.error.HTTPError as error:
            code, kind, text = error.code, error.headers["Content-Type"], error.read()
        answer = json.loads(text) if kind and kind.endswith("json") and "ndjson" not in kind else text.decode()
        assert code == status, (method, path, code, answer)
        return answer

    def submit(self, name, command, status=201, **fields):
        if isinstance(command, str):
            fields["shell"] = True
        return self("POST", "jobs", {"name": name, "command": command, **fields}, status)

    def job(self, name):
        return self("GET", f"jobs/{name}")

    def ends(self, name, seconds=120):
        return wait_until(lambda: (job := self.job(name))["ended_ms"] and job, f"job {name} to end", seconds)

    def runs(self, name, count=1):
        return wait_until(lambda: (job := self.job(name))["counts"]["running"] >= count and job, f"{count} of job {name} to run")

    def why(self, name, item=None):
        return self("GET", f"jobs/{name}/why" + ("" if item is None else f"?item={item}"))


@pytest.fixture
def api(drover):
    return Api(Server(drover))


def names(page, of="jobs"):
    return [one["name"] for one in page[of]]


def test_a_job_without_a_name_is_called_after_its_program_or_else_its_image(api):
    digest = "sha256:" + "0" * 64
    for fields, name in (({"command": ["/usr/bin/env", "true"]}, "env"), ({"command": ["/"]}, "job"),
                         ({"image": f"127.0.0.1:9/lab/fold@{digest}"}, "fold"), ({"image": f"127.0.0.1:9/fold:2", "image_digest": digest}, "fold"),
                         ({"image": "rootfs:/srv/my tools/"}, "my_tools"), ({"image": "rootfs:/"}, "job"), ({"image": "oci:/images/base:latest"}, "base"),
                         ({"image": "oci:/images/base", "command": ["sh"]}, "sh")):
        assert api("POST", "jobs", {"range": [1, 1], **fields}, 201)["name"] == name, fields
    assert "image_digest" in api("POST", "jobs", {"range": [1, 1], "image": "x", "image_digest": "latest"}, 400)["detail"]


def test_empty_items_keep_their_places(api):
    texts = lambda name: [item["item"] for item in api("GET", f"jobs/{name}/items")["items"]]
    for number, (query, body, items) in enumerate((
            ("?separator=nul", b"a\0\0b\0\0", ["a", "", "b", ""]), ("?separator=nul", b"\0a\0\nb", ["", "a", "\nb"]), ("?separator=nul", b"\0", [""]),
            ("", b"a\n\nb\n\n", ["a", "b"]), ("", b"\na", ["a"]))):
        made = api("POST", f"manifests{query}", body, 201)
        assert made["items"] == len(items), body
        api.submit(f"job{number}", ["true"], manifest=made["manifest"])
        assert texts(f"job{number}") == items, body
    api.submit("listed", ["true"], items=["a", "", "b"])
    assert texts("listed") == ["a", "", "b"]
    # A command line cannot carry a NUL byte.
    assert "NUL" in api("POST", "manifests", b"a\nb\0c\n", 400)["detail"]
    assert "NUL" in api("POST", "manifests", b"b\0c", 400)["detail"]


def test_a_queue_is_changed_field_by_field_disabled_and_deleted(api):
    assert names(api("GET", "queues"), "queues") == ["default"]
    made = api("PUT", "queues/fast", {"priority": 7, "order": "fair", "weights": {"a": 1, "batch*": 2.5}})
    assert (made["priority"], made["enabled"], made["decay_s"], made["weights"]) == (7, True, 600, {"a": 1.0, "batch*": 2.5})
    changed = api("PUT", "queues/fast", {"enabled": False, "decay_s": None})
    assert (changed["priority"], changed["enabled"], changed["order"], changed["weights"]) == (7, False, "fair", made["weights"])
    assert api("GET", "queues/fast")["enabled"] is False
    refused = api.submit("early", ["true"], 409, range=[1, 1], queue="fast")
    assert refused["code"] == "conflict" and "disabled" in refused["detail"]
    api("PUT", "queues/fast", {"enabled": True})
    api.submit("job", ["true"], range=[1, 1], queue="fast")
    assert "has not ended" in api("DELETE", "queues/fast", status=409)["detail"]
    api("POST", "jobs/job/cancel")
    assert api("DELETE", "queues/fast") == {"name": "fast"}
    api("GET", "queues/fast", status=404)
    api("DELETE", "queues/default", status=409)
    api("PUT", "queues/..", {}, status=400)
    assert "'colour'" in api("PUT", "queues/q", {"colour": 1}, status=400)["detail"]
    assert "weight" in api("PUT", "queues/q", {"weights": {"a": 0}}, status=400)["detail"]


def test_a_job_begins_with_a_definition_and_has_the_last_word(api):
    body = {"name": "render", "shell": True, "command": "echo $MODE $SIZE {}", "environment": {"MODE": "fast", "SIZE": "9"}, "retries": 3, "cpus": 0.5}
    assert api("POST", "definitions", body, 201) == {"name": "render", "revision": 1}
    assert api("POST", "definitions", {**body, "cpus": 0.25}, 201)["revision"] == 2
    shown = api("GET", "definitions/render:1")
    assert (shown["revision"], shown["active"], shown["job"]["cpus"], shown["job"]["retries"]) == (1, True, 0.5, 3)
    assert "name" not in shown["job"] and "items" not in shown["job"]
    api("POST", "jobs", {"name": "a", "definition": "render:1", "items": ["x"], "environment": {"SIZE": "1"}}, 201)
    api("POST", "jobs", {"name": "b", "definition": "render", "items": ["y"], "cpus": 2}, 201)
    api("POST", "jobs", {"name": "c", "definition": "render"}, 400)  # nobody says what its items are
    worker(api.server)
    assert api.ends("a")["definition_name"] == "render:1" and api.ends("b")["definition_name"] == "render:2"
    assert (api.job("a")["asks"]["cpus"], api.job("b")["asks"]["cpus"]) == (0.5, 2)
    assert api("GET", "jobs/a/items/0/log") == "fast 1 x\n" and api("GET", "jobs/b/items/0/log") == "fast 9 y\n"
    assert api("DELETE", "definitions/render") == {"name": "render", "revision": 2}
    assert api("GET", "definitions/render")["revision"] == 1  # the newest that is active
    assert [it["active"] for it in api("GET", "definitions")["definitions"]] == [True, False]
    api("POST", "jobs", {"definition": "render:2", "items": ["z"]}, 409)
    api("DELETE", "definitions/render")
    api("GET", "definitions/render", status=404)
    api("POST", "jobs", {"definition": "render", "items": ["z"]}, 404)
    assert "items" in api("POST", "definitions", {**body, "items": ["a"]}, 400)["detail"]


def test_a_fleet_is_kept_as_it_was_said(api):
    said = api("PUT", "fleets/spot", {"provider": "ec2", "most": 9, "spot": True, "shapes": ["c7g.large"]})
    wanted = {"name": "spot", "provider": "ec2", "least": 0, "most": 9, "spot": True, "bid_percent": 100, "shapes": ["c7g.large"], "policy": "demand"}
    assert said == said | wanted
    shown = api("GET", "fleets/spot")
    assert shown["created_ms"] > 0 and shown == shown | said
    assert names(api("GET", "fleets"), "fleets") == ["spot"]
    assert "greater than" in api("PUT", "fleets/spot", {"least": 5, "most": 2}, status=400)["detail"]
    api("DELETE", "fleets/spot")
    api("DELETE", "fleets/spot", status=404)


def test_jobs_are_listed_by_what_they_are_page_by_page(api):
    api("PUT", "queues/side", {})
    for i in range(5):
        api.submit(f"job{i}", ["true"], range=[1, 1], queue="side" if i % 2 else "default", share=f"s{i % 2}")
    api("POST", "jobs/job4/cancel")
    assert names(api("GET", "jobs")) == ["job4", "job3", "job2", "job1", "job0"]
    assert names(api("GET", "jobs?queue=side")) == ["job3", "job1"]
    assert names(api("GET", "jobs?share=s0&state=running")) == ["job2", "job0"]
    assert names(api("GET", "jobs?state=cancelled")) == ["job4"]
    assert names(api("GET", "jobs?name=job2")) == ["job2"]
    assert names(api("GET", "jobs?owner=first")) == names(api("GET", "jobs")) and names(api("GET", "jobs?owner=eve")) == []
    seen, before = [], ""
    while True:
        page = api("GET", f"jobs?limit=2{before}")
        seen += names(page)
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert seen == ["job4", "job3", "job2", "job1", "job0"]
    assert api("POST", "jobs", {"name": "x", "command": ["true"], "range": [1, 1], "client_token": "t"}, 201)["id"] == api(
        "POST", "jobs", {"name": "x", "command": ["true"], "range": [1, 1], "client_token": "t"}, 201)["id"]


def test_items_are_listed_by_state_duration_and_memory(api):
    api.submit("job", "sleep 0.{}; test {} != 3", range=[1, 4])
    worker(api.server)
    api.ends("job")
    items = api("GET", "jobs/job/items")
    assert [(it["index"], it["item"], it["state"]) for it in items["items"]] == [(0, "1", "succeeded"), (1, "2", "succeeded"), (2, "3", "failed"), (3, "4", "succeeded")]
    assert [it["index"] for it in api("GET", "jobs/job/items?state=failed")["items"]] == [2]
    # On a busy machine a short sleep may take longer than a long one.
    longest_first = [index for index, in api("POST", "sql", {"query": "select item from items order by wall_us desc"})["rows"]]
    assert [it["index"] for it in api("GET", "jobs/job/items?sort=duration")["items"]] == longest_first
    first = api("GET", "jobs/job/items?sort=duration&limit=3")
    rest = api("GET", f"jobs/job/items?sort=duration&limit=3&from={first['next']}")
    assert ([it["index"] for it in first["items"] + rest["items"]], rest["next"]) == (longest_first, None)
    peaks = [it["last"]["peak_memory_kib"] for it in api("GET", "jobs/job/items?sort=memory")["items"]]
    assert len(peaks) == 4 and peaks == sorted(peaks, reverse=True)
    page = api("GET", "jobs/job/items?limit=3")
    assert page["next"] == 3 and [it["index"] for it in api("GET", "jobs/job/items?from=3")["items"]] == [3]
    shown = api("GET", "jobs/job/items/2")
    assert [(it["attempt"], it["state"], it["exit_code"]) for it in shown["history"]] == [(1, "failed", 1)]


def test_what_failed_is_grouped_and_a_group_is_run_again_with_more(api, tmp_path):
    mended = tmp_path / "mended"
    api.submit("job", f"test -e {mended} && exit 0; echo no {{}}; test {{}} -lt 4 && exit 7; test {{}} -lt 6 && exit 8; kill -9 $$", range=[0, 7], cpus=0.5)
    one = worker(api.server)
    assert api.ends("job")["state"] == "failed"
    groups = {(it["ending"], it["exit_code"], it["signal"]): (it["items"], it["example"]) for it in api("GET", "jobs/job/failures")["failures"]}
    assert groups == {("exited", 7, None): (4, 0), ("exited", 8, None): (2, 4), ("signalled", None, 9): (2, 6)}
    assert {it["last_line"] for it in api("GET", "jobs/job/failures")["failures"]} == {"no 0", "no 4", "no 6"}
    mended.touch()
    assert api("POST", "jobs/job/retry", {"items": [0, 1]})["items"] == 2
    assert api.ends("job")["counts"] == {"pending": 0, "waiting": 0, "running": 0, "succeeded": 2, "failed": 6, "cancelled": 0}
    assert api("POST", "jobs/job/retry", {"exit_code": 8, "cpus": 1.5, "memory": "64MiB"})["items"] == 2
    job = api.ends("job")
    assert (job["asks"]["cpus"], job["asks"]["memory_bytes"], job["counts"]["failed"]) == (1.5, 64 << 20, 4)
    assert api("POST", "jobs/job/retry", {"signal": 9})["items"] == 2
    assert api.ends("job")["counts"]["failed"] == 2
    assert api("POST", "jobs/job/retry", {"ending": "timed_out"})["items"] == 0
    assert api("POST", "jobs/job/retry", {"ending": "exited"})["items"] == 2
    assert api.ends("job")["state"] == "succeeded"
    ended_ms = api.job("job")["ended_ms"]
    assert api("POST", "jobs/job/retry")["items"] == 0 and api.job("job")["ended_ms"] == ended_ms
    assert "'items'" in api("POST", "jobs/job/retry", {"items": []}, status=400)["detail"]
    for wrong in ({"signal": 9999}, {"signal": 0}, {"memory": "lots"}, {"gpus": -1}, {"ending": "badly"}):
        refused = api("POST", "jobs/job/retry", wrong, status=400)
        assert f"'{next(iter(wrong))}'" in refused["detail"] and refused["next"], refused
    assert "no item 8" in api("POST", "jobs/job/retry", {"items": [8]}, status=404)["detail"]
    # What never began goes on, too.
    one.kill()
    api("POST", "workers/w1/fence")
    api.submit("never", ["true"], range=[1, 3])
    api("POST", "jobs/never/cancel")
    assert api("POST", "jobs/never/retry")["items"] == 3
    assert api.job("never")["counts"]["pending"] == 3


def test_why_names_what_keeps_it(api, gate, tmp_path):
    go = tmp_path / "go"
    api.submit("first", gate.word, range=[1, 200], cpus=2, priority=5)
    assert (api.why("first")["code"], api.why("first")["workers"]) == ("no_worker", 0)
    one = worker(api.server, cpus=2)
    api.runs("first")
    assert api.why("first", 0)["code"] == "running" and "w1" in api.why("first", 0)["reason"]
    assert api.why("first")["code"] in ("busy", "running")
    api.submit("second", ["true"], range=[1, 1])
    behind = api.why("second")
    assert (behind["code"], behind["job"], behind["places"]) == ("behind", api.job("first")["id"], 1)
    api.submit("huge", ["true"], range=[1, 1], cpus=64)
    assert api.why("huge")["code"] == "nobody_suits" and "64" in api.why("huge")["reason"]
    api.submit("after", ["true"], range=[1, 2], after=["first"])
    waits = api.why("after")
    assert (waits["code"], waits["job"]) == ("after_job", api.job("first")["id"]) and api.job("after")["state"] == "pending"
    assert api.job("after")["waits_for"] == waits["reason"]
    api.submit("each", ["true"], range=[1, 200], after=[{"job": "first", "each": True}])
    assert api.why("each", 199)["code"] == "after_item"
    api("PUT", "queues/off", {})
    api.submit("disabled", ["true"], range=[1, 1], queue="off")
    api("PUT", "queues/off", {"enabled": False})
    assert api.why("disabled")["code"] == "queue_disabled"
    gate.open()
    api.ends("first")
    assert api.why("first")["code"] == "ended" and api.why("first", 0)["code"] == "ended"
    api.submit("again", ["false"], range=[1, 1], retries=1, retry_delay="1h")
    wait_until(lambda: api.job("again")["counts"]["waiting"] == 1, "the item to wait for its retry")
    retry = api.why("again", 0)
    assert retry["code"] == "retry_delay" and retry["until_ms"] > api("GET", "self")["now_ms"] + 3_000_000
    held = f"while ! test -e {go}; do sleep 0.02; done; : {{}}"
    api.submit("ordered", held, range=[1, 3], sequential=True, cpus=0.1)
    api.runs("ordered")
    assert api.why("ordered", 2)["code"] in ("before_it", "most_running")
    api.submit("few", held, range=[1, 3], max_running=1, cpus=0.1)
    api.runs("few")
    assert api.why("few", 2)["code"] == "most_running"
    api("POST", "jobs/few/cancel")
    assert api.why("few", 2)["code"] in ("stopping", "ended")
    go.touch()
    api.ends("ordered")
    # A worker that leaves takes nothing more, and what suits no other says so.
    go.unlink()
    api.submit("holds", held, range=[1, 1], cpus=0.1)
    api.runs("holds")
    api("POST", "workers/w1/drain")
    api.submit("late", ["true"], range=[1, 1])
    assert api.why("late")["code"] == "set_apart"
    go.touch()
    assert one.done().status == 0
    api("GET", "jobs/late/why?item=1", status=404)


def test_a_job_comes_after_others_or_item_by_item(api, gate):
    worker(api.server)
    api.submit("first", f"{gate.word}; test {{}} != 3", range=[1, 3], cpus=0.5)
    api.submit("each", ["true"], range=[1, 3], after=[{"job": "first", "each": True}], cpus=0.5)
    api.submit("whole", ["true"], range=[1, 1], after=["first", "each"])
    assert [(it["name"], it["each"]) for it in api.job("whole")["after"]] == [("first", False), ("each", False)]
    gate.open()
    assert api.ends("first")["state"] == "failed"
    wait_until(lambda: api.job("each")["counts"]["succeeded"] == 2, "the items after those that succeeded")
    assert api.ends("each")["state"] in ("failed", "cancelled") and api.ends("whole")["state"] in ("failed", "cancelled")
    assert "first" in api.job("whole")["reason"]
    api.submit("good", ["true"], range=[1, 3])
    api.submit("then", ["true"], range=[1, 3], after=["good"])
    assert api.ends("then")["state"] == "succeeded" and api.job("then")["started_ms"] >= api.job("good")["ended_ms"]
    api.submit("odd", ["true"], 400, range=[1, 2], after=[{"job": "good", "each": True}])
    api.submit("odd", ["true"], 404, range=[1, 2], after=["nobody"])


class Feed:
    """Server-sent events, one by one."""

    def __init__(self, api, path="events", last=None):
        headers = {"Authorization": f"Bearer {api.key}", "Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.response = urllib.request.urlopen(urllib.request.Request(f"{api.server.address}/api/v1/{path}", headers=headers), timeout=60)
        assert self.response.headers["Content-Type"] == "text/event-stream"

    def __iter__(self):
        fields = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                event = json.loads(fields["data"])
                assert (str(event["id"]), event["kind"]) == (fields["id"], fields["event"])
                yield event
                fields = {}

    def take(self, kind, name=None):
        """Everything up to the first one of this kind."""
        seen = []
        for event in self:
            seen.append(event)
            if event["kind"] == kind and name in (None, event["name"]):
                return seen
        raise AssertionError(f"the stream ended before {kind}: {seen}")


def test_events_are_listed_followed_and_resumed_without_gap_or_double(api):
    feed = Feed(api)
    api.submit("a", ["true"], range=[1, 2])
    worker(api.server)
    seen = feed.take("job_ended", "a")
    assert [it["kind"] for it in seen if it["job"]] == ["job_submitted", "job_started", "job_ended"]
    assert seen[-1]["detail"] == "succeeded"
    last = seen[-1]["id"]
    api.submit("b", ["true"], range=[1, 1])
    api.ends("b")
    api.server.stop()
    api.server.start()
    api.submit("c", ["true"], range=[1, 1])
    resumed = Feed(api, last=last).take("job_ended", "c")
    listed = api("GET", "events")["events"]
    assert [it["id"] for it in listed] == list(range(1, len(listed) + 1))
    assert seen + resumed == [it for it in listed if seen[0]["id"] <= it["id"] <= resumed[-1]["id"]]
    job = api.job("b")["id"]
    of_b = [it["kind"] for it in api("GET", "events?job=b")["events"]]
    assert of_b == ["job_submitted", "job_started", "job_ended"]
    assert [it["job"] for it in Feed(api, "events?job=b&after=0").take("job_ended")] == [job] * 3
    assert api("GET", f"events?after={listed[1]['id']}&limit=1")["events"] == listed[2:3]


def test_usage_is_told_by_owner_queue_share_and_job_and_outlives_the_jobs(drover):
    api = Api(Server(drover))
    alice = Api(api.server, api("POST", "keys", {"scope": "submit", "label": "alice"}, 201)["token"])
    api("PUT", "queues/fair", {"order": "fair"})
    api.submit("mine", "sleep 0.2; exit {}", range=[0, 1], cpus=0.5)
    alice.submit("hers", "sleep 0.2; : {}", range=[1, 3], queue="fair", share="physics")
    worker(api.server)
    api.ends("mine"), api.ends("hers")
    by_owner = {it["owner"]: it for it in api("GET", "usage")["usage"]}
    assert (by_owner["first"]["jobs"], by_owner["first"]["attempts"], by_owner["first"]["failed_attempts"]) == (1, 2, 1)
    took_ms = sum(it["last"]["wall_us"] for it in api("GET", "jobs/mine/items")["items"]) / 1000
    assert took_ms >= 380 and abs(by_owner["first"]["reserved_cpu_ms"] - took_ms / 2) < 5 and by_owner["alice"]["reserved_cpu_ms"] >= 590
    assert 0 < by_owner["first"]["wasted_reserved_ms"] < by_owner["first"]["reserved_cpu_ms"]
    assert {it["queue"]: it["settled_items"] for it in api("GET", "usage?by=queue")["usage"]} == {"default": 2, "fair": 3}
    assert {it["share"] for it in api("GET", "usage?by=share")["usage"]} == {None, "physics"}
    by_job = {it["job"]: it for it in api("GET", "usage?by=job")["usage"]}
    assert by_job[api.job("hers")["id"]]["reserved_cpu_ms"] == api.job("hers")["used"]["reserved_cpu_ms"]
    api.server.stop()
    api.server.flags = ("--keep", "2s")  # no sooner: they shall not be forgotten before we have looked
    api.server.start()
    wait_until(lambda: api("GET", "jobs")["jobs"] == [], "the jobs to be forgotten")
    assert {it["owner"]: (it["jobs"], it["attempts"], it["reserved_cpu_ms"]) for it in api("GET", "usage")["usage"]} == {
        owner: (it["jobs"], it["attempts"], it["reserved_cpu_ms"]) for owner, it in by_owner.items()}


def test_sql_only_reads_and_is_bounded(api):
    api.submit("job", ["true"], range=[1, 5])
    worker(api.server)
    api.ends("job")
    answer = api("POST", "sql", {"query": "select state, count(*) from items group by 1"})
    assert answer == {"columns": ["state", "count(*)"], "rows": [["succeeded", 5]], "cut": False}
    assert api("POST", "sql", {"query": "select item from items order by 1", "limit": 2}) == {"columns": ["item"], "rows": [[0], [1]], "cut": True}
    for query in ("delete from jobs", "update jobs set name = 'x'", "select 1; select 2", "attach 'x' as y", "selec", "pragma journal_mode = delete"):
        assert api("POST", "sql", {"query": query}, status=400)["code"] == "bad_input", query
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    assert "too long" in api("POST", "sql", {"query": endless}, status=400)["detail"]
    assert api.job("job")["counts"]["succeeded"] == 5


def test_a_worker_where_all_fails_is_set_apart_and_readmitted(api, tmp_path):
    good = worker(api.server, name="good", cpus=1)
    sick = tmp_path / "sick"
    sick.mkdir()
    (sick / "broken").touch()
    worker(api.server, name="bad", cpus=1, cwd=sick)
    api.submit("job", "test -e broken && exit 1; sleep 0.05; : {}", range=[1, 2000], cpus=1)
    wait_until(lambda: api("GET", "workers/bad")["state"] == "quarantined", "the sick worker to be set apart")
    assert "failed immediately" in api("GET", "workers/bad")["quarantine"] and api("GET", "workers/good")["state"] == "alive"
    assert "worker_quarantined" in [it["kind"] for it in api("GET", "events")["events"]]
    api("POST", "jobs/job/cancel")
    good.kill()
    api("POST", "workers/good/fence")
    api.submit("more", ["true"], range=[1, 2])
    assert api.why("more")["code"] == "set_apart"
    api("POST", "workers/bad/readmit")
    assert api("GET", "workers/bad")["state"] == "alive" and api.ends("more")["state"] == "succeeded"
    api("POST", "workers/nobody/readmit", status=404)


def test_shares_get_their_due_a_newcomer_soon_and_priorities_come_first(api):
    """Weights 1, 1, 2: usage counts times weight, so 40, 40 and 20 % of the CPUs are due."""
    busy_cpu_ms, bound = (40_000, 0.03) if SOAK else (8_000, 0.1)
    api("PUT", "queues/fair", {"order": "fair", "weights": {"a": 1, "b": 1, "c": 2}})
    for share in "abc":
        api.submit(share, "sleep 0.05; : {}", range=[1, 100_000], queue="fair", share=share)
    worker(api.server, cpus=2)
    wait_until(lambda: sum(api.job(share)["counts"]["succeeded"] for share in "abc") > 20, "the first items")

    def used():
        return {it["share"]: it["reserved_cpu_ms"] for it in api("GET", "usage?by=share")["usage"]}

    def asked(query):
        return api("POST", "sql", {"query": query})["rows"][0][0]

    def begun_between(names, begin_ms, end_ms):
        """How many items of these jobs began then. By the ledger: whoever looks now and then may look late."""
        return asked(f"select count(*) from attempts where job_name in ({names}) and started_ms > {begin_ms} and started_ms < {end_ms}")

    now = wait_until(lambda: sum((it := used()).values()) > busy_cpu_ms and it, "the shares to be used", 180)
    total = sum(now[share] for share in "abc")
    # An item that a busy machine held up weighs as much as many others, until the other shares have caught up.
    longest_ms = asked("select max(wall_us) from attempts") / 1000
    for share, due in {"a": 0.4, "b": 0.4, "c": 0.2}.items():
        assert abs(now[share] - due * total) <= bound * total + 2 * max(longest_ms - 100, 0), (share, now, total, longest_ms)
    api.submit("new", "sleep 0.05; : {}", range=[1, 20], queue="fair", share="new")
    wait_until(lambda: api.job("new")["counts"]["succeeded"], "its first item")
    # Soon is: when what ran has ended, and before many others begin.
    started_ms = asked("select min(started_ms) from attempts where job_name = 'new'")
    assert begun_between("'a', 'b', 'c'", api.job("new")["created_ms"], started_ms) < 20
    # What its own share has in hand may end first; the other shares go on. Were it behind its share, it would be 90,000 behind.
    api.submit("urgent", ["true"], range=[1, 1], queue="fair", share="a", priority=9)
    created_ms = api.ends("urgent")["created_ms"]
    assert begun_between("'a'", created_ms, asked("select min(started_ms) from attempts where job_name = 'urgent'")) < 20
    for share in "abc":
        api("POST", f"jobs/{share}/cancel")
