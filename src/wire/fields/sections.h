// The table of job fields in its parts, each in a file of its own, in the order in which people want to read them.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "wire/job_fields.h"

namespace drover {

std::span<const JobField> command_fields();
std::span<const JobField> item_fields();
std::span<const JobField> container_fields();
std::span<const JobField> resource_fields();
std::span<const JobField> queueing_fields();
std::span<const JobField> failure_fields();

inline constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLongest = 9'000'000'000'000'000;  // ms
inline constexpr std::string_view kName = "(?!\\.\\.?$)[A-Za-z0-9_.\\-]{1,128}";
inline constexpr std::string_view kNameWords = "a name: letters, digits, '_', '.' and '-', at most 128 characters";

}  // namespace drover
