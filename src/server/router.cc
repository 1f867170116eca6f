#include "server/router.h"

#include "api/problem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/request_trace.h"
#include "server/self_call.h"

namespace drover {
namespace {

constexpr std::uint64_t kLargestKeyCall = std::uint64_t{64} << 10;
constexpr std::string_view kBearer = "Bearer ";

bool is_about_health(std::string_view path) {
  return path == "/healthz" || path == "/readyz" || path == "/";
}

Action action_for(ApiNeed need) {
  switch (need) {
    case ApiNeed::read: return Action::read;
    case ApiNeed::submit: return Action::submit;
    case ApiNeed::change_job: return Action::change_job;
    case ApiNeed::administrate: return Action::administrate;
  }
  return Action::administrate;
}

HttpResponse text(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(body)};
}

bool takes_no_key(std::string_view path) {
  return is_about_health(path) || KeyCalls::is_open(path);
}

}  // namespace

std::expected<Caller, HttpResponse> Router::admit(const HttpHead& head) const {
  if (takes_no_key(head.path)) return Caller{};
  const std::string* authorization = head.header("Authorization");
  if (authorization == nullptr || !authorization->starts_with(kBearer)) {
    HttpResponse response = problem(401, {ErrorCode::denied, "this takes a key",
                                          "send 'Authorization: Bearer KEY'; the CLI takes it from $DROVER_KEY"});
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return std::unexpected(std::move(response));
  }
  auto caller = keys_.check(std::string_view(*authorization).substr(kBearer.size()), now_ms_());
  if (!caller) return std::unexpected(problem(401, caller.error()));
  const auto forbid = [&](std::string_view what) {
    if (caller->job) {
      return std::unexpected(
          problem(403, {ErrorCode::denied,
                        concat("the key of an attempt reads its own job, ", caller->job->text(), ": it may not ", what),
                        "name the job by its id, $DROVER_JOB_ID; for all else use another key"}));
    }
    return std::unexpected(
        problem(403, {ErrorCode::denied, concat("a key of scope '", to_string(caller->scope), "' may not ", what),
                      "use another key, or have an admin make one with 'drover key create'"}));
  };
  if (WorkerCalls::is_ours(head.path)) {
    if (!caller->may(Action::work)) return forbid("work");
    return *caller;
  }
  if (KeyCalls::is_ours(head.path)) {
    if (!caller->may(Action::administrate)) return forbid("deal with keys");
    return *caller;
  }
  if (head.path == "/metrics" && !caller->may(Action::read)) return forbid("read the server's figures");
  if (!NativeApi::is_ours(head.path)) return *caller;
  auto call = api_.recognise(head);
  if (!call) return *caller;  // it is answered there
  const Action action = action_for(call->need);
  if (caller->may(action)) return *caller;
  const auto job = Uuid::parse(call->job);
  if (job && caller->may(action, *job)) return *caller;
  return forbid(concat(head.method, " ", utf8(head.path)));
}

RequestLine Router::line_of(const HttpHead& head) {
  return {.id = request_id(head),
          .peer = head.peer,
          .method = head.method,
          .path = head.path,
          .key_id = {},
          .begun_ns = steady_.elapsed_ns()};
}

HttpBodyPlan Router::plan(const HttpHead& head) {
  if (auto caller = admit(head); !caller) {
    RequestLine line = line_of(head);
    mark_answer(caller.error(), line.id);
    line.status = caller.error().status;
    failures_.add(line);
    return {.most_bytes = 0, .sink = nullptr, .refusal = std::move(caller.error())};
  }
  if (WorkerCalls::is_ours(head.path)) return workers_.plan(head);
  if (is_self_call(head)) return {};
  if (NativeApi::is_ours(head.path) && !KeyCalls::is_ours(head.path)) return api_.plan(head);
  return {.most_bytes = kLargestKeyCall, .sink = nullptr, .is_from_stranger = takes_no_key(head.path)};
}

void Router::handle(HttpRequest request, HttpReply reply) {
  const std::string& path = request.head.path;
  // Once more: a key may have been removed while the body was on its way.
  auto caller = admit(request.head);
  if (!is_about_health(path)) {
    RequestLine line = line_of(request.head);
    if (caller) line.key_id = caller->key_id;
    const bool is_told = !WorkerCalls::is_ours(path) && request.head.method != "GET" && request.head.method != "HEAD";
    reply = traced(std::move(reply), std::move(line), is_told ? Telling::every : Telling::failures, log_, failures_,
                   figures_.metrics);
  }
  if (!caller) return reply.send(std::move(caller.error()));
  if (path == "/healthz") return reply.send(text(200, "ok\n"));
  if (path == "/readyz") return reply.send(ready_ ? text(200, "ready\n") : text(503, "not ready\n"));
  if (path == "/") {
    return reply.send(text(200,
                           "Drover: batch work, every item of it.\n\n"
                           "API      /api/v1/ lists the calls, /api/v1/openapi.yaml describes them; both take a key\n"
                           "docs     docs/api.md begins with the API, docs/quick-start.md with everything\n"
                           "health   /healthz, /readyz, /metrics\n"
                           "CLI      drover submit, status, logs; drover --help\n"));
  }
  if (is_self_call(request.head)) return reply.send(self_answer(*caller, version_, now_ms_()));
  if (KeyCalls::is_open(path) || KeyCalls::is_ours(path))
    return key_calls_.handle(std::move(request), std::move(reply));
  if (path == "/metrics") {
    return figures_.later([this, reply = std::make_shared<HttpReply>(std::move(reply))] {
      reply->send({.status = 200,
                   .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                   .body = figures_.metrics.text()});
    });
  }
  if (WorkerCalls::is_ours(path)) return workers_.handle(std::move(request), std::move(reply), *caller);
  if (NativeApi::is_ours(path)) {
    return api_.handle(std::move(request), std::move(reply),
                       {caller->key_id, caller->label, std::string(to_string(caller->scope))});
  }
  reply.send(problem({ErrorCode::not_found, concat("there is no ", utf8(path)), "the API is at /api/v1/"}));
}

}  // namespace drover
