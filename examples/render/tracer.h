// The path tracer: takes many paths through each pixel, more where they disagree, and averages what they bring.
#pragma once

#include <cstdint>

#include "camera.h"
#include "film.h"
#include "scene.h"

namespace render {

struct Traced {
  Film film;
  std::uint64_t paths = 0;
  std::uint64_t rays = 0;
};

/// Takes at most `most_samples` paths through each pixel, in whole rounds of the sampler, and fewer where that is
/// enough. The same arguments give the same picture.
Traced trace(const Scene& scene, const Camera& camera, int width, int height, std::uint32_t most_samples,
             std::uint32_t seed);

}  // namespace render
