// Every request comes here first: which service it is for, who sends it, and whether they may.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/identity.h"
#include "api/service.h"
#include "ports/http.h"
#include "server/failure_log.h"
#include "server/metrics.h"

namespace drover {

/// What is done before and after requests that came together, on an I/O thread.
struct Turns {
  std::function<void()> begin = [] {};
  std::function<void()> end = [] {};
};

class Router : public HttpHandler {
 public:
  /// The first service that owns a request gets it.
  Router(const std::vector<std::unique_ptr<Service>>& services, Identify identify, Metrics& metrics, ServerLog& log,
         Turns turns = {})
      : services_(services),
        identify_(std::move(identify)),
        metrics_(metrics),
        log_(log),
        failures_(log),
        turns_(std::move(turns)) {}

  HttpPlan plan(const HttpHead& head) override;
  void begin_turn() override { turns_.begin(); }
  void end_turn() override { turns_.end(); }

 private:
  Service* owner_of(const HttpHead& head) const;
  /// Who sends it, as far as the head shows; else what they are answered.
  std::expected<Identity, HttpResponse> admit(const HttpHead& head, Service& service,
                                              const std::expected<ServiceCall, HttpResponse>& call) const;
  RequestLine line_of(const HttpHead& head);
  HttpPlan refuse(const HttpHead& head, HttpResponse answer);

  const std::vector<std::unique_ptr<Service>>& services_;
  const Identify identify_;
  Metrics& metrics_;
  ServerLog& log_;
  FailureLog failures_;
  const Turns turns_;
  SystemSteadyClock steady_;
};

}  // namespace drover
