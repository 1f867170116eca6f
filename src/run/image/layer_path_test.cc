#include "run/image/layer_path.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

std::string cleaned(std::string_view raw) {
  auto path = clean_path(raw, 100);
  return path ? path->text() : std::string(to_string(path.error().fault));
}

TEST(LayerPath, IsRelativeAndWithoutDots) {
  EXPECT_EQ(cleaned("usr/bin/env"), "usr/bin/env");
  EXPECT_EQ(cleaned("/usr//bin/./env/"), "usr/bin/env");
  EXPECT_EQ(cleaned("a/../b"), "b");
  EXPECT_EQ(cleaned("./"), "");
  EXPECT_EQ(cleaned(""), "");
  EXPECT_EQ(cleaned("..."), "...");
}

TEST(LayerPath, LeadsNowhereOutside) {
  EXPECT_EQ(cleaned(".."), "corrupt");
  EXPECT_EQ(cleaned("a/../../b"), "corrupt");
  EXPECT_EQ(cleaned("/../etc/passwd"), "corrupt");
}

TEST(LayerPath, HasALength) {
  EXPECT_EQ(cleaned(std::string(100, 'a')), std::string(100, 'a'));
  EXPECT_EQ(cleaned(std::string(101, 'a')), "too_large");
}

TEST(LayerPath, IsShownInAsciiAndNotEndlessly) {
  EXPECT_EQ(shown("a\x1b[31m\xff"), "a\\x1b[31m\\xff");
  EXPECT_LT(shown(std::string(5000, 'a')).size(), 300U);
}

}  // namespace
}  // namespace drover
