#include "fleets/machine_reconciler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

/// A provider that does what a test says, and remembers what it was asked.
struct FakeProvider : Provider {
  Result<std::string> launch(const MachineOrder& order) override {
    calls.push_back(concat("launch ", order.name, " ", order.join_token));
    if (!refuses.empty()) return fail(ErrorCode::io, refuses);
    if (std::ranges::find(has, order.name, &ListedMachine::name) == has.end()) has.push_back({order.name, "id"});
    return "id " + order.name;
  }
  Result<void> terminate(const std::string& name) override {
    calls.push_back("terminate " + name);
    if (terminates) std::erase_if(has, [&](const ListedMachine& it) { return it.name == name; });
    return {};
  }
  Result<std::vector<ListedMachine>> list() override {
    if (!lists) return fail(ErrorCode::timeout, "no answer");
    on_list();
    return has;
  }

  std::vector<ListedMachine> has;
  std::function<void()> on_list = [] {};
  std::vector<std::string> calls;
  std::string refuses;
  bool terminates = true;
  bool lists = true;
};

class ReconcilerTest : public testing::Test {
 protected:
  Machine machine(const std::string& name, MachineState state) {
    return {.name = name, .fleet = "f", .shape = "small", .has = {1000, 0, {}}, .state = state};
  }
  void turn(std::vector<Machine> machines) {
    reconciler.turn(machines, [](const Machine&) { return Labels{}; });
  }
  std::string news() {
    std::string out;
    for (const MachineNews& it : std::exchange(told, {})) {
      constexpr std::array kWords = {"accepted", "refused", "vanished", "terminated"};
      out += concat(out.empty() ? "" : ", ", it.machine, " ", kWords[static_cast<std::size_t>(it.what)],
                    it.text.empty() ? "" : ": ", it.text);
    }
    return out;
  }
  std::string calls() {
    std::string out;
    for (const std::string& it : std::exchange(provider.calls, {})) out += concat(out.empty() ? "" : ", ", it);
    return out;
  }

  FakeProvider provider;
  std::vector<MachineNews> told;
  std::vector<std::string> notices;
  MachineReconciler reconciler{
      provider,
      {.join_token = [](const Machine& it) -> Result<std::string> { return "token-of-" + it.name; },
       .tell = [this](const MachineNews& it) -> Result<void> {
         told.push_back(it);
         return {};
       },
       .notice = [this](const std::string& it) { notices.push_back(it); }}};
};

TEST_F(ReconcilerTest, AnIntentIsLaunchedWithATokenOfItsOwn) {
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "launch a token-of-a");
  EXPECT_EQ(news(), "a accepted: id a");
}

TEST_F(ReconcilerTest, AnIntentWhoseAnswerWasNotHeardIsLaunchedOnce) {
  turn({machine("a", MachineState::requested)});
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(provider.has.size(), 1U);
}

TEST_F(ReconcilerTest, ALaunchThatFailsIsToldWithItsReason) {
  provider.refuses = "no capacity";
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(news(), "a refused: no capacity");
}

// The machines of the next turn may have been read before the core was told.
TEST_F(ReconcilerTest, AnIntentThatWasRefusedIsNotLaunchedAgain) {
  provider.refuses = "no capacity";
  turn({machine("a", MachineState::requested)});
  provider.refuses.clear();
  calls();
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "");
}

TEST_F(ReconcilerTest, AMachineIsTerminatedUntilItIsNotListed) {
  provider.has = {{"a", "id"}};
  provider.terminates = false;
  turn({machine("a", MachineState::leaving)});
  turn({machine("a", MachineState::leaving)});
  EXPECT_EQ(calls(), "terminate a, terminate a");
  EXPECT_EQ(news(), "");
  provider.terminates = true;
  turn({machine("a", MachineState::leaving)});
  EXPECT_EQ(news(), "a terminated");
}

TEST_F(ReconcilerTest, AMachineThatNobodyKnowsIsTerminated) {
  provider.has = {{"stray", "id"}, {"a", "id"}, {"old", "id"}};
  turn({machine("a", MachineState::joined), machine("old", MachineState::gone)});
  EXPECT_EQ(calls(), "terminate old, terminate stray");
  EXPECT_EQ(news(), "");
}

// One that is asked for before a launch counts as well.
TEST_F(ReconcilerTest, AMachineThatAnyListNamesIsNotMissed) {
  std::uint64_t lists = 0;
  provider.on_list = [&] {
    ++lists;
    if (lists % 2 == 1) provider.has = {{"a", "id"}};
    if (lists % 2 == 0) std::erase_if(provider.has, [](const ListedMachine& it) { return it.name == "a"; });
  };
  for (std::uint64_t i = 0; i <= MachineReconciler::kMissedLists; ++i) {
    turn({machine("a", MachineState::joined), machine(concat("new-", i), MachineState::requested)});
  }
  EXPECT_EQ(lists, 2 * (MachineReconciler::kMissedLists + 1));
  EXPECT_EQ(news().find("vanished"), std::string::npos);
}

TEST_F(ReconcilerTest, AMachineIsMissedAfterSeveralLists) {
  for (std::uint64_t i = 1; i < MachineReconciler::kMissedLists; ++i) {
    turn({machine("a", MachineState::starting)});
    EXPECT_EQ(news(), "");
  }
  provider.has = {{"a", "id"}};
  turn({machine("a", MachineState::starting)});
  provider.has = {};
  for (std::uint64_t i = 1; i < MachineReconciler::kMissedLists; ++i) turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "");
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "a vanished: its provider no longer lists it");
}

TEST_F(ReconcilerTest, AMachineThatHasEndedIsMissedAtOnce) {
  provider.has = {{"a", "id", true, "out of memory"}};
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "a vanished: out of memory");
}

TEST_F(ReconcilerTest, AListThatFailsProvesNothing) {
  provider.lists = false;
  for (int i = 0; i < 5; ++i) turn({machine("a", MachineState::joined), machine("b", MachineState::leaving)});
  EXPECT_EQ(news(), "");
  EXPECT_EQ(notices, std::vector<std::string>{"machines cannot be listed: no answer"});
}

TEST_F(ReconcilerTest, WhatItIsGivenMayBeOlderThanALaunch) {
  turn({machine("a", MachineState::requested)});
  provider.has = {};  // and it has ended since
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "launch a token-of-a") << "another join token would be of no use to the machine";
}

TEST_F(ReconcilerTest, AMachineThatWasLaunchedBeforeTheServersEndIsNotLaunchedAgain) {
  provider.has = {{"a", "id 7"}};
  turn({machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(news(), "a accepted: id 7");
}

}  // namespace
}  // namespace drover
