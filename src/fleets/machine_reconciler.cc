#include "fleets/machine_reconciler.h"

#include <algorithm>

#include "base/text.h"
#include "core/fleets/fleet_plants.h"

namespace drover {

void MachineReconciler::turn(const std::vector<Machine>& machines,
                             const std::function<Labels(const Machine&)>& labels) {
  launch_all(machines, labels);
  for (const Machine& machine : machines) {
    const bool is_needed = machine.state != MachineState::leaving || planted(FleetPlant::leaving_not_terminated);
    if (!is_needed) terminate(machine.name);
  }
  if (const auto listed = list()) compare(machines, *listed);
}

std::optional<std::vector<ListedMachine>> MachineReconciler::list() {
  auto listed = provider_.list();
  if (!listed) {
    say_once("list", concat("machines cannot be listed: ", listed.error().message));
    return std::nullopt;
  }
  said_.erase("list");
  for (const ListedMachine& it : *listed) missed_.erase(it.name);
  return std::move(*listed);
}

// One that was launched before the server's last end runs with the join token that it was given then.
void MachineReconciler::launch_all(const std::vector<Machine>& machines,
                                   const std::function<Labels(const Machine&)>& labels) {
  std::erase_if(answered_, [&](const std::string& name) {
    return std::ranges::find(machines, name, &Machine::name) == machines.end();
  });
  const bool is_asked = std::ranges::any_of(
      machines, [&](const Machine& it) { return it.state == MachineState::requested && !answered_.contains(it.name); });
  if (!is_asked) return;
  const auto listed = list();
  if (!listed) return;
  for (const Machine& machine : machines) {
    if (machine.state != MachineState::requested || answered_.contains(machine.name)) continue;
    const auto known = std::ranges::find(*listed, machine.name, &ListedMachine::name);
    if (known == listed->end() || known->has_ended || planted(FleetPlant::listed_launched_again)) {
      launch(machine, labels(machine));
    } else {
      tell({machine.name, MachineNews::What::accepted, known->id});
    }
  }
}

void MachineReconciler::launch(const Machine& machine, const Labels& labels) {
  auto token = outside_.join_token(machine);
  if (!token) return say_once("token", concat("cannot create a join token: ", token.error().message));
  said_.erase("token");
  auto launched = provider_.launch({.name = machine.name,
                                    .fleet = machine.fleet,
                                    .shape = machine.shape,
                                    .has = machine.has,
                                    .spot = machine.spot,
                                    .labels = labels,
                                    .join_token = *token});
  if (launched && planted(FleetPlant::launch_not_told)) return;
  if (launched) return tell({machine.name, MachineNews::What::accepted, *launched});
  outside_.notice(concat("machine '", machine.name, "' could not be launched: ", launched.error().message));
  tell({machine.name, MachineNews::What::refused, launched.error().message});
}

void MachineReconciler::compare(const std::vector<Machine>& machines, const std::vector<ListedMachine>& listed) {
  std::map<std::string, const ListedMachine*> by_name;
  for (const ListedMachine& it : listed) by_name[it.name] = &it;
  for (const Machine& machine : machines) {
    if (machine.state == MachineState::gone) continue;
    const auto found = by_name.find(machine.name);
    const ListedMachine* it = found == by_name.end() ? nullptr : found->second;
    if (found != by_name.end()) by_name.erase(found);
    if (machine.state == MachineState::requested) continue;  // the list may be older than its launch
    if (machine.state == MachineState::leaving) {
      if (it == nullptr || planted(FleetPlant::gone_while_listed)) tell({machine.name, MachineNews::What::terminated});
      continue;
    }
    if (it != nullptr && (!it->has_ended || planted(FleetPlant::ended_not_told))) {
      continue;
    } else if (it != nullptr) {
      tell({machine.name, MachineNews::What::vanished, it->note});
    } else if (++missed_[machine.name] >= (planted(FleetPlant::missed_once_is_gone) ? 1 : kMissedLists) &&
               !planted(FleetPlant::missed_for_ever)) {
      missed_.erase(machine.name);
      tell({machine.name, MachineNews::What::vanished, "its provider no longer lists it"});
    }
  }
  for (const auto& [name, it] : by_name) {
    if (planted(FleetPlant::strays_kept)) break;
    if (!it->has_ended) outside_.notice(concat("terminating machine '", name, "': the server does not know it"));
    terminate(name);
  }
}

void MachineReconciler::terminate(const std::string& machine) {
  if (auto done = provider_.terminate(machine); !done) {
    return say_once(machine, concat("machine '", machine, "' cannot be terminated: ", done.error().message));
  }
  said_.erase(machine);
}

// One that is not told now is told with the next turn: what it says is still so then.
void MachineReconciler::tell(const MachineNews& news) {
  if (auto done = outside_.tell(news); !done) return say_once("tell", done.error().message);
  const bool is_refused = news.what == MachineNews::What::refused && !planted(FleetPlant::refused_launched_again);
  const bool is_answer = news.what == MachineNews::What::accepted || is_refused;
  if (is_answer) answered_.insert(news.machine);
}

void MachineReconciler::say_once(const std::string& about, const std::string& text) {
  if (said_[about] == text) return;
  said_[about] = text;
  outside_.notice(text);
}

}  // namespace drover
