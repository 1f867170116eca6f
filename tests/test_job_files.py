"""Job files: what they say arrives, flags come before them, what is wrong is told as one would like to hear it, and the schema
that editors read agrees with the parser."""

import json
import os
import pathlib
import re

import jsonschema
import pytest
import yaml

from test_server import Server, worker

ROOT = pathlib.Path(__file__).parents[1]
GOLDEN = ROOT / "tests/golden/job_files"
BROKEN = sorted(path.name for path in GOLDEN.iterdir() if path.suffix in (".yaml", ".json"))
EXAMPLES = sorted(path.name for path in (ROOT / "examples/jobs").glob("*.yaml"))
SCHEMA = ROOT / "docs/job.schema.json"


@pytest.fixture
def server(drover):
    return Server(drover)


def dry_run(drover, *words, **options):
    shown = drover("submit", "--dry-run", "--json", *words, **options)
    assert shown.status == 0, shown
    return shown.json_lines[0]


def write(folder, text, name="job.yaml"):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


# --- what is wrong


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_answered_with_a_message_one_would_like_to_get(drover, name):
    done = drover("submit", "--dry-run", name, cwd=GOLDEN)
    assert done.status == 2 and done.out == "", done
    expected = (GOLDEN / name).with_suffix(".txt")
    assert done.err == expected.read_text(), done


def test_there_are_enough_of_them_and_each_names_its_place_and_a_next_step():
    assert len(BROKEN) >= 20
    for name in BROKEN:
        text = (GOLDEN / name).with_suffix(".txt").read_text()
        problems = re.findall(rf"^{re.escape(name)}:\d+:\d+: ", text, re.MULTILINE)
        assert len(problems) == text.count("  next: ") == int(re.match(r".* has (\d+) problem", text).group(1)) > 0, text


def test_a_broken_file_is_never_sent(server):
    done = server.cli("submit", GOLDEN / "01.yaml")
    assert done.status == 2 and "did you mean 'timeout'?" in done.err, done
    assert server.ask("GET", "/api/v1/jobs")[1]["jobs"] == []


def test_a_file_that_cannot_be_read_is_named(drover, tmp_path):
    drover("submit", "--dry-run", tmp_path / "none.yaml").refuses("none.yaml", "No such file")
    (tmp_path / "folder.yaml").mkdir()
    drover("submit", "--dry-run", tmp_path / "folder.yaml").refuses("folder.yaml", "directory")


def test_what_stands_beside_a_file_is_held_against_it(drover, tmp_path):
    job = write(tmp_path, "command: [echo]\nrange: 1-3\n")
    drover("submit", "--dry-run", job, tmp_path / "other.yaml").refuses("two job files")
    drover("submit", "--dry-run", job, "echo", "{}").refuses("echo", "--")
    drover("submit", "--dry-run", job, "--match", "*.png").refuses("--match")
    drover("submit", "--dry-run", job, "-0").refuses("-0")
    drover("submit", "--dry-run", "-", "--items", "-", input=b"command: [echo]\n").refuses("standard input")


