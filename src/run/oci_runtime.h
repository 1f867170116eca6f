// The program that makes containers out of bundles.
#pragma once

#include <string>

#include "base/container.h"
#include "base/result.h"

namespace drover {

struct OciRuntime {
  std::string path;
  bool is_crun = false;
};

/// The one that is wanted; if any will do, the faster one of those that are here.
Result<OciRuntime> find_oci_runtime(ContainerRuntime wanted);

}  // namespace drover
