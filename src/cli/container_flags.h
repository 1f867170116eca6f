// The flags that say what container items run in, for `run` and `submit` alike. They are read as the fields of a job
// are.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/container.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace drover {

struct ContainerFlags {
  std::string image;
  std::string runtime;
  std::vector<std::string> entrypoint;
  std::string user;
  std::string hostname;
  std::string network;
  std::vector<std::string> mounts;
  std::vector<std::string> tmpfs;
  std::vector<std::string> devices;
  std::vector<std::string> ulimits;
  std::vector<std::string> cap_add;
  std::vector<std::string> cap_drop;
  std::string shm_size;
  std::string disk;
  bool read_only = false;
  bool privileged = false;
  bool no_init = false;
  bool reuse = false;
  std::string reset;
  std::string reuse_limit;
};

void add_container_flags(CLI::App& verb, ContainerFlags& flags);

/// Puts what was typed over what is said by now. `has_definition`: a definition may name the image. The fields that
/// were typed are added to `said`.
Result<void> apply_container_flags(const ContainerFlags& flags, bool has_definition,
                                   std::optional<ContainerOptions>& options, std::set<std::string, std::less<>>& said);

}  // namespace drover
