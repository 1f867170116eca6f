#include "core/planner/plan_world.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

// --- demand

TEST_F(PlanTest, NothingWaitsAndNothingIsLaunched) {
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, ShapesCostAsLittleAsTheyCan) {
  const std::vector<std::pair<std::uint64_t, std::string>> cases = {
      {1, "+small"},       {2, "+medium"}, {3, "+medium +small"}, {4, "+large"}, {7, "+large +medium +small"},
      {8, "+large +large"}};
  for (const auto& [items, launched] : cases) {
    snapshot.items.clear();
    wait(items);
    EXPECT_EQ(said(), launched) << items;
  }
}

TEST_F(PlanTest, ThePriceDecidesWhereAllShapesHaveOne) {
  const auto set_prices = [this](std::int64_t small, std::int64_t medium, std::int64_t large) {
    fleet().shapes[0].price = {small, small};
    fleet().shapes[1].price = {medium, medium};
    fleet().shapes[2].price = {large, large};
  };
  wait(3);
  set_prices(100, 150, 290);
  EXPECT_EQ(said(), "+medium +small");
  set_prices(100, 150, 200);
  EXPECT_EQ(said(), "+large");
  set_prices(50, 150, 200);
  EXPECT_EQ(said(), "+small +small +small");
  set_prices(1, 150, 0);
  EXPECT_EQ(said(), "+medium +small") << "of one it is not known, so what they have decides";
}

TEST_F(PlanTest, AnItemGetsAShapeThatHoldsIt) {
  wait(1, {3000, 0, {}});
  EXPECT_EQ(said(), "+large");
  snapshot.items.clear();
  wait(1, {1000, 2 * kOneGiB, {}});
  EXPECT_EQ(said(), "+medium");
}

