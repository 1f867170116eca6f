#include "worker/live_logs.h"

#include "worker/test_spool.h"

namespace drover {
namespace {

const LogKey kKey{JobId{1}, ItemIndex{4}, AttemptNumber{1}};
const Token kToken{GrantId{7}, ItemIndex{4}};

class LiveLogsTest : public SpoolTest {
 protected:
  void print(const std::string& text) {
    logs_->add(kKey, LogStream::out, now_ms_, text);
    live_.on_printed(kToken, kKey, text.size());
  }
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
  EXPECT_EQ(text_of(uploads_[0].frames), much);
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
  EXPECT_EQ(text_of(uploads_[1].frames), "one\ntwo\n");
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
