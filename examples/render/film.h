// What the tracer leaves in each pixel: the light, how unsure it is, and what the smoothing needs to know edges by.
#pragma once

#include <cstddef>
#include <vector>

#include "vec3.h"

namespace render {

struct Pixel {
  Color light;
  float variance = 0;  // of the mean luminance
  Color albedo;        // the colour of what is seen there, however lit
  Vec3 normal;
  float depth = 0;
};

struct Film {
  int width = 0;
  int height = 0;
  std::vector<Pixel> pixels;

  Pixel& at(int column, int row) { return pixels[static_cast<std::size_t>(row) * width + column]; }
  const Pixel& at(int column, int row) const { return pixels[static_cast<std::size_t>(row) * width + column]; }
};

}  // namespace render
