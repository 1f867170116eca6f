"""The client of S3 (src/server/s3_store_test.cc) against a server that is a program of its own, over a network that fails."""

import os
import pathlib
import subprocess

from drover import BINARY
from test_server import Server


def test_the_client_does_what_every_store_does_over_the_wire(drover):
    server = Server(drover)
    done = subprocess.run([pathlib.Path(BINARY).resolve().parent / "server_test", "--gtest_filter=S3StoreTest.*"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "DROVER_TEST_S3": f"{server.address} {server.key.replace('.', ' ')}"})
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "[  PASSED  ] 5 tests" in done.stdout, done.stdout
