// What goes into a LogWriter comes out of a LogReader: whole, in order, in frames that suit whoever reads it.
#include "logs/log_writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "logs/log_reader.h"
#include "logs/segment.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

LogKey key_of(std::uint64_t item, std::uint32_t attempt = 1) {
  return {JobId{1}, ItemIndex{item}, AttemptNumber{attempt}};
}

/// A record that owns its bytes.
struct Piece {
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::string bytes;

  bool operator==(const Piece&) const = default;
};
using Pieces = std::vector<Piece>;

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() {
    std::string name = ::testing::TempDir() + "drover-logs.XXXXXX";
    place_ = ::mkdtemp(name.data());
    folder_ = place_ / "logs";
    writer_ = std::make_unique<LogWriter>(folder_);
  }
  ~LogWriterTest() override {
    writer_.reset();
    fs::remove_all(place_);
  }

  Result<std::vector<Bytes>> settle(const std::vector<LogKey>& keys) {
    std::promise<Result<std::vector<Bytes>>> settled;
    writer_->settle(keys, [&](const auto& places) { settled.set_value(places); });
    return settled.get_future().get();
  }
  Result<Bytes> show(const LogKey& key) {
    std::promise<Result<Bytes>> shown;
    writer_->show(key, [&](const auto& place) { shown.set_value(place); });
    return shown.get_future().get();
  }
  /// The attempts end, and everything is durable: where each of them is.
  std::vector<ExtentList> end(const std::vector<LogKey>& keys) {
    for (const LogKey& key : keys) writer_->end(key);
    const auto places = settle(keys);
    EXPECT_TRUE(places) << places.error().message;
    std::vector<ExtentList> extents;
    for (const Bytes& place : *places) extents.push_back(ExtentList::decode(place.value));
    EXPECT_EQ(extents.size(), keys.size());
    return extents;
  }

  Pieces read(const ExtentList& extents, const LogKey& key) {
    LogReader reader(folder_);
    Pieces pieces;
    reader.each_record(
        extents, key,
        [&](const LogRecord& record) {
          EXPECT_EQ(record.key, key);
          pieces.push_back({record.stream, record.time_ms, std::string(record.bytes)});
          return true;
        },
        [](const LogDamage& damage) { ADD_FAILURE() << damage.reason; });
    return pieces;
  }
  std::size_t frames(const ExtentList& extents) { return LogReader(folder_).frames_of(extents)->size(); }

  fs::path place_;
  std::string folder_;
  std::unique_ptr<LogWriter> writer_;
};

std::string text_of(const Pieces& pieces, LogStream stream) {
  std::string text;
  for (const Piece& piece : pieces) text += piece.stream == stream ? piece.bytes : "";
  return text;
}

std::string lines_of(std::size_t bytes, Random& random) {
  std::string text;
  while (text.size() < bytes) text += std::to_string(random.next()) + "\n";
  return text;
}

/// Ends at 0 if there is none.
FramePlace frame_at(LogReader& reader, std::uint64_t segment, std::uint64_t offset) {
  return reader.frame_at(segment, offset)->value_or(FramePlace{});
}

