#include "core/usage.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/test_world.h"

namespace drover {
namespace {

TEST(Usage, HoweverMuchAWorkerClaimsNoSumOverflows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t claim : {kMost, kLeast}) {
    TestWorld world;
    const WorkerId worker =
        std::get<WorkerRegistered>(world.ask(RegisterWorker{"w", 1, 0, Resources::endless()})).worker;
    const JobId job = world.submit({{.ask = {1'000'000'000, 0, {9, 9, 9}}}, 20});
    for (int i = 0; i < 20; ++i) {
      const auto leases = world.poll(worker, 1, Resources::endless());
      ASSERT_EQ(leases.size(), 1);
      Report report{.worker = worker, .incarnation = 1};
      report.ended.push_back({.token = token(leases[0]), .usage = {claim, claim, claim, claim, claim, claim, claim}});
      world.ask(report);
    }
    EXPECT_EQ(world.state(job), JobState::succeeded);
    JobUsage::fields(world.job(job).used, [](const char* name, std::int64_t sum) { EXPECT_GE(sum, 0) << name; });
    for (const Mutation& mutation : world.mutations) {
      const auto* added = std::get_if<AddAttempt>(&mutation);
      if (added == nullptr || claim <= 0) continue;
      EXPECT_GE(added->attempt.ended_ms, added->attempt.started_ms);
    }
  }
}

TEST(Usage, SumsStopAtTheLargestNumber) {
  JobUsage sum{.cpu_ms = std::numeric_limits<std::int64_t>::max() - 1};
  sum += JobUsage{.cpu_ms = 7, .attempts = 1};
  EXPECT_EQ(sum.cpu_ms, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(sum.attempts, 1);
}

}  // namespace
}  // namespace drover
