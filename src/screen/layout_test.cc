#include "screen/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "base/utf8.h"
#include "screen/cells.h"

namespace drover {
namespace {

RunView usual_view() {
  RunView view;
  view.name = "embed-photos";
  view.total = 24'000;
  view.succeeded = 12'414;
  view.failed = 17;
  view.running = 8;
  view.waiting = 2;
  view.pending = 11'559;
  view.elapsed_s = 298;
  view.rate = 41.3;
  view.left = TimeRange{200, 290};
  view.cpu_cores = 7.4;
  view.slots = 8;
  view.memory_bytes = 12'025'908'428;
  view.machine_memory_bytes = 67'329'392'640;
  view.longest = {{12'402, 2, "/data/photos/2019/img_2231.png", 250}, {12'433, 1, "/data/photos/2020/照片.png", 31}};
  view.last_failures = {{11'980, 1, "exit code 3", "ValueError: cannot reshape array of size 150528", true},
                        {975, 3, "killed by signal 9 (SIGKILL)", "", false}};
  return view;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(Layout, LooksLikeThisOnAnOrdinaryTerminal) {
  EXPECT_EQ(joined(lay_out(usual_view(), {80, 24}, Colours::off)),
            "embed-photos  ▕█████████████████████████████                           ▏ 51.7 %\n"
            "  12,431 of 24,000 done   17 failed        8 running   2 to retry\n"
            "  3–5 min left            41 items/s       4 min 58 s elapsed\n"
            "  7.4 cores busy          8 slots          11.2 of 62.7 GiB memory\n"
            "  failed   #11980  exit code 3  will retry  ValueError: cannot reshape array o…\n"
            "           #975    killed by signal 9 (SIGKILL)\n"
            "  running  #12402  4 min 10 s  try 2  /data/photos/2019/img_2231.png\n"
            "           #12433        31 s         /data/photos/2020/照片.png\n");
}

TEST(Layout, ShowsMoreOnALargeTerminal) {
  RunView view = usual_view();
  for (std::uint64_t i = 0; i < 10; ++i) {
    view.longest.push_back({i, 1, "text", 20});
    view.last_failures.push_back({i, 1, "exit code 1", "error", false});
  }
  const auto lines = lay_out(view, {200, 50}, Colours::off);
  EXPECT_EQ(lines.size(), 20U);
  EXPECT_EQ(std::ranges::count(lines, ""), 2);
  EXPECT_EQ(lay_out(view, {80, 24}, Colours::off).size(), 10U);
}

TEST(Layout, IsOneLineOnATinyTerminal) {
  EXPECT_EQ(joined(lay_out(usual_view(), {20, 5}, Colours::off)), "51.7 %  17 failed\n");
  EXPECT_EQ(joined(lay_out(usual_view(), {80, 6}, Colours::off)),
            "51.7 %  17 failed  12,431 of 24,000  3–5 min left\n");
}

TEST(Layout, ShowsTheNoteAtEverySize) {
  RunView view = usual_view();
  view.state_note = "draining: 2 still running; Ctrl-C again kills them";
  EXPECT_EQ(lay_out(view, {80, 24}, Colours::off)[1], "  " + view.state_note);
  EXPECT_TRUE(lay_out(view, {90, 5}, Colours::off)[0].ends_with(view.state_note));
}

TEST(Layout, SaysThatTheLastOnesRunLong) {
  RunView view = usual_view();
  view.left = RunningLong{2, 2};
  const auto lines = lay_out(view, {80, 24}, Colours::off);
  EXPECT_EQ(lines[1], "  the last 2 are running longer than 95 % of the others");
  EXPECT_TRUE(lines[3].starts_with("  time left not known  "));
}

TEST(Layout, LeavesOutItemsTooShortToRead) {
  RunView view = usual_view();
  view.last_failures.clear();
  for (auto& item : view.longest) item.seconds = 0.4;
  EXPECT_EQ(lay_out(view, {80, 24}, Colours::off).size(), 4U);
}

TEST(Layout, SaysHundredPercentOnlyAtTheEnd) {
  RunView view = usual_view();
  view.succeeded = view.total - view.failed - 1;
  EXPECT_TRUE(lay_out(view, {80, 24}, Colours::off)[0].ends_with("99.9 %"));
  ++view.succeeded;
  EXPECT_TRUE(lay_out(view, {80, 24}, Colours::off)[0].ends_with("100 %"));
}

std::string random_text(Random& random) {
  static const std::vector<std::string> kPieces = {
      "a",  "word ",  "/data/",   "照片",   "e\u0301", "\x1b[31m", "\x1b]0;t\x07",       "\x1b", "\n",     "\r",
      "\t", "\xff",   "\xe7\x85", "\u009b", "\u202e",  "🎉",       std::string(1, '\0'), "\x7f", "\u2028", "  ",
      "…",  "\u0e33", "\uFEFF"};
  std::string text;
  for (std::uint64_t i = random.below(60); i > 0; --i) text += kPieces[random.below(kPieces.size())];
  return text;
}

std::uint64_t random_number(Random& random) {
  return random.next() >> random.below(64);
}

RunView random_view(Random& random) {
  RunView view;
  view.name = random_text(random);
  view.total = random_number(random);
  for (auto count : {&RunView::succeeded, &RunView::failed, &RunView::cancelled, &RunView::running, &RunView::waiting,
                     &RunView::pending, &RunView::slots, &RunView::memory_bytes, &RunView::machine_memory_bytes}) {
    view.*count = random.one_in(3) ? 0 : random_number(random) >> 4U;
  }
  view.elapsed_s = static_cast<double>(random_number(random) >> 24U);
  view.rate = static_cast<double>(random.below(1'000'000)) / static_cast<double>(1 + random.below(100'000));
  if (random.one_in(3)) view.left = RunningLong{1 + random.below(5), 5};
  if (random.one_in(2)) {
    const double low = static_cast<double>(random_number(random) >> 30U);
    view.left = TimeRange{low, low * static_cast<double>(1 + random.below(5))};
  }
  view.cpu_cores = static_cast<double>(random.below(5000)) / 10;
  for (std::uint64_t i = random.below(12); i > 0; --i) {
    view.longest.push_back({random_number(random), static_cast<std::uint32_t>(random.below(12)), random_text(random),
                            static_cast<double>(random.below(100'000))});
    view.last_failures.push_back({random_number(random), static_cast<std::uint32_t>(random.below(12)),
                                  random_text(random), random_text(random), random.one_in(2)});
  }
  if (random.one_in(3)) view.state_note = random_text(random);
  return view;
}

// Valid UTF-8 without control characters, but for styles, which are all ended.
void expect_harmless(std::string_view line, Colours colours) {
  bool styled = false;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      ASSERT_EQ(colours, Colours::on);
      const std::size_t end = line.find_first_not_of("0123456789;", at + 2);
      ASSERT_EQ(line[at + 1], '[');
      ASSERT_EQ(line[end], 'm');
      styled = end > at + 2;
      at = end + 1;
      continue;
    }
    const Utf8Char character = utf8_char(line, at);
    ASSERT_TRUE(character.valid);
    ASSERT_GE(character.point, U' ');
    ASSERT_FALSE(character.point >= 0x7f && character.point < 0xa0);
    ASSERT_NE(character.point, 0x202eU);
    at += character.length;
  }
  EXPECT_FALSE(styled);
  EXPECT_FALSE(line.ends_with(' '));
}

TEST(Layout, FitsEverySizeWhateverItShows) {
  Random random(7);
  for (std::size_t columns = 10; columns <= 250; ++columns) {
    for (std::size_t rows = 3; rows <= 60; ++rows) {
      const Colours colours = random.one_in(2) ? Colours::on : Colours::off;
      const auto lines = lay_out(random_view(random), {columns, rows}, colours);
      SCOPED_TRACE(concat(columns, "x", rows, "\n", joined(lines)));
      ASSERT_GE(lines.size(), 1U);
      ASSERT_LE(lines.size(), std::max<std::size_t>(1, rows / 2));
      for (const std::string& line : lines) {
        ASSERT_LE(cells_of(line), columns - 1);
        expect_harmless(line, colours);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace drover
