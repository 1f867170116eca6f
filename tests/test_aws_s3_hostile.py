"""S3 on the wire: requests that nobody should send. Each is answered with S3's own error; nothing is written, and nothing is left behind."""

import concurrent.futures
import http.client
import json
import re
import select
import socket
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions
import pytest

from aws import Aws
from drover import wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import bucket, data_files, s3, status_of, text_of  # noqa: F401 (fixtures)
from test_aws_s3_large import peak_memory_kib
from test_server import Server

UPLOADS = 10_000
MOST_MEMORY_KIB = 256 << 10


class Raw:
    """Signed requests, as they are written, over one connection."""

    def __init__(self, aws):
        self.aws, self.address = aws, urllib.parse.urlsplit(aws.server.address)
        self.connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)

    def __call__(self, method, path, body=b"", payload="UNSIGNED-PAYLOAD", **headers):
        """(status, S3's code, body)"""
        headers = {"Host": self.address.netloc, "X-Amz-Content-SHA256": payload, **{name.replace("_", "-"): text for name, text in headers.items()}}
        request = botocore.awsrequest.AWSRequest(method, self.aws.server.address + path, headers, b"")
        signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(self.aws.id, self.aws.secret), "s3", self.aws.region)
        signer.payload = lambda _: payload
        signer.add_auth(request)
        self.connection.request(method, path, body, dict(request.headers.items()))
        answer = self.connection.getresponse()
        text = answer.read().decode(errors="replace")
        code = re.search(r"<Code>(\w+)</Code>", text)
        return answer.status, code and code[1], text


@pytest.fixture
def raw(aws):
    return Raw(aws)


def is_untouched(aws, bucket):
    assert "Contents" not in aws.client("s3").list_objects_v2(Bucket=bucket)
    wait_until(lambda: not data_files(aws.server), "the files to go")


