#include "net/http_server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <future>

#include "net/server_fixture.h"

namespace drover {
namespace {

class HttpServerTest : public ServerTest {};

constexpr std::string_view kHello = "GET /echo?hello HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLater = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(HttpServerTest, AnswersManyRequestsOnOneConnection) {
  start();
  RawPeer peer = connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(peer.send(kHello));
    const HttpResponse response = peer.read_response();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "hello");
    EXPECT_NE(response.header("date"), nullptr);
    EXPECT_EQ(response.header("connection"), nullptr);
  }
}

TEST_F(HttpServerTest, HandsOnTheWholeHead) {
  HttpHead seen;
  handler_.on_request = [&](HttpRequest request, HttpReply reply) {
    seen = request.head;
    reply.send(text_response(request.body));
  };
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(
      peer.send("PUT /a%20b/c?x=1&y HTTP/1.1\r\nHost: h\r\nX-Two:  b \r\nx-two: c\r\nContent-Length: 3\r\n\r\nabc"));
  EXPECT_EQ(peer.read_response().body, "abc");
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.path, "/a%20b/c");
  EXPECT_EQ(seen.query, "x=1&y");
  EXPECT_FALSE(seen.encrypted);
  EXPECT_TRUE(seen.peer.starts_with("127.0.0.1:")) << seen.peer;
  const std::vector<HttpHeader> fields{{"Host", "h"}, {"X-Two", "b"}, {"x-two", "c"}, {"Content-Length", "3"}};
  EXPECT_EQ(seen.headers, fields);
  ASSERT_TRUE(peer.send("GET http://other.example:80?q HTTP/1.1\r\nHost: other.example\r\n\r\n"));
  peer.read_response();
  EXPECT_EQ(seen.path, "/");
  EXPECT_EQ(seen.query, "q");
}

TEST_F(HttpServerTest, WhoeverExpectsToBeToldToContinueIsAlsoBeforeABodyWithoutBytes) {
  start();
  RawPeer peer = connect();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n"));
    EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(peer.read_response().status, 200);
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawPeer peer = connect();
  std::string all;
  for (int i = 0; i < 500; ++i) all += concat("GET /echo?", i, " HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(peer.send(all));
  for (int i = 0; i < 500; ++i) ASSERT_EQ(peer.read_response().body, std::to_string(i));
}

TEST_F(HttpServerTest, RequestsThatCameTogetherAreHandedOnInOneTurn) {
  std::atomic<int> outside = 0;
  handler_.on_request = [&](HttpRequest, HttpReply reply) {
    if (handler_.turns_begun == handler_.turns_ended) ++outside;
    reply.send(text_response("x"));
  };
  start();
  RawPeer peer = connect();
  std::string all;
  for (int i = 0; i < 20; ++i) all += kHello;
  ASSERT_TRUE(peer.send(all));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(peer.read_response().body, "x");
  server_.reset();
  EXPECT_EQ(handler_.turns_begun, 1);
  EXPECT_EQ(handler_.turns_ended, 1);
  EXPECT_EQ(outside, 0);
}

TEST_F(HttpServerTest, ATurnThatTheStopCutsShortEndsToo) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(kLater));
  HttpReply reply = handler_.later.next();
  server_->stop(0);
  EXPECT_EQ(handler_.turns_begun, handler_.turns_ended);
}

TEST_F(HttpServerTest, ALaterReplyHoldsBackTheOnesBehindIt) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(std::string(kLater) + std::string(kLater) + std::string(kHello)));
  HttpReply first = handler_.later.next();
  std::thread([&] { first.send(text_response("first")); }).join();
  EXPECT_EQ(peer.read_response().body, "first");
  handler_.later.next().send(text_response("second"));
  EXPECT_EQ(peer.read_response().body, "second");
  EXPECT_EQ(peer.read_response().body, "hello");
}

