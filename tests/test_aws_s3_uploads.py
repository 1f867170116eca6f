"""S3 on the wire: objects that come in parts."""

import base64
import hashlib
import io
import zlib

import boto3.s3.transfer
import pytest

from drover import wait_until
from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import bucket, data_files, run_aws, s3, status_of, text_of  # noqa: F401 (fixtures)

PART = 5 * 1024 * 1024


def bytes_of(seed, size):
    block = hashlib.sha256(str(seed).encode()).digest() * 4096
    return (block * (size // len(block) + 1))[:size]


class Upload:
    """One that is under way."""

    def __init__(self, s3, bucket, key, **options):
        self.s3, self.options = s3, {"Bucket": bucket, "Key": key}
        self.options["UploadId"] = s3.create_multipart_upload(Bucket=bucket, Key=key, **options)["UploadId"]

    def part(self, number, body, **options):
        return self.s3.upload_part(**self.options, PartNumber=number, Body=body, **options)["ETag"]

    def complete(self, parts, **options):
        return self.s3.complete_multipart_upload(**self.options, **options, MultipartUpload={
            "Parts": [{"PartNumber": number, "ETag": etag} for number, etag in parts]})


def test_parts_come_in_any_order_and_are_one_object(s3, bucket):
    upload = Upload(s3, bucket, "k", ContentType="x/y", Metadata={"camera": "a"}, Tagging="team=a")
    last, second, first = upload.part(9, b"the end"), upload.part(4, bytes_of(4, PART)), upload.part(2, bytes_of(2, PART))
    unused = upload.part(3, bytes_of(3, PART))
    listed = s3.list_parts(**upload.options, MaxParts=3)
    assert [it["PartNumber"] for it in listed["Parts"]] == [2, 3, 4] and listed["IsTruncated"]
    assert [it["PartNumber"] for it in s3.list_parts(**upload.options, PartNumberMarker=listed["NextPartNumberMarker"])["Parts"]] == [9]
    assert [it["Key"] for it in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == ["k"]
    assert status_of(s3.head_object, Bucket=bucket, Key="k")[0] == 404
    assert status_of(upload.complete, [(4, second), (2, first)]) == (400, "InvalidPartOrder")
    assert status_of(upload.complete, [(2, second)]) == (400, "InvalidPart")
    assert status_of(upload.complete, [(2, first), (5, second)]) == (400, "InvalidPart")
    assert status_of(upload.complete, [(2, first), (10, unused)]) == (400, "InvalidPart")
    whole = bytes_of(2, PART) + bytes_of(4, PART) + b"the end"
    done = upload.complete([(2, first), (4, second), (9, last)])
    md5s = b"".join(hashlib.md5(it).digest() for it in (bytes_of(2, PART), bytes_of(4, PART), b"the end"))
    assert done["ETag"] == f'"{hashlib.md5(md5s).hexdigest()}-3"'
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == whole
    assert got["ContentType"] == "x/y" and got["Metadata"] == {"camera": "a"} and got["ContentLength"] == len(whole)
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [{"Key": "team", "Value": "a"}]
    # Ranges across the seams, and parts by number.
    for first_byte, last_byte in ((PART - 3, PART + 2), (0, 2 * PART), (2 * PART + 1, 2 * PART + 6), (PART, 2 * PART - 1)):
        assert text_of(s3, bucket, "k", Range=f"bytes={first_byte}-{last_byte}") == whole[first_byte:last_byte + 1]
    part = s3.get_object(Bucket=bucket, Key="k", PartNumber=3)
    assert part["Body"].read() == b"the end" and part["PartsCount"] == 3
    assert s3.head_object(Bucket=bucket, Key="k", PartNumber=1)["ContentLength"] == PART
    # Whoever did not hear the answer asks again.
    assert upload.complete([(2, first), (4, second), (9, last)])["ETag"] == done["ETag"]
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    assert status_of(upload.part, 1, b"late") == (404, "NoSuchUpload")


def test_a_part_that_is_not_the_last_has_five_mebibytes(s3, bucket):
    upload = Upload(s3, bucket, "k")
    one, two = upload.part(1, b"small"), upload.part(2, b"small")
    assert status_of(upload.complete, [(1, one), (2, two)]) == (400, "EntityTooSmall")
    assert status_of(upload.part, 0, b"x") == (400, "InvalidArgument")
    assert status_of(upload.part, 10_001, b"x") == (400, "InvalidArgument")
    s3.abort_multipart_upload(**upload.options)
    assert status_of(s3.abort_multipart_upload, **upload.options) == (404, "NoSuchUpload")
    assert status_of(s3.list_parts, **upload.options) == (404, "NoSuchUpload")


def test_parts_are_copied_from_other_objects(s3, bucket):
    source = bytes_of("source", 2 * PART + 100)
    s3.put_object(Bucket=bucket, Key="source", Body=source)
    upload = Upload(s3, bucket, "k")

    def copy(number, **options):
        return s3.upload_part_copy(**upload.options, PartNumber=number, CopySource=f"{bucket}/source", **options)["CopyPartResult"]["ETag"]

    one = copy(1, CopySourceRange=f"bytes=10-{PART + 9}")
    assert one == f'"{hashlib.md5(source[10:PART + 10]).hexdigest()}"'
    two = copy(2)
    assert status_of(copy, 3, CopySourceRange=f"bytes=0-{len(source)}") == (400, "InvalidArgument")
    assert status_of(copy, 3, CopySourceIfMatch="other") == (412, "PreconditionFailed")
    s3.put_object(Bucket=bucket, Key="small", Body=b"0123456789")
    small = s3.upload_part_copy(**upload.options, PartNumber=3, CopySource=f"{bucket}/small", CopySourceRange="bytes=2-4")["CopyPartResult"]["ETag"]
    s3.delete_object(Bucket=bucket, Key="source")
    s3.delete_object(Bucket=bucket, Key="small")
    upload.complete([(1, one), (2, two), (3, small)])
    assert text_of(s3, bucket, "k") == source[10:PART + 10] + source + b"234"


@pytest.mark.parametrize("algorithm, kind", [("CRC32", "COMPOSITE"), ("SHA256", "COMPOSITE"), ("CRC32", "FULL_OBJECT")])
def test_the_checksum_of_the_whole_is_made_of_those_of_the_parts(aws, bucket, algorithm, kind):
    s3 = aws.client("s3")
    if kind == "FULL_OBJECT":
        if "ChecksumType" not in s3.meta.service_model.operation_model("CreateMultipartUpload").input_shape.members:
            s3.meta.events.register("before-sign.s3.CreateMultipartUpload", lambda request, **_: request.headers.add_header("x-amz-checksum-type", kind))
        options = {"ChecksumAlgorithm": algorithm}
    else:
        options = {"ChecksumAlgorithm": algorithm}
    upload = Upload(s3, bucket, "k", **options)
    bodies = [bytes_of(1, PART), bytes_of(2, PART), b"end"]
    parts = []
    for number, body in enumerate(bodies, 1):
        said = s3.upload_part(**upload.options, PartNumber=number, Body=body, ChecksumAlgorithm=algorithm)
        parts.append({"PartNumber": number, "ETag": said["ETag"], f"Checksum{algorithm}": said[f"Checksum{algorithm}"]})
    sum_of = {"CRC32": lambda it: zlib.crc32(it).to_bytes(4, "big"), "SHA256": lambda it: hashlib.sha256(it).digest()}[algorithm]
    expected = base64.b64encode(sum_of(b"".join(map(sum_of, bodies)))).decode() + "-3"
    if kind == "FULL_OBJECT":
        expected = base64.b64encode(sum_of(b"".join(bodies))).decode()
    wrong = [dict(parts[0], **{f"Checksum{algorithm}": parts[1][f"Checksum{algorithm}"]}), *parts[1:]]
    assert status_of(s3.complete_multipart_upload, **upload.options, MultipartUpload={"Parts": wrong}) == (400, "InvalidPart")
    done = s3.complete_multipart_upload(**upload.options, MultipartUpload={"Parts": parts})
    assert done[f"Checksum{algorithm}"] == expected
    assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")[f"Checksum{algorithm}"] == expected
    # Of a part of it, nothing is said.
    part = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED", Range="bytes=0-9")
    assert part["Body"].read() == bodies[0][:10] and f"Checksum{algorithm}" not in part


def test_pages_of_uploads(s3, bucket):
    ids = {key: Upload(s3, bucket, key).options["UploadId"] for key in ("a/1", "a/2", "b", "c")}
    again = Upload(s3, bucket, "b").options["UploadId"]
    seen, options = [], {}
    while True:
        page = s3.list_multipart_uploads(Bucket=bucket, MaxUploads=1, **options)
        seen += [(it["Key"], it["UploadId"]) for it in page.get("Uploads", [])]
        if not page["IsTruncated"]:
            break
        options = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
    assert seen == [("a/1", ids["a/1"]), ("a/2", ids["a/2"]), ("b", ids["b"]), ("b", again), ("c", ids["c"])]
    folded = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [it["Prefix"] for it in folded["CommonPrefixes"]] == ["a/"] and len(folded["Uploads"]) == 3


def test_boto3_and_the_cli_move_large_files(aws, s3, bucket, tmp_path):
    body = bytes_of("large", 21 * 1024 * 1024 + 5)
    s3.upload_fileobj(io.BytesIO(body), bucket, "by-boto3", Config=boto3.s3.transfer.TransferConfig(multipart_threshold=PART, multipart_chunksize=PART))
    assert s3.head_object(Bucket=bucket, Key="by-boto3")["ETag"].endswith('-5"')
    into = io.BytesIO()
    s3.download_fileobj(bucket, "by-boto3", into)
    assert into.getvalue() == body
    (tmp_path / "file").write_bytes(body)
    for words in (("cp", tmp_path / "file", f"s3://{bucket}/by-cli"), ("cp", f"s3://{bucket}/by-cli", f"s3://{bucket}/copied"),
                  ("mv", f"s3://{bucket}/copied", f"s3://{bucket}/moved"), ("cp", f"s3://{bucket}/moved", tmp_path / "back")):
        done = run_aws(aws, "s3", *words)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "back").read_bytes() == body


def test_uploads_survive_a_kill_and_nothing_of_what_was_aborted_is_left(aws, s3, bucket):
    upload, other = Upload(s3, bucket, "k"), Upload(s3, bucket, "other")
    one = upload.part(1, bytes_of(1, PART))
    other.part(1, bytes_of(1, PART))
    aws.server.kill()
    aws.server.start()
    s3 = aws.client("s3")
    two = s3.upload_part(**upload.options, PartNumber=2, Body=b"end")["ETag"]
    s3.complete_multipart_upload(**upload.options, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": one}, {"PartNumber": 2, "ETag": two}]})
    s3.abort_multipart_upload(**other.options)
    assert text_of(s3, bucket, "k") == bytes_of(1, PART) + b"end"
    s3.delete_object(Bucket=bucket, Key="k")
    wait_until(lambda: not data_files(aws.server), "the files to go")
