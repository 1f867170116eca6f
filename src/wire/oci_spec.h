// A container in the words of the Open Container Initiative: the config.json that crun and runc read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/container.h"
#include "base/words.h"
#include "wire/capabilities.h"

namespace drover {

/// A device node as it is on the machine.
struct DeviceNode {
  ContainerDevice wanted;
  bool is_block = false;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t mode = 0666;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

/// A mount as it is on the machine.
struct PlacedMount {
  std::string source;
  std::string target;
  bool read_only = false;
  bool is_folder = true;
};

/// What the definition leaves open and only the machine and the image know.
struct ContainerPlace {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
  CapabilityMask capabilities = 0;
  std::string home = "/";  // of the user
  std::string workdir = "/";
  std::string hostname;
  std::string cgroups_path;  // from the root of the hierarchy; empty: it has none, and limits are each process's
  bool has_cgroup_v2 = false;
  bool is_rootless = false;              // made by somebody who is root only in a user namespace
  bool has_terminal_group = true;        // group 5, which terminals belong to, is somebody
  bool has_recursive_attributes = true;  // the kernel can make all below a mount read-only
  std::string first_process;             // the program, on the machine
  std::string etc;                       // a folder with hosts, hostname and resolv.conf
  std::vector<PlacedMount> mounts;       // with paths for volumes
  std::vector<DeviceNode> devices;       // those of the definition and of the edits
  std::vector<ContainerEdits::Hook> hooks;
  ItemLimits limits;
};

/// Where the first process's program is inside.
inline constexpr const char* kFirstProcessPlace = "/dev/.drover-init";

/// Those of /etc that the machine gives.
inline constexpr const char* kEtcFiles[] = {"hosts", "hostname", "resolv.conf"};

/// A mount of the spec that lies in memory, or is made by the kernel.
struct SpecMount {
  std::string place;
  std::string type;
  std::uint64_t flags = 0;  // of mount(2)
  std::string options;      // of the file system
};

/// Those that are made anew with each container: shared memory and the like.
std::vector<SpecMount> memory_mounts(const ContainerOptions& options, const ContainerPlace& place);

/// An outer mount comes before what lies in it.
std::size_t mount_depth(const std::string& place);

std::string oci_spec(const ContainerOptions& options, const ContainerPlace& place);

}  // namespace drover