TEST_F(HttpServerTest, PipelinedRepliesLargerThanTheSocketAreAllSent) {
  handler_.on_request = [](HttpRequest, HttpReply reply) { reply.send(text_response(std::string(300'000, 'x'))); };
  start();
  RawPeer peer = connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += kHello;
  ASSERT_TRUE(peer.send(all));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(peer.read_response().body.size(), 300'000U);
}

TEST_F(HttpServerTest, AHeadThatComesByteByByteIsUnderstood) {
  start();
  RawPeer peer = connect();
  for (const char c : std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nbytes")) {
    ASSERT_TRUE(peer.send({&c, 1}));
  }
  EXPECT_EQ(peer.read_response().body, "bytes");
}

TEST_F(HttpServerTest, EmptyLinesBeforeARequestAreOverlooked) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("\r\n\r\n" + std::string(kHello)));
  EXPECT_EQ(peer.read_response().body, "hello");
}

TEST_F(HttpServerTest, HeadHasTheHeadersAndNoBody) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("HEAD /echo?hello HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kHello)));
  const HttpResponse head = peer.read_response(false);
  EXPECT_EQ(*head.header("content-length"), "5");
  EXPECT_EQ(peer.read_response().body, "hello");
}

TEST_F(HttpServerTest, HeadMayStateALengthOfSomethingThatIsNotThere) {
  handler_.on_request = [](HttpRequest, HttpReply reply) {
    reply.send({.status = 200, .headers = {{"Content-Length", "123456"}}, .body = {}});
  };
  start();
  RawPeer peer = connect();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(peer.send("HEAD /object HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(*peer.read_response(false).header("content-length"), "123456");
  }
}

TEST_F(HttpServerTest, NoContentHasNoBody) {
  handler_.on_request = [](HttpRequest, HttpReply reply) { reply.send({.status = 204, .headers = {}, .body = "no"}); };
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(kHello));
  const HttpResponse response = peer.read_response(false);
  EXPECT_EQ(response.header("content-length"), nullptr);
  ASSERT_TRUE(peer.send(kHello));
  EXPECT_EQ(peer.read_response().status, 204);
}

TEST_F(HttpServerTest, TextInAHeaderCannotMakeHeaders) {
  handler_.on_request = [](HttpRequest, HttpReply reply) {
    reply.send(
        {.status = 200, .headers = {{"X-Name", "a\r\nX-Evil: b\r\n\r\n"}, {"Transfer-Encoding", "x"}}, .body = {}});
  };
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(kHello));
  const HttpResponse response = peer.read_response();
  EXPECT_EQ(response.header("x-evil"), nullptr);
  EXPECT_EQ(response.header("transfer-encoding"), nullptr);
  EXPECT_TRUE(response.header("x-name")->starts_with("a  X-Evil: b"));
}

TEST_F(HttpServerTest, ClosesWhenThePeerAsksForIt) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /echo?bye HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const HttpResponse response = peer.read_response();
  EXPECT_EQ(response.body, "bye");
  EXPECT_EQ(*response.header("connection"), "close");
  EXPECT_TRUE(peer.is_closed());
}

TEST_F(HttpServerTest, OldPeersAreAnsweredAndLeftUnlessTheyAskToStay) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /echo?stay HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_EQ(*peer.read_response().header("connection"), "keep-alive");
  ASSERT_TRUE(peer.send("GET /echo?go HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(peer.read_response().body, "go");
  EXPECT_TRUE(peer.is_closed());
}

TEST_F(HttpServerTest, ADroppedReplyAnswers500) {
  handler_.on_request = [](HttpRequest, HttpReply) {};
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(kHello));
  EXPECT_EQ(peer.read_response().status, 500);
}

TEST_F(HttpServerTest, APeerThatLeavesDuringALongPollIsNoticed) {
  start();
  RawPeer staying = connect();
  RawPeer leaving = connect();
  RawPeer slamming = connect();
  ASSERT_TRUE(staying.send(kLater));
  HttpReply kept = handler_.later.next();
  ASSERT_TRUE(leaving.send(kLater));
  HttpReply left = handler_.later.next();
  ASSERT_TRUE(slamming.send(kLater));
  HttpReply slammed = handler_.later.next();
  EXPECT_FALSE(left.peer_is_gone());
  leaving.leave();
  slamming.slam();
  EXPECT_TRUE(eventually([&] { return left.peer_is_gone() && slammed.peer_is_gone(); }));
  EXPECT_FALSE(kept.peer_is_gone());
  left.send(text_response("nobody hears"));
  slammed.send(text_response("nobody hears"));
  kept.send(text_response("heard"));
  EXPECT_EQ(staying.read_response().body, "heard");
  expect_well();
}

TEST_F(HttpServerTest, WhoeverWaitsForAPeerToLeaveIsCalledOnce) {
  start();
  std::atomic<int> calls = 0;
  RawPeer staying = connect();
  RawPeer leaving = connect();
  ASSERT_TRUE(staying.send(kLater));
  HttpReply kept = handler_.later.next();
  kept.when_peer_leaves([&] { calls += 100; });
  ASSERT_TRUE(leaving.send(kLater));
  HttpReply left = handler_.later.next();
  left.when_peer_leaves([&] { ++calls; });
  leaving.leave();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  left.when_peer_leaves([&] { calls += 10; });
  EXPECT_EQ(calls, 11) << "it has left already";
  left.send(text_response("nobody hears"));
  kept.send(text_response("heard"));
  EXPECT_EQ(staying.read_response().body, "heard");
  staying.leave();
  expect_well();
  EXPECT_EQ(calls, 11) << "a peer that was answered may leave";
}

TEST_F(HttpServerTest, APeerThatOnlyStopsSendingGetsItsReplies) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(std::string(kHello) + std::string(kLater) + std::string(kHello)));
  peer.end_sending();
  EXPECT_EQ(peer.read_response().body, "hello");
  handler_.later.next().send(text_response("later"));
  EXPECT_EQ(peer.read_response().body, "later");
  EXPECT_EQ(peer.read_response().body, "hello");
  EXPECT_TRUE(peer.is_closed());
}

