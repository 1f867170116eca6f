#include "worker/live_logs.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>

#include "base/entropy.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

const LogKey kKey{JobId{1}, ItemIndex{4}, AttemptNumber{1}};
const Token kToken{GrantId{7}, ItemIndex{4}};

/// A worker's loop, a spool, and a server that answers when it is told to.
class LiveLogsTest : public testing::Test {
 protected:
  LiveLogsTest()
      : folder_(fs::temp_directory_path() / ("drover-live-" + std::to_string(random_number()))),
        logs_(std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool)),
        live_(
            *logs_, folder_,
            [this](std::function<void()> work) {
              const std::scoped_lock lock(mutex_);
              posted_.push_back(std::move(work));
              wakes_.notify_one();
            },
            [this](WorkerUpload upload, LiveLogs::Placed placed) {
              uploads_.push_back(std::move(upload));
              placed_ = std::move(placed);
            }) {}
  ~LiveLogsTest() override {
    logs_.reset();
    fs::remove_all(folder_);
  }

  void print(const std::string& text) {
    logs_->add(kKey, LogStream::out, now_ms_, text);
    live_.on_printed(kToken, kKey, text.size());
  }
  /// A step, and what comes of it at once.
  void step() {
    live_.step(WorkerId{3}, now_ms_);
    std::promise<void> shown;
    logs_->show({}, [&](const auto&) { shown.set_value(); });  // in order: those before it are done
    shown.get_future().wait();
    std::deque<std::function<void()>> work;
    {
      const std::scoped_lock lock(mutex_);
      work.swap(posted_);
    }
    for (const auto& one : work) one();
  }
  /// The server has put the frames somewhere.
  void answer() {
    std::vector<std::string> places;
    for (const std::string& frame : uploads_.back().frames) {
      ExtentList list;
      list.add({9, at_, frame.size()});
      at_ += frame.size();
      places.push_back(list.encode().value);
    }
    placed_(std::move(places));
  }
  static std::string text_of(const WorkerUpload& upload) {
    std::string text;
    FrameUnpacker unpacker;
    for (const std::string& frame : upload.frames) {
      std::string raw;
      const auto sizes = read_frame_header(frame);
      EXPECT_TRUE(sizes && unpacker.unpack(std::string_view(frame).substr(kFrameHeader), sizes->raw, raw));
      RecordCursor cursor(raw);
      while (const auto record = cursor.next()) text += record->bytes;
    }
    return text;
  }

  const fs::path folder_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> posted_;
  std::vector<WorkerUpload> uploads_;
  LiveLogs::Placed placed_;
  std::uint64_t at_ = 100;
  std::int64_t now_ms_ = 1'000'000;
  std::unique_ptr<LogWriter> logs_;
  LiveLogs live_;
};

TEST_F(LiveLogsTest, ALittleStaysHereUntilTheAttemptEnds) {
  print("a line\n");
  step();
  now_ms_ += 60'000;
  step();
  EXPECT_TRUE(uploads_.empty());
  EXPECT_FALSE(live_.next_deadline());
  EXPECT_EQ(live_.end(kToken).frames, 0U);
}

TEST_F(LiveLogsTest, AQuarterOfAMegabyteGoesAheadAndNobodyIsTold) {
  const std::string much = std::string(kFrameBytes, 'x') + "\n";
  print(much);
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(text_of(uploads_[0]), much);
  EXPECT_TRUE(uploads_[0].shown.empty());
  answer();
  print("and a line\n");
  step();
  EXPECT_EQ(uploads_.size(), 1U);
  const LiveLogs::Sent sent = live_.end(kToken);
  EXPECT_EQ(sent.frames, uploads_[0].frames.size());
  EXPECT_EQ(sent.places.all(), (std::vector{Extent{9, 100, at_ - 100}}));
}

TEST_F(LiveLogsTest, WhoeverWatchesIsToldAtOnceAndThenEachSecondThatHasSomethingNew) {
  live_.on_watched(kToken, kKey, now_ms_);
  step();
  ASSERT_EQ(uploads_.size(), 1U) << "nothing was printed, and that is said";
  EXPECT_TRUE(uploads_[0].frames.empty());
  EXPECT_EQ(uploads_[0].worker, WorkerId{3});
  EXPECT_EQ(uploads_[0].shown, (std::vector<WorkerUpload::Shown>{{kToken, {}, {}}}));
  answer();

  print("one\ntw");
  step();
  EXPECT_EQ(uploads_.size(), 1U) << "not yet";
  EXPECT_EQ(live_.next_deadline(), now_ms_ + 1000);
  now_ms_ += 1000;
  step();
  ASSERT_EQ(uploads_.size(), 2U);
  EXPECT_EQ(text_of(uploads_[1]), "one\ntw");
  EXPECT_EQ(uploads_[1].shown, (std::vector<WorkerUpload::Shown>{{kToken, {}, {0}}}));
  print("o\n");
  now_ms_ += 5000;
  step();
  EXPECT_EQ(uploads_.size(), 2U) << "one upload at a time";
  answer();
  step();
  ASSERT_EQ(uploads_.size(), 3U);
  EXPECT_EQ(text_of(uploads_[2]), "o\n");
  ExtentList before;
  before.add({9, 100, uploads_[1].frames[0].size()});
  EXPECT_EQ(uploads_[2].shown, (std::vector<WorkerUpload::Shown>{{kToken, before.encode(), {0}}}));
  answer();

  now_ms_ += 3000;
  step();
  EXPECT_EQ(uploads_.size(), 3U) << "nothing new";
  live_.on_watched(kToken, kKey, now_ms_);
  step();
  EXPECT_EQ(uploads_.size(), 4U) << "whoever asks again may know nothing";
  answer();
  now_ms_ += 10'000;
  print("unwatched\n");
  step();
  EXPECT_EQ(uploads_.size(), 4U) << "nobody has asked for so long";
  EXPECT_EQ(live_.end(kToken).frames, 2U);
}

TEST_F(LiveLogsTest, WhatFailedIsSentAgainAfterAPauseInTheSameOrder) {
  live_.on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  placed_(std::unexpected(Error{ErrorCode::unreachable, "gone", ""}));
  print("two\n");
  step();
  EXPECT_EQ(uploads_.size(), 1U);
  now_ms_ += 2000;
  step();
  ASSERT_EQ(uploads_.size(), 2U);
  EXPECT_EQ(text_of(uploads_[1]), "one\ntwo\n");
  answer();
  EXPECT_EQ(live_.end(kToken).frames, 2U);
}

TEST_F(LiveLogsTest, WhatIsUnderWayWhenTheAttemptEndsCountsAsNotSent) {
  live_.on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(live_.end(kToken).frames, 0U);
  answer();
  step();
  EXPECT_EQ(uploads_.size(), 1U);
}

}  // namespace
}  // namespace drover
