#include "base/uuid.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

Uuid Uuid::from_random(std::array<std::uint8_t, 16> random) {
  random[6] = static_cast<std::uint8_t>((random[6] & 0x0f) | 0x40);
  random[8] = static_cast<std::uint8_t>((random[8] & 0x3f) | 0x80);
  return Uuid{random};
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  std::size_t at = 0;
  for (std::size_t byte = 0; byte < 16; ++byte) {
    if (dash_before(byte) && text[at++] != '-') return std::nullopt;
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    uuid.bytes[byte] = static_cast<std::uint8_t>(high * 16 + low);
    at += 2;
  }
  return uuid;
}

std::string Uuid::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (std::size_t byte = 0; byte < 16; ++byte) {
    if (dash_before(byte)) out += '-';
    out += digits[bytes[byte] >> 4];
    out += digits[bytes[byte] & 15];
  }
  return out;
}

}  // namespace drover
