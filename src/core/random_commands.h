// For tests: a seeded world that talks to a core. It hears only what a core has let out, as the real ones would.
#pragma once

#include <memory>
#include <vector>

#include "core/catalog/catalog_commands.h"
#include "core/command_source.h"
#include "core/fleets/fleet_commands.h"
#include "core/jobs/job_commands.h"
#include "core/ledger_model.h"
#include "core/streams/stream_commands.h"
#include "core/workers/worker_commands.h"

namespace drover {

class RandomCommands {
 public:
  /// One seed in ten has jobs of many blocks; they cost time.
  explicit RandomCommands(std::uint64_t seed) : world_{.random = Random(seed), .large_jobs = seed % 10 == 0} {
    sources_.push_back(std::make_unique<JobCommands>(world_));
    sources_.push_back(std::make_unique<WorkerCommands>(world_));
    sources_.push_back(std::make_unique<CatalogCommands>(world_));
    sources_.push_back(std::make_unique<StreamCommands>(world_));
    sources_.push_back(std::make_unique<FleetCommands>(world_));
    for (const auto& source : sources_) weight_ += source->weight();
  }

  std::int64_t now_ms() const { return world_.now_ms; }

  /// The next thing somebody does. `ledger` is what a reader of the store would see.
  Command next(const Core& core, const LedgerModel& ledger) {
    Random& random = world_.random;
    world_.now_ms += static_cast<std::int64_t>(random.one_in(20) ? random.below(90'000) : random.below(50));
    if (random.one_in(300)) world_.now_ms += kDepartedKeptMs;
    const auto deadline = core.next_deadline();
    if (deadline && *deadline <= world_.now_ms && !random.one_in(4)) return Tick{};
    if (random.one_in(60)) return Tick{};
    if (random.one_in(25)) return Stalled{static_cast<std::int64_t>(random.below(random.one_in(4) ? 120'000 : 50))};
    for (const auto& source : sources_) {
      if (auto command = source->answer(core, ledger)) return *std::move(command);
    }
    std::uint64_t at = random.below(weight_);
    for (const auto& source : sources_) {
      if (at < source->weight()) return source->next(core, ledger);
      at -= source->weight();
    }
    return Tick{};
  }

  /// An answer that was let out.
  void hear(const Answer& answer, const Command* command) {
    for (const auto& source : sources_) source->hear(answer, command);
  }

  /// The core went down and came back. Time goes on from what is known.
  void crashed(std::int64_t now_ms) {
    world_.now_ms = std::max(world_.now_ms, now_ms);
    for (const auto& source : sources_) source->crashed();
  }

 private:
  RandomWorld world_;
  std::vector<std::unique_ptr<CommandSource>> sources_;
  std::uint64_t weight_ = 0;
};

}  // namespace drover
