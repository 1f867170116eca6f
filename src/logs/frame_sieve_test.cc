#include "logs/frame_sieve.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/random.h"
#include "base/text.h"

namespace drover {
namespace {

struct Said {
  bool something = false;
  std::vector<std::size_t> places;
};

Said ask(const std::string& pattern, bool ignore_case, std::string_view text) {
  const LiteralParts parts(pattern, ignore_case);
  if (parts.empty()) return {};
  std::string scratch;
  Said said{.something = parts.know(text), .places = {}};
  parts.find(text, scratch, said.places);
  return said;
}

TEST(LiteralParts, ArePlacesOfWhatMustBeThere) {
  EXPECT_EQ(ask("error", false, "an error, an Error, two errors").places, (std::vector<std::size_t>{3, 24}));
  EXPECT_EQ(ask("error", true, "an error, an Error").places, (std::vector<std::size_t>{3, 13}));
  EXPECT_EQ(ask("^Loss .* nan$", false, "x\nLoss 3 nan\n").places.size(), 2);
  EXPECT_TRUE(ask("Loss .* nan", false, "Loss without it").places.empty()) << "both parts must be there";
  EXPECT_FALSE(ask("fo{2}.*FOO?", false, "foo bar FO").places.empty()) << "what is repeated is not what stands there";
  EXPECT_EQ(ask("warning|error", false, "one error").places, (std::vector<std::size_t>{4}));
}

TEST(LiteralParts, SayNothingWhereTheyCannotKnow) {
  EXPECT_FALSE(ask(".*", false, "text").something);
  EXPECT_FALSE(ask("a|b", false, "text").something);
  EXPECT_FALSE(ask("[0-9]+", false, "text").something);
  EXPECT_FALSE(ask("École", false, "École").something);
  EXPECT_FALSE(ask("\\x{212A}elvin", true, "kelvin").something);
  EXPECT_FALSE(ask("kelvin", true, "\u212Aelvin").something) << "a letter that is a k in small letters";
  EXPECT_TRUE(ask("kelvin", false, "\u212Aelvin kelvin").something);
}

// Whatever the expression matches has its parts in it.
TEST(LiteralParts, NeverRuleOutAMatch) {
  constexpr std::string_view kPieces[] = {
      "foo", "Foo",  "bar",     "b",       ".*",  "[fF]oo", "(bar|foo)",  "o+",          "x?",       "^",   "$", "\\b",
      " ",   "a{3}", "(?i)bar", "[a-c]oo", "\\.", "BAZ",    "a{3}.*AAA?", "fo{2}.*FOO?", "wx{1}y.*", "WXY*"};
  constexpr std::string_view kWords[] = {"foo", "FOO", "Foo", "bar", "BAR", "baz", "BAZ", "aaa", " ",
                                         ".",   "x",   "é",   "\n",  "wxy", "WX",  "AA",  "FO"};
  Random random(11);
  std::uint64_t matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string pattern;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) pattern += kPieces[random.below(std::size(kPieces))];
    const bool ignore_case = random.one_in(3);
    RE2::Options how(RE2::Quiet);
    how.set_case_sensitive(!ignore_case);
    const RE2 expression(concat("(?m)", pattern), how);
    if (!expression.ok()) continue;
    std::string text;
    for (std::uint64_t n = random.below(8); n > 0; --n) text += kWords[random.below(std::size(kWords))];
    if (!RE2::PartialMatch(text, expression)) continue;
    ++matched;
    const Said said = ask(pattern, ignore_case, text);
    ASSERT_TRUE(!said.something || !said.places.empty()) << "'" << pattern << "' in '" << text << "'";
  }
  EXPECT_GT(matched, 2'000);
}

}  // namespace
}  // namespace drover
