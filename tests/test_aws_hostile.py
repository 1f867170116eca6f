"""Inputs that cannot be right, for every operation of every AWS service, made from the descriptions in src/api/*/*.operations: the
answer is an error that names the member, never a 500, and nothing changes."""

import http.client
import json
import re
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from aws import REGION, Aws
from test_aws_operations import FILES, VERSIONS, described
from test_server import Server

PROTOCOLS = {"batch": "rest-json", "logs": "json", "iam": "query", "sts": "query", "ec2": "ec2", "sqs": "json"}
TARGETS = {"logs": "Logs_20140328.", "sqs": "AmazonSQS."}
SCALARS = ("string", "integer", "long", "double", "boolean", "time", "blob", "any")


class Description:
    """One service, as its file describes it."""

    def __init__(self, service):
        self.service, self.protocol = service, PROTOCOLS[service]
        self.structures, self.enums, self.operations = described(FILES[service].read_text())

    def bounds(self, words):
        for word in words:
            if found := re.fullmatch(r"(-?\d*)\.\.(\d*)", word):
                return [int(it) if it else None for it in found.groups()]
        return None, None

    def sample(self, kind, words=()):
        """A value that the member takes."""
        least, _ = self.bounds(words)
        if kind in self.enums:
            return self.enums[kind][0]
        if kind in self.structures:
            return self.required(self.structures[kind])
        if kind[0] == "[":
            return [self.sample(kind[1:-1])] * (least or 0)
        if kind[0] == "{":
            return {f"key{n}": self.sample(kind[1:-1]) for n in range(least or 0)}
        return {"integer": least or 1, "long": least or 1, "double": 1.5, "boolean": True, "time": 1000, "any": {}, "blob": "eA=="}.get(
            kind, "x" * (least or 1))

    def required(self, members):
        return {name: self.sample(kind, words) for name, (kind, words) in members.items() if "required" in words}

    def wrong_values(self, kind, words):
        """(what is wrong, a value that the member does not take)"""
        least, most = self.bounds(words)
        json_like = self.protocol in ("rest-json", "json")
        if kind in self.enums:
            yield "no such word", "NO_SUCH_WORD"
        elif kind in self.structures:
            yield "not a structure", "text"
        elif kind[0] in "[{":
            yield "not a list or map", "text"
            if most is not None and most < 200:
                one = self.sample(kind[1:-1])
                yield "too many", [one] * (most + 1) if kind[0] == "[" else {f"k{n}": one for n in range(most + 1)}
        elif kind == "string":
            if json_like:
                yield "not a string", 17
                yield "a list for a string", ["x"]
            if most is not None:
                yield "too long", "x" * (most + 1)
            if least:
                yield "too short", "x" * (least - 1)
        elif kind in ("integer", "long", "double"):
            yield "not a number", "seven"
            yield "a list for a number", ["x"]
            if kind != "double":
                yield "a fraction", 1.5
                yield "beyond 64 bits", 2**70
            if most is not None:
                yield "too large", most + 1
            if least is not None:
                yield "too small", least - 1
        elif kind == "boolean":
            yield "not a boolean", "perhaps"
        elif kind == "time":
            yield "not a time", ["x"]

    def cases(self, operation):
        """(what is wrong, the member that is named, the input)"""
        _, members, _ = self.operations[operation]
        base = self.required(members)
        yield "an unknown member", "noSuchMember", {**base, "noSuchMember": "x"}
        for name, (kind, words) in members.items():
            if "uri" in words:
                continue
            if "required" in words:
                yield "a missing member", name, {it: value for it, value in base.items() if it != name}
            if self.protocol == "rest-json" and "query" in words and kind == "string":
                continue
            for what, value in self.wrong_values(kind, words):
                if kind[0] == "[" and "query" in words:
                    continue
                yield what, name, {**base, name: value}
            inner = kind.strip("[]{}")
            if inner not in self.structures:
                continue
            for below, (its_kind, its_words) in self.structures[inner].items():
                whole = self.required(self.structures[inner])
                for what, value in self.wrong_values(its_kind, its_words):
                    wrong = {**whole, below: value}
                    yield f"{what} inside {name}", below, {**base, name: [wrong] if kind[0] == "[" else {"k": wrong} if kind[0] == "{" else wrong}

    def wire_name(self, operation, name):
        for members in (self.operations[operation][1], *self.structures.values()):
            if name in members:
                return next((word[3:] for word in members[name][1] if word.startswith("as=")), name)
        return name

    def flattened(self, value, prefix, members):
        """As Query and EC2 write it."""
        if isinstance(value, dict):
            known = members if members is not None else {}
            for name, it in value.items():
                kind, words = known.get(name, ("string", ()))
                wire = next((word[3:] for word in words if word.startswith("as=")), name)
                wire = wire[0].upper() + wire[1:] if self.protocol == "ec2" else wire
                inner = self.structures.get(kind.strip("[]{}"))
                if isinstance(it, list):
                    label = "" if self.protocol == "ec2" or "flat" in words else ".member"
                    for n, one in enumerate(it, 1):
                        yield from self.flattened(one, f"{prefix}{wire}{label}.{n}.", inner)
                elif isinstance(it, dict):
                    yield from self.flattened(it, f"{prefix}{wire}.", inner)
                else:
                    yield f"{prefix}{wire}", it
            return
        yield prefix.rstrip("."), value

    def request(self, operation, value):
        """(method, path with query, headers, body)"""
        route, members, _ = self.operations[operation]
        if self.protocol == "json":
            return "POST", "/", {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": TARGETS[self.service] + operation}, json.dumps(value)
        if self.protocol == "rest-json":
            method, path = route
            path = re.sub(r"\{(\w+)\}", lambda it: urllib.parse.quote(str(value.get(it[1], "x")), safe=""), path)
            beside = {it: one for it, one in value.items() if "uri" not in members.get(it, ("", ()))[1]}
            query = {it: one for it, one in beside.items() if method != "POST" or "query" in members.get(it, ("", ()))[1]}
            rest = {it: one for it, one in beside.items() if it not in query}
            text = urllib.parse.urlencode(query, doseq=True)
            return method, path + (f"?{text}" if text else ""), {"Content-Type": "application/json"}, json.dumps(rest) if method == "POST" else ""
        pairs = [("Action", operation), ("Version", VERSIONS[self.service])]
        for name, it in self.flattened(value, "", members):
            pairs.append((name, str(it).lower() if isinstance(it, bool) else str(it)))
        return "POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, urllib.parse.urlencode(pairs)


class Raw:
    """Requests that no client would send, signed as clients do."""

    def __init__(self, server):
        self.credentials = botocore.credentials.Credentials(*server.key.split("."))
        self.address = server.address
        self.connection = http.client.HTTPConnection(urllib.parse.urlparse(server.address).netloc, timeout=60)

    def __call__(self, service, method, path, headers, body):
        request = botocore.awsrequest.AWSRequest(method, self.address + path, headers=headers, data=body)
        botocore.auth.SigV4Auth(self.credentials, service, REGION).add_auth(request)
        self.connection.request(method, path, body=body.encode(), headers=dict(request.headers))
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.mark.parametrize("service", FILES)
def test_wrong_inputs_are_refused_and_change_nothing(server, service):
    raw, description, wrong, count = Raw(server), Description(service), [], 0
    before = ledger(server)
    for operation in description.operations:
        for what, member, value in description.cases(operation):
            count += 1
            status, text = raw(service, *description.request(operation, value))
            name = description.wire_name(operation, member)
            # SQS has an error of its own for a batch without entries.
            if not 400 <= status < 500 or not any(it.lower() in text.lower() for it in (name, member, "EmptyBatchRequest")):
                wrong.append(f"{operation}: {what} ({name}): {status} {text[:160]}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:40])
    assert count >= 3 * len(description.operations)
    assert ledger(server) == before


def ledger(server):
    """Everything that an operation could have made."""
    return [server.rows(f"SELECT count(*) FROM {table}") for table in ("documents", "jobs", "queues", "fleets", "named_definitions", "streams", "message_blocks")]


def test_the_generator_finds_what_is_accepted(server):
    """An input that is right is not refused: so the check above can fail."""
    status, _ = Raw(server)("sts", *Description("sts").request("GetCallerIdentity", {}))
    assert status == 200
    assert Aws(server)("sts", "get-caller-identity")["Account"]


@pytest.mark.parametrize("service", FILES)
def test_bodies_that_are_no_input_at_all(server, service):
    raw, description = Raw(server), Description(service)
    operation = next(iter(description.operations))
    method, path, headers, _ = description.request(operation, description.required(description.operations[operation][1]))
    if method != "POST":
        pytest.fail("the first operation of a service is a POST")
    for body in ("", "{", "[]", "null", "\x00\x01", "a=%", "%ff=1", "{" * 2000, '{"a":' * 500, "x" * 100_000, '{"a":1,"a":2}'):
        status, text = raw(service, method, path, headers, body)
        assert 200 <= status < 500, (body[:40], status, text)
