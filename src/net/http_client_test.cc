#include "net/http_client.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "net/backoff.h"
#include "net/server_fixture.h"

namespace drover {
namespace {

class HttpClientTest : public ServerTest {
 protected:
  void start_both(const std::string& token = {}) {
    start();
    client_ = client({.base = "http://" + address_, .token = token, .ca_pem = {}});
  }
  static std::unique_ptr<HttpClient> client(const ClientOptions& options) {
    auto made = make_http_client(options);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  std::unique_ptr<HttpClient> client_;
};

TEST_F(HttpClientTest, AsksAndIsAnswered) {
  start_both();
  const auto answer = client_->call({.method = "GET", .path = "/echo?hello"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(*answer->header("content-type"), "text/plain");
  const auto missing = client_->call({.method = "DELETE", .path = "/nothing"});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body, "no such thing");
}

/// Accepts one connection, and from then on loses every packet of it, as a line does that was cut.
class DarkServer {
 public:
  DarkServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(listener_, 1) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no listener");
    }
    base = concat("http://127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] {
      peer_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      sock_filter drop_all[] = {{BPF_RET | BPF_K, 0, 0, 0}};
      const sock_fprog program{1, drop_all};
      ::setsockopt(peer_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
      is_dark = true;
    });
  }
  ~DarkServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(peer_);
    ::close(listener_);
  }
  DarkServer(const DarkServer&) = delete;
  DarkServer& operator=(const DarkServer&) = delete;

  std::string base;
  std::atomic<bool> is_dark = false;

