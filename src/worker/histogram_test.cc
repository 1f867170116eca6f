#include "worker/histogram.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Histogram, GivesQuantilesWithinTwoPercent) {
  Histogram histogram;
  for (std::int64_t value = 1; value <= 100'000; ++value) histogram.add(value);
  EXPECT_NEAR(static_cast<double>(histogram.quantile(0.5)), 50'000, 1'000);
  EXPECT_NEAR(static_cast<double>(histogram.quantile(0.95)), 95'000, 1'900);
  EXPECT_EQ(histogram.max(), 100'000);
}

TEST(Histogram, TakesZeroAndOneValue) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.add(0);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.add(7);
  EXPECT_EQ(histogram.quantile(1.0), 7);
}

}  // namespace
}  // namespace drover
