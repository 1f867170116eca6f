#include "scene.h"

#include <utility>

#include "color.h"

namespace render {

namespace {

constexpr float kHeroSize = 0.95F;
constexpr int kCompanions = Bounds::kMost - 1;
constexpr float kHazeBegins = 3.5F;
constexpr float kHazeEnds = 13;

/// Chances for laying out a scene.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(scramble(seed + 0x51ed27U)) {}

  float between(float low, float high) {
    state_ = scramble(state_ + 0x9e3779b9U);
    return low + (high - low) * static_cast<float>(state_ >> 8) * 0x1p-24F;
  }
  template <class Kind>
  Kind kind(std::size_t kinds) {
    return static_cast<Kind>(std::min(static_cast<std::size_t>(between(0, static_cast<float>(kinds))), kinds - 1));
  }

 private:
  std::uint32_t state_;
};

/// A colour of about this lightness: yellows are pleasant when lighter, blues when darker.
Color tinted(float lightness, float chroma, float hue) {
  return from_lightness_chroma_hue(lightness + 0.45F * chroma * std::cos((hue - 100) * kPi / 180), chroma, hue);
}

Material make_material(MaterialKind kind, float hue) {
  switch (kind) {
    case MaterialKind::matte: return {kind, tinted(0.70F, 0.15F, hue), 0};
    case MaterialKind::glossy: return {kind, tinted(0.63F, 0.19F, hue), 0.02F};
    case MaterialKind::metal: return {kind, tinted(0.86F, 0.13F, hue), 0.08F};
    case MaterialKind::glass: return {kind, tinted(0.92F, 0.10F, hue), 0};
    case MaterialKind::pearl: return {kind, tinted(0.88F, 0.04F, hue), 0.12F};
  }
  std::unreachable();
}

}  // namespace

Scene::Scene(const Subject& subject)
    : floor_{MaterialKind::matte, tinted(0.84F, 0.07F, subject.hue + 190), 0}, lighting_(make_lighting(subject.light)) {
  lighting_.horizon = lighting_.horizon * floor_.color * 1.5F;
  solids_.push_back({Shape(subject.shape, 0, 0, kHeroSize, Dice(subject.seed).between(0, 2 * kPi)),
                     make_material(subject.material, subject.hue)});
  place_around(subject);
  for (const Solid& solid : solids_) bounds_.add(solid.shape.center(), solid.shape.reach());
}

void Scene::place_around(const Subject& subject) {
  // Neighbours of the hue and of its opposite, never what lies between: so the colours of a scene agree.
  constexpr std::array<float, 7> kHueSteps{180, 35, 150, -35, 210, 0, 20};
  Dice dice(subject.seed * 7919 + 1);
  const float first_bearing = dice.between(0, 2 * kPi);
  for (int tries = 0; tries < 400 && solids_.size() <= kCompanions; ++tries) {
    const std::size_t number = solids_.size() - 1;
    const float size = dice.between(0.16F, 0.42F);
    const float bearing =
        first_bearing + 2 * kPi * (static_cast<float>(number) + dice.between(-0.35F, 0.35F)) / kCompanions;
    const float away = dice.between(1.3F, 2.15F);
    const Shape shape(dice.kind<ShapeKind>(kShapeNames.size()), away * std::sin(bearing), away * std::cos(bearing),
                      size, dice.between(0, 2 * kPi));
    const bool is_free = std::ranges::none_of(solids_, [&](const Solid& other) {
      const Vec3 apart = shape.center() - other.shape.center();
      return std::hypot(apart.x, apart.z) < (shape.reach() + other.shape.reach()) * 0.95F;
    });
    if (!is_free) continue;
    solids_.push_back(
        {shape, make_material(dice.kind<MaterialKind>(kMaterialNames.size()), subject.hue + kHueSteps[number])});
  }
}

std::optional<Hit> Scene::meet(const Ray& ray) const {
  float nearest = 1e6F;
  const Solid* met = nullptr;
  bounds_.for_each_near(ray, nearest, [&](std::size_t i) {
    if (const auto distance = solids_[i].shape.meet(ray, nearest)) {
      nearest = *distance;
      met = &solids_[i];
    }
  });
  if (ray.direction.y < 0) {
    const float to_floor = -ray.origin.y / ray.direction.y;
    if (to_floor > 0 && to_floor < nearest) {
      const Vec3 point = ray.at(to_floor);
      return Hit{to_floor, point, {0, 1, 0}, &floor_, ramp(kHazeBegins, kHazeEnds, length(point))};
    }
  }
  if (met == nullptr) return std::nullopt;
  const Vec3 point = ray.at(nearest);
  return Hit{nearest, point, met->shape.normal_at(point), &met->material, 0};
}

Color Scene::passage(const Ray& ray, float limit) const {
  Color passed{1, 1, 1};
  bounds_.for_each_near(ray, limit, [&](std::size_t i) {
    const auto& [shape, material] = solids_[i];
    if (largest(passed) <= 0) return;
    const auto distance = shape.meet(ray, limit);
    if (!distance) return;
    passed *= passes(material, std::abs(dot(shape.normal_at(ray.at(*distance)), ray.direction)));
  });
  return passed;
}

}  // namespace render
