#include "fleets/machine_reconciler.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"
#include "fleets/machine_name.h"

namespace drover {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string some_of(const std::vector<std::string>& machines) {
  std::string names;
  for (std::size_t i = 0; i < std::min(machines.size(), kMostNamed); ++i) {
    names += concat(i == 0 ? "'" : ", '", machines[i], "'");
  }
  if (machines.size() > kMostNamed) names += ", ...";
  return names;
}

}  // namespace

void MachineReconciler::turn(const FleetWork& work) {
  launch_all(work);
  std::vector<std::string> leaving;
  for (const Machine& machine : work.machines()) {
    const bool is_needed = machine.state != MachineState::leaving || injected(FleetFault::leaving_not_terminated);
    if (!is_needed) leaving.push_back(machine.name);
  }
  terminate_due(std::move(leaving));
  if (outside_.stop.stop_requested()) return;
  if (is_list_due(work)) list();
  if (!last_ || std::exchange(is_compared_, true)) return;
  compare(work, *last_);
}

std::vector<std::string> MachineReconciler::troubles() const {
  std::vector<std::string> out;
  for (const auto& [about, text] : said_) out.push_back(text);
  for (const auto& [machine, text] : not_terminated_) out.push_back(text);
  return out;
}

void MachineReconciler::list() {
  const std::int64_t asked_ms = outside_.elapsed_ms();
  last_.reset();
  auto listed = provider_.list();
  tried_ms_ = outside_.elapsed_ms();
  if (!listed) {
    if (listed.error().code == ErrorCode::stopped) return;
    list_retry_ms_ = list_retry_ms_ == 0 ? pace_.retry_ms : std::min(2 * list_retry_ms_, pace_.idle_list_ms);
    return say_once("list", concat("machines cannot be listed: ", listed.error().message));
  }
  list_retry_ms_ = 0;
  said_.erase("list");
  merge_copies(*listed);
  asked_ms_ = asked_ms;
  heard_ms_ = *tried_ms_;
  for (const ListedMachine& it : listed->machines) missed_.erase(it.name);
  last_ = std::move(*listed);
  is_compared_ = is_before_launch_ = false;
}

bool MachineReconciler::is_list_due(const FleetWork& work) const {
  if (!tried_ms_) return true;
  const auto is_changing = [](const Machine& it) {
    return it.state == MachineState::requested || it.state == MachineState::starting ||
           it.state == MachineState::leaving;
  };
  const bool is_busy = work.is_deleting || !strays_.empty() || std::ranges::any_of(work.machines(), is_changing);
  std::int64_t pause_ms = is_busy ? pace_.busy_list_ms : pace_.idle_list_ms;
  if (list_retry_ms_ > 0) pause_ms = list_retry_ms_;
  return outside_.elapsed_ms() - *tried_ms_ >= pause_ms;
}

// A machine that ends because another one took its name must not count as the end of that one. Machines are terminated
// by name: a copy lives as long as the machine that is needed.
void MachineReconciler::merge_copies(MachineList& listed) {
  std::ranges::stable_sort(listed.machines, {},
                           [](const ListedMachine& it) { return std::tie(it.name, it.has_ended); });
  std::vector<ListedMachine> kept;
  std::vector<std::string> twice;
  for (ListedMachine& it : listed.machines) {
    if (kept.empty() || kept.back().name != it.name) {
      kept.push_back(std::move(it));
    } else if (twice.empty() || twice.back() != it.name) {
      twice.push_back(it.name);
    }
  }
  listed.machines = std::move(kept);
  if (twice.empty()) {
    said_.erase("copies");
  } else {
    say_once("copies", concat("the provider lists more than one machine under the same name: ", some_of(twice),
                              "; 'launch' must not create a second machine of the same name"));
  }
}