@pytest.mark.parametrize("flags, words", [
    (("--priority", "high"), ("--priority", "high", "9999")), (("--priority", "10000"), ("--priority", "10000", "9999")),
    (("--queue", "a b"), ("--queue", "a b")), (("--share", "a/b"), ("--share", "a/b")), (("--after", "a b"), ("--after", "a b")),
    (("--after", "a", "--after-each", "b c"), ("--after-each", "b c")), (("--max-running", "0"), ("--max-running", "0")),
    (("--job-timeout", "soon"), ("--job-timeout", "soon")), (("--gpus", "some"), ("--gpus", "some")),
    (("--accelerator", "nvidia"), ("--accelerator", "nvidia=1")), (("--accelerator", "tpu=1"), ("--accelerator", "nvidia")),
    (("--gpus", "1", "--accelerator", "nvidia=1"), ("--gpus", "nvidia")), (("--definition", "a:b"), ("--definition", "a:b")),
    (("--image", ""), ("--image", "is empty")), (("--image", "x", "--user", ""), ("--user", "is empty")),
    (("--map", "/mnt"), ("--map", "/mnt")), (("--name", "a/b"), ("--name", "a/b")),
    (("--image", "x", "--cap-drop", ""), ("--cap-drop",)), (("--image", "x", "--mount", ""), ("--mount",)), (("--queue", ""), ("--queue", "is empty")),
    (("--accelerator", "nvidia=1", "--accelerator", "nvidia=2"), ("--accelerator", "nvidia")), (("--max-running", "0"), ("--max-running 1 or more",)),
    (("--after", "b c", "--after-each", "b"), ("--after is",)), (("--memory", "lots"), ("--memory 4GiB",)), (("--cpus", "many"), ("--cpus 0.5",)),
])
def test_a_wrong_flag_is_named(drover, flags, words):
    drover("submit", "--dry-run", *flags, "--range", "1-3", "--", "echo").refuses(*words)


# --- what is right


def test_a_file_is_read_as_it_stands(drover, tmp_path):
    job = write(tmp_path, """
name: sweep
command: [./simulate, --seed, "{}", 5]
range: 1-1000
environment: {THREADS: 4, RATE: 1.50, DEBUG: no}
timeout: 90s
memory: 1.5GiB
cpus: 0.5
after: [prepare, {job: split, each: true}]
sequential: true
""")
    shown = dry_run(drover, job, cwd=tmp_path)
    assert shown == {"items": 1000, "first": ["1", "2", "3", "4", "5"], "job": {
        "name": "sweep", "command": ["./simulate", "--seed", "{}", "5"], "workdir": str(tmp_path), "cpus": 0.5,
        "environment": {"THREADS": "4", "RATE": "1.50", "DEBUG": "no"}, "memory": "1536MiB", "timeout": "90s", "sequential": True,
        "after": ["prepare", {"job": "split", "each": True}]}}
    text = drover("submit", "--dry-run", job, cwd=tmp_path)
    assert text.status == 0 and "1,000 items" in text.out and "sweep" in text.out and "1536MiB" in text.out, text
    same = write(tmp_path, shown["job"] | {"range": [1, 1000]}, "job.json")
    assert dry_run(drover, same, cwd=tmp_path) == shown
    assert dry_run(drover, "-", input=job.read_bytes(), cwd=tmp_path) == shown


def test_json_of_other_programs_is_taken(drover, tmp_path):
    job = {"command": ["echo", "{}"], "items": ["é \U0001f600 \" \\ /\n", "\t"], "environment": {"A": "\U0001f600"}}
    for number, text in enumerate((json.dumps(job), json.dumps(job, indent="\t"), json.dumps(job, ensure_ascii=False, indent=1))):
        shown = dry_run(drover, write(tmp_path, text, f"{number}.json"))
        assert shown["first"] == job["items"] and shown["job"]["environment"] == job["environment"], text


def test_paths_in_a_file_begin_at_the_file(drover, tmp_path):
    folder = tmp_path / "jobs"
    (folder / "photos/old").mkdir(parents=True)
    for name in ("a.jpg", "b.png", "old/c.jpg"):
        (folder / "photos" / name).touch()
    (folder / "list.txt").write_text("one\ntwo\n")
    (folder / "objects.jsonl").write_text('{"a": 1.0}\n{"a": "x"}\n')
    (folder / "nul.txt").write_bytes(b"a\nb\0c\0")
    text = "command: [echo]\nworkdir: photos\n"
    shown = dry_run(drover, write(folder, text + "items_file: list.txt\n"), cwd=tmp_path)
    assert shown["first"] == ["one", "two"] and shown["job"]["workdir"] == str(folder / "photos")
    photos = dry_run(drover, write(folder, text + "dir: photos\nmatch: '*.jpg'\n"), cwd=tmp_path)
    assert photos["first"] == [str(folder / "photos/a.jpg"), str(folder / "photos/old/c.jpg")]
    assert dry_run(drover, folder / "job.yaml", "--match", "*.png", cwd=tmp_path)["first"] == [str(folder / "photos/b.png")]
    objects = dry_run(drover, write(folder, "command: [echo, '{a}']\njsonl: objects.jsonl\n"), cwd=tmp_path)
    assert objects["first"] == ['{"a": 1.0}', '{"a": "x"}'] and objects["job"]["item_kind"] == "json"
    assert dry_run(drover, write(folder, "command: [echo]\nitems_file: nul.txt\n"), "-0", cwd=tmp_path)["first"] == ["a\nb", "c"]
    drover("submit", "--dry-run", write(folder, "command: [echo]\nitems_file: none.txt\n")).refuses("none.txt")


