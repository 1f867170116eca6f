#include "wire/shapes/machine_type.h"

#include <map>

#include "wire/shapes/aws_types.h"
#include "wire/shapes/gcp_types.h"

namespace drover {

const MachineType* find_machine_type(std::string_view name) {
  static const std::map<std::string_view, const MachineType*> all = [] {
    std::map<std::string_view, const MachineType*> out;
    for (const MachineType& it : kAwsTypes) out.emplace(it.name, &it);
    for (const MachineType& it : kGcpTypes) out.emplace(it.name, &it);
    return out;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace drover
