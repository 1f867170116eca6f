"""S3 on the wire: the AWS CLI and boto3, over plain HTTP and TLS."""

import hashlib
import hmac
import http.client
import io
import os
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions
import botocore.handlers
import pytest

from aws import Aws, AwsError
from drover import wait_until
from test_attacker import new_key
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_server import Server

LARGE = 3 * 1024 * 1024 + 17


@pytest.fixture
def s3(aws):
    return aws.client("s3")


@pytest.fixture
def bucket(s3):
    s3.create_bucket(Bucket="photos")
    return "photos"


def status_of(call, *words, **named):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(*words, **named)
    return refused.value.response["ResponseMetadata"]["HTTPStatusCode"], refused.value.response["Error"]["Code"]


def text_of(s3, bucket, key, **options):
    return s3.get_object(Bucket=bucket, Key=key, **options)["Body"].read()


def run_aws(aws, *words, **options):
    """`aws WORDS` as a person types it."""
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": aws.id, "AWS_SECRET_ACCESS_KEY": aws.secret, "AWS_DEFAULT_REGION": aws.region,
                   "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    return subprocess.run(["/usr/bin/aws", "--endpoint-url", aws.server.address, *map(str, words)], env=environment, capture_output=True, text=True,
                          timeout=options.pop("timeout", 120), **options)


def data_files(server):
    """Of objects that are not in the index."""
    return [it for it in (server.drover.data / "server/objects").rglob("*") if it.is_file() and not it.name.startswith("index.db")]


def signed_chunks(aws, bucket, key, chunks, forged):
    """PUT in the form STREAMING-AWS4-HMAC-SHA256-PAYLOAD: (status, S3's code)."""
    address = urllib.parse.urlsplit(aws.server.address)
    headers = {"Host": address.netloc, "X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
               "X-Amz-Decoded-Content-Length": str(sum(map(len, chunks)))}
    request = botocore.awsrequest.AWSRequest("PUT", f"{aws.server.address}/{bucket}/{key}", headers, b"")
    signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(aws.id, aws.secret), "s3", aws.region)
    signer.payload = lambda _: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    signer.add_auth(request)
    stamp = request.context["timestamp"]
    scope = f"{stamp[:8]}/{aws.region}/s3/aws4_request"
    signing_key = f"AWS4{aws.secret}".encode()
    for part in scope.split("/"):
        signing_key = hmac.new(signing_key, part.encode(), "sha256").digest()
    last, body = request.headers["Authorization"].rpartition("Signature=")[2], b""
    for chunk in [*chunks, b""]:
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, scope, last, hashlib.sha256(b"").hexdigest(), hashlib.sha256(chunk).hexdigest()])
        last = hmac.new(signing_key, text.encode(), "sha256").hexdigest()
        body += f"{len(chunk):x};chunk-signature={last}\r\n".encode() + (chunk.replace(b"b", b"c") if forged else chunk) + (b"\r\n" if chunk else b"")
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("PUT", f"/{bucket}/{key}", body + b"\r\n", dict(request.headers.items()))
    answer = connection.getresponse()
    code = re.search(r"<Code>(\w+)</Code>", answer.read().decode())
    return answer.status, code and code[1]


def test_buckets_are_created_listed_and_deleted(s3):
    assert s3.list_buckets()["Buckets"] == []
    s3.create_bucket(Bucket="photos")
    s3.create_bucket(Bucket="models")
    assert [it["Name"] for it in s3.list_buckets()["Buckets"]] == ["models", "photos"]
    assert status_of(s3.create_bucket, Bucket="photos") == (409, "BucketAlreadyOwnedByYou")
    assert s3.head_bucket(Bucket="photos")["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert s3.get_bucket_location(Bucket="photos")["LocationConstraint"] is None
    s3.put_object(Bucket="photos", Key="a", Body=b"a")
    assert status_of(s3.delete_bucket, Bucket="photos") == (409, "BucketNotEmpty")
    s3.delete_object(Bucket="photos", Key="a")
    s3.delete_bucket(Bucket="photos")
    assert status_of(s3.head_bucket, Bucket="photos")[0] == 404
    assert status_of(s3.list_objects_v2, Bucket="photos") == (404, "NoSuchBucket")
    assert status_of(s3.put_object, Bucket="photos", Key="a", Body=b"x" * LARGE) == (404, "NoSuchBucket")


@pytest.mark.parametrize("name", ["ab", "Upper", "under_score", "-begins", "two..dots", "x" * 64])
def test_a_bucket_has_a_name_that_s3_allows(aws, name):
    s3 = aws.client("s3")
    s3.meta.events.unregister("before-parameter-build.s3", botocore.handlers.validate_bucket_name)
    assert status_of(s3.create_bucket, Bucket=name) == (400, "InvalidBucketName")


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, LARGE])
def test_an_object_of_any_size_comes_back(s3, bucket, size):
    body = os.urandom(size)
    put = s3.put_object(Bucket=bucket, Key="a/b c", Body=body, ContentType="image/png", CacheControl="no-store", Metadata={"camera": "one two"})
    etag = f'"{hashlib.md5(body).hexdigest()}"'
    assert put["ETag"] == etag
    got = s3.get_object(Bucket=bucket, Key="a/b c")
    assert got["Body"].read() == body
    for answer in (got, s3.head_object(Bucket=bucket, Key="a/b c")):
        assert (answer["ContentLength"], answer["ETag"], answer["ContentType"], answer["CacheControl"]) == (size, etag, "image/png", "no-store")
        assert answer["Metadata"] == {"camera": "one two"} and answer["LastModified"].year >= 2024


