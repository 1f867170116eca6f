#include "sim/fleet_audit.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "fleets/plan_commands.h"
#include "sim/plan_referee.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// As docs/fleets.md has it: a second, then twice as long each time, up to five minutes.
constexpr std::int64_t kFirstWaitMs = kSecond;
constexpr std::int64_t kLongestWaitMs = 5 * kMinute;
constexpr std::int64_t kEarlyMs = 2 * kMinute;
// Until somebody has looked.
constexpr std::int64_t kFleetSlackMs = 5 * kMinute;
// A plan is carried out a little later than it was made.
constexpr std::int64_t kPlanSlackMs = 10 * kSecond;

bool is_about_machines(EventKind kind) {
  return kind == EventKind::machine_requested || kind == EventKind::machine_joined ||
         kind == EventKind::machine_draining || kind == EventKind::machine_leaving || kind == EventKind::machine_gone;
}

std::uint64_t minimum_of(const FleetRules& rules) {
  const std::uint64_t wanted = rules.policy == ScalingPolicy::fixed ? rules.desired : 0;
  return std::clamp(wanted, std::min(rules.least, rules.most), rules.most);
}

}  // namespace

void FleetAudit::fail(const std::string& machine, std::string_view what) {
  auditor_.fail(concat("machine ", machine, ": ", what));
}

// Records say how things are after the batch, events in which order they came about.
void FleetAudit::committed(const Batch& batch) {
  before_.clear();
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<PutCounters>(&mutation)) core_ms_ = it->counters.now_ms;
    if (const auto* it = std::get_if<PutWorker>(&mutation)) workers_[it->worker.id] = it->worker.name;
    if (const auto* it = std::get_if<PutFleet>(&mutation)) {
      FleetBook& fleet = fleets_[it->fleet.name];
      before_[it->fleet.name] = std::exchange(fleet.record, it->fleet);
    }
    if (const auto* it = std::get_if<PutMachine>(&mutation)) {
      Machine& known = machines_[it->machine.name].record;
      const bool is_same =
          known.name.empty() || (known.fleet == it->machine.fleet && known.shape == it->machine.shape &&
                                 known.requested_ms == it->machine.requested_ms);
      if (!is_same) fail(known.name, "its name was used twice");
      known = it->machine;
    }
  }
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<AddEvent>(&mutation)) take(it->event);
    if (const auto* it = std::get_if<AddAttempt>(&mutation)) take(it->attempt);
  }
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<PutFleet>(&mutation)) inspect(it->fleet);
    if (const auto* it = std::get_if<DeleteFleet>(&mutation)) fleets_.erase(it->fleet);
    const auto* forgotten = std::get_if<DeleteMachine>(&mutation);
    if (forgotten == nullptr) continue;
    const MachineBook& machine = machines_[forgotten->machine];
    if (machine.stage != Stage::gone || core_ms_ - machine.record.since_ms < kHour) {
      fail(forgotten->machine, "forgotten too soon");
    }
  }
}

void FleetAudit::take(const Event& event) {
  if (event.kind == EventKind::fleet_changed) {
    FleetBook& fleet = fleets_[event.name];
    changed_.insert(event.name);
    if (event.detail == "paused") fleet.paused = true;
    if (event.detail == "resumed") fleet.paused = false;
    if (event.detail == "deleting") fleet.deleting = true;
    if (event.detail != "set") return;
    fleet.deleting = false;
    fleet.on_demand = fleet.spot = {};
    fleet.set_ms = event.at_ms;
    return;
  }
  if (event.kind == EventKind::fleet_deleted) {
    FleetBook& fleet = fleets_[event.name];
    if (fleet.machines > 0) auditor_.fail(concat("fleet ", event.name, ": deleted with machines"));
    for (const std::string& it : may_appear_(event.name)) {
      auditor_.fail(concat("fleet ", event.name, ": deleted although the cloud has machine ", it));
    }
    fleet = {.record = fleet.record};
    return;
  }
  if (!is_about_machines(event.kind)) return;
  changed_.insert(event.name);
  if (event.kind == EventKind::machine_requested) return requested(event);
  const auto machine = machines_.find(event.name);
  if (machine == machines_.end()) return fail(event.name, "nobody has requested it");
  const Stage stage = event.kind == EventKind::machine_joined     ? Stage::joined
                      : event.kind == EventKind::machine_draining ? Stage::draining
                      : event.kind == EventKind::machine_leaving  ? Stage::leaving
                                                                  : Stage::gone;
  take(machine->second, stage, event);
}

