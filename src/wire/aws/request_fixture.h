// A request that tests can change, and what verifying it says.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/aws/sigv2.h"
#include "wire/aws/sigv4.h"
#include "wire/digest.h"

namespace drover::aws {

struct OwnedRequest {
  std::string method = "GET";
  std::string path = "/";
  std::string query = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  /// Valid until the request changes.
  Request view() {
    views.clear();
    for (const auto& [name, value] : headers) views.push_back({name, value});
    return {method, path, query, views};
  }
  std::string& header(std::string_view name) {
    for (auto& [it, value] : headers) {
      if (it == name) return value;
    }
    return headers.emplace_back(name, "").second;
  }
  void remove_header(std::string_view name) {
    std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  }

  std::vector<Header> views = {};  // what view() refers to
};

/// Nothing: the request and its body are authentic.
inline std::optional<SignatureError> verify(OwnedRequest request, std::string_view secret, std::int64_t now_ms,
                                            SigningKeyCache& cache) {
  const Request view = request.view();
  const auto signature = read_signature(view);
  if (!signature) return signature.error();
  if (signature->kind == SignatureKind::v2_query) {
    const auto verified = verify_v2(view, *signature, secret, now_ms);
    return verified ? std::nullopt : std::optional(verified.error());
  }
  const auto outcome = verify_head(view, *signature, secret, now_ms, cache);
  if (!outcome) return outcome.error();
  const auto checked = std::visit([&](const auto& it) { return it.check_body(sha256(request.body)); }, *outcome);
  return checked ? std::nullopt : std::optional(checked.error());
}

inline std::optional<SignatureFault> fault_of(const OwnedRequest& request, std::string_view secret,
                                              std::int64_t now_ms) {
  SigningKeyCache cache;
  const auto error = verify(request, secret, now_ms, cache);
  return error ? std::optional(error->fault) : std::nullopt;
}

inline void PrintTo(SignatureFault fault, std::ostream* out) {
  constexpr const char* kNames[] = {"missing",       "unsupported",   "ambiguous",          "incomplete", "bad_query",
                                    "unknown_key",   "mismatch",      "headers_not_signed", "skewed",     "expired",
                                    "not_yet_valid", "bad_body_hash", "body_mismatch"};
  *out << kNames[static_cast<std::size_t>(fault)];
}

}  // namespace drover::aws
