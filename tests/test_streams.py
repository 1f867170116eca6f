"""Streams as somebody uses them: drover stream and /api/v1/streams, from the first message to the last."""

import base64
import itertools
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from drover import BINARY, SOAK, wait_until
from test_api import Api
from test_metrics import figures
from test_server import Server
from test_verbs import rows, said

MANY = 200_000 if SOAK else 20_000


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.fixture
def api(server):
    return Api(server)


def create(server, name, *flags):
    return said(server.cli("stream", "create", name, *flags))


def shown(server, name):
    return server.cli("stream", "show", name, "--json").json_lines[0]


def counts(server, name):
    return tuple(shown(server, name)["counts"].values())


def drained(server, name):
    """The bodies of all messages, which are gone then."""
    done = server.cli("stream", "receive", name, "--max", 10**6, "--delete")
    assert done.status in (0, 1), done
    return done.raw_out.split(b"\n")[:-1]


def bodies(answer):
    return [it["body"] for it in answer["messages"]]


# --- streams


def test_a_stream_from_its_making_to_its_end(server):
    create(server, "failed")
    said(server.cli("stream", "create", "orders", "--visibility", "2m", "--delay", "0s", "--retention", "1d", "--wait", "1s", "--max-message", "2KiB",
                    "--max-receives", 5, "--dead-letters", "failed"), "new stream 'orders'", "2m", "1d", "2.0 KiB", "moved to 'failed' after 5 receives")
    server.cli("stream", "create", "orders").refuses("orders", "already exists", "drover stream set orders")
    now = shown(server, "orders")
    assert (now["visibility_ms"], now["retention_ms"], now["wait_ms"], now["max_message_bytes"], now["max_receives"], now["dead_letters"]) == (
        120_000, 86_400_000, 1_000, 2048, 5, "failed")
    assert now["version"] == 1 and now["owner"] == "first" and not now["fifo"] and now["oldest_ms"] is None
    said(server.cli("stream", "set", "orders", "--max-receives", 0, "--dead-letters", "", "--visibility", "1h30m"), "1h30m")
    now = shown(server, "orders")
    assert (now["visibility_ms"], now["retention_ms"], now["dead_letters"], now["version"]) == (5_400_000, 86_400_000, None, 2)
    said(server.cli("stream", "send", "orders", "a", "b"), "2 messages sent to stream 'orders'")
    listed = {row["NAME"]: row for row in rows(server.cli("stream", "list"))}
    assert listed["orders"]["VISIBLE"] == "2" and listed["failed"]["VISIBLE"] == "0"
    said(server.cli("stream", "purge", "orders"))
    assert counts(server, "orders") == (0, 0, 0) and shown(server, "orders")["purged_ms"] > 0
    said(server.cli("stream", "delete", "orders"), "deleted")
    server.cli("stream", "show", "orders").refuses("orders", "drover stream list")
    for part in ("set", "delete", "purge", "send", "receive"):
        server.cli("stream", part, "orders", *{"set": ["--delay", "1s"], "send": ["a"]}.get(part, [])).refuses("stream 'orders' not found")
    assert [it["name"] for it in server.cli("stream", "list", "--json").json_lines[0]["streams"]] == ["failed"]


