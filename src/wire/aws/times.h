// Times in the forms that AWS's protocols have, as milliseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover::aws {

/// "2026-01-31T12:00:00Z", with or without a fraction, with "Z" or an offset such as "+01:00".
std::optional<std::int64_t> parse_iso_time(std::string_view text);
/// "2026-01-31T12:00:00.000Z"
std::string iso_time(std::int64_t ms);

/// "Sat, 31 Jan 2026 12:00:00 GMT", as HTTP's headers have it.
std::string http_time(std::int64_t ms);

}  // namespace drover::aws
