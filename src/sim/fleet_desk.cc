#include "sim/fleet_desk.h"

#include <algorithm>

#include "core/planner/draft.h"
#include "fleets/machine_name.h"
#include "fleets/plan_commands.h"
#include "sim/stage.h"
#include "sim/times.h"
#include "wire/fleet_rules.h"

namespace drover::sim {
namespace {

// The server looks more often, which would only cost time here: what matters wakes it.
constexpr std::int64_t kDeskLookMs = 10 * kSecond;
constexpr std::int64_t kDeskIdleMs = 2 * kMinute;

}  // namespace

FleetDesk::FleetDesk(Stage& stage, FleetCloud& cloud, FleetAudit& audit)
    : stage_(stage),
      cloud_(cloud),
      audit_(audit),
      calls_(
          stage.auditor, [&stage] { return stage.events.now_ms(); },
          [&audit](const std::string& machine) { return audit.find(machine); }),
      random_(stage.script.seed ^ 0x6465736b) {}

void FleetDesk::begin() {
  if (has_begun_) return;
  has_begun_ = true;
  look_at(stage_.events.now_ms());
}

void FleetDesk::wake() {
  if (!has_begun_) return;
  if (is_busy_) {
    is_woken_ = true;
  } else {
    look_at(stage_.events.now_ms() + 50 + static_cast<std::int64_t>(random_.below(1000)));
  }
}

void FleetDesk::look_at(std::int64_t at_ms) {
  if (next_look_ms_ && *next_look_ms_ <= at_ms) return;
  next_look_ms_ = at_ms;
  stage_.events.at(at_ms, [this, at_ms] {
    if (next_look_ms_ != at_ms) return;
    next_look_ms_.reset();
    begin_round();
  });
}

void FleetDesk::server_stopped() {
  is_busy_ = false;
  survey_.reset();
  lanes_.clear();
  calls_.server_stopped();
  if (has_begun_) look_at(stage_.events.now_ms() + kDeskLookMs);
}

void FleetDesk::crash_at_launch(const CrashAtLaunch& how) {
  crash_ = how;
  stage_.events.after(CrashAtLaunch::kWaitsMs, [this] { crash_.reset(); });
}

void FleetDesk::later(std::int64_t delay_ms, std::function<void()> what) {
  stage_.events.after(delay_ms, [this, server = stage_.server.generation(), what = std::move(what)] {
    if (stage_.server.up() && stage_.server.generation() == server) what();
  });
}

void FleetDesk::ask(const Command& command, std::function<void(Result<Effect>)> then) {
  stage_.server.request(command, [then = std::move(then)](const Effect& effect) {
    const auto* refused = std::get_if<Refused>(&effect);
    then(refused == nullptr ? Result<Effect>(effect) : Result<Effect>(std::unexpected(refused->error)));
  });
}

void FleetDesk::begin_round() {
  if (is_busy_) return;
  if (!stage_.server.up()) return look_at(stage_.events.now_ms() + kDeskLookMs);
  is_busy_ = true;
  is_woken_ = false;
  audit_.surveying();
  survey([this] { plan(); });
}

void FleetDesk::survey(std::function<void()> then) {
  survey_.emplace(stage_.server.clock_ms(),
                  [this](const FleetRules& rules) -> std::optional<Result<std::vector<Shape>>> {
                    if (kind_name(rules) != "command cloud") return std::nullopt;
                    return cloud_.shapes(rules.spot);
                  });
  survey_next(then);
}

void FleetDesk::survey_next(const std::function<void()>& then) {
  const auto question = survey_->next();
  if (!question) return then();
  ask(*question, [this, then](Result<Effect> answer) {
    if (const auto taken = survey_->take(std::move(answer)); !taken) {
      stage_.auditor.fail("the core does not say what a plan needs: " + taken.error().message);
      return;
    }
    survey_next(then);
  });
}

void FleetDesk::plan() {
  const FleetPlan plan = make_plan(survey_->snapshot());
  audit_.planned(survey_->snapshot(), plan);
  const auto commands = scale_commands(plan, [this] { return random_.next(); });
  if (commands.empty()) {
    give_to_lanes();
    return end_round();
  }
  scale({commands.begin(), commands.end()});
}

void FleetDesk::scale(std::deque<ScaleFleet> commands) {
  if (commands.empty()) {
    return survey([this] {
      give_to_lanes();
      end_round();
    });
  }
  ScaleFleet command = std::move(commands.front());
  commands.pop_front();
  if (random_.one_in(16)) repeat_later(command);
  if (random_.one_in(16)) take_a_name(command);
  // Planning takes a while, and others come in between.
  const bool is_slow = random_.one_in(8);
  if (is_slow) on_slow_plan(command.fleet);
  const std::uint64_t most_ms = is_slow ? 20 * kSecond : 50;
  later(static_cast<std::int64_t>(random_.below(most_ms)), [this, command, commands = std::move(commands)] {
    audit_.scaling(command);
    ask(command, [this, command, commands](const Result<Effect>& answer) {
      if (answer) audit_.scaled(command, std::get<FleetScaled>(*answer));
      if (answer && std::get<FleetScaled>(*answer).drained > 0 && crash_ && !crash_->is_launched) {
        const std::int64_t down_ms = std::exchange(crash_, std::nullopt)->down_ms;
        later(0, [this, down_ms] { stage_.server.crash({CrashPoint::at_once, down_ms}); });
      }
      scale(commands);
    });
  });
}

// A plan that is out of date, for other machines: what no longer fits is left out.
void FleetDesk::repeat_later(ScaleFleet command) {
  for (auto& it : command.launches) it.machine = machine_name(command.fleet, random_.next());
  later(static_cast<std::int64_t>(random_.below(20 * kSecond)), [this, command = std::move(command)] {
    audit_.repeating(command);
    ask(command, [](const Result<Effect>&) {});
  });
}

// Names are random, and yet the core has the last word.
void FleetDesk::take_a_name(ScaleFleet& command) {
  if (command.launches.empty() || survey_->machines().empty()) return;
  command.launches.front().machine = survey_->machines()[random_.below(survey_->machines().size())].name;
}

void FleetDesk::end_round() {
  is_busy_ = false;
  const std::int64_t pause_ms = is_woken_ ? 100 : survey_->has_work() ? kDeskLookMs : kDeskIdleMs;
  look_at(stage_.events.now_ms() + pause_ms);
}

void FleetDesk::give_to_lanes() {
  std::map<std::string, std::vector<MachineRecord>> by_fleet;
  for (const MachineRecord& it : survey_->records()) by_fleet[it->fleet].push_back(it);
  for (const FleetState& fleet : survey_->snapshot().fleets) {
    auto& lane = lanes_[fleet.name];
    if (lane == nullptr) {
      lane = std::make_shared<FleetTurns>(
          fleet.name, [this] { return stage_.events.now_ms(); },
          [this, name = fleet.name](const ReconcilerCall& call) { perform(name, call); });
    }
    const std::shared_ptr<FleetTurns> kept = lane;
    kept->give({.records = std::move(by_fleet[fleet.name]),
                .labels = [name = fleet.name, rules = fleet.rules](
                              const Machine& it) { return machine_labels(name, rules, it.shape, it.spot); },
                .is_deleting = fleet.deleting,
                .may_have_others = fleet.may_have_machines});
  }
  std::erase_if(lanes_, [&](const auto& lane) { return survey_->find(lane.first) == nullptr; });
}

// What has reached the cloud is done, whether or not anybody hears of it.
void FleetDesk::perform(const std::string& fleet, const ReconcilerCall& call) {
  const std::weak_ptr<FleetTurns> lane = lanes_.at(fleet);
  const auto answered = [lane](ReconcilerAnswer answer) {
    if (const auto turns = lane.lock()) turns->answered(std::move(answer));
  };
  if (const auto* news = std::get_if<MachineNews>(&call)) {
    calls_.telling(fleet, *news);
    return tell(*news, answered);
  }
  if (std::holds_alternative<TellEmpty>(call)) {
    calls_.telling_empty(fleet);
    return tell(FleetEmptied{fleet}, answered);
  }
  if (const auto* order = std::get_if<MachineOrder>(&call)) {
    audit_.launching(*order);
    calls_.launching(*order);
    on_launch(fleet);
    if (const auto how = std::exchange(crash_, std::nullopt)) {
      if (how->is_launched) (void)cloud_.launch(*order);
      return later(0, [this, down_ms = how->down_ms] { stage_.server.crash({CrashPoint::at_once, down_ms}); });
    }
  }
  if (const auto* it = std::get_if<TerminateMachine>(&call)) calls_.terminating(fleet, it->machine);
  if (std::holds_alternative<ListMachines>(call)) calls_.listing(fleet);
  stage_.events.after(cloud_.call_ms(), [this, fleet, call, answered, server = stage_.server.generation()] {
    const ReconcilerAnswer answer = answer_of(fleet, call);
    if (stage_.server.generation() != server) return;
    later(cloud_.call_ms(), [this, fleet, call, answered, answer] {
      heard(fleet, call, answer);
      answered(answer);
    });
  });
}

void FleetDesk::tell(const Command& news, std::function<void(ReconcilerAnswer)> answered) {
  ask(news, [this, answered = std::move(answered)](const Result<Effect>& answer) {
    wake();
    const bool is_known = answer || answer.error().code == ErrorCode::not_found;
    later(0, [answered, is_known, answer] {
      answered(is_known ? Result<void>() : Result<void>(std::unexpected(answer.error())));
    });
  });
}

void FleetDesk::heard(const std::string& fleet, const ReconcilerCall& call, const ReconcilerAnswer& answer) {
  if (const auto* it = std::get_if<MachineOrder>(&call)) return calls_.launched(*it);
  const auto* list = std::get_if<Result<MachineList>>(&answer);
  if (list != nullptr && *list) calls_.listed(fleet, **list, audit_.machines());
}

ReconcilerAnswer FleetDesk::answer_of(const std::string& fleet, const ReconcilerCall& call) {
  if (const auto* it = std::get_if<MachineOrder>(&call)) return cloud_.launch(*it);
  if (const auto* it = std::get_if<TerminateMachine>(&call)) return cloud_.terminate(it->machine);
  return cloud_.list(fleet);
}

}  // namespace drover::sim
