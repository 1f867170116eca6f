// What a worker does about accelerators: a slot holds those that its items ask for until it is set up for others, and a
// lock that others on this machine respect.
#include <algorithm>
#include <limits>

#include "worker/remote_worker.h"

namespace drover {
namespace {

constexpr std::int64_t kLookAgainMs = 2'000;
constexpr std::int64_t kKeepUnusedMs = 3'000;

AcceleratorCounts counts_of(const std::optional<DeviceGrant>& grant) {
  AcceleratorCounts out{};
  for (std::size_t kind = 0; grant && kind < kAccelerators; ++kind) out[kind] = grant->devices[kind].size();
  return out;
}

}  // namespace

void RemoteWorker::close_slot(std::size_t slot) {
  JobSlot& it = slots_[slot];
  if (!it.slot) return;
  loop_->remove(it.slot->descriptor());
  it.slot.reset();
}

Result<bool> RemoteWorker::hold_devices(std::size_t slot, const Resources& ask) {
  if (!options_.devices) return true;
  JobSlot& it = slots_[slot];
  const AcceleratorCounts wanted = options_.devices->given_of(ask);
  if (counts_of(it.grant) == wanted) return true;
  close_slot(slot);  // its process has the lock too
  it.grant.reset();
  if (wanted == AcceleratorCounts{}) return true;
  for (const bool is_first : {true, false}) {
    auto grant = options_.devices->pool.take(wanted);
    if (!grant) return pass(grant);
    if (*grant) {
      it.grant = std::move(**grant);
      return true;
    }
    if (is_first) close_idle_slots();
  }
  return false;
}

bool RemoteWorker::has_idle_devices(const JobSlot& it) const {
  return it.grant && it.handed == 0 && it.waiting.empty() && it.finishing.empty() && it.died.empty();
}

void RemoteWorker::close_idle_slots() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!has_idle_devices(slots_[slot])) continue;
    close_slot(slot);
    slots_[slot].grant.reset();
  }
}

Result<void> RemoteWorker::add_devices(std::size_t slot, SlotSetup& setup) const {
  if (!options_.devices) return {};
  const JobSlot& it = slots_[slot];
  if (it.grant) return give_devices(setup, *it.grant, *options_.devices);
  hide_devices(setup, *options_.devices);
  return {};
}

void RemoteWorker::wait_for_devices(std::size_t slot, const AgentItem& item) {
  slots_[slot].waiting.pop_front();
  slots_[slot].stop_first.clear();
  agent_.decline(item.job, "others on the worker's machine use its accelerators", now_ms());
  device_waits_[item.job] = now_ms() + kLookAgainMs;
  agent_.on_returned(slot, item.token, now_ms());
}

// A slot keeps its devices for the next item that asks for the same, but not for long: others may want them.
void RemoteWorker::look_for_devices() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    JobSlot& it = slots_[slot];
    if (!has_idle_devices(it)) {
      it.unused_ms = 0;
    } else if (it.unused_ms == 0) {
      it.unused_ms = now_ms();
    } else if (now_ms() >= it.unused_ms + kKeepUnusedMs) {
      close_slot(slot);
      it.grant.reset();
    }
  }
  std::erase_if(device_waits_, [this](const auto& wait) {
    const auto& [job, again_ms] = wait;
    if (again_ms > now_ms()) return false;
    agent_.accept(job);
    return true;
  });
}

std::int64_t RemoteWorker::next_device_deadline() const {
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
  for (const auto& [job, again_ms] : device_waits_) until_ms = std::min(until_ms, again_ms);
  for (const JobSlot& it : slots_) {
    if (it.unused_ms > 0) until_ms = std::min(until_ms, it.unused_ms + kKeepUnusedMs);
  }
  return until_ms;
}

}  // namespace drover
