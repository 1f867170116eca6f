#include "shape.h"

#include <utility>

namespace render {

namespace {

// Lengths in this file are in units of a shape's size, but for the public functions.

// Above the floor, so that light which leaves through the underside has yet to meet it. This one is in scene units.
constexpr float kGapBelow = 4e-3F;

constexpr float kCubeEdge = 0.16F;
constexpr float kDrumEdge = 0.12F;
constexpr float kDrumRadius = 0.92F;
constexpr float kTube = 0.3F;

// A walk may end this much short of the surface. Less than what the tracer lifts a new ray off it.
constexpr float kTouching = 4e-4F;
constexpr int kMostSteps = 48;

// A dodecahedron's face directions, one of each opposite pair, the first turned to the floor.
constexpr std::array<Vec3, 6> kGemFaces{{{0, 1, 0},
                                         {0.894427F, 0.447214F, 0},
                                         {0.276393F, 0.447214F, 0.850651F},
                                         {-0.723607F, 0.447214F, 0.525731F},
                                         {-0.723607F, 0.447214F, -0.525731F},
                                         {0.276393F, 0.447214F, -0.850651F}}};

Vec3 positive(Vec3 v) {
  return {std::max(v.x, 0.0F), std::max(v.y, 0.0F), std::max(v.z, 0.0F)};
}

/// From the cube's core, which its edges are rounded about.
Vec3 from_cube_core(Vec3 p) {
  constexpr float kCore = 1 - kCubeEdge;
  return {std::abs(p.x) - kCore, std::abs(p.y) - kCore, std::abs(p.z) - kCore};
}

/// The same of the drum: outwards and upwards.
Vec3 from_drum_core(Vec3 p) {
  return {std::sqrt(p.x * p.x + p.z * p.z) - (kDrumRadius - kDrumEdge), std::abs(p.y) - (1 - kDrumEdge), -1};
}

/// How far a point is from the surface; less than 0 inside. Only for shapes with soft edges.
float distance_to(ShapeKind kind, Vec3 p) {
  if (kind == ShapeKind::ring) {
    const float from_circle = std::sqrt(p.x * p.x + p.y * p.y) - (1 - kTube);
    return std::sqrt(from_circle * from_circle + p.z * p.z) - kTube;
  }
  const bool is_cube = kind == ShapeKind::cube;
  const Vec3 out = is_cube ? from_cube_core(p) : from_drum_core(p);
  return length(positive(out)) + std::min(largest(out), 0.0F) - (is_cube ? kCubeEdge : kDrumEdge);
}

/// Walks until the surface is touched, if that is within `end`.
std::optional<float> walk(ShapeKind kind, const Ray& ray, float along, float end, float side) {
  for (int step = 0; step < kMostSteps && along <= end; ++step) {
    const float clear = side * distance_to(kind, ray.at(along));
    if (clear < kTouching) return along;
    along += clear;
  }
  return std::nullopt;
}

/// The part of a ray that is inside something convex; empty if enter > leave.
struct Part {
  float enter = -1e9F;
  float leave = 1e9F;

