#include "base/money.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace drover {

Result<std::int64_t> parse_dollars(std::string_view text) {
  constexpr std::size_t kDecimals = 6;
  const std::string_view whole = text.substr(0, text.find('.'));
  std::string decimals(text.substr(std::min(whole.size() + 1, text.size())));
  const bool has_point = whole.size() < text.size();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (whole.empty() || has_point == decimals.empty() || !std::ranges::all_of(whole, is_digit) ||
      !std::ranges::all_of(decimals, is_digit)) {
    return fail(ErrorCode::bad_input, concat("'", text, "' is not an amount of dollars such as 0.085"));
  }
  if (decimals.size() > kDecimals) {
    return fail(ErrorCode::bad_input, concat("'", text, "' has more than ", kDecimals, " decimals"));
  }
  decimals.resize(kDecimals, '0');
  const auto microdollars = parse_number(concat(whole, decimals));
  if (!microdollars || *microdollars > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ErrorCode::bad_input, concat("'", text, "' is too large"));
  }
  return static_cast<std::int64_t>(*microdollars);
}

std::string format_dollars(std::int64_t microdollars) {
  constexpr std::uint64_t kDollar = 1'000'000;
  const std::string sign = microdollars < 0 ? "-$" : "$";
  const std::uint64_t all = microdollars < 0 ? -static_cast<std::uint64_t>(microdollars) : microdollars;
  const std::size_t digits = all == 0 || all >= kDollar ? 2 : all >= kDollar / 100 ? 4 : 6;
  std::uint64_t unit = 1;
  for (std::size_t i = digits; i < 6; ++i) unit *= 10;
  const std::uint64_t units = all / unit + (all % unit * 2 >= unit && unit > 1 ? 1 : 0);
  const std::uint64_t one = kDollar / unit;
  std::string decimals = std::to_string(units % one);
  decimals.insert(0, digits - decimals.size(), '0');
  return concat(sign, format_count(units / one), ".", decimals);
}

}  // namespace drover
