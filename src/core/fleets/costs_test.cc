// What machines cost, and what of it attempts do.
#include <gtest/gtest.h>

#include "base/random.h"
#include "core/test_world.h"

namespace drover {
namespace {

constexpr std::int64_t kDollarAnHour = 1'000'000;
constexpr std::int64_t kHourMs = 3'600'000;

class CostTest : public testing::Test {
 protected:
  CostTest() {
    FleetSpec spec{.name = "f", .text = "{}", .most = 100};
    world_.ask(SetFleet{spec});
  }

  void launch(const std::string& name, const Resources& has, HourlyPrice price) {
    ASSERT_EQ(std::get<FleetScaled>(world_.ask(ScaleFleet{"f", {{name, "s", has, "", price}}, {}})).launched, 1U);
  }
  void say(const std::string& name, MachineNews::What what) { world_.ask(MachineNews{name, what, ""}); }
  WorkerId join(const std::string& name) {
    RegisterWorker hello{name, 1, 60'000, machine(name).has, {}};
    hello.fleet = "f";
    return std::get<WorkerRegistered>(world_.ask(hello)).worker;
  }
  void leave(const std::string& name, WorkerId worker) {
    Report last{.worker = worker, .incarnation = 1};
    last.leaving = Leaving::gone;
    world_.ask(last);
    say(name, MachineNews::What::terminated);
  }
  const Machine& machine(const std::string& name) { return world_.core.durable().machines.at(name); }
  MachineCosts costs(const std::string& name) { return machine(name).costs(world_.now_ms); }
  MachineCosts fleet_costs() {
    std::vector<Machine> machines;
    for (const auto& [name, it] : world_.core.durable().machines) machines.push_back(it);
    return costs_of(world_.core.durable().fleets.at("f"), machines, world_.now_ms);
  }
  std::optional<std::int64_t> last_cost() {
    std::optional<std::int64_t> out;
    for (const Mutation& it : world_.mutations) {
      if (const auto* added = std::get_if<AddAttempt>(&it)) out = added->attempt.cost_microdollars;
    }
    return out;
  }

  TestWorld world_;
};

TEST_F(CostTest, AMachineIsBilledFromItsAcceptanceUntilItIsGone) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, 2 * kDollarAnHour});
  world_.now_ms += 5000;
  EXPECT_EQ(costs("m").billed_microdollars, 0);
  say("m", MachineNews::What::accepted);
  world_.now_ms += kHourMs / 4;
  EXPECT_EQ(costs("m").billed_microdollars, 250'000);
  const WorkerId worker = join("m");
  world_.now_ms += kHourMs / 4;
  leave("m", worker);
  world_.now_ms += 1000;
  EXPECT_EQ(costs("m").billed_microdollars, 500'000);
  EXPECT_EQ(fleet_costs(), (MachineCosts{500'000, 1'000'000, 0}));
  EXPECT_EQ(fleet_costs().idle_microdollars(), 500'000);
}

TEST_F(CostTest, AMachineThatJoinsBeforeItsProviderAnswersIsBilledFromThen) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, kDollarAnHour});
  world_.now_ms += 5000;
  join("m");
  world_.now_ms += 3600;
  say("m", MachineNews::What::accepted);
  EXPECT_EQ(costs("m").billed_microdollars, 1000);
}

TEST_F(CostTest, ARefusedMachineCostsNothing) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, kDollarAnHour});
  world_.now_ms += kHourMs / 100;
  say("m", MachineNews::What::refused);
  world_.now_ms += kHourMs;
  EXPECT_EQ(fleet_costs(), MachineCosts{});
}

TEST_F(CostTest, AnAttemptCostsItsPartForAsLongAsItRan) {
  launch("m", {4000, 0, {}}, {kDollarAnHour, 3 * kDollarAnHour});
  const WorkerId worker = join("m");
  const JobId job = world_.submit(2);
  ASSERT_EQ(world_.next(worker), job);
  world_.now_ms += 72'000;
  world_.end(worker, token(world_.last), TestWorld::kSuccess, 36'000);
  EXPECT_EQ(last_cost(), 2500) << "a quarter of a dollar an hour, for a hundredth of an hour";
  EXPECT_EQ(world_.job(job).used.cost_microdollars, 2500);
  EXPECT_EQ(world_.job(job).used.on_demand_microdollars, 7500);
  EXPECT_EQ(world_.job(job).used.wasted_microdollars, 0);
  ASSERT_EQ(world_.next(worker), job);
  world_.end(worker, token(world_.last), TestWorld::failure(), 36'000);
  EXPECT_EQ(world_.job(job).used.wasted_microdollars, 2500);
  EXPECT_EQ(costs("m"), (MachineCosts{20'000, 60'000, 5000}));
}

TEST_F(CostTest, NoAttemptIsLongerThanItsMachineHasBeenThereAndAllTogetherCostAtMostItsBill) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, kDollarAnHour});
  const WorkerId worker = join("m");
  world_.submit(3);
  std::vector<Lease> leases = world_.poll(worker, 3, {9000, TestWorld::kGiB, {}});
  ASSERT_EQ(leases.size(), 1U);
  ASSERT_EQ(leases[0].count, 3U);
  world_.now_ms += 36'000;
  world_.end(worker, token(leases[0], 0), TestWorld::kSuccess, 18'000);
  EXPECT_EQ(last_cost(), 5000);
  world_.end(worker, token(leases[0], 1), TestWorld::kSuccess, kHourMs);
  EXPECT_EQ(last_cost(), 5000) << "that is what is left of the bill";
  world_.end(worker, token(leases[0], 2), TestWorld::kSuccess, kHourMs);
  EXPECT_EQ(last_cost(), 0);
  EXPECT_EQ(costs("m").idle_microdollars(), 0);
}

