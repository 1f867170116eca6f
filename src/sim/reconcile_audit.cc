#include "sim/reconcile_audit.h"

#include <algorithm>

#include "base/text.h"

namespace drover::sim {
namespace {

// Some lists are only for launches, and what the reconciler was given may be a little old.
constexpr std::uint64_t kTooManyLists = 10;
constexpr std::uint64_t kFewestMissed = 3;

bool is_expected(const Machine* machine) {
  return machine != nullptr && machine->state >= MachineState::starting && machine->state <= MachineState::draining;
}

bool is_unwanted(const Machine* machine) {
  return machine == nullptr || machine->state >= MachineState::leaving;
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
}

void ReconcileAudit::telling(const std::string& fleet, const MachineNews& news) {
  if (const auto untold = untold_.find(fleet); untold != untold_.end() && untold->second == news.machine) {
    untold_.erase(untold);
  }
  const Streak& streak = streaks_[news.machine];
  if (news.what == MachineNews::What::vanished && is_expected(find_(news.machine))) {
    if (streak.ended == 0 && streak.omitted < kFewestMissed) fail(news.machine, "given up too soon");
  }
  if (news.what == MachineNews::What::terminated && last_list_[fleet].contains(news.machine)) {
    fail(news.machine, "said to be gone although the cloud lists it");
  }
}

void ReconcileAudit::listed(const std::string& fleet, const std::vector<ListedMachine>& machines,
                            const std::vector<const Machine*>& known) {
  std::map<std::string, bool>& list = last_list_[fleet];
  list.clear();
  for (const ListedMachine& it : machines) {
    Streak& streak = streaks_[it.name];
    const Machine* machine = find_(it.name);
    list[it.name] = it.has_ended;
    streak.omitted = 0;
    streak.ended = it.has_ended && is_expected(machine) ? streak.ended + 1 : 0;
    streak.unwanted = is_unwanted(machine) ? streak.unwanted + 1 : 0;
    if (streak.ended > kTooManyLists) fail(it.name, "has ended, and the core is not told");
    if (streak.unwanted > kTooManyLists) fail(it.name, "not needed, and not terminated");
  }
  for (const Machine* machine : known) {
    if (machine->fleet != fleet || !is_expected(machine) || list.contains(machine->name)) continue;
    Streak& streak = streaks_[machine->name];
    if (++streak.omitted > kTooManyLists) fail(machine->name, "not listed any more, and the core is not told");
  }
}

}  // namespace drover::sim
