"""drover env-vars: what it prints reaches the server, in bash and in fish, and is for nobody else."""

import os
import subprocess

import pytest

import drover as shared
from test_server import Server


def words_of(server):
    return server.drover("env-vars", "--json").json_lines[0]


@pytest.mark.parametrize("shell, line", [
    ("bash", 'eval "$(drover env-vars --shell bash)"; '),
    ("fish", "drover env-vars --shell fish | source; "),
])
def test_a_shell_takes_them(drover, tmp_path, shell, line):
    server = Server(drover)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "drover").symlink_to(shared.BINARY)
    env = drover.environment({"PATH": f"{bin_folder}:/usr/bin:/bin", "AWS_SESSION_TOKEN": "of another account"})
    # With other data it is the variables alone that lead to the server.
    look = f"{line} env; drover jobs --json --data {tmp_path}/nothing"
    done = subprocess.run([shell, "-c", look], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and '{"jobs":[]' in done.stdout, done
    seen = dict(entry.split("=", 1) for entry in done.stdout.splitlines() if "=" in entry)
    identity, secret = server.key.split(".")
    assert seen["AWS_ENDPOINT_URL"] == seen["DROVER_SERVER"] == server.address
    assert (seen["AWS_ACCESS_KEY_ID"], seen["AWS_SECRET_ACCESS_KEY"]) == (identity, secret)
    assert seen["AWS_REGION"] == seen["AWS_DEFAULT_REGION"] and "AWS_SESSION_TOKEN" not in seen
    assert "AWS_CA_BUNDLE" not in words_of(server)


def test_with_tls_the_authority_is_named(drover):
    server = Server(drover, "--advertise", "127.0.0.1", listen="0.0.0.0:0")
    words = words_of(server)
    assert words["AWS_CA_BUNDLE"] == words["DROVER_CA"] == str(drover.data / "server/ca.pem")
    assert words["AWS_ENDPOINT_URL"].startswith("https://")


def test_a_given_key_is_passed_on(drover, tmp_path):
    given = {"DROVER_SERVER": "http://far.example.org:8750", "DROVER_KEY": "AKDRA.it's $(a) secret"}
    words = drover("env-vars", "--json", env=given).json_lines[0]
    assert (words["AWS_ACCESS_KEY_ID"], words["AWS_SECRET_ACCESS_KEY"]) == ("AKDRA", "it's $(a) secret")
    printed = drover("env-vars", "--shell", "bash", env=given).out
    back = subprocess.run(["bash", "-c", printed + 'printf %s "$AWS_SECRET_ACCESS_KEY"'], capture_output=True, text=True)
    assert back.stdout == "it's $(a) secret"
    printed = drover("env-vars", "--shell", "fish", env=given).out
    back = subprocess.run(["fish", "-c", printed + 'printf %s "$AWS_SECRET_ACCESS_KEY"'], capture_output=True, text=True)
    assert back.stdout == "it's $(a) secret"


def test_a_socket_is_not_for_aws(drover):
    words = drover("env-vars", "--json", env={"DROVER_SERVER": "unix:/run/drover.sock", "DROVER_KEY": "a.b"}).json_lines[0]
    assert words == {"DROVER_SERVER": "unix:/run/drover.sock", "DROVER_KEY": "a.b"}


def test_without_a_server_it_says_so(drover):
    drover("env-vars").refuses("no server")


def test_somebody_elses_key_is_not_printed(any_user):
    server = Server(any_user)
    os.chmod(any_user.data, 0o755)
    os.chmod(any_user.data / "server", 0o755)
    refused = any_user("env-vars", as_user=65534)
    assert refused.status == 2 and refused.out == "" and server.key.split(".")[1] not in refused.err, refused
    (any_user.data / "server/keys.json").chmod(0o644)
    assert any_user("env-vars", as_user=65534).out == ""
