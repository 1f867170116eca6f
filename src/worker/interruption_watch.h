// Asks Amazon's metadata service, on a thread of its own, whether the machine is about to be taken away: version 2 of
// the service, spot notices and recommendations to rebalance.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "ports/http_client.h"

namespace drover {

struct Interruption {
  std::string what;        // for people: "Amazon will terminate this machine at 2026-11-19T08:22:00Z"
  std::int64_t at_ms = 0;  // epoch; 0: some time, or never
  bool operator==(const Interruption&) const = default;
};

class InterruptionWatch {
 public:
  using Http = std::function<Result<std::unique_ptr<HttpClient>>(const std::string& base)>;
  /// Called on the thread: once for a recommendation, and once for a notice, after which nothing more is asked.
  using Tell = std::function<void(Interruption)>;

  /// Null: this is no machine of Amazon's, as far as its firmware and `variable` say.
  static std::unique_ptr<InterruptionWatch> start(
      const std::function<std::optional<std::string>(const std::string& name)>& variable, Http http, Tell tell);
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

 private:
  InterruptionWatch(std::string base, Http http, Tell tell);

  void look();
  /// The body of a document of the service; nothing: there is none, or no answer.
  std::optional<std::string> get(const std::string& path);
  bool renew_token();

  const std::string base_;
  const Http http_;
  const Tell tell_;
  std::unique_ptr<HttpClient> client_;  // of the thread alone, but for abort()
  std::string token_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool wanted_ = true;
  std::thread thread_;
};

/// The service's own words for a notice.
Result<Interruption> spot_notice(std::string_view json);

}  // namespace drover
