#include "path.h"

namespace render {

namespace {

constexpr int kMostBounces = 16;
constexpr int kSureBounces = 1;      // before chance may end a path
constexpr float kLift = 1.5e-3F;     // off the surface, so that a ray does not meet where it starts
constexpr float kBrightestEcho = 4;  // more than this from one path after a matte bounce is a speckle, not a picture

/// About how much light a softbox would bring to a surface if nothing stood between.
float promise(const Softbox& box, Vec3 point, Vec3 normal) {
  const Vec3 path = box.center - point;
  const float squared = dot(path, path);
  const float arriving = dot(path, normal) / std::sqrt(squared);
  return box.power * std::max(arriving, 0.1F) / squared;
}

}  // namespace

/// The light that reaches a matte surface straight from one of the softboxes, divided by how often that one is asked.
Color PathTracer::from_softbox(Vec3 point, Vec3 normal) {
  const Softbox& key = scene_.lighting().key;
  const Softbox& rim = scene_.lighting().rim;
  const float key_promise = promise(key, point, normal);
  const float key_chance = key_promise / (key_promise + promise(rim, point, normal));
  const bool asks_key = sampler_.next_one() < key_chance;
  const Softbox& box = asks_key ? key : rim;
  const Point2 spot = sampler_.next();
  const Vec3 target = box.center + box.across * (2 * spot.x - 1) + box.up * (2 * spot.y - 1);
  const Vec3 path = target - point;
  const float distance = length(path);
  const Vec3 direction = path / distance;
  const float arriving = dot(direction, normal);
  const float leaving = -dot(direction, box.facing);
  if (arriving <= 0 || leaving <= 0) return {};
  ++rays_;
  const Color passed = scene_.passage({point, direction}, distance);
  const float chance = asks_key ? key_chance : 1 - key_chance;
  return box.radiance * passed * (arriving * leaving * box.area / (distance * distance * kPi * chance));
}

/// What a mirrored ray sees of the softboxes, if nothing stands before `limit`.
Color PathTracer::seen_softbox(const Ray& ray, float limit) const {
  const Lighting& lighting = scene_.lighting();
  if (lighting.key.meet(ray, limit)) return lighting.key.radiance;
  if (lighting.rim.meet(ray, limit)) return lighting.rim.radiance;
  return {};
}

Seen PathTracer::follow(Ray ray) {
  Seen seen;
  Color share{1, 1, 1};
  bool was_matte = false;
  const auto add = [&](Color light) {
    const Color arriving = share * light;
    const float excess = was_matte ? largest(arriving) / kBrightestEcho : 0;
    seen.light += excess > 1 ? arriving / excess : arriving;
  };
  for (int bounce = 0; bounce < kMostBounces; ++bounce) {
    ++rays_;
    const std::optional<Hit> hit = scene_.meet(ray);
    const bool sees_softbox = bounce > 0 && !was_matte;
    if (!hit) {
      const Color panel = sees_softbox ? seen_softbox(ray, 1e6F) : Color{};
      add(luminance(panel) > 0 ? panel : scene_.lighting().sky(ray.direction));
      if (bounce == 0) seen.albedo = {1, 1, 1};
      break;
    }
    if (sees_softbox) {
      const Color panel = seen_softbox(ray, hit->distance);
      if (luminance(panel) > 0) {
        add(panel);
        break;
      }
    }
    const Scatter way = scatter(*hit->material, ray.direction, hit->normal, sampler_);
    if (bounce == 0) {
      seen.albedo = hit->material->color;
      seen.normal = hit->normal;
      seen.depth = hit->distance;
    }
    add(scene_.lighting().horizon * hit->haze);
    share *= way.weight * (1 - hit->haze);
    if (way.kind == ScatterKind::matte) {
      const Vec3 start = hit->point + hit->normal * kLift;
      const Color direct = from_softbox(start, hit->normal);
      add(direct);
      was_matte = true;
      ray = {start, cosine_direction(hit->normal, sampler_.next())};
    } else {
      const float side = dot(way.direction, hit->normal) > 0 ? kLift : -kLift;
      ray = {hit->point + hit->normal * side, way.direction};
    }
    if (bounce >= kSureBounces) {
      const float survival = std::min(largest(share), 0.95F);
      if (sampler_.next_one() >= survival) break;
      share = share / survival;
    }
  }
  return seen;
}

}  // namespace render
