#include "api/keys/key_calls.h"

#include <boost/json.hpp>

#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "keys/certificates.h"
#include "wire/body_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::string_view kKeys = "/api/v1/keys";
constexpr std::string_view kOneKey = "/api/v1/keys/";
constexpr std::string_view kJoinTokens = "/api/v1/join-tokens";
constexpr std::uint64_t kLargestCall = std::uint64_t{64} << 10;

bool takes_no_key(std::string_view path) {
  return path == "/join" || path == "/ca.pem";
}

HttpResponse secret_response(int status, const json::value& body) {
  // What holds a secret must not be kept by anybody on the way.
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          .body = json::serialize(body) + "\n"};
}

json::value or_null(const std::optional<std::int64_t>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object to_json(const KeyInfo& key) {
  const BucketGrant grant = key.grant.value_or(BucketGrant{});
  return {{"id", key.id},
          {"scope", to_string(key.scope)},
          {"label", utf8(key.label)},
          {"created_ms", key.created_ms},
          {"expires_ms", or_null(key.expires_ms)},
          {"fleet", utf8(key.fleet)},
          {"worker", utf8(key.worker)},
          {"bucket", grant.bucket},
          {"prefix", grant.prefix},
          {"access", key.grant ? to_string(grant.access) : ""}};
}

/// What a key is for: a scope, or objects of a bucket.
struct Purpose {
  std::string scope;
  std::string bucket;
  std::string prefix;
  std::string access;
};

Result<void> read_purpose(const Purpose& purpose, KeyRequest& wanted) {
  if (purpose.bucket.empty()) {
    if (!purpose.prefix.empty() || !purpose.access.empty()) {
      return fail(ErrorCode::bad_input, "'prefix' and 'access' require a bucket", "add 'bucket', or omit them");
    }
    if (purpose.scope.empty()) {
      return fail(ErrorCode::bad_input, "the key needs a 'scope' or a 'bucket'",
                  "set 'scope' to admin, submit, worker or read; or 'bucket' and 'access' for objects of one bucket");
    }
    auto scope = parse_scope(purpose.scope);
    if (!scope) return pass(scope);
    wanted.scope = *scope;
    return {};
  }
  if (!purpose.scope.empty()) {
    return fail(ErrorCode::bad_input, "'scope' cannot be combined with 'bucket'", "omit one of them");
  }
  if (purpose.access.empty()) {
    return fail(ErrorCode::bad_input, "a key for a bucket needs 'access'", "choose one of read, write, read-write");
  }
  auto access = parse_bucket_access(purpose.access);
  if (!access) return pass(access);
  wanted.scope = Scope::bucket;
  wanted.grant = BucketGrant{.bucket = purpose.bucket, .prefix = purpose.prefix, .access = *access};
  return {};
}

constexpr std::size_t kLongestText = 4096;  // the ring says what is too long; this is what is read at all

}  // namespace

bool KeyCalls::owns(const HttpHead& head) const {
  return takes_no_key(head.path) || head.path == kKeys || head.path.starts_with(kOneKey) || head.path == kJoinTokens;
}

std::expected<ServiceCall, HttpResponse> KeyCalls::resolve(const HttpHead& head) {
  std::optional<Permission> needs;
  if (!takes_no_key(head.path)) needs = Permission{Action::administrate, "manage keys"};
  return ServiceCall{.needs = std::move(needs),
                     .most_bytes = kLargestCall,
                     .log = log_by_method(head),
                     .handle = [this](HttpRequest request, HttpReply reply, const Asker& asker) {
                       handle(std::move(request), std::move(reply), asker.holder);
                     }};
}

std::vector<ApiLine> KeyCalls::calls() {
  return {{"GET", std::string(kKeys), ""},
          {"POST", std::string(kKeys), ""},
          {"DELETE", concat(kKeys, "/*"), ""},
          {"POST", std::string(kJoinTokens), ""}};
}

void KeyCalls::handle(HttpRequest request, HttpReply reply, const Holder& holder) {
  if (request.head.path == "/ca.pem") {
    if (identity_.ca_pem.empty()) {
      return reply.send(problem({ErrorCode::not_found, "this server uses plain HTTP and has no certificate", {}}));
    }
    return reply.send(
        {.status = 200, .headers = {{"Content-Type", "application/x-pem-file"}}, .body = identity_.ca_pem});
  }
  backend_.later(holder, [this, request = std::make_shared<HttpRequest>(std::move(request)),
                          reply = std::make_shared<HttpReply>(std::move(reply))] { reply->send(answer(*request)); });
}

