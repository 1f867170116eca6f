// The page as a whole: its head, its tables, its size, and where it is written.

#include "base/random.h"
#include "page/page_fixture.h"

namespace drover::page {
namespace {

class Report : public PageTest {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // and memory is not what it would be
#else
constexpr bool kSanitized = false;
#endif

/// The most memory this process had since forget_peak(), in KiB.
std::int64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

TEST_F(Report, SaysWhatTheRunWasAndHowItWent) {
  job_.state = JobState::failed;
  job_.reason = "stopped early: 1 item failed";
  options_.machine = "atlas, 64 cores";
  make({attempt_of(0), attempt_of(1), failed_attempt_of(2, 3, "no")});
  EXPECT_TRUE(shows("<h1>nightly</h1>"));
  EXPECT_TRUE(shows(R"(<span class="state failed">failed</span>)"));
  EXPECT_TRUE(shows("<code>./process {}</code>"));
  EXPECT_TRUE(shows("atlas, 64 cores"));
  EXPECT_TRUE(shows("stopped early: 1 item failed"));
  EXPECT_TRUE(shows(R"(<b data-count="succeeded">2</b>)"));
  EXPECT_TRUE(shows(R"(<b data-count="failed">1</b>)"));
  EXPECT_TRUE(shows(R"(<b data-count="total">3</b>)"));
  EXPECT_TRUE(shows("drover 1.2.3"));
}

TEST_F(Report, FetchesNothing) {
  make({attempt_of(0)});
  EXPECT_EQ(times("http"), 2U);  // http-equiv, and the name of a namespace in the script
  EXPECT_EQ(times("http-equiv"), 1U);
  EXPECT_EQ(times("http://www.w3.org/2000/svg"), 1U);
  EXPECT_EQ(times("src="), 0U);
  EXPECT_EQ(times("href="), 1U);  // the empty icon
  EXPECT_EQ(times("url("), 0U);
  EXPECT_EQ(times("@import"), 0U);
}

TEST_F(Report, OfAnEmptyJobHasNothingToShowAndSaysSo) {
  make({});
  EXPECT_TRUE(shows("No attempt has ended."));
  EXPECT_TRUE(shows(R"(<b data-count="total">0</b> items)"));
  EXPECT_TRUE(data_["stretches"].as_array().empty());
  EXPECT_TRUE(data_["bars"].as_array().empty());
}

TEST_F(Report, OfARunThatGoesOnCountsWhatIsLeft) {
  make({attempt_of(0)});
  job_.state = JobState::running;
  job_.ended_ms = 0;
  job_.total = 10;
  options_.running = true;
  make({});
  EXPECT_TRUE(shows(R"(<b data-count="left">9</b>)"));
  EXPECT_TRUE(shows("The run is still running."));
  options_.running = false;
  make({});
  EXPECT_TRUE(shows(R"(<span class="state stopped">stopped</span>)"));
}

TEST_F(Report, WhatAnEndedJobDidNotRunWasCancelled) {
  job_.state = JobState::cancelled;
  job_.total = 6;
  make({attempt_of(0)});
  EXPECT_TRUE(shows(R"(<b data-count="cancelled">6</b>)"));
  EXPECT_FALSE(shows(R"(data-count="left")"));
}

TEST_F(Report, CountsAttemptsRetriesAndLosses) {
  Attempt lost = attempt_of(0);
  lost.state = AttemptState::lost;
  lost.ending = Ending::lost;
  lost.settled = false;
  Attempt second = attempt_of(0);
  second.attempt = AttemptNumber{2};
  make({lost, second, attempt_of(1)});
  EXPECT_TRUE(shows("<h3>Attempts</h3><b>3</b><p>1 retry, 1 lost</p>"));
}

TEST_F(Report, SaysWhatTheRunCostIfThatIsKnown) {
  make({attempt_of(0)});
  EXPECT_FALSE(page_.contains("<h3>Cost</h3>"));
  make(attempts_at(3, [](std::uint64_t item) {
    Attempt attempt = attempt_of(item);
    if (item > 0) attempt.cost_microdollars = 1'250'000;
    if (item > 0) attempt.on_demand_microdollars = 3'000'000;
    return attempt;
  }));
  EXPECT_TRUE(page_.contains("<h3>Cost</h3><b>$2.50</b><p>$6.00 on demand</p>"));
}

TEST_F(Report, ListsTheSlowestItemsEachOnce) {
  std::vector<Attempt> attempts;
  for (std::uint64_t item = 0; item < 30; ++item) {
    for (std::uint32_t number = 1; number <= 2; ++number) {
      attempts.push_back(attempt_of(item));
      attempts.back().attempt = AttemptNumber{number};
      attempts.back().settled = number == 2;
      attempts.back().wall_us = static_cast<std::int64_t>((item + 1) * 1'000'000 + number);
    }
  }
  make(attempts);
  const std::size_t begin = page_.find(R"(id="slowest")");
  page_ = page_.substr(begin, page_.find(R"(id="largest")") - begin);
  EXPECT_EQ(times("<tr>"), 21U);
  EXPECT_TRUE(shows(R"(data-value="30000002">30.0 s)"));
  EXPECT_EQ(times("text of 29"), 1U);
  EXPECT_LT(page_.find("text of 29"), page_.find("text of 28"));
  EXPECT_TRUE(shows("text of 10<"));
  EXPECT_FALSE(shows("text of 9<"));
}

TEST_F(Report, OfAMillionAttemptsIsSmall) {
  constexpr std::uint64_t kItems = 1'000'000;
  FakeReader reader([](const FakeReader::Take& take) -> Result<void> {
    Random random(11);
    for (std::uint64_t item = 0; item < kItems; ++item) {
      Attempt attempt = attempt_of(item);
      attempt.slot = static_cast<std::uint32_t>(random.below(128));
      attempt.wall_us = static_cast<std::int64_t>(1 + random.below(400'000));
      attempt.started_ms += static_cast<std::int64_t>(item / 3 + random.below(1000));
      attempt.peak_memory_kib = static_cast<std::int64_t>(1 + random.below(1'000'000));
      if (random.one_in(3)) {
        attempt.state = AttemptState::failed;
        attempt.exit_code = static_cast<std::int32_t>(1 + random.below(100));
        attempt.log.last_line = concat("line ", random.next());
      }
      take(attempt);
    }
    return {};
  });
  job_.total = kItems;
  forget_peak();
  const std::int64_t before_kib = peak_memory_kib();
  make(reader);
  EXPECT_LT(page_.size(), 2'000'000U);
  EXPECT_EQ(sum(data_["columns"].at("succeeded")) + sum(data_["columns"].at("others")), kItems);
  if (!kSanitized) {
    EXPECT_LT(peak_memory_kib() - before_kib, 64 * 1024);
  }
}

// --- where it goes

TEST_F(Report, ReplacesWhatWasThereAndLeavesNothingElse) {
  std::ofstream(options_.path) << "old";
  make({attempt_of(0)});
  EXPECT_TRUE(page_.starts_with("<!doctype html>"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Report, FollowsALink) {
  std::ofstream(folder_ / "real.html") << "old";
  std::filesystem::create_symlink("real.html", options_.path);
  make({attempt_of(0)});
  EXPECT_TRUE(std::filesystem::is_symlink(options_.path));
  EXPECT_GT(std::filesystem::file_size(folder_ / "real.html"), 1000U);
}

TEST_F(Report, ThatCannotBeWrittenNamesTheFile) {
  FakeReader reader([](const FakeReader::Take&) -> Result<void> { return {}; });
  options_.path = folder_ / "missing/page.html";
  auto written = write_report(reader, job_, options_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::not_found);
  EXPECT_TRUE(written.error().message.contains("missing/page.html"));
  EXPECT_FALSE(written.error().next.empty());
  options_.path = folder_;
  written = write_report(reader, job_, options_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::bad_input);
}

TEST_F(Report, OfALedgerThatCannotBeReadKeepsTheOldPage) {
  std::ofstream(options_.path) << "old";
  FakeReader reader([](const FakeReader::Take&) -> Result<void> { return fail(ErrorCode::damaged, "a torn page"); });
  const auto written = write_report(reader, job_, options_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "a torn page");
  EXPECT_EQ(read(), "old");
}

TEST_F(Report, OfItemsThatCannotBeReadSaysWhy) {
  options_.item_text = [](ItemIndex) -> Result<std::string> { return fail(ErrorCode::damaged, "no such pack"); };
  FakeReader reader([](const FakeReader::Take& take) -> Result<void> {
    take(attempt_of(0));
    return {};
  });
  const auto written = write_report(reader, job_, options_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "no such pack");
}

}  // namespace
}  // namespace drover::page
