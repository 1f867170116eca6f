#include "sim/crowd.h"

#include "base/text.h"
#include "core/queue.h"
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
