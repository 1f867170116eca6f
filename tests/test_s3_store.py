"""The client of S3 (src/server/s3_store_test.cc) against programs of their own, over a network that fails: a Drover server, and with
`make soak` MinIO, which is built from its source."""

import contextlib
import os
import pathlib
import subprocess
import sys
import types

import pytest

from drover import BINARY, SOAK
from test_server import Server

PROGRAMS = pathlib.Path(BINARY).resolve().parent
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))


@contextlib.contextmanager
def drover_server(drover, folder):
    server = Server(drover)
    yield server.address, server.key


@contextlib.contextmanager
def minio(drover, folder):
    import s3  # the benchmark, which has the version that is built

    flags = types.SimpleNamespace(build=PROGRAMS.parent)
    with s3.minio(s3.minio_program(flags), folder) as (_, port):
        s3.wait_for_minio(port)
        yield f"http://127.0.0.1:{port}", s3.MINIO_KEY


@pytest.mark.parametrize("peer", [drover_server, minio] if SOAK else [drover_server])
def test_the_client_does_what_every_store_does_over_the_wire(drover, tmp_path, peer):
    with peer(drover, tmp_path) as (address, key):
        done = subprocess.run([PROGRAMS / "server_test", "--gtest_filter=S3StoreTest.*"], capture_output=True, text=True, timeout=900,
                              env={**os.environ, "DROVER_TEST_S3": f"{address} {key.replace('.', ' ')}"})
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "[  PASSED  ] 5 tests" in done.stdout, done.stdout
