#pragma once

#include <cstddef>

namespace drover {

/// A terminal's size in character cells.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;

  bool operator==(const ScreenSize&) const = default;
};

}  // namespace drover
