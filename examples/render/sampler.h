// The chances a path takes. Each pixel draws its numbers from points spread evenly over the square, so that a few
// dozen samples are as smooth as a few hundred thrown at random; each decision along a path gets its own shuffle of
// them.
#pragma once

#include <cstdint>

#include "vec3.h"

namespace render {

/// A point of the unit square.
struct Point2 {
  float x = 0;
  float y = 0;
};

/// Turns a number into one that looks unrelated. The multipliers are digits of pi.
constexpr std::uint32_t scramble(std::uint32_t v) {
  v = (v ^ (v >> 16)) * 0x85a308d3U;
  v = (v ^ (v >> 14)) * 0xa4093823U;
  return v ^ (v >> 16);
}

class Sampler {
 public:
  /// The samples of a pixel come in rounds of this many, each spread evenly in itself and fitting into the gaps of
  /// those before it.
  static constexpr std::uint32_t kRound = 8;

  explicit Sampler(std::uint32_t seed) : seed_(scramble(seed)) {}

  void start_path(std::uint32_t column, std::uint32_t row, std::uint32_t sample) {
    pixel_ = scramble(seed_ ^ (row * 0x10001U + column * 0x3001U + 1));
    sample_ = sample;
    decision_ = 0;
  }

  /// The next decision's two numbers, each in [0, 1).
  Point2 next() {
    const std::uint32_t key = next_key();
    const std::uint32_t i = shuffled(key);
    // Steps of the plastic number fill the square evenly from any start; 32 bits wrap around as the square does.
    constexpr std::uint32_t kStepX = 3242174889U;
    constexpr std::uint32_t kStepY = 2447445414U;
    return {to_unit(i * kStepX + key * 0x13198a2fU), to_unit(i * kStepY + key * 0xc97c50ddU)};
  }

  /// The same for a decision that takes one number.
  float next_one() {
    const std::uint32_t key = next_key();
    constexpr std::uint32_t kGoldenStep = 2654435769U;
    return to_unit(shuffled(key) * kGoldenStep + key * 0x13198a2fU);
  }

 private:
  std::uint32_t next_key() { return scramble(pixel_ + ++decision_ * 0x9e3779b9U); }

  /// Odd multiples and exclusive-ors each map a round onto itself: together they shuffle its samples.
  std::uint32_t shuffled(std::uint32_t key) const {
    constexpr std::uint32_t kMask = kRound - 1;
    const std::uint32_t i = ((sample_ ^ key) * (key >> 8 | 1U)) & kMask;
    return (((i ^ i >> 2) * (key >> 20 | 1U)) & kMask) + (sample_ & ~kMask);
  }

  static float to_unit(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

  std::uint32_t seed_;
  std::uint32_t pixel_ = 0;
  std::uint32_t sample_ = 0;
  std::uint32_t decision_ = 0;
};

/// A point of the unit disc, even over its area.
inline Point2 on_disc(Point2 square) {
  const float radius = std::sqrt(square.x);
  const float turn = 2 * kPi * square.y;
  return {radius * std::cos(turn), radius * std::sin(turn)};
}

/// A direction about `normal`, more often near it than along the surface, as a matte surface scatters light: the normal
/// and a step of the same length anywhere.
inline Vec3 cosine_direction(Vec3 normal, Point2 square) {
  const float height = 1 - 2 * square.x;
  const float radius = std::sqrt(std::max(1 - height * height, 0.0F));
  const float turn = 2 * kPi * square.y;
  const Vec3 direction = normal + Vec3{radius * std::cos(turn), radius * std::sin(turn), height} * 0.999F;
  return normalize(direction);
}

}  // namespace render
