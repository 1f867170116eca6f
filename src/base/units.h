// Sizes and times as people write them, in one grammar for flags, files and the API: 512MiB, 4G, 30s, 1h30m; and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// "30s", "1.5h", "250ms", "2d", "1h30m", in either case; a bare number is seconds.
Result<std::int64_t> parse_duration_ms(std::string_view text);

/// "512MiB", "4Gi", "100K", "512m" (powers of 1024), "2GB" (powers of 1000), in either case; a bare number is bytes.
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
