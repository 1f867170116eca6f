"""Every item reaches its command as it stands in the list, whatever it contains."""

import base64
import json
import os
import shlex
import signal
import subprocess

import pytest

from test_server import Server, worker

# What makes quoting, splitting and decoding go wrong. No newlines here: those need -0.
HOSTILE = [
    b"plain", b"two words", b"  leading and trailing  ", b"tab\there", b"single ' quote", b'double " quote',
    b"back\\slash", b"$(touch pwned)", b"`touch pwned`", b"$HOME ${PATH}", b"; touch pwned #", b"a && b || c | d > e",
    b"*", b"?", b"[a-z]", b"~", b"!", b"-n", b"--help", b"--", b"-", b":::", b"{}", b"{/}", b"{#}", b"a{}b{.}c",
    b"100%", b"%s%n", "grüße, 世界, 🐑".encode(), b"\xff\xfe\x80 invalid", b"\xc3", b"\xed\xa0\x80", b"\x01\x1b[31m\x7f",
    b"carriage\rreturn", b"k" * 100_000,
]
WITH_NEWLINES = [b"two\nlines", b"\n", b"ends with one\n", b"\nbegins with one", b"a\n\nb", b"\r\n"]
PATHS = [
    b"a/b.c.txt", b"plain", b".hidden", b"/abs/x.y/z", b"dir/", b"a/.h", b"x.", b"/", b"//", b"a//b.c", b"../up.tar.gz", b".",
    b"..", b"a/..", b"sp ace/f n.t x", b"q\"uo'te.x", b"new\nline.e\nf", b"$(id).x", b"`id`", b"-dash.x", b"{}", b"{/}.y",
    b"\xff\xfe.z", "dür/ü.é".encode(), b"./a", b"a.b/", b"a.b/c", b"/a", b"//a", b"a/b//", b"...", b".a.b", b"a/b.c/d.e.f",
    b"x.y\n", b"a b/.c d.e",
]


def joined(items, end=b"\n"):
    return b"".join(item + end for item in items)


@pytest.fixture
def list_of(tmp_path):
    def write(items, end=b"\n"):
        (tmp_path / "list").write_bytes(joined(items, end))
        return tmp_path / "list"

    return write


def check_kept(drover, seen, items):
    """Every item was run once, with itself as the only argument, and is on record as it is."""
    assert seen() == {index: [item] for index, item in enumerate(items)}
    listed = drover.items("")
    assert [base64.b64decode(item["item_b64"]) if "item_b64" in item else item["item"].encode() for item in listed] == items
    assert {item["state"] for item in listed} == {"succeeded"}


# --- where items come from


def test_items_of_every_kind_arrive_as_they_are(drover, seen, list_of, tmp_path):
    ended = drover("run", "--items", list_of(HOSTILE), "--", seen.program, "{}")
    assert ended.status == 0, ended
    check_kept(drover, seen, HOSTILE)
    assert not (tmp_path / "pwned").exists()


def test_items_that_end_with_nul_may_contain_newlines(drover, seen, list_of):
    items = HOSTILE + WITH_NEWLINES
    ended = drover("run", "-0", "--items", list_of(items, b"\0"), "--", seen.program, "{}")
    assert ended.status == 0, ended
    check_kept(drover, seen, items)


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_empty_items_keep_their_places_wherever_the_list_comes_from(drover, seen, list_of, verb, tmp_path):
    items = [b"", b"a", b"", b"", b"b", b""]
    words = [b"a", b"", b"b"]
    job = tmp_path / "job.yaml"
    job.write_text(json.dumps({"command": [seen.program, "{}"], "items_file": "list"}))
    server = None
    if verb == "submit":
        server = Server(drover)
        worker(server)
    sources = [(["-0", "--items", list_of(items, b"\0"), "--", seen.program, "{}"], None, items),
               (["-0", "--items", "-", "--", seen.program, "{}"], joined(items, b"\0"), items),
               (["-0", "--items", "-", "--", seen.program, "{}"], b"a\0\0b", words),
               (["--", seen.program, "{}", ":::", *words], None, words),
               (["--items", "-", "--", seen.program, "{}"], b"a\n\n\nb\n\n", [b"a", b"b"])]
    if verb == "submit":
        sources.append(([job, "-0"], None, items))
    for number, (arguments, given, wanted) in enumerate(sources):
        if server is None:
            ended = drover("run", *arguments, input=given)
            assert ended.status == 0, ended
            check_kept(drover, seen, wanted)
        else:
            name = f"job{number}"
            done = server.cli("submit", "--name", name, *arguments, input=given)
            assert done.status == 0, done
            assert server.ends(name)["counts"]["succeeded"] == len(wanted)
            assert seen() == {index: [item] for index, item in enumerate(wanted)}, arguments
        for index in range(len(wanted)):
            (tmp_path / "seen" / str(index)).unlink()


