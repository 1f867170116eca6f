// Which system calls a container's processes may make, unless it is privileged: all that programs need for themselves;
// none that reach past the container (mounting, modules, the clock, other processes' memory) without the right to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "wire/capabilities.h"

namespace drover {

enum class CallTest : std::uint8_t { equals, differs, masked };

/// A condition on one argument: it equals the value, differs from it, or equals it under the mask.
struct CallCondition {
  std::uint32_t argument = 0;
  CallTest test = CallTest::equals;
  std::uint64_t value = 0;
  std::uint64_t mask = 0;
};

struct CallRule {
  std::vector<std::string_view> names;
  std::vector<CallCondition> when;  // all of them
  int refused_with = 0;             // an errno; 0: allowed
};

/// What is not named is refused with EPERM.
std::vector<CallRule> seccomp_profile(CapabilityMask capabilities);

}  // namespace drover
