// What lights the scene: two softboxes, which matte surfaces ask for light and mirrors see as bright panels, and a sky.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "vec3.h"

namespace render {

enum class LightKind { studio, noon, golden, dusk, moon };
constexpr std::array<std::string_view, 5> kLightNames{"studio", "noon", "golden", "dusk", "moon"};

/// A bright rectangle that shines to one side, towards the middle of the scene. It casts no shadow.
struct Softbox {
  /// Seen from the middle of the floor: the compass bearing and height above the horizon in degrees.
  Softbox(float bearing, float elevation, float half_width, float half_height, Color radiance);

  /// How far along the ray its shining side is met, if within `limit`.
  std::optional<float> meet(const Ray& ray, float limit) const;

  Vec3 center;
  Vec3 facing;
  Vec3 across;  // half its width
  Vec3 up;      // half its height
  float area;
  Color radiance;
  float power;  // luminance times area: what it counts for beside another
};

/// Key and rim light, and the sky around them.
struct Lighting {
  Softbox key;
  Softbox rim;
  Color horizon;
  Color zenith;

  Color sky(Vec3 direction) const { return mix(horizon, zenith, std::sqrt(std::max(direction.y, 0.0F))); }
};

Lighting make_lighting(LightKind kind);

}  // namespace render
