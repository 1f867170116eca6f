// The core's behaviour, story by story.
#include "core/core.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/sanity.h"

namespace drover {
namespace {

/// A core with one job and workers, each spoken for by short calls; after every one the whole state is inspected.
class World {
 public:
  std::int64_t now_ms = 1'000'000;
  Core core;
  std::vector<Answer> answers;
  std::vector<Mutation> mutations;

  Effect ask(const Command& command) {
    const Ticket ticket{++tickets_};
    core.apply(ticket, command, now_ms);
    answers = core.take_answers();
    for (Mutation& mutation : core.take_mutations()) mutations.push_back(std::move(mutation));
    const auto fault = find_fault(core);
    EXPECT_FALSE(fault) << fault.value_or("");
    for (const Answer& answer : answers) {
      if (answer.to == ticket) return answer.effect;
    }
    return Refused{{ErrorCode::stopped, "no answer yet", ""}};
  }

  JobId submit(std::uint64_t total, const Policy& policy = {}) {
    SubmitJob command;
    command.uuid.bytes[0] = static_cast<std::uint8_t>(++uuids_);
    command.name = "job";
    command.total = total;
    command.policy = policy;
    return std::get<JobAccepted>(ask(command)).job;
  }

  WorkerId worker(const std::string& name, std::uint64_t incarnation = 1, std::int64_t term_ms = 60'000) {
    return std::get<WorkerRegistered>(ask(RegisterWorker{name, incarnation, term_ms})).worker;
  }

  PollAnswer poll(WorkerId worker, std::uint64_t want, Report report = {}, std::vector<PollNumber> given_up = {}) {
    report.worker = worker;
    report.incarnation = core.durable().workers.at(worker).incarnation;
    const Effect effect = ask(Poll{report, PollNumber{++polls_[worker]}, std::move(given_up), want, 0});
    return std::get<PollAnswer>(effect);
  }

  void report(WorkerId worker, Token token, const Outcome& outcome) {
    Report report{.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    report.ended.push_back({token, outcome, Usage{now_ms, 5000, 1, 1, 1}});
    ask(report);
  }

  void name_running(WorkerId worker, Token token) {
    Report report{.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    report.running.push_back({token, now_ms});
    ask(report);
  }

  const Job& job(JobId id) const { return core.durable().jobs.at(id); }

  std::vector<Attempt> attempts() const {
    std::vector<Attempt> out;
    for (const Mutation& mutation : mutations) {
      if (const auto* add = std::get_if<AddAttempt>(&mutation)) out.push_back(add->attempt);
    }
    return out;
  }

 private:
  std::uint64_t tickets_ = 0;
  std::uint64_t uuids_ = 0;
  std::map<WorkerId, std::uint64_t> polls_;
};

Token token(const Lease& lease, std::uint64_t offset = 0) {
  return {lease.grant, ItemIndex{lease.first.value + offset}};
}

const Outcome kSuccess{};
const Outcome kFailure{Ending::exited, 1, 0, ""};

TEST(Core, AJobWithoutItemsSucceedsAtOnce) {
  World world;
  EXPECT_EQ(world.job(world.submit(0)).state, JobState::succeeded);
}

TEST(Core, TheSameSubmissionTwiceIsOneJob) {
  World world;
  SubmitJob command;
  command.total = 3;
  const JobId first = std::get<JobAccepted>(world.ask(command)).job;
  EXPECT_EQ(std::get<JobAccepted>(world.ask(command)).job, first);
  EXPECT_EQ(world.core.durable().jobs.size(), 1U);
}

TEST(Core, ItemsAreGrantedInOneRangeAndSettledOnce) {
  World world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 4).leases;
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].first, ItemIndex{0});
  EXPECT_EQ(leases[0].count, 4U);
  EXPECT_EQ(leases[0].attempt_of(2), AttemptNumber{1});
  for (std::uint64_t i = 0; i < 4; ++i) world.report(worker, token(leases[0], i), kSuccess);
  EXPECT_EQ(world.job(job).succeeded, 4U);
  EXPECT_TRUE(world.core.durable().grants.empty());
  world.report(worker, token(leases[0]), kFailure);
  EXPECT_EQ(world.job(job).succeeded, 4U);
  EXPECT_EQ(world.job(job).failed, 0U);
}

TEST(Core, ALateReportChangesNothing) {
  World world;
  const JobId job = world.submit(1);
  const WorkerId first = world.worker("first");
  const auto lost = world.poll(first, 1).leases;
  world.name_running(first, token(lost[0]));
  world.now_ms += 60'001;
  world.ask(Tick{});
  const WorkerId second = world.worker("second");
  const auto taken = world.poll(second, 1).leases;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].attempt_of(0), AttemptNumber{2});
  world.report(first, token(lost[0]), kSuccess);
  EXPECT_EQ(world.job(job).succeeded, 0U);
  world.report(second, token(taken[0]), kSuccess);
  EXPECT_EQ(world.job(job).state, JobState::succeeded);
}

