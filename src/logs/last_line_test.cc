#include "logs/last_line.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace drover {
namespace {

std::string last_of(std::string_view bytes) {
  LastLine line;
  line.see(bytes);
  return line.text();
}

TEST(LastLine, IsTheLastThatIsNotBlank) {
  EXPECT_EQ(last_of(""), "");
  EXPECT_EQ(last_of("\n \n\t\r\n"), "");
  EXPECT_EQ(last_of("one\ntwo\n"), "two");
  EXPECT_EQ(last_of("one\ntwo\n\n  \n"), "two");
  EXPECT_EQ(last_of("one\r\n"), "one");
}

TEST(LastLine, CountsOneThatIsNotEnded) {
  EXPECT_EQ(last_of("one\ntwo"), "two");
  EXPECT_EQ(last_of("one\n  "), "one");
}

TEST(LastLine, IsCut) {
  EXPECT_EQ(last_of(std::string(300, 'x')), std::string(LastLine::kMost, 'x'));
  EXPECT_EQ(last_of(std::string(300, 'x') + "\n"), std::string(LastLine::kMost, 'x'));
  EXPECT_EQ(last_of(std::string(100'000, 'x') + "\nshort\n"), "short");
}

TEST(LastLine, IsTheSameHoweverTheStreamIsCutApart) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    std::string wanted;
    for (std::uint64_t lines = random.below(30); lines > 0; --lines) {
      const std::string line = random.one_in(4) ? std::string(random.below(5), ' ') : std::to_string(random.next());
      if (line.find_first_not_of(' ') != std::string::npos) wanted = line;
      text += line + (lines == 1 && random.one_in(2) ? "" : "\n");
    }
    LastLine line;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t part = std::min<std::size_t>(rest.size(), 1 + random.below(40));
      line.see(rest.substr(0, part));
      rest.remove_prefix(part);
    }
    EXPECT_EQ(line.text(), wanted) << text;
    EXPECT_EQ(last_of(text), wanted) << text;
  }
}

// What is printed in large pieces is not gone through from its beginning.
TEST(LastLine, IsFoundAtTheEndOfALargePiece) {
  LastLine line;
  line.see("an unfinished line");
  std::string large;
  while (large.size() < 100'000) large += "a line of a large piece\n";
  line.see(large + "the last\n");
  EXPECT_EQ(line.text(), "the last");
  line.see(large + std::string(2000, '\n'));
  EXPECT_EQ(line.text(), "a line of a large piece");
}

}  // namespace
}  // namespace drover
