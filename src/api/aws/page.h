// A page of a list. Services differ only in what they call the token and the count.
#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "api/aws/aws_api.h"
#include "base/units.h"

namespace drover::aws {

struct PageNames {
  std::string_view token;  // in the request and in the answer
  std::string_view count;
  std::string_view bad_token;  // the code of the error
};

/// `list` is everything, in an order that lasts. The token counts what came before.
inline Outcome page_of(const PageNames& names, const boost::json::object& input, std::string_view member,
                       boost::json::array list) {
  constexpr std::int64_t kUsual = 100;
  std::size_t from = 0;
  if (const boost::json::value* token = input.if_contains(names.token)) {
    const auto number = parse_number(token->get_string());
    if (!number || *number > list.size()) {
      return failed(std::string(names.bad_token), concat(names.token, " is not one that was returned"));
    }
    from = *number;
  }
  const boost::json::value* most = input.if_contains(names.count);
  const auto count = static_cast<std::size_t>(most == nullptr ? kUsual : most->get_int64());
  const std::size_t end = std::min(list.size(), from + count);
  boost::json::object out;
  if (end < list.size()) out[names.token] = concat(end);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(end), list.end());
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(from));
  out[member] = std::move(list);
  return out;
}

}  // namespace drover::aws
