#include "sim/reconcile_audit.h"

#include <algorithm>

#include "base/text.h"
#include "fleets/machine_name.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// Some lists are only for launches, and what the reconciler was given may be a little old.
constexpr std::uint64_t kUncountedLists = 5;
constexpr std::uint64_t kTooManyLists = 10;
constexpr std::int64_t kTooLongMs = 3 * kMinute;
constexpr std::uint64_t kFewestMissed = 3;
constexpr std::int64_t kShortestMissedMs = kMinute;

bool is_expected(const Machine* machine) {
  return machine != nullptr && machine->state >= MachineState::starting && machine->state <= MachineState::draining;
}

bool is_missed(const Machine* machine) {
  return is_expected(machine) || (machine != nullptr && machine->state == MachineState::leaving);
}

/// Of those that nobody knows, only a fleet's own are terminated.
bool is_unwanted(const Machine* machine, const std::string& fleet, const ListedMachine& it) {
  if (machine != nullptr) return machine->state >= MachineState::leaving;
  return is_machine_name(fleet, it.name) && (it.fleet.empty() || it.fleet == fleet);
}

}  // namespace

void ReconcileAudit::fail(const std::string& machine, std::string_view what) {
  auditor_.fail(concat("machine ", machine, ": ", what));
}

void ReconcileAudit::server_stopped() {
  untold_.clear();
  streaks_.clear();
  last_list_.clear();
}

void ReconcileAudit::expect_told(const std::string& fleet) {
  const auto untold = untold_.find(fleet);
  if (untold != untold_.end()) fail(untold->second, "the core is not told what became of its launch");
}

void ReconcileAudit::launching(const MachineOrder& order) {
  expect_told(order.fleet);
  const auto list = last_list_.find(order.fleet);
  if (list == last_list_.end()) return fail(order.name, "launched before the cloud was asked for it");
  const auto listed = list->second.find(order.name);
  if (listed != list->second.end() && !listed->second) fail(order.name, "launched although the cloud lists it");
}

void ReconcileAudit::launched(const MachineOrder& order) {
  untold_[order.fleet] = order.name;
}

void ReconcileAudit::terminating(const std::string& fleet, const std::string& machine) {
  expect_told(fleet);
  streaks_[machine].unwanted = 0;
}

void ReconcileAudit::listing(const std::string& fleet) {
  expect_told(fleet);
  asked_ms_[fleet] = now_ms_();
}

bool ReconcileAudit::is_missing(const Streak& streak) {
  return streak.is_omitted_exactly || (streak.omitted >= kFewestMissed && streak.omitted_for_ms >= kShortestMissedMs);
}

void ReconcileAudit::telling(const std::string& fleet, const MachineNews& news) {
  if (const auto untold = untold_.find(fleet); untold != untold_.end() && untold->second == news.machine) {
    untold_.erase(untold);
  }
  const Streak& streak = streaks_[news.machine];
  if (news.what == MachineNews::What::vanished && is_expected(find_(news.machine))) {
    if (streak.ended == 0 && !is_missing(streak)) fail(news.machine, "given up too soon");
  }
  if (news.what == MachineNews::What::terminated) {
    if (last_list_[fleet].contains(news.machine)) fail(news.machine, "said to be gone although the cloud lists it");
    if (is_missed(find_(news.machine)) && !is_missing(streak)) fail(news.machine, "said to be gone too soon");
  }
}

void ReconcileAudit::telling_empty(const std::string& fleet) {
  expect_told(fleet);
}

void ReconcileAudit::listed(const std::string& fleet, const MachineList& list,
                            const std::vector<const Machine*>& known) {
  std::map<std::string, bool>& last = last_list_[fleet];
  last.clear();
  // Of two under one name, the one that has not ended counts.
  std::map<std::string, ListedMachine> listed;
  for (const ListedMachine& it : list.machines) {
    const auto [place, is_first] = listed.try_emplace(it.name, it);
    if (!is_first && place->second.has_ended) place->second = it;
  }
  for (const auto& [name, it] : listed) {
    Streak& streak = streaks_[name];
    const Machine* machine = find_(name);
    last[name] = it.has_ended;
    streak.omitted = streak.overdue = 0;
    streak.is_omitted_exactly = false;
    streak.ended = it.has_ended && is_expected(machine) ? streak.ended + 1 : 0;
    streak.unwanted = is_unwanted(machine, fleet, it) ? streak.unwanted + 1 : 0;
    if (streak.unwanted == 1) streak.unwanted_since_ms = now_ms_();
    if (streak.ended > kTooManyLists) fail(it.name, "has ended, and the core is not told");
    // A terminate is not repeated with each list.
    const bool is_long = now_ms_() - streak.unwanted_since_ms > kTooLongMs;
    if (streak.unwanted > kTooManyLists && is_long) fail(it.name, "not needed, and not terminated");
  }
  for (const Machine* machine : known) {
    if (machine->fleet != fleet || !is_missed(machine) || last.contains(machine->name)) continue;
    Streak& streak = streaks_[machine->name];
    if (++streak.omitted == 1) streak.omitted_since_ms = now_ms_();
    streak.omitted_for_ms = asked_ms_[fleet] - streak.omitted_since_ms;
    streak.is_omitted_exactly = list.is_exact;
    streak.overdue = is_missing(streak) ? streak.overdue + 1 : 0;
    if (streak.overdue == kUncountedLists) streak.counts_since_ms = now_ms_();
    const bool is_long = list.is_exact || asked_ms_[fleet] - streak.counts_since_ms > kTooLongMs;
    if (streak.overdue > kTooManyLists && is_long) fail(machine->name, "not listed any more, and the core is not told");
  }
}

}  // namespace drover::sim