// Its launch was never answered, and it was given up: yet it is there.
TEST_F(CostTest, AMachineThatJoinsTooLateIsBilledUntilItIsGone) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, kDollarAnHour});
  world_.pass(machine("m").join_by_ms - world_.now_ms);
  ASSERT_EQ(machine("m").state, MachineState::leaving);
  EXPECT_EQ(costs("m").billed_microdollars, 0);
  world_.now_ms += 1000;
  join("m");
  EXPECT_EQ(machine("m").state, MachineState::leaving);
  world_.now_ms += kHourMs / 4;
  say("m", MachineNews::What::terminated);
  EXPECT_EQ(fleet_costs(), (MachineCosts{250'000, 250'000, 0}));
}

TEST_F(CostTest, WithoutAPriceNothingIsKnown) {
  launch("m", {1000, 0, {}}, {});
  const WorkerId worker = join("m");
  const WorkerId other = world_.worker("other");
  const JobId job = world_.submit(2);
  for (const WorkerId it : {worker, other}) {
    ASSERT_EQ(world_.next(it), job);
    world_.now_ms += 1000;
    world_.end(it, token(world_.last), TestWorld::kSuccess, 1000);
    EXPECT_EQ(last_cost(), std::nullopt);
  }
  EXPECT_EQ(world_.job(job).used.cost_microdollars, 0);
  EXPECT_EQ(fleet_costs(), MachineCosts{});
}

TEST_F(CostTest, WhatALostMachineHeldCostsUntilThen) {
  launch("m", {1000, 0, {}}, {kDollarAnHour, kDollarAnHour});
  say("m", MachineNews::What::accepted);
  const WorkerId worker = join("m");
  const JobId job = world_.submit(1);
  ASSERT_EQ(world_.next(worker), job);
  world_.run(worker, token(world_.last));
  world_.now_ms += 18'000;
  say("m", MachineNews::What::vanished);
  EXPECT_EQ(last_cost(), 5000);
  EXPECT_EQ(world_.job(job).used.wasted_microdollars, 5000);
  world_.now_ms += kHourMs / 2;
  EXPECT_EQ(fleet_costs(), (MachineCosts{5000, 5000, 5000}));
}

/// Random attempts on random machines, and now and then a restart: attempts and idle time are the bills.
TEST_F(CostTest, AttemptsAndIdleTimeAreTheBillsToTheMicrodollar) {
  Random random(20'260'611);
  std::vector<std::string> here;
  std::map<std::string, std::int64_t> bills;  // of those that are gone, by their prices and times
  std::int64_t paid = 0;
  const auto finish = [&](const std::string& name) {
    const WorkerId worker = world_.core.volatile_part().worker_by_name.at(name);
    leave(name, worker);
    const Machine& it = machine(name);
    bills[name] = it.price.microdollars * (world_.now_ms - it.billed_from_ms) / kHourMs;
    std::erase(here, name);
  };
  world_.inspects = false;
  world_.submit(1'000'000);
  for (int step = 0; step < 3000; ++step) {
    world_.now_ms += static_cast<std::int64_t>(random.below(2000));
    if (here.size() < 5 && random.one_in(20)) {
      const std::string name = "m" + std::to_string(step);
      const auto price = static_cast<std::int64_t>(1 + random.below(40'000'000));
      launch(name, {1000 * (1 + random.below(16)), random.below(64) << 30, {}}, {price, 2 * price});
      say(name, MachineNews::What::accepted);
      join(name);
      here.push_back(name);
    }
    if (here.empty()) continue;
    const std::string name = here[random.below(here.size())];
    if (random.one_in(60)) {
      finish(name);
      continue;
    }
    if (random.one_in(100)) world_.restart();
    const WorkerId worker = world_.core.volatile_part().worker_by_name.at(name);
    for (const Lease& lease : world_.poll(worker, 1 + random.below(8), machine(name).has)) {
      world_.now_ms += static_cast<std::int64_t>(random.below(1000));
      for (std::uint64_t i = 0; i < lease.count; ++i) {
        // Most are short; some are longer than they can have been.
        const auto wall_ms = static_cast<std::int64_t>(random.below(random.one_in(10) ? 100'000 : 50));
        world_.end(worker, token(lease, i), random.one_in(9) ? TestWorld::failure() : TestWorld::kSuccess, wall_ms);
      }
    }
    ASSERT_FALSE(find_fault(world_.core));
  }
  while (!here.empty()) finish(here.front());
  std::map<WorkerId, std::string> names;
  std::map<std::string, std::int64_t> of_attempts;
  for (const Mutation& it : world_.mutations) {
    if (const auto* put = std::get_if<PutWorker>(&it)) names[put->worker.id] = put->worker.name;
    if (const auto* added = std::get_if<AddAttempt>(&it)) {
      of_attempts[names.at(added->attempt.worker)] += added->attempt.cost_microdollars.value();
      paid += *added->attempt.cost_microdollars;
    }
  }
  std::int64_t billed = 0;
  for (const auto& [name, bill] : bills) {
    EXPECT_LE(of_attempts[name], bill) << name;
    billed += bill;
  }
  EXPECT_GT(bills.size(), 10U);
  EXPECT_GT(paid, billed / 100);
  EXPECT_EQ(fleet_costs().billed_microdollars, billed);
  EXPECT_EQ(fleet_costs().attempts_microdollars, paid);
  EXPECT_EQ(fleet_costs().idle_microdollars(), billed - paid);
  EXPECT_EQ(world_.job(JobId{1}).used.cost_microdollars, paid);
}

}  // namespace
}  // namespace drover
