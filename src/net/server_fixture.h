// A server on a port of its own, with a handler that a test makes up. For tests.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "net/http_server.h"
#include "net/raw_peer_fixture.h"

namespace drover {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

inline HttpResponse text_response(std::string text, int status = 200) {
  return {.status = status, .headers = {{"Content-Type", "text/plain"}}, .body = std::move(text)};
}

/// Replies that a handler kept for later.
class KeptReplies {
 public:
  void keep(HttpReply reply) {
    const std::scoped_lock lock(mutex_);
    replies_.push_back(std::move(reply));
    changed_.notify_all();
  }
  /// Waits until there is one.
  HttpReply next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kTestPatienceMs), [&] { return !replies_.empty(); })) {
      ADD_FAILURE() << "no request came";
      std::abort();
    }
    HttpReply reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kTestPatienceMs),
                             [&] { return replies_.size() >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HttpReply> replies_;
};

/// GET /echo?x answers "x"; POST /echo its body; /later is kept; anything else is 404. Tests replace what they need.
class TestHandler : public HttpHandler {
 public:
  HttpPlan plan(const HttpHead& head) override {
    ++plans;
    HttpPlan plan = on_plan ? on_plan(head) : HttpPlan{.most_bytes = most_bytes, .sink = nullptr};
    plan.handle = [this](HttpRequest request, HttpReply reply) { handle(std::move(request), std::move(reply)); };
    return plan;
  }
  void begin_turn() override { ++turns_begun; }
  void end_turn() override { ++turns_ended; }

  std::function<HttpPlan(const HttpHead&)> on_plan;
  std::function<void(HttpRequest, HttpReply)> on_request;
  std::uint64_t most_bytes = 1 << 20;
  std::atomic<int> plans = 0;
  std::atomic<int> requests = 0;
  std::atomic<int> turns_begun = 0;
  std::atomic<int> turns_ended = 0;
  KeptReplies later;

 private:
  void handle(HttpRequest request, HttpReply reply) {
    ++requests;
    if (on_request) return on_request(std::move(request), std::move(reply));
    if (request.head.path == "/later") return later.keep(std::move(reply));
    if (request.head.path != "/echo") return reply.send(text_response("no such thing", 404));
    reply.send(text_response(request.head.method == "POST" ? request.body : request.head.query));
  }
};

class ServerTest : public ::testing::Test {
 protected:
  ~ServerTest() override { server_.reset(); }

  /// With `options_`.
  void start() {
    auto server = HttpServer::start(options_, handler_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    address_ = server_->addresses().front();
  }
  RawPeer connect() { return RawPeer(address_); }
  /// The server still serves.
  void expect_well() {
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send("GET /echo?well HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(peer.read_response().body, "well");
  }

  HttpServerOptions options_{.listen = {"127.0.0.1:0"}, .tls = {}, .limits = {}};
  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

}  // namespace drover
