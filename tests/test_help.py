"""Every verb explains itself: --help with examples that are right, --json that means something, and a hint for what was mistyped."""

import gzip
import json
import os
import re
import subprocess

import pytest

import drover as shared
from drover import help_of
from test_completion import asked
from test_server import Server, submit, worker

# These run until they are stopped; what they are told on the command line is looked at, not run.
LASTING = {"server", "up", "worker"}
# They have nothing to say to a program, or are run by one.
WITHOUT_JSON = {"completion"}


class Known:
    """What the binary says of itself, asked once for all tests."""
    commands = []


def commands(drover):
    """Every verb and every part of one, as words."""
    if not Known.commands:
        for verb in asked(drover, "")[2]:
            Known.commands.append((verb,))
            if "Subcommands:" in help_of(drover, verb):
                Known.commands.extend((verb, part) for part in asked(drover, verb, "")[2])
    return Known.commands


def examples(help_text):
    _, heading, rest = help_text.partition("Example")
    assert heading, "there is no example"
    for line in rest.splitlines()[1:]:
        if not line.startswith("  "):
            break
        yield line.strip()


def test_every_verb_has_an_example(drover):
    for words in commands(drover):
        lines = list(examples(help_of(drover, *words)))
        assert lines and all(f"drover {' '.join(words)}" in line or len(words) == 1 for line in lines), (words, lines)


def test_every_verb_can_speak_to_programs(drover):
    for words in commands(drover):
        offered = asked(drover, *words, "--")[2]
        has_parts = "Subcommands:" in help_of(drover, *words)
        if words[0] not in WITHOUT_JSON and not (has_parts and len(offered) == 1):
            assert "--json" in offered, words