TEST(Core, AWorkerCannotReportOnAnothersGrant) {
  World world;
  const JobId job = world.submit(1);
  const auto leases = world.poll(world.worker("mine"), 1).leases;
  world.report(world.worker("other"), token(leases[0]), kSuccess);
  EXPECT_EQ(world.job(job).succeeded, 0U);
}

TEST(Core, AnyPollRenewsTheSession) {
  World world;
  world.submit(1);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 1);
  for (int i = 0; i < 5; ++i) {
    world.now_ms += 50'000;
    world.ask(Tick{});
    world.poll(worker, 0);
  }
  EXPECT_EQ(world.core.durable().grants.size(), 1U);
  world.now_ms += 60'000;
  world.ask(Tick{});
  EXPECT_TRUE(world.core.durable().grants.empty());
}

TEST(Core, WhatNobodySawRunningGoesBackWithoutATrace) {
  World world;
  const JobId job = world.submit(5);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 5);
  world.worker("w", 2);  // came back as another incarnation
  EXPECT_TRUE(world.attempts().empty());
  EXPECT_TRUE(world.core.durable().open_items.empty());
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::pending), 5U);
}

TEST(Core, ALostAttemptSpendsNoTryAndComesFirstAgain) {
  World world;
  const JobId job = world.submit(10, Policy{.max_tries = 1});
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 3).leases;
  world.name_running(worker, token(leases[0], 1));
  world.worker("w", 2);
  ASSERT_EQ(world.attempts().size(), 1U);
  EXPECT_EQ(world.attempts()[0].state, AttemptState::lost);
  EXPECT_FALSE(world.attempts()[0].settled);
  const auto again = world.poll(worker, 1).leases;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].first, ItemIndex{1});
  EXPECT_EQ(again[0].attempt_of(0), AttemptNumber{2});
  world.report(worker, token(again[0]), kFailure);
  EXPECT_EQ(world.job(job).failed, 1U) << "the one try it had";
}

TEST(Core, AnItemLostTooOftenIsGivenUp) {
  World world;
  const JobId job = world.submit(1, Policy{.max_tries = 5, .lost_limit = 3});
  for (std::uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    const WorkerId worker = world.worker("w", incarnation);
    const auto leases = world.poll(worker, 1).leases;
    ASSERT_EQ(leases.size(), 1U);
    world.name_running(worker, token(leases[0]));
  }
  world.worker("w", 9);
  EXPECT_EQ(world.job(job).state, JobState::failed);
  EXPECT_EQ(world.attempts().back().reason, "lost: its worker went away; given up after 3 losses");
}

