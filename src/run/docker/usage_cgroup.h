// What an attempt in a container used, after the container is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "run/docker/docker_daemon.h"

namespace drover {

/// A cgroup of ours that a daemon puts a slot's containers into. It outlives them, so nothing of what they used is
/// missed, however short they were. Where the daemon counts otherwise, or we may not make one, it has no name().
class UsageCgroup {
 public:
  UsageCgroup() = default;
  UsageCgroup(const DockerFacts& facts, const std::string& slot);
  ~UsageCgroup() { remove(); }
  UsageCgroup(UsageCgroup&& other) noexcept;
  UsageCgroup& operator=(UsageCgroup&& other) noexcept;

  /// As a daemon is told it, "/drover-docker-…"; empty: there is none.
  const std::string& name() const { return name_; }

  /// An attempt begins.
  void begin();
  /// What it has used since then: CPU time and peak memory.
  void add_to(Usage& usage) const;

  /// Those of owners that are dead.
  static void sweep();

 private:
  struct Times {
    std::int64_t user_us = 0;
    std::int64_t system_us = 0;
  };

  Times times() const;
  void remove();

  std::string name_;
  std::string memory_;  // folder
  std::string cpu_;     // folder; with version 2 the same
  bool is_v2_ = false;
  Times before_;
};

}  // namespace drover
