#include "base/cost.h"

#include <gtest/gtest.h>

#include <limits>

namespace drover {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kOneGib = std::uint64_t{1} << 30;
constexpr std::int64_t kHourUs = 3'600'000'000;
constexpr MachinePart kWholeMachine{1, 1};

TEST(Cost, BillsAreRoundedDown) {
  struct Case {
    std::int64_t hourly, ms, bill;
  };
  for (const Case& it :
       {Case{85'000, 3'600'000, 85'000}, Case{85'000, 1'800'000, 42'500}, Case{85'000, 1000, 23}, Case{85'000, 42, 0},
        Case{0, 3'600'000, 0}, Case{85'000, 0, 0}, Case{85'000, -5, 0}, Case{-3, 3'600'000, 0}, Case{3'600'000, 1, 1},
        // a million dollars an hour for thirty years, and what is more than both
        Case{kMostHourlyMicrodollars, 1'000'000'000'000, 277'777'777'777'777'777},
        Case{kLargest, kLargest, 277'777'777'777'777'777}}) {
    EXPECT_EQ(bill_of(it.hourly, it.ms), it.bill) << it.hourly << " for " << it.ms;
  }
}

TEST(Cost, PartsCountEachThingByItsListPrice) {
  const Resources machine{8000, 32 * kOneGib, {}};
  // A CPU is 31,611 and a GiB 4,237: all of it is 388,472.
  struct Case {
    Resources ask;
    double part;
  };
  const Case cases[] = {{machine, 1},
                        {{}, 0},
                        {{1000, 0, {}}, 31'611 / 388'472.0},
                        {{0, 16 * kOneGib, {}}, 67'792 / 388'472.0},
                        {{4000, 16 * kOneGib, {}}, 0.5},
                        {{16'000, 0, {}}, 1},  // no more than there is
                        {Resources::endless(), 1}};
  for (const Case& it : cases) {
    const auto part = MachinePart::of(it.ask, machine);
    EXPECT_NEAR(static_cast<double>(part.weight) / static_cast<double>(part.whole), it.part, 1e-9);
  }
  const Resources with_gpus{8000, 32 * kOneGib, {4, 0, 0}};
  const auto gpu = MachinePart::of({0, 0, {1, 0, 0}}, with_gpus);
  EXPECT_NEAR(static_cast<double>(gpu.weight) / static_cast<double>(gpu.whole), 950'000 / 4'188'472.0, 1e-9);
  EXPECT_EQ(MachinePart::of({}, {}).weight, 0U);
  EXPECT_EQ(MachinePart::of({1000, 0, {}}, {}).weight, 1U) << "of a machine that has nothing, all";
}

TEST(Cost, PartsSideBySideAreAtMostTheMachine) {
  const Resources machine{7000, 10 * kOneGib + 12345, {3, 0, 0}};
  const Resources asks[] = {
      {2500, 3 * kOneGib + 1, {1, 0, 0}}, {2500, 3 * kOneGib + 2, {1, 0, 0}}, {2000, 4 * kOneGib, {1, 0, 0}}};
  Resources all;
  std::uint64_t weights = 0;
  for (const Resources& ask : asks) {
    all = all.plus(ask);
    weights += MachinePart::of(ask, machine).weight;
  }
  ASSERT_TRUE(all.fits(machine));
  EXPECT_LE(weights, MachinePart::of(machine, machine).whole);
}

TEST(Cost, WhatIsLessThanAMicrodollarIsCarriedOver) {
  CostSum sum;
  std::int64_t grown = 0;
  // A third of a machine at a dollar an hour, a million times for 1 ms: 277.8 micro-dollars a second.
  for (int i = 0; i < 1'000'000; ++i) grown += sum.add(1'000'000, {1, 3}, 1000, kLargest);
  EXPECT_EQ(sum.microdollars, 92'592);
  EXPECT_EQ(grown, sum.microdollars);
  EXPECT_EQ(CostSum{}.add(1'000'000, {1, 3}, 1000, kLargest), 0);
}

TEST(Cost, ASumGrowsNoFurtherThanItMay) {
  CostSum sum;
  EXPECT_EQ(sum.add(1'000'000, kWholeMachine, kHourUs, 400'000), 400'000);
  EXPECT_EQ(sum.rest, 0);
  EXPECT_EQ(sum.add(1'000'000, kWholeMachine, kHourUs, 400'000), 0);
  EXPECT_EQ(sum.add(1'000'000, kWholeMachine, kHourUs / 2, 1'000'000), 500'000);
  EXPECT_EQ(sum.add(1'000'000, kWholeMachine, kHourUs, 0), 0) << "nor does it shrink";
  EXPECT_EQ(sum.microdollars, 900'000);
}

TEST(Cost, NothingOverflows) {
  for (const std::int64_t us : {kLargest, std::numeric_limits<std::int64_t>::min()}) {
    CostSum sum;
    const std::int64_t grown =
        sum.add(kLargest, MachinePart::of(Resources::endless(), Resources::endless()), us, kLargest);
    EXPECT_EQ(grown, us > 0 ? 277'777'777'777'777'777 : 0);
    EXPECT_GE(sum.rest, 0);
  }
}

}  // namespace
}  // namespace drover
