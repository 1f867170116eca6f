#include "logs/segment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "logs/frame.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() {
    std::string name = ::testing::TempDir() + "drover-segment.XXXXXX";
    place_ = ::mkdtemp(name.data());
    folder_ = place_ / "logs";
  }
  ~SegmentTest() override { fs::remove_all(place_); }

  std::string contents(std::uint64_t segment) const {
    std::ifstream file(segment_path(folder_, segment), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path place_;
  std::string folder_;  // not there yet
};

Extent append(SegmentWriter& writer, std::string_view frame) {
  auto place = writer.append(frame);
  EXPECT_TRUE(place) << place.error().message;
  return place.value_or(Extent{});
}

TEST_F(SegmentTest, FramesStandOneAfterTheOther) {
  SegmentWriter writer(folder_);
  EXPECT_EQ(append(writer, "first"), (Extent{1, 0, 5}));
  EXPECT_EQ(append(writer, "the second"), (Extent{1, 5, 10}));
  EXPECT_TRUE(writer.sync());
  EXPECT_EQ(append(writer, "3"), (Extent{1, 15, 1}));
  EXPECT_EQ(contents(1), "firstthe second3");
  EXPECT_EQ(segments_in(folder_), std::vector<std::uint64_t>{1});
}

TEST_F(SegmentTest, WithoutAFrameThereIsNoFile) {
  {
    SegmentWriter writer(folder_);
    EXPECT_TRUE(writer.sync());
  }
  EXPECT_TRUE(segments_in(folder_).empty());
}

TEST_F(SegmentTest, ClosedInOrderItEndsWithAMark) {
  {
    append(*std::make_unique<SegmentWriter>(folder_), "frame");
  }
  EXPECT_EQ(contents(1), "frame" + segment_end_mark());
}

TEST_F(SegmentTest, ANewWriterBeginsANewOneAndLeavesTheOldAsItIs) {
  fs::create_directories(folder_);
  std::ofstream(segment_path(folder_, 7)) << "half a fra";
  std::ofstream(folder_ + "/notes.txt") << "somebody's";
  std::ofstream(folder_ + "/8.txt") << "somebody's";
  {
    SegmentWriter writer(folder_);
    EXPECT_EQ(append(writer, "frame"), (Extent{8, 0, 5}));
  }
  SegmentWriter writer(folder_);
  EXPECT_EQ(append(writer, "frame"), (Extent{9, 0, 5}));
  EXPECT_EQ(contents(7), "half a fra");
  EXPECT_EQ(segments_in(folder_), (std::vector<std::uint64_t>{7, 8, 9}));
}

TEST_F(SegmentTest, AFullOneIsClosedAndTheNextBegun) {
  const std::string frame(std::size_t{30} << 20, 'x');
  std::vector<Extent> places;
  {
    SegmentWriter writer(folder_);
    for (int i = 0; i < 3; ++i) places.push_back(append(writer, frame));
    EXPECT_TRUE(writer.sync());
  }
  ASSERT_EQ(segments_in(folder_), (std::vector<std::uint64_t>{1, 2}));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i], (Extent{i / 2 + 1, i % 2 * frame.size(), frame.size()}));
  }
  for (const std::uint64_t segment : {1, 2}) EXPECT_TRUE(contents(segment).ends_with(segment_end_mark()));
}

TEST_F(SegmentTest, NumbersSortAsTextAndGoOnBeyondSixDigits) {
  EXPECT_EQ(segment_path("f", 1), "f/000001.zst");
  EXPECT_EQ(segment_path("f", 999'999), "f/999999.zst");
  EXPECT_EQ(segment_path("f", 1'000'000), "f/1000000.zst");
  fs::create_directories(folder_);
  std::ofstream(segment_path(folder_, 1'000'000)) << "";
  std::ofstream(segment_path(folder_, 2)) << "";
  EXPECT_EQ(segments_in(folder_), (std::vector<std::uint64_t>{2, 1'000'000}));
}

TEST_F(SegmentTest, WhereNothingCanBeWrittenTheErrorNamesThePlace) {
  std::ofstream(folder_) << "a file where the folder should be";
  SegmentWriter writer(folder_);
  const auto place = writer.append("frame");
  ASSERT_FALSE(place);
  EXPECT_NE(place.error().message.find(folder_), std::string::npos) << place.error().message;
}

}  // namespace
}  // namespace drover
