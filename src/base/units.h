// Sizes and times as people write them: 512MiB, 4GiB, 30s, 10m, 2h; and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// "30s", "1.5h", "250ms", "2d"; a bare number is seconds.
Result<std::int64_t> parse_duration_ms(std::string_view text);

/// "512MiB", "4GiB", "100K" (binary), "2GB" (decimal); a bare number is bytes.
Result<std::uint64_t> parse_size(std::string_view text);

/// A whole decimal number, all of `text`.
Result<std::uint64_t> parse_number(std::string_view text);

/// "840 µs", "3.2 s", "4 min 10 s", "2 h 05 min".
std::string format_duration_us(std::int64_t us);

/// "1.1 MiB".
std::string format_size(std::uint64_t bytes);

/// 1234567 → "1,234,567".
std::string format_count(std::uint64_t count);

/// "1 item", "2 items".
std::string plural(std::uint64_t count, std::string_view noun);

}  // namespace drover
