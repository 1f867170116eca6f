// Three floats: a point, a direction or a colour, with the arithmetic that light needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace render {

constexpr float kPi = std::numbers::pi_v<float>;

struct Vec3 {
  float x = 0;
  float y = 0;
  float z = 0;
};

/// Colours are linear light, not what a screen is given.
using Color = Vec3;

constexpr Vec3 operator+(Vec3 a, Vec3 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
constexpr Vec3 operator-(Vec3 a, Vec3 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
constexpr Vec3 operator*(Vec3 a, Vec3 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
constexpr Vec3 operator*(Vec3 a, float k) {
  return {a.x * k, a.y * k, a.z * k};
}
constexpr Vec3 operator/(Vec3 a, float k) {
  return a * (1 / k);
}
constexpr Vec3 operator-(Vec3 a) {
  return {-a.x, -a.y, -a.z};
}
constexpr Vec3& operator+=(Vec3& a, Vec3 b) {
  return a = a + b;
}
constexpr Vec3& operator*=(Vec3& a, Vec3 b) {
  return a = a * b;
}

constexpr float dot(Vec3 a, Vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
constexpr Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline float length(Vec3 a) {
  return std::sqrt(dot(a, a));
}
inline Vec3 normalize(Vec3 a) {
  return a / length(a);
}

constexpr Vec3 mix(Vec3 a, Vec3 b, float share_of_b) {
  return a + (b - a) * share_of_b;
}
constexpr float largest(Vec3 a) {
  return std::max({a.x, a.y, a.z});
}
constexpr float luminance(Color c) {
  return 0.2126F * c.x + 0.7152F * c.y + 0.0722F * c.z;
}

/// How far along a smooth ramp from `low` to `high` a value is: 0 below, 1 above.
constexpr float ramp(float low, float high, float value) {
  const float share = std::clamp((value - low) / (high - low), 0.0F, 1.0F);
  return share * share * (3 - 2 * share);
}

/// The direction at a compass bearing and a height above the horizon, both in degrees; y is up.
inline Vec3 towards(float bearing, float elevation) {
  const float turn = bearing * kPi / 180;
  const float rise = elevation * kPi / 180;
  return {std::cos(rise) * std::sin(turn), std::sin(rise), std::cos(rise) * std::cos(turn)};
}

struct Ray {
  Vec3 origin;
  Vec3 direction;  // of length 1

  constexpr Vec3 at(float distance) const { return origin + direction * distance; }
};

/// Two directions that stand square on `normal` and on each other.
struct Frame {
  explicit Frame(Vec3 normal)
      : along(normalize(cross(std::abs(normal.y) < 0.9F ? Vec3{0, 1, 0} : Vec3{1, 0, 0}, normal))),
        across(cross(normal, along)),
        up(normal) {}

  constexpr Vec3 to_world(Vec3 local) const { return along * local.x + across * local.y + up * local.z; }

  Vec3 along;
  Vec3 across;
  Vec3 up;
};

}  // namespace render
