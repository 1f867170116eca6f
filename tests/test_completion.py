"""Completion in bash, zsh and fish, typed into the real shells; and the manual pages, read by the real man."""

import os
import re
import subprocess

import pytest

import drover as shared
from drover import wait_until
from test_server import Server, submit, worker

PROMPT = "now>"
SHELLS = ["bash", "zsh", "fish"]
VERBS = {"run", "status", "server", "worker", "submit", "jobs", "key", "completion"}


@pytest.fixture
def bin_folder(tmp_path):
    """A folder with `drover` in it, for $PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "drover").symlink_to(shared.BINARY)
    return folder


@pytest.fixture
def place(tmp_path):
    """Where the shells stand: some files, a folder, and a program."""
    here = tmp_path / "here"
    (here / "photos").mkdir(parents=True)
    (here / "photos.txt").touch()
    (here / "my list.txt").touch()
    return here


class Bash:
    words = ["bash", "--norc", "--noprofile", "-i"]
    setup = f"PS1='{PROMPT} '; bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'; eval \"$(drover completion bash)\""


class Zsh:
    words = ["zsh", "-f", "-i"]
    setup = f"PS1='{PROMPT} '; setopt nobeep; unsetopt list_ambiguous; autoload -Uz compinit; compinit -u -D; source <(drover completion zsh)"


class Fish:
    words = ["fish", "--no-config"]
    setup = f"function fish_prompt; printf '{PROMPT} '; end; function fish_greeting; end; drover completion fish | source"


KINDS = {"bash": Bash, "zsh": Zsh, "fish": Fish}


class Shell:
    """A shell in a terminal, with the completion loaded."""

    def __init__(self, terminal, kind, bin_folder, place, env):
        environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "TERM": "screen", **env}
        self.terminal = terminal(160, 50, *kind.words, env=environment)
        self.line(f"cd '{place}'")
        self.line(kind.setup)
        self.line("clear")
        self.terminal.wait_for(PROMPT)

    def line(self, text):
        self.terminal.type("-l", text)
        self.terminal.type("Enter")
        if text != "clear":  # what was typed before a shell reads is shown, but not kept by all of them
            mark = f"done{os.urandom(4).hex()}"
            self.terminal.type("-l", f"echo {mark[:4]}''{mark[4:]}")
            self.terminal.type("Enter")
            self.terminal.wait_for(mark)

    def complete(self, typed, *wanted, without=()):
        """Types, presses Tab, waits for what is wanted, and takes the line away again."""
        self.terminal.type("C-l")
        wait_until(lambda: self.terminal.screen().strip() == PROMPT, "an empty line")
        self.terminal.type("-l", typed)
        self.terminal.wait_for(typed.strip())
        self.terminal.type("Tab")
        self.terminal.wait_for(*wanted)
        screen = self.terminal.screen()
        for text in without:
            assert text not in screen, screen
        self.terminal.type("C-e")
        self.terminal.type("C-u")
        return screen


@pytest.fixture(params=SHELLS)
def shell(request, terminal, bin_folder, place):
    def start(**env):
        one = Shell(terminal, KINDS[request.param], bin_folder, place, env)
        one.name = request.param
        return one

    return start


def test_verbs_flags_choices_and_files(drover, shell):
    for name in ("nightly", "nightshift"):
        assert drover("run", "--name", name, "--", "true", ":::", "a").status == 0
    typing = shell()
    typing.complete("drover sta", "drover status")
    typing.complete("drover re", "resume", "retry", "report", "restore", without=["cancel"])
    typing.complete("drover key ", "create", "join", "list", "delete")
    typing.complete("drover run --retr", "--retries", "--retry-on", "--retry-delay", without=["--range"])
    typing.complete("drover server --log j", "drover server --log json")
    typing.complete("drover server --log=j", "drover server --log=json")
    typing.complete("drover items --state s", "drover items --state succeeded")
    typing.complete("drover run --items photos.t", "drover run --items photos.txt")
    typing.complete("drover run --items=photos.t", "drover run --items=photos.txt")
    typing.complete("drover run --dir ph", "drover run --dir photos/", without=["photos.txt"])
    typing.complete("drover status n", "nightly", "nightshift")
    typing.complete("drover status --json nightl", "drover status --json nightly")


def test_behind_the_dashes_stand_a_program_and_its_files(drover, shell):
    typing = shell()
    typing.complete("drover run --range 1-3 -- sha256s", "-- sha256sum")
    typing.complete("drover run --range 1-3 -- sha256sum photos.t", "-- sha256sum photos.txt")
    typing.complete("drover submit --range 1-3 -- sha256sum --flag photos.t", "photos.txt")
    typing.complete("drover run sha256s", "drover run sha256sum")


def test_a_servers_jobs_and_workers(drover, shell):
    server = Server(drover)
    worker(server, name="gpu-7")
    submit(server, "sweep", "--range", "1-2", "--", "true")
    submit(server, "swap", "--range", "1-2", "--", "true")
    typing = shell(DROVER_SERVER=server.address)
    typing.complete("drover logs sw", "sweep", "swap")
    typing.complete("drover cancel swe", "drover cancel sweep")
    typing.complete("drover workers drain gp", "drover workers drain gpu-7")
    server.stop()
    screen = typing.complete("drover workers drain gp", "drover workers drain gp")
    assert "gpu-7" not in screen


def test_a_name_with_a_blank_is_quoted(drover, shell):
    shell().complete("drover run --items my", "my\\ list.txt")


def asked(drover, *words, env=None):
    """What the scripts are told: (kind, number, [word, …])."""
    done = drover("__complete", "--", *words, env=env)
    assert done.status == 0 and done.err == "", done
    head, *lines = done.out.splitlines()
    kind, number = head.split()
    return kind, int(number), [line.split("\t")[0] for line in lines]


def test_every_verb_flag_and_choice_comes_from_the_parser(drover):
    listed = re.findall(r"^  ([a-z-]+)\b", drover("--help").out.split("Subcommands:")[1].split("First steps:")[0], re.MULTILINE)
    kind, _, verbs = asked(drover, "")
    assert kind == "words" and verbs == listed and VERBS <= set(verbs)
    for verb in verbs:
        flags = set(re.findall(r"^  (?:-\w,)*(--[a-z-]+)", drover(verb, "--help").out, re.MULTILINE))
        _, _, offered = asked(drover, verb, "--")
        assert set(offered) == flags, verb
        assert "--help" in offered


def test_words_behind_a_value_are_not_taken_for_verbs(drover):
    assert asked(drover, "status", "--data", "key", "--js")[2] == ["--json"]
    assert asked(drover, "run", "--name", "--", "--", "l")[:2] == ("program", 4)
    assert asked(drover, "run", "--", "ls", "--col")[:2] == ("program", 2)
    assert asked(drover, "no-such-verb", "x")[2] == []
    assert asked(drover, "--no-such-flag", "stat")[2] == ["status"]


def test_a_job_file_or_a_program(drover):
    assert asked(drover, "submit", "nigh")[:2] == ("files", 0)
    assert "--priority" in asked(drover, "submit", "nightly.yaml", "--prio")[2]
    assert asked(drover, "submit", "--range", "1-3", "--", "./sim")[:2] == ("program", 4)


def test_names_come_from_where_the_line_says(drover, tmp_path):
    other = tmp_path / "other"
    assert drover("run", "--name", "elsewhere", "--data", other, "--", "true", ":::", "a").status == 0
    assert asked(drover, "status", "")[2] == []
    assert asked(drover, "status", "--data", str(other), "")[2] == ["elsewhere"]
    assert asked(drover, "status", f"--data={other}", "")[2] == ["elsewhere"]


def test_it_is_silent_where_there_is_no_server(drover):
    nobody = {"DROVER_SERVER": "http://127.0.0.1:1", "DROVER_KEY": "x.y"}
    assert asked(drover, "status", "", env=nobody) == ("words", 0, [])
    assert asked(drover, "workers", "drain", "") == ("words", 0, [])
    assert asked(drover, "status", "", env={"DROVER_SERVER": "not a url", "DROVER_KEY": "x.y"}) == ("words", 0, [])


def test_scripts_are_sound(drover, tmp_path):
    for shell in SHELLS:
        script = tmp_path / f"completion.{shell}"
        script.write_text(drover("completion", shell).out)
        checked = subprocess.run([shell, "-n", script], capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, ""), shell
    drover("completion", "tcsh").refuses("tcsh", "bash")


@pytest.fixture
def pages(drover, tmp_path):
    done = drover("man", tmp_path / "man1", "--json")
    assert done.status == 0, done
    return done.json_lines[0]["files"]


def test_every_verb_has_a_page_without_a_warning(drover, pages):
    _, _, verbs = asked(drover, "")
    assert {os.path.basename(page) for page in pages} == {"drover.1", *(f"drover-{verb}.1" for verb in verbs)}
    for page in pages:
        for words in (["groff", "-ww", "-man", "-Tutf8", page], ["man", "--warnings=w", "-l", page]):
            read = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            assert (read.returncode, read.stderr) == (0, ""), (words, read.stderr)
        assert subprocess.run(["lexgrog", page], capture_output=True).returncode == 0, f"{page}: apropos does not find it"


def test_pages_say_what_the_help_says(drover, pages):
    for page in pages:
        verb = os.path.basename(page).removesuffix(".1").removeprefix("drover").removeprefix("-")
        shown = subprocess.run(["man", "-l", page], capture_output=True, text=True,
                               env={**os.environ, "MANWIDTH": "400", "LC_ALL": "C.UTF-8"}).stdout
        shown = re.sub(r".\x08", "", shown)
        for flag in asked(drover, *filter(None, [verb]), "--")[2]:
            assert flag in shown, (page, flag)
        if verb:
            examples = drover(verb, "--help").out.partition("Example")[2].splitlines()[1:]
            for line in filter(lambda it: it.startswith("  "), examples):
                assert line.strip() in shown, (page, line, shown)


def test_pages_cannot_be_written_where_nobody_may(drover, tmp_path):
    (tmp_path / "file").touch()
    drover("man", tmp_path / "file").refuses(str(tmp_path / "file"))
