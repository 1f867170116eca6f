"""Items whose objects are downloaded before their attempt and whose files are uploaded after it, as processes and in containers."""

import contextlib
import json
import signal
import socket
import threading

import images
import pytest

from drover import Gate, wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_server import submit, worker

UPPER = ["sh", "-c", "tr a-z A-Z <\"$0\" >\"$DROVER_OUTPUT_DIR/$(basename \"$0\")\"", "{}"]


@pytest.fixture
def bucket(server, aws):  # noqa: F811
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="photos")
    return s3


def fill(s3, count, prefix="in/"):
    for number in range(count):
        s3.put_object(Bucket="photos", Key=f"{prefix}{number:04} ü.txt", Body=f"item {number}".encode())


def contents(s3, prefix):
    out, pages = {}, s3.get_paginator("list_objects_v2").paginate(Bucket="photos", Prefix=prefix)
    for page in pages:
        for it in page.get("Contents", []):
            out[it["Key"]] = s3.get_object(Bucket="photos", Key=it["Key"])["Body"].read().decode()
    return out


def last_of(server, job, item=0):  # noqa: F811
    return server.cli("items", job, "--json").json_lines[item]


def staged_folders(server):  # noqa: F811
    return [str(path) for path in server.drover.data.glob("workers/*/items/*/*")]


def test_every_object_below_a_prefix_is_processed(server, bucket, drover):  # noqa: F811
    worker(server)
    fill(bucket, 100)
    submit(server, "upper", "--items", "s3://photos/in/", "--output", "s3://photos/out/", "--", *UPPER)
    assert server.ends("upper")["state"] == "succeeded"
    assert contents(bucket, "out/") == {f"out/{number:04} ü.txt": f"ITEM {number}" for number in range(100)}
    first = last_of(server, "upper")
    assert first["item"] == "s3://photos/in/0000 ü.txt"
    wait_until(lambda: not staged_folders(server), "the folders of items to be removed")


def test_in_containers_whoever_the_user_is(server, bucket, tmp_path):  # noqa: F811
    images.Image([images.busybox_layer()], Env=["PATH=/bin"], User="1234:1234").write_layout(tmp_path / "box")
    worker(server)
    fill(bucket, 8)
    for reuse in ([], ["--reuse"]):
        out = f"out{len(reuse)}"
        submit(server, out, "--image", f"oci:{tmp_path / 'box'}", *reuse, "--items", "s3://photos/in/*.txt", "--output", f"s3://photos/{out}/{{/.}}/", "--",
               "sh", "-c", 'tr a-z A-Z <"$DROVER_INPUT" >$DROVER_OUTPUT_DIR/up; mkdir $DROVER_OUTPUT_DIR/d; ls $DROVER_OUTPUT_DIR/../in | wc -l >$DROVER_OUTPUT_DIR/d/seen')
        assert server.ends(out)["state"] == "succeeded", server.cli("logs", out).out
        found = contents(bucket, out)
        assert [found[f"{out}/{number:04} ü/up"] for number in range(8)] == [f"ITEM {number}" for number in range(8)]
        assert [found[f"{out}/{number:04} ü/d/seen"] for number in range(8)] == ["1\n"] * 8


def test_json_items_name_their_object_in_a_field(server, bucket, tmp_path):  # noqa: F811
    worker(server)
    fill(bucket, 1)
    (tmp_path / "list.jsonl").write_text(json.dumps({"uri": "s3://photos/in/0000 ü.txt", "label": "cat"}) + "\n")
    submit(server, "labelled", "--jsonl", tmp_path / "list.jsonl", "--download", "--output", "s3://photos/by-label/{label}", "--",
           "sh", "-c", 'cp "$0" "$DROVER_OUTPUT_DIR/$1.txt"', "{uri}", "{label}")
    assert server.ends("labelled")["state"] == "succeeded"
    assert contents(bucket, "by-label/") == {"by-label/cat/cat.txt": "item 0"}


