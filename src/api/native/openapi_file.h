// docs/openapi.yaml, which is part of the program.
#pragma once

#include <string_view>

namespace drover {

std::string_view openapi_file();

}  // namespace drover
