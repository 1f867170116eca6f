#include "camera.h"

namespace render {

namespace {

constexpr Vec3 kAim{0, 0.62F, 0};
constexpr float kDistance = 7.2F;
constexpr float kHalfWidth = 0.335F;  // of what it sees, at distance 1
constexpr float kLensRadius = 0.07F;

}  // namespace

Camera::Camera(float bearing, float elevation)
    : eye_(kAim + towards(bearing, elevation) * kDistance),
      frame_(towards(bearing, elevation)),
      focus_(kDistance - 0.7F) {}

Ray Camera::ray_through(float x, float y, Point2 lens) const {
  const Point2 disc = on_disc(lens);
  const Vec3 on_lens{disc.x * kLensRadius, disc.y * kLensRadius, 0};
  const Vec3 in_focus{x * kHalfWidth * focus_, y * kHalfWidth * focus_, -focus_};
  return {eye_ + frame_.to_world(on_lens), normalize(frame_.to_world(in_focus - on_lens))};
}

}  // namespace render
