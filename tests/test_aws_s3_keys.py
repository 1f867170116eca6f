"""Keys for one bucket, as people outside use them: with the AWS CLI and boto3, and with nothing else."""

import io
import json
import urllib.error
import urllib.request

import botocore.exceptions
import pytest

from aws import Aws
from drover import wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import run_aws, text_of

PART = 5 * 1024 * 1024


@pytest.fixture
def s3(aws):
    client = aws.client("s3")
    for bucket in ("photos", "other"):
        client.create_bucket(Bucket=bucket)
        for key in ("in/a", "in/b", "out/a"):
            client.put_object(Bucket=bucket, Key=key, Body=f"{bucket}/{key}".encode())
    return client


def make(server, access, *more, bucket="photos", prefix="in/"):
    """What `drover key create --json` prints."""
    made = server.cli("key", "create", "--bucket", bucket, "--prefix", prefix, "--access", access, "--json", *more)
    assert made.status == 0, made
    return made.json_lines[0]


def denied(call, *says, **options):
    """The call is refused with S3's AccessDenied, whose message has these words."""
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**options)
    response = refused.value.response
    assert (response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]) in ((403, "AccessDenied"), (403, "403")), response
    if response["Error"]["Code"] == "AccessDenied":
        for words in says:
            assert words in response["Error"]["Message"], response
    return True


def test_a_key_that_reads_lists_and_gets_below_its_prefix_and_nothing_else(server, s3):
    made = make(server, "read", "--label", "partner")
    reader = Aws(server, made["token"]).client("s3")
    assert [it["Key"] for it in reader.list_objects_v2(Bucket="photos", Prefix="in/")["Contents"]] == ["in/a", "in/b"]
    assert text_of(reader, "photos", "in/a") == b"photos/in/a"
    assert reader.head_object(Bucket="photos", Key="in/b")["ContentLength"] == len("photos/in/b")
    reader.head_bucket(Bucket="photos")
    names = (made["id"], "'photos'", "'in/'", "read access")
    denied(reader.get_object, *names, "s3:GetObject", "'photos/out/a'", Bucket="photos", Key="out/a")
    denied(reader.get_object, *names, Bucket="other", Key="in/a")
    denied(reader.head_object, Bucket="photos", Key="out/a")
    denied(reader.head_bucket, Bucket="other")
    denied(reader.head_bucket, Bucket="no-such-bucket")
    denied(reader.list_objects_v2, *names, Bucket="photos")
    denied(reader.list_objects_v2, *names, Bucket="photos", Prefix="in")
    denied(reader.list_objects, *names, Bucket="other", Prefix="in/")
    denied(reader.list_buckets, *names)
    for call, options in ((reader.put_object, {"Key": "in/c", "Body": b"c"}), (reader.delete_object, {"Key": "in/a"}),
                          (reader.create_multipart_upload, {"Key": "in/c"}), (reader.get_bucket_policy, {}), (reader.delete_bucket, {}),
                          (reader.delete_objects, {"Delete": {"Objects": [{"Key": "in/a"}]}}),
                          (reader.copy_object, {"Key": "in/c", "CopySource": "photos/in/a"})):
        denied(call, *names, Bucket="photos", **options)
    denied(reader.create_bucket, *names, Bucket="third")
    assert text_of(s3, "photos", "in/a") == b"photos/in/a"


