// A container before it is made: the folder with its config.json.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// A file, however it is named: a bundle's config.json, or one of hooks. The error names it.
Result<std::string> read_whole_file(const std::string& path);

/// Replaces a file as a whole, with its owner and mode; until then, and after an error, it is as it was.
Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace drover
