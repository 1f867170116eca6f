// Exit rules as JSON, in AWS Batch's words: [{"onExitCode":"75","action":"RETRY"}].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/policy.h"

namespace drover {

std::string rules_to_json(const std::vector<ExitRule>& rules);
Result<std::vector<ExitRule>> rules_from_json(std::string_view json);

}  // namespace drover
