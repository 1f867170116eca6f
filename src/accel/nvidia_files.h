// The files of NVIDIA's driver that programs in a container need, by what they need them for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accel/driver_places.h"

namespace drover {

/// What a container uses its GPUs for, as NVIDIA_DRIVER_CAPABILITIES names it.
class NvidiaCapabilities {
 public:
  enum Capability : unsigned {
    compute = 1,
    compat32 = 2,
    graphics = 4,
    utility = 8,
    video = 16,
    display = 32,
    ngx = 64,
    all = 127,
  };

  NvidiaCapabilities() = default;
  NvidiaCapabilities(unsigned bits) : bits_(bits) {}  // NOLINT(google-explicit-constructor)

  bool has(unsigned any) const { return (bits_ & any) != 0; }
  unsigned bits() const { return bits_; }
  NvidiaCapabilities operator|(NvidiaCapabilities more) const { return bits_ | more.bits_; }
  bool operator==(const NvidiaCapabilities&) const = default;

  /// A comma list; "all" is all of them. An error names the word that is unknown.
  static Result<NvidiaCapabilities> parse(std::string_view list);

 private:
  unsigned bits_ = 0;
};

struct NvidiaFiles {
  struct Link {
    std::string path;    // in the container
    std::string target;  // as a symlink says it

    bool operator==(const Link&) const = default;
  };

  std::string version;                 // of the libraries; empty: there are none
  std::vector<std::string> libraries;  // paths below the root, without symlinks
  std::vector<std::string> folders;    // that they lie in
  std::vector<Link> links;             // which libraries are loaded by
  std::vector<std::string> programs;   // nvidia-smi
  std::vector<std::string> data;       // firmware, and files that graphics libraries read
  std::vector<std::string> sockets;    // of services of the driver
};

NvidiaFiles find_nvidia_files(const RootFolder& root, NvidiaCapabilities wanted);

}  // namespace drover
