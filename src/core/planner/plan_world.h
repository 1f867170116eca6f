#pragma once

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/planner/plan.h"

namespace drover {

/// A fleet with some machines, and what a plan says of it.
class PlanTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kOneGiB = std::uint64_t{1} << 30;
  static constexpr std::int64_t kNowMs = 1'700'000'000'000;
  static Resources cpus(std::uint64_t count) { return {1000 * count, count * kOneGiB, {}}; }

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

}  // namespace drover
