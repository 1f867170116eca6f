// What `drover run` does about GPUs that fail: their items are lost, which spends no try, and a slot goes on with other
// GPUs or not at all.
#include <algorithm>

#include "base/text.h"
#include "worker/local_run.h"

namespace drover {
namespace {

// An item that failed on its GPUs is told when it is known whether one of those did: programs see it first.
constexpr std::int64_t kLongestLookMs = 2'000;

}  // namespace

bool LocalRun::waits_for_look(std::size_t slot, const AttemptEnded& ended) const {
  if (!untold_[slot].empty()) return true;
  return options_.devices != nullptr && options_.devices->machine->monitor != nullptr && !ended.outcome.success() &&
         !gpus_of(options_.devices->grants[slot]).empty();
}

void LocalRun::look_at_gpus() {
  if (options_.devices == nullptr || options_.devices->machine->monitor == nullptr) return;
  for (const std::string& gpu : broken_gpus_.look()) {
    listener_.notice(concat(broken_gpus_.what_failed(gpu), "; it gets no more items of this run"));
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    tell_looked_at(slot, false);
    const std::string broken = broken_gpus_.one_of(gpus_of(options_.devices->grants[slot]));
    if (broken.empty() || slots_[slot] == nullptr) continue;
    leave_gpus(slot, broken);
  }
  broken_gpus_.keep_from_others();
}

void LocalRun::tell_looked_at(std::size_t slot, bool now) {
  GpuMonitor* monitor = options_.devices == nullptr ? nullptr : options_.devices->machine->monitor.get();
  while (!untold_[slot].empty()) {
    Untold& it = untold_[slot].front();
    const bool is_known = now || it.since_ms == 0 || monitor->has_looked_since(it.since_ms) ||
                          wall_.epoch_ms() >= it.since_ms + kLongestLookMs;
    if (!is_known) return;
    AttemptEnded ended = std::move(it.ended);
    const bool is_failure = it.since_ms > 0;
    untold_[slot].pop_front();
    const std::string broken = broken_gpus_.one_of(gpus_of(options_.devices->grants[slot]));
    if (is_failure && !broken.empty()) {
      ended.outcome = {.ending = Ending::lost, .reason = concat("lost: ", broken_gpus_.what_failed(broken))};
    }
    tell(slot, ended);
  }
}

void LocalRun::leave_gpus(std::size_t slot, const std::string& broken) {
  tell_looked_at(slot, true);
  loop_->remove(slots_[slot]->descriptor());
  slots_[slot].reset();
  agent_.on_slot_died(slot, broken_gpus_.what_failed(broken), now_ms());
  SlotGrants& all = *options_.devices;
  DeviceGrant& grant = all.grants[slot];
  const AcceleratorCounts wanted = grant.counts();
  grant = {};
  auto other = all.machine->pool.take(wanted, broken_gpus_.all());
  if (other && *other) {
    grant = std::move(**other);
    watch_gpus();
    if (auto opened = open_slot(slot); !opened) {
      failed_ = opened.error();
    } else {
      agent_.on_slot_up(slot, now_ms());
    }
    return;
  }
  watch_gpus();
  if (std::ranges::any_of(slots_, [](const auto& it) { return it != nullptr; })) return;
  failed_ = Error{ErrorCode::io, concat(broken_gpus_.what_failed(broken), ", and there is no other for the items"),
                  "reset or replace it"};
}

void LocalRun::watch_gpus() {
  if (options_.devices == nullptr || options_.devices->machine->monitor == nullptr) return;
  std::set<std::string> gpus;
  for (const DeviceGrant& grant : options_.devices->grants) gpus.merge(gpus_of(grant));
  options_.devices->machine->monitor->watch(std::move(gpus));
}

}  // namespace drover
