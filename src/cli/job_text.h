// Job files where they lie: their text, and the paths in them, which are relative to the file.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace drover {

/// "-" is standard input.
Result<std::string> read_job_text(const std::string& path);
/// The same of a file with a fleet's settings.
Result<std::string> read_fleet_text(const std::string& path);

/// Without dots and without a slash at its end.
std::string absolute_path(const std::filesystem::path& path);

}  // namespace drover
