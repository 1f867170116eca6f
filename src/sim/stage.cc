#include "sim/stage.h"

#include "sim/happenings/groups.h"

namespace drover::sim {

Stage::Stage(const Script& of, SeamPlants plants)
    : script(of),
      network(events, script.seed, script.workers.size()),
      registry(events, script.seed),
      server(events, auditor, script.seed, plants),
      clients(events, network, server),
      jobs(events, clients, server, auditor, script.seed) {
  for (std::size_t i = 0; i < script.workers.size(); ++i) {
    workers.push_back(std::make_unique<SimWorker>(
        SimWorker::World{events, network, server, auditor, registry, plants.plant}, i, script.workers[i], script.seed));
  }
  for (const HappeningGroup& group : happening_groups()) {
    if (group.make_part != nullptr) parts.push_back(group.make_part(*this));
  }
  server.on_stopped = [this] {
    for (const auto& worker : workers) worker->on_server_stopped();
  };
  server.on_committed = [this](const Batch& batch, std::int64_t applied_ms) {
    for (const auto& part : parts) part->committed(batch, applied_ms);
  };
}

}  // namespace drover::sim
