// SHA-256, HMAC, and bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover {

/// 32 bytes.
std::string sha256(std::string_view bytes);
/// 16 bytes. Only for protocols that require it.
std::string md5(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// 20 bytes. Only for protocols that require it.
std::string hmac_sha1(std::string_view key, std::string_view bytes);

/// Takes a time that depends on the lengths alone: for signatures and other secrets.
bool equal_in_constant_time(std::string_view a, std::string_view b);
/// Overwrites a secret and leaves the text empty.
void wipe(std::string& secret);

/// Lower case, two digits a byte.
std::string hex(std::string_view bytes);

/// RFC 4648 base64 for URLs and file names, without padding.
std::string base64url(std::string_view bytes);
/// Nothing: it is none.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace drover
