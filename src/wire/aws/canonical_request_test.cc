#include "wire/aws/canonical_request.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

TEST(CanonicalRequest, TheQueryIsSortedAndEncodedAgain) {
  EXPECT_EQ(canonical_query(""), "");
  EXPECT_EQ(canonical_query("b=2&a=%7e+x&a=%2f&uploads&%41=1"), "A=1&a=%2F&a=~%20x&b=2&uploads=");
  EXPECT_EQ(canonical_query("a=1&ab=2&a%3D=3&a-=4"), "a=1&a%3D=3&a-=4&ab=2");
  EXPECT_EQ(canonical_query("X-Amz-Signature=x&a=1&X%2DAmz-Signature=y"), "a=1");
  EXPECT_FALSE(canonical_query("a=%4"));
}

TEST(CanonicalRequest, OnlyS3SignsThePathAsItIsSent) {
  EXPECT_EQ(canonical_path("", "s3"), "/");
  EXPECT_EQ(canonical_path("", "batch"), "/");
  EXPECT_EQ(canonical_path("/a%20b//../c+d", "s3"), "/a%20b//../c+d");
  EXPECT_EQ(canonical_path("/a%20b//../c+d/", "batch"), "/a%2520b//../c%2Bd/");
}

TEST(CanonicalRequest, HeadersAreTrimmedAndJoined) {
  const Header headers[] = {{"X-Amz-Meta-A", "  two \t spaces  "},
                            {"Host", "h"},
                            {"x-amz-meta-a", "again"},
                            {"Accept", "*/*"},
                            {"content-type", ""}};
  const auto all = canonical_headers(headers, "content-type;host;x-amz-meta-a");
  EXPECT_EQ(all.text, "content-type:\nhost:h\nx-amz-meta-a:two spaces,again\n");
  EXPECT_EQ(all.missing, "");
  EXPECT_EQ(all.not_signed, "");

  const auto few = canonical_headers(headers, "accept;date;x-amz-date");
  EXPECT_EQ(few.text, "accept:*/*\n");
  EXPECT_EQ(few.missing, "date, x-amz-date");
  EXPECT_EQ(few.not_signed, "host, x-amz-meta-a, x-amz-meta-a");
}

}  // namespace
}  // namespace drover::aws
