#include "core/planner/policies.h"
#include "core/planner/plan_world.h"

namespace drover {
namespace {

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

TEST_F(PlanTest, ABacklogIsWhatTheFleetCouldRun) {
  rules().policy = ScalingPolicy::backlog;
  rules().items_per_machine = 1;
  wait(3, {64'000, 0, {}});
  wait(3).require = {{"zone", "a"}};
  EXPECT_EQ(said(), "");
  rules().labels = {{"zone", "a"}};
  EXPECT_EQ(said(), "+small +small +small");
}

TEST_F(PlanTest, AShapeIsLaunchedThatHoldsWhatIsCounted) {
  rules().policy = ScalingPolicy::backlog;
  rules().items_per_machine = 10;
  wait(1, {2000, 0, {}});
  EXPECT_EQ(said(), "+medium");
  wait(1, {4000, 0, {}});
  EXPECT_EQ(said(), "+large") << "it holds both";
  wait(20);
  machine("m1", 4).shape = "large";
  EXPECT_EQ(said(), "+small +small") << "the large items have a machine";
}

TEST_F(PlanTest, NothingIsCountedWhileTheShapesAreUnknown) {
  rules().policy = ScalingPolicy::backlog;
  rules().items_per_machine = 1;
  wait(1);
  busy("m1");
  fleet().shapes.clear();
  fleet().has_known_shapes = false;
  fleet().unavailable = "the shapes are not known yet";
  EXPECT_EQ(said(), "");
  EXPECT_EQ(notes(), "f: the shapes are not known yet");
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

TEST_F(PlanTest, LostMachinesAreReplacedWhileNoAlarmIsInForce) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().alarms = {{.comparison = Comparison::at_least, .threshold = 100, .steps = {{0, std::nullopt, 2}}},
                    {.comparison = Comparison::below, .threshold = 1, .steps = {{std::nullopt, 0, 0}}}};
  snapshot.streams["s"] = {.visible = 150};
  ASSERT_EQ(plan().scales.size(), 1U);
  EXPECT_EQ(plan().scales[0].machines, 2U);
  fleet().scaled_to = 2;
  EXPECT_EQ(plan().scales.size(), 0U) << "nothing has changed";
  snapshot.streams["s"] = {.visible = 50};
  busy("m1");
  EXPECT_EQ(said(), "+small");
  EXPECT_EQ(plan().launches.at(0).reason, "the metric is 50: it stays at 2 machines");
  snapshot.streams["s"] = {};
  EXPECT_EQ(plan().scales.at(0).machines, 0U);
}

TEST_F(PlanTest, WhatWasScaledToIsWithinTheBounds) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().most = 3;
  rules().alarms = {{.comparison = Comparison::at_least,
                     .threshold = 1,
                     .adjustment = Adjustment::change,
                     .steps = {{0, std::nullopt, 5}}}};
  snapshot.streams["s"] = {.visible = 1};
  EXPECT_EQ(plan().scales.at(0).machines, 3U);
}

// Machines join one after the other.
TEST_F(PlanTest, AChangeIsNotRepeatedWhileItsMachinesBecomeWarm) {
  rules().policy = ScalingPolicy::step;
  rules().stream = "s";
  rules().alarms = {{.comparison = Comparison::at_least,
                     .threshold = 1,
                     .adjustment = Adjustment::change,
                     .steps = {{0, 100, 2}, {100, std::nullopt, 3}}}};
  snapshot.streams["s"] = {.visible = 5};
  fleet().scaled_to = 3;
  busy("m0");
  for (const char* name : {"m1", "m2"}) {
    machine(name, 1, MachinePhase::coming).requested_ms = kNowMs - 50'000;
  }
  EXPECT_EQ(said(), "");
  PlannedMachine& first = snapshot.machines[1];
  first.phase = MachinePhase::joined;
  first.joined_ms = kNowMs - 10'000;
  EXPECT_EQ(said(), "") << "one is there, the other is coming";
  snapshot.streams["s"] = {.visible = 150};
  EXPECT_EQ(said(), "+small") << "a higher step adds the difference";
  EXPECT_EQ(plan().scales.at(0).machines, 4U);
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

}  // namespace
}  // namespace drover
