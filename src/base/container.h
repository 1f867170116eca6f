// What a container is to be like, in the words of a definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drover {

/// A folder or file of the machine, seen inside. A source that is no path is a volume of that name, which Drover keeps.
struct ContainerMount {
  std::string source;
  std::string target;
  bool read_only = false;
  bool create = false;  // a source that is missing is made: a folder

  bool operator==(const ContainerMount&) const = default;
};

/// A folder in memory, empty at first.
struct ContainerTmpfs {
  std::string target;
  std::uint64_t size_bytes = 0;  // 0: as large as the item's memory may be

  bool operator==(const ContainerTmpfs&) const = default;
};

struct ContainerDevice {
  std::string host;
  std::string inside;
  std::string access = "rwm";  // read, write, mknod

  bool operator==(const ContainerDevice&) const = default;
};

struct ContainerUlimit {
  std::string name;  // "nofile"
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;

  bool operator==(const ContainerUlimit&) const = default;
};

enum class ContainerNetwork : std::uint8_t {
  host,  // the machine's
  none,  // its own, with nothing but a loopback
};

enum class ContainerRuntime : std::uint8_t { any, crun, runc, docker };

/// What becomes of a warm container's file system between two items.
enum class ContainerReset : std::uint8_t {
  overlay,  // it is as the image has it
  none,     // it is as the item before left it
};

struct ContainerOptions {
  std::string image;   // as it was written
  std::string digest;  // what that meant when it was submitted: "sha256:…"; empty: not known
  ContainerRuntime runtime = ContainerRuntime::any;
  std::optional<std::vector<std::string>> entrypoint;  // instead of the image's
  std::string user;                                    // "name", "1000:1000"; empty: the image's
  std::string hostname;
  std::vector<ContainerMount> mounts;
  std::vector<ContainerTmpfs> tmpfs;
  std::vector<ContainerDevice> devices;
  std::vector<ContainerUlimit> ulimits;
  std::vector<std::string> add_capabilities;  // "SYS_PTRACE"
  std::vector<std::string> drop_capabilities;
  std::uint64_t shm_bytes = std::uint64_t{64} << 20;
  std::uint64_t disk_bytes = 0;  // that an item may write into its root; 0: no limit
  ContainerNetwork network = ContainerNetwork::host;
  bool read_only = false;
  bool privileged = false;
  bool init = true;    // a first process that passes signals on and reaps orphans
  bool reuse = false;  // several items run in it, one after another
  ContainerReset reset = ContainerReset::overlay;
  std::uint32_t reuse_limit = 1000;  // items; then there is a new one

  bool operator==(const ContainerOptions&) const = default;
};

/// What is added to a container's spec before it runs: how accelerators come into it.
struct ContainerEdits {
  struct Device {
    ContainerDevice wanted;
    bool is_block = false;
    // Nothing: as the node of this machine has them. With them it need not be there.
    std::optional<std::uint32_t> major, minor;
  };
  struct Hook {
    std::string stage;  // "createRuntime", "createContainer", "startContainer", "poststop"
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
  };

  std::vector<Device> devices;
  std::vector<ContainerMount> mounts;
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<Hook> hooks;
};

}  // namespace drover
