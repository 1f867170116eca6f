// What machines, attempts, jobs and fleets cost, worked out once more from what happens to them:
//
// - a machine is billed at the price with which a plan launched it, from when its provider accepted it or its worker
//   first registered until it was gone, and no longer;
// - an attempt costs the part of its machine that it asked for, for as long as it took and no longer than its machine
//   was billed; all attempts together cost no more than the machine until then, and nothing where its price is unknown;
// - what attempts cost and what was idle is the machine's bill to the micro-dollar;
// - a job has cost what its attempts did, and a fleet what its machines did, over any number of restarts.
//
// Whole micro-dollars are compared exactly. Only what a single attempt adds is worked out in floating point: its sums
// may be off by less than a micro-dollar.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/core.h"
#include "ports/store.h"
#include "sim/auditor.h"

namespace drover::sim {

class CostAudit {
 public:
  using LaunchOf = std::function<const ScaleFleet::Launch*(const std::string& machine)>;

  /// `launch_of`: as a plan wanted the machine; null: none did.
  CostAudit(Auditor& auditor, LaunchOf launch_of) : auditor_(auditor), launch_of_(std::move(launch_of)) {}

  void committed(const Batch& batch);
  /// What the server says of costs, when all that it knows is durable.
  void inspect(const Core& core);

 private:
  /// What attempts cost together.
  struct Paid {
    std::int64_t microdollars = 0;
    double due = 0;  // the same, worked out once more
  };
  struct MachineBook {
    std::string fleet;
    Resources has;
    HourlyPrice price;
    std::int64_t from_ms = 0;  // 0: it is not known to be there
    std::optional<std::int64_t> gone_ms;
    Paid paid;
    Paid paid_on_demand;

    MachineCosts costs(std::int64_t now_ms) const;
  };
  struct JobBook {
    std::int64_t cost_microdollars = 0;
    std::int64_t on_demand_microdollars = 0;
    std::int64_t wasted_microdollars = 0;
    JobUsage said;  // as last made durable
  };
  struct FleetBook {
    MachineCosts gone;
    MachineCosts said;
  };

  void note(const Machine& record);
  void take(const Attempt& attempt);
  void take(const Event& event);
  void charge(MachineBook& machine, const Attempt& attempt);
  void inspect(const Machine& record, std::int64_t now_ms);
  void inspect_changed();
  void inspect_usage(JobId job, const JobUsage& used);
  void fail(const std::string& machine, std::string_view what);

  Auditor& auditor_;
  LaunchOf launch_of_;
  std::map<std::string, MachineBook> machines_;  // all that ever were
  std::map<WorkerId, std::string> workers_;      // their names
  std::map<JobId, JobBook> jobs_;
  std::map<std::string, FleetBook> fleets_;
  std::set<JobId> changed_jobs_;          // with the batch
  std::set<std::string> changed_fleets_;  // likewise
  std::int64_t core_ms_ = 0;              // the largest time that is durable
};

}  // namespace drover::sim
