#include "core/planner/plan.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

constexpr std::uint64_t kOneGiB = std::uint64_t{1} << 30;
constexpr std::int64_t kNowMs = 1'700'000'000'000;

Resources cpus(std::uint64_t count) {
  return {1000 * count, count * kOneGiB, {}};
}

/// A fleet with some machines, and what a plan says of it.
class PlanTest : public testing::Test {
 protected:
  PlanTest() { add_fleet("f"); }

  FleetState& add_fleet(const std::string& name, std::uint64_t most = 10) {
    FleetState state{.name = name};
    state.rules.most = most;
    state.shapes = {{"small", cpus(1)}, {"medium", cpus(2)}, {"large", cpus(4)}};
    snapshot.fleets.push_back(state);
    return snapshot.fleets.back();
  }
  FleetState& fleet() { return snapshot.fleets.front(); }
  FleetRules& rules() { return fleet().rules; }

  PlannedMachine& machine(const std::string& name, std::uint64_t cpu_count = 1,
                          MachinePhase phase = MachinePhase::joined) {
    PlannedMachine it{.name = name, .fleet = "f", .shape = "small", .has = cpus(cpu_count), .phase = phase};
    it.requested_ms = kNowMs - 600'000;
    it.joined_ms = phase == MachinePhase::joined ? kNowMs - 500'000 : 0;
    it.since_ms = it.requested_ms;
    it.free_since_ms = phase == MachinePhase::joined ? kNowMs - 1000 : 0;
    snapshot.machines.push_back(it);
    return snapshot.machines.back();
  }
  PlannedMachine& busy(const std::string& name, std::int64_t work_ms = 1000, std::uint64_t cpu_count = 1) {
    PlannedMachine& it = machine(name, cpu_count);
    it.used = it.has;
    it.items = cpu_count;
    it.work_ms = work_ms;
    it.free_since_ms = 0;
    return it;
  }
  WaitingItems& wait(std::uint64_t count, Resources ask = {1000, 0, {}}) {
    snapshot.items.push_back({.ask = ask, .queue = "default", .waiting = count});
    return snapshot.items.back();
  }

  FleetPlan plan() {
    snapshot.now_ms = kNowMs;
    return make_plan(snapshot);
  }
  /// "+small +small -m1"
  std::string said() {
    std::string out;
    const FleetPlan made = plan();
    for (const PlannedLaunch& it : made.launches) {
      out += concat(out.empty() ? "" : " ", "+", it.fleet == "f" ? "" : it.fleet + ":", it.shape.name);
    }
    for (const PlannedDrain& it : made.drains) out += concat(out.empty() ? "" : " ", "-", it.machine);
    return out;
  }
  std::string notes() {
    std::string out;
    for (const PlanNote& it : plan().notes) out += concat(out.empty() ? "" : "; ", it.fleet, ": ", it.text);
    return out;
  }

  FleetSnapshot snapshot;
};

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
  EXPECT_EQ(notes(), "f: 2 items wait: none of its shapes holds them");
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
  EXPECT_EQ(notes(), "f: 1 item waits: at the maximum of 2 machines");
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
  EXPECT_EQ(notes(), "f: 988 items wait: at the maximum of 3 machines");
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
  EXPECT_EQ(notes(), "f: 8 items wait: at the maximum of 2 launches per minute");
}

TEST_F(PlanTest, AFleetThatFailsWaitsAndTheNextOneIsUsed) {
  add_fleet("g");
  wait(1).fleets = {"f", "g"};
  EXPECT_EQ(said(), "+small");
  fleet().not_before_ms = kNowMs + 4500;
  fleet().trouble = "no capacity";
  EXPECT_EQ(said(), "+g:small");
  EXPECT_EQ(notes(), "f: 1 item waits: backing off for 5 s after a failure: no capacity");
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
  EXPECT_EQ(notes(), "f: 1 item waits: its machines do not have the required labels");
  snapshot.items[0].require = {{"zone", "a"}, {"fleet", "f"}, {"shape", "large"}};
  EXPECT_EQ(said(), "+large");
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
  EXPECT_EQ(notes(), "f: 1 item waits: provider 'ec2' is not available on this server");
}

TEST_F(PlanTest, OnePlanHasABoundedNumberOfLaunches) {
  rules().most = 1000;
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 1000;
  EXPECT_EQ(plan().launches.size(), kMostPlanned);
}

// --- fixed

TEST_F(PlanTest, FixedIsWhatItSays) {
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 2;
  EXPECT_EQ(said(), "+small +small");
  machine("m1");
  EXPECT_EQ(said(), "+small");
  rules().desired = 0;
  EXPECT_EQ(said(), "-m1");
}

// --- backlog

