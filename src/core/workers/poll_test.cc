// What workers are told, and when: polls, sessions, draining, fences.
#include "core/core.h"

#include <gtest/gtest.h>

#include "core/test_story.h"
#include "core/test_world.h"

namespace drover {
namespace {

TEST(Poll, AnyPollRenewsTheSession) {
  StoryWorld world;
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

TEST(Poll, APollWithNothingToDoIsAnsweredWhenThereIs) {
  StoryWorld world;
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

TEST(Poll, AParkedPollIsAnsweredEmptyAtItsDeadlineAndByALaterPoll) {
  StoryWorld world;
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

TEST(Poll, AWorkerIsToldWhatItRunsAndNoLongerHolds) {
  StoryWorld world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1, .running = {{Token{GrantId{77}, ItemIndex{3}}, 1000}}};
  const auto answer = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{1}, {}, 0, 0}));
  EXPECT_EQ(answer.gone, (std::vector{Token{GrantId{77}, ItemIndex{3}}}));
  report.running.clear();
  EXPECT_TRUE(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {}, 0, 0})).gone.empty()) << "once";
}

TEST(Poll, AWorkerAskedToDrainIsToldOnceAndGetsNothingMore) {
  StoryWorld world;
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
  // A worker that restarts before it has drained is told again, and gets nothing.
  world.worker("w", 2);
  const Report second{.worker = worker, .incarnation = 2};
  const auto again = std::get<PollAnswer>(world.ask(Poll{second, PollNumber{1}, {}, 2, 0}));
  EXPECT_TRUE(again.drain);
  EXPECT_TRUE(again.leases.empty());
  // It had nothing in its hands any more: that was it.
  world.worker("w", 3);
  const Report once_more{.worker = worker, .incarnation = 3};
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{once_more, PollNumber{1}, {}, 2, 0})).leases.size(), 1U);
  EXPECT_EQ(std::get<Refused>(world.ask(AskToDrain{"nobody"})).error.code, ErrorCode::not_found);
}

TEST(Poll, AWorkerThatDrainsByItselfGetsNothingMoreAndHoldsUpNobody) {
  StoryWorld world;
  const WorkerId worker = world.worker("w");
  const WorkerId other = world.worker("other");
  Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{1}, {}, 2, 10'000});
  world.ask(Poll{Report{.worker = other, .incarnation = 1}, PollNumber{1}, {}, 2, 10'000});
  report.leaving = Leaving::draining;
  world.ask(report);
  EXPECT_EQ(world.standings(), std::vector{Standing::draining});
  world.ask(report);
  EXPECT_TRUE(world.standings().empty()) << "once";
  world.submit(1);
  const auto given = std::ranges::find_if(world.answers, [](const Answer& it) {
    const auto* answer = std::get_if<PollAnswer>(&it.effect);
    return answer != nullptr && !answer->leases.empty();
  });
  EXPECT_NE(given, world.answers.end()) << "the other one waits for it";
  world.worker("w", 2);
  EXPECT_EQ(world.standings(), std::vector{Standing::alive}) << "to drain was the former one's own wish";
}

TEST(Poll, AWorkerThatHasLeftHoldsNothingAndIsToldToRegister) {
  StoryWorld world;
  const JobId job = world.submit(3);
  const WorkerId worker = world.worker("w");
  EXPECT_EQ(world.poll(worker, 2).leases.size(), 1U);
  Report report{.worker = worker, .incarnation = 1};
  report.leaving = Leaving::gone;
  EXPECT_TRUE(std::holds_alternative<ReportTaken>(world.ask(report)));
  EXPECT_EQ(world.standings(), std::vector{Standing::left});
  EXPECT_TRUE(world.core.durable().grants.empty());
  EXPECT_EQ(world.core.counts(job).pending, 3U);
  EXPECT_EQ(world.core.next_deadline(), world.now_ms + kDepartedKeptMs) << "until it is forgotten";
  EXPECT_EQ(std::get<Refused>(world.ask(Report{.worker = worker, .incarnation = 1})).error.code, ErrorCode::not_found);
  EXPECT_EQ(std::get<WorkerToBeGone>(world.ask(AskToDrain{"w"})).grants, 0U) << "it has done so";
  EXPECT_TRUE(world.standings().empty());
  world.worker("w", 2);
  EXPECT_EQ(world.standings(), std::vector{Standing::alive});
}

TEST(Poll, WhoRunsAWatchedItemIsToldAtOnceAndOncePerWish) {
  StoryWorld world;
  const JobId job = world.submit(3);
  const WorkerId worker = world.worker("w");
  const auto lease = world.poll(worker, 2).leases.at(0);
  const auto watch = [&](std::uint64_t item) {
    return std::get<Watched>(world.ask(Watch{job, ItemIndex{item}})).running;
  };
  EXPECT_FALSE(watch(0)) << "nobody has said that it runs";
  world.run(worker, token(lease));
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
  world.end(worker, token(lease));
  EXPECT_FALSE(watch(0));
  EXPECT_FALSE(watch(2));
  EXPECT_FALSE(watch(99));
  EXPECT_TRUE(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{4}, {}, 0, 0})).watched.empty());
}

