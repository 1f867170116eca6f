"""boto3 for a test that cannot import it, since it is of another version: run with that version's Python, it reads a call from each line of
standard input, ["service", "Operation", {input}], and prints its answer as a line: {"answer": {...}}, or {"refused": [code, message]}."""

import json
import os
import sys

import boto3
import botocore.exceptions
from botocore import xform_name

clients = {}


def client_of(service):
    if service not in clients:
        # Versions before 1.28 do not know AWS_ENDPOINT_URL.
        given = {"endpoint_url": os.environ["ENDPOINT_OPTION"]} if "ENDPOINT_OPTION" in os.environ else {}
        clients[service] = boto3.client(service, **given)
    return clients[service]


def answer(service, operation, arguments):
    client, name = client_of(service), xform_name(operation)
    if client.can_paginate(name):
        return client.get_paginator(name).paginate(**arguments).build_full_result()
    return getattr(client, name)(**arguments)


for line in sys.stdin:
    try:
        said = {"answer": answer(*json.loads(line))}
    except botocore.exceptions.ClientError as error:
        said = {"refused": [error.response["Error"]["Code"], error.response["Error"]["Message"]]}
    print(json.dumps(said, default=str), flush=True)
