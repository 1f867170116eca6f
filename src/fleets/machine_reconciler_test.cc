#include "fleets/machine_reconciler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

/// A provider that does what a test says, and remembers what it was asked.
struct FakeProvider : Provider {
  Result<std::string> launch(const MachineOrder& order) override {
    calls.push_back(concat("launch ", order.name, " ", order.join_token));
    on_launch();
    if (breaks_off != nullptr) {
      breaks_off->request_stop();
      return fail(ErrorCode::stopped, "it was killed");
    }
    if (!refuses.empty()) return fail(ErrorCode::io, refuses);
    if (std::ranges::find(has, order.name, &ListedMachine::name) == has.end()) has.push_back({order.name, "id"});
    return "id " + order.name;
  }
  Result<void> terminate(const std::string& name) override {
    calls.push_back("terminate " + name);
    on_terminate();
    if (!ends) return fail(ErrorCode::io, "it is protected");
    if (terminates) std::erase_if(has, [&](const ListedMachine& it) { return it.name == name; });
    return {};
  }
  Result<MachineList> list() override {
    on_question();
    if (!lists) return fail(ErrorCode::timeout, "no answer");
    on_list();
    return MachineList{has, is_exact};
  }

  ProviderPace pace() const override { return paced; }

  std::vector<ListedMachine> has;
  ProviderPace paced = kUnpaced;
  std::function<void()> on_question = [] {};  // for a list, whether or not one comes
  std::function<void()> on_list = [] {};
  std::function<void()> on_terminate = [] {};
  std::function<void()> on_launch = [] {};
  std::stop_source* breaks_off = nullptr;  // each launch, as it is stopped
  std::vector<std::string> calls;
  std::string refuses;
  bool terminates = true;
  bool ends = true;
  bool lists = true;
  bool is_exact = true;
};

class ReconcilerTest : public testing::Test {
 protected:
  Machine machine(const std::string& name, MachineState state) {
    return {.name = name, .fleet = "f", .shape = "small", .has = {1000, 0, {}}, .state = state};
  }
  static FleetWork work(const std::vector<Machine>& machines, bool is_deleting = false) {
    FleetWork out{.records = {}, .labels = [](const Machine&) { return Labels{}; }, .is_deleting = is_deleting};
    for (const Machine& it : machines) out.records.push_back(std::make_shared<const Machine>(it));
    return out;
  }
  void turn(const std::vector<Machine>& machines) { reconciler.turn(work(machines)); }
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

  /// Turns whose lists come one after the other, in so many milliseconds.
  void turns(std::uint64_t count, std::int64_t for_ms, const Machine& it) {
    for (std::uint64_t i = 0; i < count; ++i) {
      turn({it});
      now_ms += for_ms / static_cast<std::int64_t>(count);
    }
  }

  MachineReconciler::Outside outside() {
    return {.join_token = [](const Machine& it) -> Result<std::string> { return "token-of-" + it.name; },
            .tell = [this](const MachineNews& it) -> Result<void> {
              if (is_deaf) return fail(ErrorCode::io, "the core does not answer");
              told.push_back(it);
              return {};
            },
            .tell_empty = [this]() -> Result<void> {
              ++told_empty;
              return {};
            },
            .notice = [this](const std::string& it) { notices.push_back(it); },
            .elapsed_ms = [this] { return now_ms; },
            .server = "this",
            .stop = stop.get_token()};
  }

  FakeProvider provider;
  std::stop_source stop;
  std::int64_t now_ms = 1000;
  std::vector<MachineNews> told;
  bool is_deaf = false;  // the core
  int told_empty = 0;
  std::vector<std::string> notices;
  MachineReconciler reconciler{"f", provider, outside()};
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
  provider.has = {{"f-0123456789ab", "id"}, {"a", "id"}, {"old", "id"}};
  turn({machine("a", MachineState::joined), machine("old", MachineState::gone)});
  EXPECT_EQ(calls(), "terminate f-0123456789ab, terminate old");
  EXPECT_EQ(news(), "");
}

