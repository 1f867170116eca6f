// Writes every byte value a hundred times, NULs among them, and no newline at the end.
#include <cstdio>

int main() {
  for (int i = 0; i < 100 * 256; ++i) std::fputc(i % 256, stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
