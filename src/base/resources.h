// What machines have and items ask for, in the same words; and the labels by which items choose machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/words.h"

namespace drover {

/// So much of each thing that items share a machine by. No sum, product or difference runs over: at either end it stays
/// where it is.
struct Resources {
  std::uint64_t milli_cpus = 0;
  std::uint64_t memory_bytes = 0;

  /// Of what nobody has measured there is no end, whatever is taken from it. A ledger's cell holds no larger number.
  static constexpr std::uint64_t kEndless = std::numeric_limits<std::int64_t>::max();
  static constexpr Resources endless() { return {kEndless, kEndless}; }

  constexpr bool fits(const Resources& room) const {
    return milli_cpus <= room.milli_cpus && memory_bytes <= room.memory_bytes;
  }
  constexpr Resources plus(const Resources& other) const {
    return {sum(milli_cpus, other.milli_cpus), sum(memory_bytes, other.memory_bytes)};
  }
  /// Nothing is left where more is taken than there is.
  constexpr Resources minus(const Resources& taken) const {
    return {difference(milli_cpus, taken.milli_cpus), difference(memory_bytes, taken.memory_bytes)};
  }
  constexpr Resources times(std::uint64_t count) const {
    return {product(milli_cpus, count), product(memory_bytes, count)};
  }
  constexpr Resources at_most(const Resources& bound) const {
    return {std::min(milli_cpus, bound.milli_cpus), std::min(memory_bytes, bound.memory_bytes)};
  }
  /// How many that ask for so much have room here side by side.
  constexpr std::uint64_t holds(const Resources& ask) const {
    return std::min(quotient(milli_cpus, ask.milli_cpus), quotient(memory_bytes, ask.memory_bytes));
  }

  bool operator==(const Resources&) const = default;

 private:
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return a >= kEndless - std::min(b, kEndless) ? kEndless : a + b;
  }
  static constexpr std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
    if (a >= kEndless) return kEndless;
    return a > b ? a - b : 0;
  }
  static constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a >= kEndless / b ? kEndless : a * b;
  }
  static constexpr std::uint64_t quotient(std::uint64_t a, std::uint64_t b) {
    return b == 0 || a >= kEndless ? kEndless : a / b;
  }
};

/// What an item asks for that says nothing.
inline constexpr std::uint64_t kUsualMilliCpus = 1000;

/// An item asks for what it is held to; where it is not held to anything, for one CPU and no memory in particular.
Resources ask_of(const ItemLimits& limits);

/// Names and what they say: of a worker, or required of one.
using Labels = std::map<std::string, std::string>;

bool has_all(const Labels& labels, const Labels& required);

/// A name as jobs and workers have them. A value is made of letters, digits and '_.-:/+@', at most 128, or empty.
bool is_valid_label(std::string_view name, std::string_view value);

}  // namespace drover
