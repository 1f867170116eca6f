#include "worker/interruption_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/text.h"

namespace drover {
namespace {

/// A metadata service that a test makes up.
struct Service {
  std::mutex mutex;
  std::map<std::string, std::string> documents;
  std::string token = "t1";
  std::vector<std::string> asked;
};

class ServiceClient : public HttpClient {
 public:
  explicit ServiceClient(std::shared_ptr<Service> service) : service_(std::move(service)) {}

  Result<HttpResponse> call(const HttpCall& call) override {
    const std::scoped_lock lock(service_->mutex);
    service_->asked.push_back(concat(call.method, " ", call.path));
    if (call.method == "PUT") return HttpResponse{.status = 200, .headers = {}, .body = service_->token};
    const bool may = !call.headers.empty() && call.headers[0].value == service_->token;
    if (!may) return HttpResponse{.status = 401, .headers = {}, .body = {}};
    const auto it = service_->documents.find(call.path);
    if (it == service_->documents.end()) return HttpResponse{.status = 404, .headers = {}, .body = {}};
    return HttpResponse{.status = 200, .headers = {}, .body = it->second};
  }
  void abort() override {}

 private:
  const std::shared_ptr<Service> service_;
};

constexpr const char* kNotice = "/latest/meta-data/spot/instance-action";
constexpr const char* kRecommendation = "/latest/meta-data/events/recommendations/rebalance";

class InterruptionWatchTest : public ::testing::Test {
 protected:
  std::unique_ptr<InterruptionWatch> start(std::map<std::string, std::string> variables = {
                                               {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://stand-in"}}) {
    return InterruptionWatch::start(
        [variables](const std::string& name) -> std::optional<std::string> {
          const auto it = variables.find(name);
          return it == variables.end() ? std::nullopt : std::optional(it->second);
        },
        [this](const std::string&) -> Result<std::unique_ptr<HttpClient>> {
          return std::make_unique<ServiceClient>(service_);
        },
        [this](Interruption told) {
          const std::scoped_lock lock(service_->mutex);
          told_.push_back(std::move(told));
        });
  }
  void document(const std::string& path, const std::string& text) {
    const std::scoped_lock lock(service_->mutex);
    service_->documents[path] = text;
  }
  std::vector<Interruption> wait_for(std::size_t count) {
    for (int turn = 0; turn < 2000; ++turn) {
      {
        const std::scoped_lock lock(service_->mutex);
        if (told_.size() >= count) return told_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  const std::shared_ptr<Service> service_ = std::make_shared<Service>();
  std::vector<Interruption> told_;
};

TEST_F(InterruptionWatchTest, TellsOfANoticeAndOfWhenTheMachineGoes) {
  document(kNotice, R"({"action": "terminate", "time": "2026-11-19T08:22:00Z"})");
  const auto watch = start();
  const auto told = wait_for(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], (Interruption{"Amazon will terminate this machine at 2026-11-19T08:22:00Z", 1'795'076'520'000}));
  EXPECT_EQ(service_->asked[0], "PUT /latest/api/token");
}

TEST_F(InterruptionWatchTest, ARecommendationIsNoEndAndComesOnce) {
  document(kRecommendation, R"({"noticeTime": "2026-11-19T08:20:00Z"})");
  const auto watch = start();
  ASSERT_EQ(wait_for(1).size(), 1U);
  document(kNotice, R"({"action": "stop", "time": "2026-11-19T08:22:00Z"})");
  const auto told = wait_for(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].at_ms, 0);
  EXPECT_GT(told[1].at_ms, 0);
}

TEST_F(InterruptionWatchTest, ATokenThatIsNoLongerTakenIsRenewed) {
  const auto watch = start();
  for (int turn = 0; turn < 2000; ++turn) {
    const std::scoped_lock lock(service_->mutex);
    if (service_->asked.size() >= 3) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  {
    const std::scoped_lock lock(service_->mutex);
    service_->token = "t2";
  }
  document(kNotice, R"({"action": "terminate", "time": "2026-11-19T08:22:00Z"})");
  EXPECT_EQ(wait_for(1).size(), 1U);
}

TEST_F(InterruptionWatchTest, IsNotThereWhereItIsTurnedOff) {
  EXPECT_EQ(start({{"AWS_EC2_METADATA_DISABLED", "TRUE"}, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://x"}}), nullptr);
}

TEST(SpotNotice, WhatIsNoNoticeIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"action": "terminate"})", R"({"action": "terminate", "time": "soon"})"}) {
    EXPECT_FALSE(spot_notice(text)) << text;
  }
}

}  // namespace
}  // namespace drover
