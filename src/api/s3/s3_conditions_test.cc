#include "api/s3/s3_conditions.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "wire/aws/signing_time.h"
#include "wire/aws/times.h"

namespace drover::aws {
namespace {

/// "FIRST+SIZE", "all", or the status of the fault.
std::string range(const std::string& text, std::uint64_t size) {
  const auto read = read_range({.method = "GET", .path = {}, .query = {}, .headers = {{"Range", text}}}, size);
  if (!read) return std::to_string(read.error().status);
  if (!*read) return "all";
  return concat((*read)->first, "+", (*read)->size);
}

TEST(S3Conditions, OneRange) {
  EXPECT_EQ(range("bytes=0-9", 100), "0+10");
  EXPECT_EQ(range("bytes=90-", 100), "90+10");
  EXPECT_EQ(range("bytes=90-1000", 100), "90+10");
  EXPECT_EQ(range("bytes=-10", 100), "90+10");
  EXPECT_EQ(range("bytes=-1000", 100), "0+100");
  EXPECT_EQ(range("bytes=100-", 100), "416");
  EXPECT_EQ(range("bytes=-0", 100), "416");
  EXPECT_EQ(range("bytes=0-", 0), "416");
  for (const std::string text : {"bytes=5-3", "bytes=a-b", "bytes=", "bytes=-", "items=0-1", "bytes=0-1,3-4",
                                 "bytes=18446744073709551616-", "bytes=1--2"}) {
    EXPECT_EQ(range(text, 100), "all") << text;
  }
  EXPECT_EQ(range("bytes=0-18446744073709551615", 100), "0+100");
}

TEST(S3Conditions, AConditionOnTheTagCountsBeforeOneOnTheTime) {
  const StoredObject object{.key = "k", .size = 1, .modified_ms = 1'700'000'000'400, .etag = "e1"};
  const auto check = [&](std::vector<HttpHeader> headers) {
    const auto held =
        check_conditions({.method = "GET", .path = {}, .query = {}, .headers = std::move(headers)}, object);
    return held ? 200 : held.error().status;
  };
  const std::string before = http_time(object.modified_ms - 1000);
  const std::string same = http_time(object.modified_ms);
  EXPECT_EQ(check({}), 200);
  EXPECT_EQ(check({{"If-Match", "\"e0\", \"e1\""}}), 200);
  EXPECT_EQ(check({{"If-Match", "*"}}), 200);
  EXPECT_EQ(check({{"If-Match", "\"e0\""}}), 412);
  EXPECT_EQ(check({{"If-None-Match", "W/\"e1\""}}), 304);
  EXPECT_EQ(check({{"If-None-Match", "\"e0\""}}), 200);
  EXPECT_EQ(check({{"If-Modified-Since", same}}), 304);
  EXPECT_EQ(check({{"If-Modified-Since", before}}), 200);
  EXPECT_EQ(check({{"If-Modified-Since", "yesterday"}}), 200);
  EXPECT_EQ(check({{"If-Unmodified-Since", same}}), 200);
  EXPECT_EQ(check({{"If-Unmodified-Since", before}}), 412);
  EXPECT_EQ(check({{"If-Match", "\"e1\""}, {"If-Unmodified-Since", before}}), 200);
  EXPECT_EQ(check({{"If-None-Match", "\"e0\""}, {"If-Modified-Since", same}}), 200);
}

TEST(S3Conditions, TimesOfHttpAreReadAndWritten) {
  EXPECT_EQ(http_time(784111777123), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_signing_time(http_time(784111777123)), 784111777000);
}

}  // namespace
}  // namespace drover::aws
