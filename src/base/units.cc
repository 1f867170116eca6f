#include "base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

template <std::size_t N>
using Units = std::array<std::pair<std::string_view, double>, N>;

constexpr double kMostValue = 9e15;

std::unexpected<Error> wrong(std::string_view what, std::string_view kind, std::string_view text,
                             std::string_view example) {
  return fail(ErrorCode::bad_input, concat(what, " ", kind, " '", text, "'"),
              concat("use a number with a unit, such as ", example));
}

/// "1.5h" is 1.5 times what "h" counts; where several follow each other, as in "1h30m", their sum.
template <std::size_t N>
Result<std::uint64_t> scale(std::string_view text, std::string_view kind, std::string_view example,
                            const Units<N>& units) {
  double sum = 0;
  std::string_view rest = text;
  do {
    double number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || number < 0 || !std::isfinite(number)) return wrong("invalid", kind, text, example);
    const std::string_view behind = rest.substr(static_cast<std::size_t>(end - rest.data()));
    const std::string_view unit = behind.substr(0, behind.find_first_of("0123456789."));
    const auto known =
        std::ranges::find_if(units, [&](const auto& it) { return is_same_but_for_case(it.first, unit); });
    // Only what stands alone needs no unit: "1h30" may be minutes to some.
    const bool is_part = rest.size() < text.size() || unit.size() < behind.size();
    if (known == units.end() || (unit.empty() && is_part)) return wrong("unknown unit in", kind, text, example);
    sum += number * known->second;
    rest = behind.substr(unit.size());
  } while (!rest.empty());
  if (sum > kMostValue) return fail(ErrorCode::bad_input, concat(kind, " '", text, "' is too large"));
  return static_cast<std::uint64_t>(std::llround(sum));
}

std::string one_decimal(double value) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.1f", value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string two_digits(std::int64_t value) {
  return concat(value < 10 ? "0" : "", value);
}

}  // namespace

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  static constexpr Units<6> kUnits = {{{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}}};
  auto value = scale(text, "time", "30s, 10m or 1h30m", kUnits);
  if (!value) return pass(value);
  return static_cast<std::int64_t>(*value);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr double k = 1024;
  static constexpr Units<18> kUnits = {{{"", 1},
                                        {"B", 1},
                                        {"KiB", k},
                                        {"MiB", k * k},
                                        {"GiB", k * k * k},
                                        {"TiB", k * k * k * k},
                                        {"Ki", k},
                                        {"Mi", k * k},
                                        {"Gi", k * k * k},
                                        {"Ti", k * k * k * k},
                                        {"K", k},
                                        {"M", k * k},
                                        {"G", k * k * k},
                                        {"T", k * k * k * k},
                                        {"kB", 1e3},
                                        {"MB", 1e6},
                                        {"GB", 1e9},
                                        {"TB", 1e12}}};
  return scale(text, "size", "512MiB or 4GiB", kUnits);
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(ErrorCode::bad_input, concat("'", text, "' is not a whole number"));
  }
  return value;
}

std::string format_duration_us(std::int64_t us) {
  if (us < 1000) return concat(us, " µs");
  if (us < 1'000'000) return one_decimal(static_cast<double>(us) / 1e3) + " ms";
  if (us < 60'000'000) return one_decimal(static_cast<double>(us) / 1e6) + " s";
  const std::int64_t seconds = us / 1'000'000;
  if (seconds < 3600) return concat(seconds / 60, " min ", two_digits(seconds % 60), " s");
  return concat(seconds / 3600, " h ", two_digits(seconds % 3600 / 60), " min");
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return concat(bytes, " B");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return concat(one_decimal(value), " ", kNames[unit]);
}

std::string format_count(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return concat(format_count(count), " ", noun, count == 1 ? "" : "s");
}

}  // namespace drover