def test_lists_are_read_from_buckets_too(server, bucket):  # noqa: F811
    worker(server)
    fill(bucket, 2)
    bucket.put_object(Bucket="photos", Key="list.txt", Body="s3://photos/in/0001 ü.txt\ns3://photos/in/0000 ü.txt\n".encode())
    submit(server, "listed", "--items", "s3://photos/list.txt", "--download", "--", "cat", "{}")
    server.ends("listed")
    assert [server.cli("logs", f"listed:{item}").out for item in (0, 1)] == ["item 1", "item 0"]
    submit(server, "uris", "--items", "s3://photos/in/", "--no-download", "--", "echo", "{}")
    server.ends("uris")
    assert server.cli("logs", "uris:1").out == "s3://photos/in/0001 ü.txt\n"
    # What cannot be downloaded is refused before anything is submitted.
    for words in (["--items", "s3://photos/none/"], ["--items", "s3://photos/none"], ["--download", "--range", "1-3"], ["--output", "https://x/y", "--range", "1-3"]):
        refused = server.cli("submit", "--name", "none", *words, "--", "true")
        assert refused.status == 2 or refused.status == 1, refused
    assert "none" not in server.cli("jobs").out


def test_an_object_that_is_not_there_fails_its_item_and_says_so(server, bucket):  # noqa: F811
    worker(server)
    submit(server, "missing", "--download", "--", "cat", "{}", ":::", "s3://photos/none", "s3://nowhere/none")
    assert server.ends("missing")["state"] == "failed"
    for item, uri in enumerate(("s3://photos/none", "s3://nowhere/none")):
        reason = last_of(server, "missing", item)["last"]["reason"]
        assert "cannot download" in reason and uri in reason, reason


def test_what_fails_uploads_nothing_and_what_cannot_be_uploaded_fails(server, bucket):  # noqa: F811
    worker(server)
    submit(server, "fails", "--output", "s3://photos/out/", "--", "sh", "-c", "echo x >$DROVER_OUTPUT_DIR/x; exit 3", ":::", "a")
    assert server.ends("fails")["state"] == "failed" and contents(bucket, "out/") == {}
    submit(server, "nowhere", "--output", "s3://nowhere/out/", "--", "sh", "-c", "echo x >$DROVER_OUTPUT_DIR/x", ":::", "a")
    assert server.ends("nowhere")["state"] == "failed"
    last = last_of(server, "nowhere")["last"]
    assert last["exit_code"] == 74 and "cannot upload s3://nowhere/out/x" in last["reason"] and "NoSuchBucket" in last["reason"], last


def test_links_do_not_lead_out_of_the_output(server, bucket):  # noqa: F811
    worker(server)
    submit(server, "links", "--output", "s3://photos/out/", "--", "sh", "-c",
           "cd $DROVER_OUTPUT_DIR; ln -s /etc/passwd leak; ln -s /etc dir; echo fine >real; mkfifo pipe", ":::", "a")
    assert server.ends("links")["state"] == "succeeded"
    assert contents(bucket, "out/") == {"out/real": "fine\n"}


def test_a_cancel_reaches_what_waits_runs_and_is_uploaded(server, bucket, tmp_path):  # noqa: F811
    worker(server)
    fill(bucket, 6)
    gate = Gate(tmp_path / "gate")
    submit(server, "cancelled", "--items", "s3://photos/in/", "--output", "s3://photos/out/", "--", "sh", "-c", gate.word)
    wait_until(lambda: server.job("cancelled")["counts"]["running"] == 2, "two to run")
    assert server.cli("cancel", "cancelled").status == 0
    wait_until(lambda: server.job("cancelled")["counts"]["running"] == 0, "them to stop")
    wait_until(lambda: not staged_folders(server), "the folders of items to be removed")
    assert contents(bucket, "out/") == {}