 private:
  int listener_;
  int peer_ = -1;
  std::thread thread_;
};

// A line that is cut says nothing, and the kernel would send again for a quarter of an hour.
TEST_F(HttpClientTest, AnUploadIntoADarkLineIsGivenUpThoughItsDeadlineIsFar) {
  DarkServer server;
  const auto uploader = client({.base = server.base, .token = {}, .ca_pem = {}, .silence_ms = 1'000});
  auto answer = std::async(std::launch::async, [&] {
    return uploader->call({.method = "POST",
                           .path = "/logs",
                           .body_source = [&, left = 64]() mutable -> Result<std::string> {
                             while (!server.is_dark) std::this_thread::yield();
                             return left-- > 0 ? std::string(16 << 10, 'x') : std::string();
                           },
                           .deadline_ms = 0});
  });
  if (answer.wait_for(std::chrono::milliseconds(kTestPatienceMs)) != std::future_status::ready) {
    ADD_FAILURE() << "it still waits";
    uploader->abort();
  }
  EXPECT_FALSE(answer.get());
}

TEST_F(HttpClientTest, AnAddressThatIsRefusedIsNotConnectedTo) {
  start();
  std::vector<int> families;
  const auto careful =
      client({.base = "http://" + address_, .token = {}, .ca_pem = {}, .may_connect = [&](const sockaddr& address) {
                families.push_back(address.sa_family);
                return false;
              }});
  const auto answer = careful->call({.method = "GET", .path = "/echo?x"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied) << answer.error().message;
  EXPECT_EQ(families, std::vector<int>{AF_INET});
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(HttpClientTest, AnAnswerHasALimit) {
  start();
  const auto careful = client({.base = "http://" + address_, .token = {}, .ca_pem = {}, .most_answer_bytes = 10});
  EXPECT_TRUE(careful->call({.method = "GET", .path = "/echo?0123456789"}));
  EXPECT_FALSE(careful->call({.method = "GET", .path = "/echo?0123456789a"}));
}

TEST_F(HttpClientTest, SendsWhatItIsToldAndNothingElse) {
  HttpHead seen;
  std::string body;
  handler_.on_request = [&](HttpRequest request, HttpReply reply) {
    seen = request.head;
    body = request.body;
    reply.send(text_response("ok"));
  };
  start_both("s3cret");
  for (const char* method : {"POST", "PUT", "DELETE", "GET"}) {
    const auto answer = client_->call({.method = method,
                                       .path = "/a/../b%2F?q=1",
                                       .headers = {{"X-Name", "value"}, {"X-Empty", ""}},
                                       .body = method == std::string("GET") ? "" : "some body"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(seen.method, method);
    EXPECT_EQ(seen.path, "/a/../b%2F");
    EXPECT_EQ(*seen.header("x-name"), "value");
    EXPECT_EQ(*seen.header("x-empty"), "");
    EXPECT_EQ(*seen.header("authorization"), "Bearer s3cret");
    EXPECT_EQ(seen.header("content-type"), nullptr);
    EXPECT_EQ(body, method == std::string("GET") ? "" : "some body");
  }
  const auto empty = client_->call({.method = "POST", .path = "/"});
  ASSERT_TRUE(empty);
  EXPECT_EQ(*seen.header("content-length"), "0");
  const auto head = client_->call({.method = "HEAD", .path = "/"});
  ASSERT_TRUE(head);
  EXPECT_EQ(seen.method, "HEAD");
}

TEST_F(HttpClientTest, KeepsItsConnection) {
  std::set<std::string> peers;
  handler_.on_request = [&](HttpRequest request, HttpReply reply) {
    peers.insert(request.head.peer);
    reply.send(text_response("ok"));
  };
  start_both();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client_->call({.path = "/"}));
  EXPECT_EQ(peers.size(), 1U);
}

TEST_F(HttpClientTest, ComesBackOnANewConnectionWhenTheOldOneWasClosed) {
  options_.limits.idle_ms = 3000;
  start_both();
  ASSERT_TRUE(client_->call({.method = "POST", .path = "/echo", .body = "1"}));
  RawPeer later = connect();
  EXPECT_TRUE(later.is_closed()) << "by now the client's is closed too";
  const auto answer = client_->call({.method = "POST", .path = "/echo", .body = "2"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "2");
}

TEST_F(HttpClientTest, LargeBodiesStreamBothWays) {
  struct Counter : HttpBodySink {
    explicit Counter(std::atomic<std::size_t>& bytes) : bytes_(bytes) {}
    Result<void> take(std::string_view bytes) override {
      bytes_ += bytes.size();
      return {};
    }
    Result<void> finish() override { return {}; }
    std::atomic<std::size_t>& bytes_;
  };
  struct Pieces : HttpBodySource {
    Result<std::string> next() override { return left-- > 0 ? std::string(kMiB, 'd') : std::string(); }
    int left = 64;
  };
  std::atomic<std::size_t> up = 0;
  handler_.on_plan = [&](const HttpHead&) -> HttpPlan {
    return {.most_bytes = 100 * kMiB, .sink = std::make_unique<Counter>(up)};
  };
  handler_.on_request = [&](HttpRequest, HttpReply reply) {
    reply.send({.status = 200, .headers = {}, .body = {}}, std::make_unique<Pieces>());
  };
  start_both();
  int left = 64;
  std::size_t down = 0;
  HttpCall call{.method = "PUT", .path = "/"};
  call.body_source = [&]() -> Result<std::string> { return left-- > 0 ? std::string(kMiB, 'u') : std::string(); };
  call.take = [&](std::string_view bytes) -> Result<void> {
    down += bytes.size();
    return {};
  };
  const auto answer = client_->call(call);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(up, 64 * kMiB);
  EXPECT_EQ(down, 64 * kMiB);
  EXPECT_EQ(answer->body, "");
}

TEST_F(HttpClientTest, OnlyAGoodAnswerIsTaken) {
  start_both();
  HttpCall call{.path = "/nothing"};
  call.take = [](std::string_view) -> Result<void> {
    ADD_FAILURE();
    return {};
  };
  const auto answer = client_->call(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "no such thing");
}

TEST_F(HttpClientTest, WhatASourceOrATakerSaysIsTheCallsError) {
  start_both();
  HttpCall up{.method = "PUT", .path = "/echo"};
  up.body_source = []() -> Result<std::string> { return fail(ErrorCode::damaged, "unreadable"); };
  const auto first = client_->call(up);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::damaged);
  HttpCall down{.path = "/echo?x", .may_repeat = true};
  down.take = [](std::string_view) -> Result<void> { return fail(ErrorCode::no_space, "full"); };
  const auto second = client_->call(down);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::no_space);
  EXPECT_TRUE(client_->call({.path = "/echo?x"})) << "the next call is none the worse";
}

TEST_F(HttpClientTest, BusyServersAreAskedAgain) {
  int asked = 0;
  handler_.on_request = [&](HttpRequest request, HttpReply reply) {
    const int statuses[] = {503, 429, 502, 504, 200};
    reply.send(text_response(request.body, statuses[asked++]));
  };
  start_both();
  const auto answer = client_->call({.method = "POST", .path = "/", .body = "again", .may_repeat = true});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "again");
  EXPECT_EQ(asked, 5);
  asked = 0;
  EXPECT_EQ(client_->call({.path = "/"})->status, 503) << "but not unless the caller says so";
}

TEST_F(HttpClientTest, AServersWishToBeLeftAloneIsRespected) {
  std::vector<std::chrono::steady_clock::time_point> times;
  std::string seconds = "1";
  handler_.on_request = [&](HttpRequest, HttpReply reply) {
    times.push_back(std::chrono::steady_clock::now());
    reply.send({.status = times.size() == 1 ? 503 : 200, .headers = {{"Retry-After", seconds}}, .body = {}});
  };
  start_both();
  EXPECT_EQ(client_->call({.path = "/", .may_repeat = true})->status, 200);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GE(times[1] - times[0], std::chrono::seconds(1));
  times.clear();
  seconds = "60";
  const auto impatient = client_->call({.path = "/", .deadline_ms = kTestPatienceMs, .may_repeat = true});
  ASSERT_TRUE(impatient);
  EXPECT_EQ(impatient->status, 503) << "there is no time for another try, so this is the answer";
}

TEST_F(HttpClientTest, AServerThatComesBackIsFound) {
  start_both();
  const std::string address = address_;
  server_.reset();
  const auto nobody = client_->call({.path = "/echo?x"});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unreachable);
  auto answer = std::async(std::launch::async, [&] { return client_->call({.path = "/echo?x", .may_repeat = true}); });
  options_.listen = {address};
  start();
  const auto got = answer.get();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "x");
}

TEST_F(HttpClientTest, TheDeadlineHolds) {
  start_both();
  const auto late = client_->call({.path = "/later", .deadline_ms = 100});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  const auto repeated = client_->call({.path = "/later", .deadline_ms = 100, .may_repeat = true});
  ASSERT_FALSE(repeated);
  EXPECT_EQ(repeated.error().code, ErrorCode::timeout);
}

TEST_F(HttpClientTest, AbortEndsWhatIsUnderWayAndWhatComesLater) {
  start_both();
  auto polling = std::async(std::launch::async, [&] { return client_->call({.path = "/later", .deadline_ms = 0}); });
  HttpReply kept = handler_.later.next();
  client_->abort();
  const auto ended = polling.get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::stopped);
  EXPECT_FALSE(client_->call({.path = "/echo"}));
  EXPECT_TRUE(eventually([&] { return kept.peer_is_gone(); }));
}

TEST_F(HttpClientTest, AbortEndsTheWaitBetweenTwoTries) {
  handler_.on_request = [&](HttpRequest, HttpReply reply) {
    reply.send({.status = 503, .headers = {{"Retry-After", "600"}}, .body = {}});
  };
  start_both();
  auto waiting = std::async(std::launch::async,
                            [&] { return client_->call({.path = "/", .deadline_ms = 0, .may_repeat = true}); });
  ASSERT_TRUE(eventually([&] { return handler_.requests == 1; }));
  client_->abort();
  EXPECT_FALSE(waiting.get());
}

TEST_F(HttpClientTest, ACutAnswerIsAnErrorAndNotRepeatedOnceItWasTaken) {
  handler_.on_request = [](HttpRequest, HttpReply reply) {
    struct Broken : HttpBodySource {
      Result<std::string> next() override {
        if (std::exchange(begun, true)) return fail(ErrorCode::damaged, "");
        return std::string(kMiB, 'x');
      }
      bool begun = false;
    };
    reply.send({.status = 200, .headers = {}, .body = {}}, std::make_unique<Broken>());
  };
  start_both();
  HttpCall call{.path = "/", .may_repeat = true};
  std::size_t taken = 0;
  call.take = [&](std::string_view bytes) -> Result<void> {
    taken += bytes.size();
    return {};
  };
  const auto answer = client_->call(call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::io);
  EXPECT_EQ(handler_.requests, 1);
}

TEST_F(HttpClientTest, SpeaksOverAUnixSocket) {
  const std::string path = ::testing::TempDir() + concat("drover-client-", getpid(), ".sock");
  options_.listen = {"unix:" + path};
  start();
  client_ = client({.base = address_, .token = {}, .ca_pem = {}});
  EXPECT_EQ(client_->call({.path = "/echo?local"})->body, "local");
  server_.reset();
  const auto nobody = client_->call({.path = "/"});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unreachable);
}