@pytest.mark.parametrize("words, names", [
    (["create", "a b"], ["a b", "letters"]), (["create", "a.b"], ["a.b"]), (["create", "x" * 81], ["80"]), (["create", "a", "--fifo"], ["a.fifo"]),
    (["create", "a", "--visibility", "13h"], ["--visibility", "12h"]), (["create", "a", "--visibility", "soon"], ["--visibility"]),
    (["create", "a", "--retention", "30s"], ["--retention", "1m"]), (["create", "a", "--max-message", "2MiB"], ["--max-message", "1MiB"]),
    (["create", "a", "--max-receives", "1001"], ["1001"]), (["create", "a", "--max-receives", "5"], ["--dead-letters"]),
    (["create", "a", "--max-receives", "5", "--dead-letters", "none"], ["none", "drover stream create none"]),
    (["create", "a", "--max-receives", "5", "--dead-letters", "a"], ["its own"]), (["create", "a", "--deduplicate-content"], ["FIFO"]),
    (["set", "there"], ["nothing to change"]), (["set", "nowhere", "--delay", "1s"], ["nowhere"]), (["set", "there", "--delay", "1h"], ["--delay", "15m"]),
    (["send", "there", "a", "--file", "x"], ["--file"]), (["send", "there", "--file", "/no/where"], ["messages file /no/where"]),
    (["send", "there", ""], ["empty"]), (["send", "there", "a", "--delay", "16m"], ["15"]), (["send", "there", "a", "--delay", "x"], ["--delay"]),
    (["send", "there", "a", "--group", "g"], ["FIFO"]), (["receive", "there", "--follow"], ["--delete"]), (["receive", "there", "--max", "0"], ["--max"]),
    (["receive", "there", "--wait", "1m"], ["--wait", "20s"]), (["receive", "there", "--visibility", "1y"], ["--visibility"]), (["frobnicate"], ["frobnicate"]),
])
def test_what_cannot_be_said_of_a_stream(server, words, names):
    create(server, "there")
    server.cli("stream", *words).refuses(*names)
    assert [it["name"] for it in server.cli("stream", "list", "--json").json_lines[0]["streams"]] == ["there"]
    assert counts(server, "there") == (0, 0, 0)


def test_many_streams_come_in_pages(server, api):
    names = [f"s{number:03}" for number in range(250)]
    for name in names:
        api("PUT", f"streams/{name}")
    first = api("GET", "streams?limit=3")
    assert [it["name"] for it in first["streams"]] == names[:3] and first["next"] == "s002"
    assert [it["name"] for it in api("GET", "streams?after=s247")["streams"]] == names[248:]
    assert api("GET", "streams?after=s247")["next"] is None
    api("GET", "streams?limit=101", status=400)
    assert [row["NAME"] for row in rows(server.cli("stream", "list"))] == names


