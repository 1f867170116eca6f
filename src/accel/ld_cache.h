// glibc's ld.so.cache: which file a library's name stands for. It is read to find a driver's libraries, and written
// again with libraries that a container is given, so that no program has to run in the container for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

struct LdCache {
  struct Entry {
    std::uint32_t flags = 0;  // kind of library and machine
    std::string name;         // "libcuda.so.1"
    std::string path;
    std::uint32_t os_version = 0;
    std::uint64_t hardware = 0;  // above bit 61: which of hardware_names it needs

    bool operator==(const Entry&) const = default;
  };

  std::vector<Entry> entries;
  std::vector<std::string> hardware_names;  // "x86-64-v3"

  /// Libraries that are found before any other of the same name, which is removed.
  void put_first(std::vector<Entry> added);
};

/// Any bytes are safe to read.
Result<LdCache> read_ld_cache(std::string_view bytes);
std::string write_ld_cache(LdCache cache);

}  // namespace drover
