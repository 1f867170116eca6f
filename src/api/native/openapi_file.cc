#include "api/native/openapi_file.h"

// The file, embedded: see CMakeLists.txt.
extern "C" const char drover_openapi_begin[];
extern "C" const char drover_openapi_end[];

namespace drover {

std::string_view openapi_file() {
  return {drover_openapi_begin, drover_openapi_end};
}

}  // namespace drover
