// The still life: one large solid in the middle, smaller ones about it, a floor without end, and the light.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bounds.h"
#include "light.h"
#include "material.h"
#include "shape.h"

namespace render {

/// What a picture is asked to show.
struct Subject {
  ShapeKind shape = ShapeKind::ball;
  MaterialKind material = MaterialKind::glossy;
  float hue = 30;  // degrees; the other colours are chosen to go with it
  LightKind light = LightKind::studio;
  std::uint32_t seed = 0;  // decides what stands around the middle
};

struct Solid {
  Shape shape;
  Material material;
};

/// Where a ray met something.
struct Hit {
  float distance;
  Vec3 point;
  Vec3 normal;  // outward
  const Material* material;
  float haze;  // how much of the horizon lies over it, 0 to 1
};

class Scene {
 public:
  explicit Scene(const Subject& subject);

  std::optional<Hit> meet(const Ray& ray) const;

  /// The share of light that passes along the ray up to `limit`, colour by colour.
  Color passage(const Ray& ray, float limit) const;

  const Lighting& lighting() const { return lighting_; }

 private:
  void place_around(const Subject& subject);

  std::vector<Solid> solids_;
  Bounds bounds_;  // in the order of solids_
  Material floor_;
  Lighting lighting_;
};

}  // namespace render
