#include "api/aws/scope.h"

#include <algorithm>

#include "base/url.h"

namespace drover::aws {
namespace {

/// "KEY/20261115/us-east-1/batch/aws4_request", in the header or the query; empty if the request has none. One that has
/// to be decoded is kept in `decoded`.
std::string_view credential(const HttpHead& head, std::string& decoded) {
  constexpr std::string_view kBegin = "Credential=";
  constexpr std::string_view kInQuery = "X-Amz-Credential=";
  if (const std::string* header = head.header("Authorization"); header != nullptr && header->starts_with("AWS4-")) {
    const std::size_t at = header->find(kBegin);
    if (at == std::string::npos) return {};
    const std::string_view rest = std::string_view(*header).substr(at + kBegin.size());
    const auto ends = [](char c) { return c == ',' || c == ' '; };
    return {rest.begin(), std::ranges::find_if(rest, ends)};
  }
  const std::size_t at = head.query.find(kInQuery);
  if (at == std::string::npos || (at > 0 && head.query[at - 1] != '&')) return {};
  const std::size_t begin = at + kInQuery.size();
  decoded = percent_decoded(std::string_view(head.query).substr(begin, head.query.find('&', begin) - begin))
                .value_or(std::string());
  return decoded;
}

/// The field with this number, from 0, of the credential.
std::string field(const HttpHead& head, std::size_t number) {
  std::string decoded;
  std::string_view rest = credential(head, decoded);
  for (; number > 0; --number) {
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
  return std::string(rest.substr(0, rest.find('/')));
}

}  // namespace

std::string signed_service(const HttpHead& head) {
  if (std::string service = field(head, 3); !service.empty()) return service;
  return head.query.find("AWSAccessKeyId=") == std::string::npos ? "" : "s3";
}

std::string signed_region(const HttpHead& head) {
  std::string region = field(head, 2);
  return region.empty() ? "us-east-1" : region;
}

}  // namespace drover::aws
