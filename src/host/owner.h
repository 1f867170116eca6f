// Which process something belongs to that outlives processes, such as a folder or a cgroup: by its number and the time
// at which it began, which together name it for good.
#pragma once

#include <optional>
#include <string>

namespace drover {

struct Owner {
  std::string pid;
  std::string started;
  std::string pid_namespace;  // in another, numbers mean others

  /// "PID-STARTTIME-nsNAMESPACE"
  std::string name() const;
  static std::optional<Owner> from_name(const std::string& name);

  /// One in another namespace counts as alive: it cannot be known.
  bool is_alive() const;
};

const Owner& this_process();

}  // namespace drover
