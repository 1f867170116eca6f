#include "api/sqs/message_md5.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

// The sums that AWS returns for these.
TEST(MessageMd5, IsThatOfAws) {
  EXPECT_EQ(md5_hex("hello"), "5d41402abc4b2a76b9719d911017c592");
  EXPECT_EQ(md5_of_attributes({{"a", "String", "x"}}), "a512aac9938034acb0b3c3d965944bf1");
  EXPECT_EQ(md5_of_attributes({{"timestamp", "Number", "1493147359900"}}), "235c5c510d26fb653d073faed50ae77c");
  EXPECT_EQ(md5_of_attributes({}), "");
}

TEST(MessageMd5, DependsOnTheTypeOfAnAttribute) {
  const std::string text = md5_of_attributes({{"a", "String", "x"}});
  EXPECT_NE(md5_of_attributes({{"a", "Binary", "x"}}), text);
  EXPECT_NE(md5_of_attributes({{"a", "String.custom", "x"}}), text);
}

}  // namespace
}  // namespace drover::aws
