#include "wire/aws/bucket_name.h"

#include <algorithm>

namespace drover::aws {

bool is_bucket_name(std::string_view name) {
  const auto is_end = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto may_be = [&](char c) { return is_end(c) || c == '-' || c == '.'; };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, may_be) && is_end(name.front()) &&
         is_end(name.back()) && !name.contains("..");
}

}  // namespace drover::aws
