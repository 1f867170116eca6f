"""AWS clients as people have them installed: the CLI, and boto3, with a key of the server."""

import json
import os
import re
import subprocess

import boto3
import botocore.config
import botocore.exceptions

REGION = "us-east-1"


class AwsError(Exception):
    """What the CLI says of a refusal: `code` is AWS's."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class Aws:
    def __init__(self, server, key=None, region=REGION, authority=None):
        self.server, self.region, self.authority = server, region, authority
        self.id, self.secret = (key or server.key).split(".")

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
        if refused := re.search(r"An error occurred \((\w+)\).* operation[^:]*:\s*(.*)", done.stderr, re.DOTALL):
            raise AwsError(refused[1], refused[2].strip())
        assert done.returncode == 0, done
        return json.loads(done.stdout or "{}")

    def client(self, service, **options):
        config = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=20, read_timeout=60)
        return boto3.session.Session(self.id, self.secret, region_name=self.region).client(
            service, endpoint_url=self.server.address, config=config, verify=str(self.authority) if self.authority else None, **options)


def code_of(call, **arguments):
    """The code with which boto3 says that a call was refused, and the message."""
    try:
        answer = call(**arguments)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    raise AssertionError(f"it was not refused: {answer}")