def test_numbers_are_typed_as_people_write_them(drover):
    words = ("--timeout", "90", "--grace", "0", "--memory", "1073741824", "--log-limit", "0", "--cpus", ".5", "--retries", "+1", "--max-running", "007")
    job = dry_run(drover, *words, "--image", "x", "--entrypoint", "", "--range", "1-2", "--", "true")["job"]
    said = {name: job[name] for name in ("timeout", "grace", "memory", "log_limit", "cpus", "retries", "max_running", "entrypoint")}
    assert said == {"timeout": "90s", "grace": "0ms", "memory": "1GiB", "log_limit": "0B", "cpus": 0.5, "retries": 1, "max_running": 7, "entrypoint": []}


def test_flags_come_before_what_the_file_says(drover, tmp_path):
    job = write(tmp_path, """
name: file
command: [one, "{}"]
range: [1, 10]
environment: {A: 1, B: 2}
require: {zone: a, rack: r}
queue: file
priority: 1
share: file
after: [file]
max_running: 1
job_timeout: 1h
accelerators: {nvidia: 1, amd: 1}
definition: file:1
cpus: 1
memory: 1GiB
pids: 10
nice: 1
log_limit: 1MiB
timeout: 1m
grace: 1s
retries: 1
retry_delay: 1s
max_failures: 1
client_token: file
workdir: /file
""")
    flags = ["--name", "flag", "--env", "B=3", "--env", "C=4", "--require", "zone=b", "--queue", "flag", "--priority", "0", "--share", "flag",
             "--after", "x", "--after-each", "y", "--max-running", "2", "--job-timeout", "2h", "--gpus", "2", "--accelerator", "neuron=3",
             "--definition", "flag:2", "--cpus", "2", "--memory", "2GiB", "--pids", "20", "--nice", "2", "--log-limit", "2MiB", "--timeout",
             "2m", "--grace", "2s", "--retries", "0", "--retry-delay", "2s", "--max-failures", "50%", "--client-token", "flag", "--workdir",
             "/flag", "--sequential"]
    assert dry_run(drover, job, *flags, "--", "two", "{}", ":::", "a", "b") == {"items": 2, "first": ["a", "b"], "job": {
        "name": "flag", "client_token": "flag", "definition": "flag:2", "command": ["two", "{}"], "workdir": "/flag",
        "environment": {"A": "1", "B": "3", "C": "4"}, "cpus": 2, "memory": "2GiB", "accelerators": {"nvidia": 2, "amd": 1, "neuron": 3},
        "pids": 20, "nice": 2, "log_limit": "2MiB", "require": {"zone": "b", "rack": "r"}, "queue": "flag", "priority": 0, "share": "flag",
        "after": ["x", {"job": "y", "each": True}], "sequential": True, "max_running": 2, "timeout": "2m", "grace": "2s",
        "job_timeout": "2h", "retries": 0, "retry_delay": "2s", "max_failures": 1}}
    unchanged = dry_run(drover, job)["job"]
    assert (unchanged["name"], unchanged["priority"], unchanged["retries"], unchanged["workdir"]) == ("file", 1, 1, "/file")
    assert dry_run(drover, job, ":::", "a")["first"] == ["a"]
    assert dry_run(drover, job, "--range", "5-6")["first"] == ["5", "6"]
    assert dry_run(drover, "--retry-on", "exit:75", job)["job"]["rules"][0] == {"onExitCode": "75", "action": "RETRY"}


