// What was used, and what of it was for nothing: of a job, and of everybody who ever submitted one.
#pragma once

#include <cstdint>

#include "base/wide.h"

namespace drover {

/// Sums over attempts that have ended. Wasted is what failed and lost attempts used.
struct JobUsage {
  std::int64_t cpu_ms = 0;           // as measured
  std::int64_t reserved_cpu_ms = 0;  // CPUs asked for, times how long
  std::int64_t memory_mib_s = 0;     // what was asked for or, if that is more, the most that was used, times how long
  std::int64_t accelerator_ms = 0;   // accelerators asked for, of any kind, times how long
  std::int64_t gpu_busy_ms = 0;      // as measured, of accelerator_ms
  std::int64_t gpu_energy_j = 0;
  std::int64_t wasted_cpu_ms = 0;       // of cpu_ms
  std::int64_t wasted_reserved_ms = 0;  // of reserved_cpu_ms
  std::int64_t attempts = 0;
  std::int64_t failed_attempts = 0;
  std::int64_t lost_attempts = 0;
  std::int64_t cost_microdollars = 0;       // on machines whose price is known
  std::int64_t on_demand_microdollars = 0;  // what that would have been on demand
  std::int64_t wasted_microdollars = 0;     // of cost_microdollars

  bool operator==(const JobUsage&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("used_cpu_ms", self.cpu_ms);
    visit("reserved_cpu_ms", self.reserved_cpu_ms);
    visit("used_memory_mib_s", self.memory_mib_s);
    visit("accelerator_ms", self.accelerator_ms);
    visit("gpu_busy_ms", self.gpu_busy_ms);
    visit("gpu_energy_j", self.gpu_energy_j);
    visit("wasted_cpu_ms", self.wasted_cpu_ms);
    visit("wasted_reserved_ms", self.wasted_reserved_ms);
    visit("attempts", self.attempts);
    visit("failed_attempts", self.failed_attempts);
    visit("lost_attempts", self.lost_attempts);
    visit("cost_microdollars", self.cost_microdollars);
    visit("on_demand_microdollars", self.on_demand_microdollars);
    visit("wasted_microdollars", self.wasted_microdollars);
  }
};

inline JobUsage& operator+=(JobUsage& to, const JobUsage& more) {
  to.cpu_ms = saturating_sum(to.cpu_ms, more.cpu_ms);
  to.reserved_cpu_ms = saturating_sum(to.reserved_cpu_ms, more.reserved_cpu_ms);
  to.memory_mib_s = saturating_sum(to.memory_mib_s, more.memory_mib_s);
  to.accelerator_ms = saturating_sum(to.accelerator_ms, more.accelerator_ms);
  to.gpu_busy_ms = saturating_sum(to.gpu_busy_ms, more.gpu_busy_ms);
  to.gpu_energy_j = saturating_sum(to.gpu_energy_j, more.gpu_energy_j);
  to.wasted_cpu_ms = saturating_sum(to.wasted_cpu_ms, more.wasted_cpu_ms);
  to.wasted_reserved_ms = saturating_sum(to.wasted_reserved_ms, more.wasted_reserved_ms);
  to.attempts = saturating_sum(to.attempts, more.attempts);
  to.failed_attempts = saturating_sum(to.failed_attempts, more.failed_attempts);
  to.lost_attempts = saturating_sum(to.lost_attempts, more.lost_attempts);
  to.cost_microdollars = saturating_sum(to.cost_microdollars, more.cost_microdollars);
  to.on_demand_microdollars = saturating_sum(to.on_demand_microdollars, more.on_demand_microdollars);
  to.wasted_microdollars = saturating_sum(to.wasted_microdollars, more.wasted_microdollars);
  return to;
}

}  // namespace drover
