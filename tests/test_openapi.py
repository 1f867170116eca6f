"""docs/openapi.yaml and the server say the same: every call and parameter, every field of every answer."""

import json
import pathlib
import re

import jsonschema
import pytest
import yaml

from drover import wait_until
from test_server import Server, worker

ROOT = pathlib.Path(__file__).parents[1]
DESCRIPTION = ROOT / "docs/openapi.yaml"
PATTERN_OF_PATH = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module")
def described():
    return yaml.safe_load(DESCRIPTION.read_text())


def resolved(described, node):
    while "$ref" in node:
        _, *path = node["$ref"].split("/")
        node = described
        for step in path:
            node = node[step]
    return node


def operations(described):
    """(method, path, operation, all its parameters)"""
    for path, item in described["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                parameters = [resolved(described, it) for it in item.get("parameters", []) + operation.get("parameters", [])]
                yield method.upper(), path, operation, parameters


class Checked:
    """A server whose answers are held against the description, strictly. `seen` is what was answered by now."""

    def __init__(self, server, described):
        self.server, self.described, self.seen = server, described, set()

    def __call__(self, method, path, body=None, status=None, key=None):
        plain = path.partition("?")[0]
        code, answer = self.server.ask(method, path, body, key)
        for its_method, pattern, operation, _ in operations(self.described):
            if its_method == method and re.fullmatch(PATTERN_OF_PATH.sub("[^/]+", pattern), plain):
                self.check(f"{method} {pattern}", operation, code, answer)
                break
        else:
            raise AssertionError(f"{method} {plain} is not described")
        if status is not None:
            assert code == status, (method, path, code, answer)
        return answer

    def check(self, name, operation, code, answer):
        responses = operation["responses"]
        assert str(code) in responses or f"{code // 100}XX" in responses, f"{name} answers {code}, which is not described: {answer}"
        self.seen.add((name, code // 100 * 100 if code >= 500 else code))
        response = resolved(self.described, responses.get(str(code)) or responses[f"{code // 100}XX"])
        content = response.get("content", {})
        kind, = [it for it in content if "json" in it and "ndjson" not in it] or [None]
        if kind is None:
            return
        schema = {"$ref": content[kind]["schema"]["$ref"], "components": self.described["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer)


@pytest.fixture
def busy(drover):
    """A server on which something of everything has happened, and whose workers are gone."""
    server = Server(drover)

    def ask(method, path, body=None):
        status, answer = server.ask(method, path, body)
        assert status < 300, (path, answer)
        return answer

    ask("PUT", "/api/v1/queues/fast", {"priority": 5})
    ask("PUT", "/api/v1/queues/shared", {"order": "fair", "weights": {"a": 1, "b*": 2.5}, "fleets": ["spot"]})
    ask("PUT", "/api/v1/fleets/spot", {"provider": "ec2", "most": 5, "shapes": ["c7g.large"]})
    ask("PUT", "/api/v1/streams/failed")
    ask("PUT", "/api/v1/streams/orders", {"max_receives": 5, "dead_letters": "failed"})
    ask("POST", "/api/v1/definitions", {"name": "render", "command": ["true"], "cpus": 0.5, "retries": 1})
    workers = [worker(server, name=name) for name in ("w1", "w2", "w3")]
    night = ask("POST", "/api/v1/jobs", {
        "name": "night", "shell": True, "command": "echo error {}; test {} -lt 3 || kill -9 $$; exit $(({} % 2))", "range": [0, 5],
        "priority": 3, "timeout": "1m", "environment": {"MODE": "fast"}})
    ask("POST", "/api/v1/jobs", {"name": "next", "definition": "render", "items": ["a", "b"]})
    for name in ("night", "next"):
        wait_until(lambda name=name: server.job(name)["ended_ms"], f"job {name}")
    for one in workers:
        one.kill()
    ask("POST", "/api/v1/definitions", {"name": "boxed", "image": "python:3.12", "mounts": ["/srv/in:/in:ro", "out:/out"], "memory": "1GiB"})
    ask("POST", "/api/v1/jobs", {
        "name": "boxes", "definition": "boxed", "items": ["a"], "image_digest": f"sha256:{'0' * 64}", "entrypoint": [], "user": "1000:1000",
        "tmpfs": ["/scratch:1GiB"], "shm_size": "1GiB", "disk": "10GiB", "read_only": True, "network": "none", "hostname": "box",
        "devices": ["/dev/fuse"], "ulimits": ["nofile=1024"], "cap_add": ["SYS_PTRACE"], "cap_drop": ["NET_RAW"], "privileged": True, "init": False,
        "reuse": True, "reset": "none", "reuse_limit": 9, "runtime": "runc"})
    ask("POST", "/api/v1/jobs", {"name": "later", "command": ["true"], "range": [1, 3], "after": ["next"], "queue": "fast"})
    ask("POST", "/api/v1/jobs", {"name": "last", "command": ["true"], "range": [1, 3], "after": [{"job": "later", "each": True}]})
    assert night["total"] == 6
    return server


def test_the_description_is_valid_and_served(described, busy):
    assert described["openapi"] == "3.1.0"
    ids = [operation["operationId"] for _, _, operation, _ in operations(described)]
    assert len(ids) == len(set(ids))
    for name, schema in described["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
    status, text = busy.ask("GET", "/api/v1/openapi.yaml")
    assert (status, text) == (200, DESCRIPTION.read_text())


def test_every_call_and_parameter_of_the_server_is_described_and_the_other_way_round(described, busy):
    status, index = busy.ask("GET", "/api/v1/")
    assert status == 200
    there = {(call["method"], call["path"]): set(call["parameters"]) for call in index["calls"]}
    assert len(there) == len(index["calls"])
    written = {(method, PATTERN_OF_PATH.sub("*", path)): {it["name"] for it in parameters if it["in"] == "query"}
               for method, path, _, parameters in operations(described)}
    assert there == written
    # What the list says is so: each path refuses what is not in it, and says what it takes.
    methods = {"GET", "POST", "PUT", "DELETE", "PATCH"}
    for path in {path for _, path in there}:
        allowed = {method for method, other in there if other == path}
        for method in sorted(methods - allowed):
            connection = busy.connection()
            connection.request(method, path.replace("*", "x"), headers={"Authorization": f"Bearer {busy.key}"})
            response = connection.getresponse()
            problem = json.loads(response.read())
            assert (response.status, problem["code"]) == (405, "bad_method"), (method, path, problem)
            assert set(response.headers["Allow"].split(", ")) == allowed, (method, path)
            connection.close()
    # HEAD is GET without the body.
    for path in sorted(path for method, path in there if method == "GET"):
        heads = []
        for method in ("GET", "HEAD"):
            connection = busy.connection()
            connection.request(method, path.replace("*", "x"), headers={"Authorization": f"Bearer {busy.key}"})
            response = connection.getresponse()
            body = response.read()
            heads.append((response.status, response.headers["Content-Type"]))
            assert method == "GET" or body == b"", path
            connection.close()
        assert heads[0] == heads[1], path


def test_every_field_of_every_answer_is_described_and_there(described, busy):
    ask = Checked(busy, described)
    for path in ("", "errors", "openapi.yaml", "self", "jobs", "jobs?limit=1", "jobs?state=running", "queues", "queues/default",
                 "queues/shared", "definitions", "definitions/render", "definitions/render:1", "definitions/boxed", "fleets", "fleets/spot", "workers",
                 "workers/w1", "events", "events?job=night", "usage", "usage?by=queue", "usage?by=share", "usage?by=job", "keys"):
        ask("GET", f"/api/v1/{path}", status=200)
    for path in ("streams", "streams?limit=1", "streams?after=failed", "streams/orders"):
        ask("GET", f"/api/v1/{path}", status=200)
    for job in ("night", "next", "boxes", "later", "last"):
        for path in ("", "/why", "/why?item=0", "/failures", "/items", "/items?sort=duration", "/items?sort=memory&limit=1",
                     "/items?state=failed", "/items/0", "/items/0/log", "/search?grep=error"):
            ask("GET", f"/api/v1/jobs/{job}{path}", status=200)
    # What was asked for is described; so is what cannot be had.
    for path in ("jobs/none", "jobs/night/items/99", "queues/none", "definitions/none", "fleets/none", "workers/none", "streams/none",
                 "jobs/none/why", "jobs/none/items", "jobs/none/items/0/log", "jobs/none/search?grep=x", "jobs/none/failures"):
        ask("GET", f"/api/v1/{path}", status=404)
    for path in ("jobs?limit=0", "jobs?state=odd", "jobs?colour=red", "jobs?limit=1&limit=2", "jobs/night/items?sort=colour",
                 "jobs/night/items?sort=memory&state=failed", "jobs/night/items/0/log?follow=perhaps", "usage?by=moon",
                 "jobs/night/items/0/log?stream=stdout", "jobs/night/why?item=-1", "jobs/night/search", "events?after=x",
                 "definitions/render:x", "errors?x=1"):
        ask("GET", f"/api/v1/{path}", status=400)
    ask("POST", "/api/v1/manifests", b"a\nb\n", status=201)
    ask("POST", "/api/v1/manifests?separator=tab", b"a\nb\n", status=400)
    ask("POST", "/api/v1/jobs", {"command": ["true"], "items": ["a"], "queue": "none"}, status=404)
    ask("POST", "/api/v1/jobs", {"command": ["true"]}, status=400)
    ask("POST", "/api/v1/jobs", {"command": ["true"], "manifest": 1}, status=201)
    ask("POST", "/api/v1/jobs/later/cancel", status=200)
    ask("POST", "/api/v1/jobs/none/cancel", status=404)
    busy.ends("last")
    ask("DELETE", "/api/v1/jobs/last", status=200)
    ask("DELETE", "/api/v1/jobs/last", status=404)
    ask("POST", "/api/v1/jobs/night/retry", {"exit_code": 1}, status=200)
    ask("POST", "/api/v1/jobs/night/retry", {"exit_code": "x"}, status=400)
    ask("POST", "/api/v1/jobs/night/retry", {"items": [6]}, status=404)
    ask("POST", "/api/v1/definitions", {"name": "render", "command": ["false"]}, status=201)
    ask("DELETE", "/api/v1/definitions/render:2", status=200)
    ask("DELETE", "/api/v1/definitions/none", status=404)
    ask("PUT", "/api/v1/queues/fast", {"order": "odd"}, status=400)
    ask("PUT", "/api/v1/queues/new", status=200)
    ask("DELETE", "/api/v1/queues/new", status=200)
    ask("DELETE", "/api/v1/queues/new", status=404)
    ask("DELETE", "/api/v1/queues/default", status=409)
    ask("PUT", "/api/v1/fleets/other", {"provider": "none", "alarms": [{"steps": [{"lower": 0, "value": 1}]}]}, status=200)
    ask("PUT", "/api/v1/fleets/other", {"least": 2, "most": 1}, status=400)
    for path in ("fleets/other", "fleets/other/explain"):
        ask("GET", f"/api/v1/{path}", status=200)
    ask("POST", "/api/v1/fleets/other/pause", status=200)
    ask("POST", "/api/v1/fleets/other/resume", status=200)
    ask("DELETE", "/api/v1/fleets/other", status=200)
    for method, path in (("GET", "explain"), ("POST", "pause"), ("POST", "resume")):
        ask(method, f"/api/v1/fleets/none/{path}", status=404)
    ask("PUT", "/api/v1/streams/new.fifo", {"fifo": True, "deduplicate_content": True, "version": 0}, status=200)
    ask("PUT", "/api/v1/streams/new.fifo", {"version": 0}, status=409)
    ask("PUT", "/api/v1/streams/orders", {"visibility": "13h"}, status=400)
    ask("PUT", "/api/v1/streams/orders", {"max_receives": 5, "dead_letters": "none"}, status=404)
    ask("POST", "/api/v1/streams/new.fifo/messages", [{"body": "a", "group": "g"}, {"body": "a", "group": "g"}], status=200)
    ask("POST", "/api/v1/streams/orders/messages", [{"body": "a", "attributes": {"colour": "red", "blob": {"type": "Binary", "value_b64": "/w=="}}}, {"body_b64": "/w=="}], status=200)
    ask("POST", "/api/v1/streams/orders/messages", [{"body": ""}], status=400)
    ask("POST", "/api/v1/streams/none/messages", [{"body": "a"}], status=404)
    receipts = [it["receipt"] for it in ask("POST", "/api/v1/streams/orders/receive", {"max": 10}, status=200)["messages"]]
    ask("POST", "/api/v1/streams/new.fifo/receive", {"visibility": "1m"}, status=200)
    ask("POST", "/api/v1/streams/orders/receive", {"max": 11}, status=400)
    ask("POST", "/api/v1/streams/none/receive", status=404)
    ask("POST", "/api/v1/streams/orders/visibility", {"receipts": receipts, "visibility": "1m"}, status=200)
    ask("POST", "/api/v1/streams/orders/visibility", {"receipts": receipts}, status=400)
    ask("POST", "/api/v1/streams/orders/delete", {"receipts": receipts}, status=200)
    ask("POST", "/api/v1/streams/orders/delete", {"receipts": ["x"]}, status=400)
    ask("POST", "/api/v1/streams/orders/purge", status=200)
    ask("POST", "/api/v1/streams/none/purge", status=404)
    ask("DELETE", "/api/v1/streams/new.fifo", status=200)
    ask("DELETE", "/api/v1/streams/new.fifo", status=404)
    ask("POST", "/api/v1/sql", {"query": "select 1, 1.5, 'a', null, x'00'"}, status=200)
    ask("POST", "/api/v1/sql", {"query": "drop table jobs"}, status=400)
    ask("POST", "/api/v1/workers/w1/readmit", status=200)
    ask("POST", "/api/v1/workers/w2/drain", status=200)
    ask("POST", "/api/v1/workers/w3/fence", status=200)
    ask("POST", "/api/v1/workers/none/fence", status=404)
    key = ask("POST", "/api/v1/keys", {"scope": "read", "label": "eve", "expires": "1h"}, status=201)
    ask("POST", "/api/v1/keys", {"bucket": "photos", "prefix": "in/", "access": "write", "label": "eve"}, status=201)
    ask("POST", "/api/v1/keys", {"bucket": "photos", "access": "own"}, status=400)
    ask("POST", "/api/v1/keys", {"scope": "king"}, status=400)
    ask("POST", "/api/v1/keys", {"scope": "read", "label": 7}, status=400)
    ask("POST", "/api/v1/keys", {"scope": "read", "colour": "red"}, status=400)
    ask("POST", "/api/v1/join-tokens", {"uses": 2}, status=201)
    ask("POST", "/api/v1/join-tokens", {"uses": 0}, status=400)
    ask("GET", "/api/v1/keys", status=200)
    ask("GET", "/api/v1/keys", status=403, key=key["token"])
    ask("POST", "/api/v1/sql", {"query": "select 1"}, status=200, key=key["token"])
    ask("PUT", "/api/v1/queues/fast", {}, status=403, key=key["token"])
    ask("DELETE", f"/api/v1/keys/{key['id']}", status=204)
    ask("DELETE", f"/api/v1/keys/{key['id']}", status=404)
    for method, path, _, _ in operations(described):
        ask(method, PATTERN_OF_PATH.sub("x", path), status=401, key="")
    # Every call was seen to succeed.
    succeeded = {name for name, code in ask.seen if code < 300}
    assert succeeded == {f"{method} {path}" for method, path, _, _ in operations(described)}


def test_a_job_says_the_same_in_a_file_and_to_the_api(described):
    """What the fields of a job take is written down twice; the one for files comes from the program itself."""
    fields = described["components"]["schemas"]["JobText"]["properties"]
    in_files = json.loads((ROOT / "docs/job.schema.json").read_text())["properties"]
    only_files, only_api = {"items_file", "dir", "match", "jsonl", "map"}, {"manifest", "aws_batch"}
    assert set(fields) - only_api == set(in_files) - only_files
    # To the API null is not said, always; a file whose image was not filled in is refused.
    in_files["image"]["anyOf"].append({"type": "null"})
    for name in set(fields) - only_api:
        assert fields[name] == in_files[name], name


def test_the_page_of_errors_is_the_servers(described, busy):
    status, answer = busy.ask("GET", "/api/v1/errors")
    assert status == 200
    codes = re.findall(r"^  (\w+),\s+//", (ROOT / "src/base/result.h").read_text(), re.M)
    assert sorted(it["code"] for it in answer["errors"]) == sorted(codes)
    assert {it["code"] for it in answer["errors"]} == set(described["components"]["schemas"]["ErrorCode"]["enum"])
    assert all(it["meaning"].endswith(".") and it["next"].endswith(".") for it in answer["errors"])
    rows = "".join(f"| `{it['code']}` | {it['status']} | {it['meaning']} | {it['next']} |\n" for it in answer["errors"])
    page = (ROOT / "docs/errors.md").read_text()
    assert rows in page, f"docs/errors.md does not have the rows:\n{rows}"
    assert page.count("\n| `") == len(codes)
