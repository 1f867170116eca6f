#include "screen/bar.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "screen/cells.h"

namespace drover {
namespace {

TEST(Bar, FillsInEighths) {
  const auto bar = [](std::uint64_t done) { return draw_bar({0, done, 0, 80}, 10, Colours::off); };
  EXPECT_EQ(bar(0), "          ");
  EXPECT_EQ(bar(1), "▏         ");
  EXPECT_EQ(bar(20), "██▌       ");
  EXPECT_EQ(bar(79), "█████████▉");
  EXPECT_EQ(bar(80), "██████████");
}

TEST(Bar, ShowsFailuresFirst) {
  EXPECT_EQ(draw_bar({16, 32, 8, 80}, 10, Colours::off), "▒▒████░   ");
  EXPECT_EQ(draw_bar({8, 8, 0, 16}, 2, Colours::on), "\x1b[31m█\x1b[m\x1b[32m█\x1b[m");
}

TEST(Bar, MixesTwoColoursInACell) {
  EXPECT_EQ(draw_bar({4, 12, 0, 16}, 2, Colours::on), "\x1b[31;42m▌\x1b[m\x1b[32m█\x1b[m");
}

TEST(Bar, ShowsASliverOfEveryPart) {
  EXPECT_EQ(draw_bar({1, 0, 0, 1'000'000}, 4, Colours::on), "\x1b[31m▏\x1b[m   ");
  EXPECT_EQ(draw_bar({1, 999'999, 0, 1'000'000}, 1, Colours::on), "\x1b[31;42m▏\x1b[m");
}

TEST(Bar, IsAlwaysAsWideAsAsked) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t cells = random.below(40);
    const BarParts parts = {random.below(20), random.below(100), random.below(20), random.below(200)};
    EXPECT_EQ(cells_of(draw_bar(parts, cells, Colours::on)), cells);
    EXPECT_EQ(cells_of(draw_bar(parts, cells, Colours::off)), cells);
  }
}

}  // namespace
}  // namespace drover
