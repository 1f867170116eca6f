// Bytes as text: RFC 4648 base64, with padding.
#pragma once

#include <string>
#include <string_view>

namespace drover {

std::string base64(std::string_view bytes);

}  // namespace drover
