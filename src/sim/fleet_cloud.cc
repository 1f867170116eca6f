#include "sim/fleet_cloud.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "fleets/machine_name.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

constexpr std::int64_t kLongestCopyMs = 3 * kMinute;
constexpr std::uint64_t kLeastCpuHour = 5'000;  // in micro-dollars, on demand
constexpr std::uint64_t kMostCpuHour = 100'000;
constexpr std::int64_t kLongestLagMs = 30 * kSecond;

}  // namespace

FleetCloud::FleetCloud(Stage& stage)
    : stage_(stage),
      random_(stage.script.seed ^ 0x636c6f7564),
      clocks_(stage.script.seed ^ 0x636c6f636b),
      is_exact_(random_.one_in(3)) {}

std::vector<Shape> FleetCloud::shapes(bool is_spot) const {
  std::vector<Shape> out;
  for (const std::uint64_t cpus : {1, 2, 4, 8}) {
    out.push_back({concat("c", cpus), {1000 * cpus, cpus << 32, {}}, price_of(cpus, is_spot)});
  }
  return out;
}

// Of some shapes nobody knows the price. Spot prices change by the hour: some are close to that on demand, others are
// a tenth of it.
HourlyPrice FleetCloud::price_of(std::uint64_t cpus, bool is_spot) const {
  Random of_shape(stage_.script.seed ^ (cpus << 32) ^ 0x7072696365);
  if (of_shape.one_in(4)) return {};
  const auto on_demand =
      static_cast<std::int64_t>(cpus * (kLeastCpuHour + of_shape.below(kMostCpuHour - kLeastCpuHour)));
  if (!is_spot) return {on_demand, on_demand};
  Random of_hour(of_shape.next() ^ static_cast<std::uint64_t>(stage_.events.now_ms() / kHour));
  return {on_demand * static_cast<std::int64_t>(10 + of_hour.below(90)) / 100, on_demand};
}

std::int64_t FleetCloud::call_ms() {
  const bool is_slow = has(CloudTroubleKind::slow) || (has(CloudTroubleKind::no_capacity) && random_.one_in(2));
  if (is_slow) return between(kSecond, kMinute);
  return random_.one_in(8) ? between(0, 5 * kSecond) : between(1, 200);
}

Result<std::string> FleetCloud::launch(const MachineOrder& order) {
  if (has(CloudTroubleKind::throttles)) return fail(ErrorCode::io, "too many requests");
  const auto known = machines_.find(order.name);
  if (known != machines_.end()) return known->second.id;
  if (has(CloudTroubleKind::no_capacity)) return fail(ErrorCode::io, "no capacity");
  if (order.spot && has(CloudTroubleKind::no_spot)) return fail(ErrorCode::io, "no spot capacity");
  const std::string id = concat("i-", ++launched_);
  CloudMachine& machine = machines_.emplace(order.name, CloudMachine{.order = order, .id = id}).first->second;
  if (has(CloudTroubleKind::lags)) machine.omitted_until_ms = stage_.events.now_ms() + between(0, kLongestLagMs);
  if (!has(CloudTroubleKind::boots_never)) {
    const std::int64_t boot_ms = has(CloudTroubleKind::boots_late)
                                     ? between(5 * kMinute, 20 * kMinute)
                                     : between(kSecond, random_.one_in(4) ? kMinute : 10 * kSecond);
    stage_.events.after(boot_ms, [this, name = order.name] { boot(name); });
  }
  if (has(CloudTroubleKind::answers_lost)) return fail(ErrorCode::timeout, "no answer");
  return id;
}

SimWorker* FleetCloud::begin_worker(const MachineOrder& order) {
  WorkerPlan plan{.slots = std::max<std::size_t>(order.has.milli_cpus / 1000, 1),
                  .strict_lease = random_.one_in(4),
                  .clock_ahead_ms = between(-5000, 5000),
                  .has = order.has,
                  .labels = order.labels,
                  .fast_clock = clocks_.one_in(8) ? 1 + static_cast<std::int64_t>(clocks_.below(30)) : 1,
                  .machine = order.name,
                  .fleet = order.fleet};
  SimWorker& worker = stage_.add_machine(plan);
  worker.start();
  return &worker;
}

void FleetCloud::boot(const std::string& name) {
  const auto found = machines_.find(name);
  if (found == machines_.end() || found->second.is_ending || found->second.has_ended) return;
  CloudMachine& machine = found->second;
  machine.worker = begin_worker(machine.order);
  if (!has(CloudTroubleKind::boots_twice) || machine.copy != nullptr) return;
  // Each takes the name, and the items, from the other.
  stage_.auditor.expect_fence(name);
  machine.copy = begin_worker(machine.order);
  stage_.events.after(between(kSecond, kLongestCopyMs), [this, name, copy = machine.copy] {
    const auto still = machines_.find(name);
    if (still == machines_.end() || still->second.copy != copy) return;
    still->second.copy = nullptr;
    copy->end_for_good();
    stage_.remove_machine(*copy);
  });
}

Result<void> FleetCloud::terminate(const std::string& name) {
  if (has(CloudTroubleKind::throttles)) return fail(ErrorCode::io, "too many requests");
  if (const auto stranger = strangers_.extract(name); stranger && stranger.mapped().is_foreign) {
    stage_.auditor.fail(concat("machine ", name, ": terminated, and it is somebody else's"));
  }
  const auto found = machines_.find(name);
  if (found == machines_.end() || found->second.is_ending) return {};
  on_terminate(name);
  found->second.is_ending = true;
  end_workers(found->second);
  stage_.events.after(random_.one_in(2) ? 0 : between(0, kMinute), [this, name] { remove(name); });
  return {};
}

