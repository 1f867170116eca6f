#include "sim/happenings/groups.h"

#include "sim/happenings/fleets.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/network_faults.h"
#include "sim/happenings/queues.h"
#include "sim/happenings/server_faults.h"
#include "sim/happenings/streams.h"
#include "sim/happenings/worker_faults.h"

namespace drover::sim {

std::vector<HappeningGroup> happening_groups() {
  std::vector<HappeningGroup> groups;
  groups.push_back(job_happenings());
  groups.push_back(queue_happenings());
  groups.push_back(network_faults());
  groups.push_back(server_faults());
  groups.push_back(worker_faults());
  groups.push_back(stream_happenings());
  groups.push_back(fleet_happenings());
  return groups;
}

}  // namespace drover::sim
