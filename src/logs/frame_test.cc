#include "logs/frame.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "base/random.h"

namespace drover {
namespace {

std::string noise(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

/// As a reader does it that knows where the frame begins; nothing: it is damaged.
std::optional<std::string> read(std::string_view file) {
  const auto sizes = read_frame_header(file);
  if (!sizes || file.size() < kFrameHeader + sizes->packed) return std::nullopt;
  FrameUnpacker unpacker;
  std::string raw;
  if (!unpacker.unpack(file.substr(kFrameHeader, sizes->packed), sizes->raw, raw)) return std::nullopt;
  return raw;
}

TEST(Frame, WhatWasPackedComesBack) {
  Random random(1);
  FramePacker packer;
  FrameUnpacker unpacker;
  std::string raw;
  for (const std::size_t size : {0, 1, 100, 4096, 256 << 10, 5 << 20, 17}) {
    for (const std::string& bytes : {noise(random, size), std::string(size, 'x')}) {
      const auto effort = static_cast<PackEffort>(random.below(3));
      const std::string_view packed = packer.pack(bytes, effort);
      const FrameSizes sizes = read_frame_header(packed).value_or(FrameSizes{});
      EXPECT_EQ(sizes.raw, bytes.size());
      EXPECT_EQ(sizes.packed, packed.size() - kFrameHeader);
      ASSERT_TRUE(unpacker.unpack(packed.substr(kFrameHeader), sizes.raw, raw));
      EXPECT_EQ(raw, bytes);
    }
  }
}

TEST(Frame, IsExactlyWhatItWasInAStringThatHeldAnother) {
  Random random(3);
  FramePacker packer;
  FrameUnpacker unpacker;
  std::string raw;
  for (std::size_t size = 1; size < 1'000'000; size += 1 + size / 2) {
    const std::string bytes = noise(random, size);
    const std::string_view packed = packer.pack(bytes);
    ASSERT_TRUE(unpacker.unpack(packed.substr(kFrameHeader), static_cast<std::uint32_t>(size), raw));
    ASSERT_EQ(raw.size(), size);
    ASSERT_EQ(raw, bytes);
  }
}

TEST(Frame, NoSingleWrongByteGoesUnnoticed) {
  FramePacker packer;
  const std::string bytes = "one line\nand another line, and one more line\n";
  const std::string next(packer.pack("what follows it"));
  const std::string frame(packer.pack(bytes));
  const std::string file = frame + next;
  for (std::size_t at = 0; at < frame.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto got = read(damaged);
      ASSERT_TRUE(!got || *got == bytes) << "byte " << at << " flipped by " << flip << " reads as " << got.value_or("");
    }
  }
}

TEST(Frame, CutShortItIsDamaged) {
  Random random(2);
  FramePacker packer;
  const std::string frame(packer.pack(noise(random, 300)));
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(read(std::string_view(frame).substr(0, size))) << size << " of " << frame.size() << " bytes";
  }
  EXPECT_TRUE(read(frame));
}

TEST(Frame, SizesThatNoFrameHasAreNoHeader) {
  FramePacker packer;
  const std::string header(packer.pack("text").substr(0, kFrameHeader));
  EXPECT_TRUE(read_frame_header(header));
  for (const std::size_t last_byte_of_a_size : {11, 15}) {
    std::string huge = header;
    huge[last_byte_of_a_size] = '\x7f';
    EXPECT_FALSE(read_frame_header(huge));
  }
}

TEST(Frame, NothingElseIsAHeader) {
  EXPECT_FALSE(read_frame_header(""));
  EXPECT_FALSE(read_frame_header(segment_end_mark()));
  EXPECT_FALSE(read_frame_header(std::string(100, '\0')));
  EXPECT_FALSE(read_frame_header("plain text that somebody put in its place"));
}

// So that `zstdcat` reads a segment: sizes and end mark are frames that it skips.
TEST(Frame, ZstdReadsThemOneAfterTheOther) {
  FramePacker packer;
  std::string file(packer.pack("one\n"));
  file += packer.pack("two\n");
  file += segment_end_mark();
  std::string raw(100, '\0');
  raw.resize(ZSTD_decompress(raw.data(), raw.size(), file.data(), file.size()));
  EXPECT_EQ(raw, "one\ntwo\n");
}

}  // namespace
}  // namespace drover