TEST_F(ReconcilerTest, AMachineThatTheFleetDidNotLaunchIsLeftAlone) {
  provider.has = {{"database", "id"},
                  {"f-0123456789abc", "id"},
                  {"f-0123456789aB", "id"},
                  {"ff-0123456789ab", "id"},
                  {.name = "f-0123456789ab", .id = "id", .fleet = "another"}};
  turn({});
  turn({});
  EXPECT_EQ(calls(), "");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_TRUE(notices[0].starts_with("the provider lists 5 machines that this fleet did not launch; they are left"))
      << notices[0];
  EXPECT_TRUE(notices[0].ends_with("'database', 'f-0123456789aB', 'f-0123456789ab', ...")) << notices[0];
  provider.has = {{.name = "f-0123456789ab", .id = "id", .fleet = "f"}};
  turn({});
  EXPECT_EQ(calls(), "terminate f-0123456789ab");
}

TEST_F(ReconcilerTest, AMachineOfAnotherServersFleetOfTheSameNameIsLeftAlone) {
  provider.has = {{.name = "f-0123456789ab", .id = "id", .fleet = "f", .server = "another"}};
  turn({});
  EXPECT_EQ(calls(), "");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_TRUE(notices[0].ends_with("they are left alone: 'f-0123456789ab'")) << notices[0];
  provider.has = {{.name = "f-0123456789ab", .id = "id", .fleet = "f", .server = "this"}};
  turn({});
  EXPECT_EQ(calls(), "terminate f-0123456789ab");
}

// One that is asked for before a launch counts as well.
TEST_F(ReconcilerTest, AMachineThatAnyListNamesIsNotMissed) {
  provider.is_exact = false;
  std::uint64_t lists = 0;
  provider.on_list = [&] {
    ++lists;
    if (lists % 2 == 1) provider.has = {{"a", "id"}};
    if (lists % 2 == 0) std::erase_if(provider.has, [](const ListedMachine& it) { return it.name == "a"; });
  };
  for (std::uint64_t i = 0; i <= MachineReconciler::kMissedLists; ++i) {
    turn({machine("a", MachineState::joined), machine(concat("new-", i), MachineState::requested)});
    now_ms += MachineReconciler::kMissedMs;
  }
  EXPECT_EQ(lists, 2 * (MachineReconciler::kMissedLists + 1));
  EXPECT_EQ(news().find("vanished"), std::string::npos);
}

TEST_F(ReconcilerTest, AMachineIsMissedAfterSeveralListsOverAMinute) {
  provider.is_exact = false;
  turns(20, MachineReconciler::kMissedMs, machine("a", MachineState::starting));
  EXPECT_EQ(news(), "") << "lists may lag for a minute, however many there are";
  provider.has = {{"a", "id"}};
  turn({machine("a", MachineState::starting)});
  provider.has = {};
  turns(20, MachineReconciler::kMissedMs, machine("a", MachineState::joined));
  EXPECT_EQ(news(), "") << "it was listed in between";
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "a vanished: its provider no longer lists it");
}

TEST_F(ReconcilerTest, AMachineIsNotMissedForAFewListsHoweverLongTheyTake) {
  provider.is_exact = false;
  turns(2, 4 * MachineReconciler::kMissedMs, machine("a", MachineState::joined));
  EXPECT_EQ(news(), "");
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "a vanished: its provider no longer lists it");
}

TEST_F(ReconcilerTest, AListThatTakesLongIsAsOldAsItsQuestion) {
  provider.is_exact = false;
  turns(2, 2000, machine("a", MachineState::joined));
  provider.on_list = [this] { now_ms += MachineReconciler::kMissedMs; };
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "");
}

TEST_F(ReconcilerTest, AnExactListIsEnough) {
  turn({machine("a", MachineState::joined), machine("b", MachineState::leaving)});
  EXPECT_EQ(news(), "a vanished: its provider no longer lists it, b terminated");
}

