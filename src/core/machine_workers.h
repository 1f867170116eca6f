// What workers and fleets know of each other: a fleet's machine is a worker of the same name.
#pragma once

#include <string>
#include <string_view>

#include "core/records.h"

namespace drover {

/// Who knows machines, and hears of their workers.
class MachineListener {
 public:
  virtual ~MachineListener() = default;
  /// It has registered, or was heard of again.
  virtual void on_worker_present(const std::string& worker, const std::string& fleet) = 0;
  /// It was lost, has left, or was fenced: nothing is in its hands any more.
  virtual void on_worker_departed(const std::string& worker, const std::string& fleet, std::string_view how) = 0;
};

/// Who knows workers, and does something about those of machines. Nothing happens if there is no such worker.
class MachineWorkers {
 public:
  virtual ~MachineWorkers() = default;
  virtual bool is_known(const std::string& worker) const = 0;
  virtual const Worker& at(WorkerId worker) const = 0;
  /// It shall take no more items, and leave when those it has have ended.
  virtual void drain(const std::string& worker) = 0;
  /// Others get what it holds, at once.
  virtual void fence(const std::string& worker) = 0;
};

}  // namespace drover