TEST_F(PlanTest, BacklogIsRoundedUp) {
  rules().policy = ScalingPolicy::backlog;
  rules().most = 100;
  rules().stream = "s";
  rules().items_per_machine = 100;
  const std::vector<std::pair<std::uint64_t, std::size_t>> cases = {{0, 0}, {1, 1}, {100, 1}, {101, 2}, {1500, 15}};
  for (const auto& [depth, machines] : cases) {
    snapshot.streams["s"] = {.visible = depth};
    EXPECT_EQ(plan().launches.size(), machines) << depth;
  }
}

TEST_F(PlanTest, WorkInFlightIsWork) {
  rules().policy = ScalingPolicy::backlog;
  rules().stream = "s";
  rules().items_per_machine = 10;
  busy("m1");
  snapshot.streams["s"] = {.visible = 0, .in_flight = 3};
  EXPECT_EQ(said(), "");
  snapshot.streams["s"] = {};
  EXPECT_EQ(said(), "-m1");
}

TEST_F(PlanTest, BacklogInSecondsUsesLearnedDurations) {
  rules().policy = ScalingPolicy::backlog;
  rules().seconds_per_machine = 60;
  wait(10);
  EXPECT_EQ(said(), "+small") << "one machine finds out";
  snapshot.items[0].item_ms = 30'000;
  EXPECT_EQ(said(), "+small +small +small +small +small");
  snapshot.items[0].queue = "other";
  rules().queue = "default";
  EXPECT_EQ(said(), "");
}

// --- step

/// What everybody starts from: at least 1 message: 1 machine; more than 100: 2 machines; none: no machine.
std::vector<StepAlarm> the_example(std::int64_t threshold = 1) {
  return {{.comparison = Comparison::at_least, .threshold = threshold, .steps = {{0, 100, 1}, {100, std::nullopt, 2}}},
          {.comparison = Comparison::below, .threshold = 1, .steps = {{std::nullopt, 0, 0}}}};
}

TEST_F(PlanTest, TheStepExample) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().alarms = the_example();
  const std::vector<std::pair<std::uint64_t, std::size_t>> cases = {{0, 0},   {1, 1},   {99, 1},
                                                                    {100, 1}, {101, 2}, {5000, 2}};
  for (const auto& [depth, machines] : cases) {
    snapshot.streams["s"] = {.visible = depth};
    EXPECT_EQ(plan().launches.size(), machines) << depth;
  }
  machine("m1");
  machine("m2");
  snapshot.streams["s"] = {.visible = 50};
  EXPECT_EQ(said(), "-m1");
  snapshot.streams["s"] = {.visible = 0, .in_flight = 1};
  EXPECT_EQ(said(), "-m1") << "a machine that holds a message is working";
  snapshot.streams["s"] = {};
  EXPECT_EQ(said(), "-m1 -m2");
}

TEST(Steps, BoundsAreRelativeToTheThreshold) {
  const StepAlarm from_1 = the_example(1)[0];
  const StepAlarm from_0 = the_example(0)[0];
  EXPECT_EQ(step_value(from_1, 0), std::nullopt);
  EXPECT_EQ(step_value(from_1, 100), 1);
  EXPECT_EQ(step_value(from_1, 101), 2);
  EXPECT_EQ(step_value(from_0, 0), 1);
  EXPECT_EQ(step_value(from_0, 99), 1);
  EXPECT_EQ(step_value(from_0, 100), 2);
}

TEST(Steps, BelowTheThresholdTheUpperBoundIsInclusive) {
  const StepAlarm alarm{.comparison = Comparison::at_most,
                        .threshold = 50,
                        .adjustment = Adjustment::change,
                        .steps = {{-10, 0, -1}, {std::nullopt, -10, -2}}};
  EXPECT_EQ(step_value(alarm, 51), std::nullopt);
  EXPECT_EQ(step_value(alarm, 50), -1);
  EXPECT_EQ(step_value(alarm, 41), -1);
  EXPECT_EQ(step_value(alarm, 40), -2);
  EXPECT_EQ(step_value(alarm, 0), -2);
}

TEST(Steps, PercentagesAreRoundedAsEC2DoesIt) {
  struct Case {
    std::int64_t machines, percent, min_magnitude, becomes;
  };
  const std::vector<Case> cases = {
      {10, 30, 0, 13}, {10, 19, 0, 11},  // more than 1 is rounded down
      {10, 1, 0, 11},  {3, 10, 0, 4},    // between 0 and 1: 1
      {10, -1, 0, 9},  {3, -10, 0, 2},   // between -1 and 0: -1
      {10, -19, 0, 9}, {10, -30, 0, 7},  // below -1 is rounded towards 0
      {10, 0, 0, 10},  {0, 50, 0, 0},    // nothing of nothing
      {10, 10, 2, 12}, {10, -10, 3, 7},  // at least so many
      {10, 50, 2, 15},
  };
  for (const Case& it : cases) {
    const StepAlarm alarm{.adjustment = Adjustment::percent, .min_magnitude = it.min_magnitude};
    EXPECT_EQ(adjusted(alarm, it.percent, it.machines), it.becomes) << it.machines << " " << it.percent << "%";
  }
}

