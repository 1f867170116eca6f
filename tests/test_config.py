"""Settings of a server and of a worker: the command line before the environment, and that before the file."""

import json

import pytest

from drover import wait_until
from test_server import Server, submit


def listening(drover, *flags, env=None):
    """A server that is told where to listen by the flags, the environment or the file alone."""
    address = drover.data / "server/address"
    address.unlink(missing_ok=True)
    running = drover.start("server", *flags, env=env)
    wait_until(lambda: (address.exists() and address.read_text().endswith("\n")) or not running.alive(), "the server to listen")
    assert running.alive(), running.done()
    host = address.read_text().strip().split("//")[1].rsplit(":", 1)[0]
    running.kill()
    return host


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "server.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(drover, config):
    path = config('# where\nlisten = ["127.0.0.3:0"]\n')
    environment = {"DROVER_SERVER_LISTEN": "127.0.0.2:0"}
    assert listening(drover, "--config", path) == "127.0.0.3"
    assert listening(drover, "--config", path, env=environment) == "127.0.0.2"
    assert listening(drover, "--config", path, "--listen", "127.0.0.1:0", env=environment) == "127.0.0.1"
    assert listening(drover, env={"DROVER_SERVER_CONFIG": str(path)}) == "127.0.0.3"


def test_a_file_can_say_all_that_flags_can(drover, config, tmp_path):
    path = config(f'data = "{tmp_path}/elsewhere"\nlisten = ["127.0.0.1:0", "unix:{tmp_path}/socket"]\nadvertise = "here.example.org"\n'
                  'plain-http = true\nlog = "json"\njob-key-life = "30m"\nquiet = true\njson = false\n')
    running = drover.start("server", "--config", path)
    wait_until((tmp_path / "elsewhere/server/address").exists, "the server to listen")
    wait_until((tmp_path / "socket").exists, "the socket")
    wait_until(lambda: running.says("listening on unix:"), "the log")
    told = [json.loads(line) for line in running.kill().err.splitlines()]
    assert any("listening on http://127.0.0.1:" in line["message"] for line in told), told


def test_lists_in_the_environment_have_commas(drover, tmp_path):
    assert listening(drover, env={"DROVER_SERVER_LISTEN": f"127.0.0.2:0,unix:{tmp_path}/socket", "DROVER_SERVER_LOG": "json"}) == "127.0.0.2"
    assert (tmp_path / "socket").exists()


def test_what_is_wrong_in_a_file_is_named_with_its_line(drover, config):
    for text, *words in (
            ('\nlisen = ["127.0.0.1:0"]\n', "line 2", "'lisen'", "listen, advertise"),
            ('log = "text"\nplain-http = "yes"\n', "line 2", "'plain-http'", "true or false"),
            ("listen = 8750\n", "line 1", "'listen'", "list"), ('listen = ["127.0.0.1:0", 5]\n', "line 1", "'listen'"),
            ("\n\nlog = true\n", "line 3", "'log'", "string"), ('log = "loud"\n', "line 1", "'log'", "loud"),
            ("[server]\nlog = 'text'\n", "line 1", "'server'"), ('config = "other.toml"\n', "line 1", "'config'"),
            ("help = true\n", "'help'"), ('log = "text"\nlog = "json"\n', "line 2", "log"), ("log = \n", "line 1"), ("what is this", "line 1")):
        path = config(text)
        drover("server", "--config", path).refuses(str(path), *words)
    drover("server", "--config", "/no/such/file").refuses("/no/such/file", "--config")
    # What the command line says anyway must be right in the file too.
    drover("server", "--config", config("log = 5\n"), "--log", "text").refuses("'log'")


def test_no_file_is_read_that_nobody_named(drover, tmp_path):
    for name in ("server.toml", "drover.toml", ".drover.toml"):
        (tmp_path / name).write_text("what is this")
    assert listening(drover, "--listen", "127.0.0.1:0") == "127.0.0.1"


def test_a_worker_has_a_file_too(drover, config):
    server = Server(drover)
    submit(server, "job", "--range", "1-5", "--", "true")
    path = config(f'name = "from-the-file"\ncpus = 1.5\nmemory = "1GiB"\nmax-items = 5\njobs = 2\nserver = "http://127.0.0.1:1"\n')
    done = drover("worker", "--config", path, env={"DROVER_SERVER": server.address})
    assert done.status == 0, done
    shown = server.cli("workers").out
    assert "from-the-file" in shown and server.ends("job")["counts"]["succeeded"] == 5
    drover("worker", "--config", config('cpus = "two"\n')).refuses("line 1", "'cpus'", "number")