TEST(Core, AFailedItemWaitsForItsDelayThenComesFirst) {
  World world;
  const JobId job = world.submit(10, Policy{.max_tries = 2, .retry_delay_ms = 5000});
  const WorkerId worker = world.worker("w", 1, 0);
  const auto leases = world.poll(worker, 2).leases;
  world.report(worker, token(leases[0], 0), kFailure);
  world.report(worker, token(leases[0], 1), kSuccess);
  EXPECT_EQ(world.core.next_deadline(), world.now_ms + 5000);
  EXPECT_EQ(world.poll(worker, 1).leases[0].first, ItemIndex{2});
  world.now_ms += 5000;
  const auto retried = world.poll(worker, 1).leases;
  EXPECT_EQ(retried[0].first, ItemIndex{0});
  EXPECT_EQ(retried[0].attempt_of(0), AttemptNumber{2});
  world.report(worker, token(retried[0]), kFailure);
  EXPECT_EQ(world.job(job).failed, 1U);
}

TEST(Core, APollWithNothingToDoIsAnsweredWhenThereIs) {
  World world;
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1};
  const Effect none = world.ask(Poll{report, PollNumber{1}, {}, 5, 20'000});
  EXPECT_TRUE(std::holds_alternative<Refused>(none)) << "parked: no answer yet";
  world.submit(3);
  bool answered = false;
  for (const Answer& answer : world.answers) {
    const auto* leases = std::get_if<PollAnswer>(&answer.effect);
    answered = answered || (leases != nullptr && leases->leases.size() == 1 && leases->leases[0].count == 3);
  }
  EXPECT_TRUE(answered);
}

TEST(Core, AParkedPollIsAnsweredEmptyAtItsDeadlineAndByALaterPoll) {
  World world;
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{1}, {}, 5, 20'000});
  world.ask(Poll{report, PollNumber{2}, {}, 5, 20'000});
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(std::get<PollAnswer>(world.answers[0].effect).number, PollNumber{1});
  world.now_ms += 20'000;
  world.ask(Tick{});
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(std::get<PollAnswer>(world.answers[0].effect).number, PollNumber{2});
}

TEST(Core, AWorkerIsToldWhatItRunsAndNoLongerHolds) {
  World world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1, .running = {{Token{GrantId{77}, ItemIndex{3}}, 1000}}};
  const auto answer = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{1}, {}, 0, 0}));
  EXPECT_EQ(answer.gone, (std::vector{Token{GrantId{77}, ItemIndex{3}}}));
  report.running.clear();
  EXPECT_TRUE(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {}, 0, 0})).gone.empty()) << "once";
}

TEST(Core, AWorkerAskedToDrainIsToldOnceAndGetsNothingMore) {
  World world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  EXPECT_EQ(world.poll(worker, 2).leases.size(), 1U);
  const Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{2}, {}, 0, 10'000});
  EXPECT_EQ(std::get<WorkerToBeGone>(world.ask(AskToDrain{"w"})).grants, 1U);
  const auto parked = std::ranges::find_if(
      world.answers, [](const Answer& it) { return std::holds_alternative<PollAnswer>(it.effect); });
  ASSERT_NE(parked, world.answers.end());
  EXPECT_TRUE(std::get<PollAnswer>(parked->effect).drain);
  const auto next = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{3}, {}, 2, 0}));
  EXPECT_FALSE(next.drain);
  EXPECT_TRUE(next.leases.empty());
  // The answer that said so was lost.
  EXPECT_TRUE(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{4}, {PollNumber{2}}, 2, 0})).drain);
  // One that begins anew before it has drained is told again, and gets nothing.
  world.worker("w", 2);
  const Report anew{.worker = worker, .incarnation = 2};
  const auto again = std::get<PollAnswer>(world.ask(Poll{anew, PollNumber{1}, {}, 2, 0}));
  EXPECT_TRUE(again.drain);
  EXPECT_TRUE(again.leases.empty());
  // It had nothing in its hands any more: that was it.
  world.worker("w", 3);
  const Report once_more{.worker = worker, .incarnation = 3};
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{once_more, PollNumber{1}, {}, 2, 0})).leases.size(), 1U);
  EXPECT_EQ(std::get<Refused>(world.ask(AskToDrain{"nobody"})).error.code, ErrorCode::not_found);
}

