#include "core/why_machines.h"

#include <algorithm>

#include "core/core.h"
#include "core/fleets/fleet_faults.h"

namespace drover {
namespace {

constexpr std::size_t kMostComing = 256;  // machines that are looked at
constexpr std::size_t kMostFleets = 64;

/// What the core knows of a machine's labels. Others are in its fleet's settings, which the core does not read.
enum class Fit : std::uint8_t { no, perhaps, yes };

Fit fit(const Machine& machine, const Job& job, const std::vector<std::string>& fleets, bool may_be_spot) {
  if (!job.ask.fits(machine.has) || !serves(machine.fleet, fleets)) return Fit::no;
  if (machine.spot ? !may_be_spot : job.spot.use == SpotUse::only) return Fit::no;
  Fit out = Fit::yes;
  for (const auto& [name, value] : job.require) {
    const std::string market(machine.spot ? kSpotMarket : kOnDemandMarket);
    const std::string* known = name == "fleet"        ? &machine.fleet
                               : name == "shape"      ? &machine.shape
                               : name == kMarketLabel ? &market
                                                      : nullptr;
    if (known == nullptr) {
      out = Fit::perhaps;
    } else if (*known != value) {
      return Fit::no;
    }
  }
  return out;
}

reason::NoMachine obstacle(const Core& core, const Fleet& fleet, const Job& job, bool may_be_spot) {
  using How = reason::NoMachine::How;
  reason::NoMachine out{.fleet = fleet.name, .trouble = fleet.trouble};
  const auto& counts = core.volatile_part().machine_counts;
  const auto found = counts.find(fleet.name);
  const auto count = found == counts.end() ? FleetIndexes::MachineCount{} : found->second;
  const std::uint64_t cpus_left = fleet.most_milli_cpus - std::min(fleet.most_milli_cpus, count.milli_cpus);
  if (fleet.deleting) {
    out.how = How::deleting;
  } else if (fleet.paused && !injected(FleetFault::pause_not_said)) {
    out.how = How::paused;
  } else if (fleet.not_before_ms > core.now_ms() && !injected(FleetFault::wait_not_said)) {
    out.how = How::backing_off;
    out.until_ms = fleet.not_before_ms;
    out.in_ms = fleet.not_before_ms - core.now_ms();
  } else if (may_be_spot && fleet.spot_not_before_ms > core.now_ms() && !injected(FleetFault::wait_not_said)) {
    out.how = How::backing_off;
    out.of_spot = true;
    out.trouble = fleet.spot_trouble;
    out.until_ms = fleet.spot_not_before_ms;
    out.in_ms = fleet.spot_not_before_ms - core.now_ms();
  } else if (count.machines >= fleet.most && !injected(FleetFault::maximum_not_said)) {
    out.how = How::most_machines;
    out.most = fleet.most;
  } else if (fleet.most_milli_cpus > 0 && std::max<std::uint64_t>(job.ask.milli_cpus, 1) > cpus_left) {
    out.how = How::most_cpus;
    out.most = fleet.most_milli_cpus / 1000;
  }
  return out;
}

/// Of the fleets that serve it, the first that nothing keeps from launching; else the first.
reason::Machines no_machine(const Core& core, const Job& job, const std::vector<std::string>& fleets,
                            bool may_be_spot) {
  std::optional<reason::NoMachine> first;
  std::size_t looked_at = 0;
  const auto look = [&](const Fleet& fleet) {
    const auto required = job.require.find("fleet");
    if (++looked_at > kMostFleets || (required != job.require.end() && required->second != fleet.name)) return;
    if (first && first->how == reason::NoMachine::How::none_launched) return;
    reason::NoMachine found = obstacle(core, fleet, job, may_be_spot);
    if (!first || found.how == reason::NoMachine::How::none_launched) first = std::move(found);
  };
  const auto& known = core.durable().fleets;
  for (const std::string& name : fleets) {
    if (const auto fleet = known.find(name); fleet != known.end()) look(fleet->second);
  }
  for (auto it = known.begin(); fleets.empty() && it != known.end() && looked_at < kMostFleets; ++it) look(it->second);
  if (first) return *std::move(first);
  return std::monostate{};
}

}  // namespace

reason::Machines machines_for(const Core& core, const Job& job, bool may_be_spot) {
  may_be_spot = may_be_spot && job.spot.use != SpotUse::never;
  const Queue* queue = core.durable().find_queue(job.place.queue);
  static const std::vector<std::string> all;
  const std::vector<std::string>& fleets = queue == nullptr ? all : queue->fleets;
  const Machine* perhaps = nullptr;
  std::size_t looked_at = 0;
  const auto& coming = core.volatile_part().join_deadlines;
  for (auto it = coming.begin(); it != coming.end() && ++looked_at <= kMostComing; ++it) {
    if (injected(FleetFault::coming_machine_not_said)) break;
    const Machine& machine = core.durable().machines.at(it->second);
    const Fit how = injected(FleetFault::any_machine_said_to_come) ? Fit::yes : fit(machine, job, fleets, may_be_spot);
    if (how == Fit::yes) return reason::MachineComing{machine.name, machine.fleet, machine.shape, machine.state, true};
    if (how == Fit::perhaps && perhaps == nullptr) perhaps = &machine;
  }
  if (perhaps == nullptr) return no_machine(core, job, fleets, may_be_spot);
  return reason::MachineComing{perhaps->name, perhaps->fleet, perhaps->shape, perhaps->state, false};
}

}  // namespace drover
