#include "server/fleet_keeper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "base/text.h"
#include "core/planner/draft.h"
#include "fleets/plan_commands.h"
#include "ports/entropy.h"

namespace drover {
namespace {

// Messages come and time passes without anybody's saying so.
constexpr std::chrono::milliseconds kLookAgain{500};
constexpr std::chrono::milliseconds kShortestPause{50};
// Where nothing is to be done for fleets, somebody may still look whether that is so.
constexpr std::chrono::seconds kIdlePause{30};

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
  const FleetPlan plan = draining_ ? plan_to_drain(*seen) : make_plan(seen->snapshot());
  auto changed = carry_out(plan);
  if (!changed) return pass(changed);
  if (*changed) {
    seen = look();
    if (!seen) return pass(seen);
  }
  give_to_lanes(*seen);
  forget_gone(seen->machines());
  is_drained_ = draining_ && !has_local_machines(*seen);
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

std::optional<Result<std::vector<Shape>>> FleetKeeper::shapes_for(const FleetRules& rules) const {
  const auto kind = outside_.kinds.find(kind_name(rules));
  if (kind == outside_.kinds.end()) return std::nullopt;
  auto offered = kind->second.shapes(rules.shapes);
  if (!offered) return Result<std::vector<Shape>>(pass(offered));
  std::vector<Shape> out;
  for (const OfferedShape& it : *offered) {
    out.push_back(it.shape);
    out.back().price = outside_.prices.price_of(it.shape.name, it.offered, rules.spot);
  }
  return Result<std::vector<Shape>>(std::move(out));
}

Result<FleetSurvey> FleetKeeper::look() {
  FleetSurvey survey(outside_.now_ms(), [this](const FleetRules& rules) { return shapes_for(rules); });
  while (const auto question = survey.next()) {
    if (auto taken = survey.take(outside_.ask(*question)); !taken) return pass(taken);
  }
  has_work_ = survey.has_work() || draining_;
  return survey;
}

bool FleetKeeper::has_local_machines(const FleetSurvey& seen) {
  return std::ranges::any_of(seen.machines(), [&](const Machine& it) {
    const FleetState* fleet = it.counts() ? seen.find(it.fleet) : nullptr;
    return fleet != nullptr && fleet->rules.provider == "local";
  });
}

FleetPlan FleetKeeper::plan_to_drain(const FleetSurvey& seen) {
  FleetSnapshot snapshot = seen.snapshot();
  snapshot.items.clear();
  std::erase_if(snapshot.fleets, [](const FleetState& it) { return it.rules.provider != "local"; });
  for (FleetState& it : snapshot.fleets) it.deleting = true;
  FleetPlan plan = make_plan(snapshot);
  for (PlannedDrain& it : plan.drains) it.reason = "the server is stopping";
  return plan;
}

void FleetKeeper::fence(const FleetSurvey& seen) {
  for (const Machine& it : seen.machines()) {
    if (it.state == MachineState::joined || it.state == MachineState::draining) (void)outside_.ask(Fence{it.name});
  }
}

Result<bool> FleetKeeper::carry_out(const FleetPlan& plan) {
  const std::vector<ScaleFleet> commands = scale_commands(plan, random_number);
  for (const ScaleFleet& command : commands) {
    auto done = outside_.ask(command);
    // It may have been deleted in between.
    if (!done && done.error().code != ErrorCode::not_found) return pass(done);
  }
  return !commands.empty();
}

void FleetKeeper::give_to_lanes(const FleetSurvey& seen) {
  std::map<std::string, std::vector<Machine>> by_fleet;
  for (const Machine& it : seen.machines()) by_fleet[it.fleet].push_back(it);
  for (const FleetState& fleet : seen.snapshot().fleets) {
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
      return machine_labels(name, rules, it.shape, it.spot);
    });
  }
  std::erase_if(lanes_, [&](const auto& lane) { return seen.find(lane.first) == nullptr; });
}

Result<std::vector<std::string>> FleetKeeper::explain(const std::string& name) {
  auto seen = look();
  if (!seen) return pass(seen);
  const FleetState* fleet = seen->find(name);
  if (fleet == nullptr) {
    return fail(ErrorCode::not_found, concat("fleet '", name, "' not found"), "list fleets with 'drover fleet list'");
  }
  return explained(make_plan(seen->snapshot()), *fleet);
}

}  // namespace drover