void FleetAudit::take(MachineBook& machine, Stage stage, const Event& event) {
  const Stage from = std::exchange(machine.stage, stage);
  if (from >= stage) return fail(event.name, "went back to an earlier state");
  FleetBook& fleet = fleets_[machine.record.fleet];
  if (stage == Stage::joined) {
    machine.joined_ms = event.at_ms;
    if (LaunchBook& launches = fleet.of(machine.record); !launches.ends_early) launches = {};
    return;
  }
  if (from == Stage::joined && stage == Stage::draining) prove(machine);
  if (from == Stage::joined && stage == Stage::leaving) departed(machine, event);
  const bool is_late = from == Stage::coming && stage == Stage::leaving && event.at_ms >= machine.record.join_by_ms;
  const bool is_drained = drains_[event.name].contains(event.detail);
  if ((from == Stage::coming && stage == Stage::gone) || (is_late && !is_drained)) {
    count_failure(fleet.of(machine.record), machine.record.requested_ms, event.at_ms);
  }
  const bool is_asked = stage == Stage::draining || (from == Stage::coming && stage == Stage::leaving && !is_late);
  if (is_asked && !is_drained) fail(event.name, "drained, though no plan wanted that");
  if ((from == Stage::joined || from == Stage::draining) && stage == Stage::gone) {
    fail(event.name, "gone, and its worker was not fenced");
  }
  const bool has_ended = event.detail.starts_with("its worker ") || event.detail.starts_with("its provider ");
  if (from == Stage::joined && stage == Stage::leaving && !has_ended) {
    fail(event.name, "is to be terminated, though its worker has not departed");
  }
  if (stage != Stage::gone) return;
  --fleet.machines;
  fleet.milli_cpus -= machine.record.has.milli_cpus;
}

void FleetAudit::take(const Attempt& attempt) {
  if (attempt.ending == Ending::lost) return;
  const auto machine = machines_.find(workers_[attempt.worker]);
  if (machine == machines_.end()) return;
  const Stage stage = machine->second.stage;
  if (stage == Stage::joined || stage == Stage::draining) prove(machine->second);
}

void FleetAudit::departed(MachineBook& machine, const Event& event) {
  if (event.detail == "its worker was fenced") return;
  if (event.at_ms - machine.joined_ms >= kEarlyMs) return prove(machine);
  if (machine.is_of_use) return;
  LaunchBook& launches = fleets_[machine.record.fleet].of(machine.record);
  launches.ends_early = true;
  count_failure(launches, machine.record.requested_ms, event.at_ms);
}

void FleetAudit::prove(MachineBook& machine) {
  LaunchBook& launches = fleets_[machine.record.fleet].of(machine.record);
  if (!std::exchange(machine.is_of_use, true) && launches.ends_early) launches = {};
}

// Machines that fail while the fleet waits belong to the failure for which it waits.
void FleetAudit::count_failure(LaunchBook& launches, std::int64_t requested_ms, std::int64_t at_ms) {
  const bool is_first = launches.failing_since_ms == 0 || requested_ms - launches.not_before_ms > kLongestWaitMs;
  if (is_first) launches.failing_since_ms = at_ms;
  if (launches.not_before_ms > at_ms) return;
  std::int64_t wait_ms = kFirstWaitMs;
  for (std::uint64_t i = 0; i < launches.failures && wait_ms < kLongestWaitMs; ++i) wait_ms *= 2;
  launches.not_before_ms = at_ms + std::min(wait_ms, kLongestWaitMs);
  ++launches.failures;
}

