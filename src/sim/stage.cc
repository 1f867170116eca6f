#include "sim/stage.h"

#include <algorithm>

#include "sim/happenings/groups.h"

namespace drover::sim {

Stage::Stage(const Script& of, SeamFaults faults)
    : script(of),
      network(events, script.seed, script.workers.size()),
      registry(events, script.seed),
      server(events, auditor, script.seed, faults),
      clients(events, network, server),
      jobs(events, clients, server, auditor, script.seed),
      faults_(faults) {
  for (std::size_t i = 0; i < script.workers.size(); ++i) {
    workers.push_back(std::make_unique<SimWorker>(
        SimWorker::World{events, network, server, auditor, registry, faults.fault}, i, script.workers[i], script.seed));
  }
  for (const HappeningGroup& group : happening_groups()) {
    if (group.make_part != nullptr) parts.push_back(group.make_part(*this));
  }
  server.on_stopped = [this] {
    for (const auto& worker : workers) worker->on_server_stopped();
    for (const auto& part : parts) part->server_stopped();
  };
  server.on_committed = [this](const Batch& batch, std::int64_t applied_ms) {
    for (const auto& part : parts) part->committed(batch, applied_ms);
  };
  server.on_said = [this](const Effect& effect) {
    for (const auto& part : parts) part->said(effect);
  };
}

SimWorker& Stage::add_machine(const WorkerPlan& plan) {
  workers.push_back(
      std::make_unique<SimWorker>(SimWorker::World{events, network, server, auditor, registry, faults_.fault},
                                  network.add_worker(), plan, script.seed));
  return *workers.back();
}

void Stage::remove_machine(const SimWorker& worker) {
  const auto found = std::ranges::find(workers, &worker, &std::unique_ptr<SimWorker>::get);
  DROVER_CHECK(found != workers.end(), "it was added");
  removed.push_back(std::move(*found));
  workers.erase(found);
}

}  // namespace drover::sim
