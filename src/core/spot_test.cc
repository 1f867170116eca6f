// Spot machines: which items run on them, and what becomes of items that are lost there again and again.
#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class Spot : public testing::Test {
 protected:
  JobId submit(std::uint64_t total, SpotRules rules) {
    return world_.submit({{.ask = {1000, 0, {}}, .spot = rules}, total});
  }
  WorkerId spot(const std::string& name = "s") { return world_.worker(name, 8, {{"market", "spot"}}); }
  WorkerId on_demand(const std::string& name = "d") { return world_.worker(name, 8, {{"market", "on-demand"}}); }
  /// The worker is given an item, and loses it.
  void lose(WorkerId worker) {
    ASSERT_TRUE(world_.next(worker));
    world_.run(worker, token(world_.last));
    world_.end(worker, token(world_.last), {Ending::lost, 0, 0, "the machine was taken away"});
  }

  TestWorld world_;
};

TEST_F(Spot, ItemsRunWhereTheirJobSays) {
  const WorkerId spot_worker = spot();
  const WorkerId other = on_demand();
  const WorkerId plain = world_.worker("plain");
  const JobId never = submit(3, {.use = SpotUse::never});
  EXPECT_EQ(world_.next(spot_worker), JobId{});
  EXPECT_EQ(world_.next(other), never);
  EXPECT_EQ(world_.next(plain), never);
  world_.ask(CancelJob{never, "enough", false});
  const JobId only = submit(3, {.use = SpotUse::only});
  EXPECT_EQ(world_.next(other), JobId{});
  EXPECT_EQ(world_.next(plain), JobId{});
  EXPECT_EQ(world_.next(spot_worker), only);
}

TEST_F(Spot, WhySaysWhatIsMissing) {
  spot();
  const JobId never = submit(1, {.use = SpotUse::never});
  EXPECT_EQ(world_.why(never).sentence, "needs a worker that is not a spot machine; none of 1 worker is one");
  TestWorld other;
  other.worker("plain");
  const JobId only = other.submit({{.spot = {.use = SpotUse::only}}, 1});
  EXPECT_EQ(other.why(only).sentence, "needs a worker with market=spot; none of 1 worker has it");
}

