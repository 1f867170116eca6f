#include <atomic>
#include <numeric>
#include <semaphore>

#include "net/server_fixture.h"

namespace drover {
namespace {

std::size_t sum_of(std::string_view bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                         [](std::size_t sum, char c) { return sum + static_cast<unsigned char>(c); });
}

/// What a sink was given, as the test sees it.
struct SinkLog {
  std::atomic<std::size_t> bytes = 0;
  std::atomic<std::size_t> sum = 0;
  std::atomic<int> finished = 0;
  std::atomic<int> gone = 0;
  std::size_t fails_at = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> was_on_pool = true;
  std::thread::id io_thread;
  std::binary_semaphore gate{0};  // for one who waits
  std::atomic<bool> waits = false;
};

class LoggingSink : public HttpBodySink {
 public:
  explicit LoggingSink(SinkLog& log) : log_(log) {}
  ~LoggingSink() override { ++log_.gone; }

  Result<void> take(std::string_view bytes) override {
    if (std::this_thread::get_id() == log_.io_thread) log_.was_on_pool = false;
    if (log_.waits.exchange(false)) log_.gate.acquire();
    log_.sum += sum_of(bytes);
    log_.bytes += bytes.size();
    if (log_.bytes >= log_.fails_at) return fail(ErrorCode::no_space, "the disk is full");
    return {};
  }
  Result<void> finish() override {
    ++log_.finished;
    return {};
  }

 private:
  SinkLog& log_;
};

class HttpBodyTest : public ServerTest {
 protected:
  HttpBodyTest() {
    handler_.on_plan = [this](const HttpHead& head) -> HttpPlan {
      log_.io_thread = std::this_thread::get_id();
      if (head.method != "PUT") return {};
      return {.most_bytes = 100 * kMiB, .sink = std::make_unique<LoggingSink>(log_)};
    };
    handler_.on_request = [this](HttpRequest request, HttpReply reply) {
      if (!request.sink) return reply.send(text_response(request.head.query));
      const bool whole = log_.finished > 0;
      reply.send(text_response(std::to_string(log_.bytes), whole ? 200 : 507));
    };
  }

