"""Jobs whose items are the messages of a stream, with workers that are killed."""

import random
import time

import pytest

from drover import SOAK, wait_until
from test_server import Server, submit, worker
from test_streams import counts, create, drained
from test_verbs import said

MESSAGES = 20_000 if SOAK else 2_000


@pytest.fixture
def plain(drover):
    return Server(drover)


def send(server, stream, lines):
    said(server.cli("stream", "send", stream, input="".join(f"{it}\n" for it in lines).encode()))


def ended(server, name, seconds=60):
    wait_until(lambda: server.job(name)["ended_ms"], f"{name} to end", seconds)
    return server.job(name)


def test_success_deletes_a_message_and_failure_ends_in_the_dead_letters(plain):
    create(plain, "dead")
    create(plain, "photos", "--visibility", "1s", "--max-receives", 2, "--dead-letters", "dead")
    send(plain, "photos", [f"photo-{n}" for n in range(20)])
    done = plain.cli("submit", "--name", "all", "--stream", "photos", "--until-empty", "--", "sh", "-c", "echo saw $1; test $1 != photo-7", "sh", "{}")
    said(done, "the messages of stream 'photos'")
    worker(plain)
    shown = ended(plain, "all")
    assert (shown["state"], shown["counts"]["succeeded"], shown["counts"]["failed"], shown["stream"]) == ("failed", 19, 2, "photos")
    assert drained(plain, "dead") == [b"photo-7"]
    assert counts(plain, "photos") == (0, 0, 0)
    lines = {plain.cli("logs", f"all:{n}").out.strip() for n in range(shown["total"])}
    assert lines == {f"saw photo-{n}" for n in range(20)}
    refused = plain.cli("retry", "all")
    assert refused.status != 0 and "stream 'photos'" in refused.err, refused


def test_an_open_job_waits_for_messages_and_gives_back_what_it_did_not_run(plain):
    create(plain, "frames")
    go = plain.drover.data / "go"
    submit(plain, "endless", "--stream", "frames", "--max-running", 2, "--", "sh", "-c", f"until test -e {go}; do sleep 0.05; done; echo $1", "sh", "{}")
    assert "has no message to receive" in plain.cli("why", "endless").out
    worker(plain)
    send(plain, "frames", range(5))
    wait_until(lambda: plain.job("endless")["counts"]["running"] == 2, "two of them to run")
    assert counts(plain, "frames") == (3, 2, 0)
    assert plain.cli("items", "endless").out.count("running") == 2
    go.touch()
    wait_until(lambda: plain.job("endless")["counts"]["succeeded"] == 5, "all of them to be processed")
    assert plain.job("endless")["state"] == "running"
    go.unlink()
    send(plain, "frames", range(5, 8))
    wait_until(lambda: plain.job("endless")["counts"]["running"] == 2, "two others to run")
    said(plain.cli("cancel", "endless"))
    assert ended(plain, "endless")["state"] == "cancelled"
    wait_until(lambda: counts(plain, "frames") == (3, 0, 0), "the messages to be back")
    assert sorted(drained(plain, "frames")) == [b"5", b"6", b"7"]


def test_fields_of_json_messages_are_placeholders(plain):
    create(plain, "objects")
    send(plain, "objects", ['{"key": "a.png", "size": 3}', '{"key": "b.png", "size": 4}'])
    worker(plain)
    path = plain.drover.data / "job.yaml"
    path.write_text("name: keys\nstream: objects\nuntil_empty: true\nitem_kind: json\ncommand: [echo, '{key}', '{size}']\n")
    said(plain.cli("submit", path))
    ended(plain, "keys")
    assert {plain.cli("logs", f"keys:{n}").out.strip() for n in range(2)} == {"a.png 3", "b.png 4"}


def test_what_makes_no_sense_is_refused(plain):
    create(plain, "some")
    command = ("--", "true", "{}")
    for flags, words in [(("--stream", "none"), "stream 'none' not found"),
                         (("--stream", "some", "--range", "1-3"), "--stream cannot be combined with a list of items"),
                         (("--range", "1-3", "--until-empty"), "has none"),
                         (("--stream", "some", "--sequential"), "cannot be sequential"),
                         (("--stream", "some", "--max-failures", "5%"), "cannot be a percentage")]:
        done = plain.cli("submit", *flags, *command)
        assert done.status != 0 and words in done.err and "next:" in done.err, (flags, done)


def test_every_message_is_processed_although_workers_are_killed(plain):
    """Poisoned ones are in the stream for dead letters at the end, and the others are not."""
    create(plain, "dead")
    create(plain, "work", "--visibility", "1s", "--max-receives", 3, "--dead-letters", "dead")
    seen = plain.drover.data / "seen"
    seen.mkdir()
    submit(plain, "all", "--stream", "work", "--until-empty", "--", "sh", "-c", f"case $1 in *13) exit 1;; esac; : > {seen}/$1", "sh", "{}")
    assert plain.job("all")["state"] == "succeeded", "the stream was empty"
    send(plain, "work", range(MESSAGES))
    submit(plain, "every", "--stream", "work", "--until-empty", "--", "sh", "-c", f"case $1 in *13) exit 1;; esac; : > {seen}/$1", "sh", "{}")
    rng = random.Random(5)
    workers = {name: worker(plain, name=name, cpus=4) for name in ("a", "b", "c")}
    kills = 0
    end = time.monotonic() + (900 if SOAK else 240)
    while not plain.job("every")["ended_ms"]:
        assert time.monotonic() < end, plain.job("every")
        time.sleep(rng.uniform(0.2, 0.8))
        if kills >= (60 if SOAK else 8):
            continue
        name = rng.choice(sorted(workers))
        workers[name].kill()
        workers[name] = worker(plain, name=name, cpus=4)
        kills += 1
    poisoned = {str(n) for n in range(MESSAGES) if str(n).endswith("13")}
    assert {it.name for it in seen.iterdir()} == {str(n) for n in range(MESSAGES)} - poisoned
    assert {it.decode() for it in drained(plain, "dead")} == poisoned
    assert counts(plain, "work") == (0, 0, 0)
    every = plain.job("every")
    assert every["counts"]["succeeded"] == MESSAGES - len(poisoned)
    assert every["counts"]["failed"] == 3 * len(poisoned)
    assert plain.rows("select count(*) from open_messages") == [(0,)]
