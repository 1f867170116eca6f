#include "sim/cost_audit.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/wide.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// As docs/fleets.md has it: dollars per hour of a CPU and of a GiB. Only their ratio counts.
constexpr double kCpu = 0.031611;
constexpr double kGib = 0.004237;
constexpr double kRounding = 1e-3;

std::int64_t bill(std::int64_t hourly_microdollars, std::int64_t ms) {
  return static_cast<std::int64_t>(static_cast<Wide>(hourly_microdollars) * static_cast<Wide>(ms) / kHour);
}

// Memory counts in whole MiB.
double worth(const Resources& it) {
  return static_cast<double>(it.milli_cpus) / 1000 * kCpu + static_cast<double>(it.memory_bytes >> 20) / 1024 * kGib;
}

void add(MachineCosts& to, const MachineCosts& more) {
  to.billed_microdollars += more.billed_microdollars;
  to.billed_on_demand_microdollars += more.billed_on_demand_microdollars;
  to.attempts_microdollars += more.attempts_microdollars;
}

std::string in_words(const MachineCosts& it) {
  return concat(it.billed_microdollars, " (", it.billed_on_demand_microdollars, " on demand), ",
                it.attempts_microdollars, " for attempts");
}

}  // namespace

MachineCosts CostAudit::MachineBook::costs(std::int64_t now_ms) const {
  const std::int64_t ms = from_ms == 0 ? 0 : gone_ms.value_or(now_ms) - from_ms;
  return {.billed_microdollars = bill(price.microdollars, ms),
          .billed_on_demand_microdollars = bill(price.on_demand_microdollars, ms),
          .attempts_microdollars = paid.microdollars};
}

void CostAudit::fail(const std::string& machine, std::string_view what) {
  auditor_.fail(concat("costs of machine ", machine, ": ", what));
}

// Records say how things are after the batch, attempts and events in which order that came about.
void CostAudit::committed(const Batch& batch) {
  changed_jobs_.clear();
  changed_fleets_.clear();
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<PutCounters>(&mutation)) core_ms_ = it->counters.now_ms;
    if (const auto* it = std::get_if<PutWorker>(&mutation)) workers_[it->worker.id] = it->worker.name;
    if (const auto* it = std::get_if<PutMachine>(&mutation)) note(it->machine);
  }
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<AddAttempt>(&mutation)) take(it->attempt);
    if (const auto* it = std::get_if<AddEvent>(&mutation)) take(it->event);
  }
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<PutMachine>(&mutation)) inspect(it->machine, core_ms_);
    if (const auto* it = std::get_if<PutJob>(&mutation)) {
      jobs_[it->job.id].said = it->job.used;
      changed_jobs_.insert(it->job.id);
    }
    if (const auto* it = std::get_if<PutFleet>(&mutation)) {
      fleets_[it->fleet.name].said = it->fleet.gone;
      changed_fleets_.insert(it->fleet.name);
    }
  }
  inspect_changed();
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<DeleteJob>(&mutation)) jobs_.erase(it->job);
  }
}

void CostAudit::note(const Machine& record) {
  const auto [known, is_new] = machines_.try_emplace(record.name);
  MachineBook& machine = known->second;
  if (is_new) {
    machine.fleet = record.fleet;
    machine.has = record.has;
    const ScaleFleet::Launch* launch = launch_of_(record.name);
    if (launch != nullptr) machine.price = launch->price;
  }
  // Its provider has said what it calls it.
  if (machine.from_ms == 0 && !record.provider_id.empty()) machine.from_ms = core_ms_;
}

void CostAudit::take(const Event& event) {
  if (event.kind == EventKind::fleet_deleted) {
    fleets_.erase(event.name);
    return;
  }
  const auto known = machines_.find(event.name);
  if (known == machines_.end()) return;
  MachineBook& machine = known->second;
  const bool is_there = event.kind == EventKind::worker_joined || event.kind == EventKind::machine_joined;
  if (is_there && !machine.gone_ms && machine.from_ms == 0) machine.from_ms = event.at_ms;
  if (event.kind != EventKind::machine_gone) return;
  machine.gone_ms = event.at_ms;
  add(fleets_[machine.fleet].gone, machine.costs(event.at_ms));
  changed_fleets_.insert(machine.fleet);
}

void CostAudit::take(const Attempt& attempt) {
  JobBook& job = jobs_[attempt.job];
  const bool is_wasted = attempt.state == AttemptState::failed || attempt.state == AttemptState::lost;
  job.cost_microdollars += attempt.cost_microdollars.value_or(0);
  job.on_demand_microdollars += attempt.on_demand_microdollars.value_or(0);
  job.wasted_microdollars += is_wasted ? attempt.cost_microdollars.value_or(0) : 0;
  changed_jobs_.insert(attempt.job);
  const auto worker = workers_.find(attempt.worker);
  const auto machine = worker == workers_.end() ? machines_.end() : machines_.find(worker->second);
  const bool is_priced =
      machine != machines_.end() && !machine->second.gone_ms && machine->second.price.on_demand_microdollars > 0;
  if (is_priced != attempt.cost_microdollars.has_value() || is_priced != attempt.on_demand_microdollars.has_value()) {
    const std::string name = worker == workers_.end() ? "" : worker->second;
    return fail(name, is_priced ? "an attempt is not charged" : "an attempt is charged, and it has no price");
  }
  if (is_priced) charge(machine->second, attempt);
}

