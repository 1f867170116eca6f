// The search held against one that takes every line in its hand.
#include "logs/log_search.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/random.h"
#include "base/text.h"
#include "logs/log_reader.h"
#include "logs/log_writer.h"
#include "logs/segment.h"
#include "logs/stepwise_search.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

struct Line {
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::string text;
};

struct Attempt {
  LogKey key;
  std::vector<Line> lines;
  ExtentList extents;
};

/// A hit that owns its text.
struct Hit {
  std::uint64_t item = 0;
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::uint64_t line = 0;
  bool matches = true;
  bool after_gap = false;
  std::string text;

  bool operator==(const Hit&) const = default;
};

void PrintTo(const Hit& hit, std::ostream* out) {
  *out << hit.item << (hit.matches ? ':' : '-') << hit.line << (hit.after_gap ? "(gap)" : "") << ' '
       << ::testing::PrintToString(hit.text);
}

std::string random_line(Random& random) {
  static constexpr std::string_view kWords[] = {"a",  "b", "ab", "foo", "FOO", "bar", " ",    "\t",
                                                "\r", "é", "É",  "ß",   "日",  "42",  "\xff", "\\"};
  std::string text;
  for (std::uint64_t words = random.one_in(5) ? 0 : random.below(7); words > 0; --words) {
    text += kWords[random.below(std::size(kWords))];
  }
  return text;
}