  /// Keeps what lies between two parallel planes, `half` to each side of the middle.
  void cut(float origin, float direction, float half) {
    const float inverse = 1 / direction;
    const float middle = -origin * inverse;
    const float reach = std::abs(half * inverse);
    enter = std::max(enter, middle - reach);
    leave = std::min(leave, middle + reach);
  }
};

constexpr Part kNothing{1, 0};

Part cut_by_ball(const Ray& ray) {
  const float nearest = -dot(ray.origin, ray.direction);
  const float half_squared = 1 - dot(ray.origin, ray.origin) + nearest * nearest;
  if (half_squared < 0) return kNothing;
  const float half = std::sqrt(half_squared);
  return {nearest - half, nearest + half};
}

Part cut_by_drum_side(const Ray& ray) {
  const Vec3& o = ray.origin;
  const Vec3& d = ray.direction;
  const float a = std::max(d.x * d.x + d.z * d.z, 1e-12F);
  const float b = o.x * d.x + o.z * d.z;
  const float root_squared = b * b - a * (o.x * o.x + o.z * o.z - kDrumRadius * kDrumRadius);
  if (root_squared < 0) return kNothing;
  const float root = std::sqrt(root_squared);
  return {(-b - root) / a, (-b + root) / a};
}

Part cut_by_hull(ShapeKind kind, const Ray& ray) {
  if (kind == ShapeKind::ball) return cut_by_ball(ray);
  const Vec3& o = ray.origin;
  const Vec3& d = ray.direction;
  if (kind == ShapeKind::gem) {
    Part part;
    for (const Vec3& face : kGemFaces) part.cut(dot(face, o), dot(face, d), 1);
    return part;
  }
  Part part = kind == ShapeKind::drum ? cut_by_drum_side(ray) : Part{};
  part.cut(o.y, d.y, 1);
  if (kind != ShapeKind::drum) {
    part.cut(o.x, d.x, 1);
    part.cut(o.z, d.z, kind == ShapeKind::ring ? kTube : 1);
  }
  return part;
}

/// Where the solid itself is met, given the part of the ray in its hull.
std::optional<float> meet_within(ShapeKind kind, const Ray& local, const Part& hull) {
  if (kind == ShapeKind::ball || kind == ShapeKind::gem) return hull.enter > 0 ? hull.enter : hull.leave;
  if (hull.enter > 0 || distance_to(kind, local.origin) > 0) {
    return walk(kind, local, std::max(hull.enter, 0.0F), hull.leave, 1);
  }
  if (kind == ShapeKind::ring) return walk(kind, local, 0, hull.leave, -1);
  // Inside a convex solid the way out is nearest from the hull's far side.
  const auto back = walk(kind, {local.at(hull.leave), -local.direction}, 0, hull.leave, 1);
  return back ? std::optional(hull.leave - *back) : std::nullopt;
}

float reach_of(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::ball:
    case ShapeKind::ring: return 1;
    case ShapeKind::cube: return 1.62F;
    case ShapeKind::drum: return 1.29F;
    case ShapeKind::gem: return 1.26F;
  }
  std::unreachable();
}

}  // namespace

Shape::Shape(ShapeKind kind, float x, float z, float size, float yaw)
    : kind_(kind),
      center_{x, size + kGapBelow, z},
      size_(size),
      reach_(reach_of(kind) * size),
      cos_(std::cos(yaw)),
      sin_(std::sin(yaw)) {}

std::optional<float> Shape::meet(const Ray& ray, float limit) const {
  const Ray local{to_local(ray.origin - center_) / size_, to_local(ray.direction)};
  const Part part = cut_by_hull(kind_, local);
  if (part.leave <= std::max(part.enter, 0.0F) || part.enter * size_ >= limit) return std::nullopt;
  const std::optional<float> met = meet_within(kind_, local, part);
  return met && *met * size_ < limit ? std::optional(*met * size_) : std::nullopt;
}

Vec3 Shape::normal_at(Vec3 point) const {
  if (kind_ == ShapeKind::ball) return (point - center_) / size_;
  const Vec3 p = to_local(point - center_) / size_;
  Vec3 normal;
  switch (kind_) {
    case ShapeKind::ball: break;
    case ShapeKind::cube: {
      const Vec3 out = positive(from_cube_core(p));
      normal = {std::copysign(out.x, p.x), std::copysign(out.y, p.y), std::copysign(out.z, p.z)};
      break;
    }
    case ShapeKind::drum: {
      const Vec3 out = positive(from_drum_core(p));
      const float radius = std::max(std::sqrt(p.x * p.x + p.z * p.z), 1e-6F);
      normal = {p.x * out.x / radius, std::copysign(out.y, p.y), p.z * out.x / radius};
      break;
    }
    case ShapeKind::ring: {
      const float from_axis = std::max(std::sqrt(p.x * p.x + p.y * p.y), 1e-6F);
      const float circle = (1 - kTube) / from_axis;
      normal = p - Vec3{p.x * circle, p.y * circle, 0};
      break;
    }
    case ShapeKind::gem: {
      float farthest = 0;
      for (const Vec3& face : kGemFaces) {
        const float along = dot(face, p);
        if (std::abs(along) <= farthest) continue;
        farthest = std::abs(along);
        normal = along > 0 ? face : -face;
      }
      break;
    }
  }
  return to_world(normalize(normal));
}

}  // namespace render
