#include "worker/ended_logs.h"

#include <random>

#include "logs/segment.h"
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
  EndedLogsTest() { open(); }

  void open() {
    auto index = SpoolIndex::open(folder_);
    ASSERT_TRUE(index);
    index_ = std::move(*index);
    ended_logs_ = std::make_unique<EndedLogs>(
        *logs_, *live_, *index_, folder_,
        EndedLogs::Hooks{.post = [this](std::function<void()> work) { post(std::move(work)); },
                         .uploaded = [this](EndedAttempt ended) { outbox_.on_uploaded(std::move(ended)); },
                         .problem = [this](const Error& error) { problems_.push_back(error.message); }});
  }
  /// As if the process had been killed and started again.
  void restart() {
    turn();
    ended_logs_.reset();
    reopen_spool();
    open();
    outbox_ = {};
    for (SpooledEnd& it : ended_logs_->take_over()) outbox_.add(std::move(it));
    turn();
  }
  void end(std::uint64_t item, const std::string& text, int code = 0) {
    if (!text.empty()) {
      logs_->add(key_of(item), LogStream::out, now_ms_, text);
      live_->on_printed(token_of(item), key_of(item), text.size());
    }
    EndedAttempt ended{.token = token_of(item)};
    ended.outcome.exit_code = code;
    to_spool_.push_back({.ended = std::move(ended), .key = key_of(item)});
  }
  void spool() {
    if (to_spool_.empty()) return;
    bool done = false;
    ended_logs_->spool(std::exchange(to_spool_, {}), {WorkerId{3}, 7}, [&](std::vector<SpooledEnd> spooled) {
      for (SpooledEnd& it : spooled) outbox_.add(std::move(it));
      done = true;
    });
    turn();
    EXPECT_TRUE(done);
  }
  /// The next report as it goes out.
  WorkerReport report() {
    spool();
    Report report;
    report.ended = outbox_.take(++call_);
    return ended_logs_->with_frames(std::move(report));
  }
  void taken() {
    outbox_.on_taken(call_);
    ended_logs_->forget(outbox_.take_told());
    turn();
  }
  void lost() { outbox_.on_lost(call_); }
  static std::string told_of(const WorkerReport& report, std::size_t which) {
    std::vector<std::string> frames;
    for (const std::uint32_t number : report.ended_frames[which]) frames.push_back(report.frames[number]);
    return text_of(frames, key_of(report.report.ended[which].token.item.value));
  }
  /// All that it prints until nothing is on its way.
  std::string uploaded(std::uint64_t item) {
    std::vector<std::string> sent;
    for (int uploads = 0; uploads < 20 && !ended_logs_->idle(); ++uploads) {
      step();
      if (uploads_.empty()) continue;
      std::ranges::copy(uploads_.back().frames, std::back_inserter(sent));
      answer();
      uploads_.clear();
    }
    EXPECT_TRUE(ended_logs_->idle());
    return text_of(sent, key_of(item));
  }
  std::size_t files() const { return segments_in(folder_).size(); }

  std::vector<EndedLogs::Ended> to_spool_;
  ReportOutbox outbox_;
  std::uint64_t call_ = 0;
  std::vector<std::string> problems_;
  std::unique_ptr<SpoolIndex> index_;
  std::unique_ptr<EndedLogs> ended_logs_;
};

TEST_F(EndedLogsTest, ShortOutputsShareAFrameAndTheFailedSayTheirLastLine) {
  end(1, "one\n");
  end(2, "");
  end(3, "three\nit broke\n", 1);
  const WorkerReport told = report();
  ASSERT_EQ(told.report.ended.size(), 3U);
  EXPECT_EQ(told.frames.size(), 1U);
  EXPECT_EQ(told_of(told, 0), "one\n");
  EXPECT_EQ(told_of(told, 1), "");
  EXPECT_EQ(told_of(told, 2), "three\nit broke\n");
  EXPECT_EQ(told.report.ended[0].log.last_line, "");
  EXPECT_EQ(told.report.ended[2].log.last_line, "it broke");
}

TEST_F(EndedLogsTest, AReportThatIsLostIsToldAgainWithAllThatItBrought) {
  end(1, "one\n", 3);
  report();
  lost();
  const WorkerReport again = report();
  EXPECT_EQ(told_of(again, 0), "one\n");
  EXPECT_EQ(again.report.ended[0].log.last_line, "one");
}