TEST_F(PlanTest, WhatNoShapeHoldsIsToldAndNotLaunched) {
  wait(2, {64'000, 0, {}});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 2 items waiting: the fleet has no shape that is large enough");
}

TEST_F(PlanTest, RoomThatIsThereOrComingIsUsedFirst) {
  machine("m1", 1);
  machine("m2", 2, MachinePhase::coming);
  wait(3);
  EXPECT_EQ(said(), "");
  wait(1);
  EXPECT_EQ(said(), "+small");
}

TEST_F(PlanTest, MachinesOnTheirWayOutAreNoRoomButCount) {
  rules().most = 2;
  machine("m1", 4, MachinePhase::draining);
  machine("m2", 4, MachinePhase::ending);
  machine("m3", 4, MachinePhase::gone);
  wait(1);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 1 item waiting: at the maximum of 2 machines");
}

TEST_F(PlanTest, ItemsOfDifferentSizeShareAMachine) {
  wait(1, {1000, 0, {}});
  wait(1, {3000, 0, {}});
  EXPECT_EQ(said(), "+large");
}

TEST_F(PlanTest, BoundsHoldWhateverWaits) {
  rules().most = 3;
  wait(1000);
  EXPECT_EQ(said(), "+large +large +large");
  EXPECT_EQ(notes(), "f: 988 items waiting: at the maximum of 3 machines");
  rules().most = 100;
  rules().most_milli_cpus = 6000;
  EXPECT_EQ(said(), "+large +medium");
}

TEST_F(PlanTest, LaunchesPerMinuteAreCounted) {
  rules().launches_per_minute = 2;
  busy("m1").requested_ms = kNowMs - 59'000;
  wait(8);
  EXPECT_EQ(said(), "+large");
  busy("m2").requested_ms = kNowMs - 59'000;
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 8 items waiting: at the maximum of 2 launches per minute");
}

TEST_F(PlanTest, AFleetThatFailsWaitsAndTheNextOneIsUsed) {
  add_fleet("g");
  wait(1).fleets = {"f", "g"};
  EXPECT_EQ(said(), "+small");
  fleet().not_before_ms = kNowMs + 4500;
  fleet().trouble = "no capacity";
  EXPECT_EQ(said(), "+g:small");
  EXPECT_EQ(notes(), "f: 1 item waiting: backing off for 5 s after a failure: no capacity");
}

TEST_F(PlanTest, AQueueUsesItsFleetsInOrder) {
  add_fleet("g");
  rules().most = 1;
  wait(6).fleets = {"g", "f"};
  snapshot.fleets[1].rules.most = 1;
  EXPECT_EQ(said(), "+g:large +medium");
  snapshot.items[0].fleets = {"f"};
  EXPECT_EQ(said(), "+large");
  snapshot.items[0].fleets = {"another"};
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, LabelsThatAreRequiredMustBeThere) {
  rules().labels = {{"zone", "a"}};
  wait(1).require = {{"zone", "b"}};
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 1 item waiting: its machines do not have the required labels");
  snapshot.items[0].require = {{"zone", "a"}, {"fleet", "f"}, {"shape", "large"}};
  EXPECT_EQ(said(), "+large");
}

TEST_F(PlanTest, AMachineKeepsTheLabelsThatItJoinedWith) {
  rules().labels = {{"zone", "b"}};
  wait(1).require = {{"zone", "b"}};
  machine("m1").labels = Labels{{"zone", "a"}};
  EXPECT_EQ(said(), "+small") << "the fleet's labels have changed since";
  snapshot.machines[0].labels = Labels{{"zone", "b"}};
  EXPECT_EQ(said(), "");
  rules().labels.clear();
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, AFleetThatIsPausedDoesNothing) {
  fleet().paused = true;
  rules().idle_ms = 0;
  rules().least = 2;
  machine("m1");
  wait(9);
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, AFleetThatIsDeletedDrainsEverything) {
  fleet().deleting = true;
  fleet().paused = true;
  busy("m1");
  machine("m2", 1, MachinePhase::coming);
  wait(9);
  EXPECT_EQ(said(), "-m2 -m1");
}

TEST_F(PlanTest, AnIdleMachineIsDrainedAfterAWhile) {
  rules().idle_ms = 60'000;
  machine("m1").free_since_ms = kNowMs - 59'999;
  EXPECT_EQ(said(), "");
  snapshot.machines[0].free_since_ms = kNowMs - 60'000;
  EXPECT_EQ(said(), "-m1");
  EXPECT_EQ(plan().drains[0].reason, "idle for 60 s");
  wait(1);
  EXPECT_EQ(said(), "") << "it is about to be given an item";
}

TEST_F(PlanTest, MachinesThatRunSomethingAreFilledFirst) {
  machine("a", 4).free_since_ms = kNowMs - 60'000;
  busy("b", 1000, 4).used = cpus(1);
  machine("c", 4).free_since_ms = kNowMs - 60'000;
  wait(3);
  EXPECT_EQ(said(), "-a -c");
  snapshot.items[0].waiting = 4;
  EXPECT_EQ(said(), "-a") << "one of those that are alike is needed";
}

TEST_F(PlanTest, ABusyMachineIsNotDrained) {
  rules().idle_ms = 0;
  busy("m1");
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, TheMinimumIsKept) {
  rules().least = 2;
  rules().idle_ms = 0;
  EXPECT_EQ(said(), "+small +small");
  for (const char* name : {"m1", "m2", "m3"}) machine(name);
  snapshot.machines[1].free_since_ms = kNowMs - 5000;
  EXPECT_EQ(said(), "-m2") << "the one that has been idle for longest";
}

TEST_F(PlanTest, AMaximumThatWasLoweredSparesWhatTakesLongest) {
  busy("long", 9000);
  busy("short", 2000);
  machine("idle");
  machine("coming", 1, MachinePhase::coming);
  rules().most = 2;
  EXPECT_EQ(said(), "-coming -idle");
  rules().most = 1;
  EXPECT_EQ(said(), "-coming -idle -short");
}

// Its only machine is too small, and is kept: short items would wait for ever.
TEST_F(PlanTest, ItemsThatNoMachineHoldsAreWorthALaunch) {
  rules().warm_up_ms = 60'000;
  rules().least = 1;
  machine("m1");
  wait(1, cpus(4)).item_ms = 1000;
  EXPECT_EQ(said(), "+large");
}

TEST_F(PlanTest, NothingIsLaunchedForLessWorkThanItsWarmUp) {
  rules().warm_up_ms = 60'000;
  busy("m1");
  wait(10).item_ms = 100;
  EXPECT_EQ(said(), "");
  snapshot.items[0].item_ms = 60'000;
  EXPECT_EQ(said(), "+large +large +medium");
  snapshot.items[0].item_ms = 100;
  snapshot.machines.clear();
  EXPECT_EQ(said(), "+large") << "somebody has to do it";
}

TEST_F(PlanTest, AFleetWithoutAProviderSaysSo) {
  fleet().unavailable = "provider 'ec2' is not available on this server";
  wait(1);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 1 item waiting: provider 'ec2' is not available on this server");
}

TEST_F(PlanTest, AProviderHasABoundedNumberOfLaunchesToAnswer) {
  rules().most = 1000;
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 1000;
  EXPECT_EQ(plan().launches.size(), kMostUnanswered);
  for (std::size_t i = 0; i < kMostUnanswered - 2; ++i) {
    machine(concat("m", i)).phase = MachinePhase::coming;
    snapshot.machines.back().is_unanswered = true;
  }
  EXPECT_EQ(plan().launches.size(), 2U);
  EXPECT_TRUE(notes().ends_with("machines short: its provider has yet to answer 32 launch requests")) << notes();
  for (PlannedMachine& it : snapshot.machines) it.is_unanswered = false;
  EXPECT_EQ(plan().launches.size(), kMostUnanswered);
}

TEST_F(PlanTest, AFleetWhoseSettingsCannotBeReadIsLeftAsItIs) {
  fleet().is_unreadable = true;
  fleet().unavailable = "its settings cannot be read: unknown field 'x'";
  rules().most = 1;
  machine("m1");
  machine("m2");
  wait(100);
  EXPECT_EQ(said(), "");
  EXPECT_TRUE(notes().contains("its settings cannot be read: unknown field 'x'")) << notes();
}

// --- machines in the way

TEST_F(PlanTest, AnIdleMachineOfAFullFleetMakesRoomForWhatItCannotRun) {
  rules().most = 1;
  machine("m1");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "-m1");
  EXPECT_EQ(plan().drains[0].reason, "making room for items that it cannot run");
  EXPECT_EQ(notes(), "f: 1 item waiting: at the maximum of 1 machine");
  snapshot.machines[0].phase = MachinePhase::draining;
  EXPECT_EQ(said(), "") << "its place is about to be free";
}

TEST_F(PlanTest, AMachineThatSomethingElseWillUseMakesNoRoom) {
  rules().most = 1;
  machine("m1");
  wait(1, {4000, 0, {}});
  wait(1);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 1 item waiting: at the maximum of 1 machine");
}

TEST_F(PlanTest, ABusyMachineMakesNoRoom) {
  rules().most = 1;
  busy("m1");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, RoomIsMadeWithinTheMaximumOfCpus) {
  rules().most_milli_cpus = 4000;
  machine("m1");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "-m1");
}

