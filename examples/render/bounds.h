// The bounding balls of all solids side by side, so that the compiler tests a ray against several at once: most rays
// miss most solids, and this is where it is found out.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "vec3.h"

namespace render {

class Bounds {
 public:
  static constexpr std::size_t kMost = 8;

  void add(Vec3 center, float radius) {
    x_[count_] = center.x;
    y_[count_] = center.y;
    z_[count_] = center.z;
    radius_[count_] = radius;
    ++count_;
  }
  std::size_t count() const { return count_; }

  /// Calls `visit` with the number of each ball that the ray may meet before `limit`.
  template <class Visit>
  void for_each_near(const Ray& ray, float limit, const Visit& visit) const {
    for (unsigned left = near(ray, limit); left != 0; left &= left - 1) {
      visit(static_cast<std::size_t>(std::countr_zero(left)));
    }
  }

 private:
  /// One bit for each ball.
  unsigned near(const Ray& ray, float limit) const {
    constexpr std::array<unsigned, kMost> kBits{1, 2, 4, 8, 16, 32, 64, 128};
    unsigned bits = 0;
    for (std::size_t i = 0; i < kMost; ++i) {
      const float x = x_[i] - ray.origin.x;
      const float y = y_[i] - ray.origin.y;
      const float z = z_[i] - ray.origin.z;
      const float nearest = x * ray.direction.x + y * ray.direction.y + z * ray.direction.z;
      const float missed_by = x * x + y * y + z * z - nearest * nearest - radius_[i] * radius_[i];
      const bool is_near = (missed_by < 0) & (nearest + radius_[i] > 0) & (nearest - radius_[i] < limit);
      bits |= is_near ? kBits[i] : 0U;
    }
    return bits;
  }

  std::size_t count_ = 0;
  std::array<float, kMost> x_{};
  std::array<float, kMost> y_{};
  std::array<float, kMost> z_{};
  std::array<float, kMost> radius_{};  // 0, which nothing meets, where there is no solid
};

}  // namespace render
