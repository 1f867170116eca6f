#include "denoise.h"

#include <array>

namespace render {

namespace {

constexpr std::array<int, 3> kSteps{1, 2, 4};  // each pass looks twice as far, between the pixels of the last

/// How far two luminances may lie apart, in standard deviations.
constexpr float kTolerance = 3.5F;

/// Near 1 where `other` is a fair second sample of what `center` shows, near 0 where it is something else.
float likeness(const Pixel& center, const Pixel& other, float tolerance) {
  const Vec3 turn = center.normal - other.normal;
  const Color tint = center.albedo - other.albedo;
  const float depth = (center.depth - other.depth) / (0.04F * (center.depth + other.depth) + 1e-3F);
  const float light = (luminance(center.light) - luminance(other.light)) / tolerance;
  const float unlike = dot(turn, turn) * 12 + dot(tint, tint) * 60 + depth * depth + light * light;
  // A bell curve that ends: as good here as the true one, and quicker.
  const float bell = std::max(1 - unlike / 4, 0.0F);
  return bell * bell * bell * bell;
}

/// The variance of a pixel is itself uncertain: the mean of it and its neighbours is steadier.
float steadied_variance(const Film& film, int column, int row) {
  float sum = 0;
  float weights = 0;
  for (int y = std::max(row - 1, 0); y <= std::min(row + 1, film.height - 1); ++y) {
    for (int x = std::max(column - 1, 0); x <= std::min(column + 1, film.width - 1); ++x) {
      const float weight = (x == column ? 2.0F : 1.0F) * (y == row ? 2.0F : 1.0F);
      sum += film.at(x, y).variance * weight;
      weights += weight;
    }
  }
  return sum / weights;
}

Film smoothed(const Film& film, int step) {
  constexpr std::array<float, 5> kTaps{1, 4, 6, 4, 1};
  Film result = film;
  for (int row = 0; row < film.height; ++row) {
    for (int column = 0; column < film.width; ++column) {
      const Pixel& center = film.at(column, row);
      const float tolerance = kTolerance * std::sqrt(steadied_variance(film, column, row)) + 1e-3F;
      Color light;
      float variance = 0;
      float weights = 0;
      for (int down = -2; down <= 2; ++down) {
        const int y = row + down * step;
        if (y < 0 || y >= film.height) continue;
        for (int right = -2; right <= 2; ++right) {
          const int x = column + right * step;
          if (x < 0 || x >= film.width) continue;
          const Pixel& other = film.at(x, y);
          const float weight = kTaps[down + 2] * kTaps[right + 2] * likeness(center, other, tolerance);
          light += other.light * weight;
          variance += other.variance * weight * weight;
          weights += weight;
        }
      }
      Pixel& out = result.at(column, row);
      out.light = light / weights;
      out.variance = variance / (weights * weights);
    }
  }
  return result;
}

}  // namespace

void denoise(Film& film) {
  for (const int step : kSteps) film = smoothed(film, step);
}

}  // namespace render
