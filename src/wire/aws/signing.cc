#include "wire/aws/signing.h"

#include <array>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "base/url.h"
#include "wire/aws/canonical_request.h"
#include "wire/aws/signing_time.h"
#include "wire/aws/sigv4.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

/// Those that clients and proxies add or change on the way.
bool is_left_unsigned(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"authorization",     "connection", "expect",         "te",
                                                      "transfer-encoding", "user-agent", "x-amzn-trace-id"};
  return std::ranges::any_of(kNames, [&](std::string_view it) { return std::is_eq(compare_names(name, it)); });
}

std::string header_list(std::span<const Header> headers) {
  std::set<std::string> names;
  for (const Header& header : headers) {
    if (!is_left_unsigned(header.name)) names.insert(in_small_letters(header.name));
  }
  DROVER_CHECK(names.contains("host"), "a request without a host");
  std::string list;
  for (const std::string& name : names) list += concat(list.empty() ? "" : ";", name);
  return list;
}

/// One request, at one time, by one key.
class Signer {
 public:
  Signer(const Credentials& credentials, const Endpoint& endpoint, std::int64_t now_ms)
      : date(signing_time(now_ms)),
        scope{date.substr(0, 8), std::string(endpoint.region), std::string(endpoint.service)},
        credential(concat(credentials.access_key_id, "/", scope.text())),
        key_(credentials.secret, scope) {}

  std::string signature(const Request& request, std::string_view signed_headers, std::string_view payload) const {
    const auto query = canonical_query(request.query);
    DROVER_CHECK(query.has_value(), "a query with a malformed escape");
    const std::string head = canonical_head(request, scope.service, *query,
                                            canonical_headers(request.headers, signed_headers).text, signed_headers);
    return key_.sign(string_to_sign(date, scope, concat(head, payload)));
  }

  const std::string date;
  const SigningScope scope;
  const std::string credential;

 private:
  const SigningKey key_;
};

}  // namespace

NewHeaders sign(const Request& request, const Credentials& credentials, const Endpoint& endpoint,
                std::string_view payload, std::int64_t now_ms) {
  const Signer signer(credentials, endpoint, now_ms);
  NewHeaders added = {{"X-Amz-Date", signer.date}};
  if (endpoint.service == kS3) added.emplace_back("X-Amz-Content-Sha256", payload);
  if (!credentials.session_token.empty()) added.emplace_back("X-Amz-Security-Token", credentials.session_token);

  std::vector<Header> headers(request.headers.begin(), request.headers.end());
  for (const auto& [name, value] : added) headers.push_back({name, value});
  Request all = request;
  all.headers = headers;
  const std::string list = header_list(headers);
  const std::string signature = signer.signature(all, list, payload);
  added.emplace_back("Authorization", concat("AWS4-HMAC-SHA256 Credential=", signer.credential,
                                             ", SignedHeaders=", list, ", Signature=", signature));
  return added;
}

std::string presign(const Request& request, const Credentials& credentials, const Endpoint& endpoint,
                    std::int64_t expires_s, std::int64_t now_ms) {
  const Signer signer(credentials, endpoint, now_ms);
  const std::string list = header_list(request.headers);
  std::string query(request.query);
  const auto add = [&](std::string_view name, std::string_view value) {
    query += concat(query.empty() ? "" : "&", name, "=", percent_encoded(value));
  };
  add("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  add("X-Amz-Credential", signer.credential);
  add("X-Amz-Date", signer.date);
  add("X-Amz-Expires", std::to_string(expires_s));
  if (!credentials.session_token.empty()) add("X-Amz-Security-Token", credentials.session_token);
  add("X-Amz-SignedHeaders", list);
  Request all = request;
  all.query = query;
  const std::string payload = endpoint.service == kS3 ? std::string(kUnsignedPayload) : hex(sha256(""));
  const std::string signature = signer.signature(all, list, payload);
  add("X-Amz-Signature", signature);
  return query;
}

}  // namespace drover::aws