// The list that omits it may be of another moment than the one before and the one after.
TEST_F(ReconcilerTest, AMachineThatIsTerminatedIsGoneWhenListsHaveOmittedItForLong) {
  provider.is_exact = false;
  provider.terminates = false;
  turn({machine("a", MachineState::leaving)});
  EXPECT_EQ(news(), "");
  provider.has = {{"a", "id"}};
  turns(5, MachineReconciler::kMissedMs, machine("a", MachineState::leaving));
  provider.has = {};
  turns(5, MachineReconciler::kMissedMs, machine("a", MachineState::leaving));
  EXPECT_EQ(news(), "");
  calls();
  turn({machine("a", MachineState::leaving)});
  EXPECT_EQ(news(), "a terminated");
  EXPECT_EQ(calls(), "terminate a");
}

TEST_F(ReconcilerTest, AFleetThatIsDeletedIsEmptyWhenListsHaveNamedNoneOfItsMachinesForLong) {
  provider.is_exact = false;
  provider.refuses = "no answer";
  const auto turn_of_deleted = [this] {
    reconciler.turn(work({machine("a", MachineState::gone)}, true));
    now_ms += MachineReconciler::kMissedMs / 4;
  };
  turns(20, 20 * MachineReconciler::kMissedMs, machine("b", MachineState::joined));
  turn({machine("a", MachineState::requested)});
  for (int i = 0; i < 4; ++i) turn_of_deleted();
  EXPECT_EQ(told_empty, 0) << "a launch may have succeeded, whatever was answered";
  provider.has = {{"f-0123456789ab", "id"}};
  turn_of_deleted();
  EXPECT_TRUE(calls().ends_with("terminate f-0123456789ab"));
  EXPECT_TRUE(provider.has.empty());
  for (int i = 0; i < 4; ++i) turn_of_deleted();
  EXPECT_EQ(told_empty, 0);
  turn_of_deleted();
  EXPECT_EQ(told_empty, 1);
}

TEST_F(ReconcilerTest, AnExactListSaysThatAFleetIsEmpty) {
  const auto turn_of = [this](bool is_deleting, MachineState state) {
    reconciler.turn(work({machine("a", state)}, is_deleting));
    return told_empty;
  };
  EXPECT_EQ(turn_of(false, MachineState::gone), 0);
  EXPECT_EQ(turn_of(true, MachineState::leaving), 0) << "the core knows one";
  provider.has = {{"database", "id"}};
  EXPECT_EQ(turn_of(true, MachineState::gone), 1) << "what others have does not count";
}

TEST_F(ReconcilerTest, AFleetWhoseProviderMayHaveAMachineUnheardIsSaidToBeEmpty) {
  FleetWork quiet = work({machine("a", MachineState::gone)});
  reconciler.turn(quiet);
  EXPECT_EQ(told_empty, 0) << "nobody needs to know";
  quiet.may_have_others = true;
  provider.has = {{"f-0123456789ab", "id"}};
  reconciler.turn(quiet);
  EXPECT_EQ(told_empty, 0);
  EXPECT_TRUE(calls().ends_with("terminate f-0123456789ab"));
  reconciler.turn(quiet);
  EXPECT_EQ(told_empty, 1);
}

TEST_F(ReconcilerTest, TroublesOfTheProviderAreNamedUntilTheyAreOver) {
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{});
  provider.lists = false;
  provider.ends = false;
  turn({machine("a", MachineState::leaving)});
  turn({machine("a", MachineState::leaving)});
  const std::vector<std::string> all = {"machines cannot be listed: no answer",
                                        "machine 'a' cannot be terminated: it is protected"};
  EXPECT_EQ(reconciler.troubles(), all);
  EXPECT_EQ(notices.size(), 2U) << "each is told once";
  provider.lists = true;
  turn({machine("a", MachineState::leaving)});
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{all[1]});
  turn({machine("a", MachineState::gone)});
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{}) << "nobody wants to terminate it any more";
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

