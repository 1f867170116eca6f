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
  return concat(request->row->name, " ", request->bucket, " ", request->key);
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
  EXPECT_EQ(read(head_of("GET", "//a")), "InvalidBucketName");
  EXPECT_EQ(read(head_of("GET", "/photos/" + std::string(1024, 'k'))), "GetObject photos " + std::string(1024, 'k'));
  EXPECT_EQ(read(head_of("GET", "/photos/" + std::string(1025, 'k'))), "KeyTooLongError");
  // Not taken for a request that is here: a PUT of a retention is no PUT of an object.
  for (const std::string query : {"retention", "torrent", "policy=", "uploads", "partNumber=1", "versioning", "new"}) {
    EXPECT_EQ(read(head_of("PUT", "/photos/a", query)), "NotImplemented") << query;
  }
  for (const std::string query : {"lifecycle", "publicAccessBlock", "intelligent-tiering&id=1", "website", "new"}) {
    EXPECT_EQ(read(head_of("DELETE", "/photos", query)), "NotImplemented") << query;
    EXPECT_EQ(read(head_of("PUT", "/photos", query)), "NotImplemented") << query;
  }
}

TEST(S3Request, EveryOperationOfTheTableIsFoundByItsRow) {
  for (const S3OperationRow& row : s3_operations()) {
    std::string path = "/";
    if (row.level != S3Level::service) path += "photos";
    if (row.level == S3Level::object) path += "/a";
    std::vector<HttpHeader> headers;
    if (row.is_copy) headers.push_back({"x-amz-copy-source", "/b/c"});
    const std::string query = row.selector.empty() ? "" : concat(row.selector, "=2");
    const auto request = read_s3_request(head_of(std::string(row.method), path, query, headers));
    ASSERT_TRUE(request) << row.name;
    EXPECT_EQ(request->row, &row) << row.name;
    // What it may say beside that does not make it another, and what it may not is named.
    for (std::string_view rest = row.parameters; !rest.empty();) {
      const std::string more = concat(query, query.empty() ? "" : "&", take_until(rest, ' '), "=1");
      const auto again = read_s3_request(head_of(std::string(row.method), path, more, headers));
      ASSERT_TRUE(again) << row.name << " " << more;
      EXPECT_EQ(again->row, &row) << more;
    }
    EXPECT_EQ(read(head_of(std::string(row.method), path, concat(query, "&unheard-of="), headers)), "NotImplemented");
  }
}

TEST(S3Request, TheHostMayNameTheBucket) {
  const auto at = [](std::string host, std::string path) {
    return read(head_of("GET", std::move(path), "", {{"Host", std::move(host)}}));
  };
  EXPECT_EQ(at("photos.localhost:8080", "/a/b"), "GetObject photos a/b");
  EXPECT_EQ(at("my.photos.s3.eu-west-1.amazonaws.com", "/"), "ListObjects my.photos ");
  EXPECT_EQ(at("s3.localhost", "/photos"), "ListObjects photos ");
  EXPECT_EQ(at("localhost", "/photos"), "ListObjects photos ");
  EXPECT_EQ(at("127.0.0.1:8080", "/photos/a"), "GetObject photos a");
  EXPECT_EQ(at("drover.example.com", "/photos/a"), "GetObject photos a");
}

TEST(S3Request, PoliciesKnowVersionsByOtherActions) {
  const auto action = [](const HttpHead& head) { return policy_action(*read_s3_request(head)); };
  EXPECT_EQ(action(head_of("GET", "/photos/a")), "s3:GetObject");
  EXPECT_EQ(action(head_of("GET", "/photos/a", "versionId=1")), "s3:GetObjectVersion");
  EXPECT_EQ(action(head_of("PUT", "/photos/a", "tagging&versionId=1")), "s3:PutObjectVersionTagging");
  EXPECT_EQ(action(head_of("GET", "/photos", "list-type=2")), "s3:ListBucket");
}

TEST(S3Request, WhatWouldBeKeptOtherwiseIsNotOverlooked) {
  const auto with = [](std::string name, std::string value) {
    return read(head_of("PUT", "/photos/a", "", {{std::move(name), std::move(value)}}));
  };
  EXPECT_EQ(with("x-amz-server-side-encryption-customer-key", "k"), "NotImplemented");
  EXPECT_EQ(with("x-amz-object-lock-mode", "GOVERNANCE"), "NotImplemented");
  EXPECT_EQ(with("x-amz-acl", "everybody"), "InvalidArgument");
  EXPECT_EQ(with("x-amz-acl", "private"), "PutObject photos a");
  EXPECT_EQ(read(head_of("GET", "/photos/a", "versionId=null")), "GetObject photos a");
}

}  // namespace
}  // namespace drover::aws