/// What was said of workers by the last command.
std::vector<Standing> standings(const World& world) {
  std::vector<Standing> out;
  for (const Answer& answer : world.answers) {
    if (const auto* it = std::get_if<WorkerStands>(&answer.effect)) out.push_back(it->standing);
  }
  return out;
}

TEST(Core, AWorkerThatDrainsByItselfGetsNothingMoreAndHoldsUpNobody) {
  World world;
  const WorkerId worker = world.worker("w");
  const WorkerId other = world.worker("other");
  Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{1}, {}, 2, 10'000});
  world.ask(Poll{Report{.worker = other, .incarnation = 1}, PollNumber{1}, {}, 2, 10'000});
  report.leaving = Leaving::draining;
  world.ask(report);
  EXPECT_EQ(standings(world), std::vector{Standing::draining});
  world.ask(report);
  EXPECT_TRUE(standings(world).empty()) << "once";
  world.submit(1);
  const auto given = std::ranges::find_if(world.answers, [](const Answer& it) {
    const auto* answer = std::get_if<PollAnswer>(&it.effect);
    return answer != nullptr && !answer->leases.empty();
  });
  EXPECT_NE(given, world.answers.end()) << "the other one waits for it";
  world.worker("w", 2);
  EXPECT_EQ(standings(world), std::vector{Standing::alive}) << "to drain was the former one's own wish";
}

TEST(Core, AWorkerThatHasLeftHoldsNothingAndIsToldToRegister) {
  World world;
  const JobId job = world.submit(3);
  const WorkerId worker = world.worker("w");
  EXPECT_EQ(world.poll(worker, 2).leases.size(), 1U);
  Report report{.worker = worker, .incarnation = 1};
  report.leaving = Leaving::gone;
  EXPECT_TRUE(std::holds_alternative<ReportTaken>(world.ask(report)));
  EXPECT_EQ(standings(world), std::vector{Standing::left});
  EXPECT_TRUE(world.core.durable().grants.empty());
  EXPECT_EQ(world.core.counts(job).pending, 3U);
  EXPECT_EQ(world.core.next_deadline(), std::nullopt) << "nobody waits for it";
  EXPECT_EQ(std::get<Refused>(world.ask(Report{.worker = worker, .incarnation = 1})).error.code, ErrorCode::not_found);
  EXPECT_EQ(std::get<WorkerToBeGone>(world.ask(AskToDrain{"w"})).grants, 0U) << "it has done so";
  EXPECT_TRUE(standings(world).empty());
  world.worker("w", 2);
  EXPECT_EQ(standings(world), std::vector{Standing::alive});
}

TEST(Core, WhoRunsAWatchedItemIsToldAtOnceAndOncePerWish) {
  World world;
  const JobId job = world.submit(3);
  const WorkerId worker = world.worker("w");
  const auto lease = world.poll(worker, 2).leases.at(0);
  const auto watch = [&](std::uint64_t item) {
    return std::get<Watched>(world.ask(Watch{job, ItemIndex{item}})).running;
  };
  EXPECT_FALSE(watch(0)) << "nobody has said that it runs";
  world.name_running(worker, token(lease));
  const auto running = watch(0);
  if (!running) FAIL() << "it is said to run";
  EXPECT_EQ(running->worker, worker);
  EXPECT_EQ(running->token, token(lease));
  EXPECT_EQ(running->attempt, AttemptNumber{1});
  // No poll waited: the next one is answered with it, and the one after that waits.
  EXPECT_EQ(world.poll(worker, 0).watched, std::vector{token(lease)});
  const Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{3}, {}, 0, 10'000});
  EXPECT_TRUE(world.answers.empty());
  EXPECT_TRUE(watch(0));
  ASSERT_EQ(world.answers.size(), 2U);
  EXPECT_EQ(std::get<PollAnswer>(world.answers[1].effect).watched, std::vector{token(lease)});
  EXPECT_TRUE(world.core.volatile_part().parked.empty());
  // Nobody runs it any more, nobody ever did, there is none.
  world.report(worker, token(lease), kSuccess);
  EXPECT_FALSE(watch(0));
  EXPECT_FALSE(watch(2));
  EXPECT_FALSE(watch(99));
  EXPECT_TRUE(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{4}, {}, 0, 0})).watched.empty());
}