def test_a_key_that_writes_puts_copies_and_deletes_below_its_prefix_and_reads_nothing(server, s3):
    made = make(server, "write")
    writer = Aws(server, made["token"]).client("s3")
    writer.put_object(Bucket="photos", Key="in/new", Body=b"new", Tagging="a=b")
    assert text_of(s3, "photos", "in/new") == b"new"
    writer.upload_fileobj(io.BytesIO(b"x" * (PART * 3)), "photos", "in/large")
    assert s3.head_object(Bucket="photos", Key="in/large")["ContentLength"] == PART * 3
    upload = writer.create_multipart_upload(Bucket="photos", Key="in/given-up")["UploadId"]
    writer.upload_part(Bucket="photos", Key="in/given-up", UploadId=upload, PartNumber=1, Body=b"x")
    assert len(writer.list_parts(Bucket="photos", Key="in/given-up", UploadId=upload)["Parts"]) == 1
    assert len(writer.list_multipart_uploads(Bucket="photos", Prefix="in/")["Uploads"]) == 1
    writer.abort_multipart_upload(Bucket="photos", Key="in/given-up", UploadId=upload)
    writer.delete_object(Bucket="photos", Key="in/new")
    names = (made["id"], "'photos'", "'in/'", "write access")
    denied(writer.get_object, *names, "s3:GetObject", Bucket="photos", Key="in/a")
    denied(writer.head_object, Bucket="photos", Key="in/a")
    denied(writer.list_objects_v2, *names, Bucket="photos", Prefix="in/")
    denied(writer.put_object, *names, "s3:PutObject", "'photos/out/new'", Bucket="photos", Key="out/new", Body=b"x" * (PART * 2))
    denied(writer.put_object, *names, Bucket="other", Key="in/new", Body=b"x")
    denied(writer.copy_object, *names, "s3:GetObject", Bucket="photos", Key="in/c", CopySource="photos/in/a")
    denied(writer.list_multipart_uploads, *names, Bucket="photos")
    denied(writer.delete_object, *names, "s3:DeleteObjectVersion", Bucket="photos", Key="in/a", VersionId="null")
    denied(writer.put_bucket_versioning, *names, Bucket="photos", VersioningConfiguration={"Status": "Enabled"})
    done = writer.delete_objects(Bucket="photos", Delete={"Objects": [{"Key": "in/b"}, {"Key": "out/a"}]})
    assert [it["Key"] for it in done["Deleted"]] == ["in/b"]
    assert [(it["Key"], it["Code"]) for it in done["Errors"]] == [("out/a", "AccessDenied")] and made["id"] in done["Errors"][0]["Message"], done
    denied(writer.delete_objects, *names, Bucket="no-such-bucket", Delete={"Objects": [{"Key": "in/b"}]})
    assert [it["Key"] for it in s3.list_objects_v2(Bucket="photos")["Contents"]] == ["in/a", "in/large", "out/a"]

    both = Aws(server, make(server, "read-write")["token"]).client("s3")
    both.copy_object(Bucket="photos", Key="in/copy", CopySource="photos/in/a")
    assert text_of(both, "photos", "in/copy") == b"photos/in/a"
    denied(both.copy_object, "s3:GetObject", "'photos/out/a'", Bucket="photos", Key="in/c", CopySource="photos/out/a")
    upload = both.create_multipart_upload(Bucket="photos", Key="in/part")["UploadId"]
    options = {"Bucket": "photos", "Key": "in/part", "UploadId": upload, "PartNumber": 1}
    both.upload_part_copy(**options, CopySource="photos/in/large")
    denied(both.upload_part_copy, "s3:GetObject", **options, CopySource="other/in/a")
    denied(both.delete_object, Bucket="photos", Key="out/a")


def test_the_aws_cli_works_with_one_and_says_what_is_denied(server, s3, tmp_path):
    both, reader = (Aws(server, make(server, access)["token"]) for access in ("read-write", "read"))
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("x", "y"):
        (folder / name).write_text(name)
    done = run_aws(both, "s3", "sync", folder, "s3://photos/in/")
    assert done.returncode == 0, done
    assert text_of(s3, "photos", "in/x") == b"x"
    listed = run_aws(reader, "s3", "ls", "s3://photos/in/")
    assert listed.returncode == 0 and [line.split()[-1] for line in listed.stdout.splitlines()] == ["a", "b", "x", "y"], listed
    assert run_aws(reader, "s3", "cp", "s3://photos/in/y", tmp_path / "got").returncode == 0
    assert (tmp_path / "got").read_text() == "y"
    assert run_aws(both, "s3", "rm", "--recursive", "s3://photos/in/").returncode == 0
    for words in (("s3", "ls"), ("s3", "ls", "s3://photos/"), ("s3", "cp", folder / "x", "s3://photos/out/x")):
        refused = run_aws(both, *words)
        assert refused.returncode != 0 and "AccessDenied" in refused.stderr and both.id in refused.stderr and "'photos'" in refused.stderr, refused
    refused = run_aws(reader, "s3", "cp", folder / "x", "s3://photos/in/x")
    assert refused.returncode != 0 and "AccessDenied" in refused.stderr and "read access" in refused.stderr, refused


def test_a_presigned_url_does_what_its_key_does_until_the_key_is_gone(server, s3):
    made = make(server, "read-write")
    client = Aws(server, made["token"]).client("s3")
    url = lambda name, key: client.generate_presigned_url(name, {"Bucket": "photos", "Key": key}, ExpiresIn=600)
    got = url("get_object", "in/a")
    assert urllib.request.urlopen(got, timeout=60).read() == b"photos/in/a"
    urllib.request.urlopen(urllib.request.Request(url("put_object", "in/put"), data=b"put", method="PUT", headers={"Content-Type": ""}), timeout=60)
    assert text_of(s3, "photos", "in/put") == b"put"

    def refusal(address, **options):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(address, **options), timeout=60)
        return refused.value.code, refused.value.read().decode()

    status, said = refusal(url("get_object", "out/a"))
    assert status == 403 and "<Code>AccessDenied</Code>" in said and made["id"] in said and "photos" in said, said
    assert "AccessDenied" in refusal(url("put_object", "out/put"), data=b"put", method="PUT", headers={"Content-Type": ""})[1]
    assert server.cli("key", "delete", made["id"]).status == 0
    assert refusal(got)[0] == 403


