#include "logs/lines.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace drover {
namespace {

struct Block {
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::string bytes;

  bool operator==(const Block&) const = default;
};

/// Takes everything.
struct Taker {
  std::vector<Block> blocks;
  LineBlocks lines{[this](const LineBlock& block) {
    blocks.push_back({block.stream, block.time_ms, std::string(block.bytes)});
    return true;
  }};

  void add(LogStream stream, std::int64_t time_ms, std::string_view bytes) {
    EXPECT_TRUE(lines.add({{}, stream, time_ms, bytes}));
  }
  std::string text(LogStream stream) const {
    std::string all;
    for (const Block& block : blocks) all += block.stream == stream ? block.bytes : "";
    return all;
  }
};

TEST(Lines, WholeLinesPassThrough) {
  Taker taker;
  taker.add(LogStream::out, 1, "one\ntwo\n");
  taker.add(LogStream::err, 2, "\n");
  taker.add(LogStream::out, 3, "");
  EXPECT_EQ(taker.blocks, (std::vector<Block>{{LogStream::out, 1, "one\ntwo\n"}, {LogStream::err, 2, "\n"}}));
  EXPECT_TRUE(taker.lines.finish());
  EXPECT_EQ(taker.blocks.size(), 2);
}

TEST(Lines, ALineIsPutTogetherWhateverTheOtherStreamSaysInBetween) {
  Taker taker;
  taker.add(LogStream::out, 1, "a\nbe");
  taker.add(LogStream::err, 2, "half an error");
  taker.add(LogStream::out, 4, "gi");
  taker.add(LogStream::out, 5, "n\nc\nd");
  taker.add(LogStream::err, 6, ", and the rest\n");
  EXPECT_EQ(taker.blocks, (std::vector<Block>{{LogStream::out, 1, "a\n"},
                                              {LogStream::out, 1, "begin\n"},
                                              {LogStream::out, 5, "c\n"},
                                              {LogStream::err, 2, "half an error, and the rest\n"}}));
  EXPECT_TRUE(taker.lines.finish());
  EXPECT_EQ(taker.blocks.back(), (Block{LogStream::out, 5, "d"}));
}

// A note tells of what is missing there: nothing is put together across it.
TEST(Lines, ANoteStandsBetweenWhatWasBeforeAndWhatCameAfter) {
  Taker taker;
  taker.add(LogStream::out, 1, "one\nthe beg");
  taker.add(LogStream::note, 2, "[cut]\n");
  taker.add(LogStream::out, 3, "e end\n");
  EXPECT_EQ(taker.blocks, (std::vector<Block>{{LogStream::out, 1, "one\n"},
                                              {LogStream::out, 1, "the beg"},
                                              {LogStream::note, 2, "[cut]\n"},
                                              {LogStream::out, 3, "e end\n"}}));
}

TEST(Lines, EveryByteComesOutOnceHoweverItIsCutApart) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    Taker taker;
    std::string wanted[2];
    for (std::int64_t time_ms = 0; time_ms < 60; ++time_ms) {
      const LogStream stream = static_cast<LogStream>(random.below(2));
      std::string bytes(random.below(12), 'x');
      for (char& byte : bytes) byte = random.one_in(4) ? '\n' : static_cast<char>('a' + random.below(3));
      wanted[static_cast<std::size_t>(stream)] += bytes;
      taker.add(stream, time_ms, bytes);
    }
    for (const Block& block : taker.blocks) EXPECT_TRUE(block.bytes.ends_with('\n')) << block.bytes;
    EXPECT_TRUE(taker.lines.finish());
    for (const LogStream stream : {LogStream::out, LogStream::err}) {
      EXPECT_EQ(taker.text(stream), wanted[static_cast<std::size_t>(stream)]);
    }
  }
}

TEST(Lines, AVeryLongLineComesInPiecesAndTheNextOneIsWhole) {
  constexpr std::size_t kRecord = std::size_t{64} << 10;
  constexpr std::size_t kPieceAtMost = (std::size_t{1} << 20) + kRecord;
  Taker taker;
  std::string wanted;
  for (int i = 0; i < 80; ++i) {
    const std::string part(kRecord, static_cast<char>('a' + i % 26));
    wanted += part;
    taker.add(LogStream::out, i, part);
    taker.add(LogStream::err, i, "short\n");
  }
  taker.add(LogStream::out, 80, "end\nnext\n");
  wanted += "end\nnext\n";
  EXPECT_EQ(taker.text(LogStream::out), wanted);
  EXPECT_TRUE(taker.blocks.back().bytes.ends_with("\nnext\n"));
  for (const Block& block : taker.blocks) {
    EXPECT_LE(block.bytes.size(), kPieceAtMost);
    EXPECT_TRUE(block.stream == LogStream::out || block.bytes == "short\n");
  }
}

TEST(Lines, WhoeverWantsNoMoreGetsNoMore) {
  std::vector<std::string> taken;
  LineBlocks lines([&](const LineBlock& block) {
    taken.emplace_back(block.bytes);
    return taken.size() < 2;
  });
  EXPECT_TRUE(lines.add({{}, LogStream::out, 0, "one\nhal"}));
  EXPECT_FALSE(lines.add({{}, LogStream::out, 0, "f\nnot this\n"}));
  EXPECT_EQ(taken, (std::vector<std::string>{"one\n", "half\n"}));
}

}  // namespace
}  // namespace drover
