// An item of latency: writes when it started (CLOCK_MONOTONIC, nanoseconds) into the pipe it is given.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (argc != 2) return 2;
  const int pipe = ::open(argv[1], O_WRONLY | O_CLOEXEC);
  char line[32];
  const int length =
      std::snprintf(line, sizeof line, "%lld\n", static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  return ::write(pipe, line, static_cast<size_t>(length)) == length ? 0 : 1;
}