TEST_F(HttpClientTest, ProxiesOfTheEnvironmentAreNotAskedForLoopback) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  start_both();
  const auto answer = client_->call({.path = "/echo?direct"});
  unsetenv("http_proxy");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "direct");
}

TEST_F(HttpClientTest, SecretsAreNotInMessages) {
  start_both("t0ken");
  server_.reset();
  const auto nobody =
      client_->call({.path = "/path?X-Amz-Signature=s1gnature", .headers = {{"X-Key", "k3y"}}, .body = "b0dy"});
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message.find("/path"), std::string::npos);
  for (const char* secret : {"t0ken", "s1gnature", "k3y", "b0dy"}) {
    EXPECT_EQ(nobody.error().message.find(secret), std::string::npos) << nobody.error().message;
  }
}

TEST_F(HttpClientTest, WhatCannotBeRightIsRefused) {
  for (const char* base : {"", "ftp://x", "http://user:password@x", "unix:", "http://x/?q", "://"}) {
    const auto made = make_http_client({.base = base, .token = {}, .ca_pem = {}});
    ASSERT_FALSE(made) << base;
    EXPECT_EQ(made.error().code, ErrorCode::bad_input);
    EXPECT_EQ(made.error().message.find("password"), std::string::npos);
  }
  EXPECT_FALSE(make_http_client({.base = "http://x", .token = "a\r\nb", .ca_pem = {}}));
  start_both();
  EXPECT_EQ(client_->call({.path = "/", .headers = {{"X", "a\r\nY: b"}}}).error().code, ErrorCode::bad_input);
  EXPECT_EQ(client_->call({.path = "@evil.example/"}).error().code, ErrorCode::bad_input);
}

TEST(Backoff, WaitsGrowAndDiffer) {
  Backoff one(1);
  Backoff other(2);
  std::int64_t longest = 100;
  bool differ = false;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t wait = one.next_ms(0);
    EXPECT_GT(wait, longest / 2 - 1);
    EXPECT_LE(wait, longest);
    differ |= wait != other.next_ms(0);
    longest = std::min<std::int64_t>(longest * 2, 10'000);
  }
  EXPECT_TRUE(differ);
  EXPECT_EQ(one.next_ms(60'000), 60'000);
}

}  // namespace
}  // namespace drover
