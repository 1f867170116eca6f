// Jobs that come after others, whole or item by item.
#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

SubmitJob after(JobId other, bool each = false, std::uint64_t total = 3) {
  return {{.ask = {1000, 0, {}}, .after = {{other, each}}}, total};
}

TEST(Dependency, AJobStartsWhenTheOneBeforeItHasSucceeded) {
  TestWorld world;
  const JobId first = world.submit(1);
  const JobId second = world.submit(after(first));
  EXPECT_EQ(world.state(second), JobState::pending);
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), first);
  const Lease lease = world.last;
  EXPECT_EQ(world.next(worker), JobId{});
  world.poll(worker, 1, 20'000);
  world.end(worker, lease);
  ASSERT_EQ(world.given_meanwhile().size(), 1U) << "who waits is told";
  EXPECT_EQ(world.given_meanwhile()[0].job, second);
  EXPECT_EQ(world.state(second), JobState::running);
}

TEST(Dependency, AJobThatHasSucceededIsNotReopened) {
  TestWorld world;
  const JobId first = world.submit(1);
  const JobId empty = world.submit(after(first, false, 0));
  const JobId third = world.submit(after(empty));
  world.ask(CancelJob{first, "because"});
  ASSERT_EQ(world.state(empty), JobState::succeeded) << "it has no items";
  ASSERT_EQ(world.state(third), JobState::running);
  world.ask(ReopenJob{.job = first, .epoch = 0});
  EXPECT_EQ(std::get<JobReopened>(world.ask(ReopenJob{.job = empty, .epoch = 0})).items, 0U);
  EXPECT_EQ(world.state(empty), JobState::succeeded);
}

TEST(Dependency, AJobAfterOneThatFailsOrIsCancelledFailsWithIt) {
  TestWorld world;
  const JobId fails = world.submit(1);
  const JobId cancelled = world.submit(1);
  const JobId after_failed = world.submit(after(fails));
  const JobId after_cancelled = world.submit(after(cancelled));
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), fails);
  world.end(worker, world.last, TestWorld::failure());
  EXPECT_EQ(world.state(after_failed), JobState::failed);
  EXPECT_EQ(world.job(after_failed).reason, "job job1, which it depends on, failed");
  world.ask(CancelJob{cancelled, "because"});
  EXPECT_EQ(world.state(after_cancelled), JobState::failed);
  EXPECT_EQ(world.state(world.submit(after(fails))), JobState::failed) << "it had failed before";
}

TEST(Dependency, ItemsStartAsTheirForerunnersSucceed) {
  TestWorld world;
  const JobId first = world.submit(3);
  const JobId second = world.submit(after(first, true));
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 3);
  ASSERT_EQ(leases.size(), 1U);
  world.end(worker, token(leases[0], 1));
  ASSERT_EQ(world.next(worker), second);
  EXPECT_EQ(world.last.first, ItemIndex{1});
  world.end(worker, token(world.last));
  EXPECT_EQ(world.next(worker), JobId{});
  world.end(worker, token(leases[0], 0));
  world.end(worker, token(leases[0], 2), TestWorld::failure());
  EXPECT_EQ(world.state(second), JobState::running) << "item 0 can still run";
  ASSERT_EQ(world.next(worker), second);
  EXPECT_EQ(world.last.first, ItemIndex{0});
  world.end(worker, token(world.last));
  EXPECT_EQ(world.state(second), JobState::failed) << "item 2 never will";
  EXPECT_EQ(world.job(second).succeeded, 2U);
}

TEST(Dependency, ItemsThatFollowEachOtherDoSoWhicheverForerunnerSucceedsFirst) {
  TestWorld world;
  const JobId first = world.submit(3);
  const JobId second = world.submit({{.ask = {1000, 0, {}}, .after = {{first, true}}, .sequential = true}, 3});
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 3);
  world.end(worker, token(leases[0], 1));
  EXPECT_EQ(world.next(worker), JobId{}) << "item 0 comes before item 1";
  EXPECT_EQ(world.why(second, 1).code, WhyCode::before_it);
  world.end(worker, token(leases[0], 0));
  for (const std::uint64_t item : {0, 1}) {
    ASSERT_EQ(world.next(worker), second);
    EXPECT_EQ(world.last.first.value, item);
    world.end(worker, token(world.last));
  }
  world.end(worker, token(leases[0], 2), TestWorld::failure());
  EXPECT_EQ(world.state(second), JobState::failed);
}

TEST(Dependency, AChainOfTenThousandEndsWithItsFirst) {
  TestWorld world;
  world.inspects = false;
  JobId last = world.submit(1);
  const JobId first = last;
  for (int i = 1; i < 10'000; ++i) last = world.submit(after(last, i % 2 == 0, 1));
  world.ask(CancelJob{first, "because"});
  world.tick_while_due();
  for (const auto& [id, job] : world.core.durable().jobs) {
    ASSERT_EQ(job.state, id == first ? JobState::cancelled : JobState::failed) << id.value;
  }
  EXPECT_FALSE(find_fault(world.core));
}

TEST(Dependency, WhatOthersWaitForIsNotForgotten) {
  TestWorld world;
  const JobId first = world.submit(1);
  const JobId second = world.submit(after(first));
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), first);
  world.end(worker, world.last);
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ForgetJob{first, world.now_ms})));
  world.ask(CancelJob{second, "because"});
  EXPECT_TRUE(std::holds_alternative<JobForgotten>(world.ask(ForgetJob{first, world.now_ms})));
  world.restart();
  EXPECT_FALSE(find_fault(world.core));
}

TEST(Dependency, VeryManyHearOfAnEndAFewAtATime) {
  TestWorld world;
  world.inspects = false;
  const JobId first = world.submit(1);
  std::vector<JobId> others;
  others.reserve(700);
  for (int i = 0; i < 700; ++i) others.push_back(world.submit(after(first)));
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), first);
  world.end(worker, world.last);
  EXPECT_EQ(world.state(others.front()), JobState::running);
  EXPECT_EQ(world.state(others.back()), JobState::pending) << "not all by one command";
  EXPECT_LE(world.core.next_deadline().value_or(INT64_MAX), world.now_ms);
  world.restart();  // what was not said yet is said after a crash, too
  world.tick_while_due();
  for (const JobId it : others) EXPECT_EQ(world.state(it), JobState::running);
  EXPECT_FALSE(find_fault(world.core));
}

TEST(Dependency, ItemsOfAHalfDoneJobAreFoundInAnyBlock) {
  TestWorld world;
  world.inspects = false;
  const JobId first = world.submit(20'000);
  const WorkerId worker = world.worker("w", 100'000);
  std::vector<Lease> leases;
  while (true) {
    const auto more = world.poll(worker, 1000);
    if (more.empty()) break;
    leases.insert(leases.end(), more.begin(), more.end());
  }
  const JobId second = world.submit(after(first, true, 20'000));
  EXPECT_EQ(world.next(worker), JobId{});
  for (const std::uint64_t item : {15'000U, 3U, 9000U, 15'001U}) {
    for (const Lease& lease : leases) {
      if (item < lease.first.value || item >= lease.first.value + lease.count) continue;
      world.end(worker, Token{lease.grant, ItemIndex{item}});
    }
    ASSERT_EQ(world.next(worker), second) << item;
    EXPECT_EQ(world.last.first.value, item);
    EXPECT_EQ(world.next(worker), JobId{}) << item;
  }
  EXPECT_FALSE(find_fault(world.core));
}

}  // namespace
}  // namespace drover
