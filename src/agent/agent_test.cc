#include "agent/agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/random.h"

namespace drover {
namespace {

Lease lease(std::uint64_t grant, std::uint64_t first, std::uint64_t count, std::int64_t timeout_ms = 0,
            std::int64_t grace_ms = 1000) {
  return {.grant = GrantId{grant},
          .job = JobId{1},
          .first = ItemIndex{first},
          .count = count,
          .timeout_ms = timeout_ms,
          .grace_ms = grace_ms};
}

template <class Action>
std::vector<Action> only(const std::vector<AgentAction>& actions) {
  std::vector<Action> out;
  for (const AgentAction& action : actions) {
    if (const auto* it = std::get_if<Action>(&action)) out.push_back(*it);
  }
  return out;
}

Token token(std::uint64_t grant, std::uint64_t item) {
  return {GrantId{grant}, ItemIndex{item}};
}

/// An agent with the questions and answers of a poll made short.
struct Worked {
  Agent agent;
  std::int64_t now_ms = 1000;

  explicit Worked(std::size_t slots) : agent(slots) {}

  std::vector<AgentAction> lend(const Lease& it) {
    const AgentPoll poll = agent.make_poll(now_ms);
    agent.on_answer(poll.number, {it}, {}, now_ms);
    return agent.take_actions();
  }
  std::vector<AgentAction> order(StopMode mode) {
    const AgentPoll poll = agent.make_poll(now_ms);
    agent.on_answer(poll.number, {}, {StopOrder{JobId{1}, mode}}, now_ms);
    return agent.take_actions();
  }
  std::vector<AgentAction> end(std::size_t slot, Token it, std::int64_t wall_us = 1000, bool stopped = false,
                               const Outcome& outcome = {}) {
    agent.on_ended(slot, {it, outcome, Usage{.wall_us = wall_us}}, stopped, now_ms);
    return agent.take_actions();
  }
  std::vector<AgentAction> tick(std::int64_t later_ms) {
    now_ms += later_ms;
    agent.on_tick(now_ms);
    return agent.take_actions();
  }
};

TEST(Agent, WhatASlotReturnsOfADeclinedJobGoesBackToTheServer) {
  Worked it(2);
  const auto starts = only<StartItem>(it.lend(lease(1, 0, 4)));
  ASSERT_EQ(starts.size(), 2U);
  it.agent.decline(JobId{1}, "no devices are free", it.now_ms);
  it.agent.on_returned(starts[0].slot, starts[0].item.token, it.now_ms);
  EXPECT_TRUE(it.agent.take_actions().empty());
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(poll.returned.size(), 3U);
  EXPECT_EQ(poll.not_now, std::vector{JobId{1}});
  it.agent.accept(JobId{1});
  it.agent.on_answer(poll.number, {lease(2, 0, 1)}, {}, it.now_ms);
  EXPECT_EQ(only<StartItem>(it.agent.take_actions()).size(), 1U);
}

TEST(Agent, EverySlotGetsOneItemBeforeAnyGetsTwo) {
  Worked it(3);
  const auto starts = only<StartItem>(it.lend(lease(1, 0, 10)));
  ASSERT_EQ(starts.size(), 3U) << "nothing is handed ahead while nobody knows how long items take";
  for (std::size_t slot = 0; slot < 3; ++slot) EXPECT_EQ(starts[slot].slot, slot);
}

TEST(Agent, AnOrderToStopIsForgottenWhenNothingItConcernsCanTurnUp) {
  Worked it(1);
  it.lend(lease(1, 0, 3));
  it.end(0, token(1, 0), 500);  // short: the rest is handed ahead
  const AgentPoll early = it.agent.make_poll(it.now_ms);
  it.order(StopMode::finish_running);
  EXPECT_EQ(it.agent.stop_orders(), 1U) << "an item of the job runs";
  it.agent.on_returned(0, token(1, 2), it.now_ms);
  it.end(0, token(1, 1), 500);
  it.lend({});
  EXPECT_EQ(it.agent.stop_orders(), 1U) << "the answer to an earlier poll may bring more of it";
  it.agent.on_answer(early.number, {lease(2, 10, 1)}, {}, it.now_ms);
  EXPECT_EQ(it.agent.make_report(it.now_ms).returned, std::vector{token(2, 10)});
  EXPECT_EQ(it.agent.stop_orders(), 0U);
}

TEST(Agent, OfAJobThatCannotStartYetFewAreKeptAndNoMoreAreWanted) {
  Worked worked(2);
  worked.agent.set_aside(JobId{1});
  EXPECT_TRUE(only<StartItem>(worked.lend(lease(1, 0, 10))).empty());
  AgentPoll poll = worked.agent.make_poll(worked.now_ms);
  EXPECT_EQ(poll.not_now, std::vector{JobId{1}});
  EXPECT_GT(poll.want, 0U) << "others may have something for it";
  EXPECT_EQ(poll.returned.size(), 8U);
  worked.agent.on_answer(poll.number, {}, {}, worked.now_ms);
  worked.agent.on_job_ready(JobId{1}, worked.now_ms);
  EXPECT_EQ(only<StartItem>(worked.agent.take_actions()).size(), 2U);
  poll = worked.agent.make_poll(worked.now_ms);
  EXPECT_TRUE(poll.not_now.empty());
}

TEST(Agent, StagingDoesNotCountAgainstTheTimeout) {
  Worked it(1);
  it.lend(lease(1, 0, 1, 3000));
  it.agent.on_staging(0, token(1, 0), true, it.now_ms);
  EXPECT_TRUE(only<StopItem>(it.tick(10'000)).empty()) << "it is still being fetched";
  it.agent.on_staging(0, token(1, 0), false, it.now_ms);
  EXPECT_TRUE(only<StopItem>(it.tick(2999)).empty());
  EXPECT_EQ(only<StopItem>(it.tick(1)).size(), 1U);
  it.agent.on_staging(0, token(1, 0), true, it.now_ms);  // it ended at the last moment, and is uploaded
  EXPECT_TRUE(only<StopItem>(it.tick(60'000)).empty());
  const auto stops = only<StopItem>(it.order(StopMode::kill_running));
  ASSERT_EQ(stops.size(), 1U) << "a cancel still reaches it";
  EXPECT_EQ(stops[0].ran_ms, 0);
  it.end(0, token(1, 0), 1000, true, {.ending = Ending::signalled, .signal = 9});
  EXPECT_EQ(it.agent.take_ended().at(0).outcome.ending, Ending::stopped);
}

TEST(Agent, ShortItemsAreHandedAheadTheMoreTheShorter) {
  for (const auto& [wall_us, behind] : {std::pair(100, 32U), std::pair(1'000, 16U), std::pair(10'000, 4U)}) {
    Worked it(1);
    it.lend(lease(1, 0, 100));
    EXPECT_EQ(only<StartItem>(it.end(0, token(1, 0), wall_us)).size(), 1 + behind) << wall_us;
  }
}

TEST(Agent, NoMoreIsHandedAheadThanTheLimit) {
  for (const std::size_t most : {0U, 1U, 5U}) {
    Worked it(1);
    it.agent.limit_ahead(most);
    it.lend(lease(1, 0, 100));
    EXPECT_EQ(only<StartItem>(it.end(0, token(1, 0), 100)).size(), 1 + most);
  }
}

/// Two slots with what was handed to them, of which all take the same time.
struct TwoSlots {
  Worked worked{2};
  std::deque<Token> inside[2];

  /// Lends so many, and lets each slot end its first.
  TwoSlots(std::uint64_t items, std::int64_t wall_us) {
    note(worked.lend(lease(1, 0, items)));
    end_first(0, wall_us);
    end_first(1, wall_us);
  }
  std::vector<AgentAction> end_first(std::size_t slot, std::int64_t wall_us) {
    const Token first = inside[slot].front();
    inside[slot].pop_front();
    return note(worked.end(slot, first, wall_us));
  }
  void give_back_all_but_one(std::size_t slot) {
    while (inside[slot].size() > 1) {
      const Token last = inside[slot].back();
      inside[slot].pop_back();
      worked.agent.on_returned(slot, last, worked.now_ms);
    }
    note(worked.agent.take_actions());
  }

 private:
  std::vector<AgentAction> note(std::vector<AgentAction> actions) {
    for (const StartItem& start : only<StartItem>(actions)) inside[start.slot].push_back(start.item.token);
    return actions;
  }
};

TEST(Agent, ASlotWithNothingToDoTakesHalfOfWhatWaitsInAnother) {
  TwoSlots it(22, 1'000);
  std::vector<AgentAction> actions;
  while (!it.inside[0].empty()) {
    ASSERT_TRUE(only<RecallSlot>(actions).empty()) << "while it has something to do";
    actions = it.end_first(0, 1'000);
  }
  const std::size_t left = it.inside[1].size();
  ASSERT_GE(left, 8U);
  ASSERT_EQ(only<RecallSlot>(actions).size(), 1U);
  EXPECT_EQ(only<RecallSlot>(actions).front().slot, 1U);
  it.give_back_all_but_one(1);
  EXPECT_EQ(it.inside[0].size() + it.inside[1].size(), left);
  EXPECT_NEAR(static_cast<double>(it.inside[0].size()), static_cast<double>(it.inside[1].size()), 1);
}

TEST(Agent, LittleThatWaitsInASlotStaysThere) {
  TwoSlots it(22, 100);
  while (!it.inside[0].empty()) EXPECT_TRUE(only<RecallSlot>(it.end_first(0, 100)).empty());
  EXPECT_GE(it.inside[1].size(), 8U);
}

TEST(Agent, LongItemsAreNot) {
  Worked it(1);
  it.lend(lease(1, 0, 20));
  EXPECT_EQ(only<StartItem>(it.end(0, token(1, 0), 5'000'000)).size(), 1U);
}

TEST(Agent, WhatWaitsBehindALongOneIsRecalledAndRunsElsewhere) {
  Worked it(2);
  std::map<Token, std::size_t> where;
  const auto note = [&](const std::vector<AgentAction>& actions) {
    for (const StartItem& start : only<StartItem>(actions)) where[start.item.token] = start.slot;
  };
  note(it.lend(lease(1, 0, 12)));
  note(it.end(0, token(1, 0), 4'000));
  note(it.end(1, token(1, 1), 4'000));
  ASSERT_EQ(where.size(), 12U) << "five in each slot, two done";
  ASSERT_EQ(only<RecallSlot>(it.tick(150)).size(), 2U);
  const auto running = it.agent.running();
  ASSERT_EQ(running.size(), 2U);
  for (const auto& [one, slot] : where) {
    const bool runs = std::ranges::any_of(running, [&](const RunningNow& now) { return now.item.token == one; });
    if (!runs && one.item.value >= 2) it.agent.on_returned(slot, one, it.now_ms);
  }
  EXPECT_TRUE(only<StartItem>(it.agent.take_actions()).empty()) << "both slots are busy with long ones";
  const auto starts = only<StartItem>(it.end(1, running[1].item.token, 200'000));
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].slot, 1U);
}

TEST(Agent, ReportsWaitAMomentForCompany) {
  Worked it(1);
  it.lend(lease(1, 0, 5));
  it.end(0, token(1, 0));
  it.agent.make_poll(it.now_ms);  // asks for more, and waits for the answer
  it.end(0, token(1, 1));
  EXPECT_FALSE(it.agent.should_poll(it.now_ms));
  EXPECT_EQ(it.agent.next_deadline(), it.now_ms + 50);
  EXPECT_TRUE(it.agent.should_poll(it.now_ms + 50));
  EXPECT_EQ(it.agent.make_poll(it.now_ms + 50).ended.size(), 1U);
}

TEST(Agent, TheLastReportWaitsForNobody) {
  Worked it(1);
  it.lend(lease(1, 0, 1));
  it.agent.make_poll(it.now_ms);
  it.end(0, token(1, 0));
  EXPECT_TRUE(it.agent.should_poll(it.now_ms));
}

TEST(Agent, AnItemThatRunsForASecondIsNamedOnce) {
  Worked it(1);
  it.lend(lease(1, 0, 1));
  it.agent.make_poll(it.now_ms);
  EXPECT_TRUE(it.agent.make_poll(it.now_ms + 999).running.empty());
  EXPECT_TRUE(it.agent.should_poll(it.now_ms + 1000));
  EXPECT_EQ(it.agent.make_poll(it.now_ms + 1000).running.size(), 1U);
  EXPECT_TRUE(it.agent.make_poll(it.now_ms + 5000).running.empty());
}

TEST(Agent, ATimeoutTerminatesThenKills) {
  Worked it(1);
  it.lend(lease(1, 0, 1, 5000, 2000));
  EXPECT_TRUE(only<StopItem>(it.tick(4999)).empty());
  auto stops = only<StopItem>(it.tick(1));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].how, StopHow::terminate);
  EXPECT_EQ(stops[0].ran_ms, 5000) << "the slot knows when it began";
  EXPECT_TRUE(only<StopItem>(it.tick(1999)).empty());
  stops = only<StopItem>(it.tick(1));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].how, StopHow::kill);
  EXPECT_EQ(stops[0].ran_ms, 7000);
  EXPECT_TRUE(only<StopItem>(it.tick(999)).empty());
  EXPECT_EQ(only<StopItem>(it.tick(1)).size(), 1U) << "it is still there";
  it.end(0, token(1, 0), 7'000'000, true, {Ending::signalled, 0, 9, ""});
  const auto ended = it.agent.make_poll(it.now_ms).ended;
  EXPECT_EQ(ended[0].outcome.ending, Ending::timed_out);
  EXPECT_EQ(ended[0].outcome.reason, "timed out after 5.0 s");
}

TEST(Agent, AnItemThatEndedBeforeTheStopReachedItEndedByItself) {
  Worked it(1);
  it.lend(lease(1, 0, 1, 5000));
  it.tick(5000);
  it.end(0, token(1, 0), 5'000'000, false);
  EXPECT_EQ(it.agent.make_poll(it.now_ms).ended[0].outcome.ending, Ending::exited);
}

TEST(Agent, WhoKillsDoesNotWaitForATimeout) {
  Worked it(1);
  it.lend(lease(1, 0, 1, 5000, 2000));
  it.tick(5000);
  it.agent.kill_all(it.now_ms);
  const auto stops = only<StopItem>(it.agent.take_actions());
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].how, StopHow::kill);
  EXPECT_EQ(stops[0].ran_ms, 0);
  const auto again = only<StopItem>(it.tick(1000));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].ran_ms, 0);
}

TEST(Agent, ACancelReturnsWhatIsNotStartedAndStopsWhatRuns) {
  Worked it(1);
  it.lend(lease(1, 0, 4));
  const auto stops = only<StopItem>(it.order(StopMode::kill_running));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].token, token(1, 0));
  EXPECT_EQ(it.agent.make_poll(it.now_ms).returned.size(), 3U);
  it.end(0, token(1, 0), 1000, true, {Ending::signalled, 0, 15, ""});
  EXPECT_EQ(it.agent.make_poll(it.now_ms).ended[0].outcome.ending, Ending::stopped);
}

TEST(Agent, AnItemThatBeganWhileItsCancelWasOnTheWayIsStoppedToo) {
  Worked it(1);
  it.lend(lease(1, 0, 10));
  it.end(0, token(1, 0), 4'000);  // now five are in the slot
  it.order(StopMode::kill_running);
  const auto stops = only<StopItem>(it.end(0, token(1, 1), 500));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].token, token(1, 2));
}

TEST(Agent, AnEarlyStopLetsRunningItemsEnd) {
  Worked it(1);
  it.lend(lease(1, 0, 4));
  EXPECT_TRUE(only<StopItem>(it.order(StopMode::finish_running)).empty());
  EXPECT_EQ(it.agent.make_poll(it.now_ms).returned.size(), 3U);
}

TEST(Agent, ALaterGrantOfAStoppedJobRuns) {
  Worked it(1);
  it.lend(lease(1, 0, 1));
  it.order(StopMode::finish_running);
  it.end(0, token(1, 0));
  EXPECT_EQ(only<StartItem>(it.lend(lease(2, 0, 1))).size(), 1U);
}

TEST(Agent, DrainingGivesBackEverythingUnstartedAndAsksForNothing) {
  Worked it(2);
  it.lend(lease(1, 0, 6));
  it.agent.drain(it.now_ms);
  EXPECT_TRUE(it.agent.has_news(it.now_ms));
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(poll.leaving, Leaving::draining);
  EXPECT_FALSE(it.agent.has_news(it.now_ms)) << "it was said";
  EXPECT_EQ(poll.returned.size(), 4U);
  EXPECT_EQ(poll.want, 0U);
  EXPECT_FALSE(it.agent.idle());
  it.end(0, token(1, 0));
  it.end(1, token(1, 1));
  it.agent.make_poll(it.now_ms);
  EXPECT_TRUE(it.agent.idle());
  // What was on its way comes back at once.
  it.agent.on_answer(poll.number, {lease(2, 6, 3)}, {}, it.now_ms);
  EXPECT_EQ(it.agent.make_poll(it.now_ms).returned.size(), 3U);
}

TEST(Agent, KillingLosesWhatRuns) {
  Worked it(1);
  it.lend(lease(1, 0, 2));
  it.agent.kill_all(it.now_ms);
  const auto stops = only<StopItem>(it.agent.take_actions());
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].how, StopHow::kill);
  it.end(0, token(1, 0), 1000, true, {Ending::signalled, 0, 9, ""});
  EXPECT_EQ(it.agent.make_poll(it.now_ms).ended[0].outcome.ending, Ending::lost);
}

TEST(Agent, ADeadSlotLosesWhatItRanAndGivesBackTheRest) {
  Worked it(1);
  it.lend(lease(1, 0, 10));
  it.end(0, token(1, 0), 500);
  it.agent.on_slot_died(0, "the helper was killed", it.now_ms);
  EXPECT_TRUE(only<StartItem>(it.agent.take_actions()).empty()) << "a slot that is down gets nothing";
  const auto ended = it.agent.make_poll(it.now_ms).ended;
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[1].token, token(1, 1));
  EXPECT_EQ(ended[1].outcome.ending, Ending::lost);
  it.agent.on_slot_up(0, it.now_ms);
  const auto starts = only<StartItem>(it.agent.take_actions());
  ASSERT_FALSE(starts.empty());
  EXPECT_EQ(starts[0].item.token, token(1, 2)) << "in the order they had";
}

