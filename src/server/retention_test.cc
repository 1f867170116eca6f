#include "server/retention.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "logs/log_writer.h"
#include "logs/segment.h"
#include "store/manifest.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kWeek = 7 * kDay;
constexpr std::int64_t kYear = 365 * kDay;
constexpr std::int64_t kToday = 50 * kYear;

struct SetWallClock : WallClock {
  std::int64_t ms = kToday;
  std::int64_t epoch_ms() override { return ms; }
};

class RetentionOf : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/drover-retention-XXXXXX";
    folder_ = mkdtemp(pattern);
    store_ = std::move(*open_sqlite_store(folder_ + "/drover.db"));
  }
  void TearDown() override {
    retention_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// A server that starts now, by its clocks.
  void start(std::int64_t keep_ms, std::int64_t quiet_before_ms) {
    retention_ = std::make_unique<Retention>(
        Retention::Options{folder_ + "/logs", keep_ms, now_ms_, quiet_before_ms}, wall_,
        [this](const ForgetJob& job, const std::function<void(const Result<Effect>&)>& answered) {
          if (refused_.contains(job.job)) return answered(std::unexpected(Error{ErrorCode::conflict, "it stays", ""}));
          ASSERT_TRUE(store_->commit({{DeleteJob{job.job}}}));
          forgotten_.push_back(job.job);
          answered(JobForgotten{});
        },
        *store_, std::move(*open_sqlite_reader(folder_ + "/drover.db")), log_, [](JobId) {});
  }
  void add_ended_job(std::uint64_t id, std::int64_t ended_ms) {
    Job job{{.name = "job"}, JobId{id}};
    job.state = JobState::succeeded;
    job.created_ms = job.ended_ms = ended_ms;
    job.uuid.bytes[0] = static_cast<std::uint8_t>(id);
    job.uuid.bytes[1] = static_cast<std::uint8_t>(id >> 8);
    ASSERT_TRUE(store_->commit({{PutJob{job}}}));
  }
  /// Time goes by, for both clocks.
  void wait(std::int64_t ms) {
    constexpr std::int64_t kStep = 10 * 60'000;
    for (std::int64_t left = ms; left > 0; left -= kStep) {
      now_ms_ += std::min(left, kStep);
      wall_.ms += std::min(left, kStep);
      for (int i = 0; i < 1000 && retention_->step(now_ms_); ++i) continue;
    }
  }

  std::string folder_;
  SetWallClock wall_;
  std::int64_t now_ms_ = kToday;
  ServerLog log_{ServerLog::Form::text};
  std::unique_ptr<Store> store_;
  std::vector<JobId> forgotten_;
  std::set<JobId> refused_;
  std::unique_ptr<Retention> retention_;
};

