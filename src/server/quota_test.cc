#include "server/quota.h"

#include <gtest/gtest.h>

#include <optional>

namespace drover {
namespace {

TEST(Quota, GivesUpToItsLimitsAndTakesBack) {
  Quota quota("searches", {.total = 2, .each = 1, .reserved = 0});
  auto first = quota.take({.name = "a"});
  ASSERT_TRUE(first);
  const auto more = quota.take({.name = "a"});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "this key has reached its limit of 1 concurrent searches");
  first->reset();
  EXPECT_TRUE(quota.take({.name = "a"}));
}

// Work that is dropped when its pool goes may hold a share longer than whoever gave it is there.
TEST(Quota, WhatItGaveMayOutliveIt) {
  std::optional<Quota> quota(std::in_place, "searches", HolderCounts::Limits{.total = 2, .each = 1, .reserved = 0});
  auto share = quota->take({.name = "a key whose name is long enough to be on the heap"});
  ASSERT_TRUE(share);
  quota.reset();
  share->reset();
}

}  // namespace
}  // namespace drover