class LogSearchTest : public ::testing::Test {
 protected:
  LogSearchTest() {
    std::string name = ::testing::TempDir() + "drover-search.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LogSearchTest() override { fs::remove_all(folder_); }

  /// Writes an attempt for each list of lines; of every third the last line has no end.
  void write(std::vector<std::vector<Line>> outputs) {
    LogWriter writer(folder_);
    std::vector<LogKey> keys;
    for (std::vector<Line>& lines : outputs) {
      const LogKey key{JobId{1}, ItemIndex{attempts_.size()}, AttemptNumber{1}};
      std::size_t left = lines.size();
      for (const Line& line : lines) {
        const bool ends = --left > 0 || key.item.value % 3 != 0 || line.text.empty();
        writer.add(key, line.stream, line.time_ms, line.text + (ends ? "\n" : ""));
      }
      writer.end(key);
      if (key.item.value % 50 == 49) writer.flush();
      keys.push_back(key);
      attempts_.push_back({key, std::move(lines), {}});
    }
    std::promise<void> settled;
    writer.settle(keys, [&](const Result<std::vector<Bytes>>& places) {
      ASSERT_TRUE(places);
      for (std::size_t i = 0; i < places->size(); ++i) attempts_[i].extents = ExtentList::decode((*places)[i].value);
      settled.set_value();
    });
    settled.get_future().get();
  }

  /// Attempts of up to `most_lines` random lines; the time of a line is its number.
  void write_random(std::uint64_t seed, std::size_t attempts, std::size_t most_lines) {
    Random random(seed);
    std::vector<std::vector<Line>> outputs(attempts);
    for (auto& lines : outputs) {
      lines.resize(random.below(most_lines));
      std::int64_t time_ms = 0;
      for (Line& line : lines) {
        line = {random.one_in(3) ? LogStream::err : LogStream::out, ++time_ms, random_line(random)};
      }
    }
    write(std::move(outputs));
  }

  struct Found {
    std::vector<Hit> hits;
    SearchCounts counts;
  };

  Found search(const SearchOptions& options) {
    Found found;
    auto search = LogSearch::start(folder_, options, [&](const SearchHit& hit) {
      found.hits.push_back(
          {hit.key.item.value, hit.stream, hit.time_ms, hit.line, hit.matches, hit.after_gap, std::string(hit.text)});
      return true;
    });
    EXPECT_TRUE(search) << search.error().message;
    if (!search) return found;
    for (const Attempt& attempt : attempts_) {
      EXPECT_TRUE((*search)->add({attempt.key, attempt.extents, attempt.lines.size() * 10}));
    }
    found.counts = (*search)->finish();
    return found;
  }

  /// A frame at a time, with a reader of its own for each.
  Found search_in_steps(const SearchOptions& options) const {
    Found found;
    auto search = StepwiseSearch::start(options, [&](const SearchHit& hit) {
      found.hits.push_back(
          {hit.key.item.value, hit.stream, hit.time_ms, hit.line, hit.matches, hit.after_gap, std::string(hit.text)});
      return true;
    });
    EXPECT_TRUE(search) << search.error().message;
    if (!search) return found;
    for (const Attempt& attempt : attempts_) (*search)->add({attempt.key, attempt.extents, 0});
    auto step = StepwiseSearch::Step::searched;
    while (step == StepwiseSearch::Step::searched) {
      LogReader reader(folder_);
      step = (*search)->step(reader);
    }
    EXPECT_EQ(step, StepwiseSearch::Step::out_of_work);
    found.counts = (*search)->counts();
    return found;
  }

  /// One line after the other, and each by itself.
  Found search_simply(const SearchOptions& options) const {
    RE2::Options how(RE2::Quiet);
    how.set_case_sensitive(!options.ignore_case);
    const RE2 pattern(options.pattern, how);
    Found found;
    for (const Attempt& attempt : attempts_) {
      const auto count = attempt.lines.size();
      std::vector<bool> matches(count);
      std::vector<bool> shown(count);
      for (std::size_t i = 0; i < count; ++i) {
        const Line& line = attempt.lines[i];
        matches[i] = (!options.only_stderr || line.stream == LogStream::err) && line.time_ms >= options.since_ms &&
                     RE2::PartialMatch(line.text, pattern);
        if (!matches[i]) continue;
        ++found.counts.lines;
        for (std::size_t near = i - std::min(i, options.context); near < count && near <= i + options.context; ++near) {
          shown[near] = true;
        }
      }
      found.counts.attempts += std::ranges::count(matches, true) > 0 ? 1 : 0;
      if (options.only_count) continue;
      bool any = false;
      for (std::size_t i = 0; i < count; ++i) {
        if (!shown[i]) continue;
        const bool gap = options.context > 0 && any && !shown[i - 1];
        const Line& line = attempt.lines[i];
        found.hits.push_back({attempt.key.item.value, line.stream, line.time_ms, i + 1, matches[i], gap, line.text});
        any = true;
      }
    }
    return found;
  }

  void expect_same(const SearchOptions& options) {
    const Found wanted = search_simply(options);
    const std::string what =
        concat("'", options.pattern, "', ", options.ignore_case ? "ignoring case, " : "",
               options.only_stderr ? "of stderr, " : "", options.only_count ? "counting, " : "", "context ",
               options.context, ", since ", options.since_ms, ", ", options.threads, " threads");
    expect_same(search(options), wanted, what);
    expect_same(search_in_steps(options), wanted, concat(what, ", in steps"));
  }

  static void expect_same(const Found& got, const Found& wanted, const std::string& what) {
    const auto [at, wanted_at] = std::ranges::mismatch(got.hits, wanted.hits);
    const auto few = [](auto from, auto end) {
      return std::vector(from, from + std::min<std::ptrdiff_t>(3, end - from));
    };
    EXPECT_EQ(few(at, got.hits.end()), few(wanted_at, wanted.hits.end())) << "from where they differ: " << what;
    EXPECT_EQ(got.counts.lines, wanted.counts.lines) << what;
    EXPECT_EQ(got.counts.attempts, wanted.counts.attempts) << what;
  }

  std::string folder_;
  std::vector<Attempt> attempts_;
};

TEST_F(LogSearchTest, FindsWhatASearchLineByLineFinds) {
  static constexpr const char* kPatterns[] = {
      "",       "a",    "foo|bar", "^a",     "b$",      "^$",      "^a|b$",   "^(foo)?$",     "x*",    "a?$",
      "^\\s*$", "\\s",  "\\sb",    "a\\s+b", "a\\s*$",  "\\S",     "[^a]b",   "b[^a]",        "[^a]*", "a.b",
      "é",      "[éß]", "日.",     ".",      "(?i)foo", "(?s)a.b", "\\bb",    "foo\\b",       "\\\\",  "\\Qfoo\\E",
      "a\nb",   "\n",   "\\d+$",   "\\W$",   "\\C",     "b\\r?$",  "(a|b)+$", "[[:upper:]]+", "^\\W",  "no such text"};
  write_random(1, 40, 60);
  Random random(2);
  for (const char* pattern : kPatterns) {
    expect_same({.pattern = pattern});
    for (int i = 0; i < 8; ++i) {
      expect_same({.pattern = pattern,
                   .ignore_case = random.one_in(2),
                   .only_stderr = random.one_in(3),
                   .since_ms = random.one_in(3) ? static_cast<std::int64_t>(random.below(40)) : 0,
                   .context = random.one_in(2) ? random.below(5) : 0,
                   .only_count = random.one_in(4),
                   .threads = 1 + random.below(4)});
    }
  }
}

// Alone, a line's beginning and end are also the text's.
TEST_F(LogSearchTest, TheBeginningAndEndOfTheTextAreThoseOfTheLine) {
  write_random(3, 40, 60);
  for (const char* pattern : {"\\Aa", "b\\z", "\\A\\z", "(?-m)^a", "(?-m:b$)", "\\A(foo|bar)"}) {
    expect_same({.pattern = pattern});
    expect_same({.pattern = pattern, .context = 1});
  }
}

TEST_F(LogSearchTest, FindsLinesWhereverFramesAreCut) {
  write_random(4, 3, 60'000);
  for (const char* pattern : {"^foo", "日$", "bar.*bar.*42", "^$"}) {
    expect_same({.pattern = pattern, .threads = 2});
    expect_same({.pattern = pattern, .context = 2, .threads = 2});
  }
}

TEST_F(LogSearchTest, FindsALineThatCameInManyPieces) {
  const LogKey key{JobId{1}, ItemIndex{0}, AttemptNumber{1}};
  LogWriter writer(folder_);
  std::promise<Result<Bytes>> shown;
  for (const char* piece : {"one\nCUDA", " err", "or: out of", " memory\nthree\n"}) {
    writer.add(key, LogStream::out, 1, piece);
    writer.show(key, [&shown, last = std::string_view(piece).ends_with('\n')](const Result<Bytes>& place) {
      if (last) shown.set_value(place);
    });
  }
  const auto place = shown.get_future().get();
  ASSERT_TRUE(place);
  attempts_.push_back(
      {key,
       {{LogStream::out, 1, "one"}, {LogStream::out, 1, "CUDA error: out of memory"}, {LogStream::out, 1, "three"}},
       ExtentList::decode(place->value)});
  expect_same({.pattern = "CUDA error: out of memory$"});
  expect_same({.pattern = "error", .context = 1});
}

TEST_F(LogSearchTest, HitsComeInTheOrderInWhichAttemptsWereGiven) {
  write_random(5, 3000, 12);
  std::ranges::reverse(attempts_);
  for (const std::size_t threads : {1, 2, 8}) {
    expect_same({.pattern = "a", .threads = threads});
    expect_same({.pattern = "a", .context = 1, .threads = threads});
  }
}

TEST_F(LogSearchTest, MoreHitsThanAreKeptComeInOrderToo) {
  std::vector<std::vector<Line>> outputs(12);
  for (auto& lines : outputs) {
    for (int i = 0; i < 6000; ++i) lines.push_back({LogStream::out, i, concat(i, std::string(200, 'x'))});
  }
  write(std::move(outputs));
  std::uint64_t hits = 0;
  std::uint64_t wrong = 0;
  auto search = LogSearch::start(folder_, {.pattern = "x", .threads = 4}, [&](const SearchHit& hit) {
    const bool next = hit.key.item.value == hits / 6000 && hit.line == hits % 6000 + 1;
    ++hits;
    wrong += next ? 0 : 1;
    return true;
  });
  ASSERT_TRUE(search);
  for (const Attempt& attempt : attempts_) (*search)->add({attempt.key, attempt.extents, 6000 * 204});
  EXPECT_EQ((*search)->finish().lines, 72'000);
  EXPECT_EQ(hits, 72'000);
  EXPECT_EQ(wrong, 0);
}

TEST_F(LogSearchTest, EndsWhenNobodyWantsMore) {
  write_random(6, 3000, 12);
  for (const std::size_t threads : {1, 4}) {
    for (const std::uint64_t most : {1, 7, 500}) {
      std::uint64_t hits = 0;
      auto search = LogSearch::start(folder_, {.pattern = "", .threads = threads},
                                     [&](const SearchHit&) { return ++hits < most; });
      ASSERT_TRUE(search);
      bool going_on = true;
      for (int round = 0; round < 20; ++round) {
        for (const Attempt& attempt : attempts_) {
          going_on = going_on && (*search)->add({attempt.key, attempt.extents, 100});
        }
      }
      EXPECT_FALSE(going_on) << "it should have heard that nobody wants more";
      EXPECT_TRUE((*search)->finish().unsearched.empty());
      EXPECT_EQ(hits, most);
    }
  }
}

TEST_F(LogSearchTest, CanBeLeftHalfway) {
  write_random(7, 500, 12);
  for (int added = 0; added < 500; added += 100) {
    auto search = LogSearch::start(folder_, {.pattern = "a", .threads = 3}, [](const SearchHit&) { return true; });
    ASSERT_TRUE(search);
    for (int i = 0; i < added; ++i) (*search)->add({attempts_[i].key, attempts_[i].extents, 1 << 20});
  }
}

TEST_F(LogSearchTest, WithoutTargetsFindsNothing) {
  const Found found = search({.pattern = "a", .threads = 4});
  EXPECT_TRUE(found.hits.empty());
  EXPECT_EQ(found.counts.lines, 0);
}

TEST_F(LogSearchTest, AWrongPatternIsNamedWithItsFault) {
  for (const char* pattern : {"(", "a)|(b", "[z-a]", "a**", "\\", "(?P<x", "\\8"}) {
    const auto search = LogSearch::start(folder_, {.pattern = pattern}, [](const SearchHit&) { return true; });
    ASSERT_FALSE(search) << pattern;
    EXPECT_EQ(search.error().code, ErrorCode::bad_input);
    EXPECT_NE(search.error().message.find(pattern), std::string::npos) << search.error().message;
    EXPECT_FALSE(search.error().message.ends_with(": ")) << search.error().message;
    EXPECT_FALSE(search.error().next.empty());
  }
}

TEST_F(LogSearchTest, AQuotationNeedNotBeClosed) {
  write_random(8, 20, 30);
  expect_same({.pattern = "\\Qfoo"});
}

TEST_F(LogSearchTest, ASegmentThatIsGoneIsNamedAndTheOthersAreSearched) {
  write_random(9, 10, 30);
  const std::vector<Attempt> gone = attempts_;
  attempts_.clear();
  write_random(10, 10, 30);
  fs::remove(segment_path(folder_, 1));
  std::uint64_t hits = 0;
  auto search = LogSearch::start(folder_, {.pattern = "a"}, [&](const SearchHit&) { return ++hits > 0; });
  ASSERT_TRUE(search);
  for (const Attempt& attempt : gone) (*search)->add({attempt.key, attempt.extents, 100});
  for (const Attempt& attempt : attempts_) (*search)->add({attempt.key, attempt.extents, 100});
  const SearchCounts counts = (*search)->finish();
  ASSERT_EQ(counts.unsearched.size(), 1);
  EXPECT_EQ(counts.unsearched[0].segment, 1);
  EXPECT_GT(counts.unsearched[0].bytes, 0);
  const Error told = counts.incomplete();
  EXPECT_EQ(told.code, ErrorCode::damaged);
  EXPECT_NE(told.message.find(segment_path(folder_, 1)), std::string::npos) << told.message;
  EXPECT_EQ(hits, search_simply({.pattern = "a"}).counts.lines);
}

TEST_F(LogSearchTest, DamageIsPassedOverAndTold) {
  write_random(11, 10, 30);
  std::ofstream(segment_path(folder_, 1), std::ios::binary) << std::string(10'000, 'd');
  const Found found = search({.pattern = "damaged|drover|d"});
  EXPECT_TRUE(found.hits.empty());
  ASSERT_EQ(found.counts.unsearched.size(), 1);
  EXPECT_GT(found.counts.unsearched[0].attempts, 0);
}

TEST_F(LogSearchTest, OneDamagedFrameCostsItsLinesAndNoOthers) {
  std::vector<std::vector<Line>> outputs(40);
  for (auto& lines : outputs) {
    for (int i = 0; i < 500; ++i) lines.push_back({LogStream::out, i, concat(i, std::string(100, 'x'))});
  }
  write(std::move(outputs));
  const std::uint64_t all = search({.pattern = "x"}).counts.lines;
  EXPECT_EQ(all, 20'000);
  const std::string path = segment_path(folder_, 1);
  const auto looked = LogReader(folder_).frame_at(1, 0);
  ASSERT_TRUE(looked);
  const FramePlace place = looked->value_or(FramePlace{});
  ASSERT_GT(place.next, 0);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(place.next) - 1);  // its checksum
  file.put('?');
  file.close();
  const Found found = search({.pattern = "x"});
  EXPECT_LT(found.counts.lines, all);
  EXPECT_GT(found.counts.lines, 0);
  ASSERT_EQ(found.counts.unsearched.size(), 1);
  EXPECT_EQ(found.counts.unsearched[0].parts, 1);
  EXPECT_EQ(found.counts.unsearched[0].bytes, place.next);
}

}  // namespace
}  // namespace drover