TEST_F(RetentionOf, AnOldJobGoesAnHourAfterTheStartAndNotBefore) {
  add_ended_job(1, kToday - kWeek - kDay);
  add_ended_job(2, kToday - kWeek + kDay);
  start(kWeek, kHour);
  wait(kHour - 60'000);
  EXPECT_TRUE(forgotten_.empty());
  wait(2 * 60'000);
  EXPECT_EQ(forgotten_, std::vector{JobId{1}});
  wait(kDay);
  EXPECT_EQ(forgotten_, (std::vector{JobId{1}, JobId{2}}));
}

TEST_F(RetentionOf, AClockThatSaysThatItWasAwayForLongIsNotBelievedForADay) {
  add_ended_job(1, kToday - kWeek - kDay);
  start(kWeek, kWeek + 1);
  wait(kDay - 60'000);
  EXPECT_TRUE(forgotten_.empty());
  wait(2 * 60'000);
  EXPECT_EQ(forgotten_.size(), 1U) << "then it was";
}

TEST_F(RetentionOf, AClockThatWasAheadAtTheStartAndIsSetRightCostsNoJob) {
  add_ended_job(1, kToday - kHour);
  now_ms_ = wall_.ms = kToday + kYear;
  start(kWeek, kYear);
  wait(10 * 60'000);
  wall_.ms -= kYear;
  wait(3 * kDay);
  EXPECT_TRUE(forgotten_.empty());
  wait(4 * kDay);
  EXPECT_EQ(forgotten_.size(), 1U) << "a week after its end";
}

TEST_F(RetentionOf, AWallClockThatJumpsLaterChangesNothing) {
  add_ended_job(1, kToday - kHour);
  start(kWeek, 0);
  wait(2 * kHour);
  wall_.ms += kYear;
  wait(kDay);
  EXPECT_TRUE(forgotten_.empty());
}

TEST_F(RetentionOf, VeryManyOldJobsGoAlsoBehindThoseThatStay) {
  // Those that the core refuses to forget come first in the order of time.
  for (std::uint64_t id = 1; id <= 250; ++id) {
    add_ended_job(id, kToday - 2 * kWeek + static_cast<std::int64_t>(id));
    if (id <= 150) refused_.insert(JobId{id});
  }
  start(kWeek, kHour);
  wait(kHour + 60'000);
  for (int i = 0; i < 20; ++i) wait(1000);
  EXPECT_EQ(forgotten_.size(), 100U);
  refused_.clear();
  wait(kHour);
  EXPECT_EQ(forgotten_.size(), 250U) << "the next pass comes to them again";
}

TEST_F(RetentionOf, OldItemsOfAJobOnAStreamGoWhileItGoesOn) {
  for (const std::uint64_t id : {1U, 2U}) {
    Job job{{.name = "job", .stream = id == 1 ? "photos" : ""}, JobId{id}};
    job.uuid.bytes[0] = static_cast<std::uint8_t>(id);
    job.total = 5'000;
    std::vector<Mutation> all{PutJob{job}};
    for (std::uint64_t item = 0; item < job.total; ++item) {
      const std::int64_t ended_ms = kToday - kWeek + static_cast<std::int64_t>(item) * 2 * 60'000;
      all.emplace_back(
          AddAttempt{{.job = job.id, .item = ItemIndex{item}, .attempt = AttemptNumber{1}, .ended_ms = ended_ms}});
    }
    ASSERT_TRUE(store_->commit({std::move(all)}));
  }
  const auto kept = [&](std::uint64_t id) {
    std::uint64_t count = 0;
    const auto reader = std::move(*open_sqlite_reader(folder_ + "/drover.db"));
    const auto take = [&](const Attempt&) { return ++count > 0; };
    EXPECT_TRUE(reader->each_attempt(JobId{id}, ItemIndex{0}, take));
    return count;
  };
  start(kWeek, 0);
  wait(2 * kHour);
  EXPECT_NEAR(static_cast<double>(kept(1)), 5'000 - 60, 10);
  wait(kDay);
  EXPECT_NEAR(static_cast<double>(kept(1)), 5'000 - 60 - 720, 10);
  EXPECT_EQ(kept(2), 5'000U) << "other jobs are kept until they have ended";
}

TEST_F(RetentionOf, AListThatNobodyUsesGoesAfterADayAlsoWhereJobsAreKeptForEver) {
  add_ended_job(1, 0);
  auto writer = ManifestWriter::begin(*store_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->add("item"));
  const auto list = (*writer)->finish();
  ASSERT_TRUE(list);
  start(0, 0);
  wait(kHour);
  EXPECT_TRUE(store_->claim_manifest(list->id));
  wait(kDay - kHour);
  EXPECT_TRUE(store_->claim_manifest(list->id)) << "it was asked for an hour after it came";
  wait(kDay + kHour);
  EXPECT_FALSE(store_->claim_manifest(list->id));
  EXPECT_TRUE(forgotten_.empty());
}

TEST_F(RetentionOf, TheLogsOfAJobThatWasRemovedGoAlsoWhereJobsAreKeptForEver) {
  for (const std::uint64_t id : {1, 2}) {
    add_ended_job(id, kToday);
    LogWriter(folder_ + "/logs").add({JobId{id}, ItemIndex{0}, AttemptNumber{1}}, LogStream::out, kToday, "a line\n");
  }
  const std::chrono::sys_time<std::chrono::milliseconds> today{std::chrono::milliseconds(kToday)};
  for (const auto& file : std::filesystem::directory_iterator(folder_ + "/logs")) {
    std::filesystem::last_write_time(file, std::chrono::file_clock::from_sys(today));
  }
  const auto segments = [&] { return segments_in(folder_ + "/logs").size(); };
  ASSERT_EQ(segments(), 2U) << "each writer begins a segment";
  start(0, 0);
  wait(kDay);
  EXPECT_EQ(segments(), 2U);
  ASSERT_TRUE(store_->commit({{DeleteJob{JobId{1}}}}));
  retention_->jobs_removed();
  wait(60'000);
  EXPECT_EQ(segments(), 1U);
}

}  // namespace
}  // namespace drover