def test_changes_at_the_same_time_are_all_made(server, api):
    api("PUT", "streams/s")
    fields = [{"visibility": 7}, {"delay": 7}, {"wait": 7}, {"retention": 777}, {"max_message": 7777}]
    threads = [threading.Thread(target=api, args=("PUT", "streams/s", field)) for field in fields * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = shown(server, "s")
    assert (now["visibility_ms"], now["delay_ms"], now["wait_ms"], now["retention_ms"], now["max_message_bytes"]) == (7000, 7000, 7000, 777_000, 7777)
    assert now["version"] == 1 + len(threads)
    stale = api("PUT", "streams/s", {"delay": 0, "version": 1}, status=409)
    assert stale["code"] == "conflict" and shown(server, "s")["delay_ms"] == 7000
    assert api("PUT", "streams/s", {"delay": 0, "version": now["version"]})["delay_ms"] == 0


def test_keys_may_do_what_their_scope_says(server, api):
    api("PUT", "streams/s")
    keys = {scope: Api(server, api("POST", "keys", {"scope": scope}, 201)["token"]) for scope in ("read", "submit")}
    assert keys["read"]("GET", "streams/s")["name"] == "s"
    for method, path, body in (("PUT", "streams/t", {}), ("DELETE", "streams/s", None), ("POST", "streams/s/purge", None),
                               ("POST", "streams/s/messages", [{"body": "a"}]), ("POST", "streams/s/receive", {}),
                               ("POST", "streams/s/delete", {"receipts": ["1-1-1"]}), ("POST", "streams/s/visibility", {"receipts": ["1-1-1"], "visibility": 0})):
        assert keys["read"](method, path, body, status=403)["code"] == "denied"
        if method != "DELETE":
            keys["submit"](method, path, body)


# --- messages


def test_bodies_arrive_as_they_were_sent(server, tmp_path):
    create(server, "s")
    said(server.cli("stream", "send", "s", "plain", "two words", "--", "--dashes", "ünïcode"), "4 messages")
    (tmp_path / "lines").write_bytes(b"one\n\n\xff\xfe raw\nwith\0nul\nlast, no end")
    said(server.cli("stream", "send", "s", "--file", tmp_path / "lines"), "4 messages")
    said(server.cli("stream", "send", "s", input=b"crlf\r\nalso\r\n"), "2 messages")
    assert drained(server, "s") == ["plain".encode(), b"two words", b"--dashes", "ünïcode".encode(), b"one", b"\xff\xfe raw", b"with\0nul", b"last, no end",
                                    b"crlf", b"also"]
    assert counts(server, "s") == (0, 0, 0)


def test_json_lines_have_attributes_and_come_back(server, api):
    create(server, "s")
    lines = [{"body": "a", "attributes": {"colour": "red", "size": {"type": "Number", "value": "7"}}}, {"body_b64": base64.b64encode(b"\xff").decode()}]
    sent = said(server.cli("stream", "send", "s", "--json-lines", "--json", input="\n".join(map(json.dumps, lines)).encode())).json_lines[0]
    assert (sent["stream"], sent["sent"], sent["duplicates"]) == ("s", 2, 0)
    before = time.time() * 1000 - 60_000
    first, second = said(server.cli("stream", "receive", "s", "--max", 5, "--json")).json_lines
    assert first["attributes"] == {"colour": {"type": "String", "value": "red"}, "size": {"type": "Number", "value": "7"}}
    assert first["body"] == "a" and second["body_b64"] == "/w==" and "body" not in second
    assert first["receives"] == 1 and before < first["sent_ms"] <= first["first_received_ms"] and first["group"] is None
    assert counts(server, "s") == (0, 2, 0)
    deleted = api("POST", "streams/s/delete", {"receipts": [first["receipt"], second["receipt"]]})
    assert deleted["done"] == 2 and counts(server, "s") == (0, 0, 0)


@pytest.mark.parametrize("line, words", [
    (b"{", "not valid JSON"), (b"[]", "JSON object"), (b"{}", "body"), (b'{"body": "a", "colour": 1}', "colour"), (b'{"body": ""}', "empty"),
    (b'{"body": "a", "delay": "1h"}', "15"), (b'{"body": "' + b"x" * 1025 + b'"}', "1025 bytes"), (b'{"body": "a", "attributes": {"a b": "c"}}', "a b"),
], ids=itertools.count())
def test_a_line_that_cannot_be_sent_is_named_and_the_rest_can_follow(server, tmp_path, line, words):
    create(server, "s", "--max-message", "1KiB")
    good = [json.dumps({"body": str(number)}).encode() for number in range(1, 1301)]
    (tmp_path / "lines").write_bytes(b"\n".join([*good[:1200], b"", line, *good[1200:]]))
    done = server.cli("stream", "send", "s", "--json-lines", "--file", tmp_path / "lines").refuses("line 1202", words, "1,200 messages acknowledged", "--skip 1200")
    assert "1,200 messages sent" in done.out and counts(server, "s")[0] == 1200
    (tmp_path / "lines").write_bytes(b"\n".join([*good[:1200], b"", *good[1200:]]))
    said(server.cli("stream", "send", "s", "--json-lines", "--file", tmp_path / "lines", "--skip", 1200), "100 messages")
    assert [int(body) for body in drained(server, "s")] == list(range(1, 1301))


def test_many_messages_are_sent_and_received(server, tmp_path):
    create(server, "s")
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(MANY)))
    sent = said(server.cli("stream", "send", "s", "--file", tmp_path / "lines", "--json")).json_lines[0]
    assert sent["sent"] == MANY and counts(server, "s") == (MANY, 0, 0)
    server.kill()
    server.start()
    assert counts(server, "s") == (MANY, 0, 0)
    some = [int(body) for body in said(server.cli("stream", "receive", "s", "--max", 1005, "--delete")).out.split()]
    assert some == list(range(1005)) and counts(server, "s") == (MANY - 1005, 0, 0)


