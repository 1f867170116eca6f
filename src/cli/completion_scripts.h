// The glue between a shell's completion and `drover __complete`, which knows what may come next.
#pragma once

#include <string_view>

namespace drover {

extern const std::string_view kBashCompletion;
extern const std::string_view kZshCompletion;
extern const std::string_view kFishCompletion;

}  // namespace drover