TEST_F(PlanTest, ASecondBreachOfAStepWhileMachinesWarmUpChangesNothing) {
  rules().policy = ScalingPolicy::step;
  rules().most = 100;
  rules().stream = "s";
  rules().warm_up_ms = 300'000;
  rules().period_ms = 60'000;
  rules().alarms = {{.comparison = Comparison::at_least,
                     .threshold = 60,
                     .adjustment = Adjustment::percent,
                     .steps = {{0, 10, 10}, {10, std::nullopt, 30}}}};
  for (int i = 0; i < 10; ++i) busy(concat("m", i));
  snapshot.streams["s"] = {.visible = 60};
  EXPECT_EQ(said(), "+small");
  machine("new", 1, MachinePhase::coming).requested_ms = kNowMs - 30'000;
  EXPECT_EQ(said(), "");
  snapshot.streams["s"] = {.visible = 75};
  EXPECT_EQ(said(), "+small +small") << "30 % of ten, and one of them is on its way";
}

TEST_F(PlanTest, AChangeIsRepeatedEachPeriod) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().alarms = {{.comparison = Comparison::at_least,
                     .threshold = 1,
                     .adjustment = Adjustment::change,
                     .steps = {{0, std::nullopt, 2}}}};
  snapshot.streams["s"] = {.visible = 5};
  EXPECT_EQ(said(), "+small +small");
  busy("m1").requested_ms = kNowMs - 59'000;
  EXPECT_EQ(said(), "");
  snapshot.machines[0].requested_ms = kNowMs - 60'000;
  EXPECT_EQ(said(), "+small +small");
}

TEST_F(PlanTest, ScaleInWaitsForWarmUp) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().warm_up_ms = 60'000;
  rules().alarms = the_example();
  machine("m1").joined_ms = kNowMs - 59'000;
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: the metric is 0: scale-in waits until all machines are warm");
  snapshot.machines[0].joined_ms = kNowMs - 60'000;
  EXPECT_EQ(said(), "-m1");
}

TEST_F(PlanTest, OfSeveralAlarmsTheOneWithTheMostMachinesDecides) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().alarms = {{.comparison = Comparison::at_least, .threshold = 1, .steps = {{0, std::nullopt, 1}}},
                    {.comparison = Comparison::above, .threshold = 10, .steps = {{0, std::nullopt, 3}}}};
  snapshot.streams["s"] = {.visible = 10};
  EXPECT_EQ(said(), "+small");
  snapshot.streams["s"] = {.visible = 11};
  EXPECT_EQ(said(), "+small +small +small");
}

// --- machines in the way

TEST_F(PlanTest, AnIdleMachineOfAFullFleetMakesRoomForWhatItCannotRun) {
  rules().most = 1;
  machine("m1");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "-m1");
  EXPECT_EQ(plan().drains[0].reason, "it makes room for items that it cannot run");
  EXPECT_EQ(notes(), "f: 1 item waits: at the maximum of 1 machine");
  snapshot.machines[0].phase = MachinePhase::draining;
  EXPECT_EQ(said(), "") << "its place is about to be free";
}

TEST_F(PlanTest, AMachineThatSomethingElseWillUseMakesNoRoom) {
  rules().most = 1;
  machine("m1");
  wait(1, {4000, 0, {}});
  wait(1);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: 1 item waits: at the maximum of 1 machine");
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
  EXPECT_EQ(notes(), "f: 0 machines wanted; scale-in waits for messages that are in the hands of 1 machine");
  snapshot.machines[0].receipts_since_ms = kNowMs - kReceiptsMs;
  EXPECT_EQ(said(), "-m1 -m2") << "not for ever";
}