def test_lines_that_trickle_in_are_sent_at_once(server):
    create(server, "s")
    sending = server.drover.start("stream", "send", "s", stdin=subprocess.PIPE)
    for number in range(1, 4):
        sending.process.stdin.write(f"{number}\n".encode())
        sending.process.stdin.flush()
        wait_until(lambda number=number: counts(server, "s")[0] == number, "the line to arrive")
    sending.signal(signal.SIGINT)
    wait_until(lambda: not sending.alive(), "it to stop while its input is open")
    done = sending.done()
    assert done.status == 130 and "3 messages sent" in done.out and "--skip 3" in done.err, done


def test_a_server_that_dies_leaves_an_exact_count(server):
    create(server, "s")
    sending = server.drover.start("stream", "send", "s", stdin=subprocess.PIPE)
    sending.process.stdin.write(b"".join(b"%d\n" % number for number in range(2000)))
    sending.process.stdin.flush()
    wait_until(lambda: counts(server, "s")[0] == 2000, "all to arrive")
    server.kill()
    sending.process.stdin.write(b"2000\n2001\n")
    sending.process.stdin.close()
    sending.process.stdin = None
    done = sending.done()
    assert done.status != 0 and "2,000 messages acknowledged; continue with --skip 2000" in done.err, done
    # One line or both, as they came out of the pipe.
    assert "accepted messages 2,001 to 2,002 " in done.err or "accepted message 2,001 " in done.err, done
    server.start()
    assert counts(server, "s") == (2000, 0, 0)
    said(server.cli("stream", "send", "s", "--skip", 2000, input=b"".join(b"%d\n" % number for number in range(2002))), "2 messages")
    assert [int(body) for body in drained(server, "s")] == list(range(2002))


def test_what_was_not_printed_is_not_deleted(server):
    create(server, "s")
    said(server.cli("stream", "send", "s", *map(str, range(20))))
    reader, writer = os.pipe()
    os.close(reader)
    receiving = server.drover.start("stream", "receive", "s", "--max", "20", "--delete", stdout=writer)
    os.close(writer)
    done = receiving.done()
    assert done.status == 1, done
    wait_until(lambda: counts(server, "s") == (20, 0, 0), "the messages to come back")
    with open("/dev/full", "wb") as full:
        done = server.drover.start("stream", "receive", "s", "--max", "20", "--delete", stdout=full).done()
    assert done.status == 1 and "could not be written" in done.err, done
    wait_until(lambda: counts(server, "s") == (20, 0, 0), "the messages to come back")
    assert sorted(map(int, drained(server, "s"))) == list(range(20))


def test_a_receive_waits_for_the_first_message(server, api):
    create(server, "s")
    nothing = server.cli("stream", "receive", "s")
    assert nothing.status == 1 and nothing.out == "" and "no visible messages" in nothing.err
    receiving = server.drover.start("stream", "receive", "s", "--wait", "20s", "--delete")
    wait_until(lambda: api("GET", "streams/s")["receivers"] == 1, "it to wait")
    api("POST", "streams/s/messages", [{"body": "here"}])
    done = receiving.done()
    assert (done.status, done.out) == (0, "here\n") and counts(server, "s") == (0, 0, 0)


def test_receivers_that_hang_up_cost_no_receive(server, api):
    create(server, "dead")
    create(server, "work", "--max-receives", 2, "--dead-letters", "dead")
    for _ in range(3):
        connection = server.connection()
        connection.request("POST", "/api/v1/streams/work/receive", '{"wait": "20s"}', {"Authorization": f"Bearer {server.key}"})
        wait_until(lambda: shown(server, "work")["receivers"] == 1, "it to wait")
        connection.close()
        wait_until(lambda: shown(server, "work")["receivers"] == 0, "it to be noticed that it left")
    api("POST", "streams/work/messages", [{"body": "x"}])
    assert bodies(api("POST", "streams/work/receive", {})) == ["x"]
    assert counts(server, "dead") == (0, 0, 0)


