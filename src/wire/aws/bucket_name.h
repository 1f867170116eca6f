// Names of buckets, as S3 has them.
#pragma once

#include <cstddef>
#include <string_view>

namespace drover::aws {

/// Three to 63 small letters, digits, dots and hyphens.
bool is_bucket_name(std::string_view name);

/// The longest key that an object can have, in bytes.
inline constexpr std::size_t kLongestObjectKey = 1024;

}  // namespace drover::aws
