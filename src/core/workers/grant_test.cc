// Who is handed what: asks, room and labels.
#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

/// With machines of any size, and jobs that ask for and require something.
class World : public TestWorld {
 public:
  JobId submit(std::uint64_t total, const Resources& asked, const Labels& require = {}) {
    return TestWorld::submit({{.ask = asked, .require = require}, total});
  }

  WorkerId worker(const std::string& name, const Resources& has, const Labels& labels = {},
                  std::uint64_t incarnation = 1) {
    return std::get<WorkerRegistered>(ask(RegisterWorker{name, incarnation, 60'000, has, labels})).worker;
  }
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr Resources kMachine{8000, 16 * kGiB};

TEST(Grant, AJobThatAWorkerCannotRunIsPassedOver) {
  World world;
  world.submit(5, {8001, 0});
  world.submit(5, {1000, 17 * kGiB});
  world.submit(5, {1000, 0}, {{"gpu", "a100"}});
  const JobId fits = world.submit(5, {1000, kGiB}, {{"zone", "a"}});
  const auto leases = world.poll(world.worker("w", kMachine, {{"zone", "a"}, {"gpu", "none"}}), 100, kMachine);
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].job, fits);
  EXPECT_EQ(leases[0].ask, (Resources{1000, kGiB}));
}

TEST(Grant, WhatAWorkerDoesNotWantNowGoesToOthersAndOthersComeToIt) {
  World world;
  const JobId first = world.submit(100, {1000, 0});
  const WorkerId choosy = world.worker("choosy", kMachine);
  const WorkerId other = world.worker("other", kMachine);
  const auto ask = [&](std::uint64_t number, std::int64_t wait_ms) {
    return world.ask(Poll{.report = {.worker = choosy, .incarnation = 1},
                          .number = PollNumber{number},
                          .given_up = {},
                          .want = 2,
                          .wait_ms = wait_ms,
                          .room = kMachine,
                          .not_now = {first, JobId{999}}});
  };
  EXPECT_TRUE(std::get<PollAnswer>(ask(1, 0)).leases.empty());
  EXPECT_EQ(world.poll(other, 2, kMachine).at(0).job, first);
  const JobId second = world.submit(100, {1000, 0});
  EXPECT_EQ(std::get<PollAnswer>(ask(2, 0)).leases.at(0).job, second);
  EXPECT_EQ(world.poll(other, 2, kMachine).at(0).job, first) << "which is first again";
}

TEST(Grant, AsManyItemsAsTheRoomHolds) {
  World world;
  world.submit(100, {500, 0});
  const WorkerId worker = world.worker("w", kMachine);
  const auto leases = world.poll(worker, 100, kMachine);
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].count, 16U);
  EXPECT_TRUE(world.poll(worker, 100, {400, kGiB}).empty()) << "it has some of that job, and no room for one more";
}

TEST(Grant, WhatOneJobLeavesAnotherUses) {
  World world;
  world.submit(100, {1000, 4 * kGiB});
  const JobId small = world.submit(100, {1000, 0});
  const auto leases = world.poll(world.worker("w", kMachine), 100, kMachine);
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0].count, 4U);
  EXPECT_EQ(leases[1].job, small);
  EXPECT_EQ(leases[1].count, 4U);
}

TEST(Grant, ALargeItemIsGivenAheadOfItsRoomAndNothingBehindIt) {
  World world;
  const JobId large = world.submit(3, {8000, 0});
  world.submit(100, {1000, 0});
  const WorkerId worker = world.worker("w", kMachine);
  const auto leases = world.poll(worker, 100, {2000, kGiB});
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].job, large);
  EXPECT_EQ(leases[0].count, 1U);
  EXPECT_TRUE(world.poll(worker, 100, {0, kGiB}).empty()) << "without any room nothing is given";
}

TEST(Grant, AJobThatNobodyFitsWaitsForAWorkerThatDoes) {
  World world;
  const JobId job = world.submit(2, {16'000, 0}, {{"zone", "b"}});
  EXPECT_TRUE(world.poll(world.worker("small", kMachine, {{"zone", "b"}}), 1, kMachine).empty());
  EXPECT_TRUE(world.poll(world.worker("elsewhere", {32'000, 0}, {{"zone", "a"}}), 1, {32'000, 0}).empty());
  const auto leases = world.poll(world.worker("right", {32'000, 0}, {{"zone", "b"}}), 5, {32'000, 0});
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].job, job);
  EXPECT_EQ(leases[0].count, 2U);
}

TEST(Grant, APollThatWaitsIsAnsweredOnlyWithWhatFits) {
  World world;
  const WorkerId worker = world.worker("w", {2000, kGiB}, {{"zone", "a"}});
  EXPECT_TRUE(world.poll(worker, 10, {2000, kGiB}, 20'000).empty());
  world.submit(5, {4000, 0});
  EXPECT_TRUE(world.given_meanwhile().empty());
  world.submit(5, {1000, 0}, {{"zone", "b"}});
  EXPECT_TRUE(world.given_meanwhile().empty());
  world.submit(5, {1000, 0}, {{"zone", "a"}});
  const auto leases = world.given_meanwhile();
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].count, 2U);
}

TEST(Grant, AWorkerHasMoreRoomOnlyAsAnotherIncarnation) {
  World world;
  world.submit(5, {4000, 0});
  const WorkerId worker = world.worker("w", {4000, 0});
  ASSERT_EQ(world.poll(worker, 1, kMachine).size(), 1U);
  world.worker("w", kMachine);
  EXPECT_EQ(world.core.durable().workers.at(worker).has, (Resources{4000, 0}));
  EXPECT_EQ(world.core.durable().grants.size(), 1U);
  world.worker("w", kMachine, {}, 2);
  EXPECT_EQ(world.core.durable().workers.at(worker).has, kMachine);
  EXPECT_TRUE(world.core.durable().grants.empty());
}

TEST(Grant, AWorkerOfWhichADeviceFailedKeepsWhatItStillHasRoomFor) {
  World world;
  world.submit(5, {1000, 0, {4}});
  world.submit(5, {1000, 0, {1}});
  const Resources four{8000, 0, {4}};
  const WorkerId worker = world.worker("w", four);
  ASSERT_EQ(world.poll(worker, 10, {8000, 0, {8}}).size(), 2U);
  world.worker("w", {8000, 0, {3}});
  EXPECT_EQ(world.core.durable().workers.at(worker).has, (Resources{8000, 0, {3}}));
  ASSERT_EQ(world.core.durable().grants.size(), 1U);
  EXPECT_EQ(world.core.durable().jobs.at(world.core.durable().grants.begin()->second.job).ask.accelerators[0], 1U);
  world.worker("w", four);
  EXPECT_EQ(world.core.durable().workers.at(worker).has.accelerators[0], 3U) << "an earlier message came late";
  world.worker("w", {1000, 0}, {}, 2);
  EXPECT_EQ(world.core.durable().workers.at(worker).has, (Resources{1000, 0}));
  EXPECT_TRUE(world.core.durable().grants.empty());
  EXPECT_TRUE(world.poll(worker, 1, kMachine).empty());
}

}  // namespace
}  // namespace drover
