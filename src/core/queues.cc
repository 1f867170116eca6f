// What is kept by name: queues, definitions, fleets.
#include "base/text.h"
#include "core/core.h"

namespace drover {

// The jobs of a queue leave their places and take new ones: its priority, its order or its shares may be others.
void Core::on(Ticket ticket, const SetQueue& command) {
  Queue queue = command.queue;
  const auto known = durable_.queues.find(queue.name);
  queue.created_ms = known == durable_.queues.end() ? volatile_.now_ms : known->second.created_ms;
  queue.usage_from_ms = known == durable_.queues.end() ? 0 : known->second.usage_from_ms;
  if (known != durable_.queues.end() && known->second.decay_s != queue.decay_s) {
    // Usage in other units cannot be compared: everybody begins anew.
    queue.usage_from_ms = 0;
    auto share = durable_.shares.lower_bound({queue.name, ""});
    while (share != durable_.shares.end() && share->first.first == queue.name) {
      changes_.share(queue.name, share->first.second);
      share = durable_.shares.erase(share);
    }
  }
  std::vector<Job*> jobs;
  for (const JobId id : unended_in(queue.name)) jobs.push_back(&job_at(id));
  for (const Job* job : jobs) leave_place(*job);
  const bool was_fair = known != durable_.queues.end() && known->second.order == QueueOrder::fair;
  durable_.queues.insert_or_assign(queue.name, queue);
  volatile_.schedule.set_lane(queue);
  for (Job* job : jobs) {
    if (queue.order == QueueOrder::fair && !was_fair && job->place.share.empty()) {
      job->place.share = job->place.owner;
      changes_.job(job->id);
    }
    take_place(*job);
    reconsider(*job);
  }
  changes_.queue(queue.name);
  note(EventKind::queue_changed, queue.name, queue.enabled ? "enabled" : "disabled");
  say(ticket, QueueSet{});
}

// As they came.
std::set<JobId> Core::unended_in(const std::string& queue) const {
  std::set<JobId> jobs;
  const Schedule::Lane* lane = volatile_.schedule.find_lane(queue);
  if (lane == nullptr) return jobs;
  for (const auto& [name, id] : lane->shares) {
    const std::set<JobId>& of_share = volatile_.schedule.at(id).jobs;
    jobs.insert(of_share.begin(), of_share.end());
  }
  return jobs;
}

void Core::on(Ticket ticket, const DropQueue& command) {
  if (command.queue == kDefaultQueue) {
    return refuse(ticket, ErrorCode::conflict, "queue 'default' cannot be removed", "disable it instead");
  }
  if (!durable_.queues.contains(command.queue)) {
    return refuse(ticket, ErrorCode::not_found, concat("queue '", command.queue, "' not found"),
                  "list queues with 'drover queue list'");
  }
  if (const Schedule::Lane* lane = volatile_.schedule.find_lane(command.queue);
      lane != nullptr && !lane->shares.empty()) {
    const Job& job = job_at(*volatile_.schedule.at(lane->shares.begin()->second).jobs.begin());
    return refuse(ticket, ErrorCode::conflict,
                  concat("job ", job.name, " in queue '", command.queue, "' has not ended"),
                  "disable the queue, then cancel its jobs or wait for them");
  }
  auto share = durable_.shares.lower_bound({command.queue, ""});
  while (share != durable_.shares.end() && share->first.first == command.queue) {
    changes_.share(command.queue, share->first.second);
    share = durable_.shares.erase(share);
  }
  durable_.queues.erase(command.queue);
  volatile_.schedule.drop_lane(command.queue);
  changes_.queue(command.queue);
  note(EventKind::queue_deleted, command.queue);
  say(ticket, QueueDropped{});
}

void Core::on(Ticket ticket, const AddRevision& command) {
  std::uint64_t revision = 1;
  if (const auto after = durable_.definitions.upper_bound({command.name, Policy::kNoLimit});
      after != durable_.definitions.begin() && std::prev(after)->first.first == command.name) {
    revision = std::prev(after)->first.second + 1;
  }
  durable_.definitions.insert_or_assign(
      {command.name, revision},
      NamedDefinition{command.name, revision, command.definition, true, volatile_.now_ms, command.owner});
  changes_.definition(command.name, revision);
  say(ticket, RevisionAdded{revision});
}

void Core::on(Ticket ticket, const RetireRevision& command) {
  const auto found = durable_.definitions.find({command.name, command.revision});
  if (found == durable_.definitions.end()) {
    return refuse(ticket, ErrorCode::not_found,
                  concat("definition '", command.name, ":", command.revision, "' not found"),
                  "list definitions with 'drover definition list'");
  }
  found->second.active = false;
  changes_.definition(command.name, command.revision);
  say(ticket, RevisionRetired{});
}

void Core::on(Ticket ticket, const SetFleet& command) {
  Fleet fleet = command.fleet;
  const auto known = durable_.fleets.find(fleet.name);
  fleet.created_ms = known == durable_.fleets.end() ? volatile_.now_ms : known->second.created_ms;
  durable_.fleets.insert_or_assign(fleet.name, fleet);
  changes_.fleet(fleet.name);
  say(ticket, FleetSet{});
}

void Core::on(Ticket ticket, const DropFleet& command) {
  if (durable_.fleets.erase(command.fleet) == 0) {
    return refuse(ticket, ErrorCode::not_found, concat("fleet '", command.fleet, "' not found"),
                  "list fleets with 'drover fleet list'");
  }
  changes_.fleet(command.fleet);
  say(ticket, FleetDropped{});
}

}  // namespace drover
