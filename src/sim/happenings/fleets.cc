#include "sim/happenings/fleets.h"

#include "base/text.h"
#include "sim/fleet_people.h"
#include "sim/stage.h"
#include "sim/times.h"
#include "wire/fleet_rules.h"

namespace drover::sim {
namespace {

// Machines that were launched in the meantime join late, or are given up.
constexpr std::int64_t kAftermathMs = 25 * kMinute;

}  // namespace

std::string ChangeFleet::describe() const {
  return concat("fleet ", fleet, ": ", fleet_spec(fleet, rules).text);
}
void ChangeFleet::happen(Stage& stage) const {
  stage.part<FleetPeople>().change(fleet, rules);
}

std::string RemoveFleet::describe() const {
  return concat("fleet ", fleet, " is deleted");
}
void RemoveFleet::happen(Stage& stage) const {
  stage.part<FleetPeople>().remove(fleet);
}

std::string RemoveAtLaunch::describe() const {
  return "a fleet is deleted when a machine of it is launched";
}
void RemoveAtLaunch::happen(Stage& stage) const {
  stage.part<FleetPeople>().remove_at_launch();
}

std::string PauseFleetFor::describe() const {
  return concat("fleet ", fleet, " is paused for ", for_ms, " ms");
}
void PauseFleetFor::happen(Stage& stage) const {
  stage.part<FleetPeople>().pause(fleet, for_ms);
}

std::int64_t CloudTrouble::lasts_ms() const {
  return for_ms + kAftermathMs;
}
std::string CloudTrouble::describe() const {
  constexpr const char* kWhat[] = {"fails every call",    "has no capacity",        "loses answers",
                                   "omits machines",      "lists strangers",        "is slow",
                                   "boots machines late", "does not boot machines", "boots machines twice",
                                   "lists machines late", "has no spot machines"};
  return concat("the cloud ", kWhat[static_cast<std::size_t>(kind)], " for ", for_ms, " ms");
}
void CloudTrouble::happen(Stage& stage) const {
  stage.part<FleetPeople>().cloud().begin(*this);
}

std::string MachineTrouble::describe() const {
  constexpr const char* kWhat[] = {"vanishes", "stops", "restarts its worker", "is taken away", "is to be removed"};
  return concat("machine ", which, " of the cloud ", kWhat[static_cast<std::size_t>(kind)], ", in ", in_ms, " ms");
}
void MachineTrouble::happen(Stage& stage) const {
  stage.part<FleetPeople>().cloud().strike(*this);
}

std::string CrashAtLaunch::describe() const {
  return concat("the server crashes when it ", is_launched ? "has launched a machine" : "launches or drains a machine",
                ", back after ", down_ms, " ms");
}
void CrashAtLaunch::happen(Stage& stage) const {
  stage.part<FleetPeople>().desk().crash_at_launch(*this);
}

}  // namespace drover::sim
