#include "accel/nvidia_requirement.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

struct Branch {
  std::uint64_t driver;
  std::string_view cuda;
};
// The first driver branch of each version of CUDA, from NVIDIA's release notes.
constexpr Branch kBranches[] = {
    {590, "13.1"}, {580, "13.0"}, {575, "12.9"}, {570, "12.8"}, {565, "12.7"}, {560, "12.6"}, {555, "12.5"},
    {550, "12.4"}, {545, "12.3"}, {535, "12.2"}, {530, "12.1"}, {525, "12.0"}, {520, "11.8"}, {515, "11.7"},
    {510, "11.6"}, {495, "11.5"}, {470, "11.4"}, {465, "11.3"}, {460, "11.2"}, {455, "11.1"}, {450, "11.0"},
    {440, "10.2"}, {418, "10.1"}, {410, "10.0"}, {396, "9.2"},  {390, "9.1"},  {384, "9.0"}};

constexpr std::string_view kOperators[] = {"!=", "<=", ">=", "=", "<", ">"};
constexpr std::string_view kBrands[] = {"tesla", "quadro", "geforce", "titan", "nvs", "grid"};

struct Condition {
  std::string_view property;
  std::string_view compare;
  std::string_view value;
};

std::optional<Condition> condition_in(std::string_view text) {
  const std::size_t at = text.find_first_of("!<>=");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view rest = text.substr(at);
  for (const std::string_view compare : kOperators) {
    if (!rest.starts_with(compare)) continue;
    const std::string_view value = rest.substr(compare.size());
    if (value.empty()) return std::nullopt;
    return Condition{text.substr(0, at), compare, value};
  }
  return std::nullopt;
}

/// "12.10" is later than "12.9"; a missing part is 0.
int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto x = parse_number(take_until(a, '.')).value_or(0);
    const auto y = parse_number(take_until(b, '.')).value_or(0);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

bool holds(int order, std::string_view compare) {
  if (compare == "=") return order == 0;
  if (compare == "!=") return order != 0;
  if (compare == "<") return order < 0;
  if (compare == "<=") return order <= 0;
  if (compare == ">") return order > 0;
  return order >= 0;
}

bool is_met(const Condition& condition, const NvidiaProperties& properties) {
  if (condition.property == "brand") {
    const bool is_there = std::ranges::find(properties.brands, condition.value) != properties.brands.end();
    return properties.brands.empty() || (condition.compare == "!=" ? !is_there : is_there);
  }
  // The compute capability of a GPU is not in /proc.
  if (condition.property == "arch") return true;
  const std::string& version = condition.property == "cuda" ? properties.cuda : properties.driver;
  return version.empty() || holds(compare_versions(version, condition.value), condition.compare);
}

}  // namespace

std::string cuda_version_of_driver(std::string_view driver) {
  const auto branch = parse_number(driver.substr(0, driver.find('.')));
  if (!branch) return {};
  for (const auto& [first, cuda] : kBranches) {
    if (*branch >= first) return std::string(cuda);
  }
  return {};
}

std::string brand_of_model(std::string_view model) {
  const std::string small = in_small_letters(model);
  for (const std::string_view brand : kBrands) {
    if (small.find(brand) != std::string::npos) return std::string(brand);
  }
  return {};
}

Result<void> check_requirement(std::string_view requirement, const NvidiaProperties& properties) {
  bool is_one_met = trimmed(requirement).empty();
  std::string_view rest = requirement;
  while (!rest.empty()) {
    std::string_view all = trimmed(take_until(rest, ' '));
    if (all.empty()) continue;
    bool are_met = true;
    while (!all.empty()) {
      const std::string_view text = trimmed(take_until(all, ','));
      const auto condition = condition_in(text);
      constexpr std::string_view kProperties[] = {"cuda", "driver", "arch", "brand"};
      if (!condition || std::ranges::find(kProperties, condition->property) == std::end(kProperties)) {
        return fail(ErrorCode::bad_input, concat("'", text, "' is not a requirement"),
                    "write cuda, driver, arch or brand, then =, !=, <, <=, > or >= and a value, for example "
                    "cuda>=12.4; or set NVIDIA_DISABLE_REQUIRE=1");
      }
      are_met = are_met && is_met(*condition, properties);
    }
    is_one_met = is_one_met || are_met;
  }
  if (is_one_met) return {};
  return fail(ErrorCode::conflict,
              concat("the image requires '", requirement, "', and this machine has driver ", properties.driver,
                     properties.cuda.empty() ? "" : concat(" with CUDA ", properties.cuda)),
              "update the driver, use an image for an older CUDA, or set NVIDIA_DISABLE_REQUIRE=1");
}

}  // namespace drover
