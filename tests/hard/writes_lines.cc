// writes_lines COUNT: so many lines of 64 bytes, numbered from 0.
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int, char** arguments) {
  const long count = std::atol(arguments[1]);
  std::string line = "000000000000 " + std::string(50, '-') + "\n";
  for (long i = 0; i < count; ++i) {
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) return 1;
    std::size_t digit = 11;
    while (++line[digit] > '9') line[digit--] = '0';
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
