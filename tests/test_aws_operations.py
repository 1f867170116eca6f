"""The descriptions of AWS operations in src/api/*/*.operations, held against botocore's models."""

import json
import pathlib
import re

import botocore
import pytest

ROOT = pathlib.Path(__file__).parents[1]
MODELS = pathlib.Path(botocore.__file__).parent / "data"
VERSIONS = {"batch": "2016-08-10", "iam": "2010-05-08", "sts": "2011-06-15", "ec2": "2016-11-15", "logs": "2014-03-28",
            "sqs": "2012-11-05"}
TYPES = {"float": "double", "timestamp": "time", "character": "string"}
NEWER = {"ReceiveMessage.MessageSystemAttributeNames"}  # than the model that is installed
FILES = {path.stem: path for path in sorted((ROOT / "src/api").glob("*/*.operations"))}


def described(text):
    """({structure: members}, {enum: words}, {operation: (method and path, input, output)}); members: {name: (type, {words})}"""
    structures, enums, operations, members = {}, {}, {}, None
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if line[0] == " ":
            members[words[0]] = (words[1], set(words[2:]))
        elif words[0] == "enum":
            enums[words[1]] = [word for word in words[2:] if word != "|"]
        elif words[0] == "structure":
            members = structures.setdefault(words[1], {})
        elif words[0] == "operation":
            members = {}
            operations[words[1]] = (words[2:], members, {})
            last = words[1]
        else:
            assert words == ["returns"], line
            members = operations[last][2]
    return structures, enums, operations


class Model:
    def __init__(self, service):
        self.model = json.loads((MODELS / service / VERSIONS[service] / "service-2.json").read_text())
        self.structures, self.enums, self.operations = described(FILES[service].read_text())
        self.protocol = self.model["metadata"]["protocol"]

    def compare(self, where, ours, theirs, is_input):
        """Every member of ours is one of theirs, with its type and its name on the wire."""
        shape = self.model["shapes"][theirs] if theirs else {"members": {}}
        wrong = []
        for name, (kind, words) in ours.items():
            member = shape["members"].get(name)
            if f"{where}.{name}" in NEWER:
                continue
            if member is None:
                wrong.append(f"{where}.{name}: there is none")
                continue
            wire = next((word.partition("=")[2] for word in words if word.startswith(("as=", "xml="))), name)
            expected = (is_input and member.get("queryName")) or member.get("locationName") or name
            many = self.model["shapes"][member["shape"]]
            if self.protocol == "query" and (many.get("flattened") or member.get("flattened")):
                expected = many["member"].get("locationName", expected) if many["type"] == "list" else many.get("locationName", expected)
                if "flat" not in words:
                    wrong.append(f"{where}.{name}: is flat")
            if self.protocol == "query" and many["type"] == "map":
                named = ",".join(many[part].get("locationName", part) for part in ("key", "value"))
                if named != next((word[5:] for word in words if word.startswith("keys=")), "key,value"):
                    wrong.append(f"{where}.{name}: has the keys {named}")
            if self.protocol == "ec2" and is_input:
                wire, expected = wire[0].upper() + wire[1:], expected[0].upper() + expected[1:]
            if wire != expected:
                wrong.append(f"{where}.{name}: is called {expected}")
            if is_input and name in shape.get("required", []) and "required" not in words:
                wrong.append(f"{where}.{name}: is required")
            wrong += self.compare_type(f"{where}.{name}", kind, member["shape"], is_input)
        if is_input:
            wrong += [f"{where}.{name}: is required, and not described" for name in shape.get("required", []) if name not in ours]
        return wrong

    def compare_type(self, where, ours, theirs, is_input):
        shape = self.model["shapes"][theirs]
        kind = TYPES.get(shape["type"], shape["type"])
        if ours == "any":
            return []
        if inner := re.fullmatch(r"\[(.*)\]", ours):
            return self.compare_type(where, inner[1], shape["member"]["shape"], is_input) if kind == "list" else [f"{where}: is a {kind}"]
        if inner := re.fullmatch(r"\{(.*)\}", ours):
            return self.compare_type(where, inner[1], shape["value"]["shape"], is_input) if kind == "map" else [f"{where}: is a {kind}"]
        if ours in self.enums:
            unknown = set(self.enums[ours]) - set(shape.get("enum", []))
            return [f"{where}: has no {unknown}"] if unknown else []
        if ours in self.structures:
            return self.compare(f"{where}({ours})", self.structures[ours], theirs, is_input) if kind == "structure" else [f"{where}: is a {kind}"]
        return [] if ours == kind else [f"{where}: is a {kind}"]


@pytest.mark.parametrize("service", FILES)
def test_operations_are_those_of_aws(service):
    model = Model(service)
    wrong = []
    for name, (route, given, returned) in model.operations.items():
        theirs = model.model["operations"].get(name)
        if theirs is None:
            wrong.append(f"{name}: there is no such operation")
            continue
        if model.protocol.startswith("rest"):
            assert route == [theirs["http"]["method"], theirs["http"]["requestUri"]], name
        wrong += model.compare(name, given, theirs.get("input", {}).get("shape"), True)
        wrong += model.compare(f"{name} returns", returned, theirs.get("output", {}).get("shape"), False)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("service", FILES)
def test_every_operation_has_a_handler(service):
    sources = "".join(path.read_text() for path in FILES[service].parent.glob("*.cc"))
    operations = described(FILES[service].read_text())[2]
    assert [name for name in operations if not re.search(rf'\bon(_read|_edit)?\("{name}"', sources)] == []


def test_a_description_that_is_wrong_is_found():
    model = Model("iam")
    model.operations["GetRole"][1]["RoleNam"] = ("string", set())
    assert model.compare("GetRole", model.operations["GetRole"][1], "GetRoleRequest", True) == ["GetRole.RoleNam: there is none"]
    model.operations["GetRole"][1]["RoleName"] = ("integer", set())
    del model.operations["GetRole"][1]["RoleNam"]
    assert model.compare("GetRole", model.operations["GetRole"][1], "GetRoleRequest", True) == [
        "GetRole.RoleName: is required", "GetRole.RoleName: is a string"]