@pytest.fixture
def place(drover, tmp_path):
    """What the examples speak of: files, programs, a run called nightly and a server with a worker called gpu-7."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "drover").symlink_to(shared.BINARY)
    for name in ("convert", "../simulate", "../process"):
        program = bin_folder / name
        program.write_text("#!/bin/sh\necho loss=nan >&2\n[ \"$2\" != 18 ]\n")
        program.chmod(0o755)
    for name in ("photos.txt", "list.txt", "urls.txt"):
        (tmp_path / name).write_text("a\nb\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.gz").write_bytes(gzip.compress(b"1\n2\n"))
    for folder in ("small", "counts", ".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nightly.yaml").write_text("command: [./process, '{}']\nrange: [1, 3]\n")
    assert drover("run", "--name", "old", "--", "true", ":::", "a").status == 0
    assert drover("run", "--name", "nightly", "--range", "1-1000", "--", "./simulate", "--seed", "{}").status == 1
    server = Server(drover)
    drover.examples_server = server
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "b.jpg", "photos/c.jpg"):
        (tmp_path / name).write_text("a picture")
    for bucket in ("photos", "models", "backups"):
        assert drover("objects", "mb", f"s3://{bucket}").status == 0
    for key in ("in/a.jpg", "out/a.json", "x.tmp"):
        assert drover("objects", "cp", tmp_path / "a.jpg", f"s3://photos/{key}").status == 0
    worker(server, name="gpu-7")
    submit(server, "nightly", "--range", "0-17", "--", "true")
    server.ends("nightly")
    (tmp_path / "resize.yaml").write_text("name: resize\ncommand: [./process, '{}']\n")
    for words in (["definition", "register", tmp_path / "resize.yaml"], ["queue", "set", "night"], ["fleet", "set", "spot", "--provider", "ec2"],
                  *(["stream", "create", name] for name in ("orders", "failed", "old"))):
        assert server.cli(*words).status == 0
    return bin_folder


def test_examples_can_be_typed(drover, place, tmp_path):
    tried = 0
    for words in commands(drover):
        if words[0] in LASTING:
            continue
        for line in examples(help_of(drover, *words)):
            # Some would not end, take a terminal, speak of others' machines and registries, change this machine or need its GPUs.
            if any(word in line for word in ("…", "--watch", "head.example.org", "https://example.org", "/mnt/data", "events --follow", "python:3.12", "accel install", "accel cdi", "drover run --gpus")) or line == "drover shell nightly:17":
                continue
            if "workers readmit" in line:  # an earlier example has sent it away
                worker(drover.examples_server, name="gpu-7")
            shell = "fish" if "--shell fish" in line else "bash"
            done = subprocess.run([shell, "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                                  env=drover.environment({"PATH": f"{place}:/usr/bin:/bin"}))
            assert done.returncode in (0, 1), (line, done.stdout, done.stderr)
            assert "  next:" not in done.stderr, (line, done.stderr)
            tried += 1
    assert tried > 30


def test_flags_in_examples_exist(drover):
    for words in commands(drover):
        for line in examples(help_of(drover, *words)):
            ours = line.split(" -- ")[0]
            named = re.search(r"drover ([a-z-]+)(?: (drain|fence|readmit|create|join|list|delete|show|set|enable|disable|register|retire|pull|prune|purge|send|receive|check|cdi|install|ls|cp|cat|stat|rm|mb|rb|explain|pause|resume)\b)?", ours)
            offered = asked(drover, *filter(None, named.groups()), "--")[2]
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", ours):
                assert flag in offered, (line, flag)


@pytest.mark.parametrize("typed, meant", [
    (["submti"], "submit"), (["statsu"], "status"), (["job"], "jobs"), (["compl"], "completion"),
    (["status", "--jsn"], "--json"), (["run", "--itmes", "x", "--", "true"], "--items"), (["submit", "--rang=1-3"], "--range"),
    (["key", "creat"], "create"), (["workers", "drian", "w"], "drain"), (["key", "list", "--sevrer=x"], "--server"),
])
def test_what_was_mistyped_is_guessed(drover, typed, meant):
    drover(*typed).refuses(f"did you mean '{meant}'?")


def test_no_guess_is_better_than_a_wild_one(drover):
    for typed in (["frobnicate"], ["status", "--frobnicate"], ["status", "one", "two"]):
        assert "did you mean" not in drover(*typed).refuses().err


def test_json_of_verbs_that_had_none(drover, tmp_path):
    assert drover("run", "--name", "r", "--", "true", ":::", "a").status == 0
    page = drover("report", "r", "--json", "--out", tmp_path / "r.html").json_lines[0]
    assert page == {"run": "r", "file": str(tmp_path / "r.html")} and os.path.exists(page["file"])
    server = Server(drover)
    key = drover("key", "create", "--scope", "read", "--json").json_lines[0]
    assert drover("key", "delete", key["id"], "--json").json_lines == [{"id": key["id"], "deleted": True}]
    submit(server, "talks", "--range", "1-1", "--", "echo", "one\ntwo")
    working = drover.start("worker", "--name", "w", "--json", "--exit-when-idle")
    told = working.done()
    assert told.status == 0 and {line["event"] for line in told.json_lines} == {"notice"}, told
    assert any("registered" in line["text"] for line in told.json_lines), told
    assert [line["text"] for line in server.cli("logs", "talks:0", "--json").json_lines][:1] == ["one"]
    server.cli("logs", "talks:0", "--json", "--follow").refuses("--json")


def test_an_item_of_a_server_is_shown_to_people(drover):
    server = Server(drover)
    submit(server, "fails", "--range", "7-7", "--", "sh", "-c", "echo no such file >&2; exit 3")
    assert drover("worker", "--name", "w", "--exit-when-idle").status == 0
    server.ends("fails")
    shown = server.cli("items", "fails:0")
    assert shown.status == 0 and all(word in shown.out for word in ("item 0 of job 'fails': failed", "exit code 3", "no such file")), shown
    assert server.cli("items", "fails:0", "--json").json_lines[0]["history"][0]["exit_code"] == 3


def test_the_servers_own_log_as_json(drover):
    server = Server(drover, "--json")
    for line in server.stop().err.splitlines():
        assert "level" in json.loads(line), line


def test_a_flag_takes_only_its_words(drover):
    drover("items", "--state", "sleeping").refuses("sleeping", "succeeded")
    drover("items", "--sort", "size").refuses("size", "duration")
    drover("jobs", "--state", "sleeping").refuses("sleeping", "running")
    drover("key", "create", "--scope", "god").refuses("god", "admin")
