"""AWS clients as people have them installed: the CLI, and boto3, with a key of the server."""

import json
import os
import pathlib
import re
import subprocess

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions

REGION = "us-east-1"


class AwsError(Exception):
    """What the CLI says of a refusal: `code` is AWS's."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class Aws:
    def __init__(self, server, key=None, region=REGION, authority=None, session=None):
        """`session`: the Credentials of an answer of STS, in place of a key."""
        self.server, self.region, self.authority = server, region, authority
        self.id, self.secret = (key or server.key).split(".")
        self.token = None
        if session:
            self.id, self.secret, self.token = session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"]

    def __call__(self, *words):
        """What `aws WORDS` prints, as JSON."""
        # Debian's CLI does not know AWS_ENDPOINT_URL.
        command = ["/usr/bin/aws", "--endpoint-url", self.server.address, "--region", self.region, *map(str, words)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {**inherited, "AWS_ACCESS_KEY_ID": self.id, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_MAX_ATTEMPTS": "1",
                       "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
        if self.authority:
            environment["AWS_CA_BUNDLE"] = str(self.authority)
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if refused := re.search(r"An error occurred \(([\w.]+)\).* operation[^:]*:\s*(.*)", done.stderr, re.DOTALL):
            raise AwsError(refused[1], refused[2].strip())
        assert done.returncode == 0, done
        return json.loads(done.stdout or "{}")

    def session(self):
        return boto3.session.Session(self.id, self.secret, self.token, region_name=self.region)

    def options(self):
        config = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=20, read_timeout=60)
        return {"endpoint_url": self.server.address, "config": config, "verify": str(self.authority) if self.authority else None}

    def client(self, service, models=None, **options):
        """With `models`, by the service descriptions in that folder rather than those that are installed."""
        session = self.session()
        if models:
            session._session.get_component("data_loader").search_paths.insert(0, str(models))
        return session.client(service, **{**self.options(), **options})

    def signed(self, service, body, headers):
        """The headers of a request with this body."""
        request = botocore.awsrequest.AWSRequest("POST", self.server.address, headers, body)
        botocore.auth.SigV4Auth(botocore.credentials.Credentials(self.id, self.secret, self.token), service, self.region).add_auth(request)
        return dict(request.headers.items())


def json_models(folder, service, version, target, json_version="1.0"):
    """The description of a service that is installed with the Query protocol, as newer clients have it: in JSON."""
    model = json.loads((pathlib.Path(botocore.__file__).parent / f"data/{service}/{version}/service-2.json").read_text())

    def plain(part):
        if isinstance(part, dict):
            return {name: plain(value) for name, value in part.items() if name not in ("locationName", "flattened", "error", "resultWrapper")}
        return [plain(value) for value in part] if isinstance(part, list) else part

    model["metadata"].update(protocol="json", jsonVersion=json_version, targetPrefix=target)
    model.update(operations=plain(model["operations"]), shapes=plain(model["shapes"]))
    place = folder / service / version
    place.mkdir(parents=True)
    (place / "service-2.json").write_text(json.dumps(model))
    return folder


def code_of(call, **arguments):
    """The code with which boto3 says that a call was refused, and the message."""
    try:
        answer = call(**arguments)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    raise AssertionError(f"it was not refused: {answer}")
