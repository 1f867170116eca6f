// What the measuring programs share: a stopwatch, the peak of their own memory, and an end for errors.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/result.h"

namespace drover {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Of this thread's own time: what others do on the machine is not in it, but for what they do to its caches.
class CpuStopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
  }
  double start_ = now();
};

/// VmHWM. Not ru_maxrss, which a process inherits from whoever started it.
inline std::uint64_t peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

/// The value, or the end of the program: a benchmark has nobody to pass an error to.
template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace drover
