#include "accel/elf_library.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace drover {
namespace {

constexpr std::size_t kMostHeaders = 256;
constexpr std::size_t kMostDynamic = 1024;
constexpr std::size_t kMostName = 256;

// FLAG_ELF_LIBC6 and what glibc adds to it for each machine.
std::uint32_t cache_flags_of(std::uint16_t machine, bool is_64_bit) {
  if (machine == EM_X86_64) return is_64_bit ? 0x0303 : 0x0803;
  if (machine == EM_AARCH64) return 0x0a03;
  if (machine == EM_386) return 0x0003;
  if (machine == EM_ARM) return 0x0903;
  if (machine == EM_PPC64) return 0x0503;
  if (machine == EM_RISCV) return 0x1003;
  return 0;
}

template <class T>
bool read_at(int descriptor, std::uint64_t offset, T* into, std::size_t count) {
  const std::size_t size = count * sizeof(T);
  return offset < (std::uint64_t{1} << 62) &&
         ::pread(descriptor, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

template <class Header, class Segment, class Dynamic>
std::optional<ElfLibrary> read_library(int descriptor) {
  Header header;
  if (!read_at(descriptor, 0, &header, 1) || header.e_type != ET_DYN || header.e_phentsize != sizeof(Segment) ||
      header.e_phnum > kMostHeaders) {
    return std::nullopt;
  }
  ElfLibrary out;
  out.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  out.cache_flags = cache_flags_of(header.e_machine, out.is_64_bit);
  if (out.cache_flags == 0) return std::nullopt;
  std::vector<Segment> segments(header.e_phnum);
  if (!read_at(descriptor, header.e_phoff, segments.data(), segments.size())) return std::nullopt;
  const auto dynamic =
      std::ranges::find(segments, static_cast<decltype(Segment::p_type)>(PT_DYNAMIC), &Segment::p_type);
  if (dynamic == segments.end()) return out;
  std::vector<Dynamic> entries(std::min<std::size_t>(dynamic->p_filesz / sizeof(Dynamic), kMostDynamic));
  if (!read_at(descriptor, dynamic->p_offset, entries.data(), entries.size())) return std::nullopt;
  std::optional<std::uint64_t> name, table;
  for (const Dynamic& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_SONAME) name = entry.d_un.d_val;
    if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
  }
  if (!name || !table) return out;
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_LOAD || *table < segment.p_vaddr || *table - segment.p_vaddr >= segment.p_filesz) continue;
    char text[kMostName] = {};
    const std::uint64_t offset = segment.p_offset + (*table - segment.p_vaddr) + *name;
    if (offset < (std::uint64_t{1} << 62) &&
        ::pread(descriptor, text, sizeof(text) - 1, static_cast<off_t>(offset)) > 0) {
      out.soname = text;
    }
  }
  if (out.soname.find('/') != std::string::npos) out.soname.clear();
  return out;
}

}  // namespace

bool is_64_bit(std::uint32_t cache_flags) {
  for (const std::uint16_t machine : {EM_X86_64, EM_AARCH64, EM_PPC64, EM_RISCV}) {
    if (cache_flags == cache_flags_of(machine, true)) return true;
  }
  return false;
}

std::optional<ElfLibrary> read_elf_library(int descriptor) {
  unsigned char ident[EI_NIDENT];
  if (!read_at(descriptor, 0, ident, sizeof(ident)) || std::memcmp(ident, ELFMAG, SELFMAG) != 0 ||
      ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  if (ident[EI_CLASS] == ELFCLASS64) return read_library<Elf64_Ehdr, Elf64_Phdr, Elf64_Dyn>(descriptor);
  if (ident[EI_CLASS] == ELFCLASS32) return read_library<Elf32_Ehdr, Elf32_Phdr, Elf32_Dyn>(descriptor);
  return std::nullopt;
}

}  // namespace drover