void FleetAudit::requested(const Event& event) {
  const Machine& machine = machines_[event.name].record;
  FleetBook& fleet = fleets_[machine.fleet];
  const auto wanted = launches_.find(event.name);
  if (wanted == launches_.end()) return fail(event.name, "launched, though no plan wanted that");
  const bool is_as_wanted = wanted->second.shape == machine.shape && wanted->second.has == machine.has &&
                            wanted->second.reason == machine.reason && wanted->second.spot == machine.spot;
  if (!is_as_wanted) fail(event.name, "another machine than the plan wanted");
  if (fleet.paused) fail(event.name, "launched in a fleet that is paused");
  if (fleet.deleting) fail(event.name, "launched in a fleet that is being deleted");
  if (fleet.of(machine).not_before_ms > event.at_ms)
    fail(event.name, "launched before the wait after a failure is over");
  ++fleet.machines;
  fleet.milli_cpus += machine.has.milli_cpus;
  // A maximum that changes with the batch was the one or the other.
  const auto before = before_.find(machine.fleet);
  const auto most = [&](std::uint64_t FleetSpec::* bound) {
    const auto of = [&](const Fleet& it) { return it.*bound == 0 ? ~std::uint64_t{0} : it.*bound; };
    return before == before_.end() ? of(fleet.record) : std::max(of(before->second), of(fleet.record));
  };
  if (fleet.machines > most(&FleetSpec::most)) fail(event.name, "launched beyond its fleet's maximum of machines");
  if (fleet.milli_cpus > most(&FleetSpec::most_milli_cpus))
    fail(event.name, "launched beyond its fleet's maximum of CPUs");
  if (event.at_ms + fleet.record.join_ms != machine.join_by_ms && event.at_ms - fleet.set_ms > kPlanSlackMs) {
    fail(event.name, "has another time to join than its fleet says");
  }
}

void FleetAudit::inspect(const Fleet& record) {
  const FleetBook& book = fleets_.at(record.name);
  const auto wrong = [&](std::string_view what) { auditor_.fail(concat("fleet ", record.name, ": ", what)); };
  const auto compare = [&](std::uint64_t failures, std::int64_t not_before_ms, const LaunchBook& launches) {
    if (failures != launches.failures) {
      wrong(concat("counts ", failures, " failures in a row instead of ", launches.failures));
    }
    if (not_before_ms != launches.not_before_ms) wrong("waits for another time after a failure than it should");
  };
  compare(record.failures, record.not_before_ms, book.on_demand);
  compare(record.spot_failures, record.spot_not_before_ms, book.spot);
  if (record.spot_failing_since_ms != book.spot.failing_since_ms) wrong("lacks spot machines since another time");
  if (record.paused != book.paused) wrong("is paused without an event, or the reverse");
}

// Its record is durable: a restarted server knows it.
void FleetAudit::launching(const MachineOrder& order) {
  const auto known = machines_.find(order.name);
  if (known == machines_.end()) return fail(order.name, "launched before its intent is durable");
  const MachineBook& machine = known->second;
  if (machine.stage == Stage::gone || machine.is_terminated) fail(order.name, "launched again after its end");
  const bool is_as_recorded = machine.record.fleet == order.fleet && machine.record.shape == order.shape &&
                              machine.record.has == order.has && machine.record.spot == order.spot;
  if (!is_as_recorded) fail(order.name, "another machine is launched than was recorded");
}

void FleetAudit::terminating(const std::string& name, const Core* core) {
  const auto known = machines_.find(name);
  if (known == machines_.end()) return;  // nobody ever asked for it
  known->second.is_terminated = true;
  if (known->second.stage < Stage::leaving) return fail(name, "terminated though it is needed");
  if (core == nullptr) return;
  const auto worker = core->volatile_part().worker_by_name.find(name);
  if (worker == core->volatile_part().worker_by_name.end()) return;
  const bool holds_something =
      std::ranges::any_of(core->durable().grants, [&](const auto& it) { return it.second.worker == worker->second; });
  if (holds_something) fail(name, "terminated while items are in its worker's hands");
}

void FleetAudit::scaling(const ScaleFleet& command) {
  taken_names_.clear();
  for (const auto& it : command.launches) {
    if (machines_.contains(it.machine)) taken_names_.insert(it.machine);
    launches_.emplace(it.machine, it);
  }
  for (const auto& it : command.drains) drains_[it.machine].insert(it.reason);
}

void FleetAudit::repeating(const ScaleFleet& command) {
  for (const auto& it : command.launches) launches_.emplace(it.machine, it);
  for (const auto& it : command.drains) drains_[it.machine].insert(it.reason);
}

