// Why none of the workers can run a job, in a sentence for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/records.h"

namespace drover {

/// "64 CPUs; the largest of 3 workers has 8"; nothing if one of them can run it.
std::optional<std::string> what_nobody_has(const Job& job, const std::vector<Worker>& workers);

}  // namespace drover
