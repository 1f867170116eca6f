#include "screen/time_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/units.h"

namespace drover {
namespace {

constexpr double kMinute_s = 60;
constexpr double kHour_s = 3600;
constexpr double kDay_s = 24 * kHour_s;
constexpr double kSoon_s = 5;
// A range narrower than this is shown as one number.
constexpr double kClose = 1.25;
// Of one wider than this, only the end says anything.
constexpr double kFar = 10;

struct Unit {
  std::string_view name;
  double seconds;
  double upto_s;      // used below this
  double fine_step;   // of the unit, for small numbers
  double fine_upto;   // of the unit
  double rough_step;  // from there on
};

constexpr std::array kUnits = {
    Unit{"s", 1, 90, 1, 10, 5},
    Unit{"min", kMinute_s, 90 * kMinute_s, 1, 20, 5},
    Unit{"h", kHour_s, 36 * kHour_s, 0.5, 10, 1},
    Unit{"days", kDay_s, 0, 0.5, 10, 1},
};

const Unit& unit_for(double seconds) {
  const auto* found = std::ranges::find_if(kUnits, [&](const Unit& unit) { return seconds < unit.upto_s; });
  return found == kUnits.end() ? kUnits.back() : *found;
}

// In units, at the steps a person would name.
double stepped(double seconds, const Unit& unit) {
  const double value = seconds / unit.seconds;
  const double step = value < unit.fine_upto ? unit.fine_step : unit.rough_step;
  return std::round(value / step) * step;
}

std::string words(const TimeRange& range) {
  if (range.high_s < kSoon_s) return "a few seconds left";
  const Unit& unit = unit_for(range.high_s);
  const double middle = stepped(std::sqrt(std::max(range.low_s, 0.0) * range.high_s), unit);
  const double low = stepped(range.low_s, unit);
  const double high = std::max(stepped(range.high_s, unit), unit.fine_step);
  if (low <= 0 || range.high_s > kFar * range.low_s) return fmt::format("under {} {} left", high, unit.name);
  if (range.high_s < kClose * range.low_s || low == high) {
    return fmt::format("about {} {} left", std::max(middle, unit.fine_step), unit.name);
  }
  return fmt::format("{}–{} {} left", low, high, unit.name);
}

std::string words(const RunningLong& tail) {
  const std::string who = tail.of == 1            ? "the last one is"
                          : tail.count == tail.of ? fmt::format("the last {} are", format_count(tail.of))
                          : tail.count == 1
                              ? fmt::format("1 of the last {} is", format_count(tail.of))
                              : fmt::format("{} of the last {} are", format_count(tail.count), format_count(tail.of));
  return who + " running longer than 95 % of the others";
}

}  // namespace

std::string time_left_words(const TimeLeft& left) {
  return std::visit([](const auto& kind) { return words(kind); }, left);
}

std::string duration_words(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, seconds));
  return whole < 60 ? fmt::format("{} s", whole) : format_duration_us(whole * 1'000'000);
}

std::string rate_words(double items_per_s) {
  const auto words_per = [](double rate, std::string_view unit) {
    return rate < 9.95 ? fmt::format("{:.1f} items/{}", rate, unit)
                       : fmt::format("{} items/{}", format_count(static_cast<std::uint64_t>(std::llround(rate))), unit);
  };
  if (items_per_s <= 0) return "0 items/s";
  if (items_per_s >= 0.95) return words_per(items_per_s, "s");
  if (items_per_s * kMinute_s >= 0.95) return words_per(items_per_s * kMinute_s, "min");
  return words_per(items_per_s * kHour_s, "h");
}

}  // namespace drover
