"""S3 on the wire: versions, tags, settings of buckets, multi-delete, and hosts that name a bucket."""

import http.client
import json

import botocore.config
import pytest

from test_aws_batch import aws, server  # noqa: F401 (fixtures)
from test_aws_s3 import bucket, s3, status_of, text_of  # noqa: F401 (fixtures)


def test_versions_are_kept_listed_and_deleted_one_by_one(s3, bucket):
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="k", Body=b"zero")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    one = s3.put_object(Bucket=bucket, Key="k", Body=b"one")["VersionId"]
    two = s3.put_object(Bucket=bucket, Key="k", Body=b"two" * 50_000)["VersionId"]
    assert text_of(s3, bucket, "k", VersionId=one) == b"one" and text_of(s3, bucket, "k", VersionId="null") == b"zero"
    gone = s3.delete_object(Bucket=bucket, Key="k")
    assert gone["DeleteMarker"] and status_of(s3.get_object, Bucket=bucket, Key="k") == (404, "NoSuchKey")
    assert status_of(s3.get_object, Bucket=bucket, Key="k", VersionId=gone["VersionId"])[0] == 405
    assert status_of(s3.get_object, Bucket=bucket, Key="k", VersionId="other") == (404, "NoSuchVersion")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    seen = s3.list_object_versions(Bucket=bucket)
    assert [(it["VersionId"], it["IsLatest"]) for it in seen["DeleteMarkers"]] == [(gone["VersionId"], True)]
    assert [(it["VersionId"], it["IsLatest"]) for it in seen["Versions"]] == [(two, False), (one, False), ("null", False)]
    assert s3.delete_object(Bucket=bucket, Key="k", VersionId=gone["VersionId"])["DeleteMarker"]
    assert text_of(s3, bucket, "k") == b"two" * 50_000
    copied = s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "k", "VersionId": one})
    assert copied["CopySourceVersionId"] == one and text_of(s3, bucket, "copy") == b"one"
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    s3.put_object(Bucket=bucket, Key="k", Body=b"three")
    assert [it["VersionId"] for it in s3.list_object_versions(Bucket=bucket, Prefix="k")["Versions"]] == ["null", two, one]
    assert status_of(s3.delete_bucket, Bucket=bucket) == (409, "BucketNotEmpty")


def test_all_versions_are_deleted_page_by_page(aws, s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for number in range(30):
        s3.put_object(Bucket=bucket, Key=f"k{number % 3}", Body=str(number).encode())
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": 7})
    count = 0
    for page in pages:
        for it in page["Versions"]:
            s3.delete_object(Bucket=bucket, Key=it["Key"], VersionId=it["VersionId"])
            count += 1
    assert count == 30
    s3.delete_bucket(Bucket=bucket)


def test_many_objects_are_deleted_at_once(s3, bucket):
    keys = [f"k{number}" for number in range(1000)]
    for key in keys[:20] + ["a & <b>", "ü"]:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    done = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys]})
    assert [it["Key"] for it in done["Deleted"]] == keys and "Errors" not in done
    done = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a & <b>"}, {"Key": "ü"}], "Quiet": True})
    assert "Deleted" not in done and "Contents" not in s3.list_objects_v2(Bucket=bucket)
    assert status_of(s3.delete_objects, Bucket=bucket, Delete={"Objects": [{"Key": "x"}] * 1001}) == (400, "MalformedXML")
    assert status_of(s3.delete_objects, Bucket="nowhere", Delete={"Objects": [{"Key": "x"}]}) == (404, "NoSuchBucket")


