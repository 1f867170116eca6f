// Shares of a fair queue, over hours of a small farm's time: who gets how much of the machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "base/random.h"
#include "core/test_world.h"

namespace drover {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;

/// Workers that run what they are given, as many at a time as they have CPUs, and take some ahead.
class Farm {
 public:
  struct Kind {
    std::size_t workers = 4;
    std::uint64_t cpus = 4;
    std::uint64_t ahead = 0;
  };

  explicit Farm(const Kind& kind) : kind_(kind) {
    world.inspects = false;
    for (std::size_t i = 0; i < kind.workers; ++i) {
      workers_.push_back({.id = world.worker("w" + std::to_string(i), kind.cpus), .queue = {}});
    }
  }

  JobId submit(const std::string& share, std::int64_t item_ms, std::uint32_t priority = 0,
               std::uint64_t total = 100'000'000) {
    const JobId job = world.submit(total, {"fair", share, priority, ""});
    item_ms_[job] = item_ms;
    for (std::size_t i = 0; i < workers_.size(); ++i) take_more(i);
    return job;
  }

  void run_for(std::int64_t ms) {
    const std::int64_t until_ms = world.now_ms + ms;
    while (!ends_.empty() && ends_.top().at_ms <= until_ms) {
      const End end = ends_.top();
      ends_.pop();
      world.now_ms = end.at_ms;
      world.mutations.clear();
      AWorker& worker = workers_[end.worker];
      --worker.running;
      cpu_ms[end.job] += end.wall_ms;
      world.end(worker.id, end.token, {}, end.wall_ms);
      start(end.worker);
      take_more(end.worker);
    }
    world.now_ms = until_ms;
  }

  /// What each has of what all have had, in percent.
  std::map<JobId, double> parts() const {
    double all = 0;
    for (const auto& [job, ms] : cpu_ms) all += static_cast<double>(ms);
    std::map<JobId, double> out;
    for (const auto& [job, ms] : cpu_ms) out[job] = 100 * static_cast<double>(ms) / all;
    return out;
  }

  TestWorld world;
  std::map<JobId, std::int64_t> cpu_ms;
  std::map<JobId, std::int64_t> first_started_ms;

 private:
  struct AWorker {
    WorkerId id;
    std::vector<std::pair<JobId, Token>> queue;
    std::uint64_t running = 0;
  };
  struct End {
    std::int64_t at_ms = 0;
    std::uint64_t number = 0;
    std::size_t worker = 0;
    JobId job;
    Token token;
    std::int64_t wall_ms = 0;
    bool operator>(const End& other) const { return std::pair(at_ms, number) > std::pair(other.at_ms, other.number); }
  };

  void start(std::size_t at) {
    AWorker& worker = workers_[at];
    while (worker.running < kind_.cpus && !worker.queue.empty()) {
      const auto [job, token] = worker.queue.front();
      worker.queue.erase(worker.queue.begin());
      ++worker.running;
      first_started_ms.emplace(job, world.now_ms);
      world.run(worker.id, token);
      // A tenth more or less.
      const std::int64_t typical_ms = item_ms_.at(job);
      const std::int64_t wall_ms =
          typical_ms * 9 / 10 +
          static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(typical_ms) / 5 + 1));
      ends_.push({world.now_ms + wall_ms, ++ends_pushed_, at, job, token, wall_ms});
    }
  }

  void take_more(std::size_t at) {
    AWorker& worker = workers_[at];
    const std::uint64_t holds = worker.running + worker.queue.size();
    const std::uint64_t most = kind_.cpus + kind_.ahead;
    if (holds >= most) return;
    for (const Lease& lease : world.poll(worker.id, most - holds)) {
      for (std::uint64_t i = 0; i < lease.count; ++i) worker.queue.emplace_back(lease.job, token(lease, i));
    }
    start(at);
  }

  const Kind kind_;
  Random random_{7};
  std::vector<AWorker> workers_;
  std::map<JobId, std::int64_t> item_ms_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t ends_pushed_ = 0;
};