// Whoever comes next has to carry the intent out.
TEST_F(ReconcilerTest, ALaunchThatAStopBreaksOffIsNoFailureAndNothingMoreIsAsked) {
  provider.breaks_off = &stop;
  turn({machine("a", MachineState::requested), machine("b", MachineState::requested),
        machine("c", MachineState::leaving)});
  EXPECT_EQ(calls(), "launch a token-of-a");
  EXPECT_EQ(news(), "");
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{});
}

TEST_F(ReconcilerTest, ALaunchThatSucceedsWhileItIsStoppedIsTold) {
  provider.on_launch = [this] { stop.request_stop(); };
  turn({machine("a", MachineState::requested), machine("b", MachineState::requested)});
  EXPECT_EQ(calls(), "launch a token-of-a");
  EXPECT_EQ(news(), "a accepted: id a");
}

TEST_F(ReconcilerTest, AnEndedCopyOfAMachineIsNotItsEnd) {
  provider.has = {{"a", "id 1"}, {"a", "id 2", true, "its token was used"}, {"b", "id 3", true}, {"b", "id 4"}};
  turn({machine("a", MachineState::joined), machine("b", MachineState::requested)});
  EXPECT_EQ(news(), "b accepted: id 4");
  EXPECT_EQ(calls(), "") << "a terminate would end both";
  const std::string trouble =
      "the provider lists more than one machine under the same name: 'a', 'b'; 'launch' must not create a second machine of the same name";
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{trouble});
  EXPECT_EQ(notices, std::vector<std::string>{trouble});
  provider.has = {{"a", "id 1", true, "out of memory"}, {"a", "id 2", true}};
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(news(), "a vanished: out of memory") << "none of them runs";
  provider.has = {{"a", "id 1"}};
  turn({machine("a", MachineState::joined)});
  EXPECT_EQ(reconciler.troubles(), std::vector<std::string>{});
}

/// With a provider whose calls take their time; turns come twice a second.
class PacedReconcilerTest : public ReconcilerTest {
 protected:
  void turns_for(std::int64_t for_ms, const std::vector<Machine>& machines) {
    for (const std::int64_t until_ms = now_ms + for_ms; now_ms < until_ms; now_ms += 500) paced.turn(work(machines));
  }
  std::int64_t lists() { return std::exchange(listed, 0); }
  std::int64_t count(const std::string& call) { return std::ranges::count(provider.calls, call); }

  MachineReconciler make_paced() {
    provider.paced = {};
    provider.on_list = [this] { ++listed; };
    provider.is_exact = false;
    return {"f", provider, outside()};
  }

  std::int64_t listed = 0;
  MachineReconciler paced = make_paced();
};

