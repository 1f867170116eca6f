// What becomes of a job and its items, story by story.
#include "core/core.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/test_story.h"

namespace drover {
namespace {

TEST(Core, AJobWithoutItemsSucceedsAtOnce) {
  StoryWorld world;
  EXPECT_EQ(world.job(world.submit(0)).state, JobState::succeeded);
}

TEST(Core, TheSameSubmissionTwiceIsOneJob) {
  StoryWorld world;
  SubmitJob command;
  command.total = 3;
  const JobId first = std::get<JobAccepted>(world.ask(command)).job;
  EXPECT_EQ(std::get<JobAccepted>(world.ask(command)).job, first);
  EXPECT_EQ(world.core.durable().jobs.size(), 1U);
}

TEST(Core, ItemsAreGrantedInOneRangeAndSettledOnce) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 4).leases;
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].first, ItemIndex{0});
  EXPECT_EQ(leases[0].count, 4U);
  EXPECT_EQ(leases[0].attempt_of(2), AttemptNumber{1});
  for (std::uint64_t i = 0; i < 4; ++i) world.end(worker, token(leases[0], i));
  EXPECT_EQ(world.job(job).succeeded, 4U);
  EXPECT_TRUE(world.core.durable().grants.empty());
  world.end(worker, token(leases[0]), TestWorld::failure());
  EXPECT_EQ(world.job(job).succeeded, 4U);
  EXPECT_EQ(world.job(job).failed, 0U);
}

TEST(Core, ALateReportChangesNothing) {
  StoryWorld world;
  const JobId job = world.submit(1);
  const WorkerId first = world.worker("first");
  const auto lost = world.poll(first, 1).leases;
  world.run(first, token(lost[0]));
  world.now_ms += 60'001;
  world.ask(Tick{});
  const WorkerId second = world.worker("second");
  const auto taken = world.poll(second, 1).leases;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].attempt_of(0), AttemptNumber{2});
  world.end(first, token(lost[0]));
  EXPECT_EQ(world.job(job).succeeded, 0U);
  world.end(second, token(taken[0]));
  EXPECT_EQ(world.job(job).state, JobState::succeeded);
}

TEST(Core, AWorkerCannotReportOnAnothersGrant) {
  StoryWorld world;
  const JobId job = world.submit(1);
  const auto leases = world.poll(world.worker("mine"), 1).leases;
  world.end(world.worker("other"), token(leases[0]));
  EXPECT_EQ(world.job(job).succeeded, 0U);
}

TEST(Core, WhatNobodySawRunningGoesBackWithoutATrace) {
  StoryWorld world;
  const JobId job = world.submit(5);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 5);
  world.worker("w", 2);  // came back as another incarnation
  EXPECT_TRUE(world.attempts().empty());
  EXPECT_TRUE(world.core.durable().open_items.empty());
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::pending), 5U);
}

TEST(Core, ALostAttemptSpendsNoTryAndComesFirstAgain) {
  StoryWorld world;
  const JobId job = world.submit(10, Policy{.max_tries = 1});
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 3).leases;
  world.run(worker, token(leases[0], 1));
  world.worker("w", 2);
  ASSERT_EQ(world.attempts().size(), 1U);
  EXPECT_EQ(world.attempts()[0].state, AttemptState::lost);
  EXPECT_FALSE(world.attempts()[0].settled);
  const auto again = world.poll(worker, 1).leases;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].first, ItemIndex{1});
  EXPECT_EQ(again[0].attempt_of(0), AttemptNumber{2});
  world.end(worker, token(again[0]), TestWorld::failure());
  EXPECT_EQ(world.job(job).failed, 1U) << "the one try it had";
}

TEST(Core, AnItemLostTooOftenIsGivenUp) {
  StoryWorld world;
  const JobId job = world.submit(1, Policy{.max_tries = 5, .lost_limit = 3});
  for (std::uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    const WorkerId worker = world.worker("w", incarnation);
    const auto leases = world.poll(worker, 1).leases;
    ASSERT_EQ(leases.size(), 1U);
    world.run(worker, token(leases[0]));
  }
  world.worker("w", 9);
  EXPECT_EQ(world.job(job).state, JobState::failed);
  EXPECT_EQ(world.attempts().back().reason, "lost: its worker went away; gave up after 3 losses");
}