def test_objects_are_there_after_the_server_was_killed(aws, s3, bucket):
    bodies = {f"k{size}": os.urandom(size) for size in (5, 70_000, LARGE)}
    for key, body in bodies.items():
        s3.put_object(Bucket=bucket, Key=key, Body=body)
    aws.server.kill()
    aws.server.start()
    s3 = aws.client("s3")
    for key, body in bodies.items():
        assert text_of(s3, bucket, key) == body


@pytest.mark.parametrize("key", ["../../etc/passwd", "a//b", "a/./b/", "ü/羊 +&?#%", "k" * 1024, "..", "trailing/"])
def test_no_key_is_a_path(s3, bucket, key):
    s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert text_of(s3, bucket, key) == b"x"
    assert [it["Key"] for it in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [key]
    assert [it["Key"] for it in s3.list_objects(Bucket=bucket)["Contents"]] == [key]
    s3.delete_object(Bucket=bucket, Key=key)
    assert status_of(s3.get_object, Bucket=bucket, Key=key) == (404, "NoSuchKey")


def test_a_key_has_1024_bytes_at_most(s3, bucket):
    assert status_of(s3.put_object, Bucket=bucket, Key="ü" * 513, Body=b"x") == (400, "KeyTooLongError")


@pytest.mark.parametrize("size", [1000, 200_000])
def test_one_range_of_an_object(s3, bucket, size):
    body = os.urandom(size)
    s3.put_object(Bucket=bucket, Key="k", Body=body)
    for asked, part in (("0-99", body[:100]), ("100-", body[100:]), ("-5", body[-5:]), (f"{size - 1}-{size + 99}", body[-1:]), ("0-0", body[:1])):
        got = s3.get_object(Bucket=bucket, Key="k", Range=f"bytes={asked}")
        assert got["Body"].read() == part and got["ResponseMetadata"]["HTTPStatusCode"] == 206
        assert got["ContentRange"].endswith(f"/{size}")
    assert status_of(s3.get_object, Bucket=bucket, Key="k", Range=f"bytes={size}-") == (416, "InvalidRange")
    assert text_of(s3, bucket, "k", Range="bytes=9-3") == body
    s3.put_object(Bucket=bucket, Key="empty", Body=b"")
    assert status_of(s3.get_object, Bucket=bucket, Key="empty", Range="bytes=0-") == (416, "InvalidRange")


def test_conditions_of_a_get(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ETag"]
    changed = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    assert text_of(s3, bucket, "k", IfMatch=etag) == b"x"
    assert status_of(s3.get_object, Bucket=bucket, Key="k", IfMatch='"other"') == (412, "PreconditionFailed")
    assert status_of(s3.get_object, Bucket=bucket, Key="k", IfNoneMatch=etag)[0] == 304
    assert text_of(s3, bucket, "k", IfNoneMatch='"other"') == b"x"
    assert status_of(s3.head_object, Bucket=bucket, Key="k", IfModifiedSince=changed)[0] == 304
    assert text_of(s3, bucket, "k", IfUnmodifiedSince=changed) == b"x"


def test_lists_by_prefix_and_delimiter_in_pages(s3, bucket):
    keys = [f"{folder}/{number:02}" for folder in ("a", "b", "c") for number in range(12)] + ["top"]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"12345")
    for operation in ("list_objects", "list_objects_v2"):
        def pages(**options):
            return list(s3.get_paginator(operation).paginate(Bucket=bucket, **options))
        assert [it["Key"] for page in pages() for it in page["Contents"]] == keys
        small = pages(PaginationConfig={"PageSize": 5})
        assert len(small) == 8 and [it["Key"] for page in small for it in page["Contents"]] == keys
        assert [it["Key"] for page in pages(Prefix="b/") for it in page["Contents"]] == keys[12:24]
        rolled = pages(Delimiter="/", PaginationConfig={"PageSize": 2})
        assert [it["Prefix"] for page in rolled for it in page.get("CommonPrefixes", [])] == ["a/", "b/", "c/"]
        assert [it["Key"] for page in rolled for it in page.get("Contents", [])] == ["top"]
    assert [it["Key"] for it in s3.list_objects_v2(Bucket=bucket, StartAfter="c/10")["Contents"]] == ["c/11", "top"]
    empty = s3.list_objects_v2(Bucket=bucket, MaxKeys=0)
    assert "Contents" not in empty and not empty["IsTruncated"]
    one = s3.list_objects_v2(Bucket=bucket, MaxKeys=1)["Contents"][0]
    assert (one["Size"], one["ETag"], one["StorageClass"]) == (5, f'"{hashlib.md5(b"12345").hexdigest()}"', "STANDARD")
    assert status_of(s3.list_objects_v2, Bucket=bucket, ContinuationToken="!") == (400, "InvalidArgument")


def test_copies_keep_or_replace_what_is_said_of_the_object(s3, bucket):
    for size in (10, LARGE):
        body = os.urandom(size)
        s3.put_object(Bucket=bucket, Key="from", Body=body, ContentType="image/png", Metadata={"a": "1"})
        s3.copy_object(Bucket=bucket, Key="kept ü", CopySource={"Bucket": bucket, "Key": "from"})
        s3.copy_object(Bucket=bucket, Key="other", CopySource={"Bucket": bucket, "Key": "kept ü"}, MetadataDirective="REPLACE", ContentType="text/plain")
        kept, other = s3.get_object(Bucket=bucket, Key="kept ü"), s3.get_object(Bucket=bucket, Key="other")
        assert kept["Body"].read() == other["Body"].read() == body
        assert (kept["ContentType"], kept["Metadata"]) == ("image/png", {"a": "1"})
        assert (other["ContentType"], other["Metadata"]) == ("text/plain", {})
    assert status_of(s3.copy_object, Bucket=bucket, Key="from", CopySource=f"{bucket}/from") == (400, "InvalidRequest")
    assert status_of(s3.copy_object, Bucket=bucket, Key="x", CopySource=f"{bucket}/missing") == (404, "NoSuchKey")


def test_a_body_that_is_not_what_its_head_says_is_not_kept(aws, s3, bucket):
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==") == (400, "BadDigest")
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", ContentMD5="short") == (400, "InvalidDigest")
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", ChecksumSHA256="1B2M2Y8AsgTpgAmY7PhCfg==") == (400, "BadDigest")
    # The head is signed for other bytes than those that come.
    def forge(request, **_):
        request.body = b"y" * 5
    s3.meta.events.register_last("before-send.s3.PutObject", forge)
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x" * 5) == (400, "XAmzContentSHA256Mismatch")
    assert "Contents" not in aws.client("s3").list_objects_v2(Bucket=bucket)


def test_a_body_that_breaks_off_leaves_nothing(aws, s3, bucket):
    host, port = aws.server.address.removeprefix("http://").split(":")
    url = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "cut"})
    path = url.removeprefix(aws.server.address)
    with socket.create_connection((host, int(port))) as peer:
        peer.sendall(f"PUT {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {LARGE}\r\n\r\n".encode() + b"x" * (LARGE - 1))
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="after", Body=b"x")
    wait_until(lambda: not data_files(aws.server), "the files to go")