// One that was launched before the server's last end runs with the join token that it was given then.
//
// After a while others have their turn, since the caller may know by then that some are not wanted any more.
void MachineReconciler::launch_all(const FleetWork& work) {
  const std::int64_t begun_ms = outside_.elapsed_ms();
  const auto machines = work.machines();
  std::erase_if(answered_, [&](const std::string& name) {
    return std::ranges::find(machines, name, &Machine::name) == machines.end();
  });
  const bool is_asked = std::ranges::any_of(
      machines, [&](const Machine& it) { return it.state == MachineState::requested && !answered_.contains(it.name); });
  if (!is_asked) return;
  if (is_list_due(work)) list();
  for (const Machine& machine : machines) {
    if (!last_ || outside_.stop.stop_requested()) return;
    if (machine.state != MachineState::requested || answered_.contains(machine.name)) continue;
    if (outside_.elapsed_ms() - begun_ms > pace_.row_ms) return;
    const auto known = std::ranges::find(last_->machines, machine.name, &ListedMachine::name);
    if (known == last_->machines.end() || known->has_ended || injected(FleetFault::listed_launched_again)) {
      launch(machine, work.labels(machine));
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
  empty_ = {};
  is_before_launch_ = true;
  if (launched && injected(FleetFault::launch_not_told)) return;
  if (launched) {
    tell({machine.name, MachineNews::What::accepted, *launched});
    if (!answered_.contains(machine.name)) last_.reset();  // the next list names it
    return;
  }
  // Not the provider's failure. It may have launched the machine, and launches it once under that name.
  if (launched.error().code == ErrorCode::stopped) return;
  outside_.notice(concat("machine '", machine.name, "' could not be launched: ", launched.error().message));
  tell({machine.name, MachineNews::What::refused, launched.error().message});
}

void MachineReconciler::compare(const FleetWork& work, const MachineList& listed) {
  std::map<std::string, const ListedMachine*> strays;
  for (const ListedMachine& it : listed.machines) strays[it.name] = &it;
  std::set<std::string> gone;
  std::map<std::string, Absence> missed;
  bool lists_some = false;
  for (const Machine& machine : work.machines()) {
    if (machine.state == MachineState::gone) {
      gone.insert(machine.name);
      continue;
    }
    const auto found = strays.extract(machine.name);
    if (found) lists_some = true;
    compare(machine, found ? found.mapped() : nullptr, listed.is_exact);
    if (const auto absence = missed_.extract(machine.name)) missed.insert({machine.name, absence.mapped()});
  }
  missed_ = std::move(missed);
  std::set<std::string> ended;
  std::vector<std::string> others;
  for (const auto& [name, it] : strays) {
    if (injected(FleetFault::strays_kept)) break;
    if (!gone.contains(name) && !is_ours(*it)) {
      others.push_back(name);
      continue;
    }
    if (!it->has_ended && !strays_.contains(name)) {
      outside_.notice(concat("terminating machine '", name, "': the server does not know it"));
    }
    ended.insert(name);
  }
  terminate_due({ended.begin(), ended.end()});
  strays_ = ended;
  look_if_empty(work, lists_some || !ended.empty(), listed.is_exact);
  for (const Machine& machine : work.machines()) {
    if (machine.counts()) ended.insert(machine.name);
  }
  std::erase_if(not_terminated_, [&](const auto& it) { return !ended.contains(it.first); });
  std::erase_if(ending_, [&](const auto& it) { return !ended.contains(it.first); });
  leave_alone(others);
}

// A launch restarts the count, whatever the answer was: it may have succeeded.
void MachineReconciler::look_if_empty(const FleetWork& work, bool lists_some, bool is_exact) {
  if (lists_some || is_before_launch_) {
    empty_ = {};
    return;
  }
  const bool is_empty = is_absent(empty_, is_exact);
  const bool matters = work.is_deleting || work.may_have_others;
  if (!matters || !is_empty || std::ranges::any_of(work.machines(), &Machine::counts)) return;
  if (auto done = outside_.tell_empty(); !done) say_once("tell", done.error().message);
}

void MachineReconciler::compare(const Machine& machine, const ListedMachine* listed, bool is_exact) {
  if (machine.state == MachineState::requested) return;  // the list may be older than its launch
  const bool is_absent_now = listed == nullptr && is_absent(missed_[machine.name], is_exact);
  if (machine.state == MachineState::leaving) {
    const bool is_soon_gone = listed == nullptr && injected(FleetFault::leaving_missed_once_is_gone);
    if (is_absent_now || is_soon_gone || injected(FleetFault::gone_while_listed)) {
      tell({machine.name, MachineNews::What::terminated});
    }
  } else if (listed != nullptr && listed->has_ended && !injected(FleetFault::ended_not_told)) {
    tell({machine.name, MachineNews::What::vanished,
          listed->note.empty() ? "its provider says that it has ended" : listed->note});
  } else if (is_absent_now && !injected(FleetFault::missed_for_ever)) {
    tell({machine.name, MachineNews::What::vanished, "its provider no longer lists it"});
  }
}

// A list is as old as the question, in the worst case, and as young as its answer.
bool MachineReconciler::is_absent(Absence& absence, bool is_exact) const {
  if (absence.lists == 0) absence.since_ms = heard_ms_;
  ++absence.lists;
  if (is_exact || injected(FleetFault::missed_once_is_gone)) return true;
  const bool is_long = asked_ms_ - absence.since_ms >= kMissedMs || injected(FleetFault::missed_soon_is_gone);
  return absence.lists >= kMissedLists && is_long;
}

// Others may have machines at the same provider, and another server a fleet of the same name.
bool MachineReconciler::is_ours(const ListedMachine& stray) const {
  if (injected(FleetFault::foreign_terminated)) return true;
  const bool is_of_fleet = stray.fleet.empty() || stray.fleet == fleet_;
  const bool is_of_server = stray.server.empty() || stray.server == outside_.server;
  return is_machine_name(fleet_, stray.name) && is_of_fleet && is_of_server;
}

void MachineReconciler::leave_alone(const std::vector<std::string>& machines) {
  if (machines.empty()) {
    said_.erase("others");
    return;
  }
  say_once("others", concat("the provider lists ", plural(machines.size(), "machine"),
                            " that this fleet did not launch; they are left alone: ", some_of(machines)));
}

// Those that have waited longest come first. Launches do not wait behind a long row of them: what is still due when the
// time is over is done in the next turns.
void MachineReconciler::terminate_due(std::vector<std::string> machines) {
  const std::int64_t begun_ms = outside_.elapsed_ms();
  std::ranges::stable_sort(machines, {}, [&](const std::string& it) { return ending_[it].next_ms; });
  for (const std::string& machine : machines) {
    const std::int64_t now_ms = outside_.elapsed_ms();
    Ending& ending = ending_[machine];
    const bool is_late = now_ms - begun_ms > pace_.row_ms;
    if (is_late || ending.next_ms > now_ms || outside_.stop.stop_requested()) return;
    terminate(machine, ending);
  }
}

void MachineReconciler::terminate(const std::string& machine, Ending& ending) {
  auto done = provider_.terminate(machine);
  const std::int64_t now_ms = outside_.elapsed_ms();
  if (done) {
    ending = {.next_ms = now_ms + pace_.terminate_ms};
    not_terminated_.erase(machine);
  } else if (done.error().code != ErrorCode::stopped) {
    const std::int64_t retry_ms =
        ending.retry_ms == 0 ? pace_.retry_ms : std::min(2 * ending.retry_ms, pace_.longest_retry_ms);
    ending = {.next_ms = now_ms + retry_ms, .retry_ms = retry_ms};
    const std::string text = concat("machine '", machine, "' cannot be terminated: ", done.error().message);
    if (std::exchange(not_terminated_[machine], text) != text) outside_.notice(text);
  }
}

// One that is not told now is told with the next turn: what it says is still so then.
void MachineReconciler::tell(const MachineNews& news) {
  if (auto done = outside_.tell(news); !done) return say_once("tell", done.error().message);
  said_.erase("tell");
  const bool is_refused = news.what == MachineNews::What::refused && !injected(FleetFault::refused_launched_again);
  const bool is_answer = news.what == MachineNews::What::accepted || is_refused;
  if (is_answer) answered_.insert(news.machine);
}

void MachineReconciler::say_once(const std::string& about, const std::string& text) {
  if (said_[about] == text) return;
  said_[about] = text;
  outside_.notice(text);
}

}  // namespace drover
