#include "accel/gpu_history.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

constexpr std::int64_t kMiB = 1024;

TEST(GpuHistory, SumsWhatSamplesSayOfTheTimeBeforeThem) {
  GpuHistory history;
  history.add(1000, {.busy_percent = 0, .memory_kib = 10 * kMiB, .energy_mj = 5000});
  history.add(2000, {.busy_percent = 50, .memory_kib = 30 * kMiB, .energy_mj = 5100});
  history.add(3000, {.busy_percent = 100, .memory_kib = 20 * kMiB, .energy_mj = 5400});
  EXPECT_EQ(history.between(1000, 3000), (GpuUse{1'500'000, 30 * kMiB, 400}));
  EXPECT_EQ(history.between(2000, 3000), (GpuUse{1'000'000, 20 * kMiB, 300}));
  EXPECT_EQ(history.between(1500, 2500), (GpuUse{750'000, 30 * kMiB, 200}));
}

TEST(GpuHistory, OfWhatIsBehindTheLastSampleThatIsTrueToo) {
  GpuHistory history;
  history.add(1000, {.busy_percent = 80, .memory_kib = 1});
  history.add(1250, {.busy_percent = 80, .memory_kib = 1});
  EXPECT_EQ(history.between(1000, 1350).busy_us, 280'000);
  EXPECT_EQ(history.between(1300, 1350).busy_us, 40'000);
}

TEST(GpuHistory, KnowsNothingWithoutSamplesAndOfNoTime) {
  GpuHistory history;
  EXPECT_EQ(history.between(0, 1000), GpuUse{});
  history.add(500, {.busy_percent = 100, .memory_kib = 7});
  EXPECT_EQ(history.between(600, 600), GpuUse{});
  EXPECT_EQ(history.between(700, 600), GpuUse{});
}

TEST(GpuHistory, AClockThatIsSetBackALittleCostsASampleAndALotTheWholePast) {
  GpuHistory history;
  history.add(5000, {.busy_percent = 100});
  history.add(4500, {.busy_percent = 100});
  history.add(6000, {.busy_percent = 100});
  EXPECT_EQ(history.between(5000, 6000).busy_us, 1'000'000);
  history.add(1000, {.busy_percent = 0});
  history.add(1250, {.busy_percent = 0});
  EXPECT_EQ(history.between(1000, 1250).busy_us, 0);
}

TEST(GpuHistory, WhatNobodyHasSeenIsNotMadeUp) {
  GpuHistory history;
  history.add(100'000, {.busy_percent = 100});
  history.add(101'000, {.busy_percent = 100});
  EXPECT_EQ(history.between(99'500, 100'000).busy_us, 500'000) << "just before the first sample";
  EXPECT_EQ(history.between(0, 100'000).busy_us, 1'000'000);
  EXPECT_EQ(history.between(101'000, 900'000).busy_us, 1'000'000) << "the driver has stopped answering";
}

TEST(GpuHistory, AGpuThatDoesNotTellItsEnergyUsesNone) {
  GpuHistory history;
  history.add(1000, {.busy_percent = 10, .energy_mj = 100});
  history.add(2000, {.busy_percent = 10});
  history.add(3000, {.busy_percent = 10, .energy_mj = 50});  // the driver was loaded anew
  history.add(4000, {.busy_percent = 10, .energy_mj = 75});
  EXPECT_EQ(history.between(1000, 4000).energy_mj, 25);
}

// A day of samples, four a second: busy for the second half.
TEST(GpuHistory, TheLongPastCostsLittleAndIsOffByLittle) {
  constexpr std::int64_t kDayMs = 86'400'000;
  GpuHistory history;
  for (std::int64_t at_ms = 0; at_ms <= kDayMs; at_ms += 250) {
    const bool is_busy = at_ms > kDayMs / 2;
    history.add(at_ms,
                {.busy_percent = is_busy ? 100 : 0, .memory_kib = at_ms == 250 * 1000 ? 99 : 1, .energy_mj = at_ms});
  }
  EXPECT_LT(history.size(), 2500U);
  const GpuUse all = history.between(0, kDayMs);
  EXPECT_EQ(all.busy_us, kDayMs / 2 * 1000);
  EXPECT_EQ(all.energy_mj, kDayMs);
  EXPECT_EQ(all.peak_memory_kib, 99) << "a peak is not lost when samples are merged";
  const std::int64_t quarter_us = history.between(kDayMs / 4, kDayMs).busy_us;
  EXPECT_NEAR(static_cast<double>(quarter_us), kDayMs / 2 * 1000.0, kDayMs * 10.0);
  EXPECT_EQ(history.between(kDayMs - 1000, kDayMs).busy_us, 1'000'000) << "the last second is known exactly";
}

}  // namespace
}  // namespace drover
