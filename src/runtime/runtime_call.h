// The command line of an OCI runtime, as Docker, containerd, podman and people write it, with the options that are
// ours.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "accel/device_request.h"

namespace drover {

struct RuntimeCall {
  // Ours, which the runtime below does not see.
  std::string settings;                   // --config: a config.toml
  std::string runtime;                    // --runtime-path: the runtime below
  std::vector<std::string> hook_files;    // --hook-config-path
  AccelVendor vendor = AccelVendor::any;  // --vendor
  bool wants_help = false;                // --help-drover

  // The runtime's, which also go there.
  std::string log;
  bool logs_json = false;
  std::string command;       // "create"; empty: there is none
  std::string bundle = ".";  // of create and run

  std::vector<std::string> forwarded;  // the words for the runtime below, without its name

  /// Whether this makes a container.
  bool makes_container() const { return command == "create" || command == "run"; }
};

/// `words` without the program's name. What is unknown belongs to the runtime below.
Result<RuntimeCall> parse_runtime_call(std::span<const char* const> words);

}  // namespace drover
