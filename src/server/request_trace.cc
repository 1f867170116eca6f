#include "server/request_trace.h"

#include <atomic>

#include "base/text.h"
#include "ports/entropy.h"
#include "wire/problem_json.h"

namespace drover {
namespace {

constexpr std::string_view kHeader = "X-Request-Id";
constexpr std::size_t kLongestId = 128;

bool is_sane(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == ':' || c == '-';
  });
}

/// 16 hex digits: where this server began, and how many came before.
std::string new_id() {
  static std::atomic<std::uint64_t> next = random_number();
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint64_t number = next++;
  std::string id(16, '0');
  for (auto it = id.rbegin(); it != id.rend(); ++it, number >>= 4) *it = digits[number & 15];
  return id;
}

class TracedExchange final : public HttpExchange {
 public:
  TracedExchange(HttpReply reply, RequestLine line, LogRequests which, ServerLog& log, FailureLog& failures,
                 Metrics& metrics)
      : reply_(std::move(reply)),
        line_(std::move(line)),
        which_(which),
        log_(log),
        failures_(failures),
        metrics_(metrics) {}

  void resume(std::move_only_function<void()> work) override { reply_.resume(std::move(work)); }
  void send(HttpResponse response) override {
    tell(response);
    reply_.send(std::move(response));
  }
  void send(HttpResponse head, std::unique_ptr<HttpBodySource> body) override {
    tell(head);
    reply_.send(std::move(head), std::move(body));
  }
  void send(HttpResponse head, HttpFilePart body) override {
    tell(head);
    reply_.send(std::move(head), std::move(body));
  }
  std::shared_ptr<HttpStream> stream(HttpResponse head) override {
    tell(head);
    return reply_.stream(std::move(head));
  }
  bool peer_is_gone() const override { return reply_.peer_is_gone(); }
  void when_peer_leaves(std::function<void()> call) override { reply_.when_peer_leaves(std::move(call)); }

 private:
  void tell(HttpResponse& response) {
    mark_answer(response, line_.id);
    line_.status = response.status;
    metrics_.answered(response.status);
    if (line_.failed()) return failures_.add(line_);
    if (which_ == LogRequests::all) log_.request(line_);
  }

  HttpReply reply_;
  RequestLine line_;
  const LogRequests which_;
  ServerLog& log_;
  FailureLog& failures_;
  Metrics& metrics_;
};

}  // namespace

std::string request_id(const HttpHead& head) {
  const std::string* given = head.header(kHeader);
  return given != nullptr && is_sane(*given) ? *given : new_id();
}

void mark_answer(HttpResponse& response, const std::string& id) {
  response.headers.push_back({std::string(kHeader), id});
  const std::string* kind = response.header("Content-Type");
  if (kind != nullptr && *kind == kProblemType) response.body = problem_with_request(response.body, id);
}

HttpReply traced(HttpReply reply, RequestLine line, LogRequests which, ServerLog& log, FailureLog& failures,
                 Metrics& metrics) {
  return HttpReply(std::make_shared<TracedExchange>(std::move(reply), std::move(line), which, log, failures, metrics));
}

}  // namespace drover