  SinkLog log_;
};

TEST_F(HttpBodyTest, ASinkGetsItAllOnAThreadThatMayWait) {
  start();
  RawPeer peer = connect();
  std::string body;
  while (body.size() < 3 * kMiB) body += "some bytes\n";
  ASSERT_TRUE(peer.send(concat("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n")));
  ASSERT_TRUE(peer.send(body));
  EXPECT_EQ(peer.read_response().body, std::to_string(body.size()));
  EXPECT_EQ(log_.sum, sum_of(body));
  EXPECT_EQ(log_.finished, 1);
  EXPECT_TRUE(log_.was_on_pool);
  // The connection is as good as before.
  ASSERT_TRUE(peer.send("GET /?next HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(peer.read_response().body, "next");
}

TEST_F(HttpBodyTest, ASinkGetsChunksAndRequestsBehindThemWait) {
  start();
  RawPeer peer = connect();
  const std::string put = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  ASSERT_TRUE(peer.send(put + "5\r\nhello\r\n0\r\n\r\n" + put + "0\r\n\r\nGET /?end HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(peer.read_response().body, "5");
  EXPECT_EQ(peer.read_response().body, "5");
  EXPECT_EQ(peer.read_response().body, "end");
  EXPECT_EQ(log_.finished, 2);
}

TEST_F(HttpBodyTest, ASinkOfAnEmptyBodyIsFinished) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(peer.read_response().status, 200);
  EXPECT_EQ(log_.finished, 1);
}

TEST_F(HttpBodyTest, ASlowSinkHoldsThePeerBack) {
  log_.waits = true;
  start();
  RawPeer peer = connect();
  const std::string body(64 * kMiB, 'b');
  ASSERT_TRUE(peer.send(concat("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n")));
  std::size_t sent = 0;
  std::size_t stuck_at = 0;
  while (sent < body.size()) {
    const ssize_t now = peer.send_some(std::string_view(body).substr(sent), stuck_at == 0 ? 300 : kTestPatienceMs);
    ASSERT_GE(now, 0);
    sent += static_cast<std::size_t>(now);
    if (now > 0) continue;
    ASSERT_EQ(stuck_at, 0U) << "it goes on when the sink does";
    stuck_at = sent;
    log_.gate.release();
  }
  EXPECT_GT(stuck_at, 0U);
  EXPECT_LT(stuck_at, 32 * kMiB);
  EXPECT_EQ(peer.read_response().body, std::to_string(body.size()));
}

TEST_F(HttpBodyTest, ASinkThatFailsEndsTheRequestWithTheHandlersWord) {
  log_.fails_at = kMiB;
  start();
  RawPeer peer = connect();
  const std::string body(8 * kMiB, 'b');
  ASSERT_TRUE(peer.send(concat("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n")));
  EXPECT_TRUE(peer.send(body)) << "what nobody wants is thrown away, so that the peer gets to reading the answer";
  const HttpResponse response = peer.read_response();
  EXPECT_EQ(response.status, 507);
  EXPECT_EQ(*response.header("connection"), "close");
  EXPECT_EQ(log_.finished, 0);
  EXPECT_TRUE(peer.is_closed());
  EXPECT_TRUE(eventually([&] { return log_.gone == 1; }));
}

TEST_F(HttpBodyTest, ASinkOfAPeerThatLeftIsLetGo) {
  start();
  for (int i = 0; i < 2; ++i) {
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"));
    ASSERT_TRUE(eventually([&] { return log_.bytes == 4U * static_cast<std::size_t>(i + 1); }));
    i == 0 ? peer.leave() : peer.slam();
    EXPECT_TRUE(eventually([&] { return log_.gone == i + 1; }));
  }
  EXPECT_EQ(log_.finished, 0);
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(HttpBodyTest, StopDuringASlowSinkLeavesNothingBehind) {
  log_.waits = true;
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"));
  ASSERT_TRUE(eventually([&] { return !log_.waits; }));
  std::thread stopping([&] { server_->stop(0); });
  EXPECT_TRUE(peer.is_closed());
  log_.gate.release();
  stopping.join();
  EXPECT_EQ(log_.gone, 1);
}

/// Pieces of one letter each.
class LetterSource : public HttpBodySource {
 public:
  LetterSource(std::size_t pieces, std::size_t piece_bytes, std::atomic<std::size_t>& given, bool fails = false)
      : pieces_(pieces), piece_bytes_(piece_bytes), given_(given), fails_(fails) {}

  Result<std::string> next() override {
    if (pieces_ == 0) {
      if (fails_) return fail(ErrorCode::damaged, "the rest cannot be read");
      return std::string();
    }
    --pieces_;
    given_ += piece_bytes_;
    return std::string(piece_bytes_, static_cast<char>('a' + pieces_ % 26));
  }

 private:
  std::size_t pieces_;
  std::size_t piece_bytes_;
  std::atomic<std::size_t>& given_;
  bool fails_;
};

class HttpSourceTest : public ServerTest {
 protected:
  void answer_with(std::size_t pieces, std::size_t piece_bytes, const std::vector<HttpHeader>& headers,
                   bool fails = false) {
    handler_.on_request = [=, this](HttpRequest, HttpReply reply) {
      reply.send({.status = 200, .headers = headers, .body = {}},
                 std::make_unique<LetterSource>(pieces, piece_bytes, given_, fails));
    };
  }

  std::atomic<std::size_t> given_ = 0;
  const std::string get_ = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
};

TEST_F(HttpSourceTest, ASourceIsSentInChunksAndTheConnectionKept) {
  answer_with(3, 4, {});
  start();
  RawPeer peer = connect();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(peer.send(get_));
    const HttpResponse response = peer.read_response();
    EXPECT_EQ(response.body, "ccccbbbbaaaa");
    EXPECT_EQ(*response.header("transfer-encoding"), "chunked");
  }
}

TEST_F(HttpSourceTest, AKnownLengthIsStated) {
  answer_with(3, 4, {{"content-length", "12"}});
  start();
  RawPeer peer = connect();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(peer.send(get_));
    const HttpResponse response = peer.read_response();
    EXPECT_EQ(response.body, "ccccbbbbaaaa");
    EXPECT_EQ(*response.header("content-length"), "12");
    EXPECT_EQ(response.header("transfer-encoding"), nullptr);
  }
}

TEST_F(HttpSourceTest, ASourceIsNotAskedForHead) {
  answer_with(3, 4, {{"content-length", "12"}});
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(*peer.read_response(false).header("content-length"), "12");
  EXPECT_EQ(given_, 0U);
  ASSERT_TRUE(peer.send(get_));
  EXPECT_EQ(peer.read_response().body, "ccccbbbbaaaa");
}

TEST_F(HttpSourceTest, AnOldPeerReadsToTheEnd) {
  answer_with(3, 4, {});
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_EQ(*peer.read_response().header("connection"), "close");
  EXPECT_EQ(peer.read_to_end(), "ccccbbbbaaaa");
  EXPECT_FALSE(peer.was_reset());
}

TEST_F(HttpSourceTest, ASourceThatFailsIsNotTakenForWhole) {
  answer_with(3, 4, {}, true);
  start();
  for (const char* version : {"1.0", "1.1"}) {
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send(concat("GET / HTTP/", version, "\r\nHost: x\r\n\r\n")));
    peer.read_to_end();
    EXPECT_TRUE(peer.was_reset());
  }
}

TEST_F(HttpSourceTest, ASourceThatGivesAnotherLengthThanItSaidIsCut) {
  start();
  for (const char* length : {"11", "13"}) {
    answer_with(3, 4, {{"content-length", length}});
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send(get_));
    peer.read_to_end();
    EXPECT_TRUE(peer.was_reset()) << length;
  }
}

TEST_F(HttpSourceTest, ASlowPeerHoldsTheSourceBack) {
  answer_with(64, kMiB, {{"content-length", std::to_string(64 * kMiB)}});
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(get_));
  ASSERT_TRUE(eventually([&] { return given_ >= kMiB; }));
  peer.read_until("\r\n\r\n");
  std::size_t got = 0;
  std::size_t most_ahead = 0;
  while (got < 64 * kMiB) {
    const std::string some = peer.read_some();
    ASSERT_FALSE(some.empty());
    got += some.size();
    most_ahead = std::max(most_ahead, given_ - got);
  }
  // What the two sockets hold, and a piece.
  EXPECT_LT(most_ahead, 32 * kMiB);
  EXPECT_EQ(got, 64 * kMiB);
}

