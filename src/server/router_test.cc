#include "server/router.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "server/job_board.h"
#include "wire/digest.h"

namespace drover {
namespace {

class Exchange : public HttpExchange {
 public:
  void resume(std::move_only_function<void()> work) override { work(); }
  void send(HttpResponse response) override { answer = std::move(response); }
  void send(HttpResponse head, std::unique_ptr<HttpBodySource> /*body*/) override { answer = std::move(head); }
  void send(HttpResponse head, HttpFilePart /*body*/) override { answer = std::move(head); }
  std::shared_ptr<HttpStream> stream(HttpResponse head) override {
    answer = std::move(head);
    return nullptr;
  }
  bool peer_is_gone() const override { return false; }
  void when_peer_leaves(std::function<void()> /*call*/) override {}

  std::optional<HttpResponse> answer;
};

class Sink : public HttpBodySink {
 public:
  Result<void> take(std::string_view /*bytes*/) override { return {}; }
  Result<void> finish() override { return {}; }
};

/// Owns what is below its path, and says by whom it was asked.
class Named : public Service {
 public:
  Named(std::string path, std::map<std::string, int>& resolved) : path_(std::move(path)), resolved_(resolved) {}

  bool owns(const HttpHead& head) const override { return head.path.starts_with(path_); }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override {
    ++resolved_[path_];
    if (head.path.ends_with("/none")) {
      return std::unexpected(problem({ErrorCode::not_found, "there is no such call", {}}));
    }
    ServiceCall call{
        .needs = Permission{Action::submit, "do this"},
        .most_bytes = std::uint64_t{1} << 30,
        .log = LogRequests::none,
        .handle = [this](HttpRequest request, HttpReply reply, const Asker& asker) {
          reply.send({.status = 200, .headers = {}, .body = concat(path_, " ", asker.owner(), " ", request.body)});
        }};
    if (head.path.ends_with("/open")) call.needs.reset();
    if (head.path.ends_with("/stream")) call.sink = std::make_unique<Sink>();
    return call;
  }
  HttpResponse error(const HttpHead& /*head*/, int status, const Error& error) const override {
    return {.status = status, .headers = {}, .body = concat(path_, ": ", error.message)};
  }

 private:
  const std::string path_;
  std::map<std::string, int>& resolved_;
};

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    for (const char* path : {"/a/", "/b/", "/"}) services_.push_back(std::make_unique<Named>(path, resolved_));
  }

  /// A bearer is good while it is among `keys`; what is signed is only claimed until the body is there, which has to
  /// say "signed".
  std::expected<Identity, Refusal> identify(const HttpHead& head) {
    ++identified_;
    const auto refused = [](const char* why) { return std::unexpected(Refusal{{ErrorCode::denied, why, {}}}); };
    const std::string* shown = head.header("Authorization");
    if (shown == nullptr) return refused("a key is required");
    if (*shown == "signed") {
      return Identity{.caller = {.scope = Scope::submit, .key_id = "S"},
                      .verify = [refused](std::string_view body) -> std::expected<void, Refusal> {
                        if (body == "signed") return {};
                        return refused("the signature does not match");
                      }};
    }
    if (*shown == "stated") {
      return Identity{
          .caller = {.scope = Scope::submit, .key_id = "S"},
          .verify = [](std::string_view) -> std::expected<void, Refusal> { return {}; },
          .signed_head = aws::VerifiedHead{.payload = aws::PayloadForm::hashed, .body_sha256 = hex(sha256("signed"))}};
    }
    const auto key = keys_.find(*shown);
    if (key == keys_.end()) return refused("unknown key");
    return Identity{.caller = key->second, .is_valid = [this, shown = *shown] { return keys_.contains(shown); }};
  }

  static HttpHead head(const std::string& path, const std::string& key) {
    HttpHead out{.method = "POST", .path = path, .query = {}, .headers = {}, .peer = "peer"};
    if (!key.empty()) out.headers.push_back({"Authorization", key});
    return out;
  }
  HttpPlan plan(const std::string& path, const std::string& key) { return router_.plan(head(path, key)); }
  HttpResponse answer(const std::string& path, const std::string& key, const std::string& body) {
    HttpPlan planned = plan(path, key);
    if (planned.refusal) return *planned.refusal;
    return answer(std::move(planned), head(path, key), body);
  }
  static HttpResponse answer(HttpPlan planned, HttpHead head, const std::string& body) {
    const auto exchange = std::make_shared<Exchange>();
    planned.handle({.head = std::move(head), .body = body, .sink = nullptr}, HttpReply(exchange));
    return exchange->answer.value_or(HttpResponse{.status = 0, .headers = {}, .body = {}});
  }

