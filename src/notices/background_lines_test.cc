#include "notices/background_lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <optional>
#include <sstream>
#include <string>

namespace drover {
namespace {

std::string dropped_line(std::uint64_t count) {
  return std::to_string(count) + " dropped\n";
}

std::string read_all(int fd) {
  std::string all;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = ::read(fd, piece.data(), piece.size())) > 0;) all.append(piece.data(), got);
  return all;
}

/// A pipe, or a pair of sockets, that nobody reads yet.
struct Ends {
  int reads = -1;
  int writes = -1;
};

Ends make_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {ends[0], ends[1]};
}

Ends make_sockets() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {ends[0], ends[1]};
}

class BackgroundLinesOn : public testing::TestWithParam<Ends (*)()> {};

TEST_P(BackgroundLinesOn, EveryLineArrivesInOrder) {
  const Ends ends = GetParam()();
  auto heard = std::async(std::launch::async, read_all, ends.reads);
  std::string wanted;
  {
    BackgroundLines lines(ends.writes, dropped_line);
    for (int i = 0; i < 1000; ++i) {
      lines.write(std::to_string(i) + "\n");
      wanted += std::to_string(i) + "\n";
    }
    EXPECT_EQ(lines.dropped(), 0);
  }
  ::close(ends.writes);
  EXPECT_EQ(heard.get(), wanted);
  ::close(ends.reads);
}

TEST_P(BackgroundLinesOn, TheOldestAreDroppedAndCountedWhileNobodyReads) {
  constexpr std::size_t kLines = 20'000;
  const Ends ends = GetParam()();
  std::optional<BackgroundLines> lines;
  lines.emplace(ends.writes, dropped_line, 100);
  for (std::size_t i = 0; i < kLines; ++i) lines->write(std::string(200, 'x') + std::to_string(i) + "\n");
  const std::uint64_t dropped = lines->dropped();
  EXPECT_GT(dropped, 0);
  auto reading = std::async(std::launch::async, read_all, ends.reads);
  lines->flush(std::chrono::minutes(1));
  lines.reset();
  ::close(ends.writes);
  std::istringstream heard(reading.get());
  ::close(ends.reads);
  std::uint64_t arrived = 0;
  std::uint64_t told = 0;
  std::string last;
  for (std::string line; std::getline(heard, line); last = line) {
    if (line.ends_with(" dropped")) {
      told += std::stoull(line);
    } else {
      ++arrived;
    }
  }
  EXPECT_EQ(told, dropped);
  EXPECT_EQ(arrived + dropped, kLines);
  EXPECT_TRUE(last.ends_with("x19999"));
}

TEST_P(BackgroundLinesOn, ItsEndDoesNotWaitForAReaderForEver) {
  const Ends ends = GetParam()();
  {
    BackgroundLines lines(ends.writes, dropped_line);
    for (int i = 0; i < 10'000; ++i) lines.write(std::string(300, 'x') + "\n");
  }
  ::close(ends.writes);
  EXPECT_GT(read_all(ends.reads).size(), 0);
  ::close(ends.reads);
}

INSTANTIATE_TEST_SUITE_P(All, BackgroundLinesOn, testing::Values(&make_pipe, &make_sockets));

}  // namespace
}  // namespace drover
