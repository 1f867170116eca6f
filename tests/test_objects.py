"""drover objects: buckets of a server, files of this machine and a web site, listed and copied as people do it."""

import hashlib
import http.server
import json
import random
import subprocess
import threading

import pytest

from drover import BINARY
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_server import Server

LARGE = 40 << 20


@pytest.fixture
def objects(server):  # noqa: F811
    def run(*words, **options):
        return server.cli("objects", *words, **options)
    return run


@pytest.fixture
def photos(objects):
    assert objects("mb", "s3://photos").status == 0
    return "s3://photos"


@pytest.fixture
def site(tmp_path):
    """A web server with one folder; it knows no ranges."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=folder)

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()


def listed(objects, *words):
    return [json.loads(line) for line in objects("ls", "--json", *words).out.splitlines()]


def test_from_nothing_to_an_object_and_back(objects, photos, tmp_path):
    (tmp_path / "a.txt").write_text("hello\n")
    done = objects("cp", tmp_path / "a.txt", f"{photos}/in/")
    assert done.status == 0 and "1 object copied, 6 B" in done.out, done
    assert objects("cat", f"{photos}/in/a.txt").out == "hello\n"
    shown = objects("stat", f"{photos}/in/a.txt")
    assert "6 B (6 bytes)" in shown.out and "text/plain" in shown.out and "md5:b1946ac9" in shown.out, shown
    assert "in/" in objects("ls", photos).out and "a.txt" in objects("ls", f"{photos}/in/").out
    assert [it["uri"] for it in listed(objects)] == ["s3://photos"]
    assert objects("cp", f"{photos}/in/a.txt", f"{photos}/copy.txt").status == 0
    assert objects("cp", f"{photos}/copy.txt", tmp_path / "back").status == 0
    assert (tmp_path / "back").read_text() == "hello\n"
    assert objects("rm", f"{photos}/in/a.txt", f"{photos}/copy.txt", "--json").json_lines[0]["removed"] == 2
    assert objects("rb", photos).status == 0
    assert listed(objects) == []


def test_trees_go_up_and_come_down_the_same(objects, photos, tmp_path):
    own, files = random.Random(1), {}
    for number in range(300):
        name = f"{number % 7}/{number % 3} ü+&=/{number}.bin"
        files[name] = own.randbytes(own.choice([0, 1, 100, 70_000]))
        path = tmp_path / "up" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    sent = objects("cp", "-r", tmp_path / "up", f"{photos}/tree", "--json").json_lines[0]
    assert (sent["copied"], sent["failed"], sent["bytes"]) == (300, 0, sum(map(len, files.values()))), sent
    assert {it["key"]: it["size"] for it in listed(objects, "-r", f"{photos}/tree/")} == {f"tree/{name}": len(body) for name, body in files.items()}
    assert objects("cp", "-r", f"{photos}/tree/", tmp_path / "down").status == 0
    assert {str(path.relative_to(tmp_path / "down")): path.read_bytes() for path in (tmp_path / "down").rglob("*") if path.is_file()} == files
    assert len(listed(objects, f"{photos}/tree/3/*/*.bin")) == len([name for name in files if name.startswith("3/")])
    assert len(listed(objects, f"{photos}/**7.bin")) == len([name for name in files if name.endswith("7.bin")])
    would = objects("rm", "-r", "--dry-run", photos)
    assert would.out.count("would remove") == 300 and len(listed(objects, "-r", photos)) == 300
    assert objects("rm", f"{photos}/tree/1/**", "--json").json_lines[0]["removed"] == len([name for name in files if name.startswith("1/")])
    assert objects("rm", "-r", photos, "--quiet").status == 0 and listed(objects, photos) == []


def test_large_objects_travel_in_pieces_and_are_compared(objects, photos, drover, tmp_path, aws):  # noqa: F811
    body = random.Random(2).randbytes(LARGE)
    (tmp_path / "large").write_bytes(body)
    assert objects("cp", tmp_path / "large", f"{photos}/large").status == 0
    assert aws.client("s3").head_object(Bucket="photos", Key="large")["ETag"].endswith('-3"')
    assert objects("cp", f"{photos}/large", tmp_path / "back").status == 0
    assert hashlib.sha256((tmp_path / "back").read_bytes()).digest() == hashlib.sha256(body).digest()
    piped = subprocess.run([BINARY, "objects", "cp", "-", f"{photos}/piped"], input=body, env=drover.environment(), capture_output=True)
    assert piped.returncode == 0, piped
    assert objects("cp", f"{photos}/piped", tmp_path / "piped", "--quiet").out == ""
    assert (tmp_path / "piped").read_bytes() == body


def test_no_key_leads_out_of_the_folder_that_is_copied_to(objects, photos, tmp_path, aws):  # noqa: F811
    s3 = aws.client("s3")
    for key in ("in/../../evil", "in//evil", "in/./evil", "in/" + "x" * 300, "in/good"):
        s3.put_object(Bucket="photos", Key=key, Body=b"x")
    (tmp_path / "into").mkdir()
    done = objects("cp", "-r", f"{photos}/in/", tmp_path / "into")
    assert done.status == 1 and done.err.count("is not a valid file name") == 4 and "1 object copied" in done.out, done
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and "into" in str(path)] == ["good"]
    assert not list(tmp_path.parent.rglob("evil"))


def test_a_web_site_is_read(objects, photos, site, tmp_path):
    folder, address = site
    body = random.Random(3).randbytes(3_000_000)
    (folder / "model.pt").write_bytes(body)
    assert objects("cp", f"{address}/model.pt", f"{photos}/models/").status == 0
    assert objects("cp", f"{address}/model.pt", tmp_path / "model.pt").status == 0
    assert (tmp_path / "model.pt").read_bytes() == body
    assert [it["size"] for it in listed(objects, "-r", photos)] == [len(body)]
    assert "HTTP status 404" in objects("cat", f"{address}/none").refuses().err
    assert "cannot be listed" in objects("ls", f"{address}/").refuses().err
    assert "a web server keeps no objects" in objects("cp", tmp_path / "model.pt", f"{address}/x").refuses().err


def test_what_fails_is_named_and_the_rest_is_copied(objects, photos, tmp_path):
    (tmp_path / "good").write_text("x")
    for words, said in [
            (("cat", f"{photos}/none"), f"{photos}/none"),
            (("ls", f"{photos}/none/"), "no object begins with"),
            (("cp", "-r", f"{photos}/none/", tmp_path / "x"), "no object is below"),
            (("cat", f"{photos}/in/"), "add -r"),
            (("ls", "s3://nowhere"), "NoSuchBucket"),
            (("mb", "s3://photos/x"), "does not name a bucket"),
            (("mb", "s3://UPPER"), "not a valid bucket name"),
            (("cp", tmp_path / "good"), "what to copy and where to"),
            (("cp", tmp_path / "none", f"{photos}/x"), "none"),
            (("rm", "ftp://x/y"), "ftp")]:
        refused = objects(*words)
        assert refused.status != 0 and said in refused.err, (words, refused)
    assert objects("cp", tmp_path / "good", f"{photos}/a/", "--dry-run").out.startswith("would copy file://")
    assert listed(objects, "-r", photos) == []


def test_other_endpoints_and_keys_are_the_environments(objects, photos, aws, drover, tmp_path):  # noqa: F811
    variables = {"AWS_ENDPOINT_URL": aws.server.address, "AWS_ACCESS_KEY_ID": aws.id, "AWS_SECRET_ACCESS_KEY": aws.secret, "AWS_REGION": "us-east-1"}
    assert "photos" in drover("objects", "ls", env=variables).out
    wrong = drover("objects", "ls", env={**variables, "AWS_SECRET_ACCESS_KEY": "wrong"})
    assert wrong.status != 0 and "SignatureDoesNotMatch" in wrong.err, wrong
    del variables["AWS_ENDPOINT_URL"]
    assert "photos" in drover("objects", "ls", "--endpoint", aws.server.address, env=variables).out
    nobody = drover("objects", "ls", "--endpoint", "gopher://x", env=variables)
    assert nobody.status != 0 and "invalid S3 endpoint" in nobody.err, nobody


def test_over_tls(drover, tmp_path):
    secured = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    (tmp_path / "f").write_text("over TLS")
    assert drover("objects", "mb", "s3://photos").status == 0
    assert drover("objects", "cp", tmp_path / "f", "s3://photos/f").status == 0
    assert drover("objects", "cat", "s3://photos/f").out == "over TLS"
    secured.stop()


def test_links_to_folders_are_not_followed(objects, photos, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/keep.txt").write_text("keep")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/own.txt").write_text("own")
    (tmp_path / "work/link").symlink_to("../precious")
    (tmp_path / "work/loop").symlink_to(".")
    (tmp_path / "work/file").symlink_to("../precious/keep.txt")
    assert objects("cp", "-r", tmp_path / "work", f"{photos}/work", "--json").json_lines[0]["copied"] == 2
    assert objects("cat", f"{photos}/work/file").out == "keep"
    assert objects("rm", "-r", tmp_path / "work", "--json").json_lines[0]["removed"] == 2
    assert (tmp_path / "precious/keep.txt").read_text() == "keep"


def test_a_large_file_of_a_site_without_ranges_comes_whole(objects, site, tmp_path):
    folder, address = site
    body = random.Random(4).randbytes(LARGE)
    (folder / "large").write_bytes(body)
    assert objects("cp", f"{address}/large", tmp_path / "large").status == 0
    assert (tmp_path / "large").read_bytes() == body


def test_a_dry_run_writes_nothing(objects, photos, tmp_path):
    (tmp_path / "f").write_text("x")
    for words in (["-", f"{photos}/x"], [tmp_path / "f", f"{photos}/x"]):
        assert objects("cp", "--dry-run", *words).out.startswith("would copy ")
    assert objects("cp", "--dry-run", "--json", tmp_path / "f", f"{photos}/x").json_lines == [{"would_copy": 1, "failed": 0}]
    assert listed(objects, "-r", photos) == []


def test_what_a_user_says_of_an_object_goes_with_it(objects, photos, aws):  # noqa: F811
    objects("mb", "s3://other")
    aws.client("s3").put_object(Bucket="photos", Key="in/a", Body=b"a", ContentType="x/y", Metadata={"camera": "one"})
    assert objects("cp", "-r", f"{photos}/in", "s3://other/out").status == 0
    copied = aws.client("s3").head_object(Bucket="other", Key="out/a")
    assert (copied["ContentType"], copied["Metadata"]) == ("x/y", {"camera": "one"})
