// What a surface does with light: it scatters it matte, and the tracer asks the softboxes for their share; or it sends
// it on as a mirror would, through or back.
#pragma once

#include <array>
#include <string_view>

#include "sampler.h"
#include "vec3.h"

namespace render {

enum class MaterialKind { matte, glossy, metal, glass, pearl };
constexpr std::array<std::string_view, 5> kMaterialNames{"matte", "glossy", "metal", "glass", "pearl"};

struct Material {
  MaterialKind kind = MaterialKind::matte;
  Color color;
  float roughness = 0;  // of what it mirrors: 0 sharp, 1 dull
};

enum class ScatterKind { matte, mirrored };

/// One way that light may have come to a point of the surface.
struct Scatter {
  ScatterKind kind;
  Vec3 direction;  // where the path goes on; unset for matte, where the tracer decides
  Color weight;    // the share of that light which is passed on
};

/// Chooses a way. `normal` points outward; `incoming` is the direction in which the path arrived.
Scatter scatter(const Material& material, Vec3 incoming, Vec3 normal, Sampler& sampler);

/// The light that a solid of this material lets by on the straight line to a softbox, where the line enters at the
/// angle of this cosine. A stand-in for the bright spot under glass, which paths alone would find too rarely.
Color passes(const Material& material, float cosine);

}  // namespace render