TEST_F(PlanTest, ABacklogIsWhatTheFleetCouldRun) {
  rules().policy = ScalingPolicy::backlog;
  rules().items_per_machine = 1;
  wait(3, {64'000, 0, {}});
  wait(3).require = {{"zone", "a"}};
  EXPECT_EQ(said(), "");
  rules().labels = {{"zone", "a"}};
  EXPECT_EQ(said(), "+small +small +small");
}

TEST_F(PlanTest, ItemsThatWaitForOneReasonAreOneLine) {
  rules().most = 0;
  wait(1);
  wait(2, {2000, 0, {}});
  EXPECT_EQ(notes(), "f: 3 items wait: at the maximum of 0 machines");
}

// --- spot machines

class SpotPlanTest : public PlanTest {
 protected:
  SpotPlanTest() { rules().spot = true; }
  /// "spot", "on-demand" or, of none, "".
  std::string market() {
    std::string out;
    for (const PlannedLaunch& it : plan().launches)
      out += concat(out.empty() ? "" : " ", it.spot ? "spot" : "on-demand");
    return out;
  }
};

TEST_F(SpotPlanTest, AJobSaysWhichMachinesAreLaunchedForIt) {
  wait(1).spot = SpotUse::prefer;
  EXPECT_EQ(market(), "spot");
  snapshot.items[0].spot = SpotUse::only;
  EXPECT_EQ(market(), "spot");
  snapshot.items[0].spot = SpotUse::never;
  EXPECT_EQ(market(), "on-demand");
  rules().on_demand = false;
  EXPECT_EQ(market(), "");
  EXPECT_EQ(notes(), "f: 1 item waits: they must not run on spot machines, and the fleet has no others");
  rules().spot = false;
  EXPECT_EQ(market(), "on-demand");
  snapshot.items[0].spot = SpotUse::only;
  EXPECT_EQ(market(), "");
  EXPECT_EQ(notes(), "f: 1 item waits: they run on spot machines only, and the fleet has none");
}

TEST_F(SpotPlanTest, MachinesOfTheOtherMarketAreNoRoomForThem) {
  machine("m1").spot = true;
  wait(1).spot = SpotUse::never;
  EXPECT_EQ(market(), "on-demand");
  snapshot.items[0].spot = SpotUse::prefer;
  EXPECT_EQ(market(), "");
  snapshot.machines[0].spot = false;
  EXPECT_EQ(market(), "") << "what prefers spot machines runs on any";
  snapshot.items[0].spot = SpotUse::only;
  EXPECT_EQ(market(), "spot");
}

TEST_F(SpotPlanTest, ThoseThatNotEveryMachineMayRunArePlacedFirst) {
  machine("m1").spot = false;
  machine("m2").spot = true;
  wait(1).spot = SpotUse::prefer;
  wait(1).spot = SpotUse::never;
  EXPECT_EQ(market(), "");
}

TEST_F(SpotPlanTest, OthersAreLaunchedWhenSpotMachinesWereLackingForLong) {
  wait(1).on_demand_after_ms = 60'000;
  fleet().spot_trouble = "no capacity";
  fleet().spot_not_before_ms = kNowMs + 5000;
  fleet().spot_failing_since_ms = kNowMs - 59'999;
  EXPECT_EQ(market(), "");
  EXPECT_EQ(notes(), "f: 1 item waits: backing off for 5 s after a failure of a spot machine: no capacity");
  fleet().spot_failing_since_ms = kNowMs - 60'000;
  EXPECT_EQ(market(), "on-demand");
  rules().on_demand = false;
  EXPECT_EQ(market(), "");
}

TEST_F(SpotPlanTest, SpotMachinesAreTriedAgainInBetween) {
  wait(1).on_demand_after_ms = 60'000;
  fleet().spot_failing_since_ms = kNowMs - 100'000;
  fleet().spot_not_before_ms = kNowMs;
  EXPECT_EQ(market(), "spot");
}

TEST_F(SpotPlanTest, ABidIsNotExceeded) {
  rules().provider = "command";
  fleet().shapes = {{"small", cpus(1), {400'000, 1'000'000}}};
  rules().bid_percent = 40;
  wait(1);
  EXPECT_EQ(market(), "spot");
  rules().bid_percent = 39;
  EXPECT_EQ(market(), "");
  EXPECT_EQ(notes(),
            "f: 1 item waits: a spot machine of shape 'small' costs 40% of the on-demand price; the bid is 39%");
}

TEST_F(SpotPlanTest, WhatIsLaunchedHasThePriceOfItsMarket) {
  fleet().shapes = {{"small", cpus(1), {400'000, 1'000'000}}};
  wait(1);
  EXPECT_EQ(plan().launches.at(0).shape.price.microdollars, 400'000);
  snapshot.items[0].spot = SpotUse::never;
  EXPECT_EQ(plan().launches.at(0).shape.price.microdollars, 1'000'000);
}

TEST_F(SpotPlanTest, PoliciesThatCountMachinesTakeSpotMachinesWhileThereAreAny) {
  rules().policy = ScalingPolicy::fixed;
  rules().desired = 1;
  EXPECT_EQ(market(), "spot");
  fleet().spot_failing_since_ms = kNowMs - 600'000;
  EXPECT_EQ(market(), "on-demand");
}

TEST_F(SpotPlanTest, JobsCanRequireAMarketByLabel) {
  wait(1).require = {{"market", "on-demand"}};
  EXPECT_EQ(market(), "on-demand");
  snapshot.items[0].require = {{"market", "spot"}};
  EXPECT_EQ(market(), "spot");
  rules().spot = false;
  EXPECT_EQ(market(), "");
}

}  // namespace
}  // namespace drover
