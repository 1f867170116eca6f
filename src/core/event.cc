#include "core/event.h"

namespace drover {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::job_submitted: return "job_submitted";
    case EventKind::job_started: return "job_started";
    case EventKind::job_stopping: return "job_stopping";
    case EventKind::job_ended: return "job_ended";
    case EventKind::job_reopened: return "job_reopened";
    case EventKind::job_forgotten: return "job_forgotten";
    case EventKind::worker_joined: return "worker_joined";
    case EventKind::worker_lost: return "worker_lost";
    case EventKind::worker_draining: return "worker_draining";
    case EventKind::worker_left: return "worker_left";
    case EventKind::worker_fenced: return "worker_fenced";
    case EventKind::worker_quarantined: return "worker_quarantined";
    case EventKind::worker_readmitted: return "worker_readmitted";
    case EventKind::queue_changed: return "queue_changed";
    case EventKind::queue_deleted: return "queue_deleted";
    case EventKind::fleet_changed: return "fleet_changed";
    case EventKind::fleet_deleted: return "fleet_deleted";
    case EventKind::machine_requested: return "machine_requested";
    case EventKind::machine_joined: return "machine_joined";
    case EventKind::machine_draining: return "machine_draining";
    case EventKind::machine_leaving: return "machine_leaving";
    case EventKind::machine_gone: return "machine_gone";
  }
  return "unknown";
}

}  // namespace drover
