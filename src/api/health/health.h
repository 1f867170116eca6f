// Whether the server is up (/healthz) and ready (/readyz), and what it is (/). For everybody.
#pragma once

#include <atomic>

#include "api/service.h"

namespace drover {

class Health : public Service {
 public:
  bool owns(const HttpHead& head) const override;
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;

  /// From any thread. Until it is called the server is not ready.
  void set_ready(bool ready) { ready_ = ready; }

 private:
  HttpResponse answer(std::string_view path) const;

  std::atomic<bool> ready_ = false;
};

}  // namespace drover
