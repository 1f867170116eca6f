// Numbers that nobody can foresee. What must be repeatable takes a Random with a seed instead.
#pragma once

#include <cstdint>
#include <random>

namespace drover {

inline std::uint64_t random_number() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) ^ device();
}

}  // namespace drover
