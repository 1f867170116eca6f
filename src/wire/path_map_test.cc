#include "wire/path_map.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

PathMap map_of(std::initializer_list<std::pair<const char*, const char*>> rules) {
  PathMap map;
  for (const auto& [from, to] : rules) map.add(from, to);
  return map;
}

TEST(PathMap, OnlyWholeComponentsFit) {
  const PathMap map = map_of({{"/mnt/data", "s3://bucket/data"}});
  EXPECT_EQ(map.apply("/mnt/data/a/b.png"), "s3://bucket/data/a/b.png");
  EXPECT_EQ(map.apply("/mnt/data"), "s3://bucket/data");
  EXPECT_EQ(map.apply("/mnt/database/a"), "/mnt/database/a");
  EXPECT_EQ(map.apply("/else/mnt/data/a"), "/else/mnt/data/a");
  EXPECT_EQ(map.apply(""), "");
}

TEST(PathMap, TheLongestBeginningCounts) {
  for (const bool turned : {false, true}) {
    PathMap map;
    if (turned) map.add("/mnt/data/raw", "s3://raw");
    map.add("/mnt", "/srv");
    map.add("/mnt/data", "s3://data");
    if (!turned) map.add("/mnt/data/raw", "s3://raw");
    EXPECT_EQ(map.apply("/mnt/data/raw/x"), "s3://raw/x");
    EXPECT_EQ(map.apply("/mnt/data/rawest"), "s3://data/rawest");
    EXPECT_EQ(map.apply("/mnt/x"), "/srv/x");
  }
}

TEST(PathMap, SlashesAtTheEndSayNothing) {
  const PathMap map = map_of({{"/mnt/data/", "s3://bucket/"}});
  EXPECT_EQ(map.apply("/mnt/data/x"), "s3://bucket/x");
  EXPECT_EQ(map_of({{"/", "/chroot"}}).apply("/etc/x"), "/chroot/etc/x");
  EXPECT_EQ(map_of({{"/chroot", "/"}}).apply("/chroot/etc/x"), "/etc/x");
  EXPECT_EQ(map_of({{"/chroot", "/"}}).apply("/chroot"), "/");
  EXPECT_EQ(map_of({{"in", "out"}}).apply("in/a"), "out/a");
}

TEST(PathMap, TheLastOfTwoForOnePathCounts) {
  EXPECT_EQ(map_of({{"/a", "/b"}, {"/a/", "/c"}}).apply("/a/x"), "/c/x");
}

TEST(PathMap, OfJsonOnlyTextsThatAreValuesChange) {
  const PathMap map = map_of({{"/a", "s3://b"}});
  EXPECT_EQ(map.apply_to_json(R"({"/a": "/a/x", "n": 1.0, "l": ["/a/\"y\"", "/ab"], "t":"\/a/z" , "o":{"k":"/a"}})"),
            R"({"/a": "s3://b/x", "n": 1.0, "l": ["s3://b/\"y\"", "/ab"], "t":"s3://b/z" , "o":{"k":"s3://b"}})");
  EXPECT_EQ(map.apply_to_json(R"({"a":"unfinished)"), R"({"a":"unfinished)");
}

TEST(PathMap, AWordNamesBothSides) {
  EXPECT_EQ(map_from_word("--map", "/a=s3://b?x=1").value(), (std::pair<std::string, std::string>{"/a", "s3://b?x=1"}));
  for (const char* word : {"", "=", "/a", "/a=", "=/b"}) EXPECT_FALSE(map_from_word("--map", word)) << word;
}

}  // namespace
}  // namespace drover