def test_items_from_elsewhere_are_of_their_own_kind(drover, tmp_path):
    job = write(tmp_path, "command: [echo, '{}']\nitems: [{a: 1}]\n")
    assert dry_run(drover, job)["job"]["item_kind"] == "json"
    assert "item_kind" not in dry_run(drover, job, ":::", "plain")["job"]


def test_a_job_on_a_definition_says_only_what_it_was_told(drover):
    assert dry_run(drover, "--definition", "render:3", "--range", "1-2")["job"] == {"definition": "render:3"}
    assert dry_run(drover, "--definition", "render", "--retries", "0", "--range", "1-2")["job"] == {"definition": "render", "retries": 0}


def test_a_map_changes_where_items_lie(drover, tmp_path):
    items = ["/mnt/data/a", "/mnt/database/b", "/mnt/data/raw/c", "/mnt/data"]
    mapped = ["s3://bucket/data/a", "/mnt/database/b", "s3://raw/c", "s3://bucket/data"]
    flags = ("--map", "/mnt/data=s3://bucket/data", "--map", "/mnt/data/raw=s3://raw")
    assert dry_run(drover, *flags, "--", "echo", ":::", *items)["first"] == mapped
    text = f"command: [echo]\nitems: {json.dumps(items)}\nmap:\n  /mnt/data: s3://bucket/data\n  /mnt/data/raw: /other\n"
    assert dry_run(drover, write(tmp_path, text), "--map", "/mnt/data/raw/=s3://raw/")["first"] == mapped
    objects = write(tmp_path, '{"path": "/mnt/data/a", "/mnt/data": 1.0}\n', "o.jsonl")
    assert dry_run(drover, "--jsonl", objects, *flags, "--", "echo", "{path}")["first"] == ['{"path": "s3://bucket/data/a", "/mnt/data": 1.0}']
    drover("submit", "--dry-run", "--map", "/mnt/data", "--range", "1-2", "--", "echo").refuses("--map", "/mnt/data")


def test_a_dry_run_needs_no_server_and_checks_every_item(drover, tmp_path):
    job = write(tmp_path, "command: [echo, '{b}']\nitems: [{b: 1}, {a: 1}]\n")
    drover("submit", "--dry-run", job, env={"DROVER_SERVER": "http://127.0.0.1:1"}).refuses("'b'")


# --- and it runs


def test_a_job_file_runs_and_what_it_says_holds(server, tmp_path):
    running = worker(server)
    text = """
name: from-file
shell: true
command: echo "$COLOUR" {} $(nice) && test {} != /new/b
items: [/old/a, /old/b]
map: {/old: /new}
environment: {COLOUR: green}
nice: 7
retries: 1
"""
    done = server.cli("submit", "--json", write(tmp_path, text))
    assert done.status == 0 and done.json_lines[0]["name"] == "from-file", done
    ended = server.ends("from-file")
    assert (ended["counts"]["succeeded"], ended["counts"]["failed"]) == (1, 1), ended
    nice = min(os.nice(0) + 7, 19)
    assert server.cli("logs", "from-file:0").out == f"green /new/a {nice}\n"
    assert server.cli("logs", "from-file:1").out == f"green /new/b {nice}\n" * 2
    assert running.alive()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_can_be_submitted(server, tmp_path, name):
    words = [ROOT / "examples/jobs" / name]
    if name == "thumbnails.yaml":
        (tmp_path / "a.jpg").touch()
        words += ["--dir", tmp_path, "--match", "*.jpg", "--map", f"{tmp_path}=/srv/photos"]
    if name == "train.yaml":  # it comes after that one
        assert server.cli("submit", ROOT / "examples/jobs/sweep.yaml").status == 0
    total = dry_run(server.drover, *words)["items"]
    done = server.cli("submit", "--json", *words)
    assert done.status == 0 and total > 0, done
    assert server.job(done.json_lines[0]["id"])["total"] == total


