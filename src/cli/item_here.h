// A recorded item on this machine: what it takes to run it, or something else in its place, and where that is not what
// the item had.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/recorded_item.h"
#include "cli/staged_here.h"
#include "ports/runner.h"
#include "worker/machine_runner.h"

namespace drover {

struct ItemHere {
  Definition definition;                       // without what this machine has not
  std::shared_ptr<const ContainerPlan> image;  // null: it runs as a process
  std::map<std::string, std::string> settings;
  std::vector<std::string> differences;      // for people
  std::shared_ptr<const StagedHere> staged;  // null: it reads and writes no objects
};

/// What a slot and its only task are told.
struct ReadyTask {
  SlotSetup setup;
  Task task;
};

/// Fetches the image if it is not here, and the object that the item names. `flags` name the item.
Result<ItemHere> item_here(const RecordedItem& item, const ItemFlags& flags, MachineRunner& runner, bool quiet);

/// The item's own command.
Result<ReadyTask> own_task(const RecordedItem& item, const ItemHere& here);

/// Another program, where the item would run, in a container that nobody had before.
Result<ReadyTask> other_task(const RecordedItem& item, const ItemHere& here, const std::vector<std::string>& words);

}  // namespace drover
