#include "run/docker/stream_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace drover {
namespace {

std::string frame(unsigned char stream, const std::string& bytes) {
  std::string made{static_cast<char>(stream), 0, 0, 0};
  for (const int shift : {24, 16, 8, 0}) made += static_cast<char>(bytes.size() >> shift & 0xff);
  return made + bytes;
}

TEST(StreamFrames, AreReadAlikeWhereverTheyAreCut) {
  const std::string sent = frame(1, "one\n") + frame(2, std::string("\0\1\2\xff", 4)) + frame(1, "") +
                           frame(1, "two\n") + frame(2, std::string(300, 'x'));
  for (std::size_t size = 1; size <= sent.size(); ++size) {
    StreamFrames frames;
    std::string out;
    std::string err;
    for (std::size_t at = 0; at < sent.size(); at += size) {
      frames.read(std::string_view(sent).substr(at, size),
                  [&](LogStream stream, std::string_view bytes) { (stream == LogStream::out ? out : err) += bytes; });
    }
    EXPECT_TRUE(frames.is_whole()) << size;
    EXPECT_EQ(out, "one\ntwo\n") << size;
    EXPECT_EQ(err, std::string("\0\1\2\xff", 4) + std::string(300, 'x')) << size;
  }
}

TEST(StreamFrames, ACutOneIsNotWhole) {
  StreamFrames frames;
  frames.read(frame(1, "four").substr(0, 10), [](LogStream, std::string_view) {});
  EXPECT_FALSE(frames.is_whole());
}

}  // namespace
}  // namespace drover
