// What skopeo says, and what is meant. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "run/image/image_error.h"

namespace drover {

/// Why it failed, from all that it wrote to stderr.
ImageError skopeo_error(std::string_view said, const ImageReference& reference);

/// How long the registry asked to be left alone (Retry-After), from what it writes with --debug; 0: it did not ask.
std::int64_t skopeo_retry_after_ms(std::string_view said);

/// The last fatal message of its log, without quoting; else the last line.
std::string skopeo_reason(std::string_view said);

}  // namespace drover
