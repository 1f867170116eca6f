#include "core/policy.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

Outcome exited(int code) {
  return {Ending::exited, code, 0, ""};
}

TEST(Retry, TriesCountTheFirst) {
  Policy policy{.max_tries = 3};
  EXPECT_EQ(after_failure(policy, exited(1), 1), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, exited(1), 2), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, exited(1), 3), Verdict::give_up);
}

TEST(Retry, NoRuleThatMatchesMeansRetry) {
  Policy policy{.max_tries = 9, .rules = {{"", "", "42", RuleAction::exit}}};
  EXPECT_EQ(after_failure(policy, exited(1), 1), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, exited(42), 1), Verdict::give_up);
}

TEST(Retry, TheFirstMatchWins) {
  Policy policy{.max_tries = 9, .rules = {{"", "", "4*", RuleAction::retry}, {"", "", "*", RuleAction::exit}}};
  EXPECT_EQ(after_failure(policy, exited(42), 1), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, exited(5), 1), Verdict::give_up);
}

TEST(Retry, AllConditionsOfARuleMustHold) {
  Policy policy{.max_tries = 9, .rules = {{"", "Out*", "137", RuleAction::exit}}};
  EXPECT_EQ(after_failure(policy, {Ending::signalled, 0, 9, "OutOfMemory"}, 1), Verdict::give_up);
  EXPECT_EQ(after_failure(policy, {Ending::signalled, 0, 9, "else"}, 1), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, {Ending::exited, 1, 0, "OutOfMemory"}, 1), Verdict::run_again);
}

TEST(Retry, OnlyATrailingStarIsAPattern) {
  Policy policy{.max_tries = 9, .rules = {{"", "*memory", "", RuleAction::exit}}};
  EXPECT_EQ(after_failure(policy, {Ending::exited, 1, 0, "out of memory"}, 1), Verdict::run_again);
  EXPECT_EQ(after_failure(policy, {Ending::exited, 1, 0, "*memory"}, 1), Verdict::give_up);
}

TEST(Retry, TimedOutAndStoppedAttemptsAreNeverRetried) {
  Policy policy{.max_tries = 9, .rules = {{"", "", "*", RuleAction::retry}}};
  EXPECT_EQ(after_failure(policy, {Ending::timed_out, 0, 15, ""}, 1), Verdict::give_up);
  EXPECT_EQ(after_failure(policy, {Ending::stopped, 0, 15, ""}, 1), Verdict::give_up);
}

TEST(Retry, ASignalReadsAs128AndItsNumber) {
  EXPECT_EQ(exit_words({Ending::signalled, 0, 9, ""}).exit_code, "137");
  EXPECT_EQ(exit_words(exited(0)).exit_code, "0");
}

TEST(Retry, WhatHasNoExitCodeMatchesNoneNotEvenAStar) {
  Policy policy{.max_tries = 9, .rules = {{"", "", "*", RuleAction::exit}}};
  EXPECT_EQ(after_failure(policy, {Ending::not_started, 0, 0, "could not start"}, 1), Verdict::run_again);
  EXPECT_EQ(after_loss(policy, 1), Verdict::run_again);
}

TEST(Loss, IsFreeUpToItsOwnLimit) {
  Policy policy{.max_tries = 1, .lost_limit = 3};
  EXPECT_EQ(after_loss(policy, 1), Verdict::run_again);
  EXPECT_EQ(after_loss(policy, 2), Verdict::run_again);
  EXPECT_EQ(after_loss(policy, 3), Verdict::give_up);
}

TEST(Loss, ARuleThatNamesTheHostCanEndIt) {
  Policy policy{.rules = {{"Host EC2*", "", "", RuleAction::exit}}};
  EXPECT_EQ(after_loss(policy, 1), Verdict::give_up);
  policy.rules = {{"Host EC2*", "", "", RuleAction::retry}, {"", "*", "", RuleAction::exit}};
  EXPECT_EQ(after_loss(policy, 1), Verdict::run_again);
}

}  // namespace
}  // namespace drover
