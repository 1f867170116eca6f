"""drover backup and drover restore: a server's folder in one file, taken while it works."""

import hashlib
import itertools
import json
import os
import stat
import subprocess
import threading
from random import Random

import pytest

from aws import Aws
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
    submit(server, "many", "--range", "1-1000000" if SOAK else "1-100000", "--", "sh", "-c", "echo line of $0", "{}")
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


class Objects:
    """Puts, multipart uploads and deletes without end, by threads; and what of it was acknowledged."""

    SIZES = (100, 70_000, 300_000)

    def __init__(self, server, threads):
        self.server, self.stopped, self.troubles = server, threading.Event(), []
        self.lock = threading.Lock()  # guards what follows: key → MD5, in the order of what was acknowledged
        self.there, self.deletes = {}, set()
        s3_of(server).create_bucket(Bucket="photos")
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        try:
            s3, random = s3_of(self.server), Random(number)
            for turn in itertools.count():
                if self.stopped.is_set():
                    return
                key = f"{number}/{turn}"
                if turn % 8 == 7:
                    parts = [random.randbytes(5 << 20), random.randbytes(1000)]
                    upload = s3.create_multipart_upload(Bucket="photos", Key=key)["UploadId"]
                    etags = [s3.upload_part(Bucket="photos", Key=key, UploadId=upload, PartNumber=n, Body=part)["ETag"] for n, part in enumerate(parts, 1)]
                    s3.complete_multipart_upload(Bucket="photos", Key=key, UploadId=upload, MultipartUpload={
                        "Parts": [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)]})
                    body = b"".join(parts)
                else:
                    body = random.randbytes(self.SIZES[turn % 3])
                    s3.put_object(Bucket="photos", Key=key, Body=body)
                with self.lock:
                    self.there[key] = hashlib.md5(body).hexdigest()
                if turn >= 10:
                    old = f"{number}/{turn - 10}"
                    if turn % 5 == 0:
                        continue  # this one stays
                    with self.lock:
                        self.deletes.add(old)
                    s3.delete_object(Bucket="photos", Key=old)
        except Exception as trouble:  # noqa: BLE001 (it is told by the test)
            self.troubles.append(trouble)

    def acknowledged(self):
        """What is there for certain: acknowledged, and no delete of it was sent."""
        with self.lock:
            return {key: digest for key, digest in self.there.items() if key not in self.deletes}

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(120)
        assert not self.troubles, self.troubles


def s3_of(server):
    return Aws(server).client("s3")


def md5_of(s3, key):
    return hashlib.md5(s3.get_object(Bucket="photos", Key=key)["Body"].read()).hexdigest()


def test_a_backup_taken_while_objects_come_and_go_has_each_of_them_whole(server, restored, tmp_path):
    objects = Objects(server, 4)
    try:
        for number in range(6 if SOAK else 2):
            before = len(objects.there)
            wait_until(lambda: objects.troubles or len(objects.there) > before + 40, "some objects")
            certain = objects.acknowledged()
            file = tmp_path / f"{number}.tar.zst"
            said = server.drover("backup", file, "--json").json_lines[0]
            stayed = {key: certain[key] for key in certain.keys() & objects.acknowledged().keys()}
            assert stayed and said["objects"] >= len(stayed)
            other = Server(restored(file, f"objects{number}"))
            s3 = s3_of(other)
            listed = [it["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket="photos") for it in page.get("Contents", [])]
            assert len(listed) == said["objects"] and not stayed.keys() - set(listed)
            # Whatever else is in it is whole, too, and no file is nobody's.
            with objects.lock:
                known = dict(objects.there)
            assert {key: md5_of(s3, key) for key in listed if key in known} == {key: known[key] for key in listed if key in known}
            index = other.drover.data / "server/objects/index.db"
            files = int(subprocess.run(["sqlite3", str(index), "select count(*) from files where uses > 0"], capture_output=True, text=True, check=True).stdout)
            on_disk = lambda: len([it for it in index.parent.rglob("*") if it.is_file() and not it.name.startswith("index.db")])
            assert on_disk() == files
            s3.put_object(Bucket="photos", Key="new", Body=b"x" * 100_000)
            assert md5_of(s3, "new") == hashlib.md5(b"x" * 100_000).hexdigest()
            other.kill()
    finally:
        objects.stop()
    # What was deleted while backups were made gives its space back.
    there = server.drover.data / "server/objects"
    wanted = lambda: int(subprocess.run(["sqlite3", f"file:{there}/index.db?mode=ro", "select count(*) from files"], capture_output=True, text=True).stdout or -1)
    wait_until(lambda: wanted() == len([it for it in there.rglob("*") if it.is_file() and not it.name.startswith("index.db")]), "the sweep")


def test_versions_settings_and_unfinished_uploads_come_back(server, restored, tmp_path):
    s3 = s3_of(server)
    s3.create_bucket(Bucket="photos")
    s3.put_bucket_versioning(Bucket="photos", VersioningConfiguration={"Status": "Enabled"})
    versions = [s3.put_object(Bucket="photos", Key="k", Body=body * 100_000)["VersionId"] for body in (b"1", b"2")]
    s3.delete_object(Bucket="photos", Key="k")
    s3.put_object(Bucket="photos", Key="tagged", Body=b"t", Tagging="a=b", Metadata={"camera": "x"})
    upload = s3.create_multipart_upload(Bucket="photos", Key="parts")["UploadId"]
    first = s3.upload_part(Bucket="photos", Key="parts", UploadId=upload, PartNumber=1, Body=b"p" * (5 << 20))["ETag"]
    file = tmp_path / "b.tar.zst"
    assert server.drover("backup", file, "--json").json_lines[0]["objects"] == 1

    s3 = s3_of(Server(restored(file)))
    assert s3.get_bucket_versioning(Bucket="photos")["Status"] == "Enabled"
    assert [s3.get_object(Bucket="photos", Key="k", VersionId=it)["Body"].read() for it in versions] == [b"1" * 100_000, b"2" * 100_000]
    assert len(s3.list_object_versions(Bucket="photos", Prefix="k")["DeleteMarkers"]) == 1
    assert s3.head_object(Bucket="photos", Key="tagged")["Metadata"] == {"camera": "x"}
    assert s3.get_object_tagging(Bucket="photos", Key="tagged")["TagSet"] == [{"Key": "a", "Value": "b"}]
    last = s3.upload_part(Bucket="photos", Key="parts", UploadId=upload, PartNumber=2, Body=b"end")["ETag"]
    s3.complete_multipart_upload(Bucket="photos", Key="parts", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": first}, {"PartNumber": 2, "ETag": last}]})
    assert md5_of(s3, "parts") == hashlib.md5(b"p" * (5 << 20) + b"end").hexdigest()
    newer = s3.put_object(Bucket="photos", Key="k", Body=b"3")["VersionId"]
    assert newer not in versions and s3.get_object(Bucket="photos", Key="k")["Body"].read() == b"3"


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
