#include "worker/item_fetches.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

constexpr GrantId kGrant{7};
constexpr ItemRange kItems{JobId{1}, ItemIndex{10}, 5};

TEST(ItemFetches, IsAskedForOnceUntilItIsAnswered) {
  ItemFetches fetches;
  fetches.add(kGrant, kItems);
  ASSERT_EQ(fetches.take_due(0).size(), 1U);
  EXPECT_TRUE(fetches.take_due(1'000'000).empty());
  ItemRange* left = fetches.on_answered(kGrant);
  ASSERT_NE(left, nullptr);
  left->count -= 2;
  const auto again = fetches.take_due(1'000'000);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].second.count, 3U);
  fetches.remove(kGrant);
  EXPECT_EQ(fetches.on_answered(kGrant), nullptr);
  EXPECT_TRUE(fetches.grants().empty());
}

// A server that cannot read its disk used to be asked every two seconds, by every worker.
TEST(ItemFetches, ALastingErrorIsAskedAboutLessAndLessOften) {
  ItemFetches fetches;
  fetches.add(kGrant, kItems);
  int asked = 0;
  for (std::int64_t now_ms = 0; now_ms < 3'600'000; now_ms += 500) {
    for (const auto& [grant, items] : fetches.take_due(now_ms)) {
      ++asked;
      fetches.on_failed(grant, now_ms);
    }
  }
  EXPECT_GT(asked, 55) << "at least once a minute";
  EXPECT_LT(asked, 70);
  // What has worked once is a new story.
  fetches.take_due(3'700'000);
  fetches.on_answered(kGrant);
  fetches.take_due(3'700'000);
  fetches.on_failed(kGrant, 3'700'000);
  EXPECT_TRUE(fetches.take_due(3'701'999).empty());
  EXPECT_EQ(fetches.take_due(3'702'000).size(), 1U);
}

}  // namespace
}  // namespace drover