TEST(Poll, AWorkerThatBeganAnewIsNotToldOfWhatItsFormerSelfRan) {
  StoryWorld world;
  const JobId job = world.submit(1);
  const WorkerId worker = world.worker("w");
  world.run(worker, token(world.poll(worker, 1).leases.at(0)));
  EXPECT_TRUE(std::get<Watched>(world.ask(Watch{job, ItemIndex{0}})).running);
  world.worker("w", 2);
  const auto answer = std::get<PollAnswer>(world.ask(Poll{{worker, 2}, PollNumber{1}, {}, 1, 0}));
  EXPECT_TRUE(answer.watched.empty());
  EXPECT_EQ(answer.leases.at(0).attempt_of(0), AttemptNumber{2});
}

TEST(Poll, WhatAFencedWorkerHeldGoesToOthersAtOnceAndNoTryIsSpent) {
  StoryWorld world;
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
  const auto answer = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {}, 0, 0}));
  EXPECT_EQ(answer.gone.size(), 1U);
  EXPECT_EQ(world.core.durable().jobs.at(job).failed, 0U);
  EXPECT_EQ(std::get<Refused>(world.ask(Fence{"nobody"})).error.code, ErrorCode::not_found);
}

TEST(Poll, APollThatTellsSomethingIsAnsweredAtOnce) {
  StoryWorld world;
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

TEST(Poll, WhenOnlyTimePassesThereIsNothingToWrite) {
  StoryWorld world;
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

TEST(Poll, AnOvertakenPollGrantsNothing) {
  StoryWorld world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{5}, {}, 1, 0});
  const auto late = std::get<Refused>(world.ask(Poll{report, PollNumber{4}, {}, 1, 0}));
  EXPECT_EQ(late.error.code, ErrorCode::conflict);
}

TEST(Poll, APollThatComesTwiceIsNotAnsweredAsIfItHadBroughtNothing) {
  StoryWorld world;
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

TEST(Poll, APollThatTheServerBeforeARestartHasAnsweredGrantsNothing) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  const Report report{.worker = worker, .incarnation = 1};
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{1}, {}, 2, 0})).leases.size(), 1U);
  world.restart();
  const Effect again = world.ask(Poll{report, PollNumber{1}, {}, 2, 0});
  ASSERT_TRUE(std::holds_alternative<Refused>(again)) << "two grants by one number: the first would never go back";
  EXPECT_EQ(std::get<Refused>(again).error.code, ErrorCode::conflict);
  const auto next = std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {PollNumber{1}}, 2, 0}));
  EXPECT_EQ(next.leases.at(0).first, ItemIndex{0});
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::open), 2U);
}

