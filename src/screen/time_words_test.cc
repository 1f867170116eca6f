#include "screen/time_words.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(TimeWords, SayARange) {
  EXPECT_EQ(time_left_words(TimeRange{180, 300}), "3–5 min left");
  EXPECT_EQ(time_left_words(TimeRange{12, 41}), "10–40 s left");
  EXPECT_EQ(time_left_words(TimeRange{3600, 7200}), "1–2 h left");
  EXPECT_EQ(time_left_words(TimeRange{1500, 4700}), "25–80 min left");
  EXPECT_EQ(time_left_words(TimeRange{3 * 86400, 5 * 86400}), "3–5 days left");
}

TEST(TimeWords, SayOneNumberWhenBothAreClose) {
  EXPECT_EQ(time_left_words(TimeRange{230, 250}), "about 4 min left");
  EXPECT_EQ(time_left_words(TimeRange{5300, 5450}), "about 1.5 h left");
  EXPECT_EQ(time_left_words(TimeRange{7, 7}), "about 7 s left");
}

TEST(TimeWords, NeverSayThatNothingIsLeft) {
  EXPECT_EQ(time_left_words(TimeRange{0, 0}), "a few seconds left");
  EXPECT_EQ(time_left_words(TimeRange{0, 200}), "under 3 min left");
  EXPECT_EQ(time_left_words(TimeRange{10, 5 * 3600}), "under 5 h left");
  for (double low = 0; low < 1e6; low = low * 1.3 + 0.1) {
    for (double high = low; high < 1e7; high = high * 1.4 + 0.1) {
      const std::string words = time_left_words(TimeRange{low, high});
      EXPECT_FALSE(words.starts_with("0 ") || words.starts_with("0–") || words.contains(" 0 ") || words.contains("–0 "))
          << words;
    }
  }
}

TEST(TimeWords, SayWhoRunsLong) {
  EXPECT_EQ(time_left_words(RunningLong{1, 1}), "the last one is running longer than 95 % of the others");
  EXPECT_EQ(time_left_words(RunningLong{2, 2}), "the last 2 are running longer than 95 % of the others");
  EXPECT_EQ(time_left_words(RunningLong{1, 2}), "1 of the last 2 is running longer than 95 % of the others");
  EXPECT_EQ(time_left_words(RunningLong{3, 5}), "3 of the last 5 are running longer than 95 % of the others");
}

TEST(TimeWords, SayRatesInTheUnitThatFits) {
  EXPECT_EQ(rate_words(1234.4), "1,234 items/s");
  EXPECT_EQ(rate_words(41.3), "41 items/s");
  EXPECT_EQ(rate_words(4.13), "4.1 items/s");
  EXPECT_EQ(rate_words(0.125), "7.5 items/min");
  EXPECT_EQ(rate_words(0.01), "36 items/h");
  EXPECT_EQ(rate_words(0), "0 items/s");
}

TEST(TimeWords, SayDurationsInWholeSeconds) {
  EXPECT_EQ(duration_words(0.7), "0 s");
  EXPECT_EQ(duration_words(42.9), "42 s");
  EXPECT_EQ(duration_words(298), "4 min 58 s");
  EXPECT_EQ(duration_words(7500), "2 h 05 min");
}

}  // namespace
}  // namespace drover
