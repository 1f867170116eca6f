"""drover backup and drover restore: a server's folder in one file, taken while it works."""

import json
import os
import stat
import subprocess

import pytest

from drover import SOAK, Drover, wait_until
from test_server import Server, check_all_succeeded_once, submit, worker


@pytest.fixture
def server(drover):
    return Server(drover, "--lease", "6s")


@pytest.fixture
def restored(tmp_path):
    """restored(file) is a Drover of its own with what is in a backup. What it started is gone when the test is."""
    all_of_them = []

    def restore(file, name="elsewhere"):
        (tmp_path / name).mkdir()
        other = Drover(tmp_path / name)
        all_of_them.append(other)
        done = other("restore", file)
        assert done.status == 0, done
        return other

    yield restore
    left = [other.clean_up() for other in all_of_them]
    assert not any(left), f"processes were left over: {left}"


def test_a_restored_server_has_every_job_and_log_and_goes_on(server, restored, gate, tmp_path):
    worker(server)
    submit(server, "done", "--range", "1-50", "--", "sh", "-c", "echo line of $0; test $0 != 7", "{}")
    assert server.ends("done")["counts"] == {"pending": 0, "waiting": 0, "running": 0, "succeeded": 49, "failed": 1, "cancelled": 0}
    submit(server, "half", "--range", "1-400", "--", "sh", "-c", f"test $0 -le 200 || {gate.word}; echo $0; sleep 0.01", "{}")
    wait_until(lambda: server.job("half")["counts"]["succeeded"] > 20, "some to end")
    file = tmp_path / "backup.tar.zst"
    said = server.drover("backup", file, "--json").json_lines[0]
    assert (said["jobs"], said["log_files"] > 0) == (2, True)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("backup*")) == ["backup.tar.zst"]
    gate.open()
    assert server.ends("half")["counts"]["succeeded"] == 400  # it was not disturbed

    other = Server(restored(file), "--lease", "3s")
    assert other.key != server.key
    listed = {job["name"]: job for job in other.ask("GET", "/api/v1/jobs")[1]["jobs"]}
    assert set(listed) == {"done", "half"} and listed["done"]["id"] == server.job("done")["id"]
    assert listed["done"]["counts"] == server.job("done")["counts"]
    for index in (0, 6, 49):
        assert other.cli("logs", f"done:{index}").out == f"line of {index + 1}\n"
    before = listed["half"]["counts"]["succeeded"]
    assert 20 < before < 400
    # What was out when it was taken goes out again once its leases have run out, and nothing ends twice.
    for row in other.rows("select item from attempts where job_name = 'half'"):
        assert other.cli("logs", f"half:{row[0]}").out == f"{row[0] + 1}\n"
        break
    worker(other, name="w2")
    assert other.ends("half", 120)["counts"]["succeeded"] == 400
    check_all_succeeded_once(other, "half", 400)
    assert other.cli("logs", "half:399").out == "400\n"


def test_backups_taken_in_full_work_are_each_whole(server, restored, tmp_path):
    """However they fall between commits: what a backup says has ended has its log."""
    for name in ("w1", "w2"):
        worker(server, name=name)
    submit(server, "many", "--range", "1-100000", "--", "sh", "-c", "echo line of $0", "{}")
    for number in range(10 if SOAK else 3):
        before = server.job("many")["counts"]["succeeded"]
        wait_until(lambda: server.job("many")["counts"]["succeeded"] > before + 50, "some progress")
        file = tmp_path / f"{number}.tar.zst"
        assert server.drover("backup", file).status == 0
        other = restored(file, f"at{number}")
        database = other.data / "server/drover.db"
        ask = lambda sql: subprocess.run(["sqlite3", str(database), sql], capture_output=True, text=True, check=True).stdout
        assert ask("PRAGMA integrity_check") == "ok\n"
        ended = int(ask("select count(*) from attempts"))
        assert before <= ended
        here = Server(other)
        last = int(ask("select max(item) from attempts"))
        for index in {0, last // 2, last}:
            if ask(f"select count(*) from attempts where item = {index}") == "1\n":
                assert here.cli("logs", f"many:{index}").out == f"line of {index + 1}\n"
        found = here.ask("GET", "/api/v1/jobs/many/search?grep=line&limit=1000000")[1]
        assert found.count("\n") == ended
        here.kill()
    server.cli("cancel", "many")


def test_what_cannot_be_backed_up_or_restored_is_named(server, tmp_path):
    file = tmp_path / "b.tar.zst"
    assert server.drover("backup", file).status == 0
    server.drover("backup", file).refuses("exists", "choose another name")
    server.drover("backup", tmp_path / "no/such/place.tar.zst").refuses("no/such/place.tar.zst")
    server.drover("restore", file).refuses("exists", "choose another --data")
    (tmp_path / "empty").mkdir()
    nobody = Drover(tmp_path / "empty")
    nobody("backup", tmp_path / "c.tar.zst").refuses("no server ledger found", "--data")
    nobody("restore", tmp_path / "missing").refuses("missing", "No such file")
    (tmp_path / "text").write_text("no backup at all")
    nobody("restore", tmp_path / "text").refuses("is not a Drover backup")
    whole = file.read_bytes()
    (tmp_path / "torn").write_bytes(whole[:len(whole) // 2])
    nobody("restore", tmp_path / "torn").refuses("torn")
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "keys.json").write_text("{}")
    subprocess.run(["tar", "-C", evil, "-cf", tmp_path / "evil.tar", "keys.json"], check=True)
    subprocess.run(["zstd", "-q", tmp_path / "evil.tar"], check=True)
    nobody("restore", tmp_path / "evil.tar.zst").refuses("is not a Drover backup")
    assert not (nobody.data / "server").exists() and not list(nobody.data.glob("server*"))


def test_a_server_short_of_disk_takes_no_new_jobs_and_finishes_the_old(drover):
    server = Server(drover)
    submit(server, "old", "--range", "1-20", "--", "true")
    server.stop()
    server.flags = ("--min-free", "1000TiB")
    server.start()
    status, problem = server.ask("POST", "/api/v1/jobs", {"command": ["true"], "items": ["a"]})
    assert (status, problem["code"]) == (507, "no_space") and "--min-free" in json.dumps(problem), problem
    assert server.ask("POST", "/api/v1/manifests", b"a\nb\n")[0] == 507
    refused = server.cli("submit", "--range", "1-3", "--", "true")
    assert refused.status == 1 and "the server's disk has" in refused.err and "--min-free" in refused.err, refused
    worker(server)
    assert server.ends("old")["counts"]["succeeded"] == 20
