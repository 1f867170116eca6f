// Everybody and everything that happenings act on.
#pragma once

#include <memory>
#include <vector>

#include "base/check.h"
#include "sim/auditor.h"
#include "sim/clients.h"
#include "sim/event_queue.h"
#include "sim/job_clients.h"
#include "sim/network.h"
#include "sim/registry.h"
#include "sim/sim_server.h"
#include "sim/sim_worker.h"
#include "sim/world_part.h"

namespace drover::sim {

struct Stage {
  Stage(const Script& of, SeamFaults faults);

  /// What a group has brought; each brings one of its kind.
  template <class Part>
  Part& part() {
    Part* found = nullptr;
    for (const auto& it : parts) {
      if (found == nullptr) found = dynamic_cast<Part*>(it.get());
    }
    DROVER_CHECK(found != nullptr, "its group has brought it");
    return *found;
  }

  /// The worker of a machine that a fleet has launched.
  SimWorker& add_machine(const WorkerPlan& plan);
  /// Its machine is no more.
  void remove_machine(const SimWorker& worker);

  const Script& script;
  EventQueue events;
  Auditor auditor;
  Network network;
  Registry registry;
  SimServer server;
  Clients clients;
  JobClients jobs;
  std::vector<std::unique_ptr<SimWorker>> workers;  // those of the script, then those of machines
  std::vector<std::unique_ptr<SimWorker>> removed;  // what they had begun may still come to them
  std::vector<std::unique_ptr<WorldPart>> parts;

 private:
  const SeamFaults faults_;
};

}  // namespace drover::sim
