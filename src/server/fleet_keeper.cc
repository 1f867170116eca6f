#include "server/fleet_keeper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "base/text.h"
#include "core/planner/draft.h"
#include "fleets/fleet_shapes.h"
#include "fleets/plan_commands.h"
#include "ports/entropy.h"
#include "wire/fleet_rules.h"

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
  end_all_lanes();
}

Result<void> FleetKeeper::round() {
  auto seen = look();
  if (!seen) return pass(seen);
  if (fencing_.exchange(false)) fence(*seen);
  const FleetPlan plan = draining_ ? plan_to_drain(*seen) : make_plan(seen->snapshot());
  auto changed = carry_out(plan, *seen);
  if (!changed) return pass(changed);
  if (*changed) {
    seen = look();
    if (!seen) return pass(seen);
  }
  give_to_lanes(*seen);
  forget_gone(*seen);
  is_drained_ = draining_ && !has_local_machines(*seen);
  return {};
}

void FleetKeeper::forget_gone(const FleetSurvey& seen) {
  std::set<std::string> gone;
  for (const Machine& it : seen.machines()) {
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
  const bool is_deleting = std::ranges::any_of(survey.snapshot().fleets, &FleetState::deleting);
  has_work_ = survey.has_work() || draining_ || is_deleting;
  return survey;
}

bool FleetKeeper::is_local(const FleetSurvey& seen, const Machine& machine) {
  const FleetState* fleet = seen.find(machine.fleet);
  return fleet != nullptr && fleet->provider == "local";
}

bool FleetKeeper::has_local_machines(const FleetSurvey& seen) {
  return std::ranges::any_of(seen.machines(), [&](const Machine& it) { return it.counts() && is_local(seen, it); });
}

FleetPlan FleetKeeper::plan_to_drain(const FleetSurvey& seen) {
  FleetSnapshot snapshot = seen.snapshot();
  snapshot.items.clear();
  std::erase_if(snapshot.fleets, [](const FleetState& it) { return it.provider != "local"; });
  for (FleetState& it : snapshot.fleets) it.deleting = true;
  FleetPlan plan = make_plan(snapshot);
  for (PlannedDrain& it : plan.drains) it.reason = "the server is stopping";
  return plan;
}

void FleetKeeper::fence(const FleetSurvey& seen) {
  for (const Machine& it : seen.machines()) {
    const bool holds_items = it.state == MachineState::joined || it.state == MachineState::draining;
    if (holds_items && is_local(seen, it)) (void)outside_.ask(Fence{it.name});
  }
}

Result<bool> FleetKeeper::carry_out(const FleetPlan& plan, const FleetSurvey& seen) {
  std::vector<ScaleFleet> commands = scale_commands(plan, random_number);
  for (ScaleFleet& command : commands) {
    if (const FleetState* fleet = seen.find(command.fleet)) command.provider = fleet->provider;
    auto done = outside_.ask(command);
    // It may have been deleted in between.
    if (!done && done.error().code != ErrorCode::not_found) return pass(done);
  }
  return !commands.empty();
}

// Machines of the provider that a fleet had before are still looked after.
void FleetKeeper::give_to_lanes(const FleetSurvey& seen) {
  reap_lanes();
  std::map<std::string, std::vector<MachineRecord>> by_fleet;
  for (const MachineRecord& it : seen.records()) by_fleet[it->fleet].push_back(it);
  for (const FleetState& fleet : seen.snapshot().fleets) {
    std::vector<MachineRecord>& records = by_fleet[fleet.name];
    const bool has_machines = std::ranges::any_of(machines_of(records), &Machine::counts);
    const std::string& kind = fleet.provider;
    const auto here = outside_.kinds.find(kind);
    if (const auto lane = lanes_.find(fleet.name); lane != lanes_.end() && lane->second.kind != kind && !has_machines) {
      end_lane(fleet.name);
    }
    if (!lanes_.contains(fleet.name)) {
      // Nobody here can ask its provider.
      if (here == outside_.kinds.end() && fleet.deleting && !has_machines) (void)outside_.ask(FleetEmptied{fleet.name});
      if (here == outside_.kinds.end()) continue;
      if (ending_.contains(fleet.name)) continue;  // a provider is asked one thing at a time
      lanes_[fleet.name] = {kind, make_lane(fleet.name, here->second)};
    }
    lanes_[fleet.name].lane->give(
        {.records = std::move(records),
         .labels = [name = fleet.name,
                    rules = fleet.rules](const Machine& it) { return machine_labels(name, rules, it.shape, it.spot); },
         .is_deleting = fleet.deleting,
         .may_have_others = fleet.may_have_machines});
  }
  std::vector<std::string> ended;
  for (const auto& [fleet, lane] : lanes_) {
    if (seen.find(fleet) == nullptr) ended.push_back(fleet);
  }
  for (const std::string& fleet : ended) end_lane(fleet);
}

std::unique_ptr<FleetLane> FleetKeeper::make_lane(const std::string& fleet, const Kind& kind) {
  MachineReconciler::Outside outside = outside_.machines;
  const auto tell = [this](const Command& news) -> Result<void> {
    auto done = outside_.ask(news);
    wake();
    if (!done && done.error().code != ErrorCode::not_found) return pass(done);
    return {};
  };
  outside.join_token = kind.join_token;
  outside.tell = tell;
  outside.tell_empty = [tell, fleet] { return tell(FleetEmptied{fleet}); };
  return std::make_unique<FleetLane>(
      fleet, [&](const std::stop_token& stop) { return kind.make(fleet, stop); }, std::move(outside),
      [this, fleet](std::vector<std::string> troubles) {
        const std::scoped_lock lock(troubles_mutex_);
        troubles_[fleet] = std::move(troubles);
      });
}

// Its script is killed, which may take a moment: meanwhile the other fleets go on.
void FleetKeeper::end_lane(const std::string& fleet) {
  auto lane = lanes_.extract(fleet);
  lane.mapped().lane->stop();
  ending_.emplace(fleet, std::move(lane.mapped().lane));
  const std::scoped_lock lock(troubles_mutex_);
  troubles_.erase(fleet);
}

void FleetKeeper::reap_lanes() {
  std::erase_if(ending_, [](const auto& it) { return it.second->has_stopped(); });
}

// All are stopped before one is waited for.
void FleetKeeper::end_all_lanes() {
  for (const auto& [fleet, lane] : lanes_) lane.lane->stop();
  lanes_.clear();
  ending_.clear();
}

std::vector<std::string> FleetKeeper::troubles(const std::string& fleet, const FleetRules& rules) const {
  std::vector<std::string> out;
  const auto offered = shapes_for(rules);
  const bool is_still_asked = offered && !*offered && offered->error().code == ErrorCode::stopped;
  if (rules.provider != "none" && !is_still_asked) {
    FleetShapes shapes = fleet_shapes(rules, offered);
    if (shapes.missing.empty()) shapes.missing = std::move(shapes.unavailable);
    if (!shapes.missing.empty()) out.push_back(std::move(shapes.missing));
  }
  const std::scoped_lock lock(troubles_mutex_);
  if (const auto found = troubles_.find(fleet); found != troubles_.end()) {
    out.insert(out.end(), found->second.begin(), found->second.end());
  }
  return out;
}

Result<std::vector<std::string>> FleetKeeper::explain(const std::string& name) {
  auto seen = look();
  if (!seen) return pass(seen);
  const FleetState* fleet = seen->find(name);
  if (fleet == nullptr) {
    return fail(ErrorCode::not_found, concat("fleet '", name, "' not found"), "list fleets with 'drover fleet list'");
  }
  std::vector<std::string> out = explained(make_plan(seen->snapshot()), *fleet);
  FleetShapes shapes = fleet_shapes(fleet->rules, shapes_for(fleet->rules));
  if (!shapes.missing.empty() && shapes.unavailable.empty()) out.push_back(std::move(shapes.missing));
  return out;
}

}  // namespace drover
