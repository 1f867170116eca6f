#include "trouble.h"

#include <cstdio>

namespace render {

int complain(const char* program, const Trouble& trouble) {
  std::fprintf(stderr, "%s: %s\n  next: %s\n", program, trouble.what.c_str(), trouble.next.c_str());
  return 2;
}

}  // namespace render