@pytest.mark.parametrize("version", ["s3", "s3v4"])
def test_presigned_urls(aws, bucket, version):
    s3 = aws.client("s3", config=botocore.config.Config(signature_version=version))
    put = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "a b"})
    with urllib.request.urlopen(urllib.request.Request(put, data=b"hello", method="PUT", headers={"Content-Type": ""} if version == "s3" else {})) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a b"})) as answer:
        assert answer.read() == b"hello"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a b"}).replace("Signature=", "Signature=0"))
    assert refused.value.code == 403


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA256"])
def test_bodies_in_chunks_with_a_checksum_behind_them(drover, algorithm):
    server = Server(drover, listen="0.0.0.0:0")
    server.address = server.address.replace("0.0.0.0", "127.0.0.1")
    aws = Aws(server, authority=drover.data / "server/ca.pem")
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="photos")
    sent = []
    s3.meta.events.register_last("before-send.s3.PutObject", lambda request, **_: sent.append(request.headers["X-Amz-Content-SHA256"]))
    for size in (0, 100, LARGE):
        body = os.urandom(size)
        put = s3.put_object(Bucket="photos", Key=f"k{size}", Body=io.BytesIO(body), ChecksumAlgorithm=algorithm)
        got = s3.get_object(Bucket="photos", Key=f"k{size}", ChecksumMode="ENABLED")
        assert got["Body"].read() == body and put[f"Checksum{algorithm}"] == got[f"Checksum{algorithm}"]
        assert "ContentEncoding" not in got
    assert {value.decode() if isinstance(value, bytes) else value for value in sent} == {"STREAMING-UNSIGNED-PAYLOAD-TRAILER"}