# --- the schema, and what is written about it


def test_the_schema_is_the_one_that_was_written_down(drover):
    """drover submit --schema > docs/job.schema.json writes it anew."""
    printed = drover("submit", "--schema")
    assert printed.status == 0 and printed.out == SCHEMA.read_text()
    jsonschema.Draft7Validator.check_schema(json.loads(printed.out))


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2's core schema, as the parser and editors have it: `yes` is a text."""


CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
CoreLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
CoreLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))


VALIDATOR = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))


def fits_schema(text):
    return VALIDATOR.is_valid(yaml.load(text, CoreLoader))


# What is wrong in a way that a schema cannot say, or only in what a file lacks: flags may add it.
BEYOND_SCHEMA = {"08.yaml", "14.yaml"}


@pytest.mark.parametrize("name", BROKEN)
def test_schema_and_parser_refuse_the_same(name):
    try:
        fits = fits_schema((GOLDEN / name).read_text())
    except yaml.YAMLError:
        return  # no YAML at all: an editor says so without any schema
    assert fits == (name in BEYOND_SCHEMA)


@pytest.mark.parametrize("name", EXAMPLES)
def test_schema_and_parser_take_the_same(name):
    assert fits_schema((ROOT / "examples/jobs" / name).read_text())


# What some fields mean nothing without.
OF_CONTAINERS = ("image_digest entrypoint user mounts tmpfs shm_size disk read_only network hostname devices ulimits cap_add cap_drop privileged init "
                 "reuse reset reuse_limit runtime").split()
NEEDS = {"match": "dir: x\n", "command": "shell: true\n", **{field: "image: x\n" for field in OF_CONTAINERS},
         **{field: "image: x\nreuse: true\n" for field in ("reset", "reuse_limit")}}


def test_schema_and_parser_agree_field_by_field(drover, tmp_path):
    """Every field with every kind of value: either both take it or neither does."""
    values = ["1", "0", "-1", "1.5", "'1'", "true", "'true'", "yes", "text", "a b", "''", "[]", "{}", "[a]", "[1, 2]", "{a: 1}", "{a: b}",
              "[{job: a}]", "[{a: b}]", "1-5", "10m", "'10m'", "4GiB", "4G", "[[a]]", "{nvidia: 1}", "[{action: EXIT}]", "json", "null", "12345"]
    fields = json.loads(SCHEMA.read_text())["properties"]
    differ = []
    for field in fields:
        for value in values:
            text = f"{field}: {value}\n" + NEEDS.get(field, "")
            done = drover("submit", "--dry-run", "-q", "-", "--", "x", ":::", "a", input=text.encode())
            told = "has 1 problem" in done.err or " problems\n" in done.err
            if told == fits_schema(text):
                differ.append((field, value, done.err))
    assert differ == []


def test_the_page_shows_what_happens(drover, tmp_path):
    """Its files are taken from it, and what drover says of them is what it shows."""
    blocks = re.findall(r"^```(yaml)?\n(.*?)^```", (ROOT / "docs/job-files.md").read_text(), re.DOTALL | re.MULTILINE)
    for kind, text in blocks:
        if kind == "yaml":
            (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text)
    typed = [text.split("\n\n", 1) for _, text in blocks if text.startswith("drover submit ")]
    assert len(typed) == 2
    for line, shown in typed:
        done = drover(*line.split()[1:], cwd=tmp_path)
        assert done.out + done.err == shown, done


def test_every_field_is_written_about():
    schema = json.loads(SCHEMA.read_text())["properties"]
    page = (ROOT / "docs/job-files.md").read_text()
    for name, field in schema.items():
        example = json.dumps(field["examples"][0], ensure_ascii=False)
        assert f"| `{name}` | `{example}` | " + field["description"].replace("|", "\\|") + " |" in page, name
    assert "[Job files](job-files.md) have the same fields" in (ROOT / "docs/api.md").read_text()
