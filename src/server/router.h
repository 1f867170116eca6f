// Every request comes here first: who is it, may they, and whose business is it.
#pragma once

#include <atomic>
#include <expected>
#include <functional>
#include <string>

#include "api/native.h"
#include "keys/key_ring.h"
#include "ports/http.h"
#include "server/failure_log.h"
#include "server/key_calls.h"
#include "server/worker_calls.h"

namespace drover {

class Router : public HttpHandler {
 public:
  /// Figures, and how to look them up where one may wait for disks.
  struct Figures {
    Metrics& metrics;
    std::function<void(std::function<void()>)> later;
  };
  Router(KeyRing& keys, NativeApi& api, WorkerCalls& workers, KeyCalls& key_calls, Figures figures, ServerLog& log,
         std::function<std::int64_t()> now_ms, std::string version)
      : keys_(keys),
        api_(api),
        workers_(workers),
        key_calls_(key_calls),
        figures_(std::move(figures)),
        log_(log),
        failures_(log),
        now_ms_(std::move(now_ms)),
        version_(std::move(version)) {}

  HttpBodyPlan plan(const HttpHead& head) override;
  void handle(HttpRequest request, HttpReply reply) override;

  /// While it is not ready it says so to those who ask.
  void set_ready(bool ready) { ready_ = ready; }

 private:
  /// Who asks, if they may; else what they are answered. Of what takes no key nobody is asked.
  std::expected<Caller, HttpResponse> admit(const HttpHead& head) const;

  RequestLine line_of(const HttpHead& head);

  KeyRing& keys_;
  NativeApi& api_;
  WorkerCalls& workers_;
  KeyCalls& key_calls_;
  const Figures figures_;
  ServerLog& log_;
  FailureLog failures_;
  const std::function<std::int64_t()> now_ms_;
  const std::string version_;
  SystemSteadyClock steady_;
  std::atomic<bool> ready_ = false;
};

}  // namespace drover
