#include "base/resources.h"

#include <cctype>

#include "base/name.h"

namespace drover {

Resources ask_of(const ItemLimits& limits) {
  const Resources ask{limits.milli_cpus == 0 ? kUsualMilliCpus : limits.milli_cpus, limits.memory_bytes};
  return ask.at_most(Resources::endless());
}

bool has_all(const Labels& labels, const Labels& required) {
  return std::ranges::all_of(required, [&](const auto& it) {
    const auto found = labels.find(it.first);
    return found != labels.end() && found->second == it.second;
  });
}

bool is_valid_label(std::string_view name, std::string_view value) {
  return is_valid_name(name) && value.size() <= 128 && std::ranges::all_of(value, [](unsigned char c) {
           return std::isalnum(c) != 0 || std::string_view("_.-:/+@").contains(static_cast<char>(c));
         });
}

}  // namespace drover
