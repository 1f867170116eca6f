#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace drover {

void check_failed(const char* file, int line, const char* condition, std::string_view why) {
  std::fprintf(stderr, "drover: internal error at %s:%d: %.*s (%s)\n", file, line, static_cast<int>(why.size()),
               why.data(), condition);
  std::abort();
}

}  // namespace drover
