// What the kernel says a process has used, in our words.
#pragma once

#include <sys/resource.h>

#include <algorithm>

#include "base/words.h"

namespace drover::slot {

inline std::int64_t in_us(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

inline void add_usage(Usage& usage, const rusage& used) {
  constexpr std::int64_t kBlockBytes = 512;  // the unit of ru_inblock and ru_oublock
  usage.user_us += in_us(used.ru_utime);
  usage.system_us += in_us(used.ru_stime);
  usage.peak_memory_kib = std::max<std::int64_t>(usage.peak_memory_kib, used.ru_maxrss);
  usage.read_bytes += std::int64_t{used.ru_inblock} * kBlockBytes;
  usage.written_bytes += std::int64_t{used.ru_oublock} * kBlockBytes;
}

}  // namespace drover::slot