def test_items_come_from_standard_input(drover, seen):
    ended = drover("run", "--items", "-", "--", seen.program, "{}", input=joined(HOSTILE))
    assert ended.status == 0, ended
    check_kept(drover, seen, HOSTILE)


def test_nul_separated_items_come_from_standard_input(drover, seen):
    ended = drover("run", "--items", "-", "-0", "--", seen.program, "{}", input=joined(WITH_NEWLINES, b"\0"))
    assert ended.status == 0, ended
    check_kept(drover, seen, WITH_NEWLINES)


def test_items_come_from_a_pipe_that_has_a_path(drover, seen):
    read_end, write_end = os.pipe()
    os.write(write_end, b"a\nb\n")
    os.close(write_end)
    ended = drover("run", "--items", f"/dev/fd/{read_end}", "--", seen.program, pass_fds=[read_end])
    os.close(read_end)
    assert ended.status == 0, ended
    check_kept(drover, seen, [b"a", b"b"])


def test_items_come_from_the_words_behind_three_colons(drover, seen):
    items = [item for item in HOSTILE if item != b":::"] + WITH_NEWLINES + [b""]
    ended = drover("run", "--", seen.program, "{}", ":::", *items)
    assert ended.status == 0, ended
    check_kept(drover, seen, items)


def test_the_two_dashes_before_the_command_may_be_left_out(drover, seen):
    ended = drover("run", "--jobs", 1, seen.program, "{}", ":::", "a", "b")
    assert ended.status == 0, ended
    check_kept(drover, seen, [b"a", b"b"])


def test_a_range_is_the_numbers_from_first_to_last(drover, seen):
    ended = drover("run", "--range", "8-12", "--", seen.program)
    assert ended.status == 0, ended
    check_kept(drover, seen, [b"8", b"9", b"10", b"11", b"12"])


def test_a_range_of_a_million_numbers_costs_nothing_until_it_runs(drover):
    ended = drover.run("--range", "1-1000000", "--max-failures", 0, "--jobs", 1, "--", "false")
    assert ended.status == 1, ended
    assert ended.summary["total"] == 1_000_000
    assert drover.database(ended.summary["name"]).stat().st_size < 4 << 20


