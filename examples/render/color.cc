#include "color.h"

namespace render {

Color from_lightness_chroma_hue(float lightness, float chroma, float hue_degrees) {
  const float hue = hue_degrees * kPi / 180;
  const float a = chroma * std::cos(hue);
  const float b = chroma * std::sin(hue);
  // Oklab's cone responses, then its matrix to linear sRGB.
  const auto cube = [](float v) { return v * v * v; };
  const float l = cube(lightness + 0.3963378F * a + 0.2158038F * b);
  const float m = cube(lightness - 0.1055613F * a - 0.0638542F * b);
  const float s = cube(lightness - 0.0894842F * a - 1.2914855F * b);
  const Color color{4.0767417F * l - 3.3077116F * m + 0.2309699F * s, -1.2684380F * l + 2.6097574F * m - 0.3413194F * s,
                    -0.0041961F * l - 0.7034186F * m + 1.7076147F * s};
  return {std::max(color.x, 0.0F), std::max(color.y, 0.0F), std::max(color.z, 0.0F)};
}

std::uint8_t to_srgb_byte(float linear) {
  const float v = std::clamp(linear, 0.0F, 1.0F);
  const float encoded = v <= 0.0031308F ? 12.92F * v : 1.055F * std::pow(v, 1 / 2.4F) - 0.055F;
  return static_cast<std::uint8_t>(std::lround(encoded * 255));
}

float from_srgb_byte(std::uint8_t byte) {
  const float v = static_cast<float>(byte) / 255;
  return v <= 0.04045F ? v / 12.92F : std::pow((v + 0.055F) / 1.055F, 2.4F);
}

}  // namespace render
