#include "agent/image_gate.h"

#include <gtest/gtest.h>

#include "base/usage_bounds.h"

namespace drover {
namespace {

const JobId kJob{1};
const JobId kOther{2};
const std::string kImage = "registry.example/model:1";

/// An agent with two slots, lent what a test wants.
class ImageGateTest : public testing::Test {
 protected:
  ImageGateTest() { ask(); }

  /// What the server is told of it by the next poll.
  AgentPoll lend(JobId job) {
    agent_.on_answer(poll_, {{.grant = GrantId{++grants_}, .job = job, .first = ItemIndex{0}, .count = 2}}, {},
                     now_ms_);
    return ask();
  }
  AgentPoll ask() {
    AgentPoll poll = agent_.make_poll(now_ms_);
    poll_ = poll.number;
    return poll;
  }
  void fail(JobId job, std::int64_t retry_after_ms = 0) {
    gate_.on_failed(job, {FetchFailure::Kind::passing, "no answer", retry_after_ms}, now_ms_);
  }
  /// How long the pause that has just begun lasts.
  std::int64_t pause() { return gate_.next_deadline().value_or(0) - now_ms_; }
  void wait_out() {
    now_ms_ = gate_.next_deadline().value_or(0);
    gate_.on_tick(now_ms_);
  }

