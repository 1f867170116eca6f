"""What README.md and docs/ tell people to type works, and every verb and flag that they name is there."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

import drover as shared
from debian_root import BootedDebian, DebianRoot, Shell, debootstrapped
from drover import help_of, wait_until
from test_deb import package  # noqa: F401 (a fixture)

REPOSITORY = pathlib.Path(__file__).parents[1]
# These speak of an installed package, and of two machines: they are lived through in order, below.
LIVED = [REPOSITORY / "docs/quick-start.md", REPOSITORY / "docs/operations.md"]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
# Verbs whose second word is one, too.
PARTED = {"key", "queue", "definition", "fleet", "stream", "objects", "workers", "image", "accel"}
TYPED = [page for page in PAGES if page not in LIVED]


def code_lines(page):
    """The lines of its code blocks."""
    inside = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield line


def typed_lines(page, prompt="$ "):
    """What a person types after a prompt: `$ drover …`, with its continuation lines."""
    return [command for found, command in prompted_lines(page) if found == prompt]


def prompted_lines(page):
    """(prompt, what is typed there); `second$ ` is another machine's."""
    lines = iter(code_lines(page))
    for line in lines:
        if prompted := re.match(r"((?:\w+)?\$ )(.*)", line):
            command = prompted[2]
            while command.endswith("\\"):
                command = command[:-1] + next(lines)
            yield prompted[1], command


def drover_words(line):
    """The words of a drover command inside a line, if it is one."""
    line = re.sub(r"^(\w+)?\$ (sudo )?", "", line.strip())
    if not line.startswith("drover ") or "…" in line or "[" in line:
        return None
    return shlex.split(line, comments=True)


