#include "screen/time_left.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace drover {
namespace {

double chance(Random& random) {
  return (static_cast<double>(random.next() >> 11U) + 0.5) * 0x1p-53;
}

using Draw = double (*)(Random&);

double constant(Random&) {
  return 10;
}
double uniform(Random& random) {
  return 5 + 10 * chance(random);
}
double exponential(Random& random) {
  return -10 * std::log(chance(random));
}
double log_normal(Random& random) {
  const double normal = std::sqrt(-2 * std::log(chance(random))) * std::cos(6.283185307 * chance(random));
  return 6 * std::exp(normal);
}
double heavy_tailed(Random& random) {  // its variance is infinite
  return 3 * std::pow(chance(random), -1 / 1.5);
}

/// A run over some slots, each item started when the first slot is free.
class SimulatedRun {
 public:
  SimulatedRun(Random& random, std::size_t items, std::size_t slots, Draw draw) : slots_(slots) {
    std::vector<double> free_at(slots, 0);
    for (std::size_t i = 0; i < items; ++i) {
      double& slot = *std::ranges::min_element(free_at);
      attempts_.push_back({slot, slot + draw(random)});
      slot = attempts_.back().end;
    }
    std::ranges::sort(attempts_, {}, &Attempt::end);
  }

  double end() const { return attempts_.back().end; }

  /// When this share of the items has ended.
  double time_at(double share) const {
    const auto ended = static_cast<std::size_t>(share * static_cast<double>(attempts_.size()));
    return attempts_[std::max<std::size_t>(ended, 1) - 1].end + 1e-6;
  }

  WorkLeft at(double now) const {
    WorkLeft work;
    work.slots = slots_;
    std::vector<double> durations;
    double recent = 0;
    for (const Attempt& attempt : attempts_) {
      if (attempt.start > now) {
        ++work.not_started;
      } else if (attempt.end > now) {
        work.running_s.push_back(now - attempt.start);
      } else {
        durations.push_back(attempt.end - attempt.start);
        work.seen.mean_s += durations.back();
        if (attempt.end > now - 10) ++recent;
      }
    }
    if (durations.empty()) return work;
    std::ranges::sort(durations);
    work.seen.count = durations.size();
    work.seen.mean_s /= static_cast<double>(durations.size());
    work.seen.p50_s = durations[durations.size() / 2];
    work.seen.p95_s = durations[durations.size() * 95 / 100];
    work.seen.max_s = durations.back();
    work.rate = recent / std::min(now, 10.0);
    return work;
  }

 private:
  struct Attempt {
    double start;
    double end;
  };

  std::size_t slots_;
  std::vector<Attempt> attempts_;
};

struct Expected {
  const char* name;
  Draw draw;
  std::size_t items;
  std::size_t slots;
  double factor;   // the truth lies within the range, widened by this
  int of_hundred;  // in at least so many runs of a hundred
};

class SimulatedRuns : public testing::TestWithParam<Expected> {};

TEST_P(SimulatedRuns, AreForeseen) {
  const auto& [name, draw, items, slots, factor, of_hundred] = GetParam();
  for (const double share : {0.25, 0.5, 0.75}) {
    int right = 0;
    int told = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Random random(seed);
      const SimulatedRun run(random, items, slots, draw);
      const double now = run.time_at(share);
      const auto left = estimate_time_left(run.at(now));
      if (!left || !std::holds_alternative<TimeRange>(*left)) continue;
      ++told;
      const auto [low, high] = std::get<TimeRange>(*left);
      EXPECT_LE(low, high);
      EXPECT_GE(low, 0);
      const double truth = run.end() - now;
      if (low / factor <= truth && truth <= high * factor) ++right;
    }
    EXPECT_GE(told, 90) << "at " << share;
    EXPECT_GE(right * 100, told * of_hundred) << "at " << share;
  }
}

INSTANTIATE_TEST_SUITE_P(TimeLeft, SimulatedRuns,
                         testing::Values(Expected{"constant_few", constant, 24, 4, 1.05, 100},
                                         Expected{"constant_many", constant, 5000, 8, 1.05, 100},
                                         Expected{"uniform_few", uniform, 24, 4, 1.3, 95},
                                         Expected{"uniform_many", uniform, 5000, 8, 1.05, 95},
                                         Expected{"exponential_few", exponential, 40, 4, 2, 95},
                                         Expected{"exponential_many", exponential, 5000, 8, 1.1, 90},
                                         Expected{"exponential_wide", exponential, 400, 32, 1.5, 90},
                                         Expected{"log_normal_few", log_normal, 40, 4, 2, 90},
                                         Expected{"log_normal_many", log_normal, 5000, 8, 1.1, 90},
                                         Expected{"heavy_tailed_many", heavy_tailed, 5000, 8, 2, 90}),
                         [](const auto& test) { return std::string(test.param.name); });