void CostAudit::charge(MachineBook& machine, const Attempt& attempt) {
  const std::string& name = workers_.at(attempt.worker);
  const Submit* job = auditor_.job_of(attempt.job);
  if (job == nullptr) return;
  const MachineCosts until_now = machine.costs(core_ms_);
  const std::int64_t there_us = machine.from_ms == 0 ? 0 : (core_ms_ - machine.from_ms) * 1000;
  const double hours = static_cast<double>(std::clamp<std::int64_t>(attempt.wall_us, 0, there_us)) / 1000 / kHour;
  const double part = std::min(worth(job->ask) / worth(machine.has), 1.0);
  const auto pay = [&](Paid& paid, std::int64_t price, std::int64_t most, std::int64_t cost) {
    paid.due = std::min(paid.due + static_cast<double>(price) * part * hours, static_cast<double>(most));
    paid.microdollars += cost;
    if (cost < 0) fail(name, "an attempt costs less than nothing");
    if (paid.microdollars > most) fail(name, "attempts cost more than it");
    if (std::abs(static_cast<double>(paid.microdollars) - paid.due) < 1 + kRounding) return;
    fail(name, concat("attempts are charged ", paid.microdollars, " instead of ", std::llround(paid.due)));
  };
  pay(machine.paid, machine.price.microdollars, until_now.billed_microdollars, *attempt.cost_microdollars);
  pay(machine.paid_on_demand, machine.price.on_demand_microdollars, until_now.billed_on_demand_microdollars,
      *attempt.on_demand_microdollars);
  const bool is_spot_cheaper = machine.price.microdollars <= machine.price.on_demand_microdollars;
  if (is_spot_cheaper && machine.paid_on_demand.microdollars < machine.paid.microdollars) {
    fail(name, "attempts would have cost less on demand");
  }
}

void CostAudit::inspect(const Machine& record, std::int64_t now_ms) {
  const auto known = machines_.find(record.name);
  if (known == machines_.end()) return fail(record.name, "nobody has requested it");
  const MachineBook& machine = known->second;
  const MachineCosts said = record.costs(now_ms);
  const MachineCosts true_costs = machine.costs(now_ms);
  if (record.price != machine.price) fail(record.name, "has another price than the plan's");
  if (record.billed_from_ms != machine.from_ms) fail(record.name, "is billed from another time");
  if (said != true_costs) fail(record.name, concat("are ", in_words(said), " instead of ", in_words(true_costs)));
  if (record.attempts_on_demand.microdollars != machine.paid_on_demand.microdollars) {
    fail(record.name, "attempts have other costs on demand");
  }
  if (said.idle_microdollars() < 0) fail(record.name, "what was idle costs less than nothing");
  if (said.idle_microdollars() + machine.paid.microdollars != true_costs.billed_microdollars) {
    fail(record.name, "attempts and what was idle are not the bill");
  }
}

void CostAudit::inspect_changed() {
  for (const JobId job : changed_jobs_) inspect_usage(job, jobs_[job].said);
  for (const std::string& name : changed_fleets_) {
    const auto fleet = fleets_.find(name);
    if (fleet == fleets_.end() || fleet->second.said == fleet->second.gone) continue;
    auditor_.fail(concat("fleet ", name, ": machines that are gone have cost ", in_words(fleet->second.said),
                         " instead of ", in_words(fleet->second.gone)));
  }
}

void CostAudit::inspect_usage(JobId job, const JobUsage& used) {
  const JobBook& book = jobs_[job];
  const bool is_as_charged = used.cost_microdollars == book.cost_microdollars &&
                             used.on_demand_microdollars == book.on_demand_microdollars &&
                             used.wasted_microdollars == book.wasted_microdollars;
  if (is_as_charged) return;
  const Submit* submit = auditor_.job_of(job);
  auditor_.fail(concat("job ", submit == nullptr ? 0 : submit->job, ": has cost ", used.cost_microdollars, " (",
                       used.on_demand_microdollars, " on demand), ", used.wasted_microdollars, " wasted, instead of ",
                       book.cost_microdollars, " (", book.on_demand_microdollars, "), ", book.wasted_microdollars));
}

void CostAudit::inspect(const Core& core) {
  std::vector<Machine> machines;
  for (const auto& [name, machine] : core.durable().machines) {
    inspect(machine, core.now_ms());
    machines.push_back(machine);
  }
  for (const auto& [id, job] : core.durable().jobs) inspect_usage(id, job.used);
  for (const auto& [name, fleet] : core.durable().fleets) {
    MachineCosts all = fleets_[name].gone;
    for (const auto& [machine_name, machine] : machines_) {
      if (machine.fleet == name && !machine.gone_ms) add(all, machine.costs(core.now_ms()));
    }
    const MachineCosts said = costs_of(fleet, machines, core.now_ms());
    if (said == all) continue;
    auditor_.fail(concat("fleet ", name, ": its machines have cost ", in_words(said), " instead of ", in_words(all)));
  }
}

}  // namespace drover::sim
