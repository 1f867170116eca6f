// The settings of the OCI runtime, in the file and with the names that NVIDIA's container toolkit has.
#pragma once

#include <string>
#include <vector>

#include "accel/nvidia_files.h"

namespace drover {

enum class AccelMode : unsigned char {
  automatic,  // CDI if every requested name is one of CDI's, otherwise what this machine has
  cdi,        // only what CDI files say
  machine,    // only what this machine has
};

struct AccelSettings {
  std::string driver_root = "/";
  bool checks_requirements = true;
  bool takes_variables_of_all = true;  // not only of privileged containers
  bool takes_mounts = false;           // of /dev/null, below /var/run/nvidia-container-devices
  std::vector<std::string> swarm_variables;
  NvidiaCapabilities supported = NvidiaCapabilities::all;
  AccelMode mode = AccelMode::automatic;
  std::string default_kind = "nvidia.com/gpu";
  std::vector<std::string> cdi_folders = {"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> annotation_prefixes = {"cdi.k8s.io/"};
  std::vector<std::string> runtimes = {"runc", "crun"};  // names or paths, of which the first that is there is used
  std::string log;                                       // a file; empty: none
  bool logs_details = false;
};

/// $NVIDIA_CTK_CONFIG_FILE_PATH, else nvidia-container-runtime/config.toml below $XDG_CONFIG_HOME or /etc.
std::string settings_path();

/// Without the file: the defaults. Keys that have no meaning here are ignored; an error names the key that has a value
/// of another kind.
Result<AccelSettings> read_accel_settings(const std::string& path, bool must_exist = false);

}  // namespace drover
