// Times as signatures write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover::aws {

/// 1794704197000 → "20261115T005637Z".
std::string signing_time(std::int64_t time_ms);

/// Milliseconds since 1970, of "20261115T005637Z" or of a Date header, "Sun, 15 Nov 2026 00:56:37 GMT". Nothing: it is
/// neither.
std::optional<std::int64_t> parse_signing_time(std::string_view text);

}  // namespace drover::aws
