#include "wire/aws/bucket_name.h"

#include <gtest/gtest.h>

#include <string>

namespace drover::aws {
namespace {

TEST(BucketName, IsAsS3HasThem) {
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