TEST(Core, AFailedItemWaitsForItsDelayThenComesFirst) {
  StoryWorld world;
  const JobId job = world.submit(10, Policy{.max_tries = 2, .retry_delay_ms = 5000});
  const WorkerId worker = world.worker("w", 1, 0);
  const auto leases = world.poll(worker, 2).leases;
  world.end(worker, token(leases[0], 0), TestWorld::failure());
  world.end(worker, token(leases[0], 1));
  EXPECT_EQ(world.core.next_deadline(), world.now_ms + 5000);
  EXPECT_EQ(world.poll(worker, 1).leases[0].first, ItemIndex{2});
  world.now_ms += 5000;
  const auto retried = world.poll(worker, 1).leases;
  EXPECT_EQ(retried[0].first, ItemIndex{0});
  EXPECT_EQ(retried[0].attempt_of(0), AttemptNumber{2});
  world.end(worker, token(retried[0]), TestWorld::failure());
  EXPECT_EQ(world.job(job).failed, 1U);
}

TEST(Core, ReturnedItemsShrinkTheirGrantFromEitherEndAndGetARowInItsMiddle) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 10).leases[0];
  Report report;
  for (const std::uint64_t offset : {0U, 1U, 5U, 9U}) report.returned.push_back(token(lease, offset));
  world.poll(worker, 0, report);
  const Grant& grant = world.core.durable().grants.at(lease.grant);
  EXPECT_EQ(grant.first, ItemIndex{2});
  EXPECT_EQ(grant.count, 7U);
  EXPECT_EQ(world.core.durable().open_items.size(), 1U);
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::pending), 3U);
  // All of them can be had again, as their first attempt.
  std::uint64_t again = 0;
  for (int i = 0; i < 4; ++i) {
    for (const Lease& it : world.poll(worker, 10).leases) {
      again += it.count;
      EXPECT_EQ(it.attempt_of(0), AttemptNumber{1});
    }
  }
  EXPECT_EQ(again, 4U);
}

TEST(Core, AReturnedItemThatWasReportedAsRunningIsLost) {
  StoryWorld world;
  const JobId job = world.submit(3, Policy{.max_tries = 1});
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 3).leases[0];
  world.run(worker, token(lease, 1));
  world.now_ms += 5'000;
  Report report;
  for (const std::uint64_t offset : {0U, 1U, 2U}) report.returned.push_back(token(lease, offset));
  world.poll(worker, 0, report);
  EXPECT_TRUE(world.core.durable().grants.empty()) << "it holds nothing any more";
  ASSERT_EQ(world.attempts().size(), 1U);
  EXPECT_EQ(world.attempts()[0].state, AttemptState::lost);
  EXPECT_EQ(world.attempts()[0].wall_us, 5'000'000);
  EXPECT_EQ(world.core.counts(job).running, 0U);
  const auto again = world.poll(worker, 1).leases;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].first, ItemIndex{1}) << "it comes first";
  EXPECT_EQ(again[0].attempt_of(0), AttemptNumber{2});
  EXPECT_EQ(world.core.durable().find_open(job, ItemIndex{1})->tries, 0U);
}

TEST(Core, CancelKillsWhatRunsAndKeepsTheRestUntouched) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 2).leases[0];
  world.ask(CancelJob{job, "enough"});
  EXPECT_EQ(world.job(job).state, JobState::running) << "until what runs has ended";
  const auto told = world.poll(worker, 5);
  EXPECT_TRUE(told.leases.empty());
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::kill_running);
  EXPECT_TRUE(world.poll(worker, 5).stops.empty()) << "once is enough";
  world.end(worker, token(lease, 0), {Ending::stopped, 0, 15, ""});
  Report report;
  report.returned.push_back(token(lease, 1));
  world.poll(worker, 0, report);
  EXPECT_EQ(world.job(job).state, JobState::cancelled);
  EXPECT_EQ(world.job(job).cancelled, 1U);
  EXPECT_EQ(world.job(job).reason, "enough");
  EXPECT_TRUE(std::get<JobCancelled>(world.ask(CancelJob{job, "again"})).was_over);
}