def test_what_messages_say_is_for_those_who_may_receive_them(server, api):
    create(server, "secrets")
    api("POST", "streams/secrets/messages", [{"body": "x"}])
    refused = api("POST", "sql", {"query": "select content from message_contents"}, status=400)
    assert "message_contents.content" in json.dumps(refused)
    assert api("POST", "sql", {"query": "select count(*) from message_contents"})["rows"] == [[1]]


def test_a_receiver_that_hangs_up_hides_nothing(server, api):
    create(server, "s", "--visibility", "12h")
    receiving = server.drover.start("stream", "receive", "s", "--wait", "20s")
    wait_until(lambda: api("GET", "streams/s")["receivers"] == 1, "it to wait")
    receiving.kill()
    api("POST", "streams/s/messages", [{"body": "here"}])
    wait_until(lambda: counts(server, "s") == (1, 0, 0), "it to be visible")


def test_follow_receives_until_it_is_stopped(server):
    create(server, "s")
    following = server.drover.start("stream", "receive", "s", "--follow", "--delete")
    for number in range(3):
        said(server.cli("stream", "send", "s", *[f"{number}-{one}" for one in range(30)]))
        wait_until(lambda: counts(server, "s") == (0, 0, 0), "all to be received")
    following.signal(signal.SIGINT)
    done = following.done()
    assert done.out.split() == [f"{number}-{one}" for number in range(3) for one in range(30)], done


def test_a_message_is_hidden_until_its_time_is_over_or_it_is_given_back(server, api):
    create(server, "s", "--visibility", "12h")
    api("POST", "streams/s/messages", [{"body": "a"}, {"body": "later", "delay": "15m"}])
    assert counts(server, "s") == (1, 0, 1)
    one, = api("POST", "streams/s/receive", {"max": 10})["messages"]
    assert api("POST", "streams/s/receive", {"max": 10})["messages"] == [] and counts(server, "s") == (0, 1, 1)
    back = api("POST", "streams/s/visibility", {"receipts": [one["receipt"]], "visibility": 0})
    assert back == {"done": 1, "outcomes": [{"receipt": one["receipt"], "outcome": "done"}]}
    again, = api("POST", "streams/s/receive", {"visibility": "1s"})["messages"]
    assert again["id"] == one["id"] and again["receives"] == 2 and again["receipt"] != one["receipt"]
    stale = api("POST", "streams/s/visibility", {"receipts": [one["receipt"]], "visibility": 0})
    assert stale["done"] == 0 and stale["outcomes"][0]["outcome"] == "expired"
    third, = api("POST", "streams/s/receive", {"wait": "20s"})["messages"]
    assert third["receives"] == 3
    assert api("POST", "streams/s/delete", {"receipts": [third["receipt"]]})["done"] == 1 and counts(server, "s") == (0, 0, 1)


def test_a_message_that_nobody_can_process_becomes_a_dead_letter(server, api):
    create(server, "failed")
    create(server, "s", "--max-receives", 3, "--dead-letters", "failed", "--visibility", "0s")
    api("POST", "streams/s/messages", [{"body": "poison", "attributes": {"colour": "green"}}])
    receives = wait_until(lambda: (got := api("POST", "streams/s/receive")["messages"]) and got[0]["receives"] == 3 and got, "three receives")
    assert receives[0]["dead_letter_of"] is None
    wait_until(lambda: api("POST", "streams/s/receive")["messages"] == [] and counts(server, "failed")[0] == 1, "it to be moved")
    letter, = api("POST", "streams/failed/receive")["messages"]
    assert (letter["body"], letter["dead_letter_of"], letter["attributes"]["colour"]["value"]) == ("poison", "s", "green")


