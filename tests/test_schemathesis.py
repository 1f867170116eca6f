"""schemathesis, which reads docs/openapi.yaml and tries the server, finds nothing. It comes from PyPI, and takes its time."""

import os
import pathlib
import subprocess

from drover import ENDURANCE
from test_openapi import DESCRIPTION, ROOT, busy  # noqa: F401 (a fixture)

SCHEMATHESIS = "4.32.5"


def schemathesis():
    """The program, installed once below the build folder."""
    folder = pathlib.Path(os.environ.get("DROVER_BIN") or ROOT / "build/bin/drover").parents[1] / f"schemathesis-{SCHEMATHESIS}"
    program = folder / "bin/schemathesis"
    if not (folder / "installed").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(folder / "bin/pip"), "install", "-q", "--disable-pip-version-check", f"schemathesis=={SCHEMATHESIS}"], check=True)
        (folder / "installed").touch()
    return program


def test_schemathesis_finds_nothing(busy, tmp_path):  # noqa: F811
    """Its checks, all of them, over every call. What a schema cannot say is listed here: that SQL makes sense, that a range does
    not end before it begins, that a regular expression is one, how long "20s" is. Fleets are left out, which would start machines, and
    messages in JSON lines, which it cannot write."""
    config = tmp_path / "schemathesis.toml"
    unsaid = ["submitJob", "askSql", "addDefinition", "searchLogs", "listItems", "createKey", "createJoinToken", "retryJob", "setStream",
              "receiveMessages", "setVisibility"]
    config.write_text("\n".join(
        f'[[operations]]\ninclude-operation-id = "{name}"\n'
        "checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409]\n" for name in unsaid))
    for name in ("setFleet", "sendMessages"):
        config.write_text(config.read_text() + f'\n[[operations]]\ninclude-operation-id = "{name}"\nenabled = false\n')
    # Most items never end here, and nobody shall wait for them. The key that it comes with is among those that it could delete.
    other = busy.cli("key", "create", "--scope", "read", "--json").json_lines[0]["id"]
    for name, parameters in (("showLog", 'follow = "false"'), ("deleteKey", f'key = "{other}"')):
        config.write_text(config.read_text() + f'\n[[operations]]\ninclude-operation-id = "{name}"\nparameters = {{ {parameters} }}\n')
    phases = "examples,coverage,fuzzing,stateful" if ENDURANCE else "examples,coverage,fuzzing"
    done = subprocess.run(
        [str(schemathesis()), "--config-file", str(config), "run", str(DESCRIPTION), "--url", busy.address, "--phases", phases,
         "--checks", "all", "--max-examples", "200" if ENDURANCE else "10", "--seed", "1", "--request-timeout", "20",
         "-H", f"Authorization: Bearer {busy.key}"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=7000 if ENDURANCE else 1500, text=True)
    assert done.returncode == 0, done.stdout[-20000:]
    assert busy.running.alive() and busy.rows("PRAGMA integrity_check") == [("ok",)]
