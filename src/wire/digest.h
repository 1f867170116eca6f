// SHA-256, HMAC and their texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover {

/// 32 bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Lower case, two digits a byte.
std::string hex(std::string_view bytes);

/// RFC 4648 base64 for URLs and file names, without padding.
std::string base64url(std::string_view bytes);
/// Nothing: it is none.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace drover
