// writes_one_line BYTES: a line of so many bytes, its end included.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int, char** arguments) {
  const std::string part(1 << 20, 'x');
  for (long left = std::atol(arguments[1]) - 1; left > 0; left -= static_cast<long>(part.size())) {
    std::fwrite(part.data(), 1, std::min<std::size_t>(part.size(), static_cast<std::size_t>(left)), stdout);
  }
  std::fputc('\n', stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
