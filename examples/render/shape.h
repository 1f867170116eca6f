// The solids that stand on the floor, and where a ray meets them. Ball and gem are met exactly. The others have soft
// edges: a ray is cut to their hull, and walks the little that is left by the distance it may go without touching.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "vec3.h"

namespace render {

enum class ShapeKind { ball, cube, drum, ring, gem };
constexpr std::array<std::string_view, 5> kShapeNames{"ball", "cube", "drum", "ring", "gem"};

class Shape {
 public:
  /// A solid `size` from its middle to the floor at x, z, turned by `yaw` radians about the vertical.
  Shape(ShapeKind kind, float x, float z, float size, float yaw);

  /// How far along the ray its surface is first met, from either side, if within `limit`.
  std::optional<float> meet(const Ray& ray, float limit) const;

  /// The outward direction at a point of the surface.
  Vec3 normal_at(Vec3 point) const;

  /// Radius of the bounding ball around center().
  float reach() const { return reach_; }
  Vec3 center() const { return center_; }

 private:
  Vec3 to_local(Vec3 v) const { return {cos_ * v.x - sin_ * v.z, v.y, sin_ * v.x + cos_ * v.z}; }
  Vec3 to_world(Vec3 v) const { return {cos_ * v.x + sin_ * v.z, v.y, cos_ * v.z - sin_ * v.x}; }

  ShapeKind kind_;
  Vec3 center_;
  float size_;
  float reach_;
  float cos_;
  float sin_;
};

}  // namespace render