TEST_F(HttpSourceTest, APeerThatLeavesEndsTheSource) {
  answer_with(100'000, kMiB, {});
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(get_));
  peer.read_until("\r\n\r\n");
  peer.leave();
  server_->stop(kTestPatienceMs);
  EXPECT_LT(given_, 100'000 * kMiB);
}

class HttpStreamTest : public ServerTest {
 protected:
  HttpStreamTest() {
    handler_.on_request = [this](HttpRequest, HttpReply reply) { handler_.later.keep(std::move(reply)); };
  }
  std::shared_ptr<HttpStream> begin(RawPeer& peer, const char* version = "1.1") {
    EXPECT_TRUE(peer.send(concat("GET /events HTTP/", version, "\r\nHost: x\r\n\r\n")));
    return handler_.later.next().stream(
        {.status = 200, .headers = {{"Content-Type", "text/event-stream"}}, .body = {}});
  }
};

TEST_F(HttpStreamTest, TellsWhenItsPeerHasTakenEnough) {
  start();
  RawPeer peer = connect();
  const auto stream = begin(peer);
  std::atomic<int> calls = 0;
  stream->when_unsent_below(0, [&] { ++calls; });
  EXPECT_TRUE(eventually([&] { return calls == 1; })) << "there is nothing but the head";
  while (stream->unsent() < 8 * kMiB) ASSERT_TRUE(stream->write(std::string(kMiB, 'x')));
  stream->when_unsent_below(kMiB, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
  // The peer may have taken all of it before the call comes.
  EXPECT_TRUE(eventually([&] {
    pollfd came{peer.socket(), POLLIN, 0};
    while (calls == 1 && poll(&came, 1, 0) > 0) EXPECT_FALSE(peer.read_some().empty());
    return calls == 2;
  }));
  EXPECT_LE(stream->unsent(), kMiB);
  while (stream->unsent() < 8 * kMiB) ASSERT_TRUE(stream->write(std::string(kMiB, 'x')));
  stream->when_unsent_below(kMiB, [&] { ++calls; });
  EXPECT_EQ(calls, 2);
  peer.leave();
  EXPECT_TRUE(eventually([&] { return calls == 3; })) << "nobody will take it any more";
}

TEST_F(HttpStreamTest, EventsArriveAsTheyAreWritten) {
  start();
  RawPeer peer = connect();
  const auto stream = begin(peer);
  EXPECT_NE(peer.read_until("\r\n\r\n").find("chunked"), std::string::npos);
  EXPECT_TRUE(stream->write("data: 1\n\n"));
  EXPECT_EQ(peer.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  EXPECT_TRUE(stream->write(""));
  EXPECT_TRUE(stream->write("data: 2\n\n"));
  EXPECT_EQ(peer.read_until("\n\n\r\n"), "9\r\ndata: 2\n\n\r\n");
  EXPECT_TRUE(eventually([&] { return stream->unsent() == 0; }));
  stream->end();
  EXPECT_EQ(peer.read_until("0\r\n\r\n"), "0\r\n\r\n");
  // And then the next request.
  const auto second = begin(peer);
  second->write("x");
  second->end();
  EXPECT_EQ(peer.read_response().body, "x");
}

TEST_F(HttpStreamTest, AStreamThatIsDroppedHasEnded) {
  start();
  RawPeer peer = connect();
  begin(peer)->write("all there is");
  EXPECT_EQ(peer.read_response().body, "all there is");
}

TEST_F(HttpStreamTest, AnOldPeerGetsItWithoutChunks) {
  start();
  RawPeer peer = connect();
  begin(peer, "1.0")->write("plain");
  peer.read_until("\r\n\r\n");
  EXPECT_EQ(peer.read_to_end(), "plain");
}

TEST_F(HttpStreamTest, ASlowReaderShowsInWhatIsUnsent) {
  start();
  RawPeer peer = connect();
  const auto stream = begin(peer);
  peer.read_until("\r\n\r\n");
  const std::string piece(kMiB, 'e');
  int written = 0;
  while (stream->unsent() < 8 * kMiB) {
    ASSERT_TRUE(stream->write(piece));
    ASSERT_LT(++written, 200) << "sockets hold less";
  }
  std::thread reading([&] {
    std::size_t got = 0;
    while (got < static_cast<std::size_t>(written) * kMiB) got += peer.read_some().size();
  });
  EXPECT_TRUE(eventually([&] { return stream->unsent() == 0; }));
  reading.join();
}

TEST_F(HttpStreamTest, APeerThatLeavesEndsTheStream) {
  start();
  for (const bool slams : {false, true}) {
    RawPeer peer = connect();
    const auto stream = begin(peer);
    peer.read_until("\r\n\r\n");
    EXPECT_TRUE(stream->write("x"));
    slams ? peer.slam() : peer.leave();
    EXPECT_TRUE(eventually([&] { return !stream->write("y"); }));
    EXPECT_EQ(stream->unsent(), 0U);
    stream->end();
  }
}

TEST_F(HttpStreamTest, WritingAfterTheServerIsGoneIsHarmless) {
  start();
  RawPeer peer = connect();
  const auto stream = begin(peer);
  peer.read_until("\r\n\r\n");
  server_.reset();
  EXPECT_FALSE(stream->write("x"));
  stream->end();
}

TEST_F(HttpStreamTest, ManyThreadsMayWriteToOneStream) {
  start();
  RawPeer peer = connect();
  const auto stream = begin(peer);
  std::vector<std::thread> writers;
  writers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) stream->write("12345678");
    });
  }
  for (std::thread& writer : writers) writer.join();
  stream->end();
  EXPECT_EQ(peer.read_response().body.size(), 4U * 1000 * 8);
}

}  // namespace
}  // namespace drover
