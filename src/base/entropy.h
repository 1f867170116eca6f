// Numbers that nobody can foresee. What must be repeatable takes a Random with a seed instead.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

#include "base/uuid.h"

namespace drover {

inline std::uint64_t random_number() {
  // To make one asks the processor what it can do, which takes microseconds on a virtual machine.
  thread_local std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) ^ device();
}

inline Uuid random_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  const std::array halves{random_number(), random_number()};
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  return Uuid::from_random(bytes);
}

}  // namespace drover
