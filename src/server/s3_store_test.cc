// The client of S3 against this server's S3, over a network that fails in every way it can; or against any other that
// $DROVER_TEST_S3 names, "ADDRESS ID SECRET", as tests/test_s3_store.py does.
#include "objects/s3_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "net/http_client.h"
#include "objects/object_contract.h"
#include "ports/image_resolver.h"
#include "server/server.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

enum class Trouble : std::uint8_t { none, throttled, reset, cut_off, damaged, late_failure };

/// Passes calls on, and spoils one in so many.
class SpoiledHttp : public HttpClient {
 public:
  SpoiledHttp(std::unique_ptr<HttpClient> real, Trouble trouble, std::uint64_t one_in)
      : real_(std::move(real)), trouble_(trouble), one_in_(one_in) {}

  Result<HttpResponse> call(const HttpCall& call) override {
    const bool spoils = trouble_ != Trouble::none && random_.below(one_in_) == 0;
    if (!spoils) return real_->call(call);
    ++spoiled;
    switch (trouble_) {
      case Trouble::throttled:
        return HttpResponse{
            503, {}, "<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"};
      case Trouble::reset: return fail(ErrorCode::io, "connection reset by peer");
      case Trouble::late_failure: {
        auto done = real_->call(call);  // it was done, and nobody hears of it
        return fail(ErrorCode::timeout, "no answer came");
      }
      case Trouble::cut_off: {
        if (!call.take) return real_->call(call);
        HttpCall half = call;
        std::size_t left = 1000;
        half.take = [&](std::string_view bytes) -> Result<void> {
          const std::string_view some = bytes.substr(0, std::exchange(left, left - std::min(left, bytes.size())));
          if (auto taken = call.take(some); !taken) return taken;
          if (some.size() < bytes.size()) return fail(ErrorCode::io, "the connection broke off");
          return {};
        };
        auto answer = real_->call(half);
        return answer;
      }
      case Trouble::damaged: {
        if (!call.take) return real_->call(call);
        HttpCall wrong = call;
        wrong.take = [&](std::string_view bytes) {
          std::string changed(bytes);
          changed[changed.size() / 2] ^= 1;
          return call.take(changed);
        };
        return real_->call(wrong);
      }
      case Trouble::none: break;
    }
    return real_->call(call);
  }
  void abort() override { real_->abort(); }

  std::uint64_t spoiled = 0;

 private:
  std::unique_ptr<HttpClient> real_;
  const Trouble trouble_;
  const std::uint64_t one_in_;
  Random random_{7};
};

/// There are no images here.
class NoImages : public ImageResolver {
 public:
  void resolve(const std::string& /*image*/, Resolved resolved) override {
    resolved(fail(ErrorCode::not_found, "there are no images"));
  }
  void stop() override {}
};

class S3StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* other = std::getenv("DROVER_TEST_S3")) {
      std::istringstream(other) >> address_ >> id_ >> secret_;
      return;
    }
    fs::create_directories(folder_);
    ServerOptions options;
    options.data = folder_;
    options.listen = {"127.0.0.1:0"};
    options.min_free_bytes = 0;
    options.make_image_resolver = [] { return std::make_unique<NoImages>(); };
    auto started = Server::start(options);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    address_ = server_->addresses().front();
    std::ifstream keys(folder_ + "/server/keys.json");
    std::stringstream text;
    text << keys.rdbuf();
    const auto first = boost::json::parse(text.str()).at("keys").at(0);
    id_ = first.at("id").as_string();
    secret_ = first.at("secret").as_string();
  }
  void TearDown() override {
    server_.reset();
    fs::remove_all(folder_);
  }

  /// A bucket of its own.
  std::unique_ptr<S3Store> store(const std::string& bucket, Trouble trouble = Trouble::none, std::uint64_t one_in = 4) {
    auto http = make_http_client({.base = address_, .token = {}, .ca_pem = {}});
    EXPECT_TRUE(http);
    auto spoiled = std::make_unique<SpoiledHttp>(std::move(*http), trouble, one_in);
    spoiled_ = spoiled.get();
    return std::make_unique<S3Store>(
        S3Store::Place{address_, "us-east-1", bucket},
        S3Store::Outside{.http = std::move(spoiled),
                         .credentials = [this](bool) -> Result<S3Credentials> { return S3Credentials{id_, secret_}; },
                         .now_ms =
                             [] {
                               return std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                   .count();
                             },
                         .sleep = [this](std::int64_t ms) { slept_ms_ += ms; }});
  }

  const std::string folder_ = concat(fs::temp_directory_path().string(), "/drover-s3-store-", ::getpid());
  std::unique_ptr<Server> server_;
  std::string address_;
  std::string id_;
  std::string secret_;
  SpoiledHttp* spoiled_ = nullptr;
  std::int64_t slept_ms_ = 0;
};

TEST_F(S3StoreTest, DoesWhatEveryStoreDoes) {
  auto plain = store("plain");
  ASSERT_TRUE(plain->create_bucket());
  expect_contract(*plain);
}

TEST_F(S3StoreTest, WhatPassesIsTriedAgain) {
  for (const Trouble trouble : {Trouble::throttled, Trouble::reset, Trouble::cut_off, Trouble::late_failure}) {
    const std::string bucket = concat("bucket-", static_cast<int>(trouble));
    ASSERT_TRUE(store(bucket)->create_bucket());
    auto troubled = store(bucket, trouble);
    expect_contract(*troubled);
    EXPECT_GT(spoiled_->spoiled, 10U);
    EXPECT_GT(slept_ms_, 0);
  }
}

TEST_F(S3StoreTest, ABodyThatIsNotTheObjectIsNamed) {
  auto right = store("damaged");
  ASSERT_TRUE(right->create_bucket());
  const std::string small = some_bytes(1, 1000);
  const std::string large = some_bytes(2, 20 << 20);
  ASSERT_TRUE(right->put({.key = "small"}, bytes_from(small)));
  ASSERT_TRUE(right->put({.key = "large"}, bytes_from(large)));
  EXPECT_TRUE(text_of(*right, "large") == large);
  auto wrong = store("damaged", Trouble::damaged, 1);
  EXPECT_EQ(wrong->get("small", {}, [](std::string_view) { return Result<void>(); }).error().code, ErrorCode::damaged);
}

TEST_F(S3StoreTest, AnObjectThatIsReplacedWhileItIsReadIsSaidToBe) {
  auto one = store("replaced");
  ASSERT_TRUE(one->create_bucket());
  ASSERT_TRUE(one->put({.key = "k"}, bytes_from(some_bytes(1, 8 << 20))));
  auto troubled = store("replaced", Trouble::cut_off, 1);
  bool was_replaced = false;
  const auto got = troubled->get("k", {}, [&](std::string_view) -> Result<void> {
    if (!std::exchange(was_replaced, true)) {
      EXPECT_TRUE(one->put({.key = "k"}, bytes_from(some_bytes(2, 8 << 20))));
    }
    return {};
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::conflict) << got.error().message;
}

TEST_F(S3StoreTest, ErrorsNameTheThing) {
  const auto missing = store("nowhere")->head("k");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_TRUE(missing.error().message.starts_with("s3://nowhere/k: ")) << missing.error().message;
  secret_ = "wrong";
  const auto denied = store("nowhere")->list({});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, ErrorCode::denied);
  EXPECT_TRUE(denied.error().message.contains("SignatureDoesNotMatch")) << denied.error().message;
}

}  // namespace
}  // namespace drover
