// Logs that something happened to: what is whole is read, what is not is named, and nothing is made up.
#include "logs/log_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "logs/segment.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

const LogKey kMine{JobId{1}, ItemIndex{2}, AttemptNumber{3}};
const LogKey kOther{JobId{1}, ItemIndex{2}, AttemptNumber{4}};
constexpr std::uint64_t kFrames = 5;

std::string line(std::uint64_t frame) {
  return "line " + std::to_string(frame) + "\n";
}

/// One segment of five frames; each holds a line of ours and one of another attempt.
class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() {
    std::string name = ::testing::TempDir() + "drover-reader.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    FramePacker packer;
    SegmentWriter writer(folder_);
    for (std::uint64_t i = 0; i < kFrames; ++i) {
      std::string raw;
      append_record(raw, {kOther, LogStream::out, 0, "not ours\n"});
      append_record(raw, {kMine, LogStream::out, static_cast<std::int64_t>(i), line(i)});
      const auto place = writer.append(packer.pack(raw));
      EXPECT_TRUE(place);
      extents_.add(*place);
      begins_.push_back(place->offset);
    }
    begins_.push_back(begins_.back() + extents_.all().back().size);
    end_ = extents_.all().front().size;
  }
  ~LogReaderTest() override { fs::remove_all(folder_); }

  fs::path path() const { return segment_path(folder_, 1); }
  std::string contents() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& contents) const { std::ofstream(path(), std::ios::binary) << contents; }

  struct Seen {
    std::string text;
    std::vector<LogDamage> damages;
  };
  Seen read() const {
    Seen seen;
    LogReader reader(folder_);
    reader.each_record(
        extents_, kMine,
        [&](const LogRecord& record) {
          EXPECT_EQ(record.key, kMine);
          seen.text += record.bytes;
          return true;
        },
        [&](const LogDamage& damage) { seen.damages.push_back(damage); });
    return seen;
  }

  std::string folder_;
  ExtentList extents_;
  std::vector<std::uint64_t> begins_;  // of the frames
  std::uint64_t end_ = 0;              // of the last frame
};

TEST_F(LogReaderTest, ReadsWhatIsWhole) {
  const Seen seen = read();
  EXPECT_EQ(seen.text, line(0) + line(1) + line(2) + line(3) + line(4));
  EXPECT_TRUE(seen.damages.empty());
}

TEST_F(LogReaderTest, StopsWhenItIsTold) {
  LogReader reader(folder_);
  int taken = 0;
  reader.each_record(
      extents_, kMine, [&](const LogRecord&) { return ++taken < 3; },
      [](const LogDamage& damage) { ADD_FAILURE() << damage.reason; });
  EXPECT_EQ(taken, 3);
}

TEST_F(LogReaderTest, CutAnywhereItReadsTheFramesThatAreWhole) {
  for (std::uint64_t size = end_; size-- > 0;) {
    fs::resize_file(path(), size);
    std::string wanted;
    for (std::uint64_t i = 0; i < kFrames && begins_[i + 1] <= size; ++i) wanted += line(i);
    const Seen seen = read();
    ASSERT_EQ(seen.text, wanted) << "cut at " << size;
    ASSERT_FALSE(seen.damages.empty());
    ASSERT_NE(seen.damages.front().reason.find(path()), std::string::npos) << seen.damages.front().reason;
  }
}

TEST_F(LogReaderTest, AWrongByteCostsItsFrameAndIsNamed) {
  const std::string whole = contents();
  const std::uint64_t frame = 2;
  for (std::uint64_t at = begins_[frame] + kFrameHeader; at < begins_[frame + 1]; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    replace(damaged);
    const Seen seen = read();
    ASSERT_EQ(seen.text, line(0) + line(1) + line(3) + line(4)) << "byte " << at;
    ASSERT_EQ(seen.damages.size(), 1);
    ASSERT_NE(seen.damages.front().reason.find(path()), std::string::npos) << seen.damages.front().reason;
  }
}