Queue fair_queue() {
  Queue queue{.name = "fair"};
  queue.order = QueueOrder::fair;
  queue.weights = {{"half", 20'000}};
  return queue;
}

struct Case {
  const char* name;
  Farm::Kind farm;
  std::int64_t item_ms[3];
  std::int64_t run_ms;
};

class FairShare : public testing::TestWithParam<Case> {};

// Usage counts times the weight: of weights 1, 1 and 2 the last gets half of what each of the others gets.
TEST_P(FairShare, EachGetsItsDueToWithinThreePercent) {
  const Case& it = GetParam();
  Farm farm(it.farm);
  farm.world.set(fair_queue());
  const JobId one = farm.submit("one", it.item_ms[0]);
  const JobId two = farm.submit("two", it.item_ms[1]);
  const JobId half = farm.submit("half", it.item_ms[2]);
  farm.run_for(it.run_ms / 10);
  farm.cpu_ms.clear();
  farm.run_for(it.run_ms);
  auto parts = farm.parts();
  std::printf("  %s: %.2f %.2f %.2f\n", it.name, parts[one], parts[two], parts[half]);
  EXPECT_NEAR(parts[one], 40, 0.03 * 40);
  EXPECT_NEAR(parts[two], 40, 0.03 * 40);
  EXPECT_NEAR(parts[half], 20, 0.03 * 20);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FairShare,
    testing::Values(Case{"one_slot", {1, 1, 0}, {kSecond, kSecond, kSecond}, 4 * kHour},
                    Case{"equal_items", {4, 4, 0}, {kSecond, kSecond, kSecond}, kHour},
                    Case{"short_items_and_ahead", {4, 4, 30}, {20, 20, 20}, kMinute},
                    Case{"unequal_short_items_and_ahead", {4, 4, 8}, {20, 100, kSecond}, 10 * kMinute},
                    Case{"unequal_items", {4, 4, 0}, {kSecond, 10 * kSecond, 5 * kMinute}, 8 * kHour},
                    Case{"unequal_the_other_way", {4, 4, 0}, {5 * kMinute, 10 * kSecond, kSecond}, 8 * kHour},
                    Case{"one_large_worker", {1, 64, 0}, {kSecond, 10 * kSecond, 5 * kMinute}, 4 * kHour}),
    [](const auto& it) { return std::string(it.param.name); });

TEST(FairShares, ANewcomerStartsWithinOneItemsDuration) {
  Farm farm({4, 4, 0});
  farm.world.set(fair_queue());
  farm.submit("one", kMinute);
  farm.submit("two", kMinute);
  farm.run_for(2 * kHour);
  const std::int64_t came_ms = farm.world.now_ms;
  const JobId late = farm.submit("late", kMinute);
  farm.run_for(2 * kMinute);
  ASSERT_TRUE(farm.first_started_ms.contains(late));
  EXPECT_LE(farm.first_started_ms.at(late) - came_ms, kMinute * 11 / 10);
}

TEST(FairShares, WithinAShareTheHigherPriorityComesFirst) {
  Farm farm({1, 4, 0});
  farm.world.set(fair_queue());
  farm.submit("one", kSecond);
  farm.submit("two", kSecond);
  farm.run_for(kMinute);
  const JobId urgent = farm.submit("two", kSecond, 9);
  farm.cpu_ms.clear();
  farm.run_for(10 * kMinute);
  EXPECT_NEAR(farm.parts()[urgent], 50, 1) << "all that its share gets";
}

TEST(FairShares, APartIsKeptForSharesYetToCome) {
  Farm farm({1, 10, 0});
  Queue queue = fair_queue();
  queue.reserved_percent = 50;
  farm.world.set(queue);
  farm.submit("one", kMinute);
  EXPECT_EQ(farm.first_started_ms.size(), 1U);
  EXPECT_EQ(farm.world.core.volatile_part().schedule.find_lane("fair")->milli_cpus, 5000U) << "one share: half is kept";
  const JobId two = farm.submit("two", kMinute);
  EXPECT_TRUE(farm.first_started_ms.contains(two));
  EXPECT_EQ(farm.world.core.volatile_part().schedule.find_lane("fair")->milli_cpus, 7000U) << "two: a quarter";
}

TEST(FairShares, WhoWaitsIsGivenWhatIsNoLongerKept) {
  TestWorld world;
  Queue queue = fair_queue();
  queue.reserved_percent = 50;
  world.set(queue);
  const WorkerId small = world.worker("small", 4);
  const WorkerId other = world.worker("other", 4);
  const JobId one = world.submit(100, {"fair", "one", 0, ""});
  ASSERT_EQ(world.poll(small, 4).size(), 1U);
  EXPECT_TRUE(world.poll(other, 4, 20'000).empty()) << "half is kept";
  world.submit({{.ask = {0, 0, {}}, .place = {"fair", "two", 0, ""}}, 1});
  std::map<JobId, std::uint64_t> given;
  for (const Lease& lease : world.given_meanwhile()) given[lease.job] += lease.count;
  EXPECT_EQ(given[one], 2U) << "with two shares only a quarter is";
}

TEST(FairShares, WhatWasUsedIsKnownAfterARestart) {
  TestWorld world;
  world.set(fair_queue());
  const WorkerId worker = world.worker("w");
  world.submit(100, {"fair", "one", 0, ""});
  ASSERT_TRUE(world.next(worker));
  world.pass(kHour);
  world.end(worker, token(world.last), {}, kHour);
  const JobId two = world.submit(100, {"fair", "two", 0, ""});
  world.restart();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.next(worker), two);
}

}  // namespace
}  // namespace drover
