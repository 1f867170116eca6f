// A name in a layer, cleaned.
#pragma once

#include <string>
#include <string_view>

#include "run/image/image_error.h"

namespace drover {

/// Relative to the layer's root, without dots, doubled slashes or a way up.
struct LayerPath {
  std::string parent;  // "usr/bin", or empty for the root
  std::string name;    // "env"; empty: the root itself

  bool is_root() const { return name.empty(); }
  std::string text() const { return parent.empty() ? name : parent + "/" + name; }
};

/// As Docker reads it: "/a", "./a", "b/../a" are "a". What leads above the root is refused.
ImageResult<LayerPath> clean_path(std::string_view raw, std::size_t most_bytes);

/// A name as it may be shown in an error: what is not printable ASCII as \xNN, and not endlessly.
std::string shown(std::string_view raw);

}  // namespace drover
