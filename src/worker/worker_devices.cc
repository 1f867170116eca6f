// What a worker does about accelerators: a slot holds those that its items ask for until it is set up for others, and a
// lock that others on this machine respect.
#include <algorithm>
#include <limits>

#include "worker/remote_worker.h"

namespace drover {
namespace {

constexpr std::int64_t kLookAgainMs = 2'000;
constexpr std::int64_t kKeepUnusedMs = 3'000;
constexpr std::int64_t kLookForFailuresMs = 500;
constexpr std::int64_t kBetweenLooksMs = 20;
constexpr std::int64_t kLongestLookMs = 2'000;

AcceleratorCounts counts_of(const std::optional<DeviceGrant>& grant) {
  return grant ? grant->counts() : AcceleratorCounts{};
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
  let_go(slot);
  if (wanted == AcceleratorCounts{}) return true;
  // One that a slot has and does not use need not be given back before it is taken again.
  for (std::size_t other = 0; other < slots_.size(); ++other) {
    if (!has_idle_devices(slots_[other]) || counts_of(slots_[other].grant) != wanted) continue;
    close_slot(other);
    it.grant = std::exchange(slots_[other].grant, {});
    return true;
  }
  for (const bool is_first : {true, false}) {
    auto grant = options_.devices->pool.take(wanted, broken_gpus_.all());
    // Nobody's item is to blame: it is as if others had them.
    if (!grant) {
      if (said_of_devices_.insert(grant.error().message).second) notice_(grant.error().message);
      return false;
    }
    if (*grant) {
      it.grant = std::move(**grant);
      watch_gpus();
      return true;
    }
    if (is_first) close_idle_slots();
  }
  return false;
}

bool RemoteWorker::has_idle_devices(const JobSlot& it) const {
  return it.grant && !is_busy(it);
}

// What only waits there does not use its devices.
bool RemoteWorker::is_busy(const JobSlot& it) {
  return it.handed > 0 || !it.finishing.empty() || !it.died.empty();
}

void RemoteWorker::let_go(std::size_t slot) {
  if (!slots_[slot].grant) return;
  slots_[slot].grant.reset();
  watch_gpus();
}

void RemoteWorker::close_idle_slots() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!has_idle_devices(slots_[slot])) continue;
    close_slot(slot);
    let_go(slot);
  }
}

Result<void> RemoteWorker::add_devices(std::size_t slot, SlotSetup& setup) const {
  if (!options_.devices) return {};
  const JobSlot& it = slots_[slot];
  if (it.grant) return give_devices(setup, *it.grant, *options_.devices);
  hide_devices(setup, *options_.devices);
  return {};
}

// Others have some of the devices. If such an item can run on those that are held here, this worker takes as many items
// as it has devices for; otherwise it takes none of the job. After a while it looks again.
void RemoteWorker::wait_for_devices(std::size_t slot, const AgentItem& item) {
  slots_[slot].waiting.pop_front();
  slots_[slot].stop_first.clear();
  Resources held = Resources::endless();
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    if (options_.devices->pool.devices()[kind].empty()) continue;  // they are only counted
    held.accelerators[kind] = 0;
    for (const JobSlot& it : slots_) {
      if (is_busy(it)) held.accelerators[kind] += counts_of(it.grant)[kind];
    }
  }
  if (item.ask.fits(held)) {
    agent_.keep_to(held, now_ms());
    shares_until_ms_ = now_ms() + kLookAgainMs;
  } else {
    agent_.decline(item.job, "others on the worker's machine use its accelerators", now_ms());
    device_waits_[item.job] = now_ms() + kLookAgainMs;
  }
  agent_.on_returned(slot, item.token, now_ms());
}

void RemoteWorker::watch_gpus() {
  if (options_.devices->monitor == nullptr) return;
  std::set<std::string> gpus;
  for (const JobSlot& it : slots_) {
    if (it.grant) gpus.merge(gpus_of(*it.grant));
  }
  options_.devices->monitor->watch(std::move(gpus));
}

// Nothing is run on it again, and the worker has less from now on. What it ran is lost.
void RemoteWorker::drop_failed_gpus() {
  for (const std::string& gpu : broken_gpus_.look()) {
    notice_(concat(broken_gpus_.what_failed(gpu), "; it gets no more items until the worker is started again"));
  }
  broken_gpus_.keep_from_others();
  // One slot at a time: what hangs in the driver takes its time to die, and the server is to hear of us meanwhile.
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    JobSlot& it = slots_[slot];
    const std::string broken = it.grant ? broken_gpus_.one_of(gpus_of(*it.grant)) : std::string();
    if (broken.empty()) continue;
    it.grant.reset();
    if (it.slot) on_slot_died(slot, broken_gpus_.what_failed(broken));
    watch_gpus();
    loop_->post([] {});
    return;
  }
  std::uint64_t sound = 0;
  for (const PoolDevice& device : options_.devices->pool.devices()[kNvidia]) {
    if (!broken_gpus_.all().contains(device.id)) ++sound;
  }
  std::uint64_t& has = options_.hello.has.accelerators[kNvidia];
  if (broken_gpus_.all().empty() || has <= sound) return;
  has = sound;
  agent_.shrink(options_.hello.has, now_ms());
  session_->register_again();
}

