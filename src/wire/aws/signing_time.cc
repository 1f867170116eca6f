#include "wire/aws/signing_time.h"

#include <chrono>
#include <cstdio>

namespace drover::aws {
namespace {

/// The number that these characters are, or -1 if one of them is no digit.
int number_at(std::string_view text, std::size_t at, std::size_t length) {
  int value = 0;
  for (const char c : text.substr(at, length)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<std::int64_t> time_ms_of(int year, int month, int day, int hour, int minute, int second) {
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 59) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
}

/// 1 for "Jan"; 0: not a month.
int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(name);
  return at == std::string_view::npos || at % 3 != 0 ? 0 : static_cast<int>(at / 3) + 1;
}

}  // namespace

std::string signing_time(std::int64_t time_ms) {
  using namespace std::chrono;
  const sys_seconds time = floor<seconds>(sys_time<milliseconds>(milliseconds(time_ms)));
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char text[40];
  const int length = std::snprintf(text, sizeof text, "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
                                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                   static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                                   static_cast<int>(clock.seconds().count()));
  return {text, static_cast<std::size_t>(length)};
}

std::optional<std::int64_t> parse_signing_time(std::string_view text) {
  if (text.size() == 16 && text[8] == 'T' && text[15] == 'Z') {
    return time_ms_of(number_at(text, 0, 4), number_at(text, 4, 2), number_at(text, 6, 2), number_at(text, 9, 2),
                      number_at(text, 11, 2), number_at(text, 13, 2));
  }
  if (text.size() == 29 && text.substr(3, 2) == ", " && text.ends_with(" GMT")) {
    return time_ms_of(number_at(text, 12, 4), month_of(text.substr(8, 3)), number_at(text, 5, 2),
                      number_at(text, 17, 2), number_at(text, 20, 2), number_at(text, 23, 2));
  }
  return std::nullopt;
}

}  // namespace drover::aws
