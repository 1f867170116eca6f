#include "core/fleets/fleets.h"

#include <algorithm>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "core/cost_faults.h"
#include "core/fleets/fleet_faults.h"
#include "core/record_hash.h"

namespace drover {
namespace {

constexpr std::size_t kMachinesAtOnce = 64;
constexpr std::size_t kLongestReason = 500;

EventKind event_of(MachineState state) {
  switch (state) {
    case MachineState::requested:
    case MachineState::starting: return EventKind::machine_requested;
    case MachineState::joined: return EventKind::machine_joined;
    case MachineState::draining: return EventKind::machine_draining;
    case MachineState::leaving: return EventKind::machine_leaving;
    case MachineState::gone: return EventKind::machine_gone;
  }
  return EventKind::machine_gone;
}

/// How the fleet's launches fare: of spot machines, or of others.
struct LaunchesOf {
  LaunchesOf(Fleet& fleet, bool spot)
      : failures(spot ? fleet.spot_failures : fleet.failures),
        trouble(spot ? fleet.spot_trouble : fleet.trouble),
        not_before_ms(spot ? fleet.spot_not_before_ms : fleet.not_before_ms),
        ends_early(spot ? fleet.spot_ends_early : fleet.ends_early) {}

  std::uint64_t& failures;
  std::string& trouble;
  std::int64_t& not_before_ms;
  bool& ends_early;
};

bool has_not_joined(const Machine& machine) {
  return machine.state == MachineState::requested || machine.state == MachineState::starting;
}

}  // namespace

Result<void> FleetRecords::restore(const PutFleet& put) {
  fleets.insert_or_assign(put.fleet.name, put.fleet);
  return {};
}

Result<void> FleetRecords::restore(const PutMachine& put) {
  machines.insert_or_assign(put.machine.name, put.machine);
  return {};
}

void FleetRecords::add_to(Hasher& hasher) const {
  for (const auto& [name, fleet] : fleets) add_record(hasher, fleet);
  for (const auto& [name, machine] : machines) add_record(hasher, machine);
}

void Fleets::load() {
  for (const auto& [name, machine] : records_.machines) {
    index(machine);
    now_.machine_records[name] = std::make_shared<const Machine>(machine);
    // Workers that are draining do not know it any more.
    const bool is_draining = machine.state == MachineState::draining && !injected(FleetFault::restart_forgets_drains);
    if (is_draining) workers_.drain(name);
  }
  // They could not join while the server was away.
  now_.joins_spared_until_ms = journal_.now_ms() + kJoinAfterRestartMs;
  if (!injected(CostFault::restart_forgets_attempts)) return;
  for (auto& [name, machine] : records_.machines) machine.attempts = {};
}

Fleet* Fleets::find(Ticket ticket, const std::string& fleet) {
  const auto found = records_.fleets.find(fleet);
  if (found != records_.fleets.end()) return &found->second;
  journal_.refuse(ticket, ErrorCode::not_found, concat("fleet '", fleet, "' not found"),
                  "list fleets with 'drover fleet list'");
  return nullptr;
}

// Another provider would not know the machines that are there, or that may still appear.
void Fleets::refuse_provider(Ticket ticket, const Fleet& fleet) {
  const auto count = now_.machine_counts.find(fleet.name);
  const std::uint64_t machines = count == now_.machine_counts.end() ? 0 : count->second.machines;
  const std::string has = machines > 0     ? concat("still has ", plural(machines, "machine"))
                          : fleet.deleting ? "is being deleted and may still have machines"
                                           : "may still have machines";
  journal_.refuse(
      ticket, ErrorCode::conflict,
      concat("fleet '", fleet.name, "' ", has, " of its current provider, which cannot be changed until they are gone"),
      concat("delete the fleet or set 'most' to 0, and retry when its machines are gone: drover fleet show ",
             fleet.name, "; or create a fleet with another name"));
}

// One that fails may have been set right.
void Fleets::on(Ticket ticket, const SetFleet& command) {
  const auto known = records_.fleets.find(command.spec.name);
  if (known != records_.fleets.end() && !known->second.provider.empty() &&
      known->second.provider != command.spec.provider) {
    if (known->second.deleting || known->second.has_launched) return refuse_provider(ticket, known->second);
  }
  Fleet& fleet = records_.fleets[command.spec.name];
  if (fleet.created_ms == 0) fleet.created_ms = std::max<std::int64_t>(journal_.now_ms(), 1);
  static_cast<FleetSpec&>(fleet) = command.spec;
  fleet.deleting = false;
  fleet.scaled_to = -1;
  end_wait(fleet, false);
  end_wait(fleet, true);
  journal_.note(EventKind::fleet_changed, fleet.name, "set");
  journal_.say(Ticket{}, FleetsChanged{});
  journal_.say(ticket, FleetSet{});
}

void Fleets::on(Ticket ticket, const DropFleet& command) {
  Fleet* fleet = find(ticket, command.fleet);
  if (fleet == nullptr) return;
  const auto count = now_.machine_counts.find(command.fleet);
  const std::uint64_t left = count == now_.machine_counts.end() ? 0 : count->second.machines;
  fleet->deleting = true;
  fleets_.add(command.fleet);
  journal_.say(Ticket{}, FleetsChanged{});
  // A launch whose answer was lost may succeed late, and somebody has to terminate that machine.
  const bool is_gone = left == 0 && !fleet->has_launched;
  journal_.say(ticket, FleetDropped{left, is_gone});
  if (is_gone || injected(FleetFault::deleted_with_machines)) return drop(command.fleet);
  journal_.note(EventKind::fleet_changed, command.fleet, "deleting");
}

// It may have been set again in between.
void Fleets::on(Ticket ticket, const FleetEmptied& command) {
  Fleet* fleet = find(ticket, command.fleet);
  if (fleet == nullptr) return;
  journal_.say(ticket, FleetNoted{});
  if (now_.machine_counts.contains(command.fleet)) return;
  if (fleet->deleting) return drop(command.fleet);
  fleet->has_launched = false;
  fleets_.add(fleet->name);
}

void Fleets::on(Ticket ticket, const PauseFleet& command) {
  Fleet* fleet = find(ticket, command.fleet);
  if (fleet == nullptr) return;
  if (fleet->paused != command.paused) {
    fleet->paused = command.paused;
    fleets_.add(command.fleet);
    journal_.note(EventKind::fleet_changed, command.fleet, command.paused ? "paused" : "resumed");
    journal_.say(Ticket{}, FleetsChanged{});
  }
  journal_.say(ticket, FleetPaused{});
}

// A plan is made of what was, and other commands may have come in between: what no longer fits is left out, and the
// next plan knows better.
void Fleets::on(Ticket ticket, const ScaleFleet& command) {
  Fleet* fleet = find(ticket, command.fleet);
  if (fleet == nullptr) return;
  FleetScaled out;
  if (command.scale_to && !fleet->deleting) {
    fleet->scaled_to = static_cast<std::int64_t>(std::min(*command.scale_to, fleet->most));
    fleets_.add(fleet->name);
  }
  for (const ScaleFleet::Drain& it : command.drains) {
    if (out.drained < ScaleFleet::kMost && drain(fleet->name, it)) ++out.drained;
  }
  // What another provider has was planned for.
  const bool is_replaced = !command.provider.empty() && command.provider != fleet->provider;
  for (const ScaleFleet::Launch& it : command.launches) {
    if (out.launched >= ScaleFleet::kMost || is_replaced || !may_launch(*fleet, it)) continue;
    launch(*fleet, it);
    ++out.launched;
  }
  journal_.say(ticket, out);
}

bool Fleets::may_launch(const Fleet& fleet, const ScaleFleet::Launch& it) const {
  if (fleet.paused && !injected(FleetFault::paused_launches)) return false;
  if (fleet.deleting && !injected(FleetFault::deleted_launches)) return false;
  const std::int64_t not_before_ms = it.spot ? fleet.spot_not_before_ms : fleet.not_before_ms;
  if (not_before_ms > journal_.now_ms() && !injected(FleetFault::wait_ignored)) return false;
  const bool is_known = records_.machines.contains(it.machine) || workers_.is_known(it.machine);
  if (!is_valid_name(it.machine) || (is_known && !injected(FleetFault::name_used_twice))) return false;
  const auto found = now_.machine_counts.find(fleet.name);
  const auto count = found == now_.machine_counts.end() ? FleetIndexes::MachineCount{} : found->second;
  if (count.machines >= fleet.most && !injected(FleetFault::maximum_ignored)) return false;
  return fleet.most_milli_cpus == 0 || injected(FleetFault::cpu_maximum_ignored) ||
         (count.milli_cpus <= fleet.most_milli_cpus && it.has.milli_cpus <= fleet.most_milli_cpus - count.milli_cpus);
}

void Fleets::launch(Fleet& fleet, const ScaleFleet::Launch& it) {
  if (!std::exchange(fleet.has_launched, true)) fleets_.add(fleet.name);
  Machine machine{
      .name = it.machine, .fleet = fleet.name, .shape = it.shape, .has = it.has.at_most(Resources::endless())};
  machine.reason = it.reason.substr(0, kLongestReason);
  machine.price = it.price;
  machine.spot = it.spot;
  machine.requested_ms = machine.since_ms = journal_.now_ms();
  machine.join_by_ms = journal_.now_ms() + fleet.join_ms * (injected(FleetFault::late_machine_awaited) ? 10 : 1);
  index(machine);
  changed(machine);
  journal_.note(EventKind::machine_requested, machine.name, machine.reason);
  records_.machines.emplace(it.machine, std::move(machine));
}

bool Fleets::drain(const std::string& fleet, const ScaleFleet::Drain& it) {
  Machine* machine = machine_of(it.machine, fleet);
  if (machine == nullptr) return false;
  const std::string why = it.reason.substr(0, kLongestReason);
  if (has_not_joined(*machine)) {
    move(*machine, MachineState::leaving, why);
    return true;
  }
  if (machine->state != MachineState::joined) return false;
  prove(*machine);
  move(*machine, MachineState::draining, why);
  if (!injected(FleetFault::drain_not_told)) workers_.drain(it.machine);
  return true;
}

void Fleets::on(Ticket ticket, const MachineNews& command) {
  const auto found = records_.machines.find(command.machine);
  if (found == records_.machines.end()) {
    return journal_.refuse(ticket, ErrorCode::not_found, concat("machine '", command.machine, "' not found"),
                           "list machines with 'drover fleet show FLEET'");
  }
  Machine& machine = found->second;
  const std::string text = command.text.substr(0, kLongestReason);
  switch (command.what) {
    case MachineNews::What::accepted:
      if (machine.state == MachineState::gone) break;
      if (machine.provider_id != text) {
        machine.provider_id = text;
        changed(machine);
      }
      begin_bill(machine);
      if (machine.state == MachineState::requested) {
        // Time to join is counted from here: a provider that is slow to answer takes none of it.
        unindex(machine);
        machine.join_by_ms += journal_.now_ms() - machine.requested_ms;
        index(machine);
        move(machine, MachineState::starting, {});
      }
      break;
    case MachineNews::What::refused:
      if (machine.state == MachineState::requested) {
        count_failure(machine, text);
        move(machine, MachineState::gone, text);
      }
      break;
    case MachineNews::What::vanished:
      // An intent whose answer is still to come cannot be missed.
      if (machine.state == MachineState::requested || machine.state == MachineState::gone) break;
      if (machine.state == MachineState::starting) count_failure(machine, text);
      count_early_end(machine, text);
      if (machine.ending.empty()) machine.ending = text;
      if (!injected(FleetFault::vanished_not_fenced)) workers_.fence(machine.name);  // what it held is not coming back
      move(machine, MachineState::gone, text);
      break;
    case MachineNews::What::terminated:
      if (machine.state == MachineState::leaving) move(machine, MachineState::gone, {});
      break;
  }
  journal_.say(ticket, MachineNoted{});
}

Machine* Fleets::machine_of(const std::string& worker, const std::string& fleet) {
  const auto found = records_.machines.find(worker);
  return found != records_.machines.end() && found->second.fleet == fleet ? &found->second : nullptr;
}

void Fleets::on_worker_present(const std::string& worker, const std::string& fleet) {
  Machine* machine = machine_of(worker, fleet);
  if (machine == nullptr) return;
  if (machine->state != MachineState::gone) begin_bill(*machine);
  if (!has_not_joined(*machine)) {
    // It is to go, whatever it believes.
    if (machine->state != MachineState::joined && !injected(FleetFault::late_machine_kept)) workers_.drain(worker);
    return;
  }
  machine->joined_ms = journal_.now_ms();
  move(*machine, MachineState::joined, {});
  const auto known = records_.fleets.find(fleet);
  if (known == records_.fleets.end() || injected(FleetFault::join_keeps_failures)) return;
  const LaunchesOf launches(known->second, machine->spot);
  if (launches.failures == 0) return;
  if (!launches.ends_early || injected(FleetFault::join_ends_every_wait)) end_wait(known->second, machine->spot);
}

void Fleets::on_worker_departed(const std::string& worker, const std::string& fleet, std::string_view how) {
  Machine* machine = machine_of(worker, fleet);
  if (machine == nullptr) return;
  if (machine->state != MachineState::joined && machine->state != MachineState::draining) return;
  if (injected(FleetFault::departed_machine_kept)) return;
  const std::string why = concat("its worker ", how == "left" ? "has left" : concat("was ", how));
  if (how != to_string(WorkerState::fenced)) count_early_end(*machine, why);  // somebody has asked for that
  move(*machine, MachineState::leaving, why);
}

// The first reason for its end is the one that counts.
void Fleets::move(Machine& machine, MachineState to, const std::string& why) {
  unindex(machine);
  machine.state = to;
  machine.since_ms = journal_.now_ms();
  if (machine.ending.empty()) machine.ending = why;
  index(machine);
  changed(machine);
  if (to != MachineState::starting) journal_.note(event_of(to), machine.name, machine.ending);
  if (to != MachineState::gone) return;
  add_to_costs(machine);
  const auto fleet = records_.fleets.find(machine.fleet);
  const bool is_dropped = injected(FleetFault::deleted_at_once) && fleet != records_.fleets.end() &&
                          fleet->second.deleting && !now_.machine_counts.contains(machine.fleet);
  if (is_dropped) drop(std::string(machine.fleet));
  if (now_.machines_gone.size() > kMostGoneMachines) forget(std::string(now_.machines_gone.begin()->second));
}

// Its provider has accepted it, or its worker is there before that was heard.
void Fleets::begin_bill(Machine& machine) {
  if (machine.billed_from_ms > 0 && !injected(CostFault::billed_anew)) return;
  const std::int64_t from_ms = injected(CostFault::billed_from_request) ? machine.requested_ms : journal_.now_ms();
  machine.billed_from_ms = std::max<std::int64_t>(from_ms, 1);
  changed(machine);
}

void Fleets::add_to_costs(const Machine& gone) {
  const auto fleet = records_.fleets.find(gone.fleet);
  if (fleet == records_.fleets.end() || !gone.has_price() || injected(CostFault::gone_not_added)) return;
  MachineCosts costs = gone.costs(journal_.now_ms());
  if (injected(CostFault::idle_not_added)) costs.billed_microdollars = costs.attempts_microdollars;
  fleet->second.gone += costs;
  fleets_.add(gone.fleet);
}

// What workers say of times is not to be relied on: no attempt is longer than its machine has been there, and all
// together cost at most what the machine has cost until now.
std::optional<AttemptCost> Fleets::charge(WorkerId id, const Resources& ask, std::int64_t wall_us) {
  const Worker& worker = workers_.at(id);
  if (worker.fleet.empty()) return std::nullopt;
  Machine* machine = machine_of(worker.name, worker.fleet);
  const bool has_price = machine != nullptr && (machine->has_price() || injected(CostFault::charged_without_price));
  if (!has_price || machine->state == MachineState::gone) return std::nullopt;
  MachineCosts most = machine->costs(journal_.now_ms());
  if (injected(CostFault::charged_beyond_bill)) most.billed_microdollars = kMostHourlyMicrodollars;
  const bool is_bounded = !injected(CostFault::longer_than_machine);
  const std::int64_t us = is_bounded ? std::min(wall_us, machine->billed_ms(journal_.now_ms()) * 1000) : wall_us;
  const auto part = injected(CostFault::whole_machine_charged) ? MachinePart{1, 1} : MachinePart::of(ask, machine->has);
  HourlyPrice price = machine->price;
  if (injected(CostFault::charged_as_on_demand)) price.microdollars = price.on_demand_microdollars;
  machines_.add(machine->name);
  const AttemptCost out{.microdollars = machine->attempts.add(price.microdollars, part, us, most.billed_microdollars),
                        .on_demand_microdollars = machine->attempts_on_demand.add(
                            price.on_demand_microdollars, part, us, most.billed_on_demand_microdollars)};
  if (injected(CostFault::rest_dropped)) machine->attempts.rest = 0;
  if (injected(CostFault::charged_twice)) machine->attempts.microdollars += out.microdollars;
  return out;
}

// There may be no spot machine to be had, but others.
void Fleets::count_failure(const Machine& machine, const std::string& why) {
  const auto found = records_.fleets.find(machine.fleet);
  if (found == records_.fleets.end()) return;
  Fleet& fleet = found->second;
  const bool of_spot = machine.spot && !injected(FleetFault::spot_failure_stops_all);
  const LaunchesOf launches(fleet, of_spot);
  const std::int64_t was_not_before_ms = launches.not_before_ms;
  // Machines that were requested together fail together, which is one failure.
  if (launches.not_before_ms <= journal_.now_ms()) {
    const std::uint64_t failures = injected(FleetFault::wait_does_not_grow) ? 0 : launches.failures;
    const auto doublings = std::min<std::uint64_t>(failures, 20);
    ++launches.failures;
    const std::int64_t wait_ms = std::min(kFirstBackOffMs << doublings, kLongestBackOffMs);
    launches.not_before_ms = journal_.now_ms() + (injected(FleetFault::no_wait) ? 0 : wait_ms);
  }
  launches.trouble = why.empty() ? "no reason was given" : why;
  // Long after the last failure nothing is known of spot machines any more: this is the first one.
  const bool is_first =
      fleet.spot_failing_since_ms == 0 || machine.requested_ms - was_not_before_ms > kLongestBackOffMs;
  if (of_spot && is_first) fleet.spot_failing_since_ms = std::max<std::int64_t>(journal_.now_ms(), 1);
  fleets_.add(fleet.name);
}

// Machines that end as soon as they have joined would otherwise be launched for ever.
void Fleets::count_early_end(Machine& machine, const std::string& why) {
  if (machine.state != MachineState::joined || injected(FleetFault::early_end_not_counted)) return;
  const std::int64_t there_ms = journal_.now_ms() - machine.joined_ms;
  if (there_ms >= kEarlyEndMs) return prove(machine);
  const auto fleet = records_.fleets.find(machine.fleet);
  if (machine.is_of_use || fleet == records_.fleets.end()) return;
  LaunchesOf(fleet->second, machine.spot).ends_early = true;
  count_failure(machine, concat("it ended ", there_ms / 1000, " s after joining: ", why));
}

/// Once for each machine: one that is of use for long says nothing about those that are launched now.
void Fleets::prove(Machine& machine) {
  if (machine.is_of_use && !injected(FleetFault::proven_again)) return;
  machine.is_of_use = true;
  changed(machine);
  const auto fleet = records_.fleets.find(machine.fleet);
  if (fleet == records_.fleets.end() || !LaunchesOf(fleet->second, machine.spot).ends_early) return;
  end_wait(fleet->second, machine.spot);
}

void Fleets::on_item_ended(WorkerId id) {
  const Worker& worker = workers_.at(id);
  if (worker.fleet.empty()) return;
  Machine* machine = machine_of(worker.name, worker.fleet);
  const bool is_there =
      machine != nullptr && (machine->state == MachineState::joined || machine->state == MachineState::draining);
  if (is_there) prove(*machine);
}

void Fleets::end_wait(Fleet& fleet, bool of_spot) {
  const LaunchesOf launches(fleet, of_spot);
  launches.failures = 0;
  launches.trouble.clear();
  launches.not_before_ms = 0;
  launches.ends_early = false;
  if (of_spot) fleet.spot_failing_since_ms = 0;
  fleets_.add(fleet.name);
}

// Not for what its attempts cost, which changes with each of them.
void Fleets::changed(const Machine& machine) {
  machines_.add(machine.name);
  now_.machine_records[machine.name] = std::make_shared<const Machine>(machine);
}

void Fleets::index(const Machine& machine) {
  if (machine.state == MachineState::gone) {
    now_.machines_gone.insert({machine.since_ms, machine.name});
    return;
  }
  auto& count = now_.machine_counts[machine.fleet];
  ++count.machines;
  count.milli_cpus += machine.has.milli_cpus;
  if (has_not_joined(machine)) now_.join_deadlines.insert({machine.join_by_ms, machine.name});
}

void Fleets::unindex(const Machine& machine) {
  if (machine.state == MachineState::gone) {
    now_.machines_gone.erase({machine.since_ms, machine.name});
    return;
  }
  const auto count = now_.machine_counts.find(machine.fleet);
  --count->second.machines;
  count->second.milli_cpus -= machine.has.milli_cpus;
  if (count->second.machines == 0) now_.machine_counts.erase(count);
  now_.join_deadlines.erase({machine.join_by_ms, machine.name});
}

void Fleets::drop(const std::string& name) {
  journal_.note(EventKind::fleet_deleted, name);
  journal_.say(Ticket{}, FleetsChanged{});
  records_.fleets.erase(name);
  fleets_.add(name);
}

void Fleets::forget(const std::string& name) {
  const auto found = records_.machines.find(name);
  unindex(found->second);
  machines_.add(found->second.name);
  now_.machine_records.erase(found->second.name);
  records_.machines.erase(found);
}

void Fleets::pass_time() {
  for (std::size_t i = 0; i < kMachinesAtOnce && !now_.join_deadlines.empty(); ++i) {
    const auto [at_ms, name] = *now_.join_deadlines.begin();
    if (std::max(at_ms, now_.joins_spared_until_ms) > journal_.now_ms()) break;
    Machine& machine = records_.machines.at(name);
    const std::string why = concat("it did not join within ", (at_ms - machine.since_ms) / 1000, " s");
    count_failure(machine, why);
    move(machine, MachineState::leaving, why);
  }
  for (std::size_t i = 0; i < kMachinesAtOnce && !now_.machines_gone.empty(); ++i) {
    const auto [since_ms, name] = *now_.machines_gone.begin();
    const std::int64_t kept_ms =
        injected(FleetFault::gone_forgotten_soon) ? kGoneMachineKeptMs / 60 : kGoneMachineKeptMs;
    if (since_ms + kept_ms > journal_.now_ms() || injected(FleetFault::gone_remembered)) break;
    forget(std::string(name));
  }
}

std::optional<std::int64_t> Fleets::next_deadline() const {
  std::optional<std::int64_t> first;
  if (!now_.join_deadlines.empty()) {
    first = std::max(now_.join_deadlines.begin()->first, now_.joins_spared_until_ms);
  }
  if (!now_.machines_gone.empty() && !injected(FleetFault::gone_remembered)) {
    const std::int64_t at_ms = now_.machines_gone.begin()->first + kGoneMachineKeptMs;
    first = std::min(first.value_or(at_ms), at_ms);
  }
  return first;
}

void Fleets::take_changes(std::vector<Mutation>& out) {
  fleets_.take<PutFleet>(records_.fleets, out, [](const std::string& name) { return DeleteFleet{name}; });
  machines_.take<PutMachine>(records_.machines, out, [](const std::string& name) { return DeleteMachine{name}; });
}

}  // namespace drover
