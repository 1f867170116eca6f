#include "logs/record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace drover {
namespace {

constexpr std::uint64_t kEdges[] = {
    0, 1, 127, 128, 16'383, 16'384, 0xffff'ffff, 0x1'0000'0000, 0x7fff'ffff'ffff'ffff, 0x8000'0000'0000'0000, ~0ULL};

std::string varint(std::uint64_t number) {
  std::string bytes;
  append_varint(bytes, number);
  return bytes;
}

/// A record that owns its bytes.
struct Printed {
  LogKey key;
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::string bytes;

  LogRecord record() const { return {key, stream, time_ms, bytes}; }
};

void expect_same(const LogRecord& got, const Printed& wanted) {
  EXPECT_EQ(got.key, wanted.key);
  EXPECT_EQ(got.stream, wanted.stream);
  EXPECT_EQ(got.time_ms, wanted.time_ms);
  EXPECT_EQ(got.bytes, wanted.bytes);
}

Printed random_record(Random& random) {
  const auto number = [&] { return random.one_in(3) ? kEdges[random.below(std::size(kEdges))] : random.below(1000); };
  Printed printed{.key = {JobId{number()}, ItemIndex{number()}, AttemptNumber{static_cast<std::uint32_t>(number())}},
                  .stream = static_cast<LogStream>(random.below(3)),
                  .time_ms = static_cast<std::int64_t>(number()),
                  .bytes = std::string(random.one_in(20) ? random.below(100'000) : random.below(30), '\0')};
  for (char& byte : printed.bytes) byte = static_cast<char>(random.next());
  return printed;
}

TEST(Varint, ComesBackInAsFewBytesAsItNeeds) {
  for (const std::uint64_t number : kEdges) {
    const std::string bytes = varint(number) + "rest";
    std::string_view in = bytes;
    EXPECT_EQ(take_varint(in), number);
    EXPECT_EQ(in, "rest");
  }
  EXPECT_EQ(varint(127).size(), 1);
  EXPECT_EQ(varint(128).size(), 2);
  EXPECT_EQ(varint(~0ULL).size(), 10);
}

TEST(Varint, CutShortIsNothing) {
  for (const std::uint64_t number : kEdges) {
    const std::string bytes = varint(number);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      std::string_view in(bytes.data(), size);
      EXPECT_EQ(take_varint(in), std::nullopt) << number << " in " << size << " bytes";
    }
  }
}

TEST(Varint, ThatNeverEndsIsNothing) {
  const std::string bytes(100, '\xff');
  std::string_view in = bytes;
  EXPECT_EQ(take_varint(in), std::nullopt);
}

TEST(Record, ManyComeBackInOrder) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Printed> printed;
    std::string frame;
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      printed.push_back(random_record(random));
      append_record(frame, printed.back().record());
    }
    RecordCursor cursor(frame);
    for (const Printed& wanted : printed) {
      expect_same(cursor.next().value_or(LogRecord{}), wanted);
    }
    EXPECT_TRUE(cursor.clean());
    EXPECT_FALSE(cursor.next());
  }
}

TEST(Record, CutShortItIsNotTakenForAShorterOne) {
  Random random(2);
  std::string frame;
  std::vector<Printed> printed;
  std::vector<std::size_t> ends = {0};
  for (int i = 0; i < 8; ++i) {
    printed.push_back(random_record(random));
    printed.back().bytes.resize(random.below(30));
    append_record(frame, printed.back().record());
    ends.push_back(frame.size());
  }
  for (std::size_t size = 0; size <= frame.size(); ++size) {
    RecordCursor cursor(std::string_view(frame).substr(0, size));
    std::size_t whole = 0;
    while (const auto got = cursor.next()) {
      ASSERT_LT(whole, printed.size());
      expect_same(*got, printed[whole++]);
    }
    EXPECT_EQ(whole, static_cast<std::size_t>(std::ranges::upper_bound(ends, size) - ends.begin()) - 1);
    EXPECT_EQ(cursor.clean(), ends[whole] == size);
  }
}

TEST(Record, NoiseNeverReachesBeyondTheFrame) {
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string noise(random.below(60), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.one_in(2) ? random.below(4) : random.next());
    RecordCursor cursor(noise);
    while (const auto got = cursor.next()) {
      EXPECT_GE(got->bytes.data(), noise.data());
      EXPECT_LE(got->bytes.data() + got->bytes.size(), noise.data() + noise.size());
      EXPECT_LE(static_cast<int>(got->stream), static_cast<int>(LogStream::note));
    }
  }
}

// Six numbers stand in front of the bytes. One that makes no sense is not made up.
TEST(Record, WithANumberThatNeverEndsIsNone) {
  for (int wrong = 0; wrong < 6; ++wrong) {
    std::string frame;
    for (int field = 0; field < 6; ++field) {
      if (field == wrong) frame += std::string(10, '\xff');
      frame += '\0';
    }
    EXPECT_FALSE(RecordCursor(frame).next()) << "field " << wrong;
  }
}

TEST(Record, OfAStreamThatDoesNotExistIsNone) {
  std::string frame;
  append_record(frame, {{JobId{1}, ItemIndex{2}, AttemptNumber{3}}, LogStream::note, 4, "text\n"});
  frame[0] = 3;
  RecordCursor cursor(frame);
  EXPECT_FALSE(cursor.next());
  EXPECT_FALSE(cursor.clean());
}

}  // namespace
}  // namespace drover
