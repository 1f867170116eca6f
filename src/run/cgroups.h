// Cgroups for slots, of either version. Each slot has its own, below the one that this process is in; they are reused
// by all items of the slot, because making and entering them costs more than starting a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ports/runner.h"

namespace drover {

/// One slot's, as its helper is told of them.
struct SlotCgroup {
  std::vector<std::string> join;  // version 1: the folders that the helper enters, one per controller
  std::string clone_into;         // version 2: the folder that items are born into
  std::string kill_counts;        // the file that counts processes killed for want of memory
  bool holds_memory = false;
  bool holds_cpus = false;

  /// When nothing is in them any more.
  void remove();
};

/// One slot's container's: the runtime makes them, with the limits of its spec.
struct ContainerCgroup {
  std::string path;                  // as the spec names it, from the root of the hierarchy
  std::vector<std::string> folders;  // one per hierarchy
  std::vector<std::string> join;     // version 1: those that a helper enters whose items join the container
  std::string clone_into;            // version 2: the folder that such items are born into
  std::string kill_counts;
  std::string members;  // the file that lists its processes
  std::string unified;  // version 2's, mounted beside version 1
  bool is_v2 = false;

  void remove() const;
};

enum class CgroupVersion : std::uint8_t { none, v1, v2 };

class Cgroups {
 public:
  /// What this process may make; removes what dead processes of ours have left.
  static Cgroups find();

  CgroupVersion version() const { return version_; }
  /// As much of the limits as can be held; the rest is the caller's.
  SlotCgroup make(const ItemLimits& limits) const;
  /// A name for a container's, which nobody has yet.
  ContainerCgroup for_container() const;

 private:
  SlotCgroup make_v1(const ItemLimits& limits) const;
  SlotCgroup make_v2(const ItemLimits& limits) const;

  CgroupVersion version_ = CgroupVersion::none;
  // The folders below which ours are made: of each controller, or, in version 2, all the same.
  std::string pids_;
  std::string memory_;
  std::string cpu_;
};

}  // namespace drover
