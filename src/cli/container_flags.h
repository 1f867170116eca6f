// The flags that say what container items run in, for `run` and `submit` alike. They are read as the fields of a job
// are.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/container.h"
#include "base/result.h"
#include "cli/verb_options.h"

namespace drover {

/// What is there and empty was typed so, by `--image "$UNSET"`: it is refused, and not as if it had not been typed.
struct ContainerFlags {
  std::optional<std::string> image;
  std::optional<std::string> runtime;
  std::vector<std::string> entrypoint;
  std::optional<std::string> user;
  std::optional<std::string> hostname;
  std::optional<std::string> network;
  std::vector<std::string> mounts;
  std::vector<std::string> tmpfs;
  std::vector<std::string> devices;
  std::vector<std::string> ulimits;
  std::vector<std::string> cap_add;
  std::vector<std::string> cap_drop;
  std::optional<std::string> shm_size;
  std::optional<std::string> disk;
  bool read_only = false;
  bool privileged = false;
  bool no_init = false;
  bool reuse = false;
  std::optional<std::string> reset;
  std::optional<std::string> reuse_limit;
};

void add_container_flags(const Verb& verb, ContainerFlags& flags);

/// Puts what was typed over what is said by now. `has_definition`: a definition may name the image. The fields that
/// were typed are added to `said`.
Result<void> apply_container_flags(const ContainerFlags& flags, bool has_definition,
                                   std::optional<ContainerOptions>& options, std::set<std::string, std::less<>>& said);

}  // namespace drover
