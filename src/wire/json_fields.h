// The fields of a JSON object as text for a command line: strings as they are, null as nothing, and everything else
// exactly as it was written, so that 1.0 stays 1.0 and a long number keeps its digits.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

Result<std::map<std::string, std::string>> json_fields(std::string_view text);

}  // namespace drover
