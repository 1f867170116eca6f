// A retry of more items than one command carries: page by page, through crashes, until it is done or stopped.
#include <gtest/gtest.h>

#include "core/random_commands.h"
#include "core/test_world.h"

namespace drover {
namespace {

/// A job of which every item has failed, and a ledger from which pages are read.
class Retry {
 public:
  explicit Retry(std::uint64_t total, const Policy& policy = {}) : total_(total) {
    world.inspects = false;  // it would take longer than all the rest
    job = world.submit({{.policy = policy, .ask = {1000, 0, {}}}, total});
    worker = world.worker("w", 1'000'000);
    run_all(TestWorld::failure());
  }

  /// Runs whatever there is to run, and answers every request for a page.
  void run_all(const Outcome& outcome) {
    while (true) {
      std::vector<Lease> leases = world.poll(worker, 512);
      take_answers();
      for (const Lease& lease : leases) end(lease, outcome);
      if (leases.empty() && !turn_page()) return;
    }
  }

  void end(const Lease& lease, const Outcome& outcome) {
    Report report{.worker = worker, .incarnation = 1};
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      report.ended.push_back({token(lease, i), outcome, Usage{world.now_ms, 1000, 1, 1, 1}});
    }
    world.ask(report);
    take_answers();
  }

  /// As a client does that reads the first page and leaves the rest to the core.
  Effect begin(const ReopenChoice& choice = {}) {
    const std::uint64_t epoch = world.job(job).epoch;
    const auto shared = std::make_shared<const ReopenChoice>(choice);
    const ReopenMore page = read({job, epoch + 1, ItemIndex{0}, shared});
    ReopenJob command{.job = job, .epoch = epoch, .again = page.again};
    if (page.next.value < total_) {
      command.rest = shared;
      command.next = page.next;
    }
    Effect effect = world.ask(command);
    take_answers();
    return effect;
  }

  /// The page that was asked for, if one was.
  bool turn_page() {
    if (!wanted) return false;
    const ReopenMore page = read(*wanted);
    wanted.reset();
    world.ask(page);
    take_answers();
    return true;
  }

  void restart() {
    wanted.reset();
    world.restart();
    EXPECT_LE(world.core.next_deadline().value_or(INT64_MAX), world.now_ms) << "it has something to say";
    world.ask(Tick{});
    take_answers();
  }

  ItemCounts counts() { return world.core.counts(job); }

  TestWorld world;
  JobId job;
  WorkerId worker;
  std::optional<ReopenWanted> wanted;
  std::size_t longest_wait = 0;  // reopened items in memory

 private:
  void take_answers() {
    for (const Answer& answer : world.answers) {
      if (const auto* it = std::get_if<ReopenWanted>(&answer.effect)) wanted = *it;
    }
    ledger_.take(world.mutations);
    world.mutations.clear();
    longest_wait = std::max(longest_wait, world.core.durable().open_items.size());
    const auto fault = ledger_.find_fault(world.core.durable());
    EXPECT_FALSE(fault) << fault.value_or("") << ": counts are exact at each step";
  }

  ReopenMore read(const ReopenWanted& asked) const {
    ReopenMore page{asked.job, asked.epoch, asked.from, {}, ItemIndex{total_}};
    for (auto it = ledger_.rows().lower_bound({{asked.job, asked.from}, AttemptNumber{0}}); it != ledger_.rows().end();
         ++it) {
      if (it->second.epoch >= asked.epoch || !matches(*asked.choice, it->second)) continue;
      if (page.again.size() == kReopenPage) {
        page.next = it->second.item;
        break;
      }
      page.again.push_back({it->second.item, it->second.attempt, it->second.state});
    }
    return page;
  }

