#include "fleets/fleet_survey.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "fleets/fleet_shapes.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace {

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
  const Machine& machine = *it.machine;
  return {.name = machine.name,
          .fleet = machine.fleet,
          .shape = machine.shape,
          .has = it.has,
          .spot = machine.spot,
          .phase = phase_of(machine.state),
          .is_unanswered = machine.state == MachineState::requested,
          .requested_ms = machine.requested_ms,
          .joined_ms = machine.joined_ms,
          .since_ms = machine.since_ms,
          .used = it.used,
          .items = it.items,
          .work_ms = it.work_ms,
          .free_since_ms = it.free_since_ms,
          .receipts_since_ms = it.receipts_since_ms,
          .quarantine = it.quarantine,
          .labels = it.labels ? std::optional(*it.labels) : std::nullopt};
}

}  // namespace

FleetSurvey::FleetSurvey(std::int64_t now_ms, ShapesOf shapes) : shapes_(std::move(shapes)) {
  snapshot_.now_ms = now_ms;
}

std::optional<Command> FleetSurvey::next() const {
  if (page_.want_machines || page_.want_jobs) return page_;
  if (!streams_.empty()) return AskStreams{.stream = *streams_.begin()};
  return std::nullopt;
}

Result<void> FleetSurvey::take(Result<Effect> answer) {
  if (page_.want_machines || page_.want_jobs) {
    if (!answer) return pass(answer);
    take_page(std::get<FleetsNow>(*answer));
    return {};
  }
  const std::string stream = std::move(streams_.extract(streams_.begin()).value());
  if (!answer && answer.error().code == ErrorCode::not_found) return {};  // it is as good as empty
  if (!answer) return pass(answer);
  for (const StreamView& it : std::get<StreamsNow>(*answer).streams) {
    snapshot_.streams[stream] = {.visible = it.visible, .in_flight = it.in_flight};
  }
  return {};
}

void FleetSurvey::take_page(const FleetsNow& page) {
  if (std::exchange(is_first_page_, false)) {
    for (const Fleet& it : page.fleets) snapshot_.fleets.push_back(state_of(it));
    is_of_use_ = std::ranges::any_of(snapshot_.fleets, &FleetState::has_known_shapes);
  }
  for (const MachineView& it : page.machines) {
    page_.machines_after = it.machine->name;
    snapshot_.machines.push_back(planned(it));
    machines_.push_back(it.machine);
  }
  for (const JobDemand& it : page.jobs) {
    page_.jobs_after = it.job;
    add(it);
  }
  page_.want_machines = page.more_machines;
  // Without a provider there is nothing that jobs could ask for.
  page_.want_jobs = page.more_jobs && is_of_use_;
  if (!page_.want_machines && !page_.want_jobs) end_pages();
}

void FleetSurvey::add(const JobDemand& job) {
  if (job.waiting + job.in_hands == 0) return;
  const auto count_of = [&](SpotUse use) -> ItemCount& {
    return items_[{job.ask, job.require, job.queue, job.fleets, use, job.spot.on_demand_after_ms, job.item_ms > 0}];
  };
  count_of(job.spot.use).add(job.waiting - job.sheltered, job.in_hands, job.item_ms);
  if (job.sheltered > 0) count_of(SpotUse::never).add(job.sheltered, 0, job.item_ms);
}

void FleetSurvey::ItemCount::add(std::uint64_t more_waiting, std::uint64_t more_in_hands, std::int64_t item_ms) {
  waiting += more_waiting;
  in_hands += more_in_hands;
  work_ms += static_cast<double>(more_waiting + more_in_hands) * static_cast<double>(item_ms);
}

std::int64_t FleetSurvey::ItemCount::mean_ms() const {
  if (work_ms <= 0) return 0;
  return std::max<std::int64_t>(std::llround(work_ms / static_cast<double>(waiting + in_hands)), 1);
}

void FleetSurvey::end_pages() {
  for (const auto& [kind, count] : items_) {
    const auto& [ask, require, queue, fleets, spot, on_demand_after_ms, has_known_length] = kind;
    snapshot_.items.push_back({.ask = ask,
                               .require = require,
                               .queue = queue,
                               .fleets = fleets,
                               .spot = spot,
                               .on_demand_after_ms = on_demand_after_ms,
                               .waiting = count.waiting,
                               .in_hands = count.in_hands,
                               .item_ms = count.mean_ms()});
  }
  for (const FleetState& it : snapshot_.fleets) {
    if (!it.rules.stream.empty() && it.unavailable.empty()) streams_.insert(it.rules.stream);
  }
}

const FleetState* FleetSurvey::find(const std::string& fleet) const {
  const auto found = std::ranges::find(snapshot_.fleets, fleet, &FleetState::name);
  return found == snapshot_.fleets.end() ? nullptr : &*found;
}

FleetState FleetSurvey::state_of(const Fleet& fleet) const {
  FleetState out{.name = fleet.name,
                 .provider = fleet.provider,
                 .paused = fleet.paused,
                 .deleting = fleet.deleting,
                 .may_have_machines = fleet.has_launched,
                 .not_before_ms = fleet.not_before_ms,
                 .trouble = fleet.trouble,
                 .spot_not_before_ms = fleet.spot_not_before_ms,
                 .spot_trouble = fleet.spot_trouble,
                 .spot_failing_since_ms = fleet.spot_failing_since_ms};
  if (fleet.scaled_to >= 0) out.scaled_to = static_cast<std::uint64_t>(fleet.scaled_to);
  auto rules = fleet_rules_from_json(fleet.text);
  if (!rules) {
    out.is_unreadable = true;
    out.has_known_shapes = false;
    out.unavailable = concat("its settings cannot be read: ", rules.error().message);
    return out;
  }
  out.rules = std::move(*rules);
  if (out.provider.empty()) out.provider = kind_name(out.rules);
  FleetShapes shapes = fleet_shapes(out.rules, shapes_(out.rules));
  out.shapes = std::move(shapes.shapes);
  out.has_known_shapes = shapes.are_known;
  out.unavailable = std::move(shapes.unavailable);
  return out;
}

}  // namespace drover
