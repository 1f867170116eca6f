#include "run/user_namespace.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace drover {
namespace {

TEST(UserNamespace, WhoIsGivenNobodyIsAlone) {
  EXPECT_EQ(maps_of(1000, "", "ann", 1000), (std::vector<IdMap>{{0, 1000, 1}}));
  EXPECT_EQ(maps_of(1000, "bob:100000:65536\n", "ann", 1000), (std::vector<IdMap>{{0, 1000, 1}}));
}

TEST(UserNamespace, RangesFollowEachOther) {
  const auto maps = maps_of(1000, "bob:1:2\nann:100000:65536\n1000:300000:10\n", "ann", 1000);
  EXPECT_EQ(maps, (std::vector<IdMap>{{0, 1000, 1}, {1, 100000, 65536}, {65537, 300000, 10}}));
}

TEST(UserNamespace, WhatMakesNoSenseIsLeftOut) {
  EXPECT_EQ(maps_of(7, "ann\nann:5\nann:x:5\nann:5:0\nann:4294967290:100\nann:1:2:3\n", "ann", 7).size(), 1U);
}

TEST(UserNamespace, WhoIsMappedIsKnown) {
  const std::vector<IdMap> maps = {{0, 1000, 1}, {1, 100000, 10}};
  EXPECT_TRUE(is_mapped(maps, 0));
  EXPECT_TRUE(is_mapped(maps, 10));
  EXPECT_FALSE(is_mapped(maps, 11));
  EXPECT_TRUE(is_known_inside(maps, 1000));
  EXPECT_TRUE(is_known_inside(maps, 100009));
  EXPECT_FALSE(is_known_inside(maps, 0));
}

TEST(UserNamespace, RootMayMount) {
  EXPECT_EQ(may_mount(), ::geteuid() == 0);
  EXPECT_TRUE(may_make_containers());
}

}  // namespace
}  // namespace drover
