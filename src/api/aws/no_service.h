// Requests in the words of an AWS client that none of the services here owns: of a service that is not there, or
// without a signature that would say of which.
#pragma once

#include "api/aws/fault.h"
#include "api/aws/scope.h"
#include "api/service.h"
#include "base/text.h"
#include "base/utf8.h"
#include "ports/entropy.h"

namespace drover::aws {

class NoService : public Service {
 public:
  bool owns(const HttpHead& head) const override {
    const bool is_ours = head.path.starts_with("/api/") || head.path.starts_with("/worker/");
    if (!is_ours && !signed_service(head).empty()) return true;
    return head.path == "/" && head.method != "GET" && head.method != "HEAD";
  }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override {
    const std::string service = signed_service(head);
    return std::unexpected(answer({"InvalidAction",
                                   service.empty() ? "the request does not say which service it is for"
                                                   : concat("the service '", utf8(service), "' is not available here"),
                                   400}));
  }
  HttpResponse refuse(const HttpHead& /*head*/, const Refusal& refusal) const override {
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