  std::int64_t now_ms_ = 1'000'000;
  std::uint64_t grants_ = 0;
  Agent agent_{2};
  PollNumber poll_;
  ImageGate gate_{agent_, 1};
};

TEST_F(ImageGateTest, PausesDoubleAreSpreadAndBounded) {
  std::int64_t step_ms = ImageGate::kFirstPauseMs;
  for (int time = 0; time < 20; ++time) {
    ASSERT_EQ(gate_.want(kJob, kImage, now_ms_), ImageGate::Want::fetch);
    lend(kJob);
    fail(kJob);
    EXPECT_GE(pause(), step_ms / 2);
    EXPECT_LE(pause(), step_ms);
    step_ms = std::min(step_ms * 2, ImageGate::kLongestPauseMs);
    wait_out();
  }
  ASSERT_EQ(gate_.want(kJob, kImage, now_ms_), ImageGate::Want::fetch);
  gate_.on_fetched(kJob, now_ms_);
  // It came: the next trouble is a new one.
  ASSERT_EQ(gate_.want(kJob, kImage, now_ms_), ImageGate::Want::fetch);
  fail(kJob);
  EXPECT_LE(pause(), ImageGate::kFirstPauseMs);
}

TEST_F(ImageGateTest, OtherWorkersDoNotComeBackAtTheSameMoment) {
  std::set<std::int64_t> pauses;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ImageGate gate(agent_, seed);
    gate.want(kJob, kImage, now_ms_);
    gate.on_failed(kJob, {.reason = "no answer"}, now_ms_);
    pauses.insert(gate.next_deadline().value_or(0));
  }
  EXPECT_GT(pauses.size(), 50);
}

TEST_F(ImageGateTest, WhatARegistryAsksForIsHeldToWithinBounds) {
  gate_.want(kJob, kImage, now_ms_);
  fail(kJob, 60'000);
  EXPECT_GE(pause(), 60'000);
  wait_out();
  gate_.want(kJob, kImage, now_ms_);
  fail(kJob, std::int64_t{86'400'000});
  EXPECT_EQ(pause(), ImageGate::kLongestPauseMs);
}

TEST_F(ImageGateTest, OneFetchForSeveralJobsFailsOnce) {
  for (const JobId job : {kJob, kOther}) gate_.want(job, kImage, now_ms_);
  lend(kJob);
  lend(kOther);
  fail(kJob);
  const std::int64_t first_ms = pause();
  fail(kOther);
  EXPECT_EQ(pause(), first_ms);
  EXPECT_EQ(ask().not_now, (std::vector{kJob, kOther}));
  wait_out();
  EXPECT_TRUE(ask().not_now.empty());
}

TEST_F(ImageGateTest, ItemsGoBackWithoutATraceAndOtherJobsRun) {
  gate_.want(kJob, kImage, now_ms_);
  lend(kJob);
  fail(kJob);
  const AgentPoll told = ask();
  EXPECT_EQ(told.returned.size(), 2);
  EXPECT_TRUE(told.ended.empty());
  EXPECT_TRUE(told.running.empty());
  ASSERT_EQ(told.notes.size(), 1);
  EXPECT_EQ(told.notes[0].job, kJob);
  EXPECT_TRUE(told.notes[0].text.starts_with("no answer; trying again in "));
  // Another job with the same image is not even tried.
  EXPECT_EQ(gate_.want(kOther, kImage, now_ms_), ImageGate::Want::declined);
  EXPECT_EQ(lend(kOther).returned.size(), 2);
  lend(JobId{3});
  std::size_t started = 0;
  for (const AgentAction& action : agent_.take_actions()) started += std::holds_alternative<StartItem>(action) ? 1 : 0;
  EXPECT_EQ(started, 2);
}

TEST_F(ImageGateTest, TheServerHearsAtOnceWhatIsDeclinedAndWhatNoMore) {
  gate_.want(kJob, kImage, now_ms_);
  lend(kJob);
  ask();
  ASSERT_FALSE(agent_.wants_to_ask());
  fail(kJob);
  EXPECT_TRUE(agent_.wants_to_ask());
  EXPECT_EQ(ask().notes.size(), 1);
  EXPECT_FALSE(agent_.wants_to_ask());
  wait_out();
  EXPECT_TRUE(agent_.wants_to_ask());
  EXPECT_TRUE(ask().notes.empty());
}

TEST_F(ImageGateTest, AnImageThatDoesNotExistStopsItsJob) {
  gate_.want(kJob, kImage, now_ms_);
  lend(kJob);
  gate_.on_failed(kJob, {FetchFailure::Kind::lasting, "there is no such image", 0}, now_ms_);
  const AgentPoll told = ask();
  EXPECT_EQ(told.notes, (std::vector<JobNote>{{kJob, "there is no such image", true}}));
  EXPECT_TRUE(told.not_now.empty());
  EXPECT_FALSE(gate_.next_deadline());
}

TEST_F(ImageGateTest, AnImageThatFailedLongAgoBeginsAnew) {
  for (int time = 0; time < 8; ++time) {
    gate_.want(kJob, kImage, now_ms_);
    fail(kJob);
    wait_out();
  }
  now_ms_ += 2 * ImageGate::kLongestPauseMs;
  gate_.on_tick(now_ms_);
  gate_.want(kJob, kImage, now_ms_);
  fail(kJob);
  EXPECT_LE(pause(), ImageGate::kFirstPauseMs);
}

TEST_F(ImageGateTest, AJobOfWhichNothingIsLeftIsForgotten) {
  gate_.want(kJob, kImage, now_ms_);
  lend(kJob);
  EXPECT_TRUE(gate_.on_tick(now_ms_).empty());
  agent_.on_answer(poll_, {}, {{kJob, StopMode::kill_running}}, now_ms_);
  EXPECT_EQ(gate_.on_tick(now_ms_), std::vector<JobId>{kJob});
  EXPECT_FALSE(gate_.waits(kJob));
  fail(kJob);  // too late to be heard
  EXPECT_FALSE(gate_.next_deadline());
}

TEST_F(ImageGateTest, AnItemThatCannotBeReadFailsAndTheOthersRun) {
  agent_.hold_back(GrantId{1});
  lend(kJob);
  agent_.on_unreadable({GrantId{1}, ItemIndex{0}}, "its text is damaged", now_ms_);
  agent_.on_unreadable({GrantId{1}, ItemIndex{7}}, "it is not here", now_ms_);
  agent_.on_ready(GrantId{1}, now_ms_);
  const AgentPoll told = ask();
  ASSERT_EQ(told.ended.size(), 1);
  EXPECT_EQ(told.ended[0].token, (Token{GrantId{1}, ItemIndex{0}}));
  EXPECT_EQ(told.ended[0].outcome.ending, Ending::not_started);
  EXPECT_EQ(told.ended[0].slot, kNoSlot);
  const auto actions = agent_.take_actions();
  ASSERT_EQ(actions.size(), 1);
  EXPECT_EQ(std::get<StartItem>(actions[0]).item.token, (Token{GrantId{1}, ItemIndex{1}}));
}

}  // namespace
}  // namespace drover
