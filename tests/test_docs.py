"""What README.md and docs/ tell people to type works, and every verb and flag that they name is there."""

import pathlib
import re
import shlex
import subprocess

import pytest

import drover as shared

REPOSITORY = pathlib.Path(__file__).parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def code_lines(page):
    """The lines of its code blocks."""
    inside = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield line


def typed_lines(page):
    """What a person types after a prompt: `$ drover …`, with its continuation lines."""
    lines = iter(code_lines(page))
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines)
            yield command


def drover_words(line):
    """The words of a drover command inside a line, if it is one."""
    line = re.sub(r"^\$ ", "", line.strip())
    if not line.startswith("drover ") or "…" in line or "[" in line:
        return None
    return shlex.split(line, comments=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_stands_behind_a_prompt_can_be_typed(drover, page, tmp_path):
    """In order, in one folder, as a reader would. A page shows only what ends well, or says `# fails`."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "drover").symlink_to(shared.BINARY)
    for command in typed_lines(page):
        if command.startswith("make "):
            continue
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              env=drover.environment({"PATH": f"{bin_folder}:/usr/bin:/bin"}))
        assert (done.returncode != 0) == ("# fails" in command), (command, done.stdout, done.stderr)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_flags_in_examples_exist(drover, page):
    for line in code_lines(page):
        words = drover_words(line)
        if words is None:
            continue
        ours = words[:words.index("--")] if "--" in words else words
        help_text = drover(ours[1], "--help")
        assert help_text.status == 0, line
        for word in ours[2:]:
            if word.startswith("--"):
                assert re.search(rf"{re.escape(word)}\b", help_text.out), (line, word)


def test_every_verb_and_every_flag_is_told_of(drover):
    told = (REPOSITORY / "docs/cli.md").read_text()
    listed = drover("--help").out.split("Subcommands:")[1].split("First steps:")[0]
    for verb in re.findall(r"^  ([a-z-]+)\b", listed, re.MULTILINE):
        assert f"drover {verb}" in told, f"docs/cli.md does not speak of drover {verb}"
        for flag in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", drover(verb, "--help").out, re.MULTILINE)) - {"--help"}:
            assert flag in told, f"docs/cli.md does not speak of {flag} of drover {verb}"
