#include "wire/aws/times.h"

#include <charconv>
#include <chrono>
#include <cstdio>

namespace drover::aws {
namespace {

constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Takes exactly so many digits from the front.
bool take(std::string_view& text, std::size_t digits, int& number) {
  if (text.size() < digits) return false;
  const std::string_view taken = text.substr(0, digits);
  const auto [end, error] = std::from_chars(taken.begin(), taken.end(), number);
  if (error != std::errc() || end != taken.end() || taken.starts_with('-')) return false;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// Of a second, in milliseconds; further digits count for nothing.
bool take_fraction(std::string_view& text, int& ms) {
  if (!take(text, '.')) return true;
  int scale = 100;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, scale /= 10) {
    ms += (text[digits] - '0') * scale;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

bool take_zone(std::string_view& text, int& minutes_east) {
  if (take(text, 'Z') || take(text, 'z')) return true;
  const int sign = text.starts_with('-') ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!take(text, '-') && !take(text, '+')) return false;
  if (!take(text, 2, hours) || !take(text, ':') || !take(text, 2, minutes) || hours > 23 || minutes > 59) return false;
  minutes_east = sign * (hours * 60 + minutes);
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  using namespace std::chrono;
  int year_number = 0;
  int month_number = 0;
  int day_number = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int ms = 0;
  int minutes_east = 0;
  const bool read = take(text, 4, year_number) && take(text, '-') && take(text, 2, month_number) && take(text, '-') &&
                    take(text, 2, day_number) && take(text, 'T') && take(text, 2, hour) && take(text, ':') &&
                    take(text, 2, minute) && take(text, ':') && take(text, 2, second) && take_fraction(text, ms) &&
                    take_zone(text, minutes_east) && text.empty();
  const year_month_day date{year(year_number), month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number))};
  if (!read || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto time = sys_days(date) + hours(hour) + minutes(minute - minutes_east) + seconds(second) + milliseconds(ms);
  return time.time_since_epoch() / milliseconds(1);
}

std::string iso_time(std::int64_t ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(ms)};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                    static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text, static_cast<std::size_t>(length)};
}

std::string http_time(std::int64_t ms) {
  using namespace std::chrono;
  const sys_seconds time = floor<seconds>(sys_time<milliseconds>(milliseconds(ms)));
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char text[40];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d GMT", kDays[weekday(day).c_encoding()],
                static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                static_cast<int>(date.year()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  return text;
}

}  // namespace drover::aws