TEST_F(HttpServerTest, TwoHundredPeersAtATimeOnTwoThreads) {
  options_.io_threads = 2;
  start();
  std::vector<RawPeer> peers;
  peers.reserve(200);
  for (int i = 0; i < 200; ++i) peers.push_back(connect());
  for (int round = 0; round < 5; ++round) {
    for (RawPeer& peer : peers) ASSERT_TRUE(peer.send(round == 2 ? kLater : kHello));
    if (round == 2) {
      std::thread([&] {
        for (int i = 0; i < 200; ++i) handler_.later.next().send(text_response("hello"));
      }).join();
    }
    for (RawPeer& peer : peers) ASSERT_EQ(peer.read_response().body, "hello");
  }
}

TEST_F(HttpServerTest, AHandlerMayAnswerAnotherRequestThanItsOwn) {
  std::optional<HttpReply> waiting;
  handler_.on_request = [&](HttpRequest, HttpReply reply) {
    if (waiting) {
      waiting->send(text_response("woken"));
      reply.send(text_response("waker"));
    } else {
      waiting.emplace(std::move(reply));
    }
  };
  start();
  RawPeer first = connect();
  ASSERT_TRUE(first.send(kHello));
  ASSERT_TRUE(eventually([&] { return handler_.requests == 1; }));
  RawPeer second = connect();
  ASSERT_TRUE(second.send(kHello));
  EXPECT_EQ(second.read_response().body, "waker");
  EXPECT_EQ(first.read_response().body, "woken");
}

TEST_F(HttpServerTest, ListensOnSeveralAddressesAndNamesThem) {
  const std::string path = ::testing::TempDir() + concat("drover-http-", getpid(), ".sock");
  options_.listen = {"127.0.0.1:0", "[::1]:0", "unix:" + path};
  start();
  ASSERT_EQ(server_->addresses().size(), 3U);
  EXPECT_EQ(server_->addresses()[2], "unix:" + path);
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  for (const std::string& address : server_->addresses()) {
    address_ = address;
    expect_well();
  }
  server_.reset();
  EXPECT_NE(stat(path.c_str(), &status), 0) << "the socket's file goes with the server";
}

TEST_F(HttpServerTest, ALeftOverSocketFileIsReplacedAndOneInUseIsNot) {
  const std::string path = ::testing::TempDir() + concat("drover-left-", getpid(), ".sock");
  options_.listen = {"unix:" + path};
  {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int number = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(number);
  }
  start();
  expect_well();
  TestHandler other;
  const auto second = HttpServer::start(options_, other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::in_use);
  expect_well();
}

TEST_F(HttpServerTest, AddressesThatCannotBeAreRefusedWithAReason) {
  start();
  for (const std::string& address : {std::string("8750"), std::string("127.0.0.1:x"), std::string("300.1.1.1:80"),
                                     std::string("unix:"), "unix:/" + std::string(200, 'x')}) {
    const auto refused = HttpServer::start({.listen = {address}, .tls = {}, .limits = {}}, handler_);
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.error().code, ErrorCode::bad_input) << address;
  }
  const auto taken = HttpServer::start({.listen = {address_}, .tls = {}, .limits = {}}, handler_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::in_use);
}

TEST_F(HttpServerTest, StopLetsRepliesUnderWayFinish) {
  start();
  RawPeer idle = connect();
  ASSERT_TRUE(idle.send(kHello));
  EXPECT_EQ(idle.read_response().body, "hello");
  RawPeer busy = connect();
  ASSERT_TRUE(busy.send(kLater));
  HttpReply reply = handler_.later.next();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(kTestPatienceMs); });
  EXPECT_TRUE(idle.is_closed()) << "nobody waits for the idle";
  reply.send(text_response("last words"));
  const HttpResponse response = busy.read_response();
  EXPECT_EQ(response.body, "last words");
  EXPECT_EQ(*response.header("connection"), "close");
  EXPECT_TRUE(busy.is_closed());
  stopped.get();
}

TEST_F(HttpServerTest, StopEndsWhatDoesNotEndByItself) {
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send(kLater));
  HttpReply reply = handler_.later.next();
  server_->stop(1);
  EXPECT_TRUE(peer.is_closed());
  EXPECT_TRUE(reply.peer_is_gone());
  server_.reset();
  reply.send(text_response("too late, and no harm done"));
}

