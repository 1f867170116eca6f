#include "wire/aws/signed_request.h"

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "base/url.h"
#include "wire/aws/signing_time.h"

namespace drover::aws {
namespace {

using enum SignatureFault;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::size_t kMostIdLetters = 128;
constexpr std::size_t kMostScopeLetters = 64;
constexpr std::uint64_t kMostExpiresSeconds = 7 * 24 * 60 * 60;
constexpr std::uint64_t kLastSecond = 253'402'300'799;  // of the year 9999

bool is_key_id(std::string_view text) {
  return !text.empty() && text.size() <= kMostIdLetters &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

/// A region or a service.
bool is_scope_word(std::string_view text) {
  return !text.empty() && text.size() <= kMostScopeLetters && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// Small letters, ascending, each once: two lists that mean the same would be two signatures of the same request.
bool is_header_list(std::string_view list) {
  std::string_view before;
  while (!list.empty()) {
    const bool is_last = !list.contains(';');
    const std::string_view name = take_until(list, ';');
    if (name <= before || (!is_last && list.empty())) return false;
    if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && small_letter(c) == c; })) return false;
    before = name;
  }
  return !before.empty();
}

/// "KEY/20261115/us-east-1/s3/aws4_request". In a query the fault of a wrong one is another.
SignatureResult<void> read_credential(SignedRequest& out, std::string_view credential, SignatureFault fault) {
  std::array<std::string_view, 5> parts;
  std::string_view rest = credential;
  for (std::string_view& part : parts) part = take_until(rest, '/');
  if (std::ranges::count(credential, '/') != 4 || !is_key_id(parts[0]) || !is_scope_word(parts[2]) ||
      !is_scope_word(parts[3])) {
    return refuse(fault,
                  "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term");
  }
  if (parts[4] != "aws4_request") {
    return refuse(fault, "Credential should be scoped with a valid terminator: 'aws4_request'");
  }
  if (parts[1] != std::string_view(out.date).substr(0, 8)) {
    return refuse(mismatch, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP");
  }
  out.access_key_id = parts[0];
  out.scope = {std::string(parts[1]), std::string(parts[2]), std::string(parts[3])};
  return {};
}

SignatureResult<SignedRequest> read_authorization(const Request& request, std::string_view authorization) {
  std::string_view credential;
  std::string_view headers;
  std::string_view signature;
  std::string_view rest = authorization.substr(kAlgorithm.size());
  while (!rest.empty()) {
    std::string_view value = trimmed(take_until(rest, ','));
    const std::string_view name = take_until(value, '=');
    std::string_view* const into = name == "Credential"      ? &credential
                                   : name == "SignedHeaders" ? &headers
                                   : name == "Signature"     ? &signature
                                                             : nullptr;
    if (into == nullptr || !into->empty()) {
      return refuse(incomplete,
                    "The Authorization header is malformed: it takes Credential, SignedHeaders and "
                    "Signature, each once");
    }
    *into = value;
  }
  std::string missing_parts;
  if (credential.empty()) missing_parts += "Authorization header requires 'Credential' parameter. ";
  if (signature.empty()) missing_parts += "Authorization header requires 'Signature' parameter. ";
  if (headers.empty()) missing_parts += "Authorization header requires 'SignedHeaders' parameter. ";
  const std::string_view date =
      trimmed(find_header(request, "x-amz-date").or_else([&] { return find_header(request, "date"); }).value_or(""));
  if (date.empty()) {
    missing_parts += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
  }
  if (!missing_parts.empty()) {
    missing_parts.pop_back();
    return refuse(incomplete, std::move(missing_parts));
  }

  SignedRequest out{.kind = SignatureKind::v4_header};
  const auto signed_at_ms = parse_signing_time(date);
  if (!signed_at_ms) {
    return refuse(incomplete, "Date must be in ISO-8601 'basic format', such as 20261115T005637Z");
  }
  out.signed_at_ms = *signed_at_ms;
  out.date = signing_time(*signed_at_ms);
  if (auto read = read_credential(out, credential, incomplete); !read) return std::unexpected(std::move(read.error()));
  if (!is_header_list(headers)) {
    return refuse(incomplete, "SignedHeaders must be names in lower case, sorted and separated by semicolons");
  }
  out.signed_headers = headers;
  out.signature = signature;
  if (const auto token = find_header(request, "x-amz-security-token")) out.session_token = trimmed(*token);
  return out;
}

/// The parameters of a query that signatures use, decoded.
class SigningParameters {
 public:
  enum Name {
    algorithm,
    credential,
    date,
    expires,
    headers,
    signature,
    token,
    v2_key,
    v2_signature,
    v2_expires,
    v2_token
  };

  /// False: one of them stands there twice, or an escape is broken.
  bool read(std::string_view query) {
    while (!query.empty()) {
      const std::string_view piece = take_until(query, '&');
      const std::string_view name = piece.substr(0, piece.find('='));
      if (!name.contains('%') && !name.contains('+') && place_of(name) == kNames.size()) continue;
      auto decoded = query_pairs(piece);
      if (!decoded) return false;
      if (decoded->empty()) continue;
      const std::size_t place = place_of(decoded->front().first);
      if (place == kNames.size()) continue;
      if (values_[place]) return false;
      values_[place] = std::move(decoded->front().second);
    }
    return true;
  }
  bool has(Name name) const { return values_[name].has_value(); }
  /// Empty if there is none.
  std::string take(Name name) { return std::move(values_[name]).value_or(""); }

 private:
  static constexpr std::array<std::string_view, 11> kNames = {
      "X-Amz-Algorithm",     "X-Amz-Credential", "X-Amz-Date",           "X-Amz-Expires",
      "X-Amz-SignedHeaders", "X-Amz-Signature",  "X-Amz-Security-Token", "AWSAccessKeyId",
      "Signature",           "Expires",          "x-amz-security-token"};

  static std::size_t place_of(std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(kNames, name) - kNames.begin());
  }

  std::array<std::optional<std::string>, kNames.size()> values_;
};

SignatureResult<SignedRequest> read_presigned(SigningParameters& parameters) {
  using enum SigningParameters::Name;
  for (const auto name : {algorithm, credential, date, expires, headers, signature}) {
    if (!parameters.has(name)) {
      return refuse(bad_query,
                    "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, "
                    "X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.");
    }
  }
  if (parameters.take(algorithm) != kAlgorithm) {
    return refuse(bad_query, "X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"");
  }
  SignedRequest out{.kind = SignatureKind::v4_query};
  out.date = parameters.take(date);
  const auto signed_at_ms = parse_signing_time(out.date);
  if (!signed_at_ms || out.date.size() != 16) {
    return refuse(bad_query, "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  }
  const auto seconds = parse_number(parameters.take(expires));
  if (!seconds) return refuse(bad_query, "X-Amz-Expires should be a number");
  if (*seconds > kMostExpiresSeconds) {
    return refuse(bad_query,
                  "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires "
                  "must be less than 604800 seconds");
  }
  out.signed_at_ms = *signed_at_ms;
  out.expires_at_ms = *signed_at_ms + static_cast<std::int64_t>(*seconds) * 1000;
  if (auto read = read_credential(out, parameters.take(credential), bad_query); !read) {
    return std::unexpected(std::move(read.error()));
  }
  out.signed_headers = parameters.take(headers);
  if (!is_header_list(out.signed_headers)) {
    return refuse(bad_query, "X-Amz-SignedHeaders must be names in lower case, sorted and separated by semicolons");
  }
  out.signature = parameters.take(signature);
  out.session_token = parameters.take(token);
  return out;
}

SignatureResult<SignedRequest> read_version_2(SigningParameters& parameters) {
  using enum SigningParameters::Name;
  SignedRequest out{.kind = SignatureKind::v2_query};
  out.access_key_id = parameters.take(v2_key);
  out.signature = parameters.take(v2_signature);
  const std::string expires_text = parameters.take(v2_expires);
  if (!is_key_id(out.access_key_id) || out.signature.empty() || expires_text.empty()) {
    return refuse(bad_query,
                  "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters");
  }
  const auto seconds = parse_number(expires_text);
  // The number is signed as a text, and is written again when the signature is verified.
  if (!seconds || *seconds > kLastSecond || std::to_string(*seconds) != expires_text) {
    return refuse(bad_query, "Invalid date (should be seconds since epoch)");
  }
  out.expires_at_ms = static_cast<std::int64_t>(*seconds) * 1000;
  out.scope.service = kS3;
  out.session_token = parameters.take(v2_token);
  return out;
}

}  // namespace

SignatureResult<SignedRequest> read_signature(const Request& request) {
  const std::string_view authorization = trimmed(find_header(request, "authorization").value_or(""));
  SigningParameters parameters;
  if (!parameters.read(request.query)) {
    return refuse(bad_query, "A query parameter that signs the request is malformed or repeated");
  }
  const bool is_presigned = parameters.has(SigningParameters::algorithm) ||
                            parameters.has(SigningParameters::credential) ||
                            parameters.has(SigningParameters::signature);
  const bool is_version_2 = parameters.has(SigningParameters::v2_key);
  if (int{!authorization.empty()} + int{is_presigned} + int{is_version_2} > 1) {
    return refuse(ambiguous,
                  "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature "
                  "query string parameter or the Authorization header should be specified");
  }
  if (is_presigned) return read_presigned(parameters);
  if (is_version_2) return read_version_2(parameters);
  if (authorization.empty()) return refuse(missing, "Missing Authentication Token");
  const bool is_version_4 = authorization.starts_with(kAlgorithm) &&
                            (authorization.size() == kAlgorithm.size() || authorization[kAlgorithm.size()] == ' ' ||
                             authorization[kAlgorithm.size()] == '\t');
  if (!is_version_4) {
    return refuse(unsupported,
                  "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.");
  }
  return read_authorization(request, authorization);
}

}  // namespace drover::aws
