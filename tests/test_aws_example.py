"""examples/aws-batch does what its README says."""

import json
import pathlib
import re
import subprocess

import drover as shared
from test_aws_docs import image  # noqa: F401 (a fixture)
from test_server import Server, worker

ROOT = pathlib.Path(__file__).parents[1]


def test_a_killed_job_is_resumed(drover, image, tmp_path):  # noqa: F811
    server = Server(drover)
    worker(server)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/drover").symlink_to(shared.BINARY)
    typed, = re.findall(r"```sh\n(.*?)```", (ROOT / "examples/aws-batch/README.md").read_text(), re.DOTALL)
    environment = drover.environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true",
                                      "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                                      "IMAGE": image, "MODELS": str(tmp_path / "models")})
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", typed], env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == 0, done
    first, second = done.stdout.split("failed in the middle\n")
    assert first.endswith("epoch 6\nepoch 7\nFAILED\n") and "resumed" not in first, done
    assert "resumed at epoch 8\nepoch 8\n" in second and "epoch 19\nexported" in second and second.endswith("SUCCEEDED\n"), done
    model = json.loads((tmp_path / "models/export/model.json").read_text())
    assert abs(model["slope"] - 2) < 0.2 and abs(model["offset"] - 1) < 0.2 and model["test_error"] < 0.02
