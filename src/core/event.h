// What happened, in order and numbered, for those who follow along.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace drover {

enum class EventKind : std::uint8_t {
  job_submitted = 1,
  job_started,   // its first item was handed out
  job_stopping,  // cancelled, out of time, too many failures; what runs may go on for a while
  job_ended,
  job_reopened,
  job_forgotten,
  worker_joined,
  worker_lost,  // silent for longer than its term
  worker_draining,
  worker_left,  // in order, with nothing in its hands
  worker_fenced,
  worker_quarantined,
  worker_readmitted,
  queue_changed,
  queue_deleted,
  fleet_changed,
  fleet_deleted,
  machine_requested,
  machine_joined,
  machine_draining,
  machine_leaving,
  machine_gone,
};
inline constexpr EventKind kLastEventKind = EventKind::machine_gone;
std::string_view to_string(EventKind kind);

using EventId = Id<struct EventTag, std::uint64_t>;

/// The core writes these and never reads them.
struct Event {
  EventId id;
  std::int64_t at_ms = 0;
  EventKind kind = EventKind::job_submitted;
  std::string job;     // its UUID; empty: not about a job
  std::string name;    // of the job, the worker, the queue, the fleet or the machine
  std::string detail;  // a job's state, or why

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("event", self.id);
    visit("at_ms", self.at_ms);
    visit("kind", self.kind);
    visit("job", self.job);
    visit("name", self.name);
    visit("detail", self.detail);
  }
};

}  // namespace drover
