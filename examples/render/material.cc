#include "material.h"

namespace render {

namespace {

constexpr float kGlassIndex = 1.5F;

Vec3 reflect(Vec3 incoming, Vec3 normal) {
  return incoming - normal * (2 * dot(incoming, normal));
}

/// A mirror direction, spread by the roughness and kept on the normal's side.
Vec3 spread(Vec3 mirrored, Vec3 normal, float roughness, Point2 chance) {
  if (roughness <= 0) return mirrored;
  const Point2 disc = on_disc(chance);
  const Vec3 direction = normalize(Frame(mirrored).to_world({disc.x * roughness, disc.y * roughness, 1}));
  const float below = dot(direction, normal);
  return below > 0 ? direction : direction - normal * (2 * below);
}

/// The share a surface mirrors, given the share at a square look and the cosine of the angle (Schlick).
float mirrored_share(float square_share, float cosine) {
  const float grazing = 1 - cosine;
  const float squared = grazing * grazing;
  return square_share + (1 - square_share) * squared * squared * grazing;
}

/// The colours of a thin film, which turn with the angle.
Color film_tint(float cosine) {
  const auto wave = [cosine](float shift) { return 0.72F + 0.28F * std::cos(2 * kPi * (1.3F * cosine + shift)); };
  return {wave(0), wave(0.33F), wave(0.67F)};
}

Scatter through_glass(const Material& glass, Vec3 incoming, Vec3 normal, Sampler& sampler) {
  const bool entering = dot(incoming, normal) < 0;
  const Vec3 facing = entering ? normal : -normal;
  const float ratio = entering ? 1 / kGlassIndex : kGlassIndex;
  const float cosine = -dot(incoming, facing);
  const float bent_squared = 1 - ratio * ratio * (1 - cosine * cosine);
  const Color tint = entering ? Color{1, 1, 1} : glass.color;
  const float share = bent_squared <= 0 ? 1 : mirrored_share(0.04F, entering ? cosine : std::sqrt(bent_squared));
  if (sampler.next_one() < share) return {ScatterKind::mirrored, reflect(incoming, facing), {1, 1, 1}};
  const Vec3 bent = incoming * ratio + facing * (ratio * cosine - std::sqrt(bent_squared));
  return {ScatterKind::mirrored, normalize(bent), tint};
}

}  // namespace

Scatter scatter(const Material& material, Vec3 incoming, Vec3 normal, Sampler& sampler) {
  const float cosine = std::abs(dot(incoming, normal));
  const auto mirrored = [&](Color weight) {
    const Vec3 direction = spread(reflect(incoming, normal), normal, material.roughness, sampler.next());
    return Scatter{ScatterKind::mirrored, direction, weight};
  };
  // A coat that mirrors little still mirrors softboxes, which are bright: it is tried more often, for less each time.
  const auto coated = [&](Color tint, float share) {
    const float chance = std::max(share, 0.3F);
    if (sampler.next_one() < chance) return mirrored(tint * (share / chance));
    return Scatter{ScatterKind::matte, {}, material.color * tint * ((1 - share) / (1 - chance))};
  };
  switch (material.kind) {
    case MaterialKind::glass: return through_glass(material, incoming, normal, sampler);
    case MaterialKind::metal: return mirrored(mix(material.color, {1, 1, 1}, mirrored_share(0, cosine)));
    case MaterialKind::glossy: return coated({1, 1, 1}, mirrored_share(0.05F, cosine));
    case MaterialKind::pearl: return coated(film_tint(cosine), mirrored_share(0.2F, cosine));
    case MaterialKind::matte: break;
  }
  return {ScatterKind::matte, {}, material.color};
}

Color passes(const Material& material, float cosine) {
  if (material.kind != MaterialKind::glass) return {};
  return material.color * (0.15F + 1.35F * cosine * cosine * cosine);
}

}  // namespace render
