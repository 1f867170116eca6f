#include "fleets/machine_name.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kLongestFleetPart = 100;
constexpr std::size_t kDigits = 12;
constexpr std::string_view kHex = "0123456789abcdef";

}  // namespace

std::string machine_name(const std::string& fleet, std::uint64_t number) {
  std::string digits;
  for (std::uint64_t rest = number >> 16; digits.size() < kDigits; rest >>= 4) digits += kHex[rest & 15];
  return concat(fleet.substr(0, kLongestFleetPart), "-", digits);
}

bool is_machine_name(std::string_view fleet, std::string_view name) {
  const std::string_view part = fleet.substr(0, kLongestFleetPart);
  return name.size() == part.size() + 1 + kDigits && name.starts_with(part) && name[part.size()] == '-' &&
         name.substr(part.size() + 1).find_first_not_of(kHex) == std::string_view::npos;
}

}  // namespace drover
