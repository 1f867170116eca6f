"""What tests/test_s3_clients.py runs with each boto3: a bucket from its creation to its end. Ends with 'all is well'."""

import hashlib
import io
import sys
import urllib.request

import boto3
import boto3.s3.transfer
import botocore.config

address, authority = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
s3 = boto3.client("s3", endpoint_url=address, verify=authority)
body = hashlib.sha256(b"body").digest() * 700_000  # 21 MiB
s3.create_bucket(Bucket="client")
assert "client" in [it["Name"] for it in s3.list_buckets()["Buckets"]]

for key, content in (("empty", b""), ("a b/ü+&.txt", b"hello"), ("large", body[:9_000_000])):
    s3.put_object(Bucket="client", Key=key, Body=content, Metadata={"camera": "one"}, ContentType="x/y")
    got = s3.get_object(Bucket="client", Key=key)
    assert got["Body"].read() == content and got["Metadata"] == {"camera": "one"} and got["ContentType"] == "x/y", key
    assert s3.head_object(Bucket="client", Key=key)["ContentLength"] == len(content)
assert s3.get_object(Bucket="client", Key="large", Range="bytes=100-199")["Body"].read() == body[100:200]

config = boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
s3.upload_fileobj(io.BytesIO(body), "client", "parts", Config=config)
into = io.BytesIO()
s3.download_fileobj("client", "parts", into, Config=config)
assert into.getvalue() == body and s3.head_object(Bucket="client", Key="parts")["ETag"].endswith('-5"')
s3.copy({"Bucket": "client", "Key": "parts"}, "client", "copied", Config=config)
assert hashlib.md5(s3.get_object(Bucket="client", Key="copied")["Body"].read()).digest() == hashlib.md5(body).digest()

assert [it["Key"] for it in s3.list_objects_v2(Bucket="client", Prefix="a b/")["Contents"]] == ["a b/ü+&.txt"]
assert [it["Prefix"] for it in s3.list_objects(Bucket="client", Delimiter="/")["CommonPrefixes"]] == ["a b/"]
for version in ("s3", "s3v4"):
    signing = boto3.client("s3", endpoint_url=address, verify=authority, config=botocore.config.Config(signature_version=version))
    url = signing.generate_presigned_url("get_object", Params={"Bucket": "client", "Key": "a b/ü+&.txt"})
    if authority is None:
        assert urllib.request.urlopen(url).read() == b"hello", version

s3.put_bucket_versioning(Bucket="client", VersioningConfiguration={"Status": "Enabled"})
first = s3.put_object(Bucket="client", Key="v", Body=b"1")["VersionId"]
s3.put_object(Bucket="client", Key="v", Body=b"2")
assert s3.get_object(Bucket="client", Key="v", VersionId=first)["Body"].read() == b"1"
s3.put_object_tagging(Bucket="client", Key="v", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
assert s3.get_object_tagging(Bucket="client", Key="v")["TagSet"] == [{"Key": "a", "Value": "b"}]

versions = s3.list_object_versions(Bucket="client")
everything = [{"Key": it["Key"], "VersionId": it["VersionId"]} for it in versions.get("Versions", []) + versions.get("DeleteMarkers", [])]
done = s3.delete_objects(Bucket="client", Delete={"Objects": everything})
assert len(done["Deleted"]) == len(everything) and "Errors" not in done
s3.delete_bucket(Bucket="client")
print("all is well with boto3", boto3.__version__)