def test_a_body_in_signed_chunks_is_kept_only_if_every_chunk_is_right(aws, s3, bucket):
    def put(key, chunks, forged=False):
        return signed_chunks(aws, bucket, key, chunks, forged)
    assert put("good", [b"a" * 70_000, b"b"])[0] == 200
    assert text_of(s3, bucket, "good") == b"a" * 70_000 + b"b"
    assert put("bad", [b"a" * 70_000, b"b"], forged=True) == (403, "SignatureDoesNotMatch")
    assert [it["Key"] for it in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["good"]


def test_a_key_that_may_only_read_changes_nothing(aws, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    reader = Aws(aws.server, new_key(aws.server, "read")).client("s3")
    assert text_of(reader, bucket, "k") == b"x"
    assert status_of(reader.put_object, Bucket=bucket, Key="k", Body=b"y") == (403, "AccessDenied")
    assert status_of(reader.delete_object, Bucket=bucket, Key="k") == (403, "AccessDenied")
    stranger = Aws(aws.server, "AKDRAAAAAAAAAAAAAAAA.secret").client("s3")
    assert status_of(stranger.get_object, Bucket=bucket, Key="k") == (403, "InvalidAccessKeyId")
    forger = Aws(aws.server, f"{aws.id}.wrong").client("s3")
    assert status_of(forger.get_object, Bucket=bucket, Key="k") == (403, "SignatureDoesNotMatch")


def test_the_cli_copies_lists_syncs_and_removes(aws, tmp_path):
    for name in ("one.txt", "sub/two.txt"):
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_text(name)
    assert run_aws(aws, "s3", "mb", "s3://photos").returncode == 0
    synced = run_aws(aws, "s3", "sync", tmp_path / "from", "s3://photos/in")
    assert synced.returncode == 0 and synced.stdout.count("upload:") == 2, synced
    assert run_aws(aws, "s3", "sync", tmp_path / "from", "s3://photos/in").stdout == ""
    listed = run_aws(aws, "s3", "ls", "s3://photos/in/").stdout
    assert "PRE sub/" in listed and "one.txt" in listed
    assert run_aws(aws, "s3", "cp", "s3://photos/in/sub/two.txt", "-").stdout == "sub/two.txt"
    assert run_aws(aws, "s3", "cp", "-", "s3://photos/stdin", input="typed").returncode == 0
    assert run_aws(aws, "s3", "mv", "s3://photos/stdin", "s3://photos/moved").returncode == 0
    assert run_aws(aws, "s3", "cp", "--recursive", "s3://photos/", tmp_path / "to").returncode == 0
    assert (tmp_path / "to/moved").read_text() == "typed" and (tmp_path / "to/in/sub/two.txt").read_text() == "sub/two.txt"
    url = run_aws(aws, "s3", "presign", "s3://photos/moved").stdout.strip()
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"typed"
    assert run_aws(aws, "s3", "rb", "s3://photos").returncode != 0
    assert run_aws(aws, "s3", "rm", "--recursive", "s3://photos/").returncode == 0
    assert run_aws(aws, "s3", "rb", "s3://photos").returncode == 0
    with pytest.raises(AwsError) as refused:
        aws("s3api", "get-object", "--bucket", "photos", "--key", "x", tmp_path / "x")
    assert refused.value.code == "NoSuchBucket"