def test_a_multi_delete_that_was_damaged_on_its_way_deletes_nothing(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    s3.meta.events.register("before-sign.s3.DeleteObjects", lambda request, **_: (request.headers.__delitem__("Content-MD5"), request.headers.add_header(
        "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")))
    assert status_of(s3.delete_objects, Bucket=bucket, Delete={"Objects": [{"Key": "k"}]}) == (400, "BadDigest")
    assert text_of(s3, bucket, "k") == b"x"


def test_tags_of_objects_and_buckets(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="team=a%20b&stage=raw")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [{"Key": "team", "Value": "a b"}, {"Key": "stage", "Value": "raw"}]
    assert s3.head_object(Bucket=bucket, Key="k")["ResponseMetadata"]["HTTPHeaders"]["x-amz-tagging-count"] == "2"
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/k")
    s3.copy_object(Bucket=bucket, Key="other", CopySource=f"{bucket}/k", TaggingDirective="REPLACE", Tagging="a=b")
    assert len(s3.get_object_tagging(Bucket=bucket, Key="copy")["TagSet"]) == 2
    assert s3.get_object_tagging(Bucket=bucket, Key="other")["TagSet"] == [{"Key": "a", "Value": "b"}]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "x", "Value": ""}]})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [{"Key": "x", "Value": ""}]
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    many = [{"Key": str(number), "Value": "v"} for number in range(11)]
    assert status_of(s3.put_object_tagging, Bucket=bucket, Key="k", Tagging={"TagSet": many}) == (400, "BadRequest")
    assert status_of(s3.put_object_tagging, Bucket=bucket, Key="k", Tagging={"TagSet": many[:1] * 2}) == (400, "InvalidTag")
    assert status_of(s3.get_bucket_tagging, Bucket=bucket) == (404, "NoSuchTagSet")
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": many})
    assert len(s3.get_bucket_tagging(Bucket=bucket)["TagSet"]) == 11
    s3.delete_bucket_tagging(Bucket=bucket)
    assert status_of(s3.get_bucket_tagging, Bucket=bucket) == (404, "NoSuchTagSet")


