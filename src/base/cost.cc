#include "base/cost.h"

#include <algorithm>

#include "base/wide.h"

namespace drover {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kHourUs = kHourMs * 1000;
constexpr std::int64_t kMillionths = 1'000'000;
constexpr std::int64_t kLongestUs = 1'000'000'000'000'000;  // thirty years

// List prices of one hour, in micro-dollars. Only their ratio counts.
constexpr std::uint64_t kCpu = 31'611;
constexpr std::uint64_t kGib = 4'237;
constexpr std::uint64_t kAccelerator = 950'000;

/// In micro-dollars / (1000 x 1024). More than a million CPUs, a pebibyte or a million accelerators are no more.
std::uint64_t weight_of(const Resources& it) {
  std::uint64_t weight = std::min<std::uint64_t>(it.milli_cpus, 1'000'000'000) * kCpu * 1024 +
                         std::min<std::uint64_t>(it.memory_bytes >> 20, std::uint64_t{1} << 30) * kGib * 1000;
  for (const std::uint64_t count : it.accelerators) {
    weight += std::min<std::uint64_t>(count, 1'000'000) * kAccelerator * 1000 * 1024;
  }
  return weight;
}

Wide hourly_price(std::int64_t microdollars) {
  return static_cast<Wide>(std::clamp<std::int64_t>(microdollars, 0, kMostHourlyMicrodollars));
}

}  // namespace

std::int64_t bill_of(std::int64_t hourly_microdollars, std::int64_t ms) {
  const auto time_ms = static_cast<Wide>(std::clamp<std::int64_t>(ms, 0, kLongestUs / 1000));
  return static_cast<std::int64_t>(hourly_price(hourly_microdollars) * time_ms / kHourMs);
}

MachinePart MachinePart::of(const Resources& ask, const Resources& machine) {
  const std::uint64_t whole = std::max<std::uint64_t>(weight_of(machine), 1);
  return {.weight = std::min(weight_of(ask), whole), .whole = whole};
}

std::int64_t CostSum::add(std::int64_t hourly_microdollars, MachinePart part, std::int64_t us, std::int64_t most) {
  constexpr Wide kOne = static_cast<Wide>(kMillionths) * kHourUs;  // a micro-dollar, in units of `rest`
  const Wide rate = hourly_price(hourly_microdollars) * kMillionths * part.weight / part.whole;
  const Wide all = rate * static_cast<Wide>(std::clamp<std::int64_t>(us, 0, kLongestUs)) + static_cast<Wide>(rest);
  const std::int64_t room = std::max<std::int64_t>(most - microdollars, 0);
  const bool is_full = all / kOne > static_cast<Wide>(room);
  const std::int64_t grown = is_full ? room : static_cast<std::int64_t>(all / kOne);
  rest = is_full ? 0 : static_cast<std::int64_t>(all % kOne);
  microdollars += grown;
  return grown;
}

}  // namespace drover
