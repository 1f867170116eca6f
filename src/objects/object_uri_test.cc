#include "objects/object_uri.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

/// "store key", or "(why not)".
std::string parsed(std::string_view text) {
  const auto uri = parse_object_uri(text);
  if (!uri) return "(" + uri.error().message + ")";
  EXPECT_EQ(parse_object_uri(uri->text()), *uri);
  return uri->store + " " + uri->key;
}

TEST(ObjectUri, NamesAStoreAndAKey) {
  EXPECT_EQ(parsed("s3://photos/in/a b.jpg"), "photos in/a b.jpg");
  EXPECT_EQ(parsed("s3://photos"), "photos ");
  EXPECT_EQ(parsed("s3://photos/"), "photos ");
  EXPECT_EQ(parsed("s3://photos//x/../y"), "photos /x/../y");
  EXPECT_EQ(parsed("s3://"), " ");
  EXPECT_EQ(parsed("file:///data/in/a.jpg"), "/data/in a.jpg");
  EXPECT_EQ(parsed("file:///data/in/"), "/data/in ");
  EXPECT_EQ(parsed("file:///a"), "/ a");
  EXPECT_EQ(parsed("https://example.org/a/b?x=1#top"), "https://example.org a/b?x=1");
  EXPECT_EQ(parsed("http://127.0.0.1:8080"), "http://127.0.0.1:8080 ");
}

TEST(ObjectUri, WhatIsInvalidIsNamed) {
  EXPECT_EQ(parsed("s3:///key"), "(invalid object URI 's3:///key': it names no bucket)");
  EXPECT_EQ(parsed("s3://My_Bucket/k"),
            "(invalid object URI 's3://My_Bucket/k': 'My_Bucket' is not a valid bucket name)");
  EXPECT_TRUE(parsed("s3://photos/" + std::string(1025, 'k')).contains("longer than 1,024 bytes"));
  EXPECT_EQ(parsed("file://data"), "(invalid object URI 'file://data': the path is not absolute)");
  for (const char* path : {"file:///data/../x", "file:///data/x/..", "file:///./x"}) {
    EXPECT_TRUE(parsed(path).contains("the path contains '.' or '..'")) << path;
  }
  EXPECT_EQ(parsed("file:///data/..x"), "/data ..x");
  EXPECT_EQ(parsed("https:///x"), "(invalid object URI 'https:///x': it names no host)");
  EXPECT_TRUE(parsed("https://me:secret@host/x").contains("passwords in URLs are not supported"));
  EXPECT_TRUE(parsed("ftp://host/x").contains("the scheme is not supported"));
  EXPECT_TRUE(parsed(std::string("s3://photos/a\0b", 15)).contains("NUL"));
  EXPECT_FALSE(looks_like_object_uri("photos/a"));
  EXPECT_TRUE(looks_like_object_uri("s3://x"));
}

TEST(ObjectUri, GlobsMatchWithinAComponentAndTwoStarsBeyond) {
  const auto matches = [](std::string_view pattern, std::string_view key) { return matches_glob(pattern, key); };
  EXPECT_TRUE(matches("in/*.jpg", "in/a.jpg"));
  EXPECT_FALSE(matches("in/*.jpg", "in/b/a.jpg"));
  EXPECT_TRUE(matches("in/**.jpg", "in/b/a.jpg"));
  EXPECT_TRUE(matches("in/**/a*.jpg", "in/b/c/ab.jpg"));
  EXPECT_FALSE(matches("in/**/a*.jpg", "in/b/c/a/b.jpg"));
  EXPECT_TRUE(matches("**", ""));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_FALSE(matches("?", "/"));
  EXPECT_TRUE(matches("a?c*", "abc"));
  EXPECT_TRUE(matches("*a*b*c", "xxaxxbxxbxxc"));
  EXPECT_FALSE(matches("*a*b*c", "xxaxxbxxbxx"));
  EXPECT_TRUE(matches("**a/*b/**c", "1/2a/3b/4/5c"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("abcd", "abc"));
  EXPECT_EQ(literal_prefix("in/a*.jpg"), "in/a");
  EXPECT_EQ(literal_prefix("in/a.jpg"), "in/a.jpg");
}

TEST(ObjectUri, AGlobOfManyStarsIsMatchedInReasonableTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches_glob(pattern, std::string(1000, 'a') + "b"));
}

}  // namespace
}  // namespace drover
