// One path of light, followed backwards from the camera: bounce by bounce, asking the softboxes on the way, until it is
// lost in the sky or carries too little to matter.
#pragma once

#include <cstdint>

#include "sampler.h"
#include "scene.h"

namespace render {

/// One path's light, and what its first meeting was with.
struct Seen {
  Color light;
  Color albedo;
  Vec3 normal;
  float depth = 0;
};

/// Follows single paths and counts their rays.
class PathTracer {
 public:
  PathTracer(const Scene& scene, Sampler& sampler) : scene_(scene), sampler_(sampler) {}

  Seen follow(Ray ray);
  std::uint64_t rays() const { return rays_; }

 private:
  Color from_softbox(Vec3 point, Vec3 normal);
  Color seen_softbox(const Ray& ray, float limit) const;

  const Scene& scene_;
  Sampler& sampler_;
  std::uint64_t rays_ = 0;
};

}  // namespace render
