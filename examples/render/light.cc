#include "light.h"

#include <utility>

namespace render {

namespace {

constexpr Vec3 kAim{0, 0.6F, 0};
constexpr float kAway = 8;

}  // namespace

Softbox::Softbox(float bearing, float elevation, float half_width, float half_height, Color glow)
    : center(kAim + towards(bearing, elevation) * kAway),
      facing(-towards(bearing, elevation)),
      across(Frame(facing).along * half_width),
      up(Frame(facing).across * half_height),
      area(4 * half_width * half_height),
      radiance(glow),
      power(luminance(glow) * area) {}

std::optional<float> Softbox::meet(const Ray& ray, float limit) const {
  const float approach = dot(ray.direction, facing);
  if (approach >= 0) return std::nullopt;
  const float distance = dot(center - ray.origin, facing) / approach;
  if (distance <= 0 || distance >= limit) return std::nullopt;
  const Vec3 from_center = ray.at(distance) - center;
  if (std::abs(dot(from_center, across)) > dot(across, across) || std::abs(dot(from_center, up)) > dot(up, up)) {
    return std::nullopt;
  }
  return distance;
}

Lighting make_lighting(LightKind kind) {
  switch (kind) {
    case LightKind::studio:
      return {.key = {35, 50, 1.5F, 1.1F, Color{1.0F, 0.96F, 0.9F} * 42},
              .rim = {215, 28, 0.7F, 2.0F, Color{0.75F, 0.87F, 1} * 16},
              .horizon = {0.50F, 0.51F, 0.53F},
              .zenith = {0.16F, 0.18F, 0.21F}};
    case LightKind::noon:
      return {.key = {80, 68, 1.0F, 1.0F, Color{1, 0.97F, 0.92F} * 78},
              .rim = {250, 25, 1.0F, 1.6F, Color{0.85F, 0.93F, 1} * 10},
              .horizon = {0.72F, 0.80F, 0.86F},
              .zenith = {0.16F, 0.33F, 0.66F}};
    case LightKind::golden:
      return {.key = {300, 24, 1.1F, 1.0F, Color{1, 0.62F, 0.28F} * 88},
              .rim = {110, 42, 1.4F, 1.2F, Color{0.5F, 0.72F, 1} * 12},
              .horizon = {0.74F, 0.50F, 0.30F},
              .zenith = {0.16F, 0.24F, 0.42F}};
    case LightKind::dusk:
      return {.key = {150, 32, 1.2F, 1.1F, Color{1, 0.36F, 0.42F} * 56},
              .rim = {330, 34, 1.1F, 1.6F, Color{0.32F, 0.45F, 1} * 40},
              .horizon = {0.40F, 0.24F, 0.40F},
              .zenith = {0.09F, 0.09F, 0.26F}};
    case LightKind::moon:
      return {.key = {240, 52, 1.0F, 1.0F, Color{0.5F, 0.72F, 1} * 52},
              .rim = {60, 15, 0.9F, 1.1F, Color{1, 0.52F, 0.2F} * 60},
              .horizon = {0.10F, 0.15F, 0.26F},
              .zenith = {0.02F, 0.04F, 0.11F}};
  }
  std::unreachable();
}

}  // namespace render
