#include "server/router.h"

#include <algorithm>

#include "api/signed_body.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/request_trace.h"

namespace drover {
namespace {

constexpr std::uint64_t kMostIgnored = std::uint64_t{64} << 10;

/// What nobody else owns.
class Nothing : public Service {
 public:
  bool owns(const HttpHead& /*head*/) const override { return true; }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& /*head*/) override {
    return ServiceCall{
        .needs = Permission{std::nullopt, "ask for this"},
        .most_bytes = kMostIgnored,
        .handle = [](const HttpRequest& request, HttpReply reply, const Asker& /*asker*/) {
          reply.send(problem({ErrorCode::not_found, concat("path ", utf8(request.head.path), " not found"),
                              "the API is at /api/v1/"}));
        }};
  }
};

/// Attempts of one job have one share, whatever worker gave them their keys.
Holder holder_of(const Caller& caller) {
  if (caller.job) return {.name = concat("job ", caller.job->text())};
  return {.name = caller.key_id, .may_use_reserve = caller.scope == Scope::admin || caller.scope == Scope::worker};
}

bool may(const Caller& caller, const Permission& needs) {
  if (caller.grant) return needs.judges_grants;
  if ((caller.is_temporary || caller.has_session()) && !needs.judges_sessions) return false;
  if (caller.has_session()) return true;
  if (!needs.action || caller.may(*needs.action)) return true;
  const auto job = Uuid::parse(needs.job);
  return job && caller.may(*needs.action, *job);
}

Error forbidden(const Caller& caller, const Permission& needs) {
  if (caller.is_temporary || caller.has_session()) {
    return {ErrorCode::denied,
            concat("permission denied: the credentials of a session of AWS clients cannot ", needs.what),
            "use a key: inside an attempt, $DROVER_KEY"};
  }
  if (caller.job) {
    return {ErrorCode::denied,
            concat("permission denied: an attempt's key can only read its own job, ", caller.job->text(), ", not ",
                   needs.what),
            "refer to the job by its id, $DROVER_JOB_ID; for anything else use another key"};
  }
  if (caller.grant) {
    return {ErrorCode::denied,
            concat("permission denied: the key ", caller.key_id, " grants ", utf8(caller.grant->words()),
                   " and cannot ", needs.what),
            "use it with S3, or ask an admin for another key"};
  }
  return {ErrorCode::denied,
          concat("permission denied: a key with scope '", to_string(caller.scope), "' cannot ", needs.what),
          "use another key, or ask an admin to create one with 'drover key create'"};
}

Error invalid_meanwhile() {
  return {ErrorCode::denied, "the key was removed, or expired, while the request was being sent",
          "send it again with another key"};
}

}  // namespace

Service* Router::owner_of(const HttpHead& head) const {
  static Nothing nothing;
  const auto found = std::ranges::find_if(services_, [&](const auto& it) { return it->owns(head); });
  return found == services_.end() ? &nothing : found->get();
}

std::expected<Identity, HttpResponse> Router::admit(const HttpHead& head, Service& service,
                                                    const std::expected<ServiceCall, HttpResponse>& call) const {
  if (call && !call->needs) return Identity{};
  auto identity = identify_(head);
  if (!identity) {
    HttpResponse response = service.refuse(head, identity.error());
    const std::string* shown = head.header("Authorization");
    const bool shows_key = identity.error().signature || (shown != nullptr && shown->starts_with("Bearer "));
    if (!shows_key) response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return std::unexpected(std::move(response));
  }
  // Only those with a key are told what there is.
  if (!call) return std::unexpected(call.error());
  const std::optional<Permission>& needs = call->needs;
  if (needs && !may(identity->caller, *needs)) {
    return std::unexpected(service.error(head, 403, forbidden(identity->caller, *needs)));
  }
  const std::optional<HttpResponse>& refusal = call->refusal;
  if (refusal) return std::unexpected(*refusal);
  const Caller& caller = identity->caller;
  const bool is_certain = !identity->verify || identity->signed_head;
  if (is_certain && (caller.grant || caller.has_session())) {
    auto judged = service.judge(head, {.caller = caller, .holder = holder_of(caller)}, call->sink.get());
    if (judged) return std::unexpected(std::move(*judged));
  }
  return std::move(*identity);
}

RequestLine Router::line_of(const HttpHead& head) {
  return {.id = request_id(head),
          .peer = head.peer,
          .method = head.method,
          .path = head.path,
          .key_id = {},
          .begun_ns = steady_.elapsed_ns()};
}

// Its body is not read.
HttpPlan Router::refuse(const HttpHead& head, HttpResponse answer) {
  RequestLine line = line_of(head);
  mark_answer(answer, line.id);
  line.status = answer.status;
  failures_.add(line);
  return {.most_bytes = 0, .sink = nullptr, .refusal = std::move(answer)};
}

HttpPlan Router::plan(const HttpHead& head) {
  Service* const service = owner_of(head);
  auto call = service->resolve(head);
  auto identity = admit(head, *service, call);
  if (!identity) return refuse(head, std::move(identity.error()));
  HttpPlan plan{.most_bytes = call->most_bytes, .sink = std::move(call->sink)};
  std::optional<aws::VerifiedHead>& signed_head = identity->signed_head;
  if (plan.sink && signed_head) {
    plan.sink = std::make_unique<SignedBody>(std::move(plan.sink), std::move(*signed_head));
    identity->verify = nullptr;
  }
  const bool is_stranger = !call->needs || identity->verify;
  plan.is_from_stranger = is_stranger;
  if (identity->verify) {
    if (plan.sink) {
      return refuse(head, service->error(head, 400,
                                         {ErrorCode::bad_input, "the signature does not cover the request's body",
                                          "send the checksum of the body in a signed header"}));
    }
    plan.most_bytes = std::min(plan.most_bytes, kMostUnverifiedBytes);
  }
  Asker asker{.caller = std::move(identity->caller), .is_valid = std::move(identity->is_valid)};
  if (call->needs) asker.holder = holder_of(asker.caller);
  if (!is_stranger) plan.holder = asker.holder;
  plan.handle = [this, service, needs_key = call->needs.has_value(), log = call->log, handle = std::move(call->handle),
                 verify = std::move(identity->verify),
                 asker = std::move(asker)](HttpRequest request, HttpReply reply) mutable {
    RequestLine line = line_of(request.head);
    line.key_id = asker.caller.key_id;
    if (log != LogRequests::none) {
      reply = traced(std::move(reply), std::move(line), log, log_, failures_, metrics_);
    }
    if (verify) {
      if (auto verified = verify(request.body); !verified)
        return reply.send(service->refuse(request.head, verified.error()));
    }
    if (auto* body = dynamic_cast<SignedBody*>(request.sink.get())) {
      const std::optional<Refusal>& refusal = body->refusal();
      if (refusal) return reply.send(service->refuse(request.head, *refusal));
      std::ranges::move(body->checksums(), std::back_inserter(request.head.headers));
      request.sink = body->release();
    }
    const bool took_time = request.sink != nullptr || !request.body.empty();
    if (needs_key && took_time && !asker.is_valid())
      return reply.send(service->error(request.head, 401, invalid_meanwhile()));
    handle(std::move(request), std::move(reply), std::move(asker));
  };
  return plan;
}

}  // namespace drover
