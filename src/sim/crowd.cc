#include "sim/crowd.h"

#include "base/text.h"
#include "sim/times.h"

namespace drover::sim {

void Crowd::equip(std::vector<WorkerPlan>& workers, std::int64_t length_ms) {
  for (WorkerPlan& worker : workers) {
    worker.has = {500 * (1 + random_.below(16)), (1 + random_.below(64)) << 30};
    if (random_.one_in(3)) worker.has.accelerators[0] = 1 + random_.below(8);
    if (random_.one_in(6)) worker.has.accelerators[1 + random_.below(kAccelerators - 1)] = 1 + random_.below(4);
    worker.labels.clear();
    if (random_.one_in(2)) worker.labels["zone"] = random_.one_in(2) ? "a" : "b";
    if (random_.one_in(3)) worker.labels["disk"] = "fast";
    if (&worker != &workers.front() && random_.one_in(4)) worker.joins_ms = between(1, length_ms / 2);
  }
}

std::string Crowd::queue_name() {
  const std::uint64_t which = random_.below(queues_ + 1);
  return which == queues_ ? std::string(kDefaultQueue) : concat("q", which);
}

std::string Crowd::share_name() {
  constexpr const char* kNames[] = {"ann", "bob", "team-1", "team-2", ""};
  return kNames[random_.below(5)];
}

Queue Crowd::queue(const std::string& name) {
  Queue queue{.name = name};
  queue.priority = static_cast<std::uint32_t>(random_.below(3));
  if (random_.one_in(3)) return queue;
  queue.order = QueueOrder::fair;
  queue.decay_s = random_.one_in(3) ? 60 : random_.one_in(2) ? 600 : 7200;
  if (random_.one_in(3)) queue.reserved_percent = static_cast<std::uint32_t>(random_.below(90));
  if (random_.one_in(2)) queue.weights = {{"ann", 20'000}, {"team-*", 5'000}};
  return queue;
}

std::vector<ScriptEvent> Crowd::make_queues(std::int64_t hours) {
  std::vector<ScriptEvent> events;
  queues_ = 1 + random_.below(4);
  events.reserve(queues_);
  for (std::uint64_t i = 0; i < queues_; ++i) events.push_back({0, ChangeQueue{queue(concat("q", i))}});
  for (std::int64_t from_ms = 0; from_ms < hours * kHour; from_ms += kHour) {
    if (random_.one_in(2)) events.push_back({from_ms + between(0, kHour), ChangeQueue{queue(queue_name())}});
    if (random_.one_in(2)) {
      const std::int64_t for_ms = random_.one_in(2) ? between(0, kMinute) : between(kMinute, 30 * kMinute);
      events.push_back({from_ms + between(0, kHour), CloseQueue{queue_name(), for_ms}});
    }
    if (random_.one_in(2)) events.push_back({from_ms + between(0, kHour), RemoveQueue{queue_name()}});
  }
  return events;
}

void Crowd::place(Submit& submit, std::int64_t at_ms, bool any_kind) {
  submit.place.queue = queue_name();
  submit.place.share = share_name();
  submit.place.owner = random_.one_in(2) ? "dan" : "eve";
  submit.place.priority = random_.one_in(8) ? kHighestPriority : static_cast<std::uint32_t>(random_.below(3));
  jobs_.push_back({submit.job, at_ms, submit.total});
  if (!any_kind) return;
  for (auto it = std::next(jobs_.rbegin()); it != jobs_.rend() && submit.after.size() < 3; ++it) {
    if (it->at_ms > at_ms || at_ms - it->at_ms > kHour || !random_.one_in(5)) continue;
    const bool each = random_.one_in(2) && (submit.after.empty() || submit.total == it->total);
    if (each) submit.total = it->total;
    submit.after.push_back({it->job, each});
  }
  submit.sequential = submit.total <= 60 && random_.one_in(8);
  if (random_.one_in(5)) submit.max_running = 1 + random_.below(4);
  if (random_.one_in(6)) submit.job_timeout_ms = between(kMinute, 40 * kMinute);
  jobs_.back().total = submit.total;
}

void Crowd::ask_too_much(Submit& submit) {
  if (!random_.one_in(15)) return;
  submit.fits_nobody = true;
  switch (random_.below(4)) {
    case 0: submit.ask.milli_cpus = 1'000'000; break;
    case 1: submit.ask.memory_bytes = std::uint64_t{1} << 40; break;
    case 2: submit.ask.accelerators[2] = 99; break;
    default: submit.require["zone"] = "nowhere"; break;
  }
}

}  // namespace drover::sim
