"""What docs/aws-batch.md tells people to type works, from the first line to the last."""

import pathlib
import re
import subprocess

import images
import pytest

import drover as shared
from test_server import Server, worker

PAGE = pathlib.Path(__file__).parents[1] / "docs/aws-batch.md"


@pytest.fixture
def image(tmp_path):
    """In the place of one from a registry."""
    images.Image([images.busybox_layer()], "", Env=["PATH=/bin"]).write_layout(tmp_path / "busybox")
    return f"oci:{tmp_path}/busybox"


def test_every_command_of_the_page(drover, image, tmp_path):
    server = Server(drover)
    worker(server)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/drover").symlink_to(shared.BINARY)
    typed = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)).replace("busybox:1.36", image)
    environment = drover.environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true",
                                      "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"})
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", typed], env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == 0, done
    assert "hello world\n" in done.stdout and '"SUCCEEDED",\n    0' in done.stdout, done.stdout
    assert '"SUCCEEDED": 5' in done.stdout and done.stdout.count("child ") == 5, done.stdout