HttpResponse KeyCalls::answer(const HttpRequest& request) {
  const std::string& path = request.head.path;
  const std::string& method = request.head.method;
  if (path == "/join" && method == "POST") return join(request.body);
  if (path == kKeys && method == "POST") return create(request.body);
  if (path == kKeys && (method == "GET" || method == "HEAD")) return list();
  if (path == kJoinTokens && method == "POST") return create_join_token(request.body);
  if (path.starts_with(kOneKey) && method == "DELETE") {
    const std::string id = path.substr(kOneKey.size());
    if (auto removed = ring_.remove(id); !removed) return problem(removed.error());
    removed_(id);
    return {.status = 204, .headers = {}, .body = {}};
  }
  return bad_method(request.head, path == kKeys ? "GET, POST" : path.starts_with(kOneKey) ? "DELETE" : "POST");
}

HttpResponse KeyCalls::create(const std::string& body) {
  Purpose purpose;
  KeyRequest wanted;
  std::optional<std::int64_t> lasts_ms;
  BodyFields fields;
  fields.add("scope", BodyFields::one_of({"admin", "submit", "worker", "read"}, purpose.scope));
  fields.add("label", BodyFields::text(kLongestText, wanted.label));
  fields.add("expires", BodyFields::time(lasts_ms));
  fields.add("fleet", BodyFields::text(kLongestText, wanted.fleet));
  fields.add("worker", BodyFields::text(kLongestText, wanted.worker));
  fields.add("bucket", BodyFields::text(kLongestText, purpose.bucket));
  fields.add("prefix", BodyFields::text(kLongestText, purpose.prefix));
  fields.add("access", BodyFields::one_of({"read", "write", "read-write"}, purpose.access));
  if (auto read = fields.read(body, "the key"); !read) return problem(read.error());
  if (auto read = read_purpose(purpose, wanted); !read) return problem(read.error());
  if (lasts_ms) wanted.expires_ms = now_ms_() + *lasts_ms;
  auto key = ring_.create(wanted, now_ms_());
  if (!key) return problem(key.error());
  json::object out = to_json(key->info);
  out["token"] = key->bearer().reveal();
  return secret_response(201, out);
}

HttpResponse KeyCalls::create_join_token(const std::string& body) {
  constexpr std::int64_t kMostUses = 100'000;
  JoinTokenRequest request{.fleet = {}, .addresses = identity_.addresses, .ca_fingerprint = {}};
  std::optional<std::int64_t> lasts_ms;
  BodyFields fields;
  fields.add("uses", BodyFields::whole(1, kMostUses, request.uses));
  fields.add("expires", BodyFields::time(lasts_ms));
  fields.add("fleet", BodyFields::text(kLongestText, request.fleet));
  if (auto read = fields.read(body, "the join token"); !read) return problem(read.error());
  if (lasts_ms) request.expires_ms = now_ms_() + *lasts_ms;
  if (!identity_.ca_pem.empty()) {
    auto print = fingerprint(identity_.ca_pem);
    if (!print) return problem(print.error());
    request.ca_fingerprint = *print;
  }
  auto token = ring_.create_join_token(request, now_ms_());
  if (!token) return problem(token.error());
  return secret_response(201, json::object{{"id", token->id},
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
  return secret_response(200, json::object{{"keys", std::move(keys)}, {"join_tokens", std::move(tokens)}});
}

HttpResponse KeyCalls::join(const std::string& body) {
  std::string secret;
  std::string nonce;
  std::string name;
  BodyFields fields;
  fields.add("secret", BodyFields::text(kLongestText, secret));
  fields.add("nonce", BodyFields::text(kLongestText, nonce));
  fields.add("name", BodyFields::text(kLongestText, name));
  if (auto read = fields.read(body, "the join request"); !read) return problem(read.error());
  auto key = ring_.join(secret, nonce, name, now_ms_());
  if (!key) return problem(key.error());
  json::object out = to_json(key->info);
  out["token"] = key->bearer().reveal();
  return secret_response(201, out);
}

}  // namespace drover
