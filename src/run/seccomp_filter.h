// The profile of system calls as a program for the kernel.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "base/result.h"
#include "wire/capabilities.h"

namespace drover {

Result<std::vector<sock_filter>> seccomp_filter(CapabilityMask capabilities);

}  // namespace drover
