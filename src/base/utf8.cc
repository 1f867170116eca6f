#include "base/utf8.h"

namespace drover {

Utf8Char utf8_char(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return {};
  char32_t point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0U) != 0x80) return {};
    point = point << 6U | (next & 0x3fU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  if (overlong || surrogate || point > 0x10ffff) return {};
  return {point, length, true};
}

std::string utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Char next = utf8_char(bytes, at);
    if (next.valid) {
      out += bytes.substr(at, next.length);
    } else {
      out += "\xef\xbf\xbd";
    }
    at += next.length;
  }
  return out;
}

}  // namespace drover