def test_workers_that_are_killed_lose_no_item_and_leave_no_folder(server, bucket, tmp_path):  # noqa: F811
    running = [worker(server, name=f"w{number}") for number in range(2)]
    fill(bucket, 60)
    submit(server, "killed", "--items", "s3://photos/in/", "--output", "s3://photos/out/", "--", "sh", "-c", f"sleep 0.1; {' '.join(UPPER[2:3])}", "{}")
    for victim in range(4):
        wait_until(lambda: server.job("killed")["counts"]["succeeded"] >= 10 * (victim + 1), "items to succeed")
        number = victim % 2
        running[number].kill()
        running[number] = worker(server, name=f"w{number}")
    assert server.ends("killed")["state"] == "succeeded"
    assert contents(bucket, "out/") == {f"out/{number:04} ü.txt": f"ITEM {number}" for number in range(60)}
    wait_until(lambda: not staged_folders(server), "the folders of items to be removed")


def test_repro_brings_the_object_and_keeps_what_is_written(server, bucket, drover):  # noqa: F811
    worker(server)
    fill(bucket, 1)
    submit(server, "again", "--items", "s3://photos/in/", "--output", "s3://photos/out/", "--", "sh", "-c",
           'cat "$0"; cp "$0" $DROVER_OUTPUT_DIR/copy; exit 3', "{}")
    assert server.ends("again")["state"] == "failed"
    done = server.cli("repro", "again:0")
    assert done.status == 3 and done.out == "item 0", done
    folder, = [word for word in done.err.split() if word.startswith("/tmp/drover-item-")]
    assert open(f"{folder.rstrip(';,')}/copy").read() == "item 0" and contents(bucket, "out/") == {}


@pytest.fixture
def silent_site():
    """A web server that takes requests and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def take():
        with contextlib.suppress(OSError):
            while True:
                taken.append(listener.accept()[0])

    threading.Thread(target=take, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", taken
    listener.close()
    for connection in taken:
        connection.close()


def test_a_store_that_never_answers_keeps_neither_a_cancel_nor_a_worker(server, silent_site):  # noqa: F811
    address, taken = silent_site
    running = worker(server)
    submit(server, "hangs", "--timeout", "1s", "--download", "--", "cat", "{}", ":::", f"{address}/a", f"{address}/b")
    wait_until(lambda: len(taken) >= 2, "both to be asked for")
    wait_until(lambda: server.job("hangs")["counts"]["running"] == 2, "both to be named as running, past their time limit")
    assert server.cli("cancel", "hangs").status == 0
    wait_until(lambda: server.job("hangs")["counts"]["running"] == 0, "the downloads to be given up")
    submit(server, "hangs-too", "--download", "--", "cat", "{}", ":::", f"{address}/c")
    wait_until(lambda: len(taken) >= 3, "it to be asked for")
    running.signal(signal.SIGTERM)
    wait_until(lambda: running.says("draining"), "it to drain")
    running.signal(signal.SIGTERM)
    assert running.done().status == 0


def test_what_is_put_in_the_place_of_the_output_is_not_followed(server, bucket, tmp_path):  # noqa: F811
    worker(server)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("secret")
    item = f"rmdir $DROVER_OUTPUT_DIR; ln -s {tmp_path}/secret $DROVER_OUTPUT_DIR"
    submit(server, "swapped", "--output", "s3://photos/out/", "--", "sh", "-c", item, ":::", "a")
    assert server.ends("swapped")["state"] == "failed"
    assert "cannot upload" in last_of(server, "swapped")["last"]["reason"]
    submit(server, "removed", "--output", "s3://photos/out/", "--", "sh", "-c", "rm -r $DROVER_OUTPUT_DIR", ":::", "a")
    assert server.ends("removed")["state"] == "succeeded"
    assert contents(bucket, "out/") == {}


def test_an_item_does_not_choose_another_folder_for_its_output(server, tmp_path):  # noqa: F811
    refused = server.cli("submit", "--name", "escape", "--output", f"file://{tmp_path}/out/{{}}/", "--", "true", ":::", "../../escape")
    assert refused.status == 2 and "contains '.' or '..'" in refused.err, refused
