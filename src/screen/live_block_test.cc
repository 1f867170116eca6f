#include "screen/live_block.h"

#include <sys/wait.h>
#include <termios.h>

#include "base/random.h"
#include "base/text.h"
#include "screen/terminal_fixture.h"

namespace drover {
namespace {

using Lines = std::vector<std::string>;

constexpr int kEnoughToShrink = 40;  // draws

TEST(LiveBlock, RewritesOnlyWhatChanged) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"first", "second", "third"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"first", "second", "third"}));
  EXPECT_TRUE(terminal.seen().at_rest());

  block.draw({"first", "2nd", "third"});
  const std::string bytes = terminal.arrived();
  EXPECT_FALSE(bytes.contains("first"));
  EXPECT_FALSE(bytes.contains("third"));
  terminal.seen().feed(bytes);
  EXPECT_EQ(terminal.seen().text(), (Lines{"first", "2nd", "third"}));

  block.draw({"first", "2nd", "third"});
  EXPECT_EQ(terminal.arrived(), "");
}

TEST(LiveBlock, LeavesTheCursorOnALineOfItsOwn) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"first", "second"});
  EXPECT_EQ(terminal.seen().cursor_row(), 2U);
  EXPECT_EQ(terminal.seen().cursor_column(), 0U);
  terminal.seen().feed("^C");  // echoed by the terminal
  block.draw({"first", "2nd"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"first", "2nd"}));
}

TEST(LiveBlock, GrowsAtOnceAndShrinksLater) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"a"});
  block.draw({"a", "b", "c"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"a", "b", "c"}));
  block.draw({"a", "b"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"a", "b"}));
  EXPECT_EQ(terminal.seen().cursor_row(), 3U);
  for (int i = 0; i < kEnoughToShrink; ++i) block.draw({"a", "b"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"a", "b"}));
  EXPECT_EQ(terminal.seen().cursor_row(), 2U);
}

TEST(LiveBlock, MendsWhatOthersWroteOver) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"first", "second"});
  terminal.seen().feed("\x1b[2Ajunk over it\r\x1b[2B");
  for (int i = 0; i < kEnoughToShrink; ++i) block.draw({"first", "second"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"first", "second"}));
}

TEST(LiveBlock, PrintsAboveInOrderAndIntoTheScrollback) {
  TerminalFixture terminal({40, 10});
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  Lines expected;
  for (int i = 0; i < 50; ++i) {
    // Every fifth is wider than the terminal, and wraps as ordinary text does.
    const std::string line = concat("notice ", i, i % 5 == 0 ? std::string(60, '.') : "");
    expected.push_back(line);
    block.print_above(i % 2 == 0 ? line : line + "\n");
    block.draw({concat("drawn ", i), "bottom"});
  }
  expected.insert(expected.end(), {"drawn 49", "bottom"});
  EXPECT_EQ(terminal.seen().text(), expected);
  block.erase();
  expected.resize(50);
  EXPECT_EQ(terminal.seen().text(), expected);
  EXPECT_EQ(terminal.seen().cursor_column(), 0U);
  EXPECT_TRUE(terminal.seen().at_rest());
}

TEST(LiveBlock, ErasesItselfAtTheEnd) {
  TerminalFixture terminal;
  terminal.seen().feed("before\r\n");
  {
    LiveBlock block(terminal.fd(), Narrowing::wraps);
    block.draw({"one", "two", "three"});
  }
  EXPECT_EQ(terminal.seen().text(), (Lines{"before"}));
  EXPECT_EQ(terminal.seen().cursor_row(), 1U);
}

TEST(LiveBlock, CutsABlockThatIsHigherThanTheScreen) {
  TerminalFixture terminal({40, 4});
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  for (int i = 0; i < 3; ++i) block.draw({concat(i), "b", "c", "d", "e"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"2", "b", "c"}));
}

TEST(LiveBlock, ForgetsABlockThatOthersHaveWrittenBelow) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"old"});
  terminal.seen().feed("$ fg\r\n");
  block.forget();
  block.draw({"new"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"old", "$ fg", "new"}));
}

// A line of the block as lay_out makes them: narrower than the terminal, with styles and wide characters.
std::string block_line(Random& random, std::size_t columns) {
  std::string line = "\x1b[32m";
  for (std::size_t cells = 1; cells + 2 < columns - random.below(3);) {
    const bool wide = random.one_in(9);
    line += wide ? "照" : random.one_in(12) ? "e\u0301" : "x";
    cells += wide ? 2 : 1;
  }
  return line + "\x1b[m|";
}

std::string without_style(const std::string& line) {
  return line.substr(5, line.size() - 5 - 4) + "|";
}

class Resizing : public testing::TestWithParam<Narrowing> {};

