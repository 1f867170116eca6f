// Signs requests with signature version 4, for Drover's own clients.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/aws/request.h"

namespace drover::aws {

/// Not owned: the owner of the secrets wipes them.
struct Credentials {
  std::string_view access_key_id;
  std::string_view secret;
  std::string_view session_token = {};  // empty: none
};

struct Endpoint {
  std::string_view region;
  std::string_view service;
};

using NewHeaders = std::vector<std::pair<std::string, std::string>>;

/// The headers to add to the request. Those it has are signed, Host among them, but for the few that proxies change.
/// `payload` is the body's SHA-256 in hexadecimal digits, or kUnsignedPayload or another of those names.
[[nodiscard]] NewHeaders sign(const Request& request, const Credentials& credentials, const Endpoint& endpoint,
                              std::string_view payload, std::int64_t now_ms);

/// The query of a URL that is valid for at most a week. The request has no body, or S3 takes any. Its headers, Host
/// among them, must be sent with it.
[[nodiscard]] std::string presign(const Request& request, const Credentials& credentials, const Endpoint& endpoint,
                                  std::int64_t expires_s, std::int64_t now_ms);

}  // namespace drover::aws
