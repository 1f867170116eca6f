#include "worker/live_logs.h"

#include <filesystem>

#include "worker/test_spool.h"

namespace drover {
namespace {

const LogKey kKey{JobId{1}, ItemIndex{4}, AttemptNumber{1}};
const Token kToken{GrantId{7}, ItemIndex{4}};

class LiveLogsTest : public SpoolTest {
 protected:
  void print(const std::string& text) {
    logs_->add(kKey, LogStream::out, now_ms_, text);
    live_->on_printed(kToken, kKey, text.size());
  }
};

TEST_F(LiveLogsTest, ALittleStaysHereUntilTheAttemptEnds) {
  print("a line\n");
  step();
  now_ms_ += 60'000;
  step();
  EXPECT_TRUE(uploads_.empty());
  EXPECT_FALSE(live_->next_deadline(now_ms_));
  EXPECT_EQ(live_->end(kToken).frames, 0U);
}

TEST_F(LiveLogsTest, AQuarterOfAMegabyteGoesAheadAndNobodyIsTold) {
  const std::string much = std::string(kFrameBytes, 'x') + "\n";
  print(much);
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(text_of(uploads_[0].frames), much);
  EXPECT_TRUE(uploads_[0].shown.empty());
  answer();
  print("and a line\n");
  step();
  EXPECT_EQ(uploads_.size(), 1U);
  const LiveLogs::Sent sent = live_->end(kToken);
  EXPECT_EQ(sent.frames, uploads_[0].frames.size());
  EXPECT_EQ(sent.places.all(), (std::vector{Extent{9, 100, at_ - 100}}));
}

TEST_F(LiveLogsTest, WhoeverWatchesIsToldAtOnceAndThenEachSecondThatHasSomethingNew) {
  live_->on_watched(kToken, kKey, now_ms_);
  step();
  ASSERT_EQ(uploads_.size(), 1U) << "nothing was printed, and that is said";
  EXPECT_TRUE(uploads_[0].frames.empty());
  EXPECT_EQ(uploads_[0].worker, WorkerId{3});
  EXPECT_EQ(uploads_[0].shown, (std::vector<WorkerUpload::Shown>{{kToken, {}, {}}}));
  answer();

  print("one\ntw");
  step();
  EXPECT_EQ(uploads_.size(), 1U) << "not yet";
  EXPECT_EQ(live_->next_deadline(now_ms_), now_ms_ + 1000);
  now_ms_ += 1000;
  step();
  ASSERT_EQ(uploads_.size(), 2U);
  EXPECT_EQ(text_of(uploads_[1].frames), "one\ntw");
  EXPECT_EQ(uploads_[1].shown, (std::vector<WorkerUpload::Shown>{{kToken, {}, {0}}}));
  print("o\n");
  now_ms_ += 5000;
  step();
  EXPECT_EQ(uploads_.size(), 2U) << "one upload at a time";
  answer();
  step();
  ASSERT_EQ(uploads_.size(), 3U);
  EXPECT_EQ(text_of(uploads_[2].frames), "o\n");
  ExtentList before;
  before.add({9, 100, uploads_[1].frames[0].size()});
  EXPECT_EQ(uploads_[2].shown, (std::vector<WorkerUpload::Shown>{{kToken, before.encode(), {0}}}));
  answer();

  now_ms_ += 3000;
  step();
  EXPECT_EQ(uploads_.size(), 3U) << "nothing new";
  live_->on_watched(kToken, kKey, now_ms_);
  step();
  EXPECT_EQ(uploads_.size(), 4U) << "whoever asks again may know nothing";
  answer();
  now_ms_ += 10'000;
  print("unwatched\n");
  step();
  EXPECT_EQ(uploads_.size(), 4U) << "nobody has asked for so long";
  EXPECT_FALSE(live_->next_deadline(now_ms_)) << "nor is anything due for it";
  EXPECT_EQ(live_->end(kToken).frames, 2U);
}

TEST_F(LiveLogsTest, WhatFailedIsSentAgainAfterAPauseInTheSameOrder) {
  live_->on_watched(kToken, kKey, now_ms_);
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
  EXPECT_EQ(text_of(uploads_[1].frames), "one\ntwo\n");
  answer();
  EXPECT_EQ(live_->end(kToken).frames, 2U);
}

TEST_F(LiveLogsTest, WhatIsUnderWayWhenTheAttemptEndsCountsAsNotSent) {
  live_->on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(live_->end(kToken).frames, 0U);
  answer();
  step();
  EXPECT_EQ(uploads_.size(), 1U);
}

// The answer to what was under way used to be taken for the end of the log; its rest came beside the report, which on a
// slow line never arrived.
TEST_F(LiveLogsTest, ALogWhoseAttemptEndsDuringAnUploadIsSentWhole) {
  const std::string much = std::string(4 * kFrameBytes, 'x') + "\n";
  print(much);
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  print("and more\n");
  logs_->end(kKey);
  const LiveLogs::Sent sent = live_->end(kToken);
  std::promise<Bytes> settled;
  logs_->settle({kKey}, [&](const Result<std::vector<Bytes>>& places) { settled.set_value(places.value().front()); });
  std::optional<LiveLogs::Sent> finished;
  live_->finish(kToken, settled.get_future().get(), sent, [&](LiveLogs::Sent it) { finished = std::move(it); });
  answer();
  EXPECT_FALSE(finished) << "of the log that is over, nothing was sent yet";
  step();
  ASSERT_EQ(uploads_.size(), 2U);
  answer();
  ASSERT_TRUE(finished);
  EXPECT_TRUE(text_of(uploads_[1].frames) == much + "and more\n");
  EXPECT_EQ(finished.value_or(LiveLogs::Sent{}).frames, uploads_[1].frames.size());
}

TEST_F(LiveLogsTest, PausesGrowWhileItFails) {
  live_->on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  const std::int64_t begun_ms = now_ms_;
  std::size_t answered = 0;
  while (now_ms_ < begun_ms + 600'000) {
    if (uploads_.size() > answered) {
      answered = uploads_.size();
      placed_(std::unexpected(Error{ErrorCode::no_space, "the disk is full", ""}));
    }
    now_ms_ += 1'000;
    live_->on_watched(kToken, kKey, now_ms_);
    step();
  }
  EXPECT_LT(uploads_.size(), 30U) << "of three hundred, if it tried again every two seconds";
  EXPECT_GT(uploads_.size(), 15U);
}

TEST_F(LiveLogsTest, WhatCouldNotBeSentGoesAtOnceWhenTheServerIsBack) {
  live_->on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  std::size_t tries = 0;
  while (tries < 6) {
    if (uploads_.size() > tries) {
      tries = uploads_.size();
      placed_(std::unexpected(Error{ErrorCode::unreachable, "no route", ""}));
    }
    now_ms_ += 1'000;
    live_->on_watched(kToken, kKey, now_ms_);
    step();
  }
  live_->on_server_heard();
  step();
  EXPECT_EQ(uploads_.size(), tries + 1);
  placed_(std::unexpected(Error{ErrorCode::no_space, "the disk is full", ""}));
  live_->on_server_heard();
  step();
  EXPECT_EQ(uploads_.size(), tries + 1) << "it is there, and has no room yet";
}

TEST_F(LiveLogsTest, ALogThatIsMissingFromTheSpoolHoldsUpNoReport) {
  print("one\n");
  logs_->end(kKey);
  std::promise<Bytes> settled;
  logs_->settle({kKey}, [&](const Result<std::vector<Bytes>>& places) { settled.set_value(places.value().front()); });
  const Bytes in_spool = settled.get_future().get();
  for (const auto& file : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(file);
  std::optional<LiveLogs::Sent> finished;
  live_->finish(kToken, in_spool, live_->end(kToken), [&](LiveLogs::Sent it) { finished = std::move(it); });
  step();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->frames, 0U);
  EXPECT_TRUE(uploads_.empty());
}

// It used to be sent again every two seconds for ever.
TEST_F(LiveLogsTest, WhatTheServerRefusesForGoodIsSentOnce) {
  live_->on_watched(kToken, kKey, now_ms_);
  print("one\n");
  step();
  ASSERT_EQ(uploads_.size(), 1U);
  placed_(std::unexpected(Error{ErrorCode::bad_input, "that is no frame", ""}));
  for (int turn = 0; turn < 10; ++turn) {
    now_ms_ += 60'000;
    live_->on_watched(kToken, kKey, now_ms_);
    print("more\n");
    step();
  }
  EXPECT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(live_->end(kToken).frames, 0U);
}

}  // namespace
}  // namespace drover