TEST(Core, ACancelThatSparesWhatRunsLetsItFinishAndStartsNothingMore) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 2).leases[0];
  world.ask(CancelJob{job, "enough", true});
  const auto told = world.poll(worker, 5);
  EXPECT_TRUE(told.leases.empty());
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::finish_running);
  world.end(worker, token(lease, 0));
  EXPECT_EQ(world.job(job).state, JobState::running);
  world.end(worker, token(lease, 1), {Ending::exited, 1, 0, ""});
  EXPECT_EQ(world.job(job).state, JobState::cancelled);
  EXPECT_EQ(world.job(job).succeeded, 1U);
}

TEST(Core, ACancelThatSparesWhatRunsCanBeFollowedByOneThatDoesNot) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 2);
  for (const bool spares : {true, false, true}) world.ask(CancelJob{job, "enough", spares});
  EXPECT_EQ(world.job(job).stop, StopCause::cancelled);
  const auto told = world.poll(worker, 0);
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::kill_running);
}

TEST(Core, ACancelThatSparesWhatRunsSparesNothingOfAJobThatRanTooLong) {
  StoryWorld world;
  const JobId job = world.TestWorld::submit({{.job_timeout_ms = 1000}, 10});
  const WorkerId worker = world.worker("w");
  world.poll(worker, 2);
  world.pass(1500);
  ASSERT_EQ(world.job(job).stop, StopCause::timed_out);
  world.ask(CancelJob{job, "enough", true});
  EXPECT_EQ(world.job(job).stop, StopCause::timed_out);
  const auto told = world.poll(worker, 0);
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::kill_running);
}

TEST(Core, AStopOrderIsRepeatedWhenItsAnswerWasLost) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 2);
  world.ask(CancelJob{job, ""});
  EXPECT_EQ(world.poll(worker, 0).stops.size(), 1U);
  EXPECT_EQ(world.poll(worker, 0, {}, {PollNumber{2}}).stops.size(), 1U);
}

TEST(Core, TooManyFailuresStopTheJobButLetRunningItemsEnd) {
  StoryWorld world;
  const JobId job = world.submit(10, Policy{.max_failures = 1});
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 4).leases[0];
  world.end(worker, token(lease, 0), TestWorld::failure());
  EXPECT_EQ(world.job(job).stop, StopCause::none);
  world.end(worker, token(lease, 1), TestWorld::failure());
  EXPECT_EQ(world.job(job).stop, StopCause::too_many_failures);
  const auto told = world.poll(worker, 5);
  EXPECT_TRUE(told.leases.empty());
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::finish_running);
  world.end(worker, token(lease, 2));
  world.end(worker, token(lease, 3));
  EXPECT_EQ(world.job(job).state, JobState::failed);
  EXPECT_EQ(world.job(job).succeeded, 2U);

  // It can go on, and the failures it was stopped for do not stop it again.
  EXPECT_EQ(std::get<JobReopened>(world.ask(ReopenJob{job, 0, std::nullopt, {}})).items, 6U);
  const Lease more = world.poll(worker, 2).leases[0];
  world.end(worker, token(more, 0), TestWorld::failure());
  EXPECT_EQ(world.job(job).stop, StopCause::none);
}

TEST(Core, FailedItemsCanBeTakenUpAgainWithAllTheirTries) {
  StoryWorld world;
  const JobId job = world.submit(2, Policy{.max_tries = 1});
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 2).leases[0];
  world.end(worker, token(lease, 0), TestWorld::failure());
  world.end(worker, token(lease, 1));
  EXPECT_EQ(world.job(job).state, JobState::failed);
  const SettledItem failed{ItemIndex{0}, AttemptNumber{1}, AttemptState::failed};
  EXPECT_TRUE(std::holds_alternative<JobReopened>(world.ask(ReopenJob{job, 0, Policy{.max_tries = 2}, {failed}})));
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ReopenJob{job, 0, std::nullopt, {failed}}))) << "stale epoch";
  for (std::uint32_t attempt = 2; attempt <= 3; ++attempt) {
    const Lease again = world.poll(worker, 5).leases[0];
    EXPECT_EQ(again.attempt_of(0), AttemptNumber{attempt});
    world.end(worker, token(again), attempt == 2 ? TestWorld::failure() : TestWorld::kSuccess);
  }
  EXPECT_EQ(world.job(job).state, JobState::succeeded);
}

