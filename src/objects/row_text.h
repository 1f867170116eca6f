// How rows of the index write what has no column of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/bucket_index.h"

namespace drover {

/// "s17:4096 f18:8388608@512".
std::string text_of(const std::vector<DataPlace>& places);
Result<std::vector<DataPlace>> places_from(std::string_view text, std::string_view key);

/// "name: value" in lines.
std::string text_of(const ObjectHeaders& headers);
ObjectHeaders headers_from(std::string_view text);

/// "8388608 8388608 12".
std::string text_of(const std::vector<std::uint64_t>& numbers);
std::vector<std::uint64_t> numbers_from(std::string_view text);

/// Ids of versions and uploads begin with the sequence that they were made with; nothing: it is no such id.
std::string id_with(std::uint64_t sequence);
std::optional<std::uint64_t> sequence_in(std::string_view id);

inline std::uint64_t natural(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}
inline std::int64_t stored(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

}  // namespace drover