Result<MachineList> FleetCloud::list(const std::string& fleet) {
  if (has(CloudTroubleKind::throttles)) return fail(ErrorCode::io, "too many requests");
  MachineList out{.machines = {}, .is_exact = is_exact_};
  for (auto& [name, machine] : machines_) {
    if (machine.order.fleet != fleet) continue;
    machine.was_listed = is_exact_ || is_listed(name, machine);
    if (!machine.was_listed) continue;
    out.machines.push_back({name, machine.id, machine.has_ended || machine.is_ending, machine.note});
  }
  std::erase_if(shadows_, [&](const auto& it) { return it.second.until_ms <= stage_.events.now_ms(); });
  for (const auto& [name, it] : shadows_) {
    if (it.fleet == fleet) out.machines.push_back(it.listed);
  }
  if (has(CloudTroubleKind::strangers) && random_.one_in(4)) add_stranger(fleet);
  for (const auto& [name, it] : strangers_) {
    if (it.fleet == fleet) out.machines.push_back(it.listed);
  }
  return out;
}

// A list that lags omits nothing for longer than half a minute: nobody may miss that.
bool FleetCloud::is_listed(const std::string& name, CloudMachine& machine) {
  const std::int64_t now_ms = stage_.events.now_ms();
  if (!has(CloudTroubleKind::omits)) {
    machine.is_hidden = false;
  } else if (random_.one_in(4)) {
    machine.is_hidden = !machine.is_hidden;
    // What it runs may run elsewhere too.
    stage_.auditor.expect_fence(name);
  }
  const bool may_lag = has(CloudTroubleKind::lags) && machine.was_listed && now_ms >= machine.omitted_until_ms;
  if (may_lag && random_.one_in(4)) machine.omitted_until_ms = now_ms + between(kSecond, kLongestLagMs);
  return !machine.is_hidden && now_ms >= machine.omitted_until_ms;
}

void FleetCloud::add_stranger(const std::string& fleet) {
  Stranger it{.fleet = fleet, .listed = {machine_name(fleet, random_.next()), "i-0"}};
  it.is_foreign = random_.one_in(2);
  if (it.is_foreign && random_.one_in(2)) {
    it.listed.name = concat("stranger-", random_.below(1000));
  } else if (it.is_foreign || random_.one_in(2)) {
    it.listed.fleet = it.is_foreign ? "another" : fleet;
  }
  strangers_.emplace(it.listed.name, it);
}

void FleetCloud::end_workers(CloudMachine& machine) {
  for (SimWorker* worker : {machine.worker, machine.copy}) {
    if (worker == nullptr) continue;
    worker->end_for_good();
    stage_.remove_machine(*worker);
  }
  machine.worker = machine.copy = nullptr;
}

void FleetCloud::remove(const std::string& name) {
  const auto found = machines_.find(name);
  if (found == machines_.end()) return;
  end_workers(found->second);
  if (has(CloudTroubleKind::lags) && !is_exact_) {
    shadows_[name] = {.fleet = found->second.order.fleet,
                      .listed = {name, found->second.id, random_.one_in(2), "its provider has ended it"},
                      .until_ms = stage_.events.now_ms() + between(0, kMinute)};
  }
  machines_.erase(found);
}

void FleetCloud::begin(const CloudTrouble& trouble) {
  ++troubles_[trouble.kind];
  stage_.events.after(trouble.for_ms, [this, kind = trouble.kind] {
    --troubles_[kind];
    if (kind == CloudTroubleKind::strangers && !has(kind)) strangers_.clear();
  });
}

void FleetCloud::strike(const MachineTrouble& trouble) {
  std::vector<std::string> there;
  for (const auto& [name, machine] : machines_) {
    const bool needs_worker = trouble.kind > MachineTroubleKind::stops;
    if ((machine.worker != nullptr || !needs_worker) && !machine.has_ended) there.push_back(name);
  }
  if (there.empty()) return;
  const std::string name = there[trouble.which % there.size()];
  CloudMachine& machine = machines_.at(name);
  switch (trouble.kind) {
    case MachineTroubleKind::vanishes: return remove(name);
    case MachineTroubleKind::stops:
      machine.has_ended = true;
      machine.note = "its provider has stopped it";
      return end_workers(machine);
    case MachineTroubleKind::restarts: return machine.worker->crash(trouble.in_ms);
    case MachineTroubleKind::taken_away:
    case MachineTroubleKind::to_be_removed:
      machine.worker->interrupt(trouble.kind == MachineTroubleKind::taken_away ? trouble.in_ms : 0);
      stage_.events.after(trouble.in_ms, [this, name] { remove(name); });
      return;
  }
}

std::set<std::string> FleetCloud::machines_of(const std::string& fleet) const {
  std::set<std::string> out;
  for (const auto& [name, machine] : machines_) {
    if (machine.order.fleet == fleet && !machine.has_ended && !machine.is_ending) out.insert(name);
  }
  return out;
}

// What calls an exact cloud while the server restarts is not in the list that the new one gets.
std::set<std::string> FleetCloud::machines_to_appear(const std::string& fleet) const {
  std::set<std::string> out;
  if (is_exact_) return out;
  for (const std::string& name : machines_of(fleet)) {
    if (!machines_.at(name).is_hidden) out.insert(name);
  }
  return out;
}

}  // namespace drover::sim
