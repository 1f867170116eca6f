#include "core/planner/plan_world.h"

namespace drover {
namespace {

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
  EXPECT_EQ(notes(), "f: 1 item waiting: not allowed on spot machines, and the fleet launches no on-demand machines");
  rules().spot = false;
  EXPECT_EQ(market(), "on-demand");
  snapshot.items[0].spot = SpotUse::only;
  EXPECT_EQ(market(), "");
  EXPECT_EQ(notes(), "f: 1 item waiting: allowed on spot machines only, and the fleet launches none");
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
  EXPECT_EQ(notes(), "f: 1 item waiting: backing off for 5 s after a failure of a spot machine: no capacity");
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
            "f: 1 item waiting: a spot machine of shape 'small' costs 40% of the on-demand price; the bid is 39%");
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
  fleet().spot_not_before_ms = kNowMs + 1000;
  EXPECT_EQ(market(), "on-demand");
  fleet().spot_not_before_ms = kNowMs;
  EXPECT_EQ(market(), "spot") << "the wait is over";
  fleet().spot_failing_since_ms = kNowMs - 599'000;
  fleet().spot_not_before_ms = kNowMs + 1000;
  EXPECT_EQ(market(), "") << "they have not been lacking for long";
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
