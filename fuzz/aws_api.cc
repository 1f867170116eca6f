// Requests to the APIs of AWS: a byte that chooses the caller, then requests with a blank line between them, each
// "SERVICE TARGET\nBODY". Every one is answered once, in the form of its protocol. SQS has two: without a target, a
// request is in the older one.
#include <boost/json/parse.hpp>
#include <optional>

#include "api/batch/batch.h"
#include "api/ec2/ec2.h"
#include "api/iam/iam.h"
#include "api/logs/logs.h"
#include "api/sqs/sqs.h"
#include "api/sts/sts.h"
#include "aws_server.h"
#include "fuzzed.h"

namespace drover {
namespace {

constexpr std::size_t kMostRequests = 8;

std::string_view take_until(std::string_view& rest, std::string_view end) {
  const std::string_view out = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(out.size() + end.size(), rest.size()));
  return out;
}

std::int64_t now_ms() {
  return AwsBackend::kNowMs;
}

struct Server {
  AwsBackend backend;
  aws::Account account;
  std::unique_ptr<KeyRing> keys = std::move(*KeyRing::open(own_folder() + "/keys.json", AwsBackend::kNowMs));
  aws::BatchApi batch{backend, account, {}, [] { return std::int64_t{0}; }};
  aws::LogsApi logs{backend, account, now_ms};
  aws::Ec2Api ec2{backend, account, now_ms};
  aws::IamApi iam{backend, account, now_ms};
  aws::StsApi sts{backend, account, *keys, now_ms};
  MessageExchange messages{backend};
  aws::SqsApi sqs{backend, account, messages, now_ms};

  /// Null: there is no such service.
  Service* find(std::string_view name) {
    if (name == "batch") return &batch;
    if (name == "logs") return &logs;
    if (name == "ec2") return &ec2;
    if (name == "iam") return &iam;
    if (name == "sqs") return &sqs;
    return name == "sts" ? &sts : nullptr;
  }
};

Asker asker_of(std::size_t choice) {
  Caller caller{.scope = Scope::admin, .key_id = "AKDRKEY", .label = "label"};
  if (choice == 1) caller.scope = Scope::read;
  if (choice >= 2) caller = {.scope = Scope::job, .key_id = "AKDRKEY", .label = "label"};
  if (choice == 2) caller.role = caller.session = "r";
  if (choice == 3) {
    caller.job = Uuid::parse(AwsBackend::kJob);
    caller.attempt = Token{GrantId{1}, ItemIndex{0}};
  }
  return {.caller = std::move(caller)};
}

HttpRequest request_of(std::string_view service, std::string_view target, std::string_view body) {
  HttpRequest request;
  request.head.method = "POST";
  request.head.path = "/";
  if (service == "batch") {
    request.head.method = take_until(target, " ");
    request.head.path = take_until(target, "?");
    request.head.query = target;
  }
  if (service == "logs") request.head.headers = {{"X-Amz-Target", "Logs_20140328." + std::string(target)}};
  if (service == "sqs" && !target.empty()) {
    request.head.headers = {{"X-Amz-Target", "AmazonSQS." + std::string(target)}};
  }
  request.body = body;
  return request;
}

void check_answer(const HttpResponse& answer) {
  DROVER_CHECK(answer.status < 500, "a refusal is nobody's fault but the client's");
  const std::string* type = answer.header("content-type");
  DROVER_CHECK(type != nullptr, "an answer says what it is");
  boost::json::error_code error;
  if (*type != "text/xml") boost::json::parse(answer.body, error);
  DROVER_CHECK(!error, "an answer in JSON can be read");
}

void send(Service& service, HttpRequest request, const Asker& asker) {
  auto call = service.resolve(request.head);
  if (!call) return check_answer(call.error());
  if (request.body.size() > call->most_bytes) return;
  const auto exchange = std::make_shared<FakeExchange>();
  call->handle(std::move(request), HttpReply(exchange), asker);
  const std::optional<HttpResponse> answer = std::move(exchange->answer);
  DROVER_CHECK(answer.has_value(), "every request is answered");
  check_answer(*answer);
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  static Server server;
  server.backend.reset();
  Choices choices(bytes);
  const Asker chosen = asker_of(choices.below(4));
  std::string_view rest = choices.rest();
  for (std::size_t i = 0; i < kMostRequests && !rest.empty(); ++i) {
    std::string_view body = take_until(rest, "\n\n");
    std::string_view target = take_until(body, "\n");
    const std::string_view name = take_until(target, " ");
    Service* service = server.find(name);
    if (service == nullptr) continue;
    // The last one is the chosen caller's; those before it prepare what it finds.
    send(*service, request_of(name, target, body), rest.empty() ? chosen : asker_of(0));
  }
}

}  // namespace drover
