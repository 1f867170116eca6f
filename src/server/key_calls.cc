#include "server/key_calls.h"

#include <boost/json.hpp>

#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "keys/certificates.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::string_view kKeys = "/api/v1/keys";
constexpr std::string_view kJoinTokens = "/api/v1/join-tokens";

HttpResponse json_response(int status, const json::value& body) {
  // What holds a secret must not be kept by anybody on the way.
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          .body = json::serialize(body) + "\n"};
}

json::value or_null(const std::optional<std::int64_t>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object to_json(const KeyInfo& key) {
  return {{"id", key.id},
          {"scope", to_string(key.scope)},
          {"label", utf8(key.label)},
          {"created_ms", key.created_ms},
          {"expires_ms", or_null(key.expires_ms)},
          {"fleet", utf8(key.fleet)},
          {"worker", utf8(key.worker)}};
}

Result<json::object> object_from(const std::string& body) {
  json::error_code error;
  json::value value = json::parse(body.empty() ? "{}" : body, error);
  if (error || !value.is_object()) return fail(ErrorCode::bad_input, "the request's body is not a JSON object");
  return std::move(value.get_object());
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

/// "1h" from now on; nothing given: nothing.
Result<std::optional<std::int64_t>> expiry(const json::object& object, std::int64_t now_ms) {
  const std::string text = text_of(object, "expires");
  if (text.empty()) return std::nullopt;
  auto duration_ms = parse_duration_ms(text);
  if (!duration_ms) return pass(duration_ms);
  return now_ms + *duration_ms;
}

}  // namespace

bool KeyCalls::is_ours(std::string_view path) {
  return path == kKeys || path.starts_with("/api/v1/keys/") || path == kJoinTokens;
}

void KeyCalls::handle(HttpRequest request, HttpReply reply) {
  if (request.head.path == "/ca.pem") {
    if (identity_.ca_pem.empty()) {
      return reply.send(problem({ErrorCode::not_found, "this server speaks plain HTTP: it has no certificate", {}}));
    }
    return reply.send(
        {.status = 200, .headers = {{"Content-Type", "application/x-pem-file"}}, .body = identity_.ca_pem});
  }
  backend_.later([this, request = std::make_shared<HttpRequest>(std::move(request)),
                  reply = std::make_shared<HttpReply>(std::move(reply))] { reply->send(answer(*request)); });
}

HttpResponse KeyCalls::answer(const HttpRequest& request) {
  const std::string& path = request.head.path;
  const std::string& method = request.head.method;
  if (path == "/join" && method == "POST") return join(request.body);
  if (path == kKeys && method == "POST") return create(request.body);
  if (path == kKeys && method == "GET") return list();
  if (path == kJoinTokens && method == "POST") return create_join_token(request.body);
  if (path.starts_with("/api/v1/keys/") && method == "DELETE") {
    const std::string id = path.substr(kKeys.size() + 1);
    if (auto removed = ring_.remove(id); !removed) return problem(removed.error());
    removed_(id);
    return {.status = 204, .headers = {}, .body = {}};
  }
  return problem(405, {ErrorCode::bad_input, concat(method, " is not for ", path), "docs/api.md lists the calls"});
}

HttpResponse KeyCalls::create(const std::string& body) {
  auto wanted = object_from(body);
  if (!wanted) return problem(wanted.error());
  auto scope = parse_scope(text_of(*wanted, "scope"));
  if (!scope) return problem(scope.error());
  auto expires_ms = expiry(*wanted, now_ms_());
  if (!expires_ms) return problem(expires_ms.error());
  auto key = ring_.create({*scope, text_of(*wanted, "label"), *expires_ms, text_of(*wanted, "fleet")}, now_ms_());
  if (!key) return problem(key.error());
  json::object out = to_json(key->info);
  out["token"] = key->bearer().reveal();
  return json_response(201, out);
}

HttpResponse KeyCalls::create_join_token(const std::string& body) {
  auto wanted = object_from(body);
  if (!wanted) return problem(wanted.error());
  JoinTokenRequest request{.fleet = text_of(*wanted, "fleet"), .addresses = identity_.addresses, .ca_fingerprint = {}};
  if (const json::value* uses = wanted->if_contains("uses")) {
    json::error_code error;
    request.uses = uses->to_number<std::uint64_t>(error);
    if (error || request.uses == 0) return problem({ErrorCode::bad_input, "'uses' is not a number above 0", {}});
  }
  auto expires_ms = expiry(*wanted, now_ms_());
  if (!expires_ms) return problem(expires_ms.error());
  request.expires_ms = *expires_ms;
  if (!identity_.ca_pem.empty()) {
    auto print = fingerprint(identity_.ca_pem);
    if (!print) return problem(print.error());
    request.ca_fingerprint = *print;
  }
  auto token = ring_.create_join_token(request, now_ms_());
  if (!token) return problem(token.error());
  return json_response(201, json::object{{"id", token->id},
                                         {"uses", request.uses},
                                         {"expires_ms", token->expires_ms},
                                         {"token", token->text.reveal()}});
}

HttpResponse KeyCalls::list() const {
  json::array keys;
  for (const KeyInfo& key : ring_.list()) keys.push_back(to_json(key));
  json::array tokens;
  for (const JoinTokenInfo& token : ring_.join_tokens()) {
    tokens.push_back(json::object{{"id", token.id},
                                  {"uses_left", token.uses_left},
                                  {"joined", token.joined},
                                  {"created_ms", token.created_ms},
                                  {"expires_ms", token.expires_ms},
                                  {"fleet", utf8(token.fleet)}});
  }
  return json_response(200, json::object{{"keys", std::move(keys)}, {"join_tokens", std::move(tokens)}});
}

HttpResponse KeyCalls::join(const std::string& body) {
  auto wanted = object_from(body);
  if (!wanted) return problem(wanted.error());
  auto key = ring_.join(text_of(*wanted, "secret"), text_of(*wanted, "nonce"), text_of(*wanted, "name"), now_ms_());
  if (!key) return problem(key.error());
  json::object out = to_json(key->info);
  out["token"] = key->bearer().reveal();
  return json_response(201, out);
}

}  // namespace drover
