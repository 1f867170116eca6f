// Hashing of state, for tests and for noticing change; not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

/// A running 64-bit hash in which order matters.
class Hasher {
 public:
  void add(std::uint64_t value) {
    std::uint64_t z = state_ ^ (value + 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93;
    state_ = z ^ (z >> 32);
  }

  void add(std::string_view bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) {
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
      }
      add(word);
    }
  }

  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x2545f4914f6cdd1d;
};

}  // namespace drover
