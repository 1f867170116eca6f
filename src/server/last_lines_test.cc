#include "server/last_lines.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

std::string last(std::uint64_t count, std::initializer_list<std::string_view> pieces) {
  LastLines lines(count);
  for (const std::string_view piece : pieces) lines.add(piece);
  return lines.text();
}

TEST(LastLines, KeepsTheLastWhateverThePieces) {
  EXPECT_EQ(last(2, {"a\nb\nc\n"}), "b\nc\n");
  EXPECT_EQ(last(2, {"a\nb", "b\n", "", "c"}), "bb\nc");
  EXPECT_EQ(last(5, {"a\n", "b\n"}), "a\nb\n");
  EXPECT_EQ(last(0, {"a\n", "b"}), "");
  EXPECT_EQ(last(1, {"\n", "\n"}), "\n");
}

TEST(LastLines, KeepsTheEndOfWhatIsTooLong) {
  const std::string long_line(LastLines::kMostBytes / 8, 'x');
  LastLines one(1);
  for (int i = 0; i < 20; ++i) one.add(long_line);
  one.add("the end");
  EXPECT_LE(one.text().size(), LastLines::kMostBytes);
  EXPECT_TRUE(one.text().ends_with("xthe end"));

  LastLines many(1'000'000'000);
  for (int i = 0; i < 20; ++i) many.add(long_line + "\n");
  EXPECT_LE(many.text().size(), LastLines::kMostBytes);
  EXPECT_GE(many.text().size(), LastLines::kMostBytes / 2);
}

}  // namespace
}  // namespace drover