TEST_F(Spot, AnItemThatWasLostTooOftenIsKeptFromSpotMachines) {
  const JobId job = submit(3, {.on_demand_after_losses = 2, .on_demand_after_ms = 60'000});
  const WorkerId worker = spot();
  lose(worker);
  ASSERT_EQ(world_.next(worker), job);
  EXPECT_EQ(world_.last.first, ItemIndex{0}) << "lost once, it comes first";
  world_.run(worker, token(world_.last));
  world_.end(worker, token(world_.last), {Ending::lost, 0, 0, "the machine was taken away"});
  // The job goes on without it.
  ASSERT_EQ(world_.next(worker), job);
  EXPECT_EQ(world_.last.first, ItemIndex{1});
  const Why why = world_.why(job, 0);
  EXPECT_EQ(why.code, WhyCode::sheltered);
  EXPECT_EQ(why.sentence,
            "item 0 was lost 2 times, so it waits up to 1 min 00 s for a machine that is not a spot machine");
  EXPECT_EQ(why.until_ms, world_.now_ms + 60'000);
  EXPECT_EQ(world_.next(worker), job);
  EXPECT_EQ(world_.next(worker), JobId{}) << "nothing but that item is left";
  EXPECT_EQ(world_.why(job).code, WhyCode::sheltered);
  const WorkerId other = on_demand();
  ASSERT_EQ(world_.next(other), job);
  EXPECT_EQ(world_.last.first, ItemIndex{0});
}

TEST_F(Spot, AnotherMachineIsGivenItBeforeWhatNobodyHasTouched) {
  const JobId job = submit(10, {.on_demand_after_losses = 1});
  lose(spot());
  ASSERT_EQ(world_.next(on_demand()), job);
  EXPECT_EQ(world_.last.first, ItemIndex{0});
}

TEST_F(Spot, ASpotMachineThatWaitsIsNotGivenIt) {
  const JobId job = submit(1, {.on_demand_after_losses = 1});
  const WorkerId first = spot("first");
  const WorkerId second = spot("second");
  ASSERT_EQ(world_.next(first), job);
  const Token held = token(world_.last);
  world_.run(first, held);
  world_.poll(second, 1, 20'000);
  world_.end(first, held, {Ending::lost, 0, 0, "the machine was taken away"});
  EXPECT_TRUE(world_.given_meanwhile().empty());
  const WorkerId third = on_demand("third");
  EXPECT_EQ(world_.next(third), job);
}

TEST_F(Spot, ItRunsAnywhereWhenThereWasNoOtherForLong) {
  const JobId job = submit(1, {.on_demand_after_losses = 1, .on_demand_after_ms = 60'000});
  const WorkerId worker = spot();
  lose(worker);
  world_.pass(59'999);
  EXPECT_EQ(world_.next(worker), JobId{});
  world_.poll(worker, 1, 20'000);
  ++world_.now_ms;
  world_.ask(Tick{});
  ASSERT_EQ(world_.given_meanwhile().size(), 1U);
  EXPECT_EQ(world_.given_meanwhile()[0].job, job);
}

TEST_F(Spot, ItIsKeptFromThemAcrossARestart) {
  const JobId job = submit(1, {.on_demand_after_losses = 1, .on_demand_after_ms = 60'000});
  const WorkerId worker = spot();
  lose(worker);
  world_.pass(20'000);
  world_.restart();
  EXPECT_EQ(world_.next(worker), JobId{});
  world_.pass(40'000);
  EXPECT_EQ(world_.next(worker), job);
}

TEST_F(Spot, ZeroLossesAreNoLimit) {
  const JobId job = submit(1, {.on_demand_after_losses = 0});
  const WorkerId worker = spot();
  for (int i = 0; i < 5; ++i) lose(worker);
  EXPECT_EQ(world_.next(worker), job);
}

TEST_F(Spot, AForgottenJobLeavesNothingBehind) {
  const JobId job = submit(1, {.on_demand_after_losses = 1});
  lose(spot());
  world_.ask(CancelJob{job, "enough", false});
  world_.ask(ForgetJob{job, world_.now_ms + 1});
  EXPECT_TRUE(world_.core.volatile_part().shelter_ends.empty());
}

TEST_F(Spot, AFleetsNeedTellsThemApart) {
  const JobId job = submit(5, {.on_demand_after_losses = 1});
  lose(spot());
  const auto now = std::get<FleetsNow>(world_.ask(AskFleets{}));
  ASSERT_EQ(now.jobs.size(), 1U);
  EXPECT_EQ(now.jobs[0].job, job);
  EXPECT_EQ(now.jobs[0].waiting, 5U);
  EXPECT_EQ(now.jobs[0].sheltered, 1U);
}

/// A fleet's launches fail by market.
class SpotFleet : public testing::Test {
 protected:
  SpotFleet() { world_.ask(SetFleet{{.name = "f", .text = "{}", .most = 5, .join_ms = 60'000}}); }
  std::uint64_t launch(const std::string& name, bool spot) {
    ScaleFleet command{.fleet = "f", .launches = {{name, "small", {1000, 0, {}}, "work waits", {}, spot}}};
    return std::get<FleetScaled>(world_.ask(command)).launched;
  }
  void refuse(const std::string& name) { world_.ask(MachineNews{name, MachineNews::What::refused, "no capacity"}); }
  const Fleet& fleet() { return world_.core.durable().fleets.at("f"); }
  void join(const std::string& name) {
    RegisterWorker hello{name, 1, 60'000, {1000, 0, {}}, {}};
    hello.fleet = "f";
    world_.ask(hello);
  }

  TestWorld world_;
};

TEST_F(SpotFleet, ALackOfSpotMachinesDoesNotKeepOthersAway) {
  EXPECT_EQ(launch("s1", true), 1U);
  const std::int64_t since_ms = world_.now_ms;
  refuse("s1");
  EXPECT_EQ(fleet().spot_trouble, "no capacity");
  EXPECT_EQ(fleet().trouble, "");
  EXPECT_EQ(launch("s2", true), 0U) << "it waits first";
  EXPECT_EQ(launch("d1", false), 1U);
  join("d1");
  EXPECT_EQ(fleet().spot_trouble, "no capacity");
  world_.pass(5'000);
  EXPECT_EQ(launch("s3", true), 1U);
  refuse("s3");
  EXPECT_EQ(fleet().spot_failing_since_ms, since_ms);
  world_.pass(5'000);
  EXPECT_EQ(launch("s4", true), 1U);
  join("s4");
  EXPECT_EQ(fleet().spot_trouble, "");
  EXPECT_EQ(fleet().spot_failing_since_ms, 0);
}

TEST_F(SpotFleet, ALackOfSpotMachinesLongAgoSaysNothingOfNow) {
  launch("s1", true);
  refuse("s1");
  world_.pass(86'400'000);
  EXPECT_EQ(launch("s2", true), 1U);
  world_.pass(10'000);
  const std::int64_t since_ms = world_.now_ms;
  refuse("s2");
  EXPECT_EQ(fleet().spot_failing_since_ms, since_ms);
}

TEST_F(SpotFleet, ALackOfOthersDoesNotKeepSpotMachinesAway) {
  EXPECT_EQ(launch("d1", false), 1U);
  refuse("d1");
  EXPECT_EQ(launch("d2", false), 0U);
  EXPECT_EQ(launch("s1", true), 1U);
}

}  // namespace
}  // namespace drover