def test_a_fifo_stream_keeps_order_and_drops_duplicates(server, api):
    create(server, "s.fifo", "--deduplicate-content")
    said(server.cli("stream", "send", "s.fifo", "--group", "a", *map(str, range(30))), "30 messages")
    said(server.cli("stream", "send", "s.fifo", "--group", "a", "7", "30"), "2 messages", "1 of them duplicates")
    said(server.cli("stream", "send", "s.fifo", "--group", "b", "x"))
    server.cli("stream", "send", "s.fifo", "no group").refuses("no group")
    first = api("POST", "streams/s.fifo/receive", {"max": 3})["messages"]
    assert [it["body"] for it in first] == ["0", "1", "2"] and first[0]["group"] == "a" and len(first[0]["deduplication"]) == 64
    assert bodies(api("POST", "streams/s.fifo/receive", {"max": 3})) == ["x"], "the group is held by the first receiver"
    api("POST", "streams/s.fifo/delete", {"receipts": [it["receipt"] for it in first]})
    assert drained(server, "s.fifo") == [str(number).encode() for number in range(3, 31)]


@pytest.mark.parametrize("body, words", [
    (b"", "no messages"), (b"[]", "no messages"), (b"{", "message 1"), (b"[1]", "message 1"), (b'[{"body":"a"},{"body":""}]', "message 2"),
    (b'{"body":"a"}' * 501, "500"), (b'[{"body":"' + b"x" * (1 << 20) + b'y"}]', "1048577 bytes"),
], ids=itertools.count())
def test_a_send_is_taken_as_a_whole_or_not_at_all(server, api, body, words):
    create(server, "s")
    assert words in api("POST", "streams/s/messages", body, status=400)["detail"]
    assert counts(server, "s") == (0, 0, 0)


def test_messages_may_come_one_after_another(server, api):
    create(server, "s")
    api("POST", "streams/s/messages", b'{"body":"a"}\n{"body":"b"}\r\n\n {"body":\n"c"}{"body":"d"}')
    assert drained(server, "s") == [b"a", b"b", b"c", b"d"]


def test_a_send_that_is_too_long_is_refused(server, api):
    create(server, "s")
    status, answer = server.ask("POST", "/api/v1/streams/s/messages", b'{"body":"x"}' + b" " * (17 << 20))
    assert status == 413, answer
    lines = [{"body": "x" * 30_000} for _ in range(500)]
    assert len(api("POST", "streams/s/messages", lines)["messages"]) == 500


# --- what is seen of it


def test_figures_of_streams(server, api):
    create(server, "empty")
    create(server, "s")
    said(server.cli("stream", "send", "s", "a", "b", "c"))
    api("POST", "streams/s/messages", [{"body": "later", "delay": "1m"}])
    api("POST", "streams/s/receive")
    now = figures(server)
    assert [now["drover_stream_messages", *sorted([state, "s"])] for state in ("visible", "in_flight", "delayed")] == [2, 1, 1]
    assert now["drover_stream_messages", "empty", "visible"] == 0 == now["drover_stream_oldest_seconds", "empty"]
    assert 0 <= now["drover_stream_oldest_seconds", "s"] < 60 and now["drover_stream_receivers", "s"] == 0


def test_names_of_streams_are_completed(server):
    create(server, "orders")
    create(server, "failed")
    offered = lambda *words: [line.split("\t")[0] for line in server.cli("__complete", "--", *words).out.splitlines()[1:]]
    assert offered("stream", "show", "") == ["failed", "orders"] and offered("stream", "set", "orders", "--dead-letters", "f") == ["failed"]


def test_progress_on_a_terminal(server, terminal):
    create(server, "s")
    more = server.drover.folder / "more"
    os.mkfifo(more)
    typed = '(seq 1 1000; cat more) | "$0" stream send s; echo the end; exec cat'
    seen = terminal(100, 20, "sh", "-c", typed, BINARY, env={"DROVER_SERVER": server.address})
    seen.wait_for("1,000 messages sent to 's'")
    more.write_text("last\n")
    seen.wait_for("1,001 messages sent to stream 's'", "the end")
    assert "sent to 's'" not in seen.screen(), "the display is gone"
