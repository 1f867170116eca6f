// A job's name outside: a version 4 UUID.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  /// Version 4 from 16 random bytes.
  static Uuid from_random(std::array<std::uint8_t, 16> random);
  static std::optional<Uuid> parse(std::string_view text);
  std::string text() const;
  auto operator<=>(const Uuid&) const = default;
};

}  // namespace drover
