#include "core/planner/draft.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_plants.h"

namespace drover {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;

}  // namespace

Labels machine_labels(const std::string& fleet, const FleetRules& rules, const std::string& shape) {
  Labels labels = rules.labels;
  labels["fleet"] = fleet;
  labels["shape"] = shape;
  return labels;
}

void FleetDraft::add(const PlannedMachine& machine) {
  if (machine.requested_ms > now_ms_ - kMinuteMs) ++launched_lately_;
  scaled_ms_ = std::max(scaled_ms_, machine.requested_ms);
  const bool is_live = machine.phase == MachinePhase::coming || machine.phase == MachinePhase::joined;
  if (!is_live) scaled_ms_ = std::max(scaled_ms_, machine.since_ms);
  if (machine.phase == MachinePhase::gone) return;
  ++billed_;
  milli_cpus_ += machine.has.milli_cpus;
  if (!is_live) return;
  live_.push_back(&machine);
  ++machines_;
  live_milli_cpus_ += machine.has.milli_cpus;
  const bool is_warm = machine.phase == MachinePhase::joined && machine.joined_ms + rules().warm_up_ms <= now_ms_;
  in_service_ += is_warm ? 1 : 0;
  is_warming_ = is_warming_ || !is_warm;
}

bool FleetDraft::has_labels(const Shape& shape, const Labels& require) const {
  return require.empty() || planted(FleetPlant::labels_ignored) ||
         has_all(machine_labels(state_.name, rules(), shape.name), require);
}

std::optional<std::string> FleetDraft::obstacle(const Shape& shape) const {
  if (state_.deleting) return "the fleet is being deleted";
  if (state_.paused) return "the fleet is paused";
  if (!state_.unavailable.empty()) return state_.unavailable;
  if (state_.not_before_ms > now_ms_ && !planted(FleetPlant::planned_while_waiting)) {
    return concat("backing off for ", (state_.not_before_ms - now_ms_ + 999) / 1000,
                  " s after a failure: ", state_.trouble);
  }
  if (billed_ >= rules().most && !planted(FleetPlant::planned_beyond_maximum))
    return concat("at the maximum of ", plural(rules().most, "machine"));
  const std::uint64_t most = rules().most_milli_cpus;
  if (most > 0 && !planted(FleetPlant::planned_beyond_cpus) &&
      (milli_cpus_ > most || shape.has.milli_cpus > most - milli_cpus_)) {
    return concat("at the maximum of ", most / 1000, " CPUs: ", milli_cpus_ / 1000, " are in use, and shape '",
                  shape.name, "' has ", shape.has.milli_cpus / 1000);
  }
  const bool is_limited = rules().launches_per_minute > 0 && !planted(FleetPlant::launch_rate_ignored);
  if (is_limited && launched_lately_ >= rules().launches_per_minute) {
    return concat("at the maximum of ", rules().launches_per_minute, " launches per minute");
  }
  if (launches_ >= kMostPlanned) return "more with the next plan";
  return std::nullopt;
}

bool FleetDraft::launch(const Shape& shape, const std::string& reason, FleetPlan& plan) {
  if (obstacle(shape)) return false;
  ++billed_;
  ++machines_;
  ++launched_lately_;
  ++launches_;
  milli_cpus_ += shape.has.milli_cpus;
  live_milli_cpus_ += shape.has.milli_cpus;
  plan.launches.push_back({state_.name, shape, reason});
  return true;
}

void FleetDraft::drain(const PlannedMachine& machine, const std::string& reason, FleetPlan& plan) {
  if (state_.paused && !state_.deleting && !planted(FleetPlant::drained_while_paused)) return;
  if (drains_ >= kMostPlanned || std::erase(live_, &machine) == 0) return;
  ++drains_;
  --machines_;
  live_milli_cpus_ -= machine.has.milli_cpus;
  plan.drains.push_back({state_.name, machine.name, reason});
}

void FleetDraft::scale_to(std::uint64_t target, const std::string& reason, FleetPlan& plan) {
  target = std::clamp(target, std::min(rules().least, rules().most), rules().most);
  if (machines_ > target) {
    for (const PlannedMachine* machine : by_loss()) {
      if (machines_ <= target) break;
      drain(*machine, reason, plan);
    }
    return;
  }
  if (state_.shapes.empty() && machines_ < target) {
    plan.notes.push_back({state_.name, state_.unavailable.empty() ? "it has no shape" : state_.unavailable});
    return;
  }
  while (machines_ < target) {
    if (launch(state_.shapes.front(), reason, plan)) continue;
    const auto why = obstacle(state_.shapes.front());
    plan.notes.push_back({state_.name, concat(plural(target - machines_, "machine"), " short: ", why.value_or(""))});
    return;
  }
}

std::uint64_t FleetDraft::least_milli_cpus() const {
  return std::max(rules().least_milli_cpus, now_ms_ < rules().start_until_ms ? rules().start_milli_cpus : 0);
}

void FleetDraft::raise_to_cpus(std::uint64_t milli_cpus, const std::string& reason, FleetPlan& plan) {
  while (live_milli_cpus_ < milli_cpus) {
    // The largest that is not too large, otherwise the smallest.
    const std::uint64_t missing = milli_cpus - live_milli_cpus_;
    const Shape* best = nullptr;
    for (const Shape& it : state_.shapes) {
      if (obstacle(it)) continue;
      const auto excess = [&](const Shape& shape) {
        const std::uint64_t cpus = shape.has.milli_cpus;
        return std::pair(cpus > missing, cpus > missing ? cpus : missing - cpus);
      };
      if (best == nullptr || excess(it) < excess(*best)) best = &it;
    }
    if (best != nullptr && best->has.milli_cpus > 0 && launch(*best, reason, plan)) continue;
    const auto why =
        state_.shapes.empty() ? std::optional<std::string>("it has no shape") : obstacle(state_.shapes.front());
    plan.notes.push_back({state_.name, concat(missing / 1000, " CPUs short of the minimum: ",
                                              why.value_or("its machines have no CPUs"))});
    return;
  }
}

std::vector<const PlannedMachine*> FleetDraft::by_loss() const {
  std::vector<const PlannedMachine*> out = live_;
  const auto rank = [](const PlannedMachine* it) {
    const bool is_coming = it->phase == MachinePhase::coming;
    const int group = is_coming ? 0 : (it->items == 0) != planted(FleetPlant::busy_drained_first) ? 1 : 2;
    const std::int64_t order = is_coming ? -it->requested_ms : it->items == 0 ? it->free_since_ms : it->work_ms;
    return std::tuple(group, order, std::string_view(it->name));
  };
  std::ranges::sort(out, {}, rank);
  return out;
}

}  // namespace drover
