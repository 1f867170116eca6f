#include "api/health/health.h"

namespace drover {
namespace {

constexpr std::uint64_t kLargestBody = std::uint64_t{64} << 10;  // nobody reads it

HttpResponse text(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(body)};
}

}  // namespace

bool Health::owns(const HttpHead& head) const {
  return head.path == "/healthz" || head.path == "/readyz" || head.path == "/";
}

std::expected<ServiceCall, HttpResponse> Health::resolve(const HttpHead& /*head*/) {
  return ServiceCall{.needs = std::nullopt,
                     .most_bytes = kLargestBody,
                     .log = LogRequests::none,
                     .handle = [this](const HttpRequest& request, HttpReply reply, const Asker& /*asker*/) {
                       reply.send(answer(request.head.path));
                     }};
}

HttpResponse Health::answer(std::string_view path) const {
  if (path == "/healthz") return text(200, "ok\n");
  if (path == "/readyz") return ready_ ? text(200, "ready\n") : text(503, "not ready\n");
  return text(200,
              "Drover: a batch runner.\n\n"
              "API      /api/v1/ lists the calls, /api/v1/openapi.yaml describes them; both require a key\n"
              "docs     docs/quick-start.md introduces Drover, docs/api.md the API\n"
              "health   /healthz, /readyz, /metrics\n"
              "CLI      drover submit, status, logs; drover --help\n");
}

}  // namespace drover
