"""The clients of the walkthroughs: the AWS CLI, boto3 and Docker, as installed, with short timeouts and no retries; and `Missing`,
which they raise when they did their part and the server, or something else of this project, does not do its own yet."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

import drover as shared

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(shared.BINARY).parents[1]
REGION = "us-east-1"
# The Debian packages of the clients come first: the same versions everywhere.
SEARCH = f"/usr/bin:/bin:/usr/sbin:/sbin:{os.environ.get('PATH', '')}"
# How the AWS CLI says that the service answered, and refused or made no sense.
ANSWERED = ("An error occurred (", "Unable to parse response")


def _all_capabilities():
    bounds = [line.split()[1] for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("CapBnd:")]
    return int(bounds[0], 16) + 1 == 1 << int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1


# A machine that has not all capabilities itself, such as a container, cannot give them to one.
PRIVILEGED = ["--privileged"] if _all_capabilities() else []


class Missing(Exception):
    """The capability that a step is about is not there yet."""


def missing(reason):
    """Marks a step that cannot work yet. It must fail, and for no other reason."""
    return pytest.mark.xfail(strict=True, raises=Missing, reason=reason)


def program(name):
    path = shutil.which(name, path=SEARCH)
    assert path, f"the client '{name}' is not installed; run tools/setup test"
    return path


def own_program(name):
    """A program that this project builds."""
    path = BUILD / "bin" / name
    if not path.exists():
        raise Missing(f"there is no program {name}")
    return path


def own_folder(name):
    path = ROOT / name
    if not path.is_dir():
        raise Missing(f"there is no folder {name}")
    return path


def part(answer, *path):
    """What is in an answer at this path. An answer without it is one of a server that does not do this."""
    for step in path:
        try:
            answer = answer[step]
        except (KeyError, IndexError, TypeError):
            raise Missing(f"the answer has no {'.'.join(map(str, path))}: {json.dumps(answer, default=str)[:500]}") from None
    if answer in (None, "", [], {}):
        raise Missing(f"the answer's {'.'.join(map(str, path))} is empty")
    return answer


def within(condition, what, seconds=3):
    """As wait_until, for what only a capability that is missing would bring about."""
    try:
        return shared.wait_until(condition, what, seconds)
    except AssertionError as error:
        raise Missing(str(error)) from None


class Aws:
    """The AWS CLI and boto3 with the variables that `drover env-vars` prints."""

    def __init__(self, variables, folder):
        self.endpoint = variables["AWS_ENDPOINT_URL"]
        self.variables = {name: value for name, value in variables.items() if name.startswith("AWS_")}
        self.folder = pathlib.Path(folder)

    def environment(self):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**inherited, **self.variables, "HOME": str(self.folder), "PATH": SEARCH, "AWS_DEFAULT_REGION": REGION, "AWS_REGION": REGION,
                "AWS_MAX_ATTEMPTS": "1", "AWS_RETRY_MODE": "standard", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PAGER": ""}

    def __call__(self, *words, text=False):
        """What `aws WORDS` prints, as JSON unless `text`."""
        command = [program("aws"), "--endpoint-url", self.endpoint, "--cli-connect-timeout", "20", "--cli-read-timeout", "60", *map(str, words)]
        done = subprocess.run(command, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        said = f"aws {' '.join(map(str, words))[:300]}: status {done.returncode}: {(done.stderr or done.stdout).strip()[-1000:]}"
        if done.returncode != 0 and any(words in done.stderr for words in ANSWERED):
            raise Missing(said)
        assert done.returncode == 0, said
        return done.stdout if text or words[0] == "s3" else json.loads(done.stdout or "{}")

    def input_file(self, name, value):
        """For --cli-input-json and its like: a file, in the words of the CLI."""
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return f"file://{path}"

    @contextlib.contextmanager
    def boto3(self):
        """A session; a service that refuses is missing."""
        import boto3
        import botocore.exceptions
        import botocore.parsers

        session = boto3.session.Session(self.variables["AWS_ACCESS_KEY_ID"], self.variables["AWS_SECRET_ACCESS_KEY"], region_name=REGION)
        try:
            yield session
        except (botocore.exceptions.ClientError, botocore.parsers.ResponseParserError) as error:
            raise Missing(f"boto3: {error}") from error

    def settings(self):
        """For session.client and session.resource."""
        from botocore.config import Config

        return {"endpoint_url": self.endpoint, "config": Config(connect_timeout=20, read_timeout=60, retries={"max_attempts": 0})}


def http_json(method, url, body=None, headers=None):
    """A call to a JSON API that has no client in Debian."""
    request = urllib.request.Request(url, json.dumps(body).encode() if body is not None else None,
                                     {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        raise Missing(f"{method} {url}: {error.code} {error.read()[:500]}") from error
    except ValueError as error:
        raise Missing(f"{method} {url}: the answer is not JSON") from error


class DockerCli:
    """`docker` with a daemon of the tests' own."""

    def __init__(self, daemon, folder):
        self.daemon, self.folder = daemon, pathlib.Path(folder)

    def run(self, *words, input=None, cwd=None, seconds=120):
        environment = {"PATH": SEARCH, "HOME": str(self.folder), "DOCKER_HOST": self.daemon.host, "DOCKER_BUILDKIT": "0"}
        return subprocess.run([program("docker"), *map(str, words)], env=environment, cwd=cwd or self.folder, input=input or "", capture_output=True, text=True,
                              timeout=seconds)

    def __call__(self, *words, **options):
        done = self.run(*words, **options)
        assert done.returncode == 0, f"docker {' '.join(map(str, words))}: {done.stdout[-1000:]}{done.stderr[-1000:]}"
        return done.stdout

    def build(self, name, files):
        """An image of a Dockerfile and the files beside it."""
        folder = self.folder / name.replace("/", "_").replace(":", "_")
        folder.mkdir(exist_ok=True)
        for path, text in files.items():
            (folder / path).write_text(text)
        self("build", "--network", "none", "--tag", name, folder)
