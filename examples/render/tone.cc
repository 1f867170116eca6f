#include "tone.h"

#include "color.h"

namespace render {

namespace {

constexpr float kExposure = 1.2F;
constexpr float kWhite = 5;  // this much light and more is white
constexpr float kGrey = 0.25F;
constexpr float kContrast = 1.25F;
constexpr float kVignette = 0.22F;

/// A film's response: darks deepened and lights lifted about middle grey, then a bend until kWhite becomes 1.
float respond(float light) {
  const float punchy = kGrey * std::pow(light / kGrey, kContrast);
  return punchy * (1 + punchy / (kWhite * kWhite)) / (1 + punchy);
}

}  // namespace

Picture develop(const Film& film) {
  Picture picture(film.width, film.height);
  for (int row = 0; row < film.height; ++row) {
    for (int column = 0; column < film.width; ++column) {
      const float x = (static_cast<float>(column) + 0.5F) / static_cast<float>(film.width) * 2 - 1;
      const float y = (static_cast<float>(row) + 0.5F) / static_cast<float>(film.height) * 2 - 1;
      const float corner = (x * x + y * y) / 2;
      const Color light = film.at(column, row).light * (kExposure * (1 - kVignette * corner * corner));
      std::uint8_t* out = picture.at(column, row);
      out[0] = to_srgb_byte(respond(light.x));
      out[1] = to_srgb_byte(respond(light.y));
      out[2] = to_srgb_byte(respond(light.z));
    }
  }
  return picture;
}

}  // namespace render
