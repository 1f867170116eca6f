"""Clients of S3 older and newer than Debian's AWS CLI and boto3, and others than those."""

import hashlib
import pathlib
import subprocess

import pytest

from test_aws_batch import server  # noqa: F401 (fixture)
from test_aws_clients import environment, installed
from test_server import Server

CALLS = pathlib.Path(__file__).parent / "s3_calls.py"


def run(words, variables, **options):
    done = subprocess.run([str(word) for word in words], env=variables, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def files(tmp_path):
    """A folder, and what is in it."""
    contents = {"one.txt": b"one", "sub/two ü.txt": b"two" * 1000, "sub/deep/large": hashlib.sha256(b"large").digest() * 700_000, "empty": b""}
    for name, content in contents.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "from", contents


def contents_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("requirement", ["boto3==1.20.54", "boto3"])
def test_boto3(server, requirement):  # noqa: F811
    python = installed(requirement) / "bin/python"
    assert "all is well" in run([python, CALLS, server.address], environment(server))


@pytest.mark.parametrize("requirement", ["boto3==1.20.54", "boto3"])
def test_boto3_over_tls(drover, requirement):
    server = Server(drover, listen="0.0.0.0:0")
    address = server.address.replace("0.0.0.0", "127.0.0.1")
    server.address = address
    python = installed(requirement) / "bin/python"
    assert "all is well" in run([python, CALLS, address, drover.data / "server/ca.pem"], environment(server))


def test_the_aws_cli_of_version_1(server, files, tmp_path):  # noqa: F811
    folder, contents = files
    variables = environment(server)

    def aws(*words):
        return run([installed("awscli") / "bin/aws", "--endpoint-url", server.address, *words], variables)

    aws("s3", "mb", "s3://client")
    aws("s3", "sync", folder, "s3://client/in")
    assert "sub/" in aws("s3", "ls", "s3://client/in/")
    aws("s3", "cp", "--recursive", "s3://client/in", "s3://client/copy")
    aws("s3", "mv", "s3://client/copy/sub/deep/large", "s3://client/moved")
    aws("s3", "mv", "s3://client/moved", "s3://client/copy/sub/deep/large")
    aws("s3", "sync", "s3://client/copy", tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents
    assert run(["curl", "-s", "-f", aws("s3", "presign", "s3://client/in/one.txt").strip()], variables) == "one"
    aws("s3", "rm", "--recursive", "s3://client/in")
    aws("s3", "rb", "--force", "s3://client")
    assert aws("s3", "ls") == ""


def test_rclone(server, files, tmp_path):  # noqa: F811
    folder, contents = files
    variables = environment(server)
    variables |= {"RCLONE_CONFIG_X_TYPE": "s3", "RCLONE_CONFIG_X_PROVIDER": "Other", "RCLONE_CONFIG_X_ENV_AUTH": "true", "RCLONE_CONFIG": "/dev/null",
                  "RCLONE_CONFIG_X_ENDPOINT": server.address, "RCLONE_S3_UPLOAD_CUTOFF": "5M", "RCLONE_S3_CHUNK_SIZE": "5M", "RCLONE_S3_COPY_CUTOFF": "6M"}

    def rclone(*words):
        return run(["rclone", *words], variables)

    rclone("mkdir", "x:client")
    rclone("copy", folder, "x:client/in")
    rclone("check", "--download", folder, "x:client/in")
    rclone("copy", "x:client/in", "x:client/copy")
    rclone("moveto", "x:client/copy/one.txt", "x:client/copy/first.txt")
    rclone("sync", "x:client/in", tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents
    assert rclone("cat", "x:client/copy/first.txt") == "one"
    (folder / "one.txt").unlink()
    rclone("sync", folder, "x:client/in")
    assert "one.txt" not in rclone("lsf", "-R", "x:client/in")
    rclone("purge", "x:client")
    assert rclone("lsd", "x:") == ""


def test_s3cmd(server, files, tmp_path):  # noqa: F811
    folder, contents = files
    variables = environment(server)
    host = server.address.removeprefix("http://")
    config = tmp_path / "s3cfg"
    config.write_text(f"[default]\naccess_key = {variables['AWS_ACCESS_KEY_ID']}\nsecret_key = {variables['AWS_SECRET_ACCESS_KEY']}\nhost_base = {host}\n"
                      f"host_bucket = {host}\nuse_https = False\nmultipart_chunk_size_mb = 5\n")

    def s3cmd(*words):
        return run(["s3cmd", "-c", config, "--no-progress", *words], variables)

    s3cmd("mb", "s3://client")
    s3cmd("sync", f"{folder}/", "s3://client/in/")
    assert "one.txt" in s3cmd("ls", "s3://client/in/")
    assert "File size" in s3cmd("info", "s3://client/in/one.txt") and "ACL" in s3cmd("info", "s3://client/in/one.txt")
    s3cmd("cp", "s3://client/in/one.txt", "s3://client/other.txt")
    s3cmd("mv", "s3://client/other.txt", "s3://client/moved.txt")
    s3cmd("setacl", "--acl-public", "s3://client/moved.txt")
    assert "anon" in s3cmd("info", "s3://client/moved.txt")
    (tmp_path / "back").mkdir()
    s3cmd("sync", "s3://client/in/", f"{tmp_path}/back/")
    assert contents_of(tmp_path / "back") == contents
    s3cmd("del", "--recursive", "--force", "s3://client/")
    s3cmd("rb", "s3://client")
    assert s3cmd("ls") == ""
