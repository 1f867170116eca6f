// A picture of bytes as a screen shows them, and the PNG files it comes from and goes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trouble.h"

namespace render {

struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> bytes;  // red, green, blue; rows from the top

  Picture(int w, int h) : width(w), height(h), bytes(static_cast<std::size_t>(w) * h * 3) {}
  std::uint8_t* at(int column, int row) { return &bytes[(static_cast<std::size_t>(row) * width + column) * 3]; }
  const std::uint8_t* at(int column, int row) const {
    return &bytes[(static_cast<std::size_t>(row) * width + column) * 3];
  }
};

std::expected<Picture, Trouble> read_png(const std::string& path);

/// Writes beside `path` and renames, so that whoever is killed half way leaves no half picture.
std::expected<void, Trouble> write_png(const Picture& picture, const std::string& path);

}  // namespace render
