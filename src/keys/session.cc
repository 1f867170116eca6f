#include "keys/session.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/digest.h"

namespace drover {
namespace {

namespace json = boost::json;

// drover-attempt-UUID.GIVER.EXPIRES_MS, then .SECRET for the worker, or .GRANT.ITEM.ATTEMPT.MAC for an attempt.
constexpr std::string_view kAttemptPrefix = "drover-attempt-";
// drover-session-CLAIM.MAC, where the claim is JSON in base64url.
constexpr std::string_view kSessionPrefix = "drover-session-";
constexpr std::size_t kSessionSecretLength = 40;

std::unexpected<NoSigner> not_ours() {
  return std::unexpected(NoSigner{false, "The security token included in the request is invalid."});
}

std::unexpected<NoSigner> too_late() {
  return std::unexpected(NoSigner{true, "The security token included in the request is expired"});
}

std::string session_mac(const SecretText& server_secret, std::string_view purpose, std::string_view claim) {
  return base64url(hmac_sha256(server_secret.reveal(), concat(purpose, "\n", claim)));
}

SecretText attempts_key(const SecretText& server_secret, std::string_view claim) {
  return SecretText(concat(claim, ".", session_mac(server_secret, "attempts", claim)));
}

FoundSigner check_attempt(const SecretText& server_secret, std::string_view text, std::int64_t now_ms) {
  // UUID, giver, time, grant, item, attempt, MAC
  std::array<std::string_view, 7> parts;
  std::string_view rest = text.substr(kAttemptPrefix.size());
  for (std::string_view& part : parts) {
    const std::size_t dot = rest.find('.');
    part = rest.substr(0, dot);
    if ((dot == std::string_view::npos) != (&part == &parts.back())) return not_ours();
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  const auto job = Uuid::parse(parts[0]);
  const auto expires_ms = parse_number(parts[2]);
  const auto grant = parse_number(parts[3]);
  const auto item = parse_number(parts[4]);
  const auto attempt = parse_number(parts[5]);
  if (!job || !expires_ms || !grant || !item || !attempt || std::cmp_greater(*attempt, UINT32_MAX)) return not_ours();
  const std::string_view claim =
      text.substr(0, kAttemptPrefix.size() + parts[0].size() + parts[1].size() + parts[2].size() + 2);
  const Token token{GrantId{*grant}, ItemIndex{*item}};
  SessionCredentials ours = attempt_credentials(attempts_key(server_secret, claim).reveal(), token,
                                                AttemptNumber{static_cast<std::uint32_t>(*attempt)});
  // The texts are compared, not what they decode to: no second spelling is good.
  if (!equal_in_constant_time(text, ours.session_token)) return not_ours();
  if (std::cmp_greater_equal(now_ms, *expires_ms)) return too_late();
  return Signer{{.scope = Scope::job,
                 .key_id = std::string(parts[1]),
                 .label = concat("job ", job->text()),
                 .job = job,
                 .attempt = token},
                SecretText(std::move(ours.secret))};
}

std::string text_in(const json::object& claim, std::string_view member) {
  const json::value* it = claim.if_contains(member);
  return it != nullptr && it->is_string() ? std::string(it->get_string()) : std::string();
}

SecretText session_secret(const SecretText& server_secret, std::string_view text) {
  return SecretText(session_mac(server_secret, "session secret", text).substr(0, kSessionSecretLength));
}

FoundSigner check_role_session(const SecretText& server_secret, std::string_view text, std::int64_t now_ms) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return not_ours();
  const std::string_view claim = text.substr(0, dot);
  if (!equal_in_constant_time(text.substr(dot + 1), session_mac(server_secret, "session", claim))) return not_ours();
  const auto bytes = from_base64url(claim.substr(kSessionPrefix.size()));
  json::error_code error;
  const json::value value = bytes ? json::parse(*bytes, error) : json::value();
  if (error || !value.is_object()) return not_ours();
  const json::object& said = value.get_object();
  const json::value* until = said.if_contains("until");
  if (until == nullptr || !until->is_int64()) return not_ours();
  if (now_ms >= until->get_int64()) return too_late();
  Caller caller{.scope = Scope::job, .key_id = text_in(said, "key"), .role = text_in(said, "role")};
  caller.role_id = text_in(said, "id");
  caller.session = text_in(said, "name");
  caller.label = concat(caller.role, "/", caller.session);
  if (said.contains("job")) {
    caller.job = Uuid::parse(text_in(said, "job"));
    caller.attempt = Token{GrantId{said.at("grant").to_number<std::uint64_t>()},
                           ItemIndex{said.at("item").to_number<std::uint64_t>()}};
    if (!caller.job) return not_ours();
  }
  return Signer{std::move(caller), session_secret(server_secret, text)};
}

}  // namespace

SecretText make_attempts_key(const SecretText& server_secret, const Uuid& job, std::string_view giver,
                             std::int64_t expires_ms) {
  DROVER_CHECK(expires_ms >= 0, "a time before 1970");
  DROVER_CHECK(!giver.contains('.'), "an id has no dot");
  return attempts_key(server_secret, concat(kAttemptPrefix, job.text(), ".", giver, ".", expires_ms));
}

SessionCredentials make_session(const SecretText& server_secret, const AwsSession& session) {
  json::object said{{"key", session.giver},
                    {"role", session.role},
                    {"id", session.role_id},
                    {"name", session.name},
                    {"until", session.expires_ms}};
  if (session.job && session.attempt) {
    said["job"] = session.job->text();
    said["grant"] = session.attempt->grant.value;
    said["item"] = session.attempt->item.value;
  }
  const std::string claim = concat(kSessionPrefix, base64url(json::serialize(said)));
  SessionCredentials out;
  out.session_token = concat(claim, ".", session_mac(server_secret, "session", claim));
  out.key_id = session_key_id(out.session_token);
  out.secret = session_secret(server_secret, out.session_token).reveal();
  return out;
}

FoundSigner check_session(const SecretText& server_secret, std::string_view key_id, std::string_view session_token,
                          std::int64_t now_ms) {
  if (key_id != session_key_id(session_token)) return not_ours();
  if (session_token.starts_with(kAttemptPrefix)) return check_attempt(server_secret, session_token, now_ms);
  if (session_token.starts_with(kSessionPrefix)) return check_role_session(server_secret, session_token, now_ms);
  return not_ours();
}

}  // namespace drover