  std::map<std::string, Caller> keys_ = {{"submit", {.scope = Scope::submit, .key_id = "K", .label = "ci"}},
                                         {"read", {.scope = Scope::read, .key_id = "R"}}};
  std::map<std::string, int> resolved_;
  int identified_ = 0;
  std::vector<std::unique_ptr<Service>> services_;
  JobBoard board_;
  Metrics metrics_{{.board = board_,
                    .workers = [] { return std::vector<WorkerView>(); },
                    .dropped_log_entries = [] { return std::uint64_t{0}; },
                    .folder = "/"}};
  ServerLog log_{ServerLog::Form::text};
  Router router_{services_, [this](const HttpHead& it) { return identify(it); }, metrics_, log_};
};

TEST_F(RouterTest, TheFirstServiceThatOwnsARequestGetsItAndResolvesItOnce) {
  EXPECT_EQ(answer("/a/x", "submit", "body").body, "/a/ ci body");
  EXPECT_EQ(answer("/b/x", "submit", "").body, "/b/ ci ");
  EXPECT_EQ(answer("/else", "submit", "").body, "/ ci ");
  EXPECT_EQ(resolved_, (std::map<std::string, int>{{"/a/", 1}, {"/b/", 1}, {"/", 1}}));
  EXPECT_EQ(identified_, 3);
}

TEST_F(RouterTest, ErrorsAreInTheWordsOfTheService) {
  EXPECT_EQ(answer("/a/x", "", "").body, "/a/: a key is required");
  EXPECT_EQ(answer("/b/x", "nobody", "").status, 401);
  const HttpResponse forbidden = answer("/b/x", "read", "");
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_TRUE(forbidden.body.starts_with("/b/: permission denied")) << forbidden.body;
}

TEST_F(RouterTest, WhatThereIsIsToldOnlyToThoseWithAKey) {
  EXPECT_EQ(answer("/a/none", "", "").status, 401);
  EXPECT_EQ(answer("/a/none", "submit", "").status, 404);
  services_.pop_back();
  EXPECT_EQ(answer("/else", "", "").status, 401);
  EXPECT_EQ(answer("/else", "submit", "").status, 404);
}

TEST_F(RouterTest, ACallWithoutAKeyIsAStrangers) {
  const HttpPlan open = plan("/a/open", "");
  EXPECT_FALSE(open.refusal);
  EXPECT_TRUE(open.is_from_stranger);
  EXPECT_FALSE(open.holder);
  const HttpPlan known = plan("/a/x", "submit");
  EXPECT_FALSE(known.is_from_stranger);
  EXPECT_EQ(known.holder.value_or(Holder{}).name, "K");
  EXPECT_EQ(known.most_bytes, std::uint64_t{1} << 30);
}

TEST_F(RouterTest, AKeyThatIsRemovedWhileTheBodyComesIsNotServed) {
  HttpPlan planned = plan("/a/x", "submit");
  keys_.erase("submit");
  EXPECT_EQ(answer(std::move(planned), head("/a/x", "submit"), "body").status, 401);
}

TEST_F(RouterTest, AClaimedCallerIsAStrangerUntilTheBodyVerifiesIt) {
  HttpPlan planned = plan("/a/x", "signed");
  EXPECT_TRUE(planned.is_from_stranger);
  EXPECT_FALSE(planned.holder);
  EXPECT_EQ(planned.most_bytes, kMostUnverifiedBytes);
  EXPECT_EQ(answer(std::move(planned), head("/a/x", "signed"), "signed").body, "/a/ S signed");
  const HttpResponse forged = answer("/a/x", "signed", "forged");
  EXPECT_EQ(forged.status, 401);
  EXPECT_EQ(forged.body, "/a/: the signature does not match");
  // What goes to a disk while it comes would be there before anybody knows whose it is.
  EXPECT_EQ(answer("/a/stream", "signed", "signed").status, 400);
}

TEST_F(RouterTest, ABodyOnItsWayToADiskIsHeldAgainstWhatTheSignedHeadSays) {
  const auto send = [&](std::string_view body) {
    HttpPlan planned = plan("/a/stream", "stated");
    EXPECT_FALSE(planned.is_from_stranger);
    EXPECT_TRUE(planned.sink->take(body.substr(0, 3)));
    EXPECT_TRUE(planned.sink->take(body.substr(3)));
    EXPECT_EQ(planned.sink->finish().has_value(), body == "signed");
    const auto exchange = std::make_shared<Exchange>();
    planned.handle({.head = head("/a/stream", "stated"), .body = {}, .sink = std::move(planned.sink)},
                   HttpReply(exchange));
    return exchange->answer->status;
  };
  EXPECT_EQ(send("signed"), 200);
  EXPECT_EQ(send("forged"), 401);
}

}  // namespace
}  // namespace drover
