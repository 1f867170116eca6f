// Whose resources these are: what stands in every ARN.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace drover::aws {

struct Account {
  std::string id = "123456789012";

  /// "arn:aws:batch:us-east-1:123456789012:job-queue/short"
  std::string arn(std::string_view service, std::string_view region, std::string_view resource) const {
    return concat("arn:aws:", service, ":", region, ":", id, ":", resource);
  }
};

}  // namespace drover::aws