def test_files_below_a_folder_are_items_in_the_order_of_their_names(drover, seen, tmp_path):
    tree = tmp_path / "tree"
    for name in (b"b.txt", b"a.txt", b"sub/c.txt", b"sub/deep/d.txt", b"sub/.e.txt", b"with space.txt", b"new\nline.txt",
                 b"\xff.txt", b"other.gz", b"empty/"):
        path = os.path.join(os.fsencode(tree), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not name.endswith(b"/"):
            open(path, "wb").close()
    os.symlink("/", tree / "sub/loop")
    os.mkfifo(tree / "sub/fifo")
    ended = drover("run", "--dir", tree, "--", seen.program)
    assert ended.status == 0, ended
    expected = [b"a.txt", b"b.txt", b"new\nline.txt", b"other.gz", b"sub/.e.txt", b"sub/c.txt", b"sub/deep/d.txt",
                b"with space.txt", b"\xff.txt"]
    check_kept(drover, seen, [os.path.join(os.fsencode(tree), name) for name in expected])


def test_match_chooses_among_the_files_of_a_folder(drover, seen, tmp_path):
    tree = tmp_path / "tree"
    for name in ("a.gz", "b.txt", "sub/c.gz", "sub/d.gzip", "sub/deep/[x].gz"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    ended = drover("run", "--dir", tree, "--match", "*.gz", "--", seen.program)
    assert ended.status == 0, ended
    check_kept(drover, seen, [os.fsencode(tree / name) for name in ("a.gz", "sub/c.gz", "sub/deep/[x].gz")])


# --- how a list is cut into items


def test_empty_lines_are_no_items(drover, seen, tmp_path):
    (tmp_path / "list").write_bytes(b"\n\na\n\n\nb\n\n")
    assert drover("run", "--items", tmp_path / "list", "--", seen.program).status == 0
    check_kept(drover, seen, [b"a", b"b"])


def test_the_last_line_needs_no_newline(drover, seen, tmp_path):
    (tmp_path / "list").write_bytes(b"a\nb")
    assert drover("run", "--items", tmp_path / "list", "--", seen.program).status == 0
    check_kept(drover, seen, [b"a", b"b"])


def test_a_carriage_return_belongs_to_the_item_unless_the_first_line_ends_with_one(drover, seen, tmp_path):
    (tmp_path / "list").write_bytes(b"a\nb\r\n\rc\n")
    assert drover("run", "--items", tmp_path / "list", "--", seen.program).status == 0
    check_kept(drover, seen, [b"a", b"b\r", b"\rc"])


def test_the_same_item_twice_is_two_items(drover, seen, list_of):
    assert drover("run", "--items", list_of([b"a", b"a", b"a"]), "--", seen.program).status == 0
    check_kept(drover, seen, [b"a", b"a", b"a"])


def test_a_nul_byte_in_a_list_of_lines_is_refused_and_0_is_named(drover, list_of):
    drover("run", "--items", list_of([b"a", b"b\0c"]), "--", "true").refuses("item 1", "-0")


def test_a_line_without_an_end_is_refused(drover, tmp_path):
    with open(tmp_path / "list", "wb") as file:
        file.write(b"first\n")
        file.truncate(64 << 20)
    drover("run", "--items", tmp_path / "list", "-0", "--", "true", ":::").refuses(":::")
    with open(tmp_path / "list", "wb") as file:
        file.write(b"first\n" + b"x" * (20 << 20))
    drover("run", "--items", tmp_path / "list", "--", "true").refuses("item 1", str(tmp_path / "list"))


def test_an_item_too_long_for_any_command_line_fails_by_name_and_its_neighbours_run(drover, seen, list_of):
    items = [b"before", b"k" * 200_000, b"after"]
    ended = drover.run("--retries", 0, "--items", list_of(items), "--", seen.program)
    assert ended.status == 1, ended
    assert seen() == {0: [b"before"], 2: [b"after"]}
    name = ended.summary["name"]
    assert drover.rows(name, "SELECT item, state, ending, exit_code, signal FROM items ORDER BY item") == [
        (0, "succeeded", "exited", 0, None), (1, "failed", "not_started", None, None), (2, "succeeded", "exited", 0, None)]
    (reason,), = drover.rows(name, "SELECT reason FROM items WHERE item = 1")
    assert "too long" in reason.lower(), reason
    assert [group["what"] for group in ended.summary["failures"]] == ["could not start"]


def test_an_item_too_long_for_the_environment_alone_runs_without_its_variable(drover, seen, list_of):
    ended = drover.run("--items", list_of([b"k" * 200_000, b"after"]), "--", seen.program, "{#}")
    assert ended.status == 0, ended
    assert seen() == {0: [b"1"], 1: [b"2"]}


# --- placeholders


@pytest.fixture
def parallel(tmp_path, script):
    """What GNU parallel passes for the same words and items."""
    show = script("show", "printf '%s\\0' \"$@\"; printf END")

    def run(words, items):
        out = subprocess.run(
            ["parallel", "--will-cite", "-k", "-0", "-a", "-", show, *words], input=joined(items, b"\0"), check=True,
            stdout=subprocess.PIPE, env={**os.environ, "HOME": str(tmp_path)}).stdout
        return {index: one.split(b"\0")[:-1] for index, one in enumerate(out.split(b"END")[:-1])}

    return run


def test_placeholders_mean_what_gnu_parallel_means_by_them(drover, seen, parallel, list_of):
    words = ["{}", "{/}", "{.}", "{//}", "{#}", "{/.}"]
    ended = drover("run", "-0", "--items", list_of(PATHS, b"\0"), "--", seen.program, *words)
    assert ended.status == 0, ended
    ours, theirs = seen(), parallel(words, PATHS)
    assert {(word, item): ours[index][at] for index, item in enumerate(PATHS) for at, word in enumerate(words)} == {
        (word, item): theirs[index][at] for index, item in enumerate(PATHS) for at, word in enumerate(words)}


def test_placeholders_are_filled_in_inside_words_and_more_than_once(drover, seen, parallel, list_of):
    items = [path for path in PATHS if not path.endswith(b".")]
    words = ["out/{/.}-{#}.png", "{}{}", "{//}/x/{/}", "--in={}", "{.}.{.}", "{{}}", "{x}", "}{"]
    ended = drover("run", "-0", "--items", list_of(items, b"\0"), "--", seen.program, *words)
    assert ended.status == 0, ended
    assert seen() == parallel(words, items)


def test_without_a_placeholder_the_item_is_the_last_argument(drover, seen, list_of):
    ended = drover("run", "--items", list_of(HOSTILE), "--", seen.program, "a b", "-c", "$x")
    assert ended.status == 0, ended
    assert seen() == {index: [b"a b", b"-c", b"$x", item] for index, item in enumerate(HOSTILE)}


def test_the_command_itself_may_be_a_placeholder(drover, script, tmp_path):
    programs = [script(name, f"echo {name} > {tmp_path}/{name}.ran") for name in ("one", "two")]
    ended = drover("run", "--", "{}", ":::", *programs)
    assert ended.status == 0, ended
    assert (tmp_path / "one.ran").exists() and (tmp_path / "two.ran").exists()


def test_an_item_that_is_no_program_fails_alone_where_the_item_is_the_command(drover):
    ended = drover.run("--", "{}", ":::", "/bin/true", "/nonexistent/program", "/etc/passwd")
    assert ended.status == 1, ended
    assert drover.rows(ended.summary["name"], "SELECT state, ending FROM items ORDER BY item") == [
        ("succeeded", "exited"), ("failed", "not_started"), ("failed", "not_started")]


# --- with a shell


def test_a_shell_sees_an_item_only_in_quotes(drover, list_of, tmp_path):
    items = [item for item in HOSTILE if len(item) < 50_000] + WITH_NEWLINES
    ended = drover("run", "--shell", "-0", "--items", list_of(items, b"\0"), "--",
                   f"printf %s {{}} > {tmp_path}/$DROVER_ITEM_INDEX.seen && test -n {{}}")
    assert ended.status == 0, ended
    assert [(tmp_path / f"{index}.seen").read_bytes() for index in range(len(items))] == items
    assert not (tmp_path / "pwned").exists()


def test_a_shell_line_may_have_pipes_and_variables(drover, tmp_path):
    ended = drover("run", "--shell", "--", f"printf '%s' {{}} | tr a-z A-Z > {tmp_path}/$DROVER_ITEM_INDEX; exit 0",
                   ":::", "it's", "a & b")
    assert ended.status == 0, ended
    assert (tmp_path / "0").read_text() == "IT'S" and (tmp_path / "1").read_text() == "A & B"


def test_a_shell_line_without_a_placeholder_gets_the_item_at_its_end(drover, seen):
    ended = drover("run", "--shell", "--", shlex.quote(seen.program), ":::", "a b", "$(touch pwned)")
    assert ended.status == 0, ended
    check_kept(drover, seen, [b"a b", b"$(touch pwned)"])


def test_other_placeholders_are_quoted_for_the_shell_too(drover, tmp_path):
    item = "/a dir; touch pwned/$(touch pwned) it's.txt"
    ended = drover("run", "--shell", "--", f"printf '%s\\n' {{}} {{/}} {{.}} {{//}} {{#}} {{/.}} > {tmp_path}/seen", ":::", item)
    assert ended.status == 0, ended
    assert (tmp_path / "seen").read_text().splitlines() == [
        item, "$(touch pwned) it's.txt", item[:-4], "/a dir; touch pwned", "1", "$(touch pwned) it's"]
    assert not (tmp_path / "pwned").exists()


# --- JSON lines


@pytest.fixture
def jsonl(tmp_path):
    def write(*lines):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / "list.jsonl").write_text("".join(f"{text}\n" for text in texts))
        return tmp_path / "list.jsonl"

    return write


def test_fields_of_json_lines_are_placeholders(drover, seen, jsonl):
    lines = jsonl({"url": "http://x/?a=1&b=2", "n": 7, "who": {"first": "Ann"}, "flag": True},
                  {"url": "it's \"quoted\" $(x) ü\n2", "n": -3, "who": [1, "b"], "flag": False})
    ended = drover("run", "--jsonl", lines, "--", seen.program, "{url}", "n={n}", "{who}", "{flag}", "{#}")
    assert ended.status == 0, ended
    assert seen() == {
        0: [b"http://x/?a=1&b=2", b"n=7", b'{"first": "Ann"}', b"true", b"1"],
        1: ["it's \"quoted\" $(x) ü\n2".encode(), b"n=-3", b'[1, "b"]', b"false", b"2"]}


@pytest.mark.parametrize("number", ["0", "0.5", "1.25", "-0.001", "1000000.5", "12345678901234567890", "0.1"])
def test_a_number_in_a_json_line_arrives_as_people_write_it(drover, seen, jsonl, number):
    ended = drover("run", "--jsonl", jsonl('{"n": %s}' % number), "--", seen.program, "{n}")
    assert ended.status == 0, ended
    assert seen() == {0: [number.encode()]}


def test_the_item_itself_of_a_json_line_is_the_line(drover, seen, jsonl):
    line = '{"b": 1, "a":  "x" }'
    ended = drover("run", "--jsonl", jsonl(line), "--", seen.program, "{}")
    assert ended.status == 0, ended
    check_kept(drover, seen, [line.encode()])


def test_without_a_placeholder_the_json_line_is_the_last_argument(drover, seen, jsonl):
    assert drover("run", "--jsonl", jsonl({"a": 1}), "--", seen.program).status == 0
    check_kept(drover, seen, [b'{"a": 1}'])


def test_json_fields_are_quoted_for_a_shell(drover, jsonl, tmp_path):
    text = "it's; touch pwned $(touch pwned)"
    ended = drover("run", "--shell", "--jsonl", jsonl({"a": text}), "--", f"printf %s {{a}} > {tmp_path}/seen")
    assert ended.status == 0, ended
    assert (tmp_path / "seen").read_text() == text and not (tmp_path / "pwned").exists()


def test_a_missing_field_is_refused_before_anything_runs_and_the_line_is_named(drover, seen, jsonl):
    ended = drover("run", "--jsonl", jsonl({"a": 1}, {"a": 2}, {"b": 3}), "--", seen.program, "{a}")
    ended.refuses("item 2", "'a'")
    assert seen() == {}


@pytest.mark.parametrize("line", ["not json", '{"a": 1', "[1]", '"text"', '{"a": 1} {"a": 2}'])
def test_a_line_that_is_no_json_object_is_refused_before_anything_runs(drover, seen, jsonl, line):
    drover("run", "--jsonl", jsonl({"a": 1}, line), "--", seen.program, "{a}").refuses("item 1")
    assert seen() == {}


def test_json_lines_come_from_standard_input(drover, seen):
    ended = drover("run", "--jsonl", "-", "--", seen.program, "{a}", input=b'{"a":"x"}\n{"a":"y"}\n')
    assert ended.status == 0, ended
    assert seen() == {0: [b"x"], 1: [b"y"]}


# --- what an attempt finds around it


def environment_of(path):
    return dict(entry.split(b"=", 1) for entry in path.read_bytes().split(b"\0") if entry)


def test_an_attempt_knows_its_job_its_item_and_its_number(drover, tmp_path, list_of):
    items = [b"a b", b"\xff'$x", b"-"]
    ended = drover.run("--retries", 1, "--items", list_of(items), "--", "sh", "-c",
                       'cat /proc/$$/environ > "$DROVER_ITEM_INDEX.$DROVER_ATTEMPT"; exit $((2 - DROVER_ATTEMPT))', "sh")
    assert ended.status == 0, ended
    for index, item in enumerate(items):
        for attempt in (1, 2):
            environment = environment_of(tmp_path / f"{index}.{attempt}")
            assert environment[b"DROVER_SLOT"].isdigit()
            assert {name: value for name, value in environment.items()
                    if name.startswith(b"DROVER_") and name not in (b"DROVER_DATA", b"DROVER_TEST_MARK", b"DROVER_BIN",
                                                                    b"DROVER_SOAK", b"DROVER_ENDURANCE", b"DROVER_SEED", b"DROVER_SLOT")} == {
                b"DROVER_JOB_ID": ended.summary["id"].encode(), b"DROVER_ITEM": item,
                b"DROVER_ITEM_INDEX": b"%d" % index, b"DROVER_ATTEMPT": b"%d" % attempt}


def test_the_environment_is_the_users_with_env_over_it(drover, tmp_path):
    ended = drover("run", "--env", "A=1", "--env", "B=x=y z", "--env", "EMPTY=", "--env", "OVER=new", "--env", "A=2", "--",
                   "sh", "-c", "cat /proc/$$/environ > seen", ":::", "1", env={"OVER": "old", "KEPT": "kept $HOME"})
    assert ended.status == 0, ended
    environment = environment_of(tmp_path / "seen")
    for name, value in {b"A": b"2", b"B": b"x=y z", b"EMPTY": b"", b"OVER": b"new", b"KEPT": b"kept $HOME"}.items():
        assert environment[name] == value


def test_a_program_is_looked_up_in_the_path_that_env_sets(drover, script, tmp_path):
    script("only-here", f"touch {tmp_path}/ran")
    ended = drover("run", "--env", f"PATH={tmp_path}:/bin", "--", "only-here", ":::", "1")
    assert ended.status == 0, ended
    assert (tmp_path / "ran").exists()


def test_a_command_runs_in_the_workdir(drover, script, tmp_path):
    (tmp_path / "work").mkdir()
    script("work/here", "pwd > seen")
    for workdir in ("work", tmp_path / "work", "work/"):
        ended = drover("run", "--workdir", workdir, "--", "./here", ":::", "1")
        assert ended.status == 0, ended
        assert (tmp_path / "work/seen").read_text() == f"{tmp_path}/work\n"
        (tmp_path / "work/seen").unlink()


def test_without_a_workdir_a_command_runs_where_drover_was_started_and_again_where_it_is_resumed(drover, tmp_path):
    (tmp_path / "there").mkdir()
    line = ("run", "--name", "w", "--max-failures", 0, "--jobs", 1, "--", "sh", "-c", 'pwd > "seen.$1"; test -e go', "sh",
            ":::", "a", "b")
    assert drover(*line, cwd=tmp_path / "there").status == 1
    (tmp_path / "there/go").touch()
    assert drover("retry", "w", cwd="/").status == 0
    assert (tmp_path / "there/seen.b").read_text() == f"{tmp_path}/there\n"


def test_out_keeps_the_whole_output_of_every_item_in_files(drover, tmp_path):
    ended = drover("run", "--out", "files", "--", "sh", "-c",
                   'echo "out $1"; echo "err $1" >&2; head -c 200000 /dev/zero', "sh", ":::", "a", "b")
    assert ended.status == 0, ended
    for index, item in enumerate("ab"):
        assert (tmp_path / f"files/{index}.out").read_bytes() == b"out %s\n" % item.encode() + bytes(200_000)
        assert (tmp_path / f"files/{index}.err").read_text() == f"err {item}\n"
    assert sorted(os.listdir(tmp_path / "files")) == ["0.err", "0.out", "1.err", "1.out"]


def test_out_holds_what_the_last_attempt_printed(drover, tmp_path):
    ended = drover("run", "--retries", 1, "--out", tmp_path / "files", "--", "sh", "-c",
                   'echo "attempt $DROVER_ATTEMPT"; exit $((2 - DROVER_ATTEMPT))', ":::", "a")
    assert ended.status == 0, ended
    assert (tmp_path / "files/0.out").read_text() == "attempt 2\n"


def test_an_item_has_three_descriptors_whatever_drover_was_given(drover, tmp_path):
    extra = os.open("/etc/passwd", os.O_RDONLY)
    ends = os.pipe()
    ended = drover("run", "--jobs", 2, "--out", "fd", "--", "sh", "-c", "ls /proc/$$/fd; true", ":::", *range(20),
                   pass_fds=[extra, *ends])
    for descriptor in (extra, *ends):
        os.close(descriptor)
    assert ended.status == 0, ended
    assert {(tmp_path / f"fd/{index}.out").read_text() for index in range(20)} == {"0\n1\n2\n"}


def test_standard_input_of_an_item_is_dev_null(drover, tmp_path):
    ended = drover("run", "--items", "-", "--jobs", 1, "--", "sh", "-c", 'readlink /proc/$$/fd/0 > "in.$1"; cat', "sh",
                   input=b"a\nb\nc\n")
    assert ended.status == 0, ended
    assert [(tmp_path / f"in.{item}").read_text() for item in "abc"] == ["/dev/null\n"] * 3


def test_an_item_leads_a_process_group_of_its_own(drover, tmp_path):
    ended = drover("run", "--", "sh", "-c", 'echo $$ $(cut -d" " -f5 /proc/$$/stat) > "group.$1"', "sh", ":::", "a", "b")
    assert ended.status == 0, ended
    groups = [(tmp_path / f"group.{item}").read_text().split() for item in "ab"]
    assert all(pid == group for pid, group in groups) and groups[0] != groups[1]


def test_an_item_begins_with_no_signal_blocked_or_ignored(drover, tmp_path):
    ended = drover("run", "--", "sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status > seen", ":::", "a",
                   preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
    assert ended.status == 0, ended
    assert {int(line.split()[1], 16) for line in (tmp_path / "seen").read_text().splitlines()} == {0}
