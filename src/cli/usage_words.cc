#include "cli/usage_words.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

#include "base/money.h"
#include "base/units.h"
#include "cli/answer.h"

namespace drover {
namespace {

std::string three_digits(double value) {
  if (value == 0) return "0";
  if (value < 0.0005) return "<0.001";
  if (value < 10) return fmt::format("{:.3f}", value);
  if (value < 1000) return fmt::format("{:.1f}", value);
  return format_count(static_cast<std::uint64_t>(std::llround(value)));
}

}  // namespace

JobUsage usage_in(const boost::json::value& object) {
  JobUsage used;
  JobUsage::fields(
      used, [&](const char* name, std::int64_t& value) { value = static_cast<std::int64_t>(number_in(object, name)); });
  return used;
}

std::string cost_words(const JobUsage& used) {
  if (used.on_demand_microdollars == 0) return {};
  std::string out = fmt::format("{} ({} on demand", format_dollars(used.cost_microdollars),
                                format_dollars(used.on_demand_microdollars));
  if (used.wasted_microdollars > 0) {
    out += fmt::format(", {} for failed and lost attempts", format_dollars(used.wasted_microdollars));
  }
  return out + ")";
}

std::string hours(std::int64_t ms) {
  return three_digits(static_cast<double>(ms) / 3'600'000);
}

std::string gib_hours(std::int64_t mib_s) {
  return three_digits(static_cast<double>(mib_s) / 1024 / 3600);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const double value = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return part > 0 && value < 0.5 ? "<1 %" : fmt::format("{:.0f} %", value);
}

std::string gpu_words(std::int64_t busy_us, std::int64_t peak_memory_kib, std::int64_t energy_mj) {
  if (busy_us <= 0 && peak_memory_kib <= 0 && energy_mj <= 0) return {};
  return fmt::format(", GPU busy for {}, {} of GPU memory, {:.1f} J", format_duration_us(busy_us),
                     format_size(static_cast<std::uint64_t>(peak_memory_kib) * 1024),
                     static_cast<double>(energy_mj) / 1e3);
}

}  // namespace drover