TEST_F(LogReaderTest, AWrongByteInAHeaderMakesNothingUp) {
  const std::string whole = contents();
  for (std::uint64_t at = begins_[2]; at < begins_[2] + kFrameHeader; ++at) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      replace(damaged);
      const Seen seen = read();
      ASSERT_TRUE(seen.text.starts_with(line(0) + line(1))) << "byte " << at;
      ASSERT_FALSE(seen.damages.empty());
      for (std::uint64_t i = 2; i < kFrames; ++i) {
        const std::size_t found = seen.text.find(line(i));
        ASSERT_TRUE(found == std::string::npos || seen.text.find(line(i), found + 1) == std::string::npos);
      }
    }
  }
}

TEST_F(LogReaderTest, ASegmentThatIsGoneIsNamed) {
  fs::remove(path());
  const Seen seen = read();
  EXPECT_EQ(seen.text, "");
  ASSERT_FALSE(seen.damages.empty());
  EXPECT_NE(seen.damages.front().reason.find(path()), std::string::npos) << seen.damages.front().reason;
}

TEST_F(LogReaderTest, GarbageInItsPlaceIsDamage) {
  for (const std::string& garbage : {std::string(), std::string(1000, '\0'), std::string(100'000, '\xff')}) {
    replace(garbage);
    const Seen seen = read();
    EXPECT_EQ(seen.text, "");
    EXPECT_FALSE(seen.damages.empty());
  }
}

TEST_F(LogReaderTest, ExtentsThatLeadNowhereAreDamageToo) {
  extents_ = {};
  extents_.add({1, 10, 50});
  extents_.add({1, 1ULL << 62, 100});
  const Seen seen = read();
  EXPECT_EQ(seen.text, "");
  EXPECT_FALSE(seen.damages.empty());
}

TEST_F(LogReaderTest, AHugeExtentTakesNoHugeMemory) {
  extents_ = {};
  extents_.add({1, 0, 1ULL << 60});
  const Seen seen = read();
  EXPECT_EQ(seen.text, line(0) + line(1) + line(2) + line(3) + line(4));
  EXPECT_FALSE(seen.damages.empty());
}

TEST_F(LogReaderTest, KnowsWhetherASegmentWasClosed) {
  LogReader reader(folder_);
  EXPECT_TRUE(*reader.is_closed(1));
  const std::string whole = contents();
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, whole.size() - 1}) {
    replace(whole.substr(0, size));
    EXPECT_FALSE(*LogReader(folder_).is_closed(1)) << size;
  }
  EXPECT_FALSE(reader.is_closed(2));
}

TEST_F(LogReaderTest, SeesFramesAsTheyCome) {
  const std::string whole = contents();
  replace(whole.substr(0, begins_[1] + 3));
  LogReader reader(folder_);
  EXPECT_EQ(reader.frame_at(1, 0)->value_or(FramePlace{}).next, begins_[1]);
  EXPECT_FALSE(*reader.frame_at(1, begins_[1]));
  replace(whole);
  EXPECT_EQ(reader.frame_at(1, begins_[1])->value_or(FramePlace{}).next, begins_[2]);
  EXPECT_FALSE(*reader.frame_at(1, end_)) << "the end mark is no frame";
}

TEST_F(LogReaderTest, ReadsMoreSegmentsThanItKeepsOpen) {
  FramePacker packer;
  std::string wanted;
  extents_ = {};
  for (std::uint64_t i = 0; i < 80; ++i) {
    SegmentWriter writer(folder_);
    std::string raw;
    append_record(raw, {kMine, LogStream::out, 0, line(i)});
    extents_.add(*writer.append(packer.pack(raw)));
    wanted += line(i);
  }
  EXPECT_EQ(read().text, wanted);
  EXPECT_EQ(LogReader(folder_).segments().size(), 81);
}

}  // namespace
}  // namespace drover
