#include "wire/aws/sigv2.h"

#include <array>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "base/url.h"
#include "wire/base64.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

// Sorted. Those that clients sign; S3 has sub-resources that are newer than this signature.
constexpr std::array<std::string_view, 35> kSignedParameters = {
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "defaultObjectAcl",
    "delete",
    "inventory",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "partNumber",
    "policy",
    "replication",
    "requestPayment",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "select",
    "select-type",
    "storageClass",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
};
static_assert(std::ranges::is_sorted(kSignedParameters));

bool is_amazon_name(std::string_view name) {
  constexpr std::string_view kAmazonPrefix = "x-amz-";
  return std::is_eq(compare_names(name.substr(0, kAmazonPrefix.size()), kAmazonPrefix));
}

/// What is signed as a header. Clients that presign a URL put headers into its query, and sign them as headers.
class V2Headers {
 public:
  void add(std::string_view name, std::string_view value) {
    const bool counts = is_amazon_name(name) || std::is_eq(compare_names(name, "content-md5")) ||
                        std::is_eq(compare_names(name, "content-type"));
    if (!counts) return;
    const auto [at, is_new] = values_.emplace(in_small_letters(name), trimmed(value));
    if (!is_new) at->second += concat(",", trimmed(value));
  }
  std::string take(const std::string& name) {
    auto found = values_.extract(name);
    return found.empty() ? "" : std::move(found.mapped());
  }
  std::string lines() const {
    std::string out;
    for (const auto& [name, value] : values_) out += concat(name, ":", value, "\n");
    return out;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace

bool is_covered_by_v2(std::string_view parameter) {
  return is_amazon_name(parameter) || std::ranges::binary_search(kSignedParameters, parameter);
}

std::optional<std::string> v2_string_to_sign(const Request& request, const SignedRequest& signature,
                                             std::string_view bucket_of_host) {
  V2Headers headers;
  for (const Header& header : request.headers) headers.add(header.name, header.value);
  std::multimap<std::string, std::string> parameters;  // name, and the whole text
  for (std::string_view rest = request.query; !rest.empty();) {
    const std::string_view piece = take_until(rest, '&');
    const auto pairs = query_pairs(piece);
    if (!pairs) return std::nullopt;
    for (const auto& [name, value] : *pairs) {
      if (std::ranges::binary_search(kSignedParameters, std::string_view(name))) {
        parameters.emplace(name, piece.contains('=') ? concat(name, "=", value) : name);
      } else {
        headers.add(name, value);
      }
    }
  }

  const std::string md5 = headers.take("content-md5");
  const std::string type = headers.take("content-type");
  std::string out =
      concat(request.method, "\n", md5, "\n", type, "\n", signature.expires_at_ms / 1000, "\n", headers.lines(),
             bucket_of_host.empty() ? "" : "/", bucket_of_host, request.path.empty() ? "/" : request.path);
  char separator = '?';
  for (const auto& [name, text] : parameters) {
    out += separator;
    out += text;
    separator = '&';
  }
  return out;
}

SignatureResult<void> verify_v2(const Request& request, const SignedRequest& signature, std::string_view secret,
                                std::int64_t now_ms, std::string_view bucket_of_host) {
  DROVER_CHECK(signature.kind == SignatureKind::v2_query, "a signature of version 4");
  if (signature.expires_at_ms < now_ms) return refuse(SignatureFault::expired, "Request has expired");
  const auto text = v2_string_to_sign(request, signature, bucket_of_host);
  if (!text || !equal_in_constant_time(base64(hmac_sha1(secret, *text)), signature.signature)) {
    return refuse(SignatureFault::mismatch, std::string(kSignatureMismatch));
  }
  return {};
}

}  // namespace drover::aws
