#include "agent/server_session.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

constexpr std::int64_t kTermMs = 60'000;
constexpr std::int64_t kWaitMs = 20'000;

/// A session whose calls the test answers.
struct Spoken {
  Agent agent;
  ServerSession session;
  std::int64_t now_ms = 1'000'000;

  explicit Spoken(std::optional<LeftBehind> left_behind = {}, ServerSession::Options options = {})
      : agent(1), session(agent, 7, std::move(left_behind), options) {}

  std::vector<SessionCall> calls() { return session.take_calls(now_ms); }
  template <class Call>
  std::pair<std::uint64_t, Call> only_call() {
    const std::vector<SessionCall> all = calls();
    EXPECT_EQ(all.size(), 1U);
    return {all.at(0).number, std::get<Call>(all.at(0).what)};
  }
  void register_it(std::int64_t term_ms = kTermMs, std::int64_t wait_ms = kWaitMs) {
    session.on_welcome(only_call<HelloCall>().first, WorkerId{3}, term_ms, wait_ms, now_ms);
  }
  void lend(std::uint64_t call, std::uint64_t count = 1) {
    const Lease lease{.grant = GrantId{1}, .job = JobId{1}, .count = count};
    session.on_poll_answer(call, {lease}, {}, {}, false, now_ms);
  }
  void end_first() {
    agent.on_ended(0, {.token = {GrantId{1}, ItemIndex{0}}, .usage = {.wall_us = 1000}}, false, now_ms);
  }
  LeftBehind left_behind() const {
    const auto left = session.left_behind();
    EXPECT_TRUE(left);
    return left.value_or(LeftBehind{});
  }
  void later(std::int64_t ms) {
    now_ms += ms;
    agent.on_tick(now_ms);
    session.on_tick(now_ms);
  }
};

TEST(ServerSession, RegistersThenKeepsOnePollUnderWay) {
  Spoken it;
  it.register_it();
  const auto [call, poll] = it.only_call<PollCall>();
  EXPECT_EQ(poll.worker, WorkerId{3});
  EXPECT_EQ(poll.incarnation, 7U);
  EXPECT_TRUE(it.calls().empty());
  it.session.on_poll_answer(call, {}, {}, {}, false, it.now_ms);
  EXPECT_EQ(it.only_call<PollCall>().second.poll.number, PollNumber{2});
}

