"""S3 on the wire: an object that is larger than the server's memory may be. `make soak` sends ten times as much."""

import hashlib
import pathlib
import re
import subprocess

from drover import SOAK
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import run_aws

SIZE = 5 << 30 if SOAK else 512 << 20
MOST_MEMORY_KIB = 256 << 10
BLOCK = 1 << 20


def peak_memory_kib(server):
    status = pathlib.Path(f"/proc/{server.running.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def write_large(path):
    """Bytes that repeat nowhere within a part, and their MD5."""
    digest = hashlib.md5()
    with open(path, "wb") as file:
        for number in range(SIZE // BLOCK):
            block = hashlib.sha256(number.to_bytes(8, "big")).digest() * (BLOCK // 32)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def test_a_large_file_goes_through_little_memory(aws, server, tmp_path):  # noqa: F811
    assert run_aws(aws, "s3", "mb", "s3://large").returncode == 0
    digest = write_large(tmp_path / "file")
    sent = run_aws(aws, "s3", "cp", "--quiet", tmp_path / "file", "s3://large/file", timeout=900)
    assert sent.returncode == 0, sent
    (tmp_path / "file").unlink()
    head = aws.client("s3").head_object(Bucket="large", Key="file")
    assert head["ContentLength"] == SIZE and "-" in head["ETag"]
    fetched = run_aws(aws, "s3", "cp", "--quiet", "s3://large/file", tmp_path / "got", timeout=900)
    assert fetched.returncode == 0, fetched
    got = hashlib.md5()
    with open(tmp_path / "got", "rb") as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            got.update(block)
    assert got.hexdigest() == digest
    (tmp_path / "got").unlink()
    copied = run_aws(aws, "s3", "mv", "--quiet", "s3://large/file", "s3://large/moved", timeout=900)
    assert copied.returncode == 0, copied
    used = int(subprocess.run(["du", "-sk", server.drover.data / "server/objects"], capture_output=True, text=True).stdout.split()[0])
    assert used < (SIZE >> 10) * 1.1, "a copy shares its bytes"
    assert peak_memory_kib(server) < MOST_MEMORY_KIB
