#include "agent/server_session.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drover {
namespace {

constexpr std::int64_t kTermMs = 60'000;
constexpr std::int64_t kWaitMs = 20'000;

/// A session whose calls the test answers.
struct Spoken {
  Agent agent;
  ServerSession session;
  std::int64_t now_ms = 1'000'000;

  explicit Spoken(std::optional<LeftBehind> left_behind = {})
      : agent(1), session(agent, 7, std::move(left_behind), {}) {}

  /// The spool takes what has ended at once.
  std::vector<SessionCall> calls() {
    spool(session.take_ended(now_ms));
    return session.take_calls(now_ms);
  }
  void spool(std::vector<EndedAttempt> ended, std::size_t bytes = 0) {
    if (ended.empty()) return;
    std::vector<SpooledEnd> spooled;
    spooled.reserve(ended.size());
    for (EndedAttempt& it : ended) spooled.push_back({.ended = std::move(it), .bytes = bytes});
    session.on_spooled(std::move(spooled));
  }
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
  void end_first() { end(0); }
  void end(std::uint64_t item) {
    agent.on_ended(0, {.token = {GrantId{1}, ItemIndex{item}}, .usage = {.wall_us = 1000}}, false, now_ms);
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

TEST(ServerSession, WhatChangesWhileItRegistersIsSaidInAnotherHello) {
  Spoken it;
  it.register_it();
  it.only_call<PollCall>();
  it.session.register_again();
  const auto [hello, first] = it.only_call<HelloCall>();
  it.session.register_again();
  EXPECT_TRUE(it.calls().empty()) << "one at a time";
  it.session.on_welcome(hello, WorkerId{3}, kTermMs, kWaitMs, it.now_ms);
  it.session.on_welcome(it.only_call<HelloCall>().first, WorkerId{3}, kTermMs, kWaitMs, it.now_ms);
  EXPECT_TRUE(it.session.registered());
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
  Spoken it;
  it.agent.set_strict([](JobId) { return true; });
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
  const EndedAttempt ended{.token = {GrantId{9}, ItemIndex{4}}};
  const LeftBehind left{WorkerId{2}, 5, {{.ended = ended}}};
  Spoken it(left);
  const auto [call, report] = it.only_call<ReportCall>();
  EXPECT_EQ(report.worker, WorkerId{2});
  EXPECT_EQ(report.incarnation, 5U);
  EXPECT_EQ(report.report.ended, std::vector{ended});
  EXPECT_TRUE(it.calls().empty());
  EXPECT_EQ(it.left_behind().incarnation, 5U);
  it.session.on_report_taken(call, it.now_ms);
  EXPECT_EQ(it.session.take_told(), std::vector{ended.token});
  EXPECT_EQ(it.only_call<HelloCall>().second.incarnation, 7U);
}

TEST(ServerSession, MuchThatWasLeftBehindIsToldInSeveralReports) {
  LeftBehind left{WorkerId{2}, 5, {}};
  for (std::uint64_t item = 0; item < ReportOutbox::kMostItems + 1; ++item) {
    left.ended.push_back({.ended = {.token = {GrantId{9}, ItemIndex{item}}}});
  }
  Spoken it(left);
  const auto [first, most] = it.only_call<ReportCall>();
  EXPECT_EQ(most.report.ended.size(), ReportOutbox::kMostItems);
  EXPECT_TRUE(it.calls().empty()) << "one report at a time";
  it.session.on_report_taken(first, it.now_ms);
  const auto [second, rest] = it.only_call<ReportCall>();
  EXPECT_EQ(rest.incarnation, 5U);
  EXPECT_EQ(rest.report.ended.size(), 1U);
  it.session.on_report_taken(second, it.now_ms);
  it.only_call<HelloCall>();
}

TEST(ServerSession, WhatWasLeftBehindKeepsItsLeaseWhileItsLogIsOnItsWay) {
  const EndedAttempt ended{.token = {GrantId{9}, ItemIndex{4}}};
  Spoken it(LeftBehind{WorkerId{2}, 5, {{.ended = ended, .uploading = true}}});
  for (int second = 0; second < 200; ++second) {
    const auto [call, report] = it.only_call<ReportCall>();
    EXPECT_EQ(report.incarnation, 5U);
    EXPECT_TRUE(report.report.ended.empty());
    it.session.on_report_taken(call, it.now_ms);
    EXPECT_TRUE(it.calls().empty());
    EXPECT_EQ(it.session.next_deadline(it.now_ms), it.now_ms + 1'000);
    it.later(1'000);
  }
  it.session.on_uploaded(ended);
  const auto [call, report] = it.only_call<ReportCall>();
  EXPECT_EQ(report.report.ended, std::vector{ended});
  it.session.on_report_taken(call, it.now_ms);
  it.only_call<HelloCall>();
}

TEST(ServerSession, WhatWasLeftBehindIsDroppedWhenTheServerHasForgottenWhoRanIt) {
  Spoken it(LeftBehind{WorkerId{2}, 5, {{.ended = {.token = {GrantId{9}, ItemIndex{4}}}}}});
  it.session.on_not_registered(it.only_call<ReportCall>().first);
  EXPECT_EQ(it.session.take_told().size(), 1U) << "its log is kept for nobody";
  it.only_call<HelloCall>();
}

TEST(ServerSession, HoweverOftenACallFailsWhatHasEndedIsThereOnce) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first, 20);
  it.only_call<PollCall>();
  it.agent.take_actions();
  for (std::uint64_t item = 0; item < 20; ++item) it.end(item);
  it.spool(it.session.take_ended(it.now_ms), 400'000);
  for (int failures = 0; failures < 12; ++failures) {
    for (const SessionCall& call : it.calls()) {
      const auto* report = std::get_if<ReportCall>(&call.what);
      if (report != nullptr) {
        EXPECT_EQ(report->report.ended.size(), 2U) << "as many as a mebibyte of logs holds";
      }
      it.session.on_failed(call.number, it.now_ms);
    }
    EXPECT_EQ(it.session.untold(), 20U);
    it.later(10'000);
  }
  std::vector<std::uint64_t> told;
  for (int rounds = 0; rounds < 20 && it.session.untold() > 0; ++rounds) {
    for (const SessionCall& call : it.calls()) {
      const auto* poll = std::get_if<PollCall>(&call.what);
      const AgentReport& said = poll != nullptr ? poll->poll : std::get<ReportCall>(call.what).report;
      for (const EndedAttempt& ended : said.ended) told.push_back(ended.token.item.value);
      if (poll != nullptr) it.session.on_poll_answer(call.number, {}, {}, {}, false, it.now_ms);
      if (poll == nullptr) it.session.on_report_taken(call.number, it.now_ms);
    }
  }
  EXPECT_EQ(told.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(it.session.take_told().size(), 20U);
  EXPECT_TRUE(it.session.all_told());
}

TEST(ServerSession, ADiskThatDoesNotAnswerHoldsUpNoPoll) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  const auto [parked, first] = it.only_call<PollCall>();
  it.end_first();
  const std::vector<EndedAttempt> ended = it.session.take_ended(it.now_ms);
  ASSERT_EQ(ended.size(), 1U);
  it.session.on_poll_answer(parked, {}, {}, {}, false, it.now_ms);
  EXPECT_TRUE(it.calls().empty()) << "the poll waits a moment, to tell what has ended";
  EXPECT_FALSE(it.session.all_told());
  it.later(250);
  const auto [poll, second] = it.only_call<PollCall>();
  EXPECT_TRUE(second.poll.ended.empty());
  EXPECT_FALSE(it.session.left_behind()) << "a process that is killed now leaves nothing of it";
  it.spool(ended);
  EXPECT_EQ(it.only_call<ReportCall>().second.report.ended, ended);
}

TEST(ServerSession, WhatIsUploadedIsToldWhenItIsThere) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  it.only_call<PollCall>();
  it.end_first();
  std::vector<EndedAttempt> ended = it.session.take_ended(it.now_ms);
  it.session.on_spooled({{.ended = ended.at(0), .bytes = std::size_t{5} << 20, .uploading = true}});
  EXPECT_TRUE(it.calls().empty());
  EXPECT_EQ(it.left_behind().ended.size(), 1U);
  ended[0].log.extents = {"where it is"};
  it.session.on_uploaded(ended[0]);
  EXPECT_EQ(it.only_call<ReportCall>().second.report.ended, ended);
}

TEST(ServerSession, OnlyItemsOfStrictJobsAreKilledWhenTheirLeaseRunsOut) {
  Spoken it;
  it.agent.set_strict([](JobId job) { return job == JobId{2}; });
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  it.agent.take_actions();
  it.calls();
  it.later(kTermMs);
  EXPECT_TRUE(it.agent.take_actions().empty());
}

TEST(ServerSession, ADisownedWorkerRegistersAgainAndDoubtsItsLeases) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first, 3);
  it.session.on_not_registered(it.only_call<PollCall>().first);
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
  Spoken it;
  it.agent.set_strict([](JobId) { return true; });
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

const Error kNoRoom{ErrorCode::no_space, "the disk is nearly full", ""};

TEST(ServerSession, WhileTheServerHasNoRoomForLogsPollsGoOnWithoutThem) {
  Spoken it;
  it.agent.set_strict([](JobId) { return true; });
  it.register_it();
  it.lend(it.only_call<PollCall>().first);
  EXPECT_EQ(it.agent.take_actions().size(), 1U);
  auto [parked, first] = it.only_call<PollCall>();
  it.end_first();
  it.session.on_error(it.only_call<ReportCall>().first, kNoRoom, it.now_ms);
  std::size_t refused = 1;
  for (int second = 0; second < 120; ++second) {
    it.session.on_poll_answer(parked, {}, {}, {}, false, it.now_ms);
    bool polls = false;
    for (const SessionCall& call : it.calls()) {
      if (const auto* poll = std::get_if<PollCall>(&call.what)) {
        EXPECT_TRUE(poll->poll.ended.empty());
        parked = call.number;
        polls = true;
      } else {
        EXPECT_EQ(std::get<ReportCall>(call.what).report.ended.size(), 1U);
        it.session.on_error(call.number, kNoRoom, it.now_ms);
        ++refused;
      }
    }
    EXPECT_TRUE(polls) << second;
    const auto next_ms = it.session.next_deadline(it.now_ms);
    ASSERT_TRUE(next_ms);
    EXPECT_GT(next_ms.value_or(0), it.now_ms) << "it waits";
    it.later(1'000);
  }
  EXPECT_GT(refused, 10U);
  EXPECT_LT(refused, 20U);
  EXPECT_TRUE(it.agent.take_actions().empty()) << "no lease was given up";
  it.later(10'000);
  for (const SessionCall& call : it.calls()) {
    if (std::holds_alternative<ReportCall>(call.what)) it.session.on_report_taken(call.number, it.now_ms);
  }
  EXPECT_EQ(it.session.untold(), 0U);
  it.session.on_poll_answer(parked, {}, {}, {}, false, it.now_ms);
}

TEST(ServerSession, APollWhoseLogsHaveNoRoomIsAskedAgainAtOnceWithoutThem) {
  Spoken it;
  it.register_it();
  it.lend(it.only_call<PollCall>().first, 2);
  const auto [parked, first] = it.only_call<PollCall>();
  it.end_first();
  it.session.on_poll_answer(parked, {}, {}, {}, false, it.now_ms);
  const auto [full, second] = it.only_call<PollCall>();
  ASSERT_EQ(second.poll.ended.size(), 1U);
  it.session.on_error(full, kNoRoom, it.now_ms);
  const auto [again, third] = it.only_call<PollCall>();
  EXPECT_TRUE(third.poll.ended.empty());
  EXPECT_EQ(third.poll.given_up, std::vector{second.poll.number});
  it.later(250);
  EXPECT_EQ(it.only_call<ReportCall>().second.report.ended.size(), 1U);
}

// It used to be told for ever, and what ended after it waited behind it.
TEST(ServerSession, AReportThatIsRefusedForGoodEnds) {
  Spoken spoken;
  spoken.register_it();
  spoken.lend(spoken.only_call<PollCall>().first, 2);
  spoken.agent.take_actions();
  spoken.end(0);
  const Error refusal{ErrorCode::bad_input, "the report is malformed", ""};
  std::size_t told = 0;
  std::vector<Token> returned;
  for (int turn = 0; turn < 20; ++turn) {
    for (const SessionCall& call : spoken.calls()) {
      const auto* poll = std::get_if<PollCall>(&call.what);
      const AgentReport& said = poll != nullptr ? poll->poll : std::get<ReportCall>(call.what).report;
      returned.insert(returned.end(), said.returned.begin(), said.returned.end());
      const bool is_bad = std::ranges::any_of(said.ended, [](const auto& it) { return it.token.item.value == 0; });
      told += said.ended.size();
      if (is_bad) {
        spoken.session.on_error(call.number, refusal, spoken.now_ms);
      } else if (poll == nullptr) {
        spoken.session.on_report_taken(call.number, spoken.now_ms);
      }
    }
    if (turn == 10) spoken.end(1);
    spoken.later(100);
  }
  EXPECT_EQ(told, 3U) << "twice the bad one, once the good one";
  EXPECT_EQ(spoken.session.untold(), 0U);
  EXPECT_EQ(returned, (std::vector<Token>{{GrantId{1}, ItemIndex{0}}})) << "somebody else runs it";
  const auto refused = spoken.session.take_refused();
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].what, ReportOutbox::Refused::What::told_bare);
  EXPECT_EQ(refused[1].what, ReportOutbox::Refused::What::given_up);
  EXPECT_EQ(refused[1].why, "the report is malformed");
}

TEST(ServerSession, WhatAnEarlierProcessLeftAndIsRefusedDoesNotKeepThisOneFromRegistering) {
  Spoken spoken(
      LeftBehind{.worker = WorkerId{2},
                 .incarnation = 5,
                 .ended = {{.ended = {.token = {GrantId{1}, ItemIndex{0}}}, .bytes = 0, .uploading = false}}});
  for (int turn = 0; turn < 10; ++turn) {
    for (const SessionCall& call : spoken.calls()) {
      if (std::holds_alternative<HelloCall>(call.what)) {
        EXPECT_EQ(spoken.session.untold(), 0U);
        return;
      }
      spoken.session.on_error(call.number, {ErrorCode::bad_input, "malformed", ""}, spoken.now_ms);
    }
    spoken.later(100);
  }
  FAIL() << "it never registers";
}

}  // namespace
}  // namespace drover
