// What must hold between fleets, their machines and these machines' workers.
#include <map>

#include "core/fleets/fleets_now.h"
#include "core/record_hash.h"
#include "core/sanity.h"

namespace drover {
namespace {

class FleetInspection : Inspection {
 public:
  FleetInspection(const Core& core, Faults& faults) : Inspection(core, faults), core_(core) {}

  void inspect() {
    for (const auto& [name, fleet] : durable_.fleets) {
      expect(name == fleet.name && fleet.created_ms > 0, "a fleet has its name");
      expect(fleet.gone.idle_microdollars() >= 0, "attempts cost no more than their fleet");
      expect((fleet.failures == 0) == fleet.trouble.empty(), "a fleet that fails says why");
      expect(!fleet.ends_early || fleet.failures > 0, "machines that end early are failures");
      expect((fleet.spot_failures == 0) == fleet.spot_trouble.empty(), "a fleet that lacks spot machines says why");
      expect((fleet.spot_failures == 0) == (fleet.spot_failing_since_ms == 0), "spot machines fail since a time");
      expect(!fleet.spot_ends_early || fleet.spot_failures > 0, "spot machines that end early are failures");
      expect(!fleet.deleting || fleet.has_launched, "a fleet that is deleted waits for machines");
    }
    for (const auto& [name, machine] : durable_.machines) inspect(machine);
    expect(durable_.machines.size() == volatile_.machine_records.size(), "only machines that are known are shared");
    expect(counts_ == volatile_.machine_counts, "machines are counted by fleet");
    inspect_demand();
    expect(waiting_ == volatile_.join_deadlines.size(), "only machines that have not joined have a deadline");
    expect(gone_ == volatile_.machines_gone.size(), "only machines that are gone are forgotten");
  }

 private:
  /// A job with something to hand out would wait for ever on an empty fleet if a plan did not hear of it.
  void inspect_demand() {
    AskFleets question{.want_machines = false};
    for (bool more = true; more;) {
      const FleetsNow page = fleets_now(core_, question);
      more = page.more_jobs;
      for (const JobDemand& it : page.jobs) {
        question.jobs_after = it.job;
        expect(it.waiting > 0 || !has_items(it.job), "job ", it.job.value, " has work, and is no demand for machines");
      }
    }
  }

  /// Messages may have expired of which the job has not heard.
  bool has_items(JobId job) const {
    if (!volatile_.places.at(job).offered) return false;
    const JobIndex& index = volatile_.jobs.at(job);
    return durable_.jobs.at(job).stream.empty() || !index.ready.empty() || !index.sheltered.empty() ||
           durable_.blocks.at(job).count(ItemMark::pending) > 0;
  }

  /// What its attempts cost may be older.
  bool is_shared(const Machine& machine) const {
    const auto found = volatile_.machine_records.find(machine.name);
    if (found == volatile_.machine_records.end()) return false;
    Machine shared = *found->second;
    shared.attempts = machine.attempts;
    shared.attempts_on_demand = machine.attempts_on_demand;
    Hasher of_shared, of_machine;
    add_record(of_shared, shared);
    add_record(of_machine, machine);
    return of_shared.value() == of_machine.value();
  }

  void inspect(const Machine& machine) {
    expect(is_shared(machine), "what is shared of a machine is its record");
    expect(machine.requested_ms <= machine.since_ms && machine.since_ms <= now_ms_, "a machine was requested before");
    const bool has_joined = machine.joined_ms > 0;
    const MachineCosts costs = machine.costs(now_ms_);
    expect(costs.idle_microdollars() >= 0 && costs.attempts_microdollars >= 0,
           "attempts cost no more than their machine");
    expect(machine.attempts_on_demand.microdollars <= costs.billed_on_demand_microdollars,
           "nor would they have on demand");
    expect(machine.price.on_demand_microdollars > 0 || machine.attempts == CostSum{}, "without a price nothing costs");
    if (machine.state == MachineState::gone) {
      ++gone_;
      expect(volatile_.machines_gone.contains({machine.since_ms, machine.name}), "a machine that is gone is forgotten");
      return;
    }
    const auto fleet = durable_.fleets.find(machine.fleet);
    expect(fleet != durable_.fleets.end() && fleet->second.has_launched, "a machine has a fleet that launched it");
    auto& count = counts_[machine.fleet];
    ++count.machines;
    count.milli_cpus += machine.has.milli_cpus;
    const auto worker = volatile_.worker_by_name.find(machine.name);
    const bool is_present = worker != volatile_.worker_by_name.end() && volatile_.present.contains(worker->second) &&
                            durable_.workers.at(worker->second).fleet == machine.fleet;
    if (machine.state == MachineState::requested || machine.state == MachineState::starting) {
      ++waiting_;
      expect(volatile_.join_deadlines.contains({machine.join_by_ms, machine.name}), "a machine has a deadline to join");
      expect(!has_joined && !is_present, "a machine whose worker is present has joined");
      return;
    }
    if (machine.state == MachineState::leaving) return;
    expect(has_joined && is_present, "a machine that has joined has a worker");
    if (!is_present) return;
    expect(machine.state == MachineState::joined || volatile_.sessions.at(worker->second).drain.is_draining(),
           "the worker of a machine that is drained is draining");
  }

  const Core& core_;
  std::map<std::string, FleetIndexes::MachineCount> counts_;
  std::size_t waiting_ = 0;
  std::size_t gone_ = 0;
};

}  // namespace

void inspect_fleets(const Core& core, Faults& faults) {
  FleetInspection(core, faults).inspect();
}

}  // namespace drover