  const std::uint64_t total_;
  LedgerModel ledger_;
};

TEST(Reopen, ARetryOfManyItemsGoesPageByPageWithExactCounts) {
  Retry retry(1000);
  ASSERT_EQ(retry.world.state(retry.job), JobState::failed);
  retry.begin();
  EXPECT_EQ(retry.counts().waiting, kReopenPage);
  EXPECT_EQ(retry.counts().failed, 1000 - kReopenPage);
  EXPECT_EQ(retry.world.state(retry.job), JobState::running);
  EXPECT_EQ(retry.wanted.value_or(ReopenWanted{}).from.value, kReopenPage);
  retry.turn_page();
  EXPECT_EQ(retry.counts().waiting, 2 * kReopenPage);
  retry.run_all(TestWorld::kSuccess);
  EXPECT_EQ(retry.world.state(retry.job), JobState::succeeded);
  EXPECT_EQ(retry.counts().succeeded, 1000U);
  EXPECT_EQ(retry.world.job(retry.job).reopening, nullptr);
}

TEST(Reopen, OnlySomeOfTheItemsOfALongRetryAreInMemory) {
  Retry retry(12'000);
  retry.longest_wait = 0;
  retry.begin();
  while (retry.turn_page()) {
  }
  EXPECT_LT(retry.counts().waiting, 6000U) << "nobody takes them: it does not go on";
  EXPECT_GT(retry.counts().waiting, 1000U);
  retry.run_all(TestWorld::kSuccess);
  EXPECT_LT(retry.longest_wait, 6000U);
  EXPECT_EQ(retry.counts().succeeded, 12'000U);
}

TEST(Reopen, GoesOnAfterACrashByItself) {
  Retry retry(2000);
  retry.begin();
  retry.turn_page();
  retry.restart();
  EXPECT_EQ(retry.wanted.value_or(ReopenWanted{}).from.value, 2 * kReopenPage);
  retry.run_all(TestWorld::kSuccess);
  EXPECT_EQ(retry.counts().succeeded, 2000U);
}

TEST(Reopen, ACancelStopsIt) {
  Retry retry(2000);
  retry.begin();
  ASSERT_TRUE(retry.wanted);
  const ReopenWanted late = retry.wanted.value_or(ReopenWanted{});
  retry.world.ask(CancelJob{retry.job, "no more"});
  EXPECT_EQ(retry.world.state(retry.job), JobState::cancelled);
  EXPECT_EQ(retry.counts().failed, 2000 - kReopenPage);
  EXPECT_EQ(retry.counts().cancelled, kReopenPage) << "reopened, and not begun";
  retry.wanted = late;
  retry.turn_page();
  EXPECT_EQ(retry.counts().failed, 2000 - kReopenPage) << "a page that comes late changes nothing";
  EXPECT_FALSE(find_fault(retry.world.core));
  retry.begin();
  retry.run_all(TestWorld::kSuccess);
  EXPECT_EQ(retry.counts().succeeded, 2000U) << "it can be retried again";
}

TEST(Reopen, WhatFailsWhileItIsUnderWayIsNotReopenedByIt) {
  Retry retry(1000);
  retry.begin();
  retry.run_all(TestWorld::failure());
  EXPECT_EQ(retry.world.state(retry.job), JobState::failed);
  EXPECT_EQ(retry.counts().failed, 1000U);
  EXPECT_EQ(retry.world.job(retry.job).used.attempts, 2000) << "each item has run once more";
}

TEST(Reopen, OnlyNewFailuresCountAgainstTheLimit) {
  Retry retry(1000, Policy{.max_failures = 2000});
  EXPECT_TRUE(std::holds_alternative<JobReopened>(retry.begin()));
  while (retry.turn_page()) {
  }
  EXPECT_EQ(retry.world.job(retry.job).failed_before, 0U);
  const Lease lease = retry.world.poll(retry.worker, 2)[0];
  retry.end(lease, TestWorld::failure());
  EXPECT_EQ(retry.world.job(retry.job).failed, 2U);
  EXPECT_EQ(retry.world.job(retry.job).stop, StopCause::none);
}

TEST(Reopen, AnotherRetryMustBeAboutTheSameItemsWhileOneIsUnderWay) {
  Retry retry(1000);
  retry.begin();
  EXPECT_TRUE(std::holds_alternative<Refused>(retry.begin({.failed = true, .items = {}, .exit_code = 1})));
  EXPECT_TRUE(std::holds_alternative<JobReopened>(retry.begin()));
  retry.run_all(TestWorld::kSuccess);
  EXPECT_EQ(retry.counts().succeeded, 1000U);
}

TEST(Reopen, TakesOnlyWhatIsChosen) {
  Retry retry(1000);
  ReopenChoice choice;
  for (std::uint64_t item = 0; item < 1000; item += 2) choice.items.push_back(ItemIndex{item});
  retry.begin(choice);
  retry.run_all(TestWorld::kSuccess);
  EXPECT_EQ(retry.counts().succeeded, 500U);
  EXPECT_EQ(retry.counts().failed, 500U);
}

TEST(Reopen, ASequentialJobWaitsUntilItsItemsAreReopened) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .sequential = true}, 3});
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), job);
  world.end(worker, token(world.last), TestWorld::failure());
  ASSERT_EQ(world.state(job), JobState::failed);
  const auto choice = std::make_shared<const ReopenChoice>();
  world.ask(ReopenJob{.job = job, .epoch = 0, .rest = choice, .next = ItemIndex{0}});
  EXPECT_EQ(world.next(worker), JobId{}) << "item 1 must not overtake item 0";
  world.ask(ReopenMore{job, 1, ItemIndex{0}, {{ItemIndex{0}, AttemptNumber{1}, AttemptState::failed}}, ItemIndex{3}});
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.last.first.value, 0U);
}

}  // namespace
}  // namespace drover