TEST(Core, OnlyItemsThatEndedWithoutSuccessCanBeTakenUpAgain) {
  StoryWorld world;
  const JobId job = world.submit(2);
  const WorkerId worker = world.worker("w");
  world.end(worker, token(world.poll(worker, 1).leases[0]));
  const SettledItem succeeded{ItemIndex{0}, AttemptNumber{1}, AttemptState::failed};
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ReopenJob{job, 0, std::nullopt, {succeeded}})));
  EXPECT_EQ(world.job(job).succeeded, 1U);
}

TEST(Core, AfterARestartEveryOpenGrantGetsAFullTerm) {
  StoryWorld world;
  world.submit(1);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 1);
  Durable copy;
  for (const Mutation& mutation : world.mutations) {
    if (!std::holds_alternative<AddAttempt>(mutation) && !std::holds_alternative<AddEvent>(mutation)) {
      ASSERT_TRUE(copy.restore(mutation));
    }
  }
  Core restarted(std::move(copy), world.now_ms + 500'000);
  EXPECT_EQ(restarted.next_deadline(), world.now_ms + 560'000);
}

TEST(Forget, AJobThatEndedLongAgoIsGoneWithAllOfIt) {
  StoryWorld world;
  const JobId kept = world.submit(1);
  const JobId job = world.submit(3, {.max_tries = 2, .retry_delay_ms = 60'000});
  world.ask(CancelJob{kept, "not needed"});
  const WorkerId worker = world.worker("w");
  const PollAnswer answer = world.poll(worker, 3);
  const GrantId grant = answer.leases.at(0).grant;
  world.end(worker, {grant, ItemIndex{0}}, {});
  world.end(worker, {grant, ItemIndex{1}}, {Ending::exited, 1, 0, ""});  // waits for its second try
  EXPECT_EQ(std::get<Refused>(world.ask(ForgetJob{job, world.now_ms})).error.code, ErrorCode::conflict) << "it runs";
  world.ask(CancelJob{job, "enough"});
  world.end(worker, {grant, ItemIndex{2}}, {Ending::stopped, 0, SIGTERM, ""});
  ASSERT_TRUE(world.core.durable().jobs.at(job).ended());
  const std::int64_t ended_ms = world.now_ms;
  world.now_ms += 1000;
  EXPECT_EQ(std::get<Refused>(world.ask(ForgetJob{job, ended_ms - 1})).error.code, ErrorCode::conflict) << "too soon";

  world.mutations.clear();
  EXPECT_TRUE(std::holds_alternative<JobForgotten>(world.ask(ForgetJob{job, ended_ms})));
  EXPECT_TRUE(std::holds_alternative<DeleteJob>(world.mutations.back()));
  EXPECT_FALSE(world.core.durable().jobs.contains(job));
  EXPECT_FALSE(world.core.durable().blocks.contains(job));
  EXPECT_TRUE(world.core.durable().open_items.empty());
  EXPECT_TRUE(world.core.durable().jobs.contains(kept));
  for (const Command& late :
       {Command{ForgetJob{job, ended_ms}}, Command{CancelJob{job, "late"}}, Command{ReopenJob{job, 0, {}, {}}}}) {
    EXPECT_EQ(std::get<Refused>(world.ask(late)).error.code, ErrorCode::not_found);
  }
  // Somebody still tells of it, and time goes on past its retry.
  world.end(worker, {grant, ItemIndex{2}}, {});
  world.now_ms += 120'000;
  world.ask(Tick{});
  EXPECT_GT(world.submit(1).value, job.value) << "its number is never used again";
}

TEST(Forget, AfterOtherChangesOfTheSameBatchOnlyTheDeletionIsLeft) {
  Core core;
  SubmitJob submit{{.name = "job"}, 0};
  core.apply(Ticket{1}, submit, 10);
  core.apply(Ticket{2}, ForgetJob{JobId{1}, 10}, 10);
  const std::vector<Mutation> mutations = core.take_mutations();
  for (const Mutation& it : mutations) EXPECT_FALSE(std::holds_alternative<PutJob>(it));
  EXPECT_TRUE(std::holds_alternative<DeleteJob>(mutations.back()));
}

}  // namespace
}  // namespace drover