TEST_F(EndedLogsTest, WhatDoesNotFitBesideOthersComesWithALaterReportHoweverOftenOneFails) {
  for (std::uint64_t item = 1; item <= 9; ++item) end(item, noise(kMebibyte / 2 - 2000));
  std::vector<std::uint64_t> told;
  for (int rounds = 0; rounds < 20; ++rounds) {
    const WorkerReport one = report();
    std::size_t bytes = 0;
    for (const std::string& frame : one.frames) bytes += frame.size();
    EXPECT_LE(bytes, kMebibyte);
    if (rounds < 10) {
      EXPECT_EQ(one.report.ended.size(), 2U);
      EXPECT_EQ(outbox_.size(), 9U);
      lost();
      continue;
    }
    for (std::size_t i = 0; i < one.report.ended.size(); ++i) {
      told.push_back(one.report.ended[i].token.item.value);
      EXPECT_TRUE(told_of(one, i) == noise(kMebibyte / 2 - 2000));
    }
    taken();
  }
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(index_->empty());
  EXPECT_EQ(std::filesystem::file_size(folder_ / "index"), 0U);
}

TEST_F(EndedLogsTest, WhatIsLongerThanAReportGoesAheadOfIt) {
  const std::string much = noise(kMebibyte + kMebibyte / 2);
  end(1, much);
  end(2, "short\n");
  const WorkerReport first = report();
  ASSERT_EQ(first.report.ended.size(), 1U);
  EXPECT_EQ(told_of(first, 0), "short\n");
  EXPECT_FALSE(ended_logs_->idle());
  EXPECT_TRUE(uploaded(1) == much);

  const WorkerReport second = report();
  ASSERT_EQ(second.report.ended.size(), 1U);
  EXPECT_TRUE(second.frames.empty());
  ExtentList all;
  all.add({9, 100, at_ - 100});
  EXPECT_EQ(second.report.ended[0].log.extents, all.encode());
}

TEST_F(EndedLogsTest, WhatTheServerHasTakenIsForgotten) {
  end(1, "one\n");
  WorkerReport told = report();
  taken();
  EXPECT_TRUE(index_->empty());
  EXPECT_TRUE(ended_logs_->with_frames(std::move(told.report)).frames.empty());
}

TEST_F(EndedLogsTest, AnotherProcessTellsWhatTheServerDidNotAcknowledge) {
  const std::string much = noise(kMebibyte + kMebibyte / 2);
  end(1, "one\n");
  end(2, "two\n", 3);
  report();
  taken();
  end(3, "three\n", 3);
  end(4, much);
  spool();
  logs_->add(key_of(5), LogStream::out, now_ms_, "still running\n");

  restart();
  EXPECT_EQ(index_->found().worker, WorkerId{3});
  EXPECT_EQ(index_->found().incarnation, 7U);
  const WorkerReport told = report();
  ASSERT_EQ(told.report.ended.size(), 1U);
  EXPECT_EQ(told.report.ended[0].token, token_of(3));
  EXPECT_EQ(told.report.ended[0].outcome.exit_code, 3);
  EXPECT_EQ(told.report.ended[0].log.last_line, "three");
  EXPECT_EQ(told_of(told, 0), "three\n");
  EXPECT_TRUE(uploaded(4) == much);

  restart();  // before any of it was acknowledged
  EXPECT_EQ(outbox_.size(), 2U);
  EXPECT_TRUE(uploaded(4) == much);
  report();
  taken();
  EXPECT_TRUE(index_->empty());
  restart();
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(files(), 0U);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(EndedLogsTest, OfALogThatALossOfPowerDamagedTheRestIsTold) {
  logs_->add(key_of(1), LogStream::out, now_ms_, noise(300'000));  // a frame of its own
  end(1, noise(300'100));
  spool();
  turn();
  const std::string path = segment_path(folder_, 1);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  restart();
  const WorkerReport told = report();
  ASSERT_EQ(told.report.ended.size(), 1U);
  EXPECT_TRUE(told_of(told, 0) == noise(300'000));
  EXPECT_EQ(problems_.size(), 1U);
}

}  // namespace
}  // namespace drover