TEST(Core, AWorkerThatBeganAnewIsNotToldOfWhatItsFormerSelfRan) {
  World world;
  const JobId job = world.submit(1);
  const WorkerId worker = world.worker("w");
  world.name_running(worker, token(world.poll(worker, 1).leases.at(0)));
  EXPECT_TRUE(std::get<Watched>(world.ask(Watch{job, ItemIndex{0}})).running);
  world.worker("w", 2);
  const auto answer = std::get<PollAnswer>(world.ask(Poll{{worker, 2}, PollNumber{1}, {}, 1, 0}));
  EXPECT_TRUE(answer.watched.empty());
  EXPECT_EQ(answer.leases.at(0).attempt_of(0), AttemptNumber{2});
}

TEST(Core, WhatAFencedWorkerHeldGoesToOthersAtOnceAndNoTryIsSpent) {
  World world;
  const JobId job = world.submit(2);
  const WorkerId mad = world.worker("mad");
  const auto taken = world.poll(mad, 2).leases.at(0);
  EXPECT_EQ(std::get<WorkerToBeGone>(world.ask(Fence{"mad"})).grants, 1U);
  const WorkerId other = world.worker("other");
  EXPECT_EQ(world.poll(other, 2).leases.size(), 1U);
  // It is alive after all: it has to register, and learns that its items are gone.
  Report report{.worker = mad, .incarnation = 1, .running = {{Token{taken.grant, ItemIndex{0}}, 1000}}};
  EXPECT_EQ(std::get<Refused>(world.ask(report)).error.code, ErrorCode::not_found);
  world.worker("mad");
  const auto answer = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{1}, {}, 0, 0}));
  EXPECT_EQ(answer.gone.size(), 1U);
  EXPECT_EQ(world.core.durable().jobs.at(job).failed, 0U);
  EXPECT_EQ(std::get<Refused>(world.ask(Fence{"nobody"})).error.code, ErrorCode::not_found);
}

TEST(Core, APollThatTellsSomethingIsAnsweredAtOnce) {
  World world;
  world.submit(1);
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 1).leases.at(0);
  Report report{.worker = worker, .incarnation = 1};
  report.ended.push_back({Token{lease.grant, ItemIndex{0}}, Outcome{}, Usage{}});
  const auto answer = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {}, 1, 10'000}));
  EXPECT_TRUE(answer.leases.empty());
  report.ended.clear();
  world.ask(Poll{report, PollNumber{3}, {}, 1, 10'000});
  EXPECT_TRUE(std::ranges::none_of(world.answers, [](const Answer& it) {
    return std::holds_alternative<PollAnswer>(it.effect);
  })) << "there is nothing to say";
}

TEST(Core, WhenOnlyTimePassesThereIsNothingToWrite) {
  World world;
  world.submit(1);
  const WorkerId worker = world.worker("w");
  const std::int64_t before = world.core.durable().counters.now_ms;
  world.mutations.clear();
  world.now_ms += 5'000;
  const Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{1}, {}, 0, 10'000});
  world.now_ms += 20'000;
  world.ask(Tick{});
  EXPECT_TRUE(world.mutations.empty());
  EXPECT_EQ(world.core.durable().counters.now_ms, before);
  world.submit(1);
  EXPECT_EQ(world.core.durable().jobs.rbegin()->second.created_ms, world.now_ms);
  EXPECT_FALSE(world.mutations.empty());
  EXPECT_EQ(world.core.durable().counters.now_ms, world.now_ms);
}

TEST(Core, AnOvertakenPollGrantsNothing) {
  World world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{5}, {}, 1, 0});
  const auto late = std::get<Refused>(world.ask(Poll{report, PollNumber{4}, {}, 1, 0}));
  EXPECT_EQ(late.error.code, ErrorCode::conflict);
}

