#include "wire/base64.h"

#include <array>
#include <cstdint>

namespace drover {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

/// What each byte stands for.
constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    out[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return out;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += at + i > bytes.size() ? '=' : kDigits[group >> (18 - 6 * i) & 63];
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint8_t digit = kValues[static_cast<unsigned char>(text[at + i])];
      const bool is_padding = text[at + i] == '=' && at + 4 == text.size() && i >= 2;
      if (digit == kNoDigit && !is_padding) return std::nullopt;
      if (padding > 0 && !is_padding) return std::nullopt;
      padding += is_padding ? 1 : 0;
      group = group << 6 | (is_padding ? 0U : digit);
    }
    for (std::size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(group >> (16 - 8 * i));
  }
  return out;
}

}  // namespace drover