TEST_F(LogWriterTest, OutputOfManyAttemptsIsToldApartAgain) {
  Random random(1);
  constexpr std::uint64_t kItems = 20;
  std::string wanted[kItems][2];
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t item = random.below(kItems);
    const auto stream = static_cast<LogStream>(random.below(2));
    std::string bytes(random.one_in(50) ? random.below(30'000) : random.below(80), '\0');
    for (char& byte : bytes) byte = random.one_in(15) ? '\n' : static_cast<char>(random.next());
    wanted[item][static_cast<std::size_t>(stream)] += bytes;
    writer_->add(key_of(item), stream, i, bytes);
    if (random.one_in(100)) writer_->flush();
    EXPECT_TRUE(!random.one_in(200) || show(key_of(random.below(kItems))));
  }
  std::vector<LogKey> keys;
  keys.reserve(kItems);
  for (std::uint64_t item = 0; item < kItems; ++item) keys.push_back(key_of(item));
  const auto extents = end(keys);
  for (std::uint64_t item = 0; item < kItems; ++item) {
    const Pieces pieces = read(extents[item], keys[item]);
    EXPECT_EQ(text_of(pieces, LogStream::out), wanted[item][0]);
    EXPECT_EQ(text_of(pieces, LogStream::err), wanted[item][1]);
  }
}

TEST_F(LogWriterTest, AttemptsAtOneItemAreToldApart) {
  writer_->add(key_of(7, 1), LogStream::out, 1, "first\n");
  writer_->add(key_of(7, 2), LogStream::out, 2, "second\n");
  const auto extents = end({key_of(7, 1), key_of(7, 2)});
  EXPECT_EQ(read(extents[0], key_of(7, 1)), (Pieces{{LogStream::out, 1, "first\n"}}));
  EXPECT_EQ(read(extents[1], key_of(7, 2)), (Pieces{{LogStream::out, 2, "second\n"}}));
}

TEST_F(LogWriterTest, AnAttemptThatPrintedNothingIsNowhere) {
  writer_->add(key_of(1), LogStream::out, 1, "text\n");
  const auto extents = end({key_of(0), key_of(1), key_of(2)});
  EXPECT_TRUE(extents[0].empty());
  EXPECT_FALSE(extents[1].empty());
  EXPECT_TRUE(extents[2].empty());
}

TEST_F(LogWriterTest, ShortOutputsShareAFrame) {
  std::vector<LogKey> keys;
  for (std::uint64_t item = 0; item < 500; ++item) {
    keys.push_back(key_of(item));
    writer_->add(keys.back(), LogStream::out, 1, "a line\n");
  }
  const auto extents = end(keys);
  for (const ExtentList& each : extents) EXPECT_EQ(each.all(), extents.front().all());
  EXPECT_EQ(frames(extents.front()), 1);
}

TEST_F(LogWriterTest, ALongOutputHasFramesOfItsOwn) {
  Random random(2);
  const LogKey large = key_of(0);
  const LogKey small = key_of(1);
  for (int i = 0; i < 200; ++i) {
    writer_->add(large, LogStream::out, i, lines_of(20'000, random));
    writer_->add(small, LogStream::out, i, "a line\n");
  }
  const auto extents = end({large, small});
  LogReader reader(folder_);
  const auto places = reader.frames_of(extents[0]);
  ASSERT_TRUE(places);
  EXPECT_GT(places->size(), 10);
  for (std::size_t i = 0; i + 1 < places->size(); ++i) {
    RecordCursor cursor(**reader.frame((*places)[i]));
    while (const auto record = cursor.next()) EXPECT_EQ(record->key, large);
  }
  // Whoever reads the small one reads the rest of the large one at most.
  std::size_t read_for_small = 0;
  const auto places_of_small = reader.frames_of(extents[1]);
  for (const FramePlace& place : *places_of_small) read_for_small += (*reader.frame(place))->size();
  EXPECT_LT(read_for_small, kFrameBytes + 50'000);
}

TEST_F(LogWriterTest, TheMoreIsQueuedTheLessIsCompressed) {
  EXPECT_EQ(LogWriter::effort_for(0), PackEffort::normal);
  EXPECT_EQ(LogWriter::effort_for(LogWriter::kMostQueued / 4 - 1), PackEffort::normal);
  EXPECT_EQ(LogWriter::effort_for(LogWriter::kMostQueued / 4), PackEffort::little);
  EXPECT_EQ(LogWriter::effort_for(LogWriter::kMostQueued / 2), PackEffort::none);
  EXPECT_EQ(LogWriter::effort_for(LogWriter::kMostQueued), PackEffort::none);
}

TEST_F(LogWriterTest, WhatComesFasterThanItIsCompressedIsWholeAndInOrder) {
  constexpr std::uint64_t kRecords = 3 * LogWriter::kMostQueued / 4'096;
  const auto text = [](std::uint64_t number) {
    std::string bytes = std::to_string(number);
    bytes.resize(4'095, '.');
    return bytes + "\n";
  };
  for (std::uint64_t i = 0; i < kRecords; ++i) writer_->add(key_of(1), LogStream::out, 5, text(i));
  const Pieces pieces = read(end({key_of(1)}).front(), key_of(1));
  std::string got;
  for (const Piece& piece : pieces) got += piece.bytes;
  ASSERT_EQ(got.size(), kRecords * 4'096);
  for (std::uint64_t i = 0; i < kRecords; ++i) ASSERT_EQ(got.substr(i * 4'096, 4'096), text(i));
}

TEST_F(LogWriterTest, ALineStaysTogetherWhileOthersAreWritten) {
  writer_->add(key_of(0), LogStream::out, 1, "whole\nbe");
  EXPECT_TRUE(settle({}));
  writer_->add(key_of(0), LogStream::err, 2, "oops");
  writer_->add(key_of(0), LogStream::out, 3, "gi");
  EXPECT_TRUE(settle({}));
  writer_->add(key_of(0), LogStream::out, 4, "n\n");
  const auto extents = end({key_of(0)});
  EXPECT_EQ(read(extents[0], key_of(0)),
            (Pieces{{LogStream::out, 1, "whole\n"}, {LogStream::out, 1, "begin\n"}, {LogStream::err, 2, "oops"}}));
}

TEST_F(LogWriterTest, ALineThatWaitedLongDoesNotMakeTheNextOnesOld) {
  writer_->add(key_of(0), LogStream::out, 1'000, "working");
  writer_->add(key_of(0), LogStream::out, 9'000, " done\nnext\n");
  const auto extents = end({key_of(0)});
  const Pieces pieces = read(extents[0], key_of(0));
  EXPECT_EQ(text_of(pieces, LogStream::out), "working done\nnext\n");
  EXPECT_EQ(pieces.back().time_ms, 9'000);
}

TEST_F(LogWriterTest, AVeryLongLineIsNotKeptInMemory) {
  const std::string part(30'000, 'x');
  for (int i = 0; i < 100; ++i) writer_->add(key_of(0), LogStream::out, i, part);
  const auto shown = show(key_of(0));
  ASSERT_TRUE(shown);
  const Pieces pieces = read(ExtentList::decode(shown->value), key_of(0));
  EXPECT_EQ(text_of(pieces, LogStream::out), std::string(3'000'000, 'x'));
  for (const Piece& piece : pieces) EXPECT_LE(piece.bytes.size(), 100'000);
}

TEST_F(LogWriterTest, NotesStandWhereTheyWereMade) {
  writer_->add(key_of(0), LogStream::out, 1, "the beg");
  writer_->add(key_of(0), LogStream::note, 2, "[cut]\n");
  writer_->add(key_of(0), LogStream::out, 3, "e end\n");
  const auto extents = end({key_of(0)});
  EXPECT_EQ(read(extents[0], key_of(0)),
            (Pieces{{LogStream::out, 1, "the beg"}, {LogStream::note, 2, "[cut]\n"}, {LogStream::out, 3, "e end\n"}}));
}

TEST_F(LogWriterTest, WhatIsShownIsThereWithUnfinishedLines) {
  writer_->add(key_of(0), LogStream::out, 1, "10 %");
  writer_->add(key_of(0), LogStream::err, 2, "a warning\nhalf");
  writer_->add(key_of(1), LogStream::out, 3, "another's");
  auto shown = show(key_of(0));
  ASSERT_TRUE(shown);
  Pieces pieces = read(ExtentList::decode(shown->value), key_of(0));
  EXPECT_EQ(text_of(pieces, LogStream::out), "10 %");
  EXPECT_EQ(text_of(pieces, LogStream::err), "a warning\nhalf");

  writer_->add(key_of(0), LogStream::out, 4, " 20 %\n");
  shown = show(key_of(0));
  ASSERT_TRUE(shown);
  EXPECT_EQ(text_of(read(ExtentList::decode(shown->value), key_of(0)), LogStream::out), "10 % 20 %\n");
  const auto extents = end({key_of(0), key_of(1)});
  EXPECT_EQ(text_of(read(extents[0], key_of(0)), LogStream::out), "10 % 20 %\n");
  EXPECT_EQ(text_of(read(extents[1], key_of(1)), LogStream::out), "another's");
}

TEST_F(LogWriterTest, WhoeverPrintedNothingIsShownNothing) {
  const auto shown = show(key_of(0));
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->value.empty());
}

TEST_F(LogWriterTest, SettlesInTheOrderInWhichItWasAsked) {
  constexpr std::uint64_t kSettled = 100;
  std::vector<std::uint64_t> order;
  std::vector<ExtentList> extents(kSettled);
  for (std::uint64_t item = 0; item < kSettled; ++item) {
    writer_->add(key_of(item), LogStream::out, 1, "line of " + std::to_string(item) + "\n");
    writer_->end(key_of(item));
    writer_->settle({key_of(item)}, [&, item](const auto& places) {
      order.push_back(item);
      extents[item] = ExtentList::decode(places->at(0).value);
    });
  }
  EXPECT_TRUE(settle({}));  // and that comes after them all
  std::vector<std::uint64_t> wanted(kSettled);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(order, wanted);
  for (std::uint64_t item = 0; item < kSettled; ++item) {
    EXPECT_EQ(read(extents[item], key_of(item)),
              (Pieces{{LogStream::out, 1, "line of " + std::to_string(item) + "\n"}}));
  }
}

TEST_F(LogWriterTest, WhatSettledIsOnDiskBeforeAnybodyHears) {
  writer_->add(key_of(0), LogStream::out, 1, "durable\n");
  writer_->end(key_of(0));
  std::promise<Pieces> seen;
  writer_->settle({key_of(0)}, [&](const auto& places) {
    seen.set_value(read(ExtentList::decode(places->at(0).value), key_of(0)));
  });
  EXPECT_EQ(seen.get_future().get(), (Pieces{{LogStream::out, 1, "durable\n"}}));
}

TEST_F(LogWriterTest, EndSaysWhatWasSaidLast) {
  writer_->add(key_of(0), LogStream::out, 1, "out\n");
  writer_->add(key_of(0), LogStream::err, 1, "what went wrong\n\n");
  writer_->add(key_of(0), LogStream::out, 1, "out again\n");
  writer_->add(key_of(1), LogStream::out, 1, "only out");
  writer_->flush();
  EXPECT_EQ(writer_->end(key_of(0)), "what went wrong");
  EXPECT_EQ(writer_->end(key_of(1)), "only out");
  EXPECT_EQ(writer_->end(key_of(2)), "");
}

TEST_F(LogWriterTest, WhereNothingCanBeWrittenEverybodyIsToldEverAfter) {
  std::ofstream(folder_) << "a file where the folder should be";
  writer_->add(key_of(0), LogStream::out, 1, "text\n");
  const auto first = settle({key_of(0)});
  ASSERT_FALSE(first);
  EXPECT_NE(first.error().message.find(folder_), std::string::npos) << first.error().message;
  fs::remove(folder_);
  writer_->add(key_of(1), LogStream::out, 2, "text\n");
  EXPECT_FALSE(settle({key_of(1)}));
  EXPECT_FALSE(settle({}));
  EXPECT_FALSE(show(key_of(1)));
  writer_.reset();
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(LogWriterTest, WhenItGoesNothingIsLost) {
  Random random(3);
  std::map<std::uint64_t, std::string> wanted;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t item = random.below(10);
    const std::string bytes = lines_of(random.below(2000), random) + (random.one_in(3) ? "and more" : "");
    wanted[item] += bytes;
    writer_->add(key_of(item), LogStream::out, i, bytes);
  }
  writer_.reset();

  std::map<std::uint64_t, std::string> got;
  LogReader reader(folder_);
  for (const std::uint64_t segment : reader.segments()) {
    EXPECT_TRUE(*reader.is_closed(segment));
    for (FramePlace place = frame_at(reader, segment, 0); place.next > 0;
         place = frame_at(reader, segment, place.next)) {
      RecordCursor cursor(**reader.frame(place));
      while (const auto record = cursor.next()) got[record->key.item.value] += record->bytes;
      EXPECT_TRUE(cursor.clean());
    }
  }
  EXPECT_EQ(got, wanted);
}

TEST_F(LogWriterTest, AnotherGoesOnInASegmentOfItsOwn) {
  writer_->add(key_of(0), LogStream::out, 1, "before\n");
  const auto before = end({key_of(0)});
  writer_ = std::make_unique<LogWriter>(folder_);
  writer_->add(key_of(1), LogStream::out, 2, "after\n");
  const auto after = end({key_of(1)});
  EXPECT_EQ(before[0].all().front().segment + 1, after[0].all().front().segment);
  EXPECT_EQ(read(before[0], key_of(0)), (Pieces{{LogStream::out, 1, "before\n"}}));
  EXPECT_EQ(read(after[0], key_of(1)), (Pieces{{LogStream::out, 2, "after\n"}}));
}

TEST_F(LogWriterTest, ASpoolKeepsWhatRunsApartAndDeletesWhatIsNoLongerWaitedFor) {
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  Random random(9);
  std::string noise(1 << 20, '\0');
  for (int i = 0; i < 70; ++i) {
    for (char& byte : noise) byte = static_cast<char>(random.next());
    writer_->add(key_of(0), LogStream::out, i, noise);
  }
  writer_->add(key_of(1), LogStream::out, 1, "still running\n");
  const auto large = end({key_of(0)});
  ASSERT_GE(segments_in(folder_).size(), 2U);
  const auto last = end({key_of(1)});
  EXPECT_EQ(text_of(read(last[0], key_of(1)), LogStream::out), "still running\n");
  EXPECT_FALSE(large[0].covers(last[0].all()[0].segment, last[0].all()[0].offset)) << "a frame of its own";

  writer_->forget({key_of(0)});
  ASSERT_TRUE(settle({}));  // in order: it is done
  EXPECT_EQ(segments_in(folder_), std::vector{last[0].all()[0].segment});
  EXPECT_EQ(text_of(read(last[0], key_of(1)), LogStream::out), "still running\n");
}

TEST_F(LogWriterTest, ASpoolDeletesEachFileThatNobodyRefersTo) {
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  writer_->add(key_of(0), LogStream::out, 1, "runs for long\n");
  ASSERT_TRUE(show(key_of(0)));
  Random random(9);
  std::string noise(1 << 20, '\0');
  for (std::uint64_t item = 1; item <= 40; ++item) {
    for (char& byte : noise) byte = static_cast<char>(random.next());
    writer_->add(key_of(item), LogStream::out, 1, noise);
    end({key_of(item)});
    writer_->forget({key_of(item)});
  }
  const auto last = end({key_of(0)});
  EXPECT_LE(segments_in(folder_).size(), 2U) << "the one that the long attempt is in, and the open one";
  EXPECT_LE(writer_->spooled_bytes(), std::uint64_t{17} << 20);
  EXPECT_EQ(text_of(read(last[0], key_of(0)), LogStream::out), "runs for long\n");
  writer_->forget({key_of(0)});
  ASSERT_TRUE(settle({}));
  EXPECT_LE(writer_->spooled_bytes(), std::uint64_t{1} << 20);
}

TEST_F(LogWriterTest, ASpoolKeepsTheFilesOfAnEarlierProcessThatAreStillWanted) {
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  writer_->add(key_of(0), LogStream::out, 1, "wanted\n");
  const auto wanted = end({key_of(0)});
  writer_ = nullptr;  // its process ends
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  writer_->add(key_of(1), LogStream::out, 1, "not wanted\n");
  end({key_of(1)});
  ASSERT_EQ(segments_in(folder_).size(), 2U);

  writer_ = nullptr;
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  writer_->adopt(key_of(0), wanted[0]);
  writer_->delete_unadopted();
  ASSERT_TRUE(settle({}));
  EXPECT_EQ(segments_in(folder_), std::vector{wanted[0].all()[0].segment});
  EXPECT_GT(writer_->spooled_bytes(), 0U);
  EXPECT_EQ(text_of(read(wanted[0], key_of(0)), LogStream::out), "wanted\n");
  writer_->forget({key_of(0)});
  ASSERT_TRUE(settle({}));
  EXPECT_TRUE(segments_in(folder_).empty());
  EXPECT_EQ(writer_->spooled_bytes(), 0U);
}

TEST_F(LogWriterTest, ASpoolWaitsForADiskThatFailsAndKeepsNobodyWaiting) {
  std::ofstream(folder_) << "in the way";
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  std::string line(1 << 20, 'x');
  line.back() = '\n';
  std::string all;
  for (int i = 0; i < 8; ++i) {
    writer_->add(key_of(0), LogStream::out, 1, line);
    all += line;
  }
  for (int i = 0; i < 2000 && !writer_->stalled(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(writer_->stalled());
  // More than it lets wait for a disk that writes.
  for (int i = 0; i < 20; ++i) {
    writer_->add(key_of(0), LogStream::out, 1, line);
    all += line;
  }
  EXPECT_GT(writer_->queued_bytes(), LogWriter::kMostQueued);
  fs::remove(folder_);
  const auto places = end({key_of(0)});
  EXPECT_TRUE(text_of(read(places[0], key_of(0)), LogStream::out) == all);
  EXPECT_FALSE(writer_->stalled());
}

TEST_F(LogWriterTest, ASpoolWhoseDiskFailsCanBeClosed) {
  std::ofstream(folder_) << "in the way";
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  writer_->add(key_of(0), LogStream::out, 1, "lost\n");
  std::promise<Result<std::vector<Bytes>>> settled;
  writer_->end(key_of(0));
  writer_->settle({key_of(0)}, [&](const auto& places) { settled.set_value(places); });
  writer_.reset();
  EXPECT_FALSE(settled.get_future().get());
}

TEST_F(LogWriterTest, ASpoolShowsWhatOneAttemptPrintedSoFarAndLeavesTheOthersTogether) {
  writer_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
  EXPECT_TRUE(show(key_of(0))->value.empty());
  writer_->add(key_of(0), LogStream::out, 1, "begun and");
  writer_->add(key_of(1), LogStream::out, 1, "short\n");
  writer_->add(key_of(2), LogStream::out, 1, "short too\n");
  const auto shown = show(key_of(0));
  ASSERT_TRUE(shown);
  const auto first = ExtentList::decode(shown->value);
  EXPECT_EQ(text_of(read(first, key_of(0)), LogStream::out), "begun and");
  EXPECT_EQ(show(key_of(0))->value, shown->value) << "nothing came to it";
  writer_->add(key_of(0), LogStream::out, 2, " ended\n");
  const auto places = end({key_of(0), key_of(1), key_of(2)});
  EXPECT_EQ(text_of(read(places[0], key_of(0)), LogStream::out), "begun and ended\n");
  EXPECT_TRUE(places[0].covers(first.all()[0].segment, first.all()[0].offset)) << "what was shown stays where it is";
  EXPECT_EQ(places[1].all(), places[2].all());

  // Whoever knew the first frames finds the others behind them.
  LogReader reader(folder_);
  const auto known = reader.frames_of(first);
  const auto afresh = reader.frames_of(places[0]);
  const auto further = reader.frames_of(places[0], *known);
  ASSERT_TRUE(known && afresh && further);
  ASSERT_EQ(known->size(), 1U);
  ASSERT_EQ(afresh->size(), 2U);
  ASSERT_EQ(further->size(), 2U);
  EXPECT_EQ((*further)[1].offset, (*afresh)[1].offset);
  // What was known is another place's: it counts for nothing.
  const auto other = reader.frames_of(places[1], *afresh);
  ASSERT_EQ(other->size(), 1U);
  EXPECT_EQ((*other)[0].offset, places[1].all()[0].offset);
}

}  // namespace
}  // namespace drover
