#include "net/request_parser.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(RequestParser, AHeadOfManyShortFieldsHasAnEndHoweverItComes) {
  RequestParser parser(1000);
  ASSERT_EQ(parser.feed("GET / HTTP/1.1\r\nHost: x\r\n").event, RequestParser::Event::more);
  std::string unread;
  std::size_t sent = 0;
  RequestParser::Event event = RequestParser::Event::more;
  while (event == RequestParser::Event::more && sent < 10'000) {
    unread += "X: y\r\n";
    sent += 6;
    const RequestParser::Step step = parser.feed(unread);
    unread.erase(0, step.used);
    event = step.event;
  }
  EXPECT_EQ(event, RequestParser::Event::broken);
  EXPECT_EQ(parser.refusal(), 431);
  EXPECT_LE(sent, 1100U);
}

TEST(RequestParser, AHeadWithinItsLimitMayComeByteByByte) {
  RequestParser parser(200);
  std::string unread;
  RequestParser::Event event = RequestParser::Event::more;
  for (const char c : std::string("GET / HTTP/1.1\r\nHost: x\r\nX: ") + std::string(100, 'y') + "\r\n\r\n") {
    ASSERT_EQ(event, RequestParser::Event::more);
    unread += c;
    const RequestParser::Step step = parser.feed(unread);
    unread.erase(0, step.used);
    event = step.event;
  }
  EXPECT_EQ(event, RequestParser::Event::head);
}

}  // namespace
}  // namespace drover