TEST_F(HttpServerTest, ConnectionsBeyondTheLimitAreClosedAndThoseWithinAreServed) {
  options_.limits.connections = 3;
  start();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(connect());
    ASSERT_TRUE(peers.back().send(kHello));
    EXPECT_EQ(peers.back().read_response().body, "hello");
  }
  EXPECT_TRUE(connect().is_closed());
  peers.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawPeer peer = connect();
    return peer.send(kHello) && peer.read_response().body == "hello";
  }));
}

TEST_F(HttpServerTest, WhoTakesConnectionsAndAsksNothingKeepsNobodyOut) {
  options_.limits.connections = 3;
  start();
  RawPeer known = connect();
  ASSERT_TRUE(known.send(kHello));
  EXPECT_EQ(known.read_response().body, "hello");
  std::vector<RawPeer> silent;
  silent.reserve(20);
  for (int i = 0; i < 20; ++i) silent.push_back(connect());
  EXPECT_TRUE(silent.front().is_closed()) << "the first to come is the first to go";
  RawPeer late = connect();
  ASSERT_TRUE(late.send(kHello));
  EXPECT_EQ(late.read_response().body, "hello");
  ASSERT_TRUE(known.send(kHello));
  EXPECT_EQ(known.read_response().body, "hello");
}

TEST_F(HttpServerTest, WhoAsksWithoutAKeyKeepsNobodyOutEither) {
  options_.limits.connections = 3;
  handler_.on_plan = [](const HttpHead& head) {
    return HttpPlan{.most_bytes = 100, .sink = nullptr, .is_from_stranger = head.header("Key") == nullptr};
  };
  start();
  std::vector<RawPeer> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(connect());
    ASSERT_TRUE(strangers.back().send(kHello));
    EXPECT_EQ(strangers.back().read_response().body, "hello");
  }
  std::vector<RawPeer> guests;
  for (int i = 0; i < 3; ++i) {
    guests.push_back(connect());
    ASSERT_TRUE(guests.back().send("GET /echo?hello HTTP/1.1\r\nHost: x\r\nKey: mine\r\n\r\n"));
    EXPECT_EQ(guests.back().read_response().body, "hello");
  }
  EXPECT_TRUE(strangers.front().is_closed());
  EXPECT_TRUE(connect().is_closed()) << "all of them are known now";
}

TEST_F(HttpServerTest, OneHolderHasOnlySoManyConnectionsAndSomeAreReserved) {
  options_.limits.connections = 64;
  handler_.on_plan = [](const HttpHead& head) {
    const std::string& name = *head.header("Key");
    return HttpPlan{.most_bytes = 0, .sink = nullptr, .holder = Holder{name, name == "admin"}};
  };
  start();
  const auto ask = [](RawPeer& peer, const std::string& name) {
    EXPECT_TRUE(peer.send(concat("GET /echo?x HTTP/1.1\r\nHost: x\r\nKey: ", name, "\r\n\r\n")));
    return peer.read_response().status;
  };
  std::vector<RawPeer> peers;
  const auto add = [&](const std::string& name) {
    peers.push_back(connect());
    return ask(peers.back(), name);
  };
  for (int i = 0; i < 16; ++i) EXPECT_EQ(add("greedy"), 200);
  EXPECT_EQ(ask(peers.front(), "greedy"), 200) << "it counts once";
  EXPECT_EQ(add("greedy"), 429);
  EXPECT_TRUE(peers.back().is_closed());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(add("second"), 200);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(add("third"), 200);
  EXPECT_EQ(add("modest"), 429) << "the rest is reserved";
  EXPECT_EQ(add("admin"), 200);
  EXPECT_EQ(add("admin"), 200);
  EXPECT_EQ(ask(peers.front(), "admin"), 200) << "from now on it counts for another";
  EXPECT_EQ(add("greedy"), 429) << "but not less for all";
  peers.clear();
  EXPECT_TRUE(eventually([&] { return add("modest") == 200; }));
}

TEST_F(HttpServerTest, RunningOutOfDescriptorsIsSurvived) {
  start();
  RawPeer inside = connect();
  ASSERT_TRUE(inside.send(kHello));
  EXPECT_EQ(inside.read_response().body, "hello");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  // A socket of our own must be made before the limit falls, and connected after.
  const int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  RawPeer shut_out(address_, late);
  ASSERT_TRUE(shut_out.send(kHello));
  ASSERT_TRUE(inside.send(kHello));
  EXPECT_EQ(inside.read_response().body, "hello");
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(shut_out.read_response().body, "hello");
  expect_well();
}

}  // namespace
}  // namespace drover
