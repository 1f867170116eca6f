#include "accel/ld_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace drover {
namespace {

std::string machine_cache() {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LdCache, ThatOfThisMachineIsReadAndWrittenBack) {
  const auto cache = read_ld_cache(machine_cache());
  ASSERT_TRUE(cache.has_value()) << cache.error().message;
  const bool has_libc = std::ranges::any_of(
      cache->entries, [](const LdCache::Entry& it) { return it.name == "libc.so.6" && it.path.starts_with('/'); });
  EXPECT_TRUE(has_libc);
  const auto again = read_ld_cache(write_ld_cache(*cache));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->entries, cache->entries) << "ldconfig sorts alike";
  EXPECT_EQ(again->hardware_names, cache->hardware_names);
}

TEST(LdCache, AddedLibrariesReplaceThoseOfTheirName) {
  LdCache cache{.entries = {{0x303, "libb.so.1", "/b", 0, 0},
                            {0x3, "libb.so.1", "/b32", 0, 0},
                            {0x303, "liba.so.10", "/a10", 0, 0}},
                .hardware_names = {"x86-64-v3"}};
  cache.put_first({{0x303, "libb.so.1", "/new", 0, 0}, {0x303, "liba.so.9", "/a9", 0, 0}});
  const auto read = read_ld_cache(write_ld_cache(cache));
  ASSERT_TRUE(read.has_value());
  std::vector<std::string> paths;
  for (const LdCache::Entry& entry : read->entries) paths.push_back(entry.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/new", "/b32", "/a10", "/a9"})) << "falling by name, numbers as numbers";
  EXPECT_EQ(read->hardware_names, cache.hardware_names);
}

TEST(LdCache, DamagedBytesAreAnErrorAndNothingWorse) {
  LdCache cache{.entries = {{0x303, "liba.so.1", "/a", 0, 0}, {0x303, "libb.so.1", "/b", 0, 0}},
                .hardware_names = {"x"}};
  const std::string whole = write_ld_cache(cache);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_ld_cache(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!read || read->entries.size() == 2) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\xff', '\x7f', '\0'}) {
      std::string damaged = whole;
      damaged[at] = byte;
      (void)read_ld_cache(damaged);
      (void)read_ld_cache("ld.so-1.7.0" + damaged);
    }
  }
  EXPECT_FALSE(read_ld_cache("").has_value());
}

}  // namespace
}  // namespace drover
