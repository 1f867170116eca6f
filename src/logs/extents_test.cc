#include "logs/extents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "base/random.h"
#include "logs/record.h"

namespace drover {
namespace {

using Extents = std::vector<Extent>;

TEST(Extents, NeighbouringFramesBecomeOne) {
  ExtentList list;
  list.add({1, 0, 100});
  list.add({1, 100, 50});
  list.add({1, 150, 1});
  EXPECT_EQ(list.all(), (Extents{{1, 0, 151}}));
  list.add({1, 200, 10});
  list.add({2, 210, 10});
  EXPECT_EQ(list.all(), (Extents{{1, 0, 151}, {1, 200, 10}, {2, 210, 10}}));
}

TEST(Extents, AFrameThatWasAddedLastIsNotAddedAgain) {
  ExtentList list;
  list.add({1, 0, 100});
  list.add({1, 0, 100});
  list.add({1, 100, 50});
  list.add({1, 100, 50});
  EXPECT_EQ(list.all(), (Extents{{1, 0, 150}}));
}

TEST(Extents, CoverTheirBytesAndNoOthers) {
  ExtentList list;
  EXPECT_FALSE(list.covers(0, 0));
  list.add({1, 10, 5});
  list.add({3, 100, 1});
  for (const std::uint64_t inside : {10, 12, 14}) EXPECT_TRUE(list.covers(1, inside));
  for (const std::uint64_t outside : {0, 9, 15, 100}) EXPECT_FALSE(list.covers(1, outside));
  EXPECT_FALSE(list.covers(2, 12));
  EXPECT_TRUE(list.covers(3, 100));
}

TEST(Extents, ComeBackAsTheyStandInARow) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    ExtentList list;
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      list.add({random.below(5), random.next() >> random.below(64), 1 + random.below(1 << 20)});
    }
    EXPECT_EQ(ExtentList::decode(list.encode().value).all(), list.all());
    EXPECT_EQ(list.encode().value.empty(), list.empty());
  }
}

TEST(Extents, WhatIsCutShortIsLeftOut) {
  ExtentList list;
  for (std::uint64_t i = 0; i < 6; ++i) list.add({i, i << (7 * i), 1ULL << (8 * i)});
  const std::string whole = list.encode().value;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Extents got = ExtentList::decode(std::string_view(whole).substr(0, size)).all();
    ASSERT_LT(got.size(), list.all().size());
    EXPECT_TRUE(std::ranges::equal(got, std::span(list.all()).first(got.size())));
  }
}

TEST(Extents, ANumberThatNeverEndsIsLeftOut) {
  for (int wrong = 0; wrong < 3; ++wrong) {
    std::string bytes;
    for (int field = 0; field < 3; ++field) {
      if (field == wrong) bytes += std::string(10, '\xff');
      bytes += '\1';
    }
    EXPECT_TRUE(ExtentList::decode(bytes).empty()) << "field " << wrong;
  }
}

TEST(Extents, NoiseIsSurvived) {
  Random random(2);
  for (int round = 0; round < 10'000; ++round) {
    std::string noise(random.below(40), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.next());
    EXPECT_LE(ExtentList::decode(noise).all().size(), noise.size() / 3);
  }
}

}  // namespace
}  // namespace drover
