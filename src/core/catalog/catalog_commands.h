// For tests: people who change queues, definitions and documents.
#pragma once

#include <string>
#include <utility>

#include "core/command_source.h"

namespace drover {

class CatalogCommands : public CommandSource {
 public:
  using CommandSource::CommandSource;

  std::uint64_t weight() const override { return 4; }

  Command next(const Core& /*core*/, const LedgerModel& /*ledger*/) override {
    const std::string name = "name" + std::to_string(random_.below(3));
    switch (random_.below(10)) {
      case 0: return DropQueue{world_.any_queue()};
      case 1: return AddRevision{name, DefinitionId{1 + random_.below(3)}, "user0"};
      case 2: return RetireRevision{name, random_.below(4)};
      case 3:
      case 4: return documents();
      default: break;
    }
    Queue queue{.name = world_.any_queue()};
    queue.priority = static_cast<std::uint32_t>(random_.below(3));
    queue.enabled = !random_.one_in(5);
    queue.closed = random_.one_in(8);
    queue.order = random_.one_in(3) ? QueueOrder::first_come : QueueOrder::fair;
    queue.decay_s = random_.one_in(3) ? 1 : 600;
    if (random_.one_in(4)) queue.reserved_percent = static_cast<std::uint32_t>(random_.below(100));
    if (random_.one_in(2)) queue.weights = {{"share0", 20'000}, {"share*", 5'000}};
    if (random_.one_in(4)) queue.fleets = {"name0", "name1"};
    return SetQueue{std::move(queue)};
  }

 private:
  Command documents() {
    SetDocuments command;
    do {
      SetDocuments::Change change{"kind" + std::to_string(random_.below(2)), "name" + std::to_string(random_.below(3)),
                                  std::nullopt, std::nullopt};
      if (!random_.one_in(3)) change.text = std::to_string(random_.below(100));
      if (random_.one_in(2)) change.version = random_.below(3);
      command.changes.push_back(std::move(change));
    } while (random_.one_in(3));
    return command;
  }
};

}  // namespace drover
