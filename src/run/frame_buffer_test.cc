#include "run/frame_buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

/// Frames of very different sizes, and what they say.
struct Stream {
  std::string bytes;
  std::vector<std::string> texts;
};

Stream make_stream() {
  Stream stream;
  for (const std::size_t size : {0UL, 1UL, 7UL, 16'370UL, 16'384UL, 3UL, 300'000UL, 20'000UL, 5UL}) {
    stream.texts.emplace_back(size, static_cast<char>('a' + stream.texts.size()));
    FrameWriter frame(stream.bytes, FrameKind::task);
    frame.put(std::uint32_t{42});
    frame.text(stream.texts.back());
  }
  return stream;
}

TEST(FrameBuffer, FramesComeOutWholeHoweverTheyAreCutUp) {
  const Stream stream = make_stream();
  for (const std::size_t step : {1UL, 3UL, 8UL, 1'000UL, 16'000UL, 1'000'000UL}) {
    FrameBuffer buffer;
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < stream.bytes.size();) {
      const std::span<char> space = buffer.space();
      ASSERT_FALSE(space.empty());
      const std::size_t size = std::min({step, space.size(), stream.bytes.size() - at});
      std::memcpy(space.data(), stream.bytes.data() + at, size);
      buffer.filled(size);
      at += size;
      for (std::span<const char> frame = buffer.next(); !frame.empty(); frame = buffer.next()) {
        FrameReader reader(frame);
        EXPECT_EQ(reader.kind(), FrameKind::task);
        EXPECT_EQ(reader.get<std::uint32_t>(), 42U);
        texts.emplace_back(reader.text());
        EXPECT_TRUE(reader.intact());
      }
    }
    EXPECT_EQ(texts, stream.texts);
  }
}

TEST(FrameBuffer, WhatIsMissingReadsAsNothing) {
  std::string bytes;
  {
    FrameWriter frame(bytes, FrameKind::stop);
    frame.put(UINT64_MAX);  // the size of a text that is not there
  }
  const std::span<const char> whole(bytes);
  FrameReader reader(whole.subspan(sizeof(FrameSize)));
  EXPECT_EQ(reader.kind(), FrameKind::stop);
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.intact());
  EXPECT_EQ(reader.get<std::uint32_t>(), 0U);
}

}  // namespace
}  // namespace drover