ENTITIES = "".join(f'<!ENTITY a{n} "{"&a%d;" % (n - 1) * 10}">' for n in range(1, 10))
BOMBS = {
    "entities": f'<!DOCTYPE d [<!ENTITY a0 "lol">{ENTITIES}]><Delete><Object><Key>&a9;</Key></Object></Delete>',
    "a file": '<!DOCTYPE d [<!ENTITY f SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&f;</Key></Object></Delete>',
    "depth": "<Delete>" + "<a>" * 1_000_000,
    "attributes": "<Delete " + " ".join(f'a{n}="b"' for n in range(100_000)) + "/>",
    "no end": "<Delete><Object><Key>" + "k" * 1_000_000,
    "nothing": "", "no XML": "{}", "a zero": "<Delete>\0</Delete>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_xml_that_is_a_bomb_deletes_nothing(aws, s3, bucket, raw, name):
    s3.put_object(Bucket=bucket, Key="lol", Body=b"x")
    status, code, text = raw("POST", f"/{bucket}?delete", BOMBS[name].encode())
    # What names an entity names an object that is not there.
    assert (status, code) in ((400, "MalformedXML"), (200, None)) and "root:" not in text and len(text) < 10_000, (status, text[:500])
    assert text_of(s3, bucket, "lol") == b"x"
    for path in (f"/{bucket}?versioning", f"/{bucket}?tagging", f"/{bucket}?notification", f"/{bucket}?cors", f"/{bucket}/lol?tagging"):
        status, code, _ = Raw(aws)("PUT", path, BOMBS[name].encode())
        assert status == 400 and code in ("MalformedXML", "MaxMessageLengthExceeded"), path
    assert peak_memory_kib(aws.server) < MOST_MEMORY_KIB


def test_bodies_and_headers_that_are_too_large(aws, s3, bucket, raw):
    assert raw("POST", f"/{bucket}?delete", b"x" * (9 << 20))[:2] == (400, "MaxMessageLengthExceeded")
    raw = Raw(aws)
    assert raw("PUT", f"/{bucket}/k", b"x", x_amz_meta_a="m" * 3000)[:2] == (400, "MetadataTooLarge")
    assert raw("PUT", f"/{bucket}/k", b"x", x_amz_meta_a="m" * 200_000)[0] in (400, 431)
    raw = Raw(aws)
    assert raw("PUT", f"/{bucket}/k", b"x", **{f"x_amz_meta_{n}": "m" for n in range(5000)})[0] in (400, 431)
    is_untouched(aws, bucket)


FRAMES = {
    "no size": b"hello", "no number": b"zz\r\nhello\r\n0\r\n\r\n", "negative": b"-5\r\nhello\r\n0\r\n\r\n", "far too large": b"ffffffffffffffffff\r\nhello",
    "larger than what comes": b"100\r\nhello\r\n0\r\n\r\n", "smaller than what comes": b"2\r\nhello\r\n0\r\n\r\n", "no end": b"5\r\nhello\r\n",
    "an endless size": b"0" * 100_000, "more behind the end": b"5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "an endless trailer": b"5\r\nhello\r\n0\r\n" + b"x-amz-checksum-crc32: " + b"A" * 100_000,
}


@pytest.mark.parametrize("name", FRAMES)
def test_chunks_that_are_framed_wrongly_are_not_kept(aws, bucket, raw, name):
    status, code, _ = raw("PUT", f"/{bucket}/k", FRAMES[name], "STREAMING-UNSIGNED-PAYLOAD-TRAILER", x_amz_decoded_content_length="5",
                          x_amz_trailer="x-amz-checksum-crc32")
    assert status == 400 and code in ("IncompleteBody", "MalformedTrailerError", "InvalidRequest"), (status, code)
    is_untouched(aws, bucket)


def test_a_trailer_that_was_announced_must_come_and_be_right(aws, bucket, raw):
    options = {"payload": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x_amz_decoded_content_length": "5", "x_amz_trailer": "x-amz-checksum-crc32"}
    assert raw("PUT", f"/{bucket}/k", b"5\r\nhello\r\n0\r\n\r\n", **options)[:2] == (400, "MalformedTrailerError")
    assert raw("PUT", f"/{bucket}/k", b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", **options)[:2] == (400, "BadDigest")
    assert raw("PUT", f"/{bucket}/k", b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", **{**options, "x_amz_decoded_content_length": "6"})[:2] == (
        400, "IncompleteBody")
    is_untouched(aws, bucket)
    assert raw("PUT", f"/{bucket}/k", b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", **options)[0] == 200


@pytest.mark.parametrize("path", ["/photos/%2e%2e/%2e%2e/etc/passwd", "/photos/../../etc/passwd", "/%2e%2e/x", "/photos/a%00b", "/photos/%2Fetc%2Fpasswd"])
def test_no_path_leads_out_of_a_bucket(aws, s3, bucket, raw, path):
    before = {it for it in aws.server.drover.data.rglob("*") if "objects" not in str(it)}
    status, code, _ = raw("PUT", path, b"x" * 100_000)
    assert status == 200 or code in ("NoSuchBucket", "InvalidURI", "SignatureDoesNotMatch"), (status, code)
    after = {it for it in aws.server.drover.data.rglob("*") if "objects" not in str(it)}
    assert {it.name for it in after - before} <= {"drover.db-shm", "drover.db-wal"}


def test_ten_thousand_open_uploads(aws, s3, bucket):
    def begin(first):
        raw = Raw(aws)
        return [raw("POST", f"/{bucket}/k{number % 100}?uploads=")[0] for number in range(first, UPLOADS, 8)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {status for some in pool.map(begin, range(8)) for status in some} == {200}
    counted = sum(len(page["Uploads"]) for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket))
    assert counted == UPLOADS
    assert peak_memory_kib(aws.server) < MOST_MEMORY_KIB
    aws.server.kill()
    aws.server.start()
    s3 = aws.client("s3")
    s3.delete_bucket(Bucket=bucket)
    s3.create_bucket(Bucket=bucket)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_a_full_disk_refuses_objects_and_keeps_those_that_are_there(on_small_disk):
    server = Server(on_small_disk, "--min-free", "0")
    aws = Aws(server)
    s3 = aws.client("s3", config=botocore.config.Config(retries={"max_attempts": 0}))
    s3.create_bucket(Bucket="photos")
    kept = []
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        for number in range(100):
            s3.put_object(Bucket="photos", Key=str(number), Body=bytes([number]) * (1 << 20))
            kept.append(number)
    assert refused.value.response["Error"]["Code"] == "ServiceUnavailable" and "the disk is full" in str(refused.value)
    for number in kept:
        assert text_of(s3, "photos", str(number)) == bytes([number]) * (1 << 20)
    s3.delete_object(Bucket="photos", Key="0")
    wait_until(lambda: len(data_files(server)) == len(kept) - 1, "the file to go")
    s3.put_object(Bucket="photos", Key="again", Body=b"x" * 100_000)


def test_a_body_that_a_sessions_policy_does_not_allow_ends_while_it_comes(aws, s3, bucket):
    """The head says enough, so the disk does not get gigabytes first."""
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}
    iam = aws.client("iam")
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName="reader", PolicyName="own", PolicyDocument=json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]}))
    session = Aws(aws.server, session=aws.client("sts").assume_role(RoleArn=role, RoleSessionName="me")["Credentials"])
    url = urllib.parse.urlsplit(session.client("s3").generate_presigned_url("put_object", {"Bucket": bucket, "Key": "large"}, ExpiresIn=600))
    size, sent, piece = 4 << 30, 0, bytes(1 << 20)
    with socket.create_connection((url.hostname, url.port), timeout=60) as peer:
        peer.sendall(f"PUT {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: {size}\r\n\r\n".encode())
        while sent < size and not select.select([peer], [], [], 0)[0]:
            sent += peer.send(piece)
        answer = peer.recv(65536).decode()
    assert sent < size and answer.startswith("HTTP/1.1 403 ") and "<Code>AccessDenied</Code>" in answer and "s3:PutObject" in answer, (sent, answer)
    is_untouched(aws, bucket)