TEST_F(PacedReconcilerTest, AFleetInWhichNothingChangesIsListedEveryTenSeconds) {
  provider.has = {{"a", "id"}};
  turns_for(30'000, {machine("a", MachineState::joined)});
  EXPECT_EQ(lists(), 3);
  turns_for(30'000, {});
  EXPECT_EQ(lists(), 3);
}

TEST_F(PacedReconcilerTest, AMachineThatIsStillThereIsTerminatedAgainAfterAWhile) {
  provider.has = {{"a", "id"}};
  provider.terminates = false;
  turns_for(30'000, {machine("a", MachineState::leaving)});
  EXPECT_EQ(calls(), "terminate a, terminate a");
  EXPECT_EQ(lists(), 15);
}

TEST_F(PacedReconcilerTest, ATerminateThatFailsIsRepeatedLessAndLessOften) {
  provider.has = {{"f-0123456789ab", "id"}};
  provider.ends = false;
  turns_for(30'000, {machine("a", MachineState::leaving)});
  EXPECT_EQ(count("terminate a"), 5) << "after 1, 2, 4 and 8 s";
  EXPECT_LE(count("terminate f-0123456789ab"), 5);
  turns_for(150'000, {machine("a", MachineState::leaving)});
  EXPECT_EQ(count("terminate a"), 10) << "every 30 s in the end";
  provider.ends = true;
  provider.calls.clear();
  turns_for(30'000, {machine("a", MachineState::leaving)});
  EXPECT_EQ(count("terminate a"), 2) << "as any other";
}

TEST_F(PacedReconcilerTest, AListThatFailsIsRepeatedLessAndLessOften) {
  provider.lists = false;
  std::int64_t tried = 0;
  provider.on_question = [&] { ++tried; };
  turns_for(31'000, {machine("a", MachineState::requested)});
  EXPECT_EQ(tried, 6) << "after 1, 2, 4 and 8 s, and then every 10 s";
  EXPECT_EQ(calls(), "");
  provider.lists = true;
  turns_for(10'000, {machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "launch a token-of-a");
}

TEST_F(PacedReconcilerTest, LaunchesDoNotWaitBehindManyTerminates) {
  provider.on_terminate = [this] { now_ms += 3'000; };
  std::vector<Machine> machines;
  for (const char* name : {"a", "b", "c", "d", "e"}) machines.push_back(machine(name, MachineState::leaving));
  paced.turn(work(machines));
  EXPECT_EQ(calls(), "terminate a, terminate b");
  machines.push_back(machine("new", MachineState::requested));
  paced.turn(work(machines));
  EXPECT_EQ(calls(), "launch new token-of-new, terminate c, terminate d");
  paced.turn(work(machines));
  EXPECT_EQ(calls(), "terminate e") << "the others are going to end";
}

// While a slow program launches one after the other, those that are left may be unwanted by now.
TEST_F(PacedReconcilerTest, ALongRowOfLaunchesIsInterrupted) {
  provider.on_launch = [this] { now_ms += 3'000; };
  std::vector<Machine> machines;
  for (const char* name : {"a", "b", "c", "d", "e"}) machines.push_back(machine(name, MachineState::requested));
  machines.push_back(machine("old", MachineState::leaving));
  paced.turn(work(machines));
  EXPECT_EQ(calls(), "launch a token-of-a, launch b token-of-b, terminate old");
  for (Machine& it : machines) it.state = it.name == "c" ? MachineState::requested : MachineState::leaving;
  paced.turn(work(machines));
  EXPECT_EQ(calls().substr(0, 19), "launch c token-of-c");
}

TEST_F(PacedReconcilerTest, AListThatIsSomewhatOldServesTheNextLaunches) {
  provider.has = {{"b", "id 7"}};
  paced.turn(work({machine("a", MachineState::requested)}));
  now_ms += 500;
  paced.turn(work({machine("b", MachineState::requested), machine("c", MachineState::requested)}));
  EXPECT_EQ(lists(), 1);
  EXPECT_EQ(calls(), "launch a token-of-a, launch c token-of-c");
  EXPECT_EQ(news(), "a accepted: id a, b accepted: id 7, c accepted: id c");
}

TEST_F(PacedReconcilerTest, ALaunchOfWhichTheCoreCouldNotBeToldIsFoundInTheNextList) {
  is_deaf = true;
  paced.turn(work({machine("a", MachineState::requested)}));
  is_deaf = false;
  turns_for(3'000, {machine("a", MachineState::requested)});
  EXPECT_EQ(calls(), "launch a token-of-a");
  EXPECT_EQ(news(), "a accepted: id");
}

// What has just been launched cannot be in it.
TEST_F(PacedReconcilerTest, AListFromBeforeALaunchSaysNothingOfAnEmptyFleet) {
  provider.is_exact = true;
  paced.turn(work({machine("a", MachineState::requested)}));
  provider.has.clear();
  FleetWork deleted = work({machine("a", MachineState::gone)});
  deleted.is_deleting = true;
  paced.turn(deleted);
  EXPECT_EQ(told_empty, 0);
  now_ms += 2'000;
  paced.turn(deleted);
  EXPECT_EQ(told_empty, 1);
}

}  // namespace
}  // namespace drover