TEST(Core, APollThatComesTwiceIsNotAnsweredAsIfItHadBroughtNothing) {
  World world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  const Report report{.worker = worker, .incarnation = 1};
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{1}, {}, 2, 0})).leases.size(), 1U);
  const auto again = std::get<Refused>(world.ask(Poll{report, PollNumber{1}, {}, 2, 0}));
  EXPECT_EQ(again.error.code, ErrorCode::conflict);
  // The worker heard only that, so it gives the poll up, and what the other answer brought goes back.
  const auto next = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {PollNumber{1}}, 2, 0}));
  ASSERT_EQ(next.leases.size(), 1U);
  EXPECT_EQ(next.leases[0].first, ItemIndex{0});
}

TEST(Core, WhatAGivenUpPollGrantedGoesBack) {
  World world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 4);
  const auto next = world.poll(worker, 2, {}, {PollNumber{1}});
  EXPECT_EQ(next.leases[0].first, ItemIndex{0});
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::open), 2U);
}

TEST(Core, ReturnedItemsShrinkTheirGrantFromEitherEndAndGetARowInItsMiddle) {
  World world;
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

TEST(Core, CancelKillsWhatRunsAndKeepsTheRestUntouched) {
  World world;
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
  world.report(worker, token(lease, 0), {Ending::stopped, 0, 15, ""});
  Report report;
  report.returned.push_back(token(lease, 1));
  world.poll(worker, 0, report);
  EXPECT_EQ(world.job(job).state, JobState::cancelled);
  EXPECT_EQ(world.job(job).cancelled, 1U);
  EXPECT_EQ(world.job(job).reason, "enough");
  EXPECT_TRUE(std::get<JobCancelled>(world.ask(CancelJob{job, "again"})).was_over);
}

TEST(Core, AStopOrderIsRepeatedWhenItsAnswerWasLost) {
  World world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 2);
  world.ask(CancelJob{job, ""});
  EXPECT_EQ(world.poll(worker, 0).stops.size(), 1U);
  EXPECT_EQ(world.poll(worker, 0, {}, {PollNumber{2}}).stops.size(), 1U);
}

TEST(Core, TooManyFailuresStopTheJobButLetRunningItemsEnd) {
  World world;
  const JobId job = world.submit(10, Policy{.max_failures = 1});
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 4).leases[0];
  world.report(worker, token(lease, 0), kFailure);
  EXPECT_EQ(world.job(job).stop, StopCause::none);
  world.report(worker, token(lease, 1), kFailure);
  EXPECT_EQ(world.job(job).stop, StopCause::too_many_failures);
  const auto told = world.poll(worker, 5);
  EXPECT_TRUE(told.leases.empty());
  ASSERT_EQ(told.stops.size(), 1U);
  EXPECT_EQ(told.stops[0].mode, StopMode::finish_running);
  world.report(worker, token(lease, 2), kSuccess);
  world.report(worker, token(lease, 3), kSuccess);
  EXPECT_EQ(world.job(job).state, JobState::failed);
  EXPECT_EQ(world.job(job).succeeded, 2U);

  // It can go on, and the failures it was stopped for do not stop it again.
  EXPECT_EQ(std::get<JobReopened>(world.ask(ReopenJob{job, 0, std::nullopt, {}})).items, 6U);
  const Lease more = world.poll(worker, 2).leases[0];
  world.report(worker, token(more, 0), kFailure);
  EXPECT_EQ(world.job(job).stop, StopCause::none);
}