TEST(Poll, APollThatWasAnsweredBeforeItsWorkerWasFencedGrantsNothing) {
  StoryWorld world;
  world.submit(10);
  const WorkerId worker = world.worker("w");
  const Report report{.worker = worker, .incarnation = 1};
  world.ask(Poll{report, PollNumber{1}, {}, 2, 0});
  world.ask(Fence{"w"});
  world.worker("w");
  const Effect again = world.ask(Poll{report, PollNumber{1}, {}, 2, 0});
  ASSERT_TRUE(std::holds_alternative<Refused>(again)) << "the worker does not wait for it, and would not give it up";
  EXPECT_EQ(std::get<Refused>(again).error.code, ErrorCode::conflict);
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{report, PollNumber{2}, {}, 2, 0})).leases.size(), 1U);
  world.ask(Fence{"w"});
  world.worker("w", 2);
  const Report second{.worker = worker, .incarnation = 2};
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{second, PollNumber{1}, {}, 2, 0})).leases.size(), 1U)
      << "another process";
}

TEST(Poll, WhatAGivenUpPollGrantedGoesBack) {
  StoryWorld world;
  const JobId job = world.submit(10);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 4);
  const auto next = world.poll(worker, 2, {}, {PollNumber{1}});
  EXPECT_EQ(next.leases[0].first, ItemIndex{0});
  EXPECT_EQ(world.core.durable().blocks.at(job).count(ItemMark::open), 2U);
}

TEST(Poll, WhatAWorkerSaysOfAJobIsForgottenWhenItHoldsNothingOfIt) {
  StoryWorld world;
  const JobId job = world.submit(2);
  const WorkerId worker = world.worker("w");
  const Lease lease = world.poll(worker, 2).leases.at(0);
  const auto notes = [&] { return world.core.volatile_part().sessions.at(worker).notes.size(); };
  world.poll(worker, 0, {.notes = {{job, "fetches its image"}}});
  world.end(worker, token(lease, 0));
  EXPECT_EQ(notes(), 1U);
  world.end(worker, token(lease, 1));
  EXPECT_EQ(notes(), 0U);
  world.poll(worker, 0, {.notes = {{job, "fetches its image"}}});
  EXPECT_EQ(notes(), 0U) << "it has nothing of it";
}

TEST(Poll, AWorkerIsHeardOnOnlySoManyJobs) {
  StoryWorld world;
  const WorkerId worker = world.worker("w");
  Report report;
  for (int i = 0; i < 100; ++i) report.notes.push_back({world.submit(1), "fetches its image"});
  EXPECT_EQ(world.poll(worker, 100).leases.size(), 100U);
  world.poll(worker, 0, report);
  EXPECT_EQ(world.core.volatile_part().sessions.at(worker).notes.size(), 32U);
}

TEST(Poll, AnUnregisteredWorkerIsRefused) {
  StoryWorld world;
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(Report{.worker = WorkerId{9}})));
}

TEST(Poll, VeryManyWhoWaitAreServedAFewByEachCommand) {
  TestWorld world;
  world.inspects = false;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 300; ++i) {
    workers.push_back(world.worker("w" + std::to_string(i), 1));
    world.poll(workers.back(), 1, 20'000);
  }
  const JobId job = world.submit(300);
  EXPECT_LT(world.core.in_hands(job), 100U) << "not all by one command";
  world.tick_while_due();
  EXPECT_EQ(world.core.in_hands(job), 300U);
  world.ask(CancelJob{job, "because"});
  for (const WorkerId worker : workers) world.poll(worker, 0, 20'000);
  world.tick_while_due();
  std::size_t told = 0;
  for (const auto& [id, session] : world.core.volatile_part().sessions) told += session.stops_due ? 0 : 1;
  EXPECT_EQ(told, workers.size());
  EXPECT_FALSE(find_fault(world.core));
}

}  // namespace
}  // namespace drover
