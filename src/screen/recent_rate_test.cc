#include "screen/recent_rate.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(RecentRate, IsNotKnownFromOneLook) {
  RecentRate rate;
  EXPECT_EQ(rate.note(0, 100), 0);
  EXPECT_FALSE(rate.left(50));
}

TEST(RecentRate, ForgetsWhatWasLongAgo) {
  RecentRate rate;
  rate.note(0, 0);
  for (int second = 1; second <= 30; ++second) rate.note(second, 1000);
  EXPECT_EQ(rate.note(31, 1000), 0) << "nothing was done in the last ten seconds";
  EXPECT_NEAR(rate.note(32, 1100), 10, 1);
}

TEST(RecentRate, BeginsAnewWhenItemsRunAgain) {
  RecentRate rate;
  rate.note(0, 0);
  rate.note(1, 500);
  EXPECT_EQ(rate.note(2, 300), 0);
  EXPECT_NEAR(rate.note(3, 350), 50, 1);
}

TEST(RecentRate, TheRangeIsWideWhenLittleWasSeen) {
  RecentRate few;
  few.note(0, 0);
  few.note(5, 9);
  RecentRate many;
  many.note(0, 0);
  many.note(5, 10'000);
  const auto range = [](const std::optional<TimeLeft>& left) {
    return left ? std::get<TimeRange>(*left) : TimeRange{};
  };
  const TimeRange wide = range(few.left(90));
  const TimeRange narrow = range(many.left(100'000));
  EXPECT_LT(wide.low_s, 50);
  EXPECT_GT(wide.high_s, 50);
  EXPECT_GT(wide.high_s / wide.low_s, 1.5);
  EXPECT_LT(narrow.high_s / narrow.low_s, 1.05);
  EXPECT_FALSE(many.left(0));
}

}  // namespace
}  // namespace drover