TEST(Agent, AsksForAboutHalfASecondOfWork) {
  Worked it(2);
  EXPECT_EQ(it.agent.make_poll(it.now_ms).want, 4U) << "before it knows anything";
  it.lend(lease(1, 0, 4));
  it.end(0, token(1, 0), 1000);
  const std::uint64_t want = it.agent.make_poll(it.now_ms).want;
  EXPECT_GE(want, 900U);
  EXPECT_LE(want, 1000U);
}

TEST(Agent, WhereEverySlotIsBusyForLongNothingIsPutBy) {
  Worked it(1);
  it.lend(lease(1, 0, 3));
  const AgentPoll parked = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(parked.want, 0U);
  it.tick(1'999);
  EXPECT_TRUE(it.agent.make_report(it.now_ms).returned.empty());
  it.tick(1);
  EXPECT_TRUE(it.agent.has_news(it.now_ms));
  EXPECT_EQ(it.agent.make_report(it.now_ms).returned, (std::vector{token(1, 1), token(1, 2)}));
  EXPECT_FALSE(it.agent.wants_to_ask());
  it.end(0, token(1, 0), 2'000'000);
  ASSERT_TRUE(it.agent.wants_to_ask());
  EXPECT_EQ(it.agent.make_poll(it.now_ms).want, 1U) << "as many as there are free slots";
}

TEST(Agent, WhoPutsBackAsksForNoMore) {
  Worked it(1);
  it.lend(lease(1, 0, 2));
  EXPECT_EQ(it.agent.make_poll(it.now_ms).want, 1U);
  EXPECT_FALSE(it.agent.wants_to_ask());
  EXPECT_LE(it.agent.next_deadline(it.now_ms + 1'000), it.now_ms + 2'000);
  it.tick(2'000);
  ASSERT_TRUE(it.agent.wants_to_ask()) << "the question under way would be answered with what is put back";
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(poll.want, 0U);
  EXPECT_EQ(poll.returned, std::vector{token(1, 1)});
  EXPECT_FALSE(it.agent.wants_to_ask());
}

TEST(Agent, OneLongItemAmongShortOnesKeepsNothingFromTheOthers) {
  Worked it(2);
  it.lend(lease(1, 0, 20));
  it.tick(1'900);
  it.end(1, token(1, 1), 1'900'000);
  it.tick(1'000);
  EXPECT_TRUE(it.agent.make_report(it.now_ms).returned.empty()) << "the other slot goes on with them";
}

TEST(Agent, AlwaysHasAPollParkedToCarryOrdersBack) {
  Worked it(1);
  it.lend(lease(1, 0, 10));
  const AgentPoll full = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(full.want, 0U);
  EXPECT_FALSE(it.agent.should_poll(it.now_ms));
  it.agent.on_answer(full.number, {}, {}, it.now_ms + 20'000);
  EXPECT_TRUE(it.agent.should_poll(it.now_ms + 20'000)) << "answered empty after its wait, with nothing wanted";
}

TEST(Agent, DoesNotAskAgainWhileAPollIsParked) {
  Worked it(1);
  EXPECT_TRUE(it.agent.should_poll(it.now_ms));
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_FALSE(it.agent.should_poll(it.now_ms + 100'000));
  it.agent.on_answer(poll.number, {}, {}, it.now_ms);
  EXPECT_TRUE(it.agent.should_poll(it.now_ms)) << "answered with nothing: ask again";
}

TEST(Agent, AStopOrderHoldsForALeaseThatItOvertook) {
  Worked it(1);
  const AgentPoll first = it.agent.make_poll(it.now_ms);
  const AgentPoll second = it.agent.make_poll(it.now_ms);
  it.agent.on_answer(second.number, {}, {StopOrder{JobId{1}, StopMode::kill_running}}, it.now_ms);
  it.agent.on_answer(first.number, {lease(1, 0, 2)}, {}, it.now_ms);
  EXPECT_TRUE(only<StartItem>(it.agent.take_actions()).empty());
  EXPECT_EQ(it.agent.make_poll(it.now_ms).returned.size(), 2U);
}

TEST(Agent, APollThatWasGivenUpIsNamedUntilSomeoneHeardIt) {
  Worked it(1);
  const AgentPoll lost = it.agent.make_poll(it.now_ms);
  it.agent.give_up(lost.number);
  EXPECT_TRUE(it.agent.should_poll(it.now_ms));
  const AgentPoll second = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(second.given_up, std::vector{lost.number});
  it.agent.give_up(second.number);
  const AgentPoll third = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(third.given_up, (std::vector{lost.number, second.number}));
  it.agent.on_answer(third.number, {}, {}, it.now_ms);
  EXPECT_TRUE(it.agent.make_poll(it.now_ms).given_up.empty());
}

TEST(Agent, TheLateAnswerToAPollThatWasGivenUpIsNotBelieved) {
  Worked it(1);
  const AgentPoll lost = it.agent.make_poll(it.now_ms);
  it.agent.give_up(lost.number);
  it.agent.on_answer(lost.number, {lease(1, 0, 1)}, {}, it.now_ms);
  EXPECT_TRUE(it.agent.take_actions().empty());
}

TEST(Agent, AReportThatMayNotHaveArrivedIsToldAgain) {
  Worked it(2);
  it.lend(lease(1, 0, 6));
  it.end(0, token(1, 0), 5'000'000);
  it.tick(1000);
  it.agent.drain(it.now_ms);
  const AgentReport report = it.agent.make_report(it.now_ms);
  EXPECT_EQ(report.ended.size(), 1U);
  EXPECT_EQ(report.running.size(), 2U);
  EXPECT_EQ(report.returned.size(), 3U);
  EXPECT_FALSE(it.agent.has_news(it.now_ms));
  it.agent.tell_again(report);
  EXPECT_TRUE(it.agent.has_news(it.now_ms));
  const AgentReport again = it.agent.make_report(it.now_ms);
  EXPECT_EQ(again.running, report.running);
  EXPECT_EQ(again.returned, report.returned);
}

TEST(Agent, AfterALongSilenceWhatRunsIsNamedAgainAndWhatDoesNotGoesBack) {
  Worked it(1);
  it.lend(lease(1, 0, 3));
  it.tick(1000);
  EXPECT_EQ(it.agent.make_report(it.now_ms).running.size(), 1U);
  it.agent.doubt_leases(it.now_ms);
  const AgentReport report = it.agent.make_report(it.now_ms);
  EXPECT_EQ(report.running.size(), 1U);
  EXPECT_EQ(report.returned.size(), 2U);
  it.agent.on_gone({token(1, 0)}, it.now_ms);
  const auto stops = only<StopItem>(it.agent.take_actions());
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].how, StopHow::kill);
}

TEST(Agent, NothingOfAStrictJobRunsOnWhenItsLeaseIsAbandoned) {
  Worked it(1);
  it.agent.set_strict([](JobId) { return true; });
  it.lend(lease(1, 0, 12));
  it.end(0, token(1, 0), 4'000);  // five are in the slot
  it.agent.abandon_leases(it.now_ms);
  EXPECT_EQ(only<StopItem>(it.agent.take_actions()).size(), 1U);
  const auto stops = only<StopItem>(it.end(0, token(1, 1), 500, true, {Ending::signalled, 0, 9, ""}));
  ASSERT_EQ(stops.size(), 1U) << "it had begun before it could be recalled";
  EXPECT_EQ(stops[0].token, token(1, 2));
  it.agent.on_returned(0, token(1, 5), it.now_ms);
  EXPECT_TRUE(only<StartItem>(it.agent.take_actions()).empty());
  const AgentReport report = it.agent.make_report(it.now_ms);
  EXPECT_EQ(report.ended.back().outcome.ending, Ending::lost);
  EXPECT_EQ(report.returned.size(), 7U);
}

// Slots that end, return, die and come back at random: every item is told exactly once, ended or returned.
TEST(Agent, TellsEveryItemExactlyOnceWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::size_t slots = 1 + random.below(4);
    Agent agent(slots);
    std::vector<std::deque<Token>> inside(slots);
    std::vector<bool> up(slots, true);
    std::map<Token, int> told;
    std::set<Token> given;
    std::int64_t now_ms = 1000;
    std::uint64_t grant = 0;
    const auto obey = [&] {
      for (const AgentAction& action : agent.take_actions()) {
        if (const auto* start = std::get_if<StartItem>(&action)) inside[start->slot].push_back(start->item.token);
        const auto* recall = std::get_if<RecallSlot>(&action);
        if (recall == nullptr) continue;
        while (inside[recall->slot].size() > 1) {
          const Token last = inside[recall->slot].back();
          inside[recall->slot].pop_back();
          agent.on_returned(recall->slot, last, now_ms);
        }
      }
    };
    for (int step = 0; step < 400; ++step) {
      now_ms += static_cast<std::int64_t>(random.below(60));
      agent.on_tick(now_ms);
      obey();
      if (agent.should_poll(now_ms)) {
        const AgentPoll poll = agent.make_poll(now_ms);
        for (const EndedAttempt& ended : poll.ended) ++told[ended.token];
        for (const Token& returned : poll.returned) ++told[returned];
        std::vector<Lease> leases;
        if (poll.want > 0 && step < 300) {
          ++grant;
          leases.push_back(lease(grant, grant * 100, 1 + random.below(20)));
        }
        for (const Lease& it : leases) {
          for (std::uint64_t i = 0; i < it.count; ++i) given.insert({it.grant, ItemIndex{it.first.value + i}});
        }
        std::vector<StopOrder> stops;
        if (random.one_in(40))
          stops.push_back({JobId{1}, random.one_in(2) ? StopMode::kill_running : StopMode::finish_running});
        agent.on_answer(poll.number, leases, stops, now_ms);
        obey();
      }
      const std::size_t slot = random.below(slots);
      if (!up[slot]) {
        up[slot] = true;
        agent.on_slot_up(slot, now_ms);
      } else if (random.one_in(40)) {
        inside[slot].clear();
        up[slot] = false;
        agent.on_slot_died(slot, "gone", now_ms);
      } else if (!inside[slot].empty()) {
        const Token ended = inside[slot].front();
        inside[slot].pop_front();
        agent.on_ended(slot, {ended, {}, Usage{.wall_us = static_cast<std::int64_t>(random.below(30'000))}}, false,
                       now_ms);
      }
      obey();
      if (step == 350) agent.drain(now_ms);
      obey();
    }
    for (std::size_t slot = 0; slot < slots; ++slot) {
      while (!inside[slot].empty()) {
        const Token ended = inside[slot].front();
        inside[slot].pop_front();
        agent.on_ended(slot, {ended, {}, {}}, false, now_ms);
        obey();
      }
    }
    const AgentPoll poll = agent.make_poll(now_ms);
    for (const EndedAttempt& ended : poll.ended) ++told[ended.token];
    for (const Token& returned : poll.returned) ++told[returned];
    ASSERT_TRUE(agent.idle()) << "seed " << seed;
    for (const Token& it : given) ASSERT_EQ(told[it], 1) << "seed " << seed << ", item " << it.item.value;
  }
}

}  // namespace
}  // namespace drover