TEST(ServerSession, APollWithoutAnAnswerIsGivenUpAndNamed) {
  Spoken it;
  it.register_it();
  const auto [lost, first] = it.only_call<PollCall>();
  it.later(kWaitMs + 10'000);
  EXPECT_TRUE(it.calls().empty()) << "after a failure it waits a moment";
  it.later(250);
  const auto [second, poll] = it.only_call<PollCall>();
  EXPECT_EQ(poll.poll.given_up, std::vector{first.poll.number});
  it.lend(lost);
  EXPECT_TRUE(it.agent.take_actions().empty()) << "too late";
}

TEST(ServerSession, WhereLeasesAreShortSilenceIsNotWaitedForLongerThanOne) {
  Spoken it;
  it.register_it(2'000, 600);
  const std::vector<SessionCall> first = it.calls();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].within_ms, 2'600);
  it.later(2'600);
  // However often it fails, it asks again before a lease that is renewed now would be over.
  for (int i = 0; i < 8; ++i) {
    it.later(500);
    const std::vector<SessionCall> calls = it.calls();
    ASSERT_EQ(calls.size(), 1U) << i;
    it.session.on_failed(calls[0].number, it.now_ms);
  }
}

TEST(ServerSession, ShortStrictLeasesAreNotAbandonedWhileTheyAreRenewed) {
  Spoken it({}, {.strict_lease = true});
  it.register_it(2'000, 600);
  it.lend(it.only_call<PollCall>().first);
  it.agent.take_actions();
  it.calls();
  it.later(1'499);
  EXPECT_TRUE(it.agent.take_actions().empty());
  it.later(1);
  EXPECT_EQ(it.agent.take_actions().size(), 1U);
}

TEST(ServerSession, WhatEndedIsToldUntilItIsAcknowledged) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  it.only_call<PollCall>();
  it.end_first();
  const auto [lost, report] = it.only_call<ReportCall>();
  ASSERT_EQ(report.report.ended.size(), 1U);
  EXPECT_FALSE(it.session.all_told());
  EXPECT_EQ(it.left_behind().ended.size(), 1U);
  it.session.on_failed(lost, it.now_ms);
  EXPECT_EQ(it.left_behind().ended.size(), 1U);
  it.later(250);
  const auto [heard, again] = it.only_call<ReportCall>();
  EXPECT_EQ(again.report.ended, report.report.ended);
  it.session.on_report_taken(heard, it.now_ms);
  EXPECT_TRUE(it.session.all_told());
  EXPECT_FALSE(it.session.left_behind());
}

TEST(ServerSession, WhatWasLeftBehindIsToldInItsOwnNameBeforeTheNewOneIsHeardOf) {
  const LeftBehind left{WorkerId{2}, 5, {EndedAttempt{.token = {GrantId{9}, ItemIndex{4}}}}};
  Spoken it(left);
  const auto [call, report] = it.only_call<ReportCall>();
  EXPECT_EQ(report.worker, WorkerId{2});
  EXPECT_EQ(report.incarnation, 5U);
  EXPECT_EQ(report.report.ended, left.ended);
  EXPECT_TRUE(it.calls().empty());
  it.session.on_report_taken(call, it.now_ms);
  EXPECT_EQ(it.only_call<HelloCall>().second.incarnation, 7U);
}

TEST(ServerSession, ADisownedWorkerRegistersAgainAndDoubtsItsLeases) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first, 3);
  it.session.on_not_registered(it.only_call<PollCall>().first, it.now_ms);
  it.register_it();
  const auto [call, poll] = it.only_call<PollCall>();
  EXPECT_EQ(poll.poll.returned.size(), 2U);
}

TEST(ServerSession, AWorkerWhoseNameIsTakenAsksForItAgainAndGoesTheThirdTime) {
  Spoken it;
  for (int taken = 1; taken <= 3; ++taken) {
    EXPECT_FALSE(it.session.has_lost_its_name());
    it.register_it();
    const std::uint64_t call = it.only_call<PollCall>().first;
    it.session.on_replaced(call, it.now_ms);
    it.session.on_replaced(call, it.now_ms);  // heard twice
    EXPECT_TRUE(it.calls().empty()) << "it waits before it asks again";
    it.later(5'000);
  }
  EXPECT_TRUE(it.session.has_lost_its_name());
}

TEST(ServerSession, ANameThatIsTakenNowAndThenIsKept) {
  Spoken it;
  for (int taken = 1; taken <= 10; ++taken) {
    it.register_it();
    it.session.on_replaced(it.only_call<PollCall>().first, it.now_ms);
    it.later(kTermMs + 1);
  }
  EXPECT_FALSE(it.session.has_lost_its_name());
}

TEST(ServerSession, WhatIsHeldBackIsStartedWhenItIsReadyAndGoesBackLikeTheRest) {
  Spoken it;
  it.register_it();
  it.agent.hold_back(GrantId{1});
  it.lend(it.only_call<PollCall>().first, 2);
  EXPECT_TRUE(it.agent.take_actions().empty());
  it.agent.on_ready(GrantId{1}, it.now_ms);
  ASSERT_EQ(it.agent.take_actions().size(), 1U);

  Spoken other;
  other.register_it();
  other.agent.hold_back(GrantId{1});
  other.lend(other.only_call<PollCall>().first, 2);
  other.agent.drain(other.now_ms);
  EXPECT_TRUE(other.agent.take_actions().empty());
  EXPECT_EQ(other.agent.make_report(other.now_ms).returned.size(), 2U);
}

TEST(ServerSession, StrictLeasesAreAbandonedBeforeTheyRunOut) {
  Spoken it({}, {.strict_lease = true});
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  it.agent.take_actions();
  it.calls();
  it.later(kTermMs - 5'001);
  EXPECT_TRUE(it.agent.take_actions().empty());
  it.later(1);
  const auto actions = it.agent.take_actions();
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<StopItem>(actions[0]).how, StopHow::kill);
}

}  // namespace
}  // namespace drover
