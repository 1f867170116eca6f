#include "api/s3/s3_bucket_key.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace drover::aws {
namespace {

constexpr auto kRead = BucketAccess::read;
constexpr auto kWrite = BucketAccess::write;
constexpr auto kBoth = BucketAccess::read_write;

Caller caller_with(BucketAccess access, std::string prefix = "in/") {
  return {.scope = Scope::bucket,
          .key_id = "AKDRAAAAAAAAAAAAAAAA",
          .job = std::nullopt,
          .grant = BucketGrant{"photos", std::move(prefix), access}};
}

/// Empty: it is allowed. Else the fault's message.
std::string why_not(const Caller& caller, std::string method, std::string path, std::string query = "",
                    std::vector<HttpHeader> headers = {}) {
  const auto request = read_s3_request(
      {.method = std::move(method), .path = std::move(path), .query = std::move(query), .headers = std::move(headers)});
  EXPECT_TRUE(request) << request.error().message;
  if (!request) return request.error().code;
  const auto allowed = check_bucket_key(caller, *request);
  if (allowed) return {};
  EXPECT_EQ(allowed.error().code, "AccessDenied");
  EXPECT_EQ(allowed.error().status, 403);
  return allowed.error().message;
}

struct GrantCase {
  const char* method;
  const char* path;
  const char* query;
  bool reader;
  bool writer;
};

TEST(BucketKey, ItsAccessDecidesWhatItMayDoBelowItsPrefix) {
  const GrantCase cases[] = {
      {"GET", "/photos/in/a", "", true, false},
      {"HEAD", "/photos/in/a", "", true, false},
      {"GET", "/photos/in/a", "versionId=3", true, false},
      {"GET", "/photos/in/a", "tagging", true, false},
      {"GET", "/photos/in/a", "attributes", true, false},
      {"GET", "/photos", "list-type=2&prefix=in/", true, false},
      {"GET", "/photos", "prefix=in/deeper/", true, false},
      {"GET", "/photos", "versions&prefix=in/", true, false},
      {"PUT", "/photos/in/a", "", false, true},
      {"PUT", "/photos/in/a", "tagging", false, true},
      {"DELETE", "/photos/in/a", "", false, true},
      {"POST", "/photos/in/a", "uploads", false, true},
      {"PUT", "/photos/in/a", "uploadId=u&partNumber=1", false, true},
      {"GET", "/photos/in/a", "uploadId=u", false, true},
      {"POST", "/photos/in/a", "uploadId=u", false, true},
      {"DELETE", "/photos/in/a", "uploadId=u", false, true},
      {"GET", "/photos", "uploads&prefix=in/", false, true},
      {"POST", "/photos", "delete", false, true},
      {"HEAD", "/photos", "", true, true},
      {"GET", "/photos", "location", true, true},
  };
  for (const GrantCase& one : cases) {
    const std::string said = concat(one.method, " ", one.path, "?", one.query);
    EXPECT_EQ(why_not(caller_with(kRead), one.method, one.path, one.query).empty(), one.reader) << said;
    EXPECT_EQ(why_not(caller_with(kWrite), one.method, one.path, one.query).empty(), one.writer) << said;
    EXPECT_EQ(why_not(caller_with(kBoth), one.method, one.path, one.query), "") << said;
  }
}

TEST(BucketKey, NothingIsAllowedBesideItsPrefixAndBucketOrForTheBucketItself) {
  const std::pair<const char*, std::pair<const char*, const char*>> cases[] = {
      {"GET", {"/", ""}},
      {"GET", {"/photos/out/a", ""}},
      {"GET", {"/photos/in", ""}},
      {"GET", {"/photos2/in/a", ""}},
      {"PUT", {"/photos2/in/a", ""}},
      {"PUT", {"/photos/i", ""}},
      {"DELETE", {"/photos/in/a", "versionId=3"}},
      {"GET", {"/photos", ""}},
      {"GET", {"/photos", "list-type=2&prefix=in"}},
      {"GET", {"/photos", "list-type=2&prefix="}},
      {"GET", {"/photos", "list-type=2&start-after=in/"}},
      {"GET", {"/photos2", "list-type=2&prefix=in/"}},
      {"GET", {"/photos", "versions"}},
      {"GET", {"/photos", "uploads"}},
      {"POST", {"/photos2", "delete"}},
      {"HEAD", {"/photos2", ""}},
      {"PUT", {"/photos", ""}},
      {"DELETE", {"/photos", ""}},
      {"GET", {"/photos", "policy"}},
      {"PUT", {"/photos", "versioning"}},
      {"GET", {"/photos", "notification"}},
      {"PUT", {"/photos", "notification"}},
      {"PUT", {"/photos", "acl"}},
      {"GET", {"/photos", "encryption"}},
      {"GET", {"/photos/in/a", "retention"}},
  };
  for (const auto& [method, place] : cases) {
    EXPECT_NE(why_not(caller_with(kBoth), method, place.first, place.second), "")
        << method << " " << place.first << "?" << place.second;
  }
}

TEST(BucketKey, WithoutAPrefixItIsForTheWholeBucket) {
  EXPECT_EQ(why_not(caller_with(kRead, ""), "GET", "/photos"), "");
  EXPECT_EQ(why_not(caller_with(kRead, ""), "GET", "/photos/any"), "");
  EXPECT_NE(why_not(caller_with(kRead, ""), "GET", "/photos2"), "");
}

TEST(BucketKey, ACopysSourceTakesTheRightToReadIt) {
  const auto request = read_s3_request(
      {.method = "PUT", .path = "/photos/in/b", .query = "", .headers = {{"x-amz-copy-source", "photos/in/a"}}});
  ASSERT_TRUE(request);
  const auto may_read = [&](BucketAccess access, const std::string& bucket, const std::string& key) {
    return check_bucket_key(caller_with(access), *request, "s3:GetObject", bucket, key).has_value();
  };
  EXPECT_TRUE(check_bucket_key(caller_with(kWrite), *request));
  EXPECT_FALSE(may_read(kWrite, "photos", "in/a"));
  EXPECT_TRUE(may_read(kBoth, "photos", "in/a"));
  EXPECT_FALSE(may_read(kBoth, "photos", "out/a"));
  EXPECT_FALSE(may_read(kBoth, "other", "in/a"));
}

TEST(BucketKey, TheErrorSaysWhichKeyItIsWhatItGivesAndWhatWasAskedFor) {
  EXPECT_EQ(why_not(caller_with(kRead), "PUT", "/photos/in/a"),
            "Access Denied: the key AKDRAAAAAAAAAAAAAAAA grants read access to objects of the bucket 'photos' with the "
            "prefix 'in/', not s3:PutObject on 'photos/in/a'");
  EXPECT_EQ(why_not(caller_with(kWrite, ""), "GET", "/photos", "prefix=in"),
            "Access Denied: the key AKDRAAAAAAAAAAAAAAAA grants write access to objects of the bucket 'photos', not "
            "s3:ListBucket on the bucket 'photos' with the prefix 'in'");
}

}  // namespace
}  // namespace drover::aws
