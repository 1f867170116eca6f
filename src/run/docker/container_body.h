// A container and a command in it, in the words of Docker's API.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ports/runner.h"

namespace drover {

/// What Docker has to know beyond the slot's setup.
struct DaemonPlace {
  std::string image;          // what the daemon calls it
  std::string owner;          // of the container
  std::string slot;           // the number of the slot
  std::string cgroup_parent;  // empty: where the daemon puts all
};

/// A container that runs one task and ends.
boost::json::object container_for(const SlotSetup& setup, const DaemonPlace& place, const Task& task);

/// A container that stays, for many tasks: `pause` is its command, a file in the folder `pause_folder` that is a volume
/// of its own.
boost::json::object warm_container(const SlotSetup& setup, const DaemonPlace& place, const std::string& pause_folder,
                                   const std::string& pause);

/// A task in a container that runs. `image` says what to do with a task that leaves the command to it.
boost::json::object command_for(const SlotSetup& setup, const ImageDefaults& image, const Task& task);

/// Why the task cannot be told to Docker; empty: it can.
std::string why_not_told(const SlotSetup& setup, const Task& task);

/// What of the setup no Docker can do; empty: nothing.
std::string why_not_possible(const SlotSetup& setup);

/// The last value of each name, in the order in which the names came first.
std::vector<std::string> merged_environment(const std::vector<const std::vector<std::string>*>& parts);

}  // namespace drover
