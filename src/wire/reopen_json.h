// Which items a retry is about, in a job's row, as JSON: {"failed":true,"exit_code":3}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/reopen_choice.h"

namespace drover {

std::string reopen_to_json(const ReopenChoice& choice);
std::optional<ReopenChoice> reopen_from_json(std::string_view json);

}  // namespace drover
