#include "api/checksummed_sink.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

class Collecting : public HttpBodySink {
 public:
  explicit Collecting(std::string& into) : into_(into) {}
  Result<void> take(std::string_view bytes) override {
    if (bytes == "full") return fail(ErrorCode::no_space, "the disk is full");
    into_ += bytes;
    return {};
  }
  Result<void> finish() override {
    into_ += ".";
    return {};
  }

 private:
  std::string& into_;
};

TEST(ChecksummedSink, PassesTheBodyOnAndKnowsItsChecksums) {
  std::string stored;
  ChecksummedSink sink(std::make_unique<Collecting>(stored), {ChecksumKind::crc32});
  ASSERT_TRUE(sink.take("1234"));
  ASSERT_TRUE(sink.take("56789"));
  ASSERT_TRUE(sink.finish());
  EXPECT_EQ(stored, "123456789.");
  EXPECT_EQ(sink.size(), 9);
  EXPECT_EQ(sink.checksums().at(ChecksumKind::crc32), "\xcb\xf4\x39\x26");
}

TEST(ChecksummedSink, WhatTheSinkRefusesIsRefused) {
  std::string stored;
  ChecksummedSink sink(std::make_unique<Collecting>(stored), {});
  EXPECT_FALSE(sink.take("full"));
}

}  // namespace
}  // namespace drover
