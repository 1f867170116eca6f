#include "accel/ld_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace drover {
namespace {

static_assert(std::endian::native == std::endian::little, "only little-endian machines have accelerators");

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::uint32_t kExtensionMagic = 0xeaa42174;
constexpr std::uint32_t kHardwareTag = 1;
constexpr std::uint8_t kLittleEndian = 2;

struct CacheHeader {
  char magic[20];
  std::uint32_t count;
  std::uint32_t strings_size;
  std::uint8_t flags;
  std::uint8_t unused_flags[3];
  std::uint32_t extension;
  std::uint32_t unused[3];
};
static_assert(sizeof(CacheHeader) == 48);

struct CacheRow {
  std::uint32_t flags;
  std::uint32_t name;
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(CacheRow) == 24);

struct CacheSection {
  std::uint32_t tag;
  std::uint32_t flags;
  std::uint32_t offset;
  std::uint32_t size;
};

template <class T>
bool take_at(std::string_view bytes, std::size_t offset, T& into) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&into, bytes.data() + offset, sizeof(T));
  return true;
}

std::string text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

/// The order of glibc's cache: digits count as numbers.
int compare_names(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view& text) {
    int value = 0;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      value = static_cast<int>(static_cast<unsigned>(value) * 10u + static_cast<unsigned>(text.front() - '0'));
    }
    return value;
  };
  while (!a.empty() && !b.empty()) {
    const bool both = is_digit(a.front()) && is_digit(b.front());
    if (both) {
      const int x = number(a), y = number(b);
      if (x != y) return x < y ? -1 : 1;
    } else if (is_digit(a.front())) {
      return 1;
    } else if (is_digit(b.front())) {
      return -1;
    } else if (a.front() != b.front()) {
      return a.front() < b.front() ? -1 : 1;
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

template <class T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

void LdCache::put_first(std::vector<Entry> added) {
  const auto is_replaced = [&](const Entry& entry) {
    return std::ranges::any_of(added,
                               [&](const Entry& it) { return it.name == entry.name && it.flags == entry.flags; });
  };
  std::erase_if(entries, is_replaced);
  entries.insert(entries.begin(), added.begin(), added.end());
}

Result<LdCache> read_ld_cache(std::string_view bytes) {
  if (bytes.starts_with(kOldMagic)) {
    // The old table may stand before the new one.
    std::uint32_t count = 0;
    take_at(bytes, 12, count);
    const std::size_t size = (16 + std::size_t{count} * 12 + 7) & ~std::size_t{7};
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  CacheHeader header{};
  if (!bytes.starts_with(kNewMagic) || !take_at(bytes, 0, header)) {
    return fail(ErrorCode::damaged, "this is not an ld.so.cache of glibc 2.2 or later");
  }
  LdCache out;
  for (std::size_t i = 0; i < header.count; ++i) {
    CacheRow row{};
    if (!take_at(bytes, sizeof(header) + i * sizeof(row), row)) {
      return fail(ErrorCode::damaged, "the ld.so.cache is shorter than it says");
    }
    out.entries.push_back(
        {row.flags, text_at(bytes, row.name), text_at(bytes, row.path), row.os_version, row.hardware});
  }
  std::uint32_t magic = 0, sections = 0;
  if (header.extension == 0 || !take_at(bytes, header.extension, magic) || magic != kExtensionMagic) return out;
  take_at(bytes, header.extension + 4, sections);
  for (std::size_t i = 0; i < sections; ++i) {
    CacheSection section{};
    if (!take_at(bytes, header.extension + 8 + i * sizeof(section), section)) break;
    if (section.tag != kHardwareTag) continue;
    for (std::size_t at = 0; at + 4 <= section.size; at += 4) {
      std::uint32_t name = 0;
      if (!take_at(bytes, section.offset + at, name)) break;
      out.hardware_names.push_back(text_at(bytes, name));
    }
  }
  return out;
}

std::string write_ld_cache(LdCache cache) {
  // What is searched is the order; entries of one name stay as they are to each other.
  std::ranges::stable_sort(cache.entries,
                           [](const auto& a, const auto& b) { return compare_names(a.name, b.name) > 0; });
  const std::size_t strings_begin = sizeof(CacheHeader) + cache.entries.size() * sizeof(CacheRow);
  std::string strings;
  std::map<std::string, std::uint32_t> places;
  const auto place = [&](const std::string& text) {
    const auto [it, is_new] = places.try_emplace(text, static_cast<std::uint32_t>(strings_begin + strings.size()));
    if (is_new) strings.append(text.c_str(), text.size() + 1);
    return it->second;
  };
  std::string rows;
  for (const LdCache::Entry& entry : cache.entries) {
    append_bytes(rows, CacheRow{entry.flags, place(entry.name), place(entry.path), entry.os_version, entry.hardware});
  }
  std::string names;
  for (const std::string& name : cache.hardware_names) append_bytes(names, place(name));
  CacheHeader header{};
  std::memcpy(header.magic, kNewMagic.data(), kNewMagic.size());
  header.count = static_cast<std::uint32_t>(cache.entries.size());
  header.strings_size = static_cast<std::uint32_t>(strings.size());
  header.flags = kLittleEndian;
  strings.resize((strings.size() + 3) & ~std::size_t{3});
  const auto extension = static_cast<std::uint32_t>(strings_begin + strings.size());
  if (!names.empty()) header.extension = extension;
  std::string out;
  append_bytes(out, header);
  out += rows;
  out += strings;
  if (names.empty()) return out;
  append_bytes(out, kExtensionMagic);
  append_bytes(out, std::uint32_t{1});
  const auto begin = static_cast<std::uint32_t>(extension + 8 + sizeof(CacheSection));
  append_bytes(out, CacheSection{kHardwareTag, 0, begin, static_cast<std::uint32_t>(names.size())});
  return out + names;
}

}  // namespace drover
