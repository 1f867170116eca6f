#include "net/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <random>

#include "base/text.h"
#include "net/backoff.h"
#include "net/curl_transfer.h"

namespace drover {
namespace {

using Clock = std::chrono::steady_clock;

/// Waiting for a socket is cut into pieces: curl has timers of its own that it does not always tell of.
constexpr std::int64_t kLongestPollMs = 1'000;

bool is_worth_repeating(const Result<HttpResponse>& outcome) {
  if (outcome) return outcome->status == 429 || (outcome->status >= 502 && outcome->status <= 504);
  const ErrorCode code = outcome.error().code;
  return code == ErrorCode::unreachable || code == ErrorCode::io || code == ErrorCode::timeout;
}

/// Until when a call may take.
class Deadline {
 public:
  explicit Deadline(std::int64_t ms) : exists_(ms > 0), at_(Clock::now() + std::chrono::milliseconds(ms)) {}

  bool exists() const { return exists_; }
  /// Milliseconds; never less than one, which is the least that curl does not take for "none".
  std::int64_t remaining_ms() const {
    if (!exists_) return std::numeric_limits<int>::max();
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count());
  }
  bool comes_before(std::int64_t wait_ms) const { return exists_ && remaining_ms() <= wait_ms; }

 private:
  bool exists_;
  Clock::time_point at_;
};

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(CurlTarget target)
      : target_(std::move(target)), multi_(curl_multi_init()), easy_(curl_easy_init()) {}

  bool is_complete() const { return multi_ && easy_; }
  Result<HttpResponse> call(const HttpCall& call) override;
  void abort() override {
    aborted_ = true;
    curl_multi_wakeup(multi_.get());
  }

 private:
  Result<HttpResponse> call_once(CurlTransfer& transfer);
  CURLcode run_transfer();
  Result<void> wait(std::int64_t ms);

  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  const CurlTarget target_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::atomic<bool> aborted_ = false;
};

std::unexpected<Error> was_aborted() {
  return fail(ErrorCode::stopped, "the call was abandoned");
}

Result<HttpResponse> CurlClient::call(const HttpCall& call) {
  const Deadline deadline(call.deadline_ms);
  Backoff backoff(std::random_device{}());
  while (true) {
    if (aborted_) return was_aborted();
    CurlTransfer transfer(easy_.get(), target_, call);
    if (auto ready = transfer.prepare(deadline.exists() ? deadline.remaining_ms() : 0); !ready) return pass(ready);
    Result<HttpResponse> outcome = call_once(transfer);
    const bool may_repeat = call.may_repeat && !call.body_source && !transfer.was_partly_taken();
    if (!may_repeat || !is_worth_repeating(outcome)) return outcome;
    const std::int64_t wait_ms = backoff.next_ms(outcome ? transfer.retry_after_ms() : 0);
    if (deadline.comes_before(wait_ms)) return outcome;
    if (auto waited = wait(wait_ms); !waited) return pass(waited);
  }
}

Result<HttpResponse> CurlClient::call_once(CurlTransfer& transfer) {
  curl_multi_add_handle(multi_.get(), easy_.get());
  const CURLcode code = run_transfer();
  Result<HttpResponse> outcome =
      aborted_ && code != CURLE_OK ? Result<HttpResponse>(was_aborted()) : transfer.outcome(code);
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return outcome;
}

/// Until curl is done with it, or abort().
CURLcode CurlClient::run_transfer() {
  int running = 1;
  while (!aborted_) {
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(kLongestPollMs), nullptr);
  }
  return CURLE_ABORTED_BY_CALLBACK;
}

Result<void> CurlClient::wait(std::int64_t ms) {
  const Deadline end(ms);
  while (!aborted_ && !end.comes_before(1)) {
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(std::min(end.remaining_ms(), kLongestPollMs)), nullptr);
  }
  if (aborted_) return was_aborted();
  return {};
}

}  // namespace

Result<std::unique_ptr<HttpClient>> make_http_client(const ClientOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_ALL); });
  auto target = CurlTarget::make(options);
  if (!target) return pass(target);
  auto client = std::make_unique<CurlClient>(std::move(*target));
  if (!client->is_complete()) return fail(ErrorCode::io, "cannot set up an HTTP client: out of memory");
  return client;
}

}  // namespace drover
