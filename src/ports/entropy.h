// Numbers that nobody can foresee. What must be repeatable takes a Random with a seed instead.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/uuid.h"

namespace drover {

inline std::uint64_t random_number() {
  // The kernel is asked for many at once, which takes it hardly longer than one.
  struct Stock {
    std::array<std::uint64_t, 32> numbers{};
    std::size_t left = 0;
    pid_t process = 0;  // a forked one takes none that its parent will use
  };
  thread_local Stock stock;
  const pid_t process = ::getpid();
  if (stock.left == 0 || stock.process != process) {
    // So few bytes are never given in part.
    if (::getrandom(stock.numbers.data(), sizeof(stock.numbers), 0) != sizeof(stock.numbers)) std::abort();
    stock.left = stock.numbers.size();
    stock.process = process;
  }
  return std::exchange(stock.numbers[--stock.left], 0);
}

inline Uuid random_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  const std::array halves{random_number(), random_number()};
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  return Uuid::from_random(bytes);
}

}  // namespace drover