def test_policies_cors_and_canned_acls_are_kept_and_described(s3, bucket):
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
                                                                 "Resource": f"arn:aws:s3:::{bucket}/*"}]})
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
    assert s3.get_bucket_policy(Bucket=bucket)["Policy"] == policy
    assert status_of(s3.put_bucket_policy, Bucket=bucket, Policy="{}") == (400, "MalformedPolicy")
    s3.delete_bucket_policy(Bucket=bucket)
    rules = [{"AllowedMethods": ["GET", "PUT"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"], "MaxAgeSeconds": 5}]
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": rules})
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"] == rules
    s3.delete_bucket_cors(Bucket=bucket)
    assert [it["Permission"] for it in s3.get_bucket_acl(Bucket=bucket)["Grants"]] == ["FULL_CONTROL"]
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read")
    assert [it["Permission"] for it in s3.get_bucket_acl(Bucket=bucket)["Grants"]] == ["FULL_CONTROL", "READ"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ACL="authenticated-read")
    assert s3.get_object_acl(Bucket=bucket, Key="k")["Grants"][1]["Grantee"]["URI"].endswith("/AuthenticatedUsers")
    s3.put_object_acl(Bucket=bucket, Key="k", ACL="private")
    assert len(s3.get_object_acl(Bucket=bucket, Key="k")["Grants"]) == 1


@pytest.mark.parametrize("operation, code", [
    ("get_bucket_policy", "NoSuchBucketPolicy"), ("get_bucket_cors", "NoSuchCORSConfiguration"), ("get_bucket_tagging", "NoSuchTagSet"),
    ("get_bucket_encryption", "ServerSideEncryptionConfigurationNotFoundError"), ("get_bucket_lifecycle_configuration", "NoSuchLifecycleConfiguration"),
    ("get_bucket_website", "NoSuchWebsiteConfiguration"), ("get_bucket_replication", "ReplicationConfigurationNotFoundError"),
    ("get_object_lock_configuration", "ObjectLockConfigurationNotFoundError"), ("get_public_access_block", "NoSuchPublicAccessBlockConfiguration"),
    ("get_bucket_ownership_controls", "OwnershipControlsNotFoundError")])
def test_what_was_never_set_is_not_found(s3, bucket, operation, code):
    assert status_of(getattr(s3, operation), Bucket=bucket) == (404, code)
    assert status_of(getattr(s3, operation), Bucket="nowhere") == (404, "NoSuchBucket")


def test_what_cannot_be_set_says_so_and_changes_nothing(s3, bucket):
    block = {"BlockPublicAcls": True}
    assert status_of(s3.put_public_access_block, Bucket=bucket, PublicAccessBlockConfiguration=block) == (501, "NotImplemented")
    assert status_of(s3.delete_public_access_block, Bucket=bucket) == (501, "NotImplemented")
    assert status_of(s3.put_bucket_accelerate_configuration, Bucket=bucket, AccelerateConfiguration={"Status": "Enabled"}) == (501, "NotImplemented")
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", ServerSideEncryption="AES256") == (501, "NotImplemented")
    assert s3.get_bucket_logging(Bucket=bucket).get("LoggingEnabled") is None
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"
    s3.head_bucket(Bucket=bucket)


def test_storage_classes_and_attributes_are_told(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"12345", StorageClass="STANDARD_IA", ChecksumAlgorithm="SHA256")
    s3.put_object(Bucket=bucket, Key="usual", Body=b"x")
    assert [it["StorageClass"] for it in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["STANDARD_IA", "STANDARD"]
    assert s3.head_object(Bucket=bucket, Key="k")["StorageClass"] == "STANDARD_IA"
    told = s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=["ETag", "ObjectSize", "StorageClass", "Checksum"])
    assert told["ObjectSize"] == 5 and told["StorageClass"] == "STANDARD_IA" and "ChecksumSHA256" in told["Checksum"]
    assert status_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", StorageClass="COLD") == (400, "InvalidStorageClass")


def test_conditions_of_copies_and_deletes(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ETag"]
    source = {"Bucket": bucket, "Key": "k"}
    assert status_of(s3.copy_object, Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch='"0"') == (412, "PreconditionFailed")
    assert status_of(s3.copy_object, Bucket=bucket, Key="c", CopySource=source, CopySourceIfNoneMatch=etag) == (412, "PreconditionFailed")
    s3.copy_object(Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch=etag)
    s3.meta.events.register("before-sign.s3.DeleteObject", lambda request, **_: request.headers.add_header("If-Match", '"0"'))
    assert status_of(s3.delete_object, Bucket=bucket, Key="k") == (412, "PreconditionFailed")
    assert status_of(s3.get_object, Bucket=bucket, Key="k", ExpectedBucketOwner="999999999999") == (403, "AccessDenied")


def test_the_host_may_name_the_bucket(aws, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a/b c", Body=b"by path")
    host, port = aws.server.address.removeprefix("http://").split(":")
    own = botocore.config.Config(s3={"addressing_style": "virtual"}, signature_version="s3v4")
    client = aws.client("s3", config=own, endpoint_url=f"http://localhost:{port}")
    url = client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a/b c"})
    assert url.startswith(f"http://{bucket}.localhost:{port}/a/b")
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("GET", url.removeprefix(f"http://{bucket}.localhost:{port}"), headers={"Host": f"{bucket}.localhost:{port}"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"by path")


def test_versions_and_keys_that_cannot_be_are_refused_one_by_one(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    done = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k" * 1025}, {"Key": "k", "VersionId": ""}, {"Key": "gone"}]})
    assert [(it["Key"], it["Code"]) for it in done["Errors"]] == [("k" * 1025, "KeyTooLongError"), ("k", "InvalidArgument")]
    assert [it["Key"] for it in done["Deleted"]] == ["gone"]
    assert [it["Key"] for it in s3.list_object_versions(Bucket=bucket)["DeleteMarkers"]] == ["gone"]
    assert status_of(s3.delete_object, Bucket=bucket, Key="k", VersionId="") == (400, "InvalidArgument")


def test_buckets_by_prefix_and_in_pages(aws, s3):
    for name in ("one-a", "one-b", "two-a"):
        s3.create_bucket(Bucket=name)
    def listed(query):
        s3.meta.events.register("before-sign.s3.ListBuckets", lambda request, **_: setattr(request, "url", request.url + query), unique_id="query")
        answer = s3.list_buckets()
        s3.meta.events.unregister("before-sign.s3.ListBuckets", unique_id="query")
        return [it["Name"] for it in answer["Buckets"]]

    assert listed("") == ["one-a", "one-b", "two-a"]
    assert listed("?prefix=one-") == ["one-a", "one-b"]
    assert listed("?max-buckets=1") == ["one-a"]
    assert listed("?max-buckets=1&continuation-token=one-a") == ["one-b"]


def test_an_acl_is_not_copied(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ACL="public-read")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/k")
    assert len(s3.get_object_acl(Bucket=bucket, Key="copy")["Grants"]) == 1
    s3.copy_object(Bucket=bucket, Key="other", CopySource=f"{bucket}/k", ACL="public-read")
    assert len(s3.get_object_acl(Bucket=bucket, Key="other")["Grants"]) == 2