TEST_P(Resizing, LeavesNoDebris) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    TerminalFixture terminal({100, 24}, GetParam());
    LiveBlock block(terminal.fd(), GetParam());
    Lines printed;
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t i = random.below(3); i > 0; --i) {
        terminal.resize({40 + random.below(120), 20 + random.below(20)});
      }
      if (random.one_in(6)) {  // a resize between laying out and drawing
        const std::string line = block_line(random, block.size().columns);
        terminal.resize({40 + random.below(120), 20 + random.below(20)});
        block.draw({line, line});
      }
      if (random.one_in(4)) {
        printed.push_back(concat("printed ", step));
        block.print_above(printed.back());
        continue;
      }
      Lines lines;
      for (std::uint64_t i = 1 + random.below(4); i > 0; --i) lines.push_back(block_line(random, block.size().columns));
      block.draw(lines);
      Lines expected = printed;
      for (const std::string& line : lines) expected.push_back(without_style(line));
      ASSERT_EQ(terminal.seen().text(), expected) << "at step " << step;
      ASSERT_TRUE(terminal.seen().at_rest());
    }
    terminal.resize({60, 24});
    block.erase();
    EXPECT_EQ(terminal.seen().text(), printed);
  }
}

INSTANTIATE_TEST_SUITE_P(Terminals, Resizing, testing::Values(Narrowing::wraps, Narrowing::cuts));

TEST(LiveBlock, StaysAtTheBottomWhileItIsMadeNarrower) {
  TerminalFixture terminal({100, 24});
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  for (int i = 0; i < 30; ++i) block.print_above(concat("printed ", i));
  block.draw({std::string(90, 'a'), std::string(90, 'b')});
  EXPECT_EQ(terminal.seen().cursor_row(), 23U);
  terminal.resize({60, 24});
  block.draw({std::string(50, 'a'), std::string(50, 'b')});
  EXPECT_EQ(terminal.seen().cursor_row(), 23U);
  block.print_above("last");
  EXPECT_EQ(terminal.seen().text()[30], "last");
}

TEST(LiveBlock, WaitsForATerminalThatTakesNoOutput) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"first"});
  ASSERT_EQ(tcflow(terminal.fd(), TCOOFF), 0);  // as Ctrl-S does
  block.draw({"second"});                       // would hang if it wrote
  block.print_above("kept");
  ASSERT_EQ(tcflow(terminal.fd(), TCOON), 0);
  EXPECT_EQ(terminal.seen().text(), (Lines{"first"}));
  block.draw({"third"});
  EXPECT_EQ(terminal.seen().text(), (Lines{"kept", "third"}));
}

TEST(LiveBlock, SendsTheRestOfAFrameLater) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.print_above(std::string(1 << 20, 'x'));  // more than any buffer on the way holds
  block.draw({"not yet"});
  std::string arrived;
  while (!arrived.contains("at last")) {
    arrived += terminal.read_some();
    block.draw({"at last"});
  }
  EXPECT_EQ(std::ranges::count(arrived, 'x'), 1 << 20);
  EXPECT_FALSE(arrived.contains("not yet"));
}

TEST(LiveBlock, NeverWaitsForATerminalThatNobodyReads) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  for (int i = 0; i < 1000; ++i) block.draw(Lines(20, concat(i, std::string(70, 'x'))));
  EXPECT_FALSE(block.gone());
}

TEST(LiveBlock, StopsForGoodWhenTheTerminalIsGone) {
  TerminalFixture terminal;
  LiveBlock block(terminal.fd(), Narrowing::wraps);
  block.draw({"first"});
  EXPECT_FALSE(block.gone());
  terminal.hang_up();
  block.draw({"second"});
  EXPECT_TRUE(block.gone());
  block.draw({"third"});
  block.print_above("fourth");
  block.erase();
}

TEST(LiveBlock, LeavesTheScreenAloneInTheBackground) {
  TerminalFixture terminal;
  const pid_t leader = fork();
  if (leader == 0) {
    setsid();
    ioctl(terminal.fd(), TIOCSCTTY, 0);  // this process is in the foreground now
    const pid_t background = fork();
    if (background == 0) {
      setpgid(0, 0);
      LiveBlock block(terminal.fd(), Narrowing::wraps);
      block.draw({"a block"});
      block.print_above("a notice");
      block.draw({"a block"});
      _exit(0);
    }
    waitpid(background, nullptr, 0);
    _exit(0);
  }
  waitpid(leader, nullptr, 0);
  EXPECT_EQ(terminal.arrived(), "a notice\r\n");
}

TEST(LiveBlock, IsForTerminalsThatCanMoveTheirCursor) {
  TerminalFixture terminal;
  setenv("TERM", "xterm-256color", 1);
  EXPECT_TRUE(can_draw_on(terminal.fd()));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(can_draw_on(terminal.fd()));
  unsetenv("TERM");
  EXPECT_FALSE(can_draw_on(terminal.fd()));
  setenv("TERM", "xterm-256color", 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(can_draw_on(ends[1]));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace drover
