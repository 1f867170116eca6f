#include "server/fleet_keeper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <tuple>

#include "base/entropy.h"
#include "base/text.h"
#include "base/units.h"
#include "core/planner/draft.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace {

// Messages come and time passes without anybody's saying so.
constexpr std::chrono::milliseconds kLookAgain{500};
constexpr std::chrono::milliseconds kShortestPause{50};
// Where nothing is to be done for fleets, somebody may still look whether that is so.
constexpr std::chrono::seconds kIdlePause{30};
constexpr std::size_t kLongestFleetPart = 100;

MachinePhase phase_of(MachineState state) {
  switch (state) {
    case MachineState::requested:
    case MachineState::starting: return MachinePhase::coming;
    case MachineState::joined: return MachinePhase::joined;
    case MachineState::draining: return MachinePhase::draining;
    case MachineState::leaving: return MachinePhase::ending;
    case MachineState::gone: return MachinePhase::gone;
  }
  return MachinePhase::gone;
}

PlannedMachine planned(const MachineView& it) {
  return {.name = it.machine.name,
          .fleet = it.machine.fleet,
          .shape = it.machine.shape,
          .has = it.machine.has,
          .phase = phase_of(it.machine.state),
          .requested_ms = it.machine.requested_ms,
          .joined_ms = it.machine.joined_ms,
          .since_ms = it.machine.since_ms,
          .used = it.used,
          .items = it.items,
          .work_ms = it.work_ms,
          .free_since_ms = it.free_since_ms};
}

/// Jobs whose items a planner cannot tell apart count together.
class ItemSums {
 public:
  void add(const JobDemand& job) {
    if (job.waiting + job.in_hands == 0) return;
    auto& sum = sums_[{job.ask, job.require, job.queue, job.fleets, job.item_ms}];
    sum.first += job.waiting;
    sum.second += job.in_hands;
  }
  std::vector<WaitingItems> take() const {
    std::vector<WaitingItems> out;
    for (const auto& [key, sum] : sums_) {
      const auto& [ask, require, queue, fleets, item_ms] = key;
      out.push_back({.ask = ask,
                     .require = require,
                     .queue = queue,
                     .fleets = fleets,
                     .waiting = sum.first,
                     .in_hands = sum.second,
                     .item_ms = item_ms});
    }
    return out;
  }

 private:
  using Key = std::tuple<Resources, Labels, std::string, std::vector<std::string>, std::int64_t>;
  std::map<Key, std::pair<std::uint64_t, std::uint64_t>> sums_;
};

/// As kinds of providers are called: those that run programs have the names of these.
std::string kind_name(const FleetRules& rules) {
  return rules.provider == "command" ? concat("command ", rules.command) : rules.provider;
}

std::string why_unknown(const FleetRules& rules) {
  if (rules.provider == "none") return "provider 'none' launches nothing: its machines join by themselves";
  if (rules.provider != "command") return concat("provider '", rules.provider, "' is not available on this server");
  return concat("the server knows no command '", rules.command, "': start it with --fleet-command ", rules.command,
                "=PROGRAM");
}

std::string new_machine_name(const std::string& fleet) {
  std::string number;
  for (std::uint64_t rest = random_number() >> 16; number.size() < 12; rest >>= 4)
    number += "0123456789abcdef"[rest & 15];
  return concat(fleet.substr(0, kLongestFleetPart), "-", number);
}

}  // namespace

FleetKeeper::FleetKeeper(Outside outside) : outside_(std::move(outside)), thread_([this] { run(); }) {}

FleetKeeper::~FleetKeeper() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

void FleetKeeper::wake() {
  if (!has_work_) return;
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  wakes_.notify_all();
}

void FleetKeeper::fleets_changed() {
  has_work_ = true;
  wake();
}

void FleetKeeper::drain_local() {
  draining_ = true;
  fleets_changed();
}

void FleetKeeper::fence_local() {
  fencing_ = true;
  fleets_changed();
}

// However much is to be asked, the core has more time for others.
void FleetKeeper::run() {
  using Clock = std::chrono::steady_clock;
  auto not_before = Clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto pause = has_work_ ? Clock::duration(kLookAgain) : Clock::duration(kIdlePause);
      wakes_.wait_for(lock, pause, [this] { return stopping_ || woken_; });
      wakes_.wait_until(lock, not_before, [this] { return stopping_; });
      if (stopping_) break;
      woken_ = false;
    }
    const auto begun = Clock::now();
    const auto done = round();
    const std::string trouble = done ? "" : done.error().message;
    if (!trouble.empty() && trouble != last_trouble_)
      outside_.machines.notice(concat("fleets cannot be planned: ", trouble));
    last_trouble_ = trouble;
    not_before = Clock::now() + std::max<Clock::duration>(kShortestPause, 5 * (Clock::now() - begun));
  }
  lanes_.clear();
}

