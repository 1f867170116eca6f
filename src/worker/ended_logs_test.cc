#include "worker/ended_logs.h"

#include <random>

#include "worker/test_spool.h"

namespace drover {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

LogKey key_of(std::uint64_t item) {
  return {JobId{1}, ItemIndex{item}, AttemptNumber{1}};
}
Token token_of(std::uint64_t item) {
  return {GrantId{7}, ItemIndex{item}};
}

/// Lines that do not compress.
std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);  // NOLINT(bugprone-random-generator-seed): the same each time
  std::string text(bytes, '\n');
  for (std::size_t i = 0; i < bytes; ++i) {
    if (i % 100 != 99) text[i] = static_cast<char>(0x80 | (random() & 0x7f));
  }
  return text;
}

class EndedLogsTest : public SpoolTest {
 protected:
  void end(std::uint64_t item, const std::string& text, int code = 0) {
    if (!text.empty()) {
      logs_->add(key_of(item), LogStream::out, now_ms_, text);
      live_.on_printed(token_of(item), key_of(item), text.size());
    }
    ended_logs_.on_ended(token_of(item), key_of(item));
    EndedAttempt ended{.token = token_of(item)};
    ended.outcome.exit_code = code;
    to_tell_.push_back(std::move(ended));
  }
  /// The next report as it goes out.
  Result<WorkerReport> report() {
    Report report;
    report.ended = std::exchange(to_tell_, {});
    Result<WorkerReport> out;
    bool went_on = false;
    ended_logs_.with_frames(std::move(report), [&](Result<WorkerReport>& framed) {
      out = std::move(framed);
      went_on = true;
    });
    turn();
    EXPECT_TRUE(went_on);
    return out;
  }
  static std::string told_of(const WorkerReport& report, std::size_t which) {
    std::vector<std::string> frames;
    for (const std::uint32_t number : report.ended_frames[which]) frames.push_back(report.frames[number]);
    return text_of(frames, key_of(report.report.ended[which].token.item.value));
  }

  std::vector<EndedAttempt> to_tell_;
  EndedLogs ended_logs_{
      *logs_, live_, folder_, [this](std::function<void()> work) { post(std::move(work)); },
      [this](std::vector<EndedAttempt> ended) { std::ranges::move(ended, std::back_inserter(to_tell_)); }};
};

TEST_F(EndedLogsTest, ShortOutputsShareAFrameAndTheFailedSayTheirLastLine) {
  end(1, "one\n");
  end(2, "");
  end(3, "three\nit broke\n", 1);
  const auto told = report();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->report.ended.size(), 3U);
  EXPECT_EQ(told->frames.size(), 1U);
  EXPECT_EQ(told_of(*told, 0), "one\n");
  EXPECT_EQ(told_of(*told, 1), "");
  EXPECT_EQ(told_of(*told, 2), "three\nit broke\n");
  EXPECT_EQ(told->report.ended[0].log.last_line, "");
  EXPECT_EQ(told->report.ended[2].log.last_line, "it broke");
}

TEST_F(EndedLogsTest, AReportThatIsLostIsToldAgainWithAllThatItBrought) {
  end(1, "one\n", 3);
  const auto lost = report();
  ASSERT_TRUE(lost);
  to_tell_ = lost->report.ended;
  const auto again = report();
  ASSERT_TRUE(again);
  EXPECT_EQ(told_of(*again, 0), "one\n");
  EXPECT_EQ(again->report.ended[0].log.last_line, "one");
}

TEST_F(EndedLogsTest, WhatDoesNotFitBesideOthersComesWithALaterReport) {
  for (std::uint64_t item = 1; item <= 3; ++item) end(item, noise(kMebibyte / 2));
  std::vector<std::uint64_t> told;
  for (int rounds = 0; rounds < 3 && !to_tell_.empty(); ++rounds) {
    const auto one = report();
    ASSERT_TRUE(one);
    std::size_t bytes = 0;
    for (const std::string& frame : one->frames) bytes += frame.size();
    EXPECT_LE(bytes, kMebibyte);
    for (std::size_t i = 0; i < one->report.ended.size(); ++i) {
      told.push_back(one->report.ended[i].token.item.value);
      EXPECT_TRUE(told_of(*one, i) == noise(kMebibyte / 2));
    }
  }
  EXPECT_TRUE(to_tell_.empty());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(EndedLogsTest, WhatIsLongerThanAReportGoesAheadOfIt) {
  const std::string much = noise(kMebibyte + kMebibyte / 2);
  end(1, much);
  end(2, "short\n");
  const auto first = report();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->report.ended.size(), 1U);
  EXPECT_EQ(told_of(*first, 0), "short\n");
  EXPECT_FALSE(ended_logs_.idle());

  std::vector<std::string> sent;
  for (int uploads = 0; uploads < 20 && !ended_logs_.idle(); ++uploads) {
    step();
    if (uploads_.empty()) continue;
    std::ranges::copy(uploads_.back().frames, std::back_inserter(sent));
    answer();
    uploads_.clear();
  }
  EXPECT_TRUE(ended_logs_.idle());
  EXPECT_TRUE(text_of(sent, key_of(1)) == much);

  const auto second = report();
  ASSERT_TRUE(second);
  ASSERT_EQ(second->report.ended.size(), 1U);
  EXPECT_TRUE(second->frames.empty());
  ExtentList all;
  all.add({9, 100, at_ - 100});
  EXPECT_EQ(second->report.ended[0].log.extents, all.encode());
}

TEST_F(EndedLogsTest, WhatTheServerHasTakenIsForgotten) {
  end(1, "one\n");
  const auto told = report();
  ASSERT_TRUE(told);
  ended_logs_.forget({token_of(1)});
  to_tell_ = told->report.ended;
  const auto again = report();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->frames.empty());
}

}  // namespace
}  // namespace drover
