#include "net/http_limits.h"

#include "net/server_fixture.h"

namespace drover {
namespace {

class HttpLimitsTest : public ServerTest {
 protected:
  /// Says this, and expects to be refused with this status and to be left.
  void expect_refused(std::string_view bytes, int status) {
    RawPeer peer = connect();
    peer.send(bytes);
    const HttpResponse response = peer.read_response();
    EXPECT_EQ(response.status, status) << bytes.substr(0, 100);
    ASSERT_NE(response.header("content-type"), nullptr);
    EXPECT_EQ(*response.header("content-type"), "application/problem+json");
    EXPECT_NE(response.body.find("\"detail\":"), std::string::npos) << response.body;
    ASSERT_NE(response.header("connection"), nullptr);
    EXPECT_EQ(*response.header("connection"), "close");
    EXPECT_TRUE(peer.is_closed());
    EXPECT_FALSE(peer.was_reset());
  }
};

TEST_F(HttpLimitsTest, WhatIsNotHttpIsRefused) {
  start();
  for (const std::string_view bytes : {
           "GET\r\n\r\n",
           "GET / HTTP/1.1\nHost: x\n\n",
           "\x16\x03\x01\x02 garbage\r\n\r\n",
           "GET /echo HTTP/1.1\r\nHost x\r\n\r\n",
           "GET /echo HTTP/1.1\r\nHost : x\r\n\r\n",
           "GET /echo HTTP/1.1\r\n\r\n",
           "GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET echo HTTP/1.1\r\nHost: x\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
           "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       }) {
    expect_refused(bytes, 400);
  }
  EXPECT_EQ(handler_.requests, 0);
  expect_well();
}

TEST_F(HttpLimitsTest, WhatIsNotSpokenHereIsRefused) {
  start();
  expect_refused("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505);
  expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  expect_refused("CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 501);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 501);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab", 501);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: wonders\r\n\r\nab", 417);
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(HttpLimitsTest, AHeadThatIsTooLargeIsRefused) {
  start();
  expect_refused("GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(40'000, 'x') + "\r\n\r\n", 431);
  expect_refused("GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", 431);
  // And before its end is there: nobody waits for more of it.
  expect_refused("GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(40'000, 'x'), 431);
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /echo?ok HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(30'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(peer.read_response().body, "ok");
}

TEST_F(HttpLimitsTest, ABodyThatIsTooLongIsRefusedAndThePeerSeesWhy) {
  handler_.most_bytes = 10;
  start();
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", 413);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n6\r\nabcdef\r\n",
                 413);
  // Eight megabytes are more than sockets hold: they are thrown away while the answer waits to be read.
  const std::string huge(8 << 20, 'x');
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(concat("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: ", huge.size(), "\r\n\r\n")));
  EXPECT_TRUE(peer.send(huge));
  EXPECT_EQ(peer.read_response().status, 413);
  EXPECT_TRUE(peer.is_closed());
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(HttpLimitsTest, ABodyThatIsTooLongIsRefusedBeforeItIsSentIfThePeerAsksFirst) {
  handler_.most_bytes = 10;
  start();
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n", 413);
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n"));
  EXPECT_EQ(peer.read_response().status, 100);
  ASSERT_TRUE(peer.send("abc"));
  EXPECT_EQ(peer.read_response().body, "abc");
}

TEST_F(HttpLimitsTest, BrokenChunksAreRefused) {
  start();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"x\r\n", "5\r\nabcdefgh\r\n0\r\n\r\n", "5\nabcde\n0\n\n\r\n\r\n", "-5\r\nabcde\r\n", "0x5\r\nabcde\r\n\r\n",
        "fffffffffffffffff\r\na", "5;\x01\r\nabcde\r\n", "0\r\nContent-Length: 5\r\n\r\n"}) {
    expect_refused(head + body, 400);
  }
  // A line of a chunk without an end is not gathered for ever.
  expect_refused(head + "5;x=" + std::string(100'000, 'x'), 431);
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(HttpLimitsTest, ChunksComeInAnyCut) {
  start();
  const std::string all =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n1\r\n \r\n00b\r\nwide world!\r\n0\r\nX-Trailer: t\r\n\r\n";
  for (const std::size_t cut : {std::size_t{1}, std::size_t{7}, all.size()}) {
    RawPeer peer = connect();
    for (std::size_t at = 0; at < all.size(); at += cut) ASSERT_TRUE(peer.send(all.substr(at, cut)));
    ASSERT_TRUE(peer.send(all));
    EXPECT_EQ(peer.read_response().body, "hello wide world!");
    EXPECT_EQ(peer.read_response().body, "hello wide world!");
  }
}

TEST_F(HttpLimitsTest, AConnectionCutInTheMiddleOfABodyIsForgotten) {
  start();
  for (int i = 0; i < 2; ++i) {
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"));
    ASSERT_TRUE(eventually([&] { return handler_.plans == i + 1; }));
    if (i == 0) {
      peer.end_sending();
      EXPECT_TRUE(peer.is_closed());
    } else {
      peer.slam();
    }
  }
  expect_well();
  EXPECT_EQ(handler_.requests, 1);
}

class SlowPeersTest : public HttpLimitsTest {};

TEST_F(SlowPeersTest, AHeadThatDoesNotEndIsAnswered408) {
  options_.limits.header_ms = 100;
  options_.limits.progress_ms = 100;
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Drip: "));
  // Bytes that keep coming do not help.
  pollfd answered{peer.socket(), POLLIN, 0};
  while (poll(&answered, 1, 5) == 0) ASSERT_EQ(peer.send_some("x", kTestPatienceMs), 1);
  EXPECT_EQ(peer.read_response().status, 408);
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(SlowPeersTest, ABodyThatStopsIsAnswered408) {
  options_.limits.progress_ms = 100;
  start();
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", 408);
  expect_refused("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 408);
}

TEST_F(SlowPeersTest, AnIdleConnectionIsClosed) {
  options_.limits.idle_ms = 3000;
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /echo?x HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(peer.read_response().body, "x");
  EXPECT_TRUE(peer.is_closed());
}

TEST_F(SlowPeersTest, ALongPollIsNotIdle) {
  options_.limits = {.header_ms = 3000, .progress_ms = 3000, .idle_ms = 3000};
  start();
  RawPeer polling = connect();
  ASSERT_TRUE(polling.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n"));
  HttpReply reply = handler_.later.next();
  EXPECT_TRUE(connect().is_closed()) << "time passes for the idle";
  EXPECT_FALSE(reply.peer_is_gone());
  reply.send(text_response("still here"));
  EXPECT_EQ(polling.read_response().body, "still here");
}

TEST_F(SlowPeersTest, APeerThatDoesNotReadItsReplyIsCutOff) {
  options_.limits.progress_ms = 100;
  handler_.on_request = [](HttpRequest, HttpReply reply) { reply.send(text_response(std::string(64 << 20, 'x'))); };
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  pollfd gone{peer.socket(), POLLHUP, 0};
  ASSERT_EQ(poll(&gone, 1, kTestPatienceMs), 1);
  EXPECT_TRUE((gone.revents & (POLLHUP | POLLERR)) != 0);
}

TEST_F(SlowPeersTest, APeerThatSendsManyRequestsAndReadsNothingIsCutOff) {
  options_.limits.progress_ms = 100;
  handler_.on_request = [](HttpRequest, HttpReply reply) { reply.send(text_response(std::string(10'000, 'x'))); };
  start();
  RawPeer peer = connect();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  while (peer.send_some(many, kTestPatienceMs) > 0) {
  }
  pollfd gone{peer.socket(), POLLHUP, 0};
  ASSERT_EQ(poll(&gone, 1, kTestPatienceMs), 1);
  EXPECT_TRUE((gone.revents & (POLLHUP | POLLERR)) != 0);
}

}  // namespace
}  // namespace drover
