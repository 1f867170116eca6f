// What an image requires of the driver: NVIDIA_REQUIRE_CUDA="cuda>=12.4 brand=tesla,driver>=470".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// What is known of the driver and the GPUs. What is not known is not held against a requirement.
struct NvidiaProperties {
  std::string driver;               // "535.104.05"
  std::string cuda;                 // "12.2"
  std::vector<std::string> brands;  // "tesla", of each GPU
};

/// A later driver than this program knows has at least the last version of CUDA that it knows.
std::string cuda_version_of_driver(std::string_view driver);

/// "tesla" of "Tesla V100-SXM2-16GB"; empty: the name does not say.
std::string brand_of_model(std::string_view model);

/// A space is "or", a comma "and". The error names what is not met, or what is not a requirement.
Result<void> check_requirement(std::string_view requirement, const NvidiaProperties& properties);

}  // namespace drover
