// What skopeo says, and what is meant. Pure.
#pragma once

#include <string_view>

#include "run/image/image_error.h"

namespace drover {

/// Why it failed, from all that it wrote to stderr.
ImageError skopeo_error(std::string_view said, const ImageReference& reference);

/// The last fatal message of its log, without quoting; else the last line.
std::string skopeo_reason(std::string_view said);

}  // namespace drover
