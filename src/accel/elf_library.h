// What the dynamic linker needs to know of a shared library: its soname, and which programs can load it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace drover {

struct ElfLibrary {
  std::string soname;             // empty: it has none
  std::uint32_t cache_flags = 0;  // as in ld.so.cache
  bool is_64_bit = true;

  bool operator==(const ElfLibrary&) const = default;
};

/// By flags as they are in ld.so.cache.
bool is_64_bit(std::uint32_t cache_flags);

/// Nothing: this is not a shared library of a known machine. The file may be anything.
std::optional<ElfLibrary> read_elf_library(int descriptor);

}  // namespace drover
