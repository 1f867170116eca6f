#include "wire/aws/sigv2.h"

#include <gtest/gtest.h>

#include "wire/aws/request_fixture.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

const std::string kSigned = "AWSAccessKeyId=AKID&Signature=x&Expires=1175139620";

std::string text_of(OwnedRequest request, std::string_view bucket_of_host = {}) {
  request.query += (request.query.empty() ? "" : "&") + kSigned;
  const Request view = request.view();
  return v2_string_to_sign(view, read_signature(view).value(), bucket_of_host).value();
}

TEST(SignatureVersion2, CoversSubResourcesInOrder) {
  EXPECT_EQ(text_of({.path = "/b/k", .query = "versionId=3&prefix=p&uploads&acl=&response-expires=a+b%2B"}),
            "GET\n\n\n1175139620\n/b/k?acl=&response-expires=a b+&uploads&versionId=3");
}

TEST(SignatureVersion2, CoversHeadersOfAmazons) {
  EXPECT_EQ(text_of({.method = "PUT",
                     .path = "/b/k",
                     .query = "x-amz-security-token=t%3D",
                     .headers = {{"X-Amz-Meta-B", " 1 "},
                                 {"x-amz-meta-b", "2"},
                                 {"x-amz-acl", "private"},
                                 {"Content-Type", "text/plain"},
                                 {"Content-MD5", "abc="},
                                 {"Host", "h"}}}),
            "PUT\nabc=\ntext/plain\n1175139620\nx-amz-acl:private\nx-amz-meta-b:1,2\nx-amz-security-token:t=\n/b/k");
}

TEST(SignatureVersion2, TheHostMayNameTheBucket) {
  EXPECT_EQ(text_of({.path = "/k"}, "bucket"), "GET\n\n\n1175139620\n/bucket/k");
  EXPECT_EQ(text_of({.path = ""}), "GET\n\n\n1175139620\n/");
}

TEST(SignatureVersion2, SaysWhatItCovers) {
  for (const char* name : {"acl", "website", "versionId", "response-content-type", "x-amz-acl", "X-Amz-Tagging"}) {
    EXPECT_TRUE(is_covered_by_v2(name)) << name;
  }
  for (const char* name : {"", "prefix", "ACL", "encryption", "list-type"})
    EXPECT_FALSE(is_covered_by_v2(name)) << name;
}

TEST(SignatureVersion2, TheExampleOfTheManualVerifies) {
  const std::string secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  const OwnedRequest request{.path = "/johnsmith/photos/puppy.jpg",
                             .query =
                                 "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1175139620"
                                 "&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D"};
  EXPECT_EQ(fault_of(request, secret, 1'175'139'620'000), std::nullopt);
  EXPECT_EQ(fault_of(request, secret, 1'175'139'620'001), SignatureFault::expired);
}

}  // namespace
}  // namespace drover::aws