void FleetAudit::planned(const FleetSnapshot& snapshot, const FleetPlan& plan) {
  said_.clear();
  if (const auto wrong = unsound(snapshot, plan)) auditor_.fail(*wrong);
  for (const FleetState& fleet : snapshot.fleets) said_[fleet.name] = explained(plan, fleet);
}

// What people are told that the planner would do is what is done, unless something came in between.
void FleetAudit::scaled(const ScaleFleet& command, const FleetScaled& done) {
  std::set<std::string> others = changed_;
  for (const auto& it : command.launches) others.erase(it.machine);
  const bool is_complete = done.launched == command.launches.size() && done.drained == command.drains.size();
  if (!is_complete) {
    if (others.empty() && taken_names_.empty())
      auditor_.fail(concat("fleet ", command.fleet, ": a plan was not carried out"));
    return;
  }
  std::map<std::tuple<std::string, bool, std::string>, std::uint64_t> launches;
  for (const auto& it : command.launches) {
    const Machine& machine = machines_[it.machine].record;
    ++launches[{machine.shape, machine.spot, machine.reason}];
  }
  const std::vector<std::string>& said = said_[command.fleet];
  const auto expect_said = [&](const std::string& line) {
    if (std::ranges::find(said, line) != said.end()) return;
    auditor_.fail(concat("fleet ", command.fleet, ": did what was not said: ", line));
  };
  for (const auto& [what, count] : launches) {
    const auto& [shape, spot, reason] = what;
    expect_said(
        concat("launch ", plural(count, spot ? "spot machine" : "machine"), " of shape '", shape, "': ", reason));
  }
  for (const auto& it : command.drains) expect_said(concat("drain ", it.machine, ": ", it.reason));
  const auto said_count = std::ranges::count_if(
      said, [](const std::string& it) { return it.starts_with("launch ") || it.starts_with("drain "); });
  if (static_cast<std::size_t>(said_count) != launches.size() + command.drains.size()) {
    auditor_.fail(concat("fleet ", command.fleet, ": did not do all that was said"));
  }
}

const Machine* FleetAudit::find(const std::string& machine) const {
  const auto found = machines_.find(machine);
  return found == machines_.end() ? nullptr : &found->second.record;
}

std::vector<const Machine*> FleetAudit::machines() const {
  std::vector<const Machine*> out;
  for (const auto& [name, book] : machines_) {
    if (book.stage != Stage::gone) out.push_back(&book.record);
  }
  return out;
}

const ScaleFleet::Launch* FleetAudit::launch_of(const std::string& machine) const {
  const auto found = launches_.find(machine);
  return found == launches_.end() ? nullptr : &found->second;
}

void FleetAudit::inspect_remembered(const Core& core) {
  for (const auto& [name, machine] : core.durable().machines) {
    const bool is_gone = machine.state == MachineState::gone;
    const bool is_coming = machine.state == MachineState::requested || machine.state == MachineState::starting;
    if (is_gone && core.now_ms() - machine.since_ms > kHour + kFleetSlackMs) fail(name, "remembered for too long");
    // While the server was away nobody could join.
    const std::int64_t join_by_ms = std::max(machine.join_by_ms, core.volatile_part().joins_spared_until_ms);
    if (is_coming && core.now_ms() - join_by_ms > kFleetSlackMs) fail(name, "waited for although it is too late");
  }
}

std::optional<std::string> FleetAudit::unrest(const Core& core, const std::map<std::string, FleetRules>& rules,
                                              const MachinesOf& of_cloud) {
  for (const auto& [fleet, rule] : rules) {
    if (!core.durable().fleets.contains(fleet)) return concat("fleet ", fleet, " is not there");
    std::set<std::string> known;
    for (const auto& [name, machine] : core.durable().machines) {
      if (machine.fleet != fleet || !machine.counts()) continue;
      if (machine.state != MachineState::joined) return concat("machine ", name, " is ", to_string(machine.state));
      known.insert(name);
    }
    if (known.size() != minimum_of(rule)) {
      return concat("fleet ", fleet, " has ", known.size(), " machines instead of ", minimum_of(rule));
    }
    if (of_cloud(fleet) != known) return concat("the cloud has other machines than fleet ", fleet);
  }
  return std::nullopt;
}

}  // namespace drover::sim