// An item that failed on its GPUs is told when it is known whether one of those did: programs see it first.
bool RemoteWorker::waits_for_look(const JobSlot& it, const EndedAttempt& ended) const {
  return it.grant && options_.devices->monitor != nullptr && !gpus_of(*it.grant).empty() && !ended.outcome.success();
}

void RemoteWorker::tell_looked_at() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    for (Finishing& it : slots_[slot].finishing) {
      if (it.look_ms == 0) continue;
      const bool is_known = options_.devices->monitor->has_looked_since(it.look_ms);
      if (!is_known && SystemWallClock().epoch_ms() < it.look_ms + kLongestLookMs) continue;
      if (const std::string broken = broken_gpus_.one_of(it.gpus); !broken.empty()) {
        it.ended.outcome = {.ending = Ending::lost, .reason = concat("lost: ", broken_gpus_.what_failed(broken))};
      }
      it.look_ms = 0;
    }
    const std::size_t before = slots_[slot].finishing.size();
    tell_finished(slot);
    if (slots_[slot].finishing.size() < before) start_waiting(slot);
  }
}

std::vector<DeviceState> RemoteWorker::device_states() const {
  std::vector<DeviceState> out;
  if (options_.devices == nullptr || options_.devices->monitor == nullptr) return out;
  const auto known = options_.devices->monitor->now();
  std::map<std::string, const RunningNow*> users;
  const std::vector<RunningNow> all_running = agent_.running();
  for (const RunningNow& running : all_running) {
    // One whose slot is still to be set up has none.
    if (running.slot >= slots_.size() || !slots_[running.slot].grant) continue;
    for (const PoolDevice& device : slots_[running.slot].grant->devices[kNvidia]) users[device.id] = &running;
  }
  for (const PoolDevice& device : options_.devices->pool.devices()[kNvidia]) {
    DeviceState state{.id = device.id, .index = device.index};
    if (const auto broken = broken_gpus_.all().find(device.id); broken != broken_gpus_.all().end()) {
      state.failure = broken->second;
    }
    if (const auto it = known.find(device.id); it != known.end()) {
      const auto& [sample, idle_since_ms] = it->second;
      state.is_measured = true;
      state.busy_percent = static_cast<std::uint32_t>(sample.busy_percent.value_or(0));
      state.memory_kib = sample.memory_kib;
      state.memory_total_kib = sample.memory_total_kib;
      state.idle_ms = idle_since_ms == 0 ? 0 : std::max<std::int64_t>(SystemWallClock().epoch_ms() - idle_since_ms, 0);
    }
    if (const auto user = users.find(device.id); user != users.end()) {
      const RunningNow& running = *user->second;
      state.job = running.item.job;
      state.item = running.item.token.item;
      state.idle_ms = std::min(state.idle_ms, std::max<std::int64_t>(now_ms() - running.since_ms, 0));
    }
    out.push_back(std::move(state));
  }
  return out;
}

// A slot keeps its devices for the next item that asks for the same, but not for long: others may want them.
void RemoteWorker::look_for_devices() {
  if (options_.devices != nullptr && options_.devices->monitor != nullptr) {
    drop_failed_gpus();
    tell_looked_at();
    const std::string trouble = options_.devices->monitor->trouble();
    if (!trouble.empty() && said_of_devices_.insert(trouble).second) {
      notice_(trouble);
    }
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    JobSlot& it = slots_[slot];
    if (!has_idle_devices(it)) {
      it.unused_ms = 0;
    } else if (it.unused_ms == 0) {
      it.unused_ms = now_ms();
    } else if (now_ms() >= it.unused_ms + kKeepUnusedMs) {
      close_slot(slot);
      let_go(slot);
    }
  }
  if (shares_until_ms_ > 0 && now_ms() >= shares_until_ms_) {
    shares_until_ms_ = 0;
    agent_.keep_to(Resources::endless(), now_ms());
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
  if (shares_until_ms_ > 0) until_ms = std::min(until_ms, shares_until_ms_);
  for (const JobSlot& it : slots_) {
    if (it.unused_ms > 0) until_ms = std::min(until_ms, it.unused_ms + kKeepUnusedMs);
    if (it.grant) until_ms = std::min(until_ms, now_ms() + kLookForFailuresMs);
    const bool is_looked_at = std::ranges::any_of(it.finishing, [](const Finishing& one) { return one.look_ms > 0; });
    if (is_looked_at) until_ms = std::min(until_ms, now_ms() + kBetweenLooksMs);
  }
  return until_ms;
}

}  // namespace drover
