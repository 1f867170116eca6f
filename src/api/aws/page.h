// A page of a list, for operations with Marker and MaxItems.
#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "api/aws/aws_api.h"
#include "base/units.h"

namespace drover::aws {

/// `list` is everything, in an order that lasts. The marker counts what came before.
inline Outcome page_of(const boost::json::object& input, std::string_view member, boost::json::array list) {
  constexpr std::int64_t kUsual = 100;
  std::size_t from = 0;
  if (const boost::json::value* marker = input.if_contains("Marker")) {
    const auto number = parse_number(marker->get_string());
    if (!number || *number > list.size()) return failed("ValidationError", "Marker is not one that was returned");
    from = *number;
  }
  const boost::json::value* most = input.if_contains("MaxItems");
  const auto count = static_cast<std::size_t>(most == nullptr ? kUsual : most->get_int64());
  const std::size_t end = std::min(list.size(), from + count);
  boost::json::object out{{"IsTruncated", end < list.size()}};
  if (end < list.size()) out["Marker"] = concat(end);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(end), list.end());
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(from));
  out[member] = std::move(list);
  return out;
}

}  // namespace drover::aws