template <class Kind>
Kind estimated(const WorkLeft& work) {
  const auto left = estimate_time_left(work);
  if (left && std::holds_alternative<Kind>(*left)) return std::get<Kind>(*left);
  ADD_FAILURE() << "another kind of answer, or none";
  return {};
}

TEST(TimeLeft, IsNotKnownFromTooFew) {
  WorkLeft work{.not_started = 100, .running_s = {3, 3}, .slots = 2, .seen = {2, 5, 5, 5, 5}, .rate = 0.2};
  EXPECT_FALSE(estimate_time_left(work));
  work.seen.count = 3;
  EXPECT_TRUE(estimate_time_left(work));
  EXPECT_FALSE(estimate_time_left({.seen = {100, 5, 5, 5, 5}})) << "nothing is left";
}

TEST(TimeLeft, GoesByTheRateWhenItemsAreShort) {
  // Items of 1 ms in 4 slots, but only 500 a second get through.
  const WorkLeft work{.not_started = 1'000'000,
                      .running_s = {0.001, 0.001, 0, 0},
                      .slots = 4,
                      .seen = {50'000, 0.001, 0.001, 0.001, 0.002},
                      .rate = 500};
  const auto range = estimated<TimeRange>(work);
  EXPECT_NEAR(range.low_s, 2000, 100);
  EXPECT_NEAR(range.high_s, 2000, 100);
}

TEST(TimeLeft, CountsRoundsWhenItemsAreFewAndLong) {
  // Ten items of 100 s in 4 slots, the first four of them at their half: three rounds.
  const WorkLeft work{.not_started = 6, .running_s = {50, 50, 50, 50}, .slots = 4, .seen = {8, 100, 100, 100, 100}};
  const auto range = estimated<TimeRange>(work);
  EXPECT_NEAR(range.low_s, 250, 5);
  EXPECT_NEAR(range.high_s, 250, 5);
}

TEST(TimeLeft, SaysSoWhenTheLastOnesRunLong) {
  const WorkLeft work{.running_s = {400, 300}, .slots = 8, .seen = {1000, 12, 10, 30, 60}, .rate = 0.1};
  const auto left = estimated<RunningLong>(work);
  EXPECT_EQ(left.count, 2U);
  EXPECT_EQ(left.of, 2U);
}

TEST(TimeLeft, IsUnmovedByOneLongItemWhileMuchIsLeft) {
  WorkLeft work{.not_started = 10'000, .running_s = {1, 2, 3, 4}, .slots = 4, .seen = {1000, 5, 5, 9, 12}, .rate = 0.8};
  const auto before = estimated<TimeRange>(work);
  work.running_s[3] = 300;
  const auto after = estimated<TimeRange>(work);
  EXPECT_NEAR(after.high_s / before.high_s, 1, 0.1);
}

TEST(TimeLeft, NeverEndsBeforeWhatRunsMust) {
  // Everything took 100 s so far; the last has run for 20.
  const WorkLeft work{.running_s = {20}, .slots = 8, .seen = {500, 100, 100, 100, 100}, .rate = 3};
  const auto range = estimated<TimeRange>(work);
  EXPECT_NEAR(range.low_s, 80, 1);
}

TEST(TimeLeft, TakesAnyNumbers) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    WorkLeft work;
    work.not_started = random.next() >> random.below(64);
    for (std::uint64_t k = random.below(20); k > 0; --k) work.running_s.push_back(exponential(random) * 100);
    work.slots = random.one_in(100) ? random.next() : random.below(100);
    const double p50 = random.one_in(4) ? 0 : exponential(random);
    work.seen = {random.below(1000), p50 * 1.2, p50, p50 * 2, p50 * 4};
    work.rate = random.one_in(3) ? 0 : exponential(random);
    const auto left = estimate_time_left(work);
    if (!left || !std::holds_alternative<TimeRange>(*left)) continue;
    const auto [low, high] = std::get<TimeRange>(*left);
    EXPECT_TRUE(std::isfinite(low) && std::isfinite(high) && low >= 0 && low <= high) << low << " " << high;
  }
}

}  // namespace
}  // namespace drover