Result<void> FleetKeeper::round() {
  auto seen = look();
  if (!seen) return pass(seen);
  if (fencing_.exchange(false)) fence(*seen);
  const FleetPlan plan = draining_ ? plan_to_drain(*seen) : make_plan(seen->snapshot);
  auto changed = carry_out(plan);
  if (!changed) return pass(changed);
  if (*changed) {
    seen = look();
    if (!seen) return pass(seen);
  }
  give_to_lanes(*seen);
  forget_gone(seen->machines);
  is_drained_ = seen->is_drained;
  return {};
}

void FleetKeeper::forget_gone(const std::vector<Machine>& machines) {
  std::set<std::string> gone;
  for (const Machine& it : machines) {
    if (it.state != MachineState::gone) continue;
    gone.insert(it.name);
    if (!forgotten_.contains(it.name)) outside_.forget(it.name);
  }
  forgotten_ = std::move(gone);
}

Result<FleetKeeper::Seen> FleetKeeper::look() {
  Seen out;
  out.snapshot.now_ms = outside_.now_ms();
  ItemSums items;
  AskFleets question;
  for (bool is_first = true; question.want_machines || question.want_jobs; is_first = false) {
    auto effect = outside_.ask(question);
    if (!effect) return pass(effect);
    auto& page = std::get<FleetsNow>(*effect);
    if (is_first) {
      for (const Fleet& it : page.fleets) out.snapshot.fleets.push_back(state_of(it));
    }
    for (MachineView& it : page.machines) {
      question.machines_after = it.machine.name;
      out.snapshot.machines.push_back(planned(it));
      out.machines.push_back(std::move(it.machine));
    }
    for (const JobDemand& it : page.jobs) {
      question.jobs_after = it.job;
      items.add(it);
    }
    question.want_machines = page.more_machines;
    // Without a provider there is nothing that they could ask for.
    const bool is_of_use =
        std::ranges::any_of(out.snapshot.fleets, [](const FleetState& it) { return it.unavailable.empty(); });
    has_work_ = is_of_use || !out.machines.empty() || draining_;
    question.want_jobs = page.more_jobs && is_of_use;
  }
  out.snapshot.items = items.take();
  if (auto asked = ask_streams(out.snapshot); !asked) return pass(asked);
  out.is_drained = draining_ && std::ranges::none_of(out.machines, [&](const Machine& it) {
                     return it.counts() && std::ranges::any_of(out.snapshot.fleets, [&](const FleetState& fleet) {
                              return fleet.name == it.fleet && fleet.rules.provider == "local";
                            });
                   });
  return out;
}

Result<void> FleetKeeper::ask_streams(FleetSnapshot& snapshot) {
  std::set<std::string> wanted;
  for (const FleetState& it : snapshot.fleets) {
    if (!it.rules.stream.empty() && it.unavailable.empty()) wanted.insert(it.rules.stream);
  }
  for (const std::string& name : wanted) {
    auto effect = outside_.ask(AskStreams{.stream = name});
    if (!effect && effect.error().code == ErrorCode::not_found) continue;  // it is as good as empty
    if (!effect) return pass(effect);
    for (const StreamView& it : std::get<StreamsNow>(*effect).streams) {
      snapshot.streams[name] = {.visible = it.visible, .in_flight = it.in_flight};
    }
  }
  return {};
}

FleetState FleetKeeper::state_of(const Fleet& fleet) const {
  FleetState out{.name = fleet.name,
                 .paused = fleet.paused,
                 .deleting = fleet.deleting,
                 .not_before_ms = fleet.not_before_ms,
                 .trouble = fleet.trouble};
  auto rules = fleet_rules_from_json(fleet.text);
  if (!rules) {
    out.unavailable = concat("its settings cannot be used: ", rules.error().message);
    return out;
  }
  out.rules = std::move(*rules);
  const auto kind = outside_.kinds.find(kind_name(out.rules));
  if (kind == outside_.kinds.end()) {
    out.unavailable = why_unknown(out.rules);
    return out;
  }
  const auto shapes = kind->second.shapes();
  if (!shapes) {
    out.unavailable = concat("the shapes of its machines are not known: ", shapes.error().message);
    return out;
  }
  const auto add = [&](const OfferedShape& it) {
    out.shapes.push_back(it.shape);
    out.shapes.back().price = outside_.prices.price_of(it.shape.name, it.offered, out.rules.spot);
  };
  if (out.rules.shapes.empty()) std::ranges::for_each(*shapes, add);
  for (const std::string& name : out.rules.shapes) {
    const auto found = std::ranges::find(*shapes, name, [](const OfferedShape& it) { return it.shape.name; });
    if (found != shapes->end()) add(*found);
  }
  if (!out.shapes.empty()) return out;
  std::string known;
  for (const OfferedShape& it : *shapes) known += concat(known.empty() ? "" : ", ", it.shape.name);
  out.unavailable = concat("provider '", out.rules.provider, "' has none of the fleet's shapes; it has ", known);
  return out;
}

