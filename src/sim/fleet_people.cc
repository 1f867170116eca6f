#include "sim/fleet_people.h"

#include "base/text.h"
#include "sim/stage.h"
#include "sim/times.h"
#include "sim/why_probe.h"
#include "wire/fleet_rules.h"

namespace drover::sim {
namespace {

constexpr std::int64_t kRestLookMs = kMinute;
constexpr std::size_t kMostReasons = 20;

}  // namespace

FleetPeople::FleetPeople(Stage& stage)
    : stage_(stage),
      audit_(stage.auditor, [this](const std::string& fleet) { return cloud_.machines_to_appear(fleet); }),
      costs_(stage.auditor, [this](const std::string& machine) { return audit_.launch_of(machine); }),
      cloud_(stage),
      desk_(stage, cloud_, audit_),
      random_(stage.script.seed ^ 0x70656f706c65) {
  desk_.on_slow_plan = [this](const std::string& fleet) { change_mind(fleet); };
  desk_.on_launch = [this](const std::string& fleet) {
    if (std::exchange(removes_at_launch_, false)) remove(fleet);
  };
  cloud_.on_terminate = [this](const std::string& machine) {
    audit_.terminating(machine, stage_.server.up() ? &stage_.server.core() : nullptr);
  };
}

void FleetPeople::change(const std::string& fleet, const FleetRules& rules) {
  if (rules_.empty()) watch_rest();
  rules_[fleet] = rules;
  desk_.begin();
  tell(fleet);
}

void FleetPeople::tell(const std::string& fleet) {
  stage_.clients.ask(SetFleet{fleet_spec(fleet, rules_.at(fleet))}, [this](const Effect& effect) {
    if (!std::holds_alternative<FleetSet>(effect)) stage_.auditor.fail("a fleet was refused");
  });
}

// What was planned is no longer what they want.
void FleetPeople::change_mind(const std::string& fleet) {
  if (!stage_.auditor.expects_losses()) return;
  if (random_.one_in(4)) return pause(fleet, kMinute);
  if (random_.one_in(3)) remove(fleet);
}

void FleetPeople::remove(const std::string& fleet) {
  stage_.clients.ask(DropFleet{fleet}, [this](const Effect& effect) {
    if (!std::holds_alternative<FleetDropped>(effect) && !is_unknown(effect)) {
      stage_.auditor.fail("the deletion of a fleet got another answer");
    }
  });
}

void FleetPeople::remove_at_launch() {
  removes_at_launch_ = true;
  stage_.events.after(RemoveAtLaunch::kWaitsMs, [this] { removes_at_launch_ = false; });
}

void FleetPeople::pause(const std::string& fleet, std::int64_t for_ms) {
  ++paused_[fleet];
  tell_paused(fleet);
  stage_.events.after(for_ms, [this, fleet] {
    --paused_[fleet];
    tell_paused(fleet);
  });
}

void FleetPeople::tell_paused(const std::string& fleet) {
  stage_.clients.ask(PauseFleet{fleet, paused_[fleet] > 0}, [this](const Effect& effect) {
    if (!std::holds_alternative<FleetPaused>(effect) && !is_unknown(effect)) {
      stage_.auditor.fail("a pause of a fleet got another answer");
    }
  });
}

// Fleets are as they shall be, in the end: one may be deleted, and an order may have overtaken another.
void FleetPeople::tend() {
  if (!stage_.server.up()) return;
  inspect_costs();
  for (const auto& [name, rules] : rules_) {
    const auto known = stage_.server.core().durable().fleets.find(name);
    const bool is_known = known != stage_.server.core().durable().fleets.end();
    // Mostly it takes its time to be deleted before it is set again.
    if (is_known && known->second.deleting && !random_.one_in(8)) continue;
    const bool is_there = is_known && !known->second.deleting;
    if (!is_there || known->second.text != fleet_spec(name, rules).text) tell(name);
    if (is_there && known->second.paused != (paused_[name] > 0)) tell_paused(name);
  }
  audit_.inspect_remembered(stage_.server.core());
}

void FleetPeople::committed(const Batch& batch, std::int64_t /*applied_ms*/) {
  audit_.committed(batch);
  costs_.committed(batch);
}

// When all that the core knows is durable.
void FleetPeople::inspect_costs() {
  if (stage_.server.settled()) costs_.inspect(stage_.server.core());
}

void FleetPeople::at_end() {
  inspect_costs();
}

void FleetPeople::said(const Effect& effect) {
  const bool matters = std::holds_alternative<FleetsChanged>(effect) || std::holds_alternative<JobChanged>(effect) ||
                       std::holds_alternative<WorkerStands>(effect);
  if (matters) desk_.wake();
}

void FleetPeople::server_stopped() {
  desk_.server_stopped();
}

bool FleetPeople::idle() const {
  if (rules_.empty()) return true;
  if (!stage_.server.up()) return false;
  return !FleetAudit::unrest(stage_.server.core(), rules_,
                             [this](const std::string& fleet) { return cloud_.machines_of(fleet); });
}

// Why jobs wait is true of fleets, above all while their clouds fail.
void FleetPeople::inspect_reasons() {
  if (!stage_.server.up()) return;
  const Core& core = stage_.server.core();
  if (core.next_deadline().value_or(core.now_ms() + 1) <= core.now_ms()) return;
  std::size_t looked_at = 0;
  for (const JobId job : core.volatile_part().runnable) {
    if (++looked_at > kMostReasons) return;
    if (const auto wrong = untruth(core, job, std::nullopt, why(core, job, std::nullopt))) stage_.auditor.fail(*wrong);
  }
}

// No machine outlives the work by an hour, once all is calm.
void FleetPeople::watch_rest() {
  stage_.events.after(kRestLookMs, [this] { watch_rest(); });
  inspect_reasons();
  const bool is_calm = !stage_.auditor.expects_losses() && stage_.server.up() && stage_.clients.idle() &&
                       stage_.jobs.idle() && stage_.server.core().volatile_part().runnable.empty();
  if (!is_calm || idle()) work_ms_ = stage_.events.now_ms();
  if (stage_.events.now_ms() - work_ms_ <= kHour) return;
  const auto why = FleetAudit::unrest(stage_.server.core(), rules_,
                                      [this](const std::string& fleet) { return cloud_.machines_of(fleet); });
  stage_.auditor.fail(concat("an hour after the last work, ", why.value_or("")));
}

}  // namespace drover::sim
