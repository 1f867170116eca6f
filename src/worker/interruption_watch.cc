#include "worker/interruption_watch.h"

#include <boost/json.hpp>
#include <chrono>
#include <fstream>

#include "base/text.h"
#include "wire/aws/times.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr std::string_view kServiceAddress = "http://169.254.169.254";
constexpr const char* kNotice = "/latest/meta-data/spot/instance-action";
constexpr const char* kRecommendation = "/latest/meta-data/events/recommendations/rebalance";
// A notice comes two minutes ahead.
constexpr std::chrono::seconds kServiceInterval(2);
constexpr std::int64_t kServicePatienceMs = 1'000;

bool is_amazons() {
  std::string vendor;
  std::getline(std::ifstream("/sys/devices/virtual/dmi/id/sys_vendor"), vendor);
  std::string hypervisor;
  std::getline(std::ifstream("/sys/hypervisor/uuid"), hypervisor);
  return vendor == "Amazon EC2" || hypervisor.starts_with("ec2");
}

}  // namespace

Result<Interruption> spot_notice(std::string_view text) {
  json::error_code error;
  const json::value said = json::parse(text, error);
  const json::value* action = !error && said.is_object() ? said.get_object().if_contains("action") : nullptr;
  const json::value* time = action != nullptr ? said.get_object().if_contains("time") : nullptr;
  if (action == nullptr || !action->is_string() || time == nullptr || !time->is_string()) {
    return fail(ErrorCode::damaged, concat("the metadata service gave something else than a notice: ", text));
  }
  const std::string when(time->get_string());
  const auto at_ms = aws::parse_iso_time(when);
  if (!at_ms) return fail(ErrorCode::damaged, concat("the metadata service gave something else than a time: ", when));
  return Interruption{concat("Amazon will ", action->get_string(), " this machine at ", when), *at_ms};
}

std::unique_ptr<InterruptionWatch> InterruptionWatch::start(
    const std::function<std::optional<std::string>(const std::string& name)>& variable, Http http, Tell tell) {
  if (is_same_but_for_case(variable("AWS_EC2_METADATA_DISABLED").value_or(""), "true")) return nullptr;
  const auto elsewhere = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (!elsewhere && !is_amazons()) return nullptr;
  return std::unique_ptr<InterruptionWatch>(
      new InterruptionWatch(elsewhere.value_or(std::string(kServiceAddress)), std::move(http), std::move(tell)));
}

InterruptionWatch::InterruptionWatch(std::string base, Http http, Tell tell)
    : base_(std::move(base)), http_(std::move(http)), tell_(std::move(tell)) {
  thread_ = std::thread([this] { look(); });
}

InterruptionWatch::~InterruptionWatch() {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = false;
    if (client_) client_->abort();
  }
  wake_.notify_all();
  thread_.join();
}

bool InterruptionWatch::renew_token() {
  auto answer = client_->call({.method = "PUT",
                               .path = "/latest/api/token",
                               .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                               .deadline_ms = kServicePatienceMs});
  if (!answer || answer->status != 200) return false;
  token_ = std::move(answer->body);
  return true;
}

std::optional<std::string> InterruptionWatch::get(const std::string& path) {
  for (const bool is_again : {false, true}) {
    if ((is_again || token_.empty()) && !renew_token()) return std::nullopt;
    auto answer = client_->call(
        {.path = path, .headers = {{"X-aws-ec2-metadata-token", token_}}, .deadline_ms = kServicePatienceMs});
    if (!answer) return std::nullopt;
    if (answer->status == 200) return std::move(answer->body);
    if (answer->status != 401) return std::nullopt;  // a token lives for six hours
  }
  return std::nullopt;
}

void InterruptionWatch::look() {
  bool is_recommended = false;
  std::unique_lock lock(mutex_);
  while (wanted_) {
    if (!client_) {
      auto client = http_(base_);
      if (client) client_ = std::move(*client);
    }
    std::optional<Interruption> told;
    bool is_notice = false;
    lock.unlock();
    if (client_) {
      if (const auto body = get(kNotice)) {
        if (auto notice = spot_notice(*body)) {
          told = std::move(*notice);
          is_notice = true;
        }
      }
      if (!told && !is_recommended && get(kRecommendation)) {
        is_recommended = true;
        told = Interruption{"Amazon recommends replacing this machine: it is at elevated risk of interruption", 0};
      }
    }
    if (told) tell_(std::move(*told));
    lock.lock();
    if (is_notice) return;
    wake_.wait_for(lock, kServiceInterval, [this] { return !wanted_; });
  }
}

}  // namespace drover
