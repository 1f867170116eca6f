// writes_records SIZE COUNT BURST: so many lines of SIZE bytes, numbered from 0, each with a write of its own; BURST of
// them to stdout, then as many to stderr, and so on. BURST 0: all to stdout.
#include <unistd.h>

#include <cstdlib>
#include <string>

int main(int, char** arguments) {
  const long size = std::atol(arguments[1]);
  const long count = std::atol(arguments[2]);
  const long burst = std::atol(arguments[3]);
  std::string line(static_cast<std::size_t>(size), '-');
  line.back() = '\n';
  for (long i = 0; i < count; ++i) {
    long rest = i;
    for (std::size_t digit = 12; digit-- > 0; rest /= 10) line[digit] = static_cast<char>('0' + rest % 10);
    line[12] = ' ';
    const int stream = burst > 0 && i / burst % 2 == 1 ? STDERR_FILENO : STDOUT_FILENO;
    if (::write(stream, line.data(), line.size()) != size) return 1;
  }
}
