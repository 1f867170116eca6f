#include "logs/segment_jobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "logs/frame.h"
#include "logs/record.h"
#include "logs/segment.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class SegmentJobsTest : public ::testing::Test {
 protected:
  SegmentJobsTest() {
    std::string name = ::testing::TempDir() + "drover-segment.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    SegmentWriter writer(folder_);
    FramePacker packer;
    // Two frames of two jobs each.
    for (const std::uint64_t first : {1, 7}) {
      std::string raw;
      for (const std::uint64_t job : {first, first + 1}) {
        append_record(raw, {{JobId{job}, ItemIndex{0}, AttemptNumber{1}}, LogStream::out, 5, "a line\n"});
      }
      const auto placed = writer.append(packer.pack(raw));
      EXPECT_TRUE(placed);
      ends_.push_back(placed->offset + placed->size);
    }
  }
  ~SegmentJobsTest() override { fs::remove_all(folder_); }

  std::string folder_;
  std::vector<std::uint64_t> ends_;
};

TEST_F(SegmentJobsTest, NamesEveryJobThatPrintedSomething) {
  const auto found = jobs_in_segment(folder_, 1);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->jobs, (std::set<JobId>{JobId{1}, JobId{2}, JobId{7}, JobId{8}}));
  EXPECT_TRUE(found->is_whole);
  EXPECT_GT(found->written_ms, 1'600'000'000'000);
}

TEST_F(SegmentJobsTest, ATornLastFrameIsNobodys) {
  fs::resize_file(segment_path(folder_, 1), ends_[1] - 3);
  const auto found = jobs_in_segment(folder_, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->jobs, (std::set<JobId>{JobId{1}, JobId{2}}));
  EXPECT_TRUE(found->is_whole);
}

TEST_F(SegmentJobsTest, SaysWhenSomethingCannotBeRead) {
  std::fstream file(segment_path(folder_, 1), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(ends_[0]) - 4);
  file.write("????", 4);
  file.close();
  const auto found = jobs_in_segment(folder_, 1);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_whole);
  EXPECT_TRUE(found->jobs.contains(JobId{8})) << "what comes after it is read";
}

TEST_F(SegmentJobsTest, OneThatIsNotThereIsAnError) {
  EXPECT_FALSE(jobs_in_segment(folder_, 9));
}

}  // namespace
}  // namespace drover