def test_one_expires_as_other_keys_do(server, s3):
    client = Aws(server, make(server, "read", "--expires", "3s")["token"]).client("s3")
    assert text_of(client, "photos", "in/a") == b"photos/in/a"

    def is_over():
        try:
            client.get_object(Bucket="photos", Key="in/a")
        except botocore.exceptions.ClientError as error:
            return error.response["Error"]["Code"]
        return None

    wait_until(is_over, "the key to expire")
    assert is_over() == "ExpiredToken"


def test_nothing_else_of_the_server_answers_to_one(server, s3):
    key = make(server, "read-write", prefix="")["token"]
    job = {"command": ["true"], "items": ["a"]}
    for method, path, body in (("GET", "/api/v1/", None), ("GET", "/api/v1/jobs", None), ("POST", "/api/v1/jobs", job), ("GET", "/api/v1/keys", None),
                               ("POST", "/api/v1/keys", {"scope": "admin"}), ("GET", "/api/v1/workers", None), ("POST", "/worker/v1/poll", {}),
                               ("GET", "/api/v1/streams", None), ("GET", "/api/v1/openapi.yaml", None), ("GET", "/metrics", None),
                               ("POST", "/api/v1/sql", {"query": "select 1"})):
        status, said = server.ask(method, path, body, key)
        assert status == 403, (method, path, status, said)
    status, said = server.ask("GET", "/api/v1/jobs", key=key)
    assert key.split(".")[0] in said["detail"] and "'photos'" in said["detail"] and said["next"], said
    outsider = Aws(server, key)
    for service, operation, options in (("sqs", "list_queues", {}), ("sqs", "create_queue", {"QueueName": "q"}), ("sts", "get_caller_identity", {}),
                                        ("sts", "get_session_token", {}), ("iam", "list_roles", {}), ("batch", "describe_job_queues", {}),
                                        ("logs", "describe_log_groups", {}), ("ec2", "describe_regions", {})):
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            getattr(outsider.client(service), operation)(**options)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 403), refused.value
        assert outsider.id in str(refused.value) and "photos" in str(refused.value), refused.value


def test_they_are_listed_and_refused_when_they_make_no_sense(server):
    made = make(server, "write", "--label", "partner")
    assert (made["scope"], made["bucket"], made["prefix"], made["access"]) == ("bucket", "photos", "in/", "write")
    listed = {key["id"]: key for key in server.cli("key", "list", "--json").json_lines[0]["keys"]}[made["id"]]
    assert (listed["bucket"], listed["prefix"], listed["access"], listed["label"]) == ("photos", "in/", "write", "partner") and "token" not in listed
    line = next(line for line in server.cli("key", "list").out.splitlines() if line.startswith(made["id"]))
    assert line.split()[1:] == ["bucket", "photos/in/*", "write", "partner"]
    refused = lambda *words: server.cli("key", "create", *words)
    refused("--bucket", "Photos", "--access", "read").refuses("'Photos' is not a valid bucket name", "3 to 63")
    refused("--bucket", "photos").refuses("--bucket requires --access")
    refused("--prefix", "in/", "--access", "read").refuses("require --bucket")
    refused("--label", "x").refuses("--scope or --bucket is required")
    refused("--bucket", "photos", "--prefix", "two\nlines", "--access", "read").refuses("single line")
    refused("--bucket", "photos", "--access", "read", "--fleet", "spot").refuses("fleet")
    refused("--bucket", "photos", "--access", "read", "--expires", "0s").refuses("expiry")
    for words in (("--bucket", "photos", "--access", "own"), ("--bucket", "photos", "--access", "read", "--scope", "read")):
        assert refused(*words).status == 2
    for body, says in (({"bucket": "photos", "access": "own"}, "access"), ({"bucket": "p", "access": "read"}, "bucket name"),
                       ({"access": "read"}, "bucket"), ({"prefix": "in/", "scope": "read"}, "bucket"), ({}, "scope"),
                       ({"bucket": "photos", "access": "read", "scope": "admin"}, "scope"),
                       ({"bucket": "photos", "access": "read", "worker": "w1"}, "worker")):
        status, problem = server.ask("POST", "/api/v1/keys", body)
        assert status == 400 and says in json.dumps(problem), (body, problem)


def test_keys_for_buckets_are_there_after_a_restart(server, s3):
    key = make(server, "read")["token"]
    server.kill()
    server.start()
    assert text_of(Aws(server, key).client("s3"), "photos", "in/a") == b"photos/in/a"
