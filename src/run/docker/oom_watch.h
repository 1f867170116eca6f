// Which containers ran out of memory.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "run/docker/docker_daemon.h"

namespace drover {

/// Hears it from the daemon when it happens: what it says of a container afterwards does not cover a command in one
/// that goes on, nor an end that was known before its cause. On the daemon's thread.
class OomWatch : public std::enable_shared_from_this<OomWatch> {
 public:
  explicit OomWatch(DockerDaemon& daemon) : daemon_(daemon) {}

  /// From any thread.
  void begin();

  bool has_seen(const std::string& container) const { return seen_.contains(container); }
  void forget(const std::string& container) { seen_.erase(container); }

 private:
  void listen();
  void read(std::string_view bytes);

  DockerDaemon& daemon_;
  std::string line_;
  std::set<std::string> seen_;
};

}  // namespace drover
