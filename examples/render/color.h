// Colours that look equally light and equally strong at every hue (Oklab's cylinder), and the way to a screen.
#pragma once

#include <cstdint>

#include "vec3.h"

namespace render {

/// Lightness 0 to 1, chroma 0 (grey) to about 0.3, hue in degrees.
Color from_lightness_chroma_hue(float lightness, float chroma, float hue_degrees);

/// Linear light to the bytes of an sRGB picture, and back. Values outside 0 to 1 are clamped.
std::uint8_t to_srgb_byte(float linear);
float from_srgb_byte(std::uint8_t byte);

}  // namespace render
