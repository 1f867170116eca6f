#include "server/server_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <future>
#include <sstream>
#include <string>

namespace drover {
namespace {

std::string read_all(int fd) {
  std::string all;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(fd, piece, sizeof piece)) > 0;) all.append(piece, static_cast<std::size_t>(got));
  return all;
}

TEST(ServerLog, AReaderThatComesBackIsToldHowManyEntriesItMissed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::uint64_t dropped = 0;
  std::future<std::string> heard;
  {
    ServerLog log(ServerLog::Form::json, ends[1]);
    const RequestLine line{
        .id = "r", .peer = "p", .method = std::string(5000, 'M'), .path = "/" + std::string(5000, 'x'), .status = 401};
    for (int i = 0; i < 6000; ++i) log.request(line);
    dropped = log.dropped();
    EXPECT_GT(dropped, 0);
    heard = std::async(std::launch::async, read_all, ends[0]);
  }
  ::close(ends[1]);
  std::istringstream lines(heard.get());
  ::close(ends[0]);
  std::uint64_t requests = 0;
  std::uint64_t notices = 0;
  for (std::string text; std::getline(lines, text);) {
    const boost::json::value entry = boost::json::parse(text);
    EXPECT_LT(text.size(), 1500);
    if (entry.as_object().contains("path")) {
      ++requests;
      EXPECT_LT(entry.at("path").as_string().size(), 270);
    } else {
      ++notices;
      EXPECT_EQ(entry.at("message").as_string(),
                std::to_string(dropped) + " log entries were dropped: standard error was not read");
    }
  }
  EXPECT_EQ(requests + dropped, 6000);
  EXPECT_EQ(notices, 1);
}

}  // namespace
}  // namespace drover
