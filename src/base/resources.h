// What machines have and items ask for, in the same words; and the labels by which items choose machines.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/words.h"

namespace drover {

/// What kinds of accelerators there are. A model of one is a label's business.
inline constexpr std::size_t kAccelerators = 3;
inline constexpr std::array<std::string_view, kAccelerators> kAcceleratorNames = {"nvidia", "amd", "neuron"};
inline constexpr std::size_t kNvidia = 0;
inline constexpr std::size_t kNeuron = 2;

/// So much of each thing that items share a machine by. No sum, product or difference runs over: at either end it stays
/// where it is.
struct Resources {
  std::uint64_t milli_cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::array<std::uint64_t, kAccelerators> accelerators = {};

  /// Of what nobody has measured there is no end, whatever is taken from it. A ledger's cell holds no larger number.
  static constexpr std::uint64_t kEndless = std::numeric_limits<std::int64_t>::max();
  static constexpr Resources endless() { return {kEndless, kEndless, {kEndless, kEndless, kEndless}}; }

  constexpr bool fits(const Resources& room) const {
    return all(*this, room, [](std::uint64_t a, std::uint64_t b) { return a <= b; });
  }
  constexpr Resources plus(const Resources& other) const { return each(*this, other, sum); }
  /// Nothing is left where more is taken than there is.
  constexpr Resources minus(const Resources& taken) const { return each(*this, taken, difference); }
  constexpr Resources times(std::uint64_t count) const {
    return each(*this, *this, [=](std::uint64_t a, std::uint64_t) { return product(a, count); });
  }
  constexpr Resources at_most(const Resources& bound) const {
    return each(*this, bound, [](std::uint64_t a, std::uint64_t b) { return std::min(a, b); });
  }
  constexpr Resources at_least(const Resources& bound) const {
    return each(*this, bound, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }
  /// How many that ask for so much have room here side by side.
  constexpr std::uint64_t holds(const Resources& ask) const {
    std::uint64_t count = kEndless;
    all(*this, ask, [&](std::uint64_t a, std::uint64_t b) {
      count = std::min(count, quotient(a, b));
      return true;
    });
    return count;
  }

  auto operator<=>(const Resources&) const = default;

 private:
  template <class Combine>
  static constexpr Resources each(const Resources& a, const Resources& b, Combine combine) {
    Resources out{combine(a.milli_cpus, b.milli_cpus), combine(a.memory_bytes, b.memory_bytes), {}};
    for (std::size_t i = 0; i < kAccelerators; ++i) {
      out.accelerators[i] = combine(a.accelerators[i], b.accelerators[i]);
    }
    return out;
  }
  template <class Holds>
  static constexpr bool all(const Resources& a, const Resources& b, Holds holds) {
    bool every = holds(a.milli_cpus, b.milli_cpus) && holds(a.memory_bytes, b.memory_bytes);
    for (std::size_t i = 0; i < kAccelerators && every; ++i) every = holds(a.accelerators[i], b.accelerators[i]);
    return every;
  }
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
