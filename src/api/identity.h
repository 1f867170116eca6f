// Whom a request comes from. A bearer key is checked when the head is there. A signature that covers the body, as AWS
// clients send it, can only be verified when the body is there too: until then the caller is only claimed.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "keys/caller.h"
#include "ports/http.h"
#include "wire/aws/signature_error.h"
#include "wire/aws/sigv4.h"

namespace drover {

/// How much is read of a body before its sender is verified.
inline constexpr std::uint64_t kMostUnverifiedBytes = std::uint64_t{8} << 20;

/// Why a caller is not let in.
struct Refusal {
  Error error;
  std::optional<aws::SignatureError> signature = {};  // of a request that AWS's clients signed
};

struct Identity {
  Caller caller;
  /// Set while the caller is only claimed: verifies it against the whole body.
  std::move_only_function<std::expected<void, Refusal>(std::string_view body)> verify = {};
  /// Set where the head alone shows the caller, as it states what the body is: for a body that goes to a sink, in place
  /// of `verify`. See api/signed_body.h.
  std::optional<aws::VerifiedHead> signed_head = {};
  /// Whether the key is still valid. From any thread.
  std::function<bool()> is_valid = [] { return true; };
};

/// From the head of a request. Must not wait.
using Identify = std::function<std::expected<Identity, Refusal>(const HttpHead& head)>;

}  // namespace drover
