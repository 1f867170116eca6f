#include "core/fleets/fleet_records.h"

#include <algorithm>

#include "base/wide.h"
#include "core/cost_faults.h"

namespace drover {

std::string_view to_string(MachineState state) {
  switch (state) {
    case MachineState::requested: return "requested";
    case MachineState::starting: return "starting";
    case MachineState::joined: return "joined";
    case MachineState::draining: return "draining";
    case MachineState::leaving: return "leaving";
    case MachineState::gone: return "gone";
  }
  return "unknown";
}

MachineCosts& MachineCosts::operator+=(const MachineCosts& more) {
  billed_microdollars = saturating_sum(billed_microdollars, more.billed_microdollars);
  billed_on_demand_microdollars = saturating_sum(billed_on_demand_microdollars, more.billed_on_demand_microdollars);
  attempts_microdollars = saturating_sum(attempts_microdollars, more.attempts_microdollars);
  return *this;
}

std::int64_t Machine::billed_ms(std::int64_t now_ms) const {
  if (billed_from_ms == 0) return 0;
  const bool has_ended = state == MachineState::gone && !injected(CostFault::billed_after_end);
  const std::int64_t until_ms = has_ended ? since_ms : now_ms;
  return std::max<std::int64_t>(until_ms - billed_from_ms, 0);
}

MachineCosts Machine::costs(std::int64_t now_ms) const {
  const std::int64_t time_ms = billed_ms(now_ms);
  const bool is_as_launched = !injected(CostFault::billed_as_on_demand);
  const std::int64_t paid = is_as_launched ? price.microdollars : price.on_demand_microdollars;
  return {.billed_microdollars = bill_of(paid, time_ms),
          .billed_on_demand_microdollars = bill_of(price.on_demand_microdollars, time_ms),
          .attempts_microdollars = attempts.microdollars};
}

MachineCosts costs_of(const Fleet& fleet, const std::vector<Machine>& machines, std::int64_t now_ms) {
  MachineCosts out = fleet.gone;
  for (const Machine& it : machines) {
    if (it.fleet == fleet.name && it.counts()) out += it.costs(now_ms);
  }
  return out;
}

}  // namespace drover