TEST_F(PlanTest, NoRoomIsMadeForItemsThatNoShapeHolds) {
  rules().most = 1;
  machine("m1");
  wait(1, {64'000, 0, {}});
  EXPECT_EQ(said(), "");
}

TEST_F(PlanTest, WhatWaitsFillsTheMinimum) {
  rules().least = 1;
  EXPECT_EQ(said(), "+small");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "+large");
}

TEST_F(PlanTest, AMaximumOfCpusThatWasLoweredIsKept) {
  busy("m1", 5000, 4);
  busy("m2", 1000, 4);
  rules().most_milli_cpus = 4000;
  EXPECT_EQ(said(), "-m2");
  EXPECT_EQ(plan().drains[0].reason, "the maximum is 4 CPUs");
}

TEST_F(PlanTest, AQuarantinedMachineIsReplaced) {
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 1;
  machine("m1").quarantine = "8 items failed there";
  EXPECT_EQ(said(), "+small -m1");
  EXPECT_EQ(plan().drains[0].reason, "its worker is quarantined: 8 items failed there");
  snapshot.machines.clear();
  busy("m1").quarantine = "8 items failed there";
  EXPECT_EQ(said(), "") << "what it holds may end";
}

TEST_F(PlanTest, ScaleInWaitsForMessagesInHands) {
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 1;
  busy("m1", 1000).receipts_since_ms = kNowMs - 1000;
  busy("m2", 5000);
  EXPECT_EQ(said(), "-m2");
  rules().desired = 0;
  EXPECT_EQ(said(), "-m2");
  EXPECT_EQ(notes(), "f: 0 machines wanted; scale-in waits for messages in flight on 1 machine");
  snapshot.machines[0].receipts_since_ms = kNowMs - kReceiptsMs;
  EXPECT_EQ(said(), "-m1 -m2") << "not for ever";
}

TEST_F(PlanTest, ItemsThatWaitForOneReasonAreOneLine) {
  rules().most = 0;
  wait(1);
  wait(2, {2000, 0, {}});
  EXPECT_EQ(notes(), "f: 3 items waiting: at the maximum of 0 machines");
}

}  // namespace
}  // namespace drover
