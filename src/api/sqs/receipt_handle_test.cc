#include "api/sqs/receipt_handle.h"

#include <gtest/gtest.h>

#include <limits>

namespace drover::aws {
namespace {

TEST(ReceiptHandle, ComesBackTheSame) {
  constexpr auto kHighest = std::numeric_limits<std::uint64_t>::max();
  for (const Receipt& it : {Receipt{StreamId{1}, MessageNumber{4096}, 1}, Receipt{},
                            Receipt{StreamId{kHighest}, MessageNumber{kHighest}, kHighest}}) {
    EXPECT_EQ(parse_receipt_handle(receipt_handle(it)), it);
  }
}

TEST(ReceiptHandle, OneThatWasChangedIsNotOne) {
  const std::string handle = receipt_handle({StreamId{7}, MessageNumber{12'345}, 3});
  for (std::size_t i = 0; i < handle.size(); ++i) {
    std::string other = handle;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(parse_receipt_handle(other), std::nullopt) << other;
    EXPECT_EQ(parse_receipt_handle(handle.substr(0, i)), std::nullopt);
  }
  EXPECT_EQ(parse_receipt_handle(handle + handle), std::nullopt);
  EXPECT_EQ(parse_receipt_handle("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a=="), std::nullopt);
}

}  // namespace
}  // namespace drover::aws