TEST(Core, FailedItemsCanBeTakenUpAgainWithAllTheirTries) {
  World world;
  const JobId job = world.submit(2, Policy{.max_tries = 1});
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 2).leases[0];
  world.report(worker, token(lease, 0), kFailure);
  world.report(worker, token(lease, 1), kSuccess);
  EXPECT_EQ(world.job(job).state, JobState::failed);
  const SettledItem failed{ItemIndex{0}, AttemptNumber{1}, AttemptState::failed};
  EXPECT_TRUE(std::holds_alternative<JobReopened>(world.ask(ReopenJob{job, 0, Policy{.max_tries = 2}, {failed}})));
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ReopenJob{job, 0, std::nullopt, {failed}}))) << "stale epoch";
  for (std::uint32_t attempt = 2; attempt <= 3; ++attempt) {
    const Lease again = world.poll(worker, 5).leases[0];
    EXPECT_EQ(again.attempt_of(0), AttemptNumber{attempt});
    world.report(worker, token(again), attempt == 2 ? kFailure : kSuccess);
  }
  EXPECT_EQ(world.job(job).state, JobState::succeeded);
}

TEST(Core, OnlyItemsThatEndedWithoutSuccessCanBeTakenUpAgain) {
  World world;
  const JobId job = world.submit(2);
  const WorkerId worker = world.worker("w");
  world.report(worker, token(world.poll(worker, 1).leases[0]), kSuccess);
  const SettledItem succeeded{ItemIndex{0}, AttemptNumber{1}, AttemptState::failed};
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ReopenJob{job, 0, std::nullopt, {succeeded}})));
  EXPECT_EQ(world.job(job).succeeded, 1U);
}

TEST(Core, AnUnregisteredWorkerIsRefused) {
  World world;
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(Report{.worker = WorkerId{9}})));
}

TEST(Core, AfterARestartEveryOpenGrantGetsAFullTerm) {
  World world;
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
  World world;
  const JobId kept = world.submit(1);
  const JobId job = world.submit(3, {.max_tries = 2, .retry_delay_ms = 60'000});
  world.ask(CancelJob{kept, "not needed"});
  const WorkerId worker = world.worker("w");
  const PollAnswer answer = world.poll(worker, 3);
  const GrantId grant = answer.leases.at(0).grant;
  world.report(worker, {grant, ItemIndex{0}}, {});
  world.report(worker, {grant, ItemIndex{1}}, {Ending::exited, 1, 0, ""});  // waits for its second try
  EXPECT_EQ(std::get<Refused>(world.ask(ForgetJob{job, world.now_ms})).error.code, ErrorCode::conflict) << "it runs";
  world.ask(CancelJob{job, "enough"});
  world.report(worker, {grant, ItemIndex{2}}, {Ending::stopped, 0, SIGTERM, ""});
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
  world.report(worker, {grant, ItemIndex{2}}, {});
  world.now_ms += 120'000;
  world.ask(Tick{});
  EXPECT_GT(world.submit(1).value, job.value) << "its number is never used again";
}

TEST(Forget, AfterOtherChangesOfTheSameBatchOnlyTheDeletionIsLeft) {
  Core core;
  SubmitJob submit{.name = "job", .total = 0};
  core.apply(Ticket{1}, submit, 10);
  core.apply(Ticket{2}, ForgetJob{JobId{1}, 10}, 10);
  const std::vector<Mutation> mutations = core.take_mutations();
  for (const Mutation& it : mutations) EXPECT_FALSE(std::holds_alternative<PutJob>(it));
  EXPECT_TRUE(std::holds_alternative<DeleteJob>(mutations.back()));
}

}  // namespace
}  // namespace drover
