// What must be true of fleets and their machines, held against what becomes durable, what the cloud is called for, and
// what it has in the end:
//
// - a machine's intent is durable before the cloud is called for it, its name is used once, and its state only moves
// on;
// - no machine is launched beyond its fleet's maximum of machines or CPUs, while the fleet is paused or deleted, or
//   before a wait is over that a failure in its market began; a machine that does not join in time is a failure, and so
//   is one that ends soon after it has joined, and has done nothing;
// - a fleet is deleted when its provider has none of its machines, and none can appear;
// - a machine is terminated only when it is not needed any more and nothing is in its worker's hands;
// - one that is gone is remembered for an hour;
// - what the core carries out is what the plan said, unless something came in between;
// - when the work is done, each fleet is back at its minimum within an hour, and the cloud has exactly the machines
// that
//   the core knows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/core.h"
#include "core/planner/plan.h"
#include "ports/provider.h"
#include "ports/store.h"
#include "sim/auditor.h"

namespace drover::sim {

class FleetAudit {
 public:
  using MachinesOf = std::function<std::set<std::string>(const std::string& fleet)>;

  /// `may_appear`: machines that a fleet's provider has, or can still have for all that it has listed.
  FleetAudit(Auditor& auditor, MachinesOf may_appear) : auditor_(auditor), may_appear_(std::move(may_appear)) {}

  void committed(const Batch& batch);
  /// The cloud is about to be called.
  void launching(const MachineOrder& order);
  void terminating(const std::string& machine, const Core* core);
  /// What a plan needs is about to be asked.
  void surveying() { changed_.clear(); }
  void planned(const FleetSnapshot& snapshot, const FleetPlan& plan);
  void scaling(const ScaleFleet& command);
  /// Once more, for other machines.
  void repeating(const ScaleFleet& command);
  void scaled(const ScaleFleet& command, const FleetScaled& done);
  /// As last made durable; null: it was never known.
  const Machine* find(const std::string& machine) const;
  std::vector<const Machine*> machines() const;
  /// As a plan wanted it; null: none did.
  const ScaleFleet::Launch* launch_of(const std::string& machine) const;
  /// What is wrong with the machines that the server remembers: to be asked now and then.
  void inspect_remembered(const Core& core);
  /// Why fleets have not come to rest; nothing: each has its minimum, and the cloud has just these machines.
  static std::optional<std::string> unrest(const Core& core, const std::map<std::string, FleetRules>& rules,
                                           const MachinesOf& of_cloud);

 private:
  enum class Stage : std::uint8_t { coming, joined, draining, leaving, gone };

  /// A machine, as events tell of it.
  struct MachineBook {
    Machine record;  // as last made durable
    Stage stage = Stage::coming;
    bool is_terminated = false;  // the cloud was called to
    std::int64_t joined_ms = 0;
    bool is_of_use = false;  // an item has ended on it, or it was there for long
  };
  /// How launches fare in one market.
  struct LaunchBook {
    std::uint64_t failures = 0;
    std::int64_t not_before_ms = 0;
    std::int64_t failing_since_ms = 0;
    bool ends_early = false;  // machines that join do not last
  };
  /// A fleet, likewise.
  struct FleetBook {
    Fleet record;
    std::uint64_t machines = 0;
    std::uint64_t milli_cpus = 0;
    bool paused = false;
    bool deleting = false;
    LaunchBook on_demand;
    LaunchBook spot;
    std::int64_t set_ms = 0;

    LaunchBook& of(const Machine& machine) { return machine.spot ? spot : on_demand; }
  };

  void take(const Event& event);
  void take(MachineBook& machine, Stage stage, const Event& event);
  void requested(const Event& event);
  static void count_failure(LaunchBook& launches, std::int64_t requested_ms, std::int64_t at_ms);
  void take(const Attempt& attempt);
  void departed(MachineBook& machine, const Event& event);
  void prove(MachineBook& machine);
  void inspect(const Fleet& record);
  void fail(const std::string& machine, std::string_view what);

  Auditor& auditor_;
  const MachinesOf may_appear_;
  std::map<WorkerId, std::string> workers_;      // their names
  std::map<std::string, MachineBook> machines_;  // all that ever were
  std::map<std::string, FleetBook> fleets_;
  std::map<std::string, Fleet> before_;                   // records, before the batch
  std::map<std::string, ScaleFleet::Launch> launches_;    // that plans wanted, by machine
  std::set<std::string> taken_names_;                     // that plans wanted once more
  std::map<std::string, std::set<std::string>> drains_;   // likewise: the reasons
  std::map<std::string, std::vector<std::string>> said_;  // of each fleet, with the last plan
  std::set<std::string> changed_;                         // machines and fleets of which there was news since
  std::set<std::string> changed_last_;                    // with the last batch: a plan may be older than that
  std::int64_t core_ms_ = 0;                              // the largest time that is durable
};

}  // namespace drover::sim
