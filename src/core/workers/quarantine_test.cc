// Machines on which everything fails at once.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/usage_bounds.h"
#include "core/test_world.h"

namespace drover {
namespace {

/// Two good workers and one on which `fails` says what fails. The number of items the last was given.
template <class Fails>
std::uint64_t run_items(TestWorld& world, std::uint64_t rounds, Fails fails) {
  std::vector<WorkerId> workers;
  for (const char* name : {"good0", "good1", "bad"}) workers.push_back(world.worker(name));
  std::uint64_t given = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    for (const WorkerId worker : workers) {
      if (!world.next(worker)) continue;
      given += worker == workers.back() ? 1 : 0;
      world.end(worker, token(world.last), fails(worker == workers.back()) ? TestWorld::failure() : Outcome{});
      world.mutations.clear();
    }
  }
  return given;
}

const Worker& bad(const TestWorld& world) {
  return world.core.durable().workers.at(world.core.volatile_part().worker_by_name.at("bad"));
}

TEST(Quarantine, AMachineOnWhichAllFailsAtOnceIsFoundAndGivenNothingMore) {
  TestWorld world;
  world.submit(1000);
  EXPECT_LE(run_items(world, 100, [](bool is_bad) { return is_bad; }), 40U);
  EXPECT_FALSE(bad(world).quarantine.empty());
  world.restart();
  EXPECT_EQ(world.next(bad(world).id), JobId{}) << "a restart does not forget it";
  world.ask(Readmit{"bad"});
  EXPECT_TRUE(bad(world).quarantine.empty());
  EXPECT_NE(world.next(bad(world).id), JobId{});
}

TEST(Quarantine, ItsSlowFailuresAreNotTakenForFailuresElsewhere) {
  TestWorld world;
  world.submit(1000);
  const WorkerId good = world.worker("good");
  const WorkerId worker = world.worker("bad");
  for (int i = 0; i < 100 && bad(world).quarantine.empty(); ++i) {
    ASSERT_TRUE(world.next(good));
    world.end(good, token(world.last));
    ASSERT_TRUE(world.next(worker));
    world.end(worker, token(world.last), TestWorld::failure(), i % 2 == 0 ? 5 : 2000);
  }
  EXPECT_FALSE(bad(world).quarantine.empty());
}

TEST(Quarantine, OneThatIsAwayIsReadmittedOnlyIfItWasSetApart) {
  TestWorld world;
  world.submit(1000);
  run_items(world, 100, [](bool is_bad) { return is_bad; });
  ASSERT_FALSE(bad(world).quarantine.empty());
  world.ask(Fence{"bad"});
  EXPECT_TRUE(std::holds_alternative<WorkerReadmitted>(world.ask(Readmit{"bad"})));
  EXPECT_TRUE(bad(world).quarantine.empty());
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(Readmit{"bad"})));
}

TEST(Quarantine, WhatItStillRunsIsNoLongerItsOwnAndItIsToldSo) {
  TestWorld world;
  const JobId hangs = world.submit(1);
  const WorkerId worker = world.worker("bad");
  ASSERT_EQ(world.next(worker), hangs);
  const Lease lease = world.last;
  world.run(worker, token(lease));
  world.submit(1000);
  for (int i = 0; i < 100 && bad(world).quarantine.empty(); ++i)
    run_items(world, 1, [](bool is_bad) { return is_bad; });
  ASSERT_FALSE(bad(world).quarantine.empty());
  Poll poll{.report = {.worker = worker, .incarnation = 1}, .number = PollNumber{1'000'000}};
  const Effect answer = world.ask(poll);
  ASSERT_TRUE(std::holds_alternative<PollAnswer>(answer));
  EXPECT_EQ(std::get<PollAnswer>(answer).gone, std::vector<Token>{token(lease)});
}

TEST(Quarantine, NobodyIsBlamedForAJobThatFailsEverywhere) {
  TestWorld world;
  world.submit(1000);
  EXPECT_EQ(run_items(world, 300, [](bool) { return true; }), 300U);
  EXPECT_TRUE(bad(world).quarantine.empty());
}

TEST(Quarantine, NobodyIsBlamedForChance) {
  TestWorld world;
  world.inspects = false;
  world.submit(100'000);
  Random random(3);
  run_items(world, 100'000 / 3, [&](bool) { return random.one_in(2); });
  for (const auto& [id, worker] : world.core.durable().workers) EXPECT_EQ(worker.quarantine, "") << worker.name;
}

TEST(Quarantine, WhatFailedByTheServersFaultSaysNothingOfTheWorker) {
  TestWorld world;
  world.submit(1000);
  const WorkerId good = world.worker("good");
  const WorkerId spared = world.worker("bad");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.next(good));
    world.end(good, token(world.last));
    ASSERT_TRUE(world.next(spared));
    Report report{.worker = spared, .incarnation = 1};
    report.ended.push_back({.token = token(world.last), .outcome = {.ending = Ending::not_started}, .slot = kNoSlot});
    world.ask(report);
  }
  EXPECT_TRUE(bad(world).quarantine.empty());
}

}  // namespace
}  // namespace drover
