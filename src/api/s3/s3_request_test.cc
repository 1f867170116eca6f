#include "api/s3/s3_request.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace drover::aws {
namespace {

HttpHead head_of(std::string method, std::string path, std::string query = "", std::vector<HttpHeader> headers = {}) {
  return {
      .method = std::move(method), .path = std::move(path), .query = std::move(query), .headers = std::move(headers)};
}

/// "PutObject photos a/b", or the code of the fault.
std::string read(const HttpHead& head) {
  const auto request = read_s3_request(head);
  if (!request) return request.error().code;
  return concat(to_string(request->operation), " ", request->bucket, " ", request->key);
}

TEST(S3Request, IsFoundByMethodPathAndQuery) {
  EXPECT_EQ(read(head_of("GET", "/")), "ListBuckets  ");
  EXPECT_EQ(read(head_of("PUT", "/photos")), "CreateBucket photos ");
  EXPECT_EQ(read(head_of("PUT", "/photos/")), "CreateBucket photos ");
  EXPECT_EQ(read(head_of("HEAD", "/photos")), "HeadBucket photos ");
  EXPECT_EQ(read(head_of("DELETE", "/photos")), "DeleteBucket photos ");
  EXPECT_EQ(read(head_of("GET", "/photos", "location")), "GetBucketLocation photos ");
  EXPECT_EQ(read(head_of("GET", "/photos", "prefix=a")), "ListObjects photos ");
  EXPECT_EQ(read(head_of("GET", "/photos", "list-type=2&prefix=a")), "ListObjectsV2 photos ");
  EXPECT_EQ(read(head_of("PUT", "/photos/a/b")), "PutObject photos a/b");
  EXPECT_EQ(read(head_of("PUT", "/photos/a", "", {{"X-Amz-Copy-Source", "/b/c"}})), "CopyObject photos a");
  EXPECT_EQ(read(head_of("GET", "/photos/a%2Fb%20c//", "x-id=GetObject")), "GetObject photos a/b c//");
  EXPECT_EQ(read(head_of("HEAD", "/photos/..")), "HeadObject photos ..");
  EXPECT_EQ(read(head_of("DELETE", "/photos/a")), "DeleteObject photos a");
}

TEST(S3Request, WhatIsNoRequestOfS3IsRefused) {
  EXPECT_EQ(read(head_of("POST", "/")), "MethodNotAllowed");
  EXPECT_EQ(read(head_of("PATCH", "/photos/a")), "MethodNotAllowed");
  EXPECT_EQ(read(head_of("GET", "/photos/%zz")), "InvalidURI");
  EXPECT_EQ(read(head_of("GET", "/photos/%ff")), "InvalidURI");
  EXPECT_EQ(read(head_of("GET", "/photos/a", "x=%z")), "InvalidURI");
  EXPECT_EQ(read(head_of("GET", "*")), "InvalidURI");
  EXPECT_EQ(read(head_of("GET", "/photos/" + std::string(1024, 'k'))), "GetObject photos " + std::string(1024, 'k'));
  EXPECT_EQ(read(head_of("GET", "/photos/" + std::string(1025, 'k'))), "KeyTooLongError");
  // Not taken for a request that is here: a PUT of tags is no PUT of an object.
  for (const std::string query : {"tagging", "acl", "policy=", "uploads", "partNumber=1&uploadId=2", "versioning"}) {
    EXPECT_EQ(read(head_of("PUT", "/photos/a", query)), "NotImplemented") << query;
  }
}

TEST(S3Request, WhatWouldBeKeptOtherwiseIsNotOverlooked) {
  const auto with = [](std::string name, std::string value) {
    return read(head_of("PUT", "/photos/a", "", {{std::move(name), std::move(value)}}));
  };
  EXPECT_EQ(with("X-Amz-Tagging", "a=b"), "NotImplemented");
  EXPECT_EQ(with("x-amz-server-side-encryption-customer-key", "k"), "NotImplemented");
  EXPECT_EQ(with("x-amz-acl", "public-read"), "NotImplemented");
  EXPECT_EQ(with("x-amz-acl", "private"), "PutObject photos a");
  EXPECT_EQ(read(head_of("GET", "/photos/a", "versionId=null")), "GetObject photos a");
  EXPECT_EQ(read(head_of("GET", "/photos/a", "versionId=3")), "NoSuchVersion");
}

TEST(S3Request, BucketsHaveNamesAsS3HasThem) {
  for (const std::string_view name : {"abc", "a-b.c", "0abc9", "photos-2026"})
    EXPECT_TRUE(is_bucket_name(name)) << name;
  for (const std::string_view name : {"", "ab", "Abc", "a_b", "-abc", "abc-", ".abc", "a..b", "a b c", "a/b"}) {
    EXPECT_FALSE(is_bucket_name(name)) << name;
  }
  EXPECT_TRUE(is_bucket_name(std::string(63, 'a')));
  EXPECT_FALSE(is_bucket_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace drover::aws
