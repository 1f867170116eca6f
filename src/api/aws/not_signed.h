// Requests in the words of an AWS client that carry no signature at all.
#pragma once

#include "api/aws/fault.h"
#include "api/service.h"
#include "base/entropy.h"

namespace drover::aws {

class NotSigned : public Service {
 public:
  bool owns(const HttpHead& head) const override {
    return head.path == "/" && head.method != "GET" && head.method != "HEAD";
  }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& /*head*/) override {
    return std::unexpected(answer({"InvalidAction", "the request is for no service that there is", 400}));
  }
  HttpResponse refuse(const Refusal& refusal) const override {
    if (refusal.signature) return answer(signature_fault(Protocol::query, *refusal.signature));
    return answer({"MissingAuthenticationToken",
                   "the request is not signed; 'drover env-vars' prints a key for AWS clients", 403});
  }

 private:
  static HttpResponse answer(const Fault& fault) {
    return fault_response(Protocol::query, fault, random_uuid().text());
  }
};

}  // namespace drover::aws
