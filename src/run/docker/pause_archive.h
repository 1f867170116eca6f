// The program that a warm container waits in.
#pragma once

#include <string>

namespace drover {

/// Its name.
inline constexpr const char* kPauseName = "pause";

/// A tar archive that holds it and nothing else.
const std::string& pause_archive();

}  // namespace drover