FleetPlan FleetKeeper::plan_to_drain(const Seen& seen) {
  FleetSnapshot snapshot = seen.snapshot;
  snapshot.items.clear();
  std::erase_if(snapshot.fleets, [](const FleetState& it) { return it.rules.provider != "local"; });
  for (FleetState& it : snapshot.fleets) it.deleting = true;
  FleetPlan plan = make_plan(snapshot);
  for (PlannedDrain& it : plan.drains) it.reason = "the server is stopping";
  return plan;
}

void FleetKeeper::fence(const Seen& seen) {
  for (const Machine& it : seen.machines) {
    if (it.state == MachineState::joined || it.state == MachineState::draining) (void)outside_.ask(Fence{it.name});
  }
}

Result<bool> FleetKeeper::carry_out(const FleetPlan& plan) {
  std::map<std::string, ScaleFleet> commands;
  for (const PlannedDrain& it : plan.drains) commands[it.fleet].drains.push_back({it.machine, it.reason});
  for (const PlannedLaunch& it : plan.launches) {
    commands[it.fleet].launches.push_back(
        {new_machine_name(it.fleet), it.shape.name, it.shape.has, it.reason, it.shape.price});
  }
  for (auto& [fleet, command] : commands) {
    command.fleet = fleet;
    auto done = outside_.ask(std::move(command));
    // It may have been deleted in between.
    if (!done && done.error().code != ErrorCode::not_found) return pass(done);
  }
  return !commands.empty();
}

void FleetKeeper::give_to_lanes(const Seen& seen) {
  std::map<std::string, std::vector<Machine>> by_fleet;
  for (const Machine& it : seen.machines) by_fleet[it.fleet].push_back(it);
  for (const FleetState& fleet : seen.snapshot.fleets) {
    const auto kind = outside_.kinds.find(kind_name(fleet.rules));
    // Machines of the provider that it had before are still looked after.
    if (kind == outside_.kinds.end() && !lanes_.contains(fleet.name)) continue;
    auto& lane = lanes_[fleet.name];
    if (lane == nullptr) {
      MachineReconciler::Outside outside = outside_.machines;
      outside.tell = [this](const MachineNews& news) -> Result<void> {
        auto done = outside_.ask(news);
        wake();
        if (!done && done.error().code != ErrorCode::not_found) return pass(done);
        return {};
      };
      lane = std::make_unique<FleetLane>(kind->second.make(fleet.name), std::move(outside));
    }
    lane->give(by_fleet[fleet.name], [name = fleet.name, rules = fleet.rules](const Machine& it) {
      return machine_labels(name, rules, it.shape);
    });
  }
  std::erase_if(lanes_, [&](const auto& lane) {
    return std::ranges::find(seen.snapshot.fleets, lane.first, &FleetState::name) == seen.snapshot.fleets.end();
  });
}

Result<std::vector<std::string>> FleetKeeper::explain(const std::string& name) {
  auto seen = look();
  if (!seen) return pass(seen);
  const auto fleet = std::ranges::find(seen->snapshot.fleets, name, &FleetState::name);
  if (fleet == seen->snapshot.fleets.end()) {
    return fail(ErrorCode::not_found, concat("fleet '", name, "' not found"), "list fleets with 'drover fleet list'");
  }
  const FleetPlan plan = make_plan(seen->snapshot);
  std::vector<std::string> out;
  std::map<std::pair<std::string, std::string>, std::uint64_t> launches;
  for (const PlannedLaunch& it : plan.launches) {
    if (it.fleet == name) ++launches[{it.shape.name, it.reason}];
  }
  for (const auto& [what, count] : launches) {
    out.push_back(concat("launch ", plural(count, "machine"), " of shape '", what.first, "': ", what.second));
  }
  for (const PlannedDrain& it : plan.drains) {
    if (it.fleet == name) out.push_back(concat("drain ", it.machine, ": ", it.reason));
  }
  for (const PlanNote& it : plan.notes) {
    if (it.fleet == name) out.push_back(it.text);
  }
  if (out.empty()) out.push_back(fleet->unavailable.empty() ? "nothing to do" : fleet->unavailable);
  return out;
}

}  // namespace drover
