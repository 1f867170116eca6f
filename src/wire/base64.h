// Bytes as text: RFC 4648 base64, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover {

std::string base64(std::string_view bytes);
/// Nothing: it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace drover
