#include "base/resources.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace drover {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Resources, FitOnlyWhereThereIsEnoughOfEverything) {
  const Resources room{8000, 1 << 30};
  EXPECT_TRUE((Resources{8000, 1 << 30}).fits(room));
  EXPECT_TRUE(Resources{}.fits(Resources{}));
  EXPECT_FALSE((Resources{8001, 0}).fits(room));
  EXPECT_FALSE((Resources{1, (1 << 30) + 1}).fits(room));
}

TEST(Resources, HoldAsManyAsTheScarcestAllows) {
  const Resources room{8000, 16};
  EXPECT_EQ(room.holds({500, 0}), 16U);
  EXPECT_EQ(room.holds({4000, 0}), 2U);
  EXPECT_EQ(room.holds({500, 4}), 4U);
  EXPECT_EQ(room.holds({9000, 0}), 0U);
  EXPECT_EQ(room.holds({}), Resources::kEndless);
  EXPECT_EQ(Resources::endless().holds({1, 1}), Resources::kEndless);
}

TEST(Resources, NeverRunOver) {
  EXPECT_EQ((Resources{5, 5}).minus({7, 2}), (Resources{0, 3}));
  EXPECT_EQ(Resources::endless().minus({7, 2}), Resources::endless())
      << "of the endless something can be taken for ever";
  EXPECT_EQ((Resources{kMost, 1}).plus({kMost, 2}), (Resources{Resources::kEndless, 3}));
  EXPECT_EQ((Resources{kMost, 3}).times(kMost), Resources::endless());
  EXPECT_EQ((Resources{kMost, 3}).times(0), Resources{});
}

TEST(Resources, WhatIsHeldAlsoFits) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto any = [&] { return random.one_in(3) ? random.next() >> 2 : random.below(10'000); };
    const Resources room{any(), any()};
    const Resources ask{1 + any(), any()};
    const std::uint64_t count = room.holds(ask);
    ASSERT_TRUE(ask.times(count).fits(room));
    ASSERT_FALSE(ask.times(count + 1).fits(room));
    ASSERT_EQ(ask.fits(room), count > 0);
    ASSERT_EQ(room.minus(ask).plus(ask) == room, ask.fits(room));
  }
}

TEST(Resources, AnItemAsksForWhatItIsHeldTo) {
  EXPECT_EQ(ask_of({}), (Resources{1000, 0}));
  EXPECT_EQ(ask_of({.memory_bytes = 7, .milli_cpus = 250}), (Resources{250, 7}));
  EXPECT_EQ(ask_of({.memory_bytes = kMost}).memory_bytes, Resources::kEndless);
}

TEST(Labels, EveryRequiredOneMustBeThereWithItsValue) {
  const Labels labels{{"gpu", "a100"}, {"zone", ""}};
  EXPECT_TRUE(has_all(labels, {}));
  EXPECT_TRUE(has_all(labels, {{"gpu", "a100"}, {"zone", ""}}));
  EXPECT_FALSE(has_all(labels, {{"gpu", "none"}}));
  EXPECT_FALSE(has_all(labels, {{"disk", ""}}));
}

TEST(Labels, AreWords) {
  EXPECT_TRUE(is_valid_label("gpu", "nvidia/a100:2"));
  EXPECT_TRUE(is_valid_label("spot", ""));
  EXPECT_FALSE(is_valid_label("", "x"));
  EXPECT_FALSE(is_valid_label("a b", "x"));
  EXPECT_FALSE(is_valid_label("a", "x\ny"));
  EXPECT_FALSE(is_valid_label("a", std::string(129, 'x')));
}

}  // namespace
}  // namespace drover
