// GET /metrics: the server's figures, for Prometheus.
#pragma once

#include <functional>
#include <string>

#include "api/service.h"
#include "ports/backend.h"

namespace drover {

class MetricsPage : public Service {
 public:
  /// `text` may wait for disks.
  MetricsPage(Backend& backend, std::function<std::string()> text) : backend_(backend), text_(std::move(text)) {}

  bool owns(const HttpHead& head) const override { return head.path == "/metrics"; }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;

 private:
  Backend& backend_;
  const std::function<std::string()> text_;
};

}  // namespace drover
