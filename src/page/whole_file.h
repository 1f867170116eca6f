// Writing a file so that nobody ever sees half of it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drover::page {

/// Writes a file beside `path` and renames it. A link is followed; what is no plain file (a pipe, a device) is written
/// into as it is.
Result<void> write_whole_file(const std::string& path, std::string_view content);

}  // namespace drover::page
