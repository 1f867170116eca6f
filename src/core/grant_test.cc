// Who is handed what: asks, room and labels.
#include <gtest/gtest.h>

#include "core/core.h"
#include "core/sanity.h"

namespace drover {
namespace {

/// A core whose state is inspected after every command.
class World {
 public:
  JobId submit(std::uint64_t total, const Resources& ask, const Labels& require = {}) {
    SubmitJob command;
    command.uuid.bytes[0] = static_cast<std::uint8_t>(++uuids_);
    command.name = "job";
    command.total = total;
    command.ask = ask;
    command.require = require;
    return std::get<JobAccepted>(ask_core(command)).job;
  }

  WorkerId worker(const std::string& name, const Resources& has, const Labels& labels = {},
                  std::uint64_t incarnation = 1) {
    return std::get<WorkerRegistered>(ask_core(RegisterWorker{name, incarnation, 60'000, has, labels})).worker;
  }

  std::vector<Lease> poll(WorkerId worker, std::uint64_t want, const Resources& room, std::int64_t wait_ms = 0) {
    Poll poll;
    poll.report = {.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    poll.number = PollNumber{++polls_[worker]};
    poll.want = want;
    poll.wait_ms = wait_ms;
    poll.room = room;
    const Effect effect = ask_core(poll);
    const auto* answer = std::get_if<PollAnswer>(&effect);
    return answer == nullptr ? std::vector<Lease>() : answer->leases;
  }

  /// What somebody who waits was given by the last command.
  std::vector<Lease> given_meanwhile() const {
    for (const Answer& answer : answers_) {
      if (const auto* it = std::get_if<PollAnswer>(&answer.effect)) return it->leases;
    }
    return {};
  }

  void end(WorkerId worker, const Lease& lease) {
    Report report{.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      report.ended.push_back({{lease.grant, ItemIndex{lease.first.value + i}}, {}, {}});
    }
    ask_core(report);
  }

  Core core;

 private:
  Effect ask_core(const Command& command) {
    const Ticket ticket{++tickets_};
    core.apply(ticket, command, 1'000'000);
    answers_ = core.take_answers();
    core.take_mutations();
    const auto fault = find_fault(core);
    EXPECT_FALSE(fault) << fault.value_or("");
    for (const Answer& answer : answers_) {
      if (answer.to == ticket) return answer.effect;
    }
    return Refused{{ErrorCode::stopped, "no answer yet", ""}};
  }

  std::vector<Answer> answers_;
  std::uint64_t tickets_ = 0;
  std::uint64_t uuids_ = 0;
  std::map<WorkerId, std::uint64_t> polls_;
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

TEST(Grant, AWorkerHasOtherRoomOnlyAsAnotherIncarnation) {
  World world;
  world.submit(5, {4000, 0});
  const WorkerId worker = world.worker("w", kMachine);
  ASSERT_EQ(world.poll(worker, 1, kMachine).size(), 1U);
  world.worker("w", {1000, 0});
  EXPECT_EQ(world.core.durable().workers.at(worker).has, kMachine);
  world.worker("w", {1000, 0}, {}, 2);
  EXPECT_EQ(world.core.durable().workers.at(worker).has, (Resources{1000, 0}));
  EXPECT_TRUE(world.core.durable().grants.empty());
  EXPECT_TRUE(world.poll(worker, 1, kMachine).empty());
}

}  // namespace
}  // namespace drover