@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.name)
def test_what_stands_behind_a_prompt_can_be_typed(drover, page, tmp_path):
    """In order, in one shell and one folder, as a reader would. A page shows only what ends well, or says `# fails`."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "drover").symlink_to(shared.BINARY)
    commands = [command for command in typed_lines(page) if not command.startswith("make ")]
    script = tmp_path / "typed"
    script.write_text("".join(f"{command}\necho \"=== $?\"\n" for command in commands) + "wait\n")
    done = subprocess.run(["bash", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400,
                          env=drover.environment({"PATH": f"{bin_folder}:/usr/bin:/bin"}))
    ended = [int(status) for status in re.findall(r"^=== (\d+)$", done.stdout, re.MULTILINE)]
    for command, status in zip(commands, ended, strict=True):
        assert (status != 0) == ("# fails" in command), (command, done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_flags_in_examples_exist(drover, page):
    for line in code_lines(page):
        words = drover_words(line)
        if words is None:
            continue
        ours = words[:words.index("--")] if "--" in words else words
        help_text = help_of(drover, *ours[1:3 if ours[1] in PARTED and len(ours) > 2 and not ours[2].startswith("-") else 2])
        for word in ours[2:]:
            if word.startswith("--"):
                assert re.search(rf"{re.escape(word)}\b", help_text), (line, word)


def test_every_verb_and_every_flag_is_told_of(drover):
    told = (REPOSITORY / "docs/cli.md").read_text()
    listed = drover("--help").out.split("Subcommands:")[1].split("First steps:")[0]
    for verb in re.findall(r"^  ([a-z-]+)\b", listed, re.MULTILINE):
        assert f"drover {verb}" in told, f"docs/cli.md does not speak of drover {verb}"
        help_text = help_of(drover, verb)
        parts = re.findall(r"^  ([a-z-]+)\b", help_text.partition("Subcommands:")[2].partition("Example")[0], re.MULTILINE)
        for words in [(verb,), *((verb, part) for part in parts)]:
            assert words[-1] in told, f"docs/cli.md does not speak of drover {' '.join(words)}"
            for flag in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_of(drover, *words), re.MULTILINE)) - {"--help"}:
                assert flag in told, f"docs/cli.md does not speak of {flag} of drover {' '.join(words)}"


class Reader:
    """Somebody who lives through pages at two machines: types what they say, and puts in what was shown before for what they leave out."""

    def __init__(self, head, second):
        self.shells = {"$ ": Shell(head, head.has_reader()), "second$ ": Shell(second, second.has_reader())}
        self.shells["third$ "] = Shell(second, "reader")  # as good as another machine: it has no part in the others' doings
        self.shown = {"key": "", "token": ""}
        self.said = {}

    def types(self, prompt, command):
        words = command.replace("AKDRXXXXXXXXXXXXXXXX.…", self.shown["key"]).replace("drover-join-…", self.shown["token"])
        status, out = self.shells[prompt].type(words)
        assert (status != 0) == ("# fails" in command), (prompt, command, out)
        for what, form in (("key", r"^AKDR\w{16}\.\w+$"), ("token", r"^drover-join-\S+$")):
            if found := re.search(form, out, re.MULTILINE):
                self.shown[what] = found[0]
        self.said[command] = out
        return out

    def job(self, name):
        return json.loads(self.types("$ ", f"drover status {name} --json"))

    def lives(self, page):
        for prompt, command in prompted_lines(page):
            self.types(prompt, command)
            self.waits_for(prompt, command)

    def waits_for(self, prompt, command):
        """As somebody would before the next line."""
        named = re.match(r"drover (?:submit --name|retry) (\w+)", command)
        if named and named[1] != "mistake":
            wait_until(lambda: self.job(named[1])["state"] != "running", f"{command} to end")
        elif command == "sudo systemctl enable --now drover-worker":
            _, name = self.shells[prompt].type("uname -n")
            wait_until(lambda: name.strip() in self.types("$ ", "drover workers"), f"{name} to join")
        elif by_hand := re.match("drover (?:server|worker|submit) --data ~/herd", command):
            proof = {"server": "drover jobs --data ~/herd", "worker": "drover workers --data ~/herd | grep second",
                     "submit": "drover jobs --data ~/herd | grep succeeded"}[by_hand[0].split()[1]]
            wait_until(lambda: self.shells[prompt].type(proof)[0] == 0, f"{command} to show")

    def close(self):
        for shell in self.shells.values():
            shell.close()


# Long tests live through them with a small Debian of debootstrap, which is only what the page says it is, and the real systemd.
@pytest.fixture(params=["this machine's root", "debootstrap, systemd"] if shared.SOAK else ["this machine's root"])
def reader(request, package, tmp_path):  # noqa: F811
    def machine(name):
        if request.param == "this machine's root":
            return DebianRoot(tmp_path / name, name=name)
        return BootedDebian(tmp_path / name, debootstrapped(pathlib.Path(shared.BINARY).parents[1], package), name)

    with machine("head") as head, machine("second") as second:
        head.wire_to(second, "10.77.0.1", "10.77.0.2")
        for root in (head, second):
            root("dpkg", "--purge", "drover")
            root.plays_systemd()
        one = Reader(head, second)
        for root in (head, second):
            shutil.copy(package, root.path / "home/reader")
        yield one
        one.close()


def test_the_first_ten_minutes_and_what_comes_after(reader):
    quick_start, operations = LIVED
    reader.lives(quick_start)
    said = reader.said
    assert "no seven here" in said["drover logs first:6                  # items are counted from 0"]
    assert re.search(r"^ +6 +failed +1 +3 .* 7$", said["drover items first --state failed"], re.MULTILINE)
    assert reader.job("first")["counts"]["succeeded"] == 20
    assert reader.job("mistake")["state"] == "cancelled"
    assert {line.split()[0] for line in said["drover workers"].splitlines()[1:]} == {"head", "second"}
    assert {line.split()[-1] for line in said["drover logs both --grep ."].splitlines()} == {"head", "second"}
    assert reader.job("both")["state"] == "succeeded"
    assert said["drover logs byhand:4 --data ~/herd --server http://127.0.0.1:8751"] == "item 5\n"
    reader.lives(operations)
    # The old keys are good for the restored server, and its workers have come back.
    assert reader.job("first")["counts"]["succeeded"] == 20
    reader.types("$ ", "drover submit --name after --range 1-200 --workdir /tmp --shell -- 'sleep 0.1; echo {} ran on $(uname -n)'")
    wait_until(lambda: reader.job("after")["state"] == "succeeded", "the job to end")
