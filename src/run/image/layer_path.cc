#include "run/image/layer_path.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace drover {

std::string shown(std::string_view raw) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (const char c : raw.substr(0, kMost)) {
    if (c >= ' ' && c < 127) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += concat("\\x", "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  }
  if (raw.size() > kMost) out += "…";
  return out;
}

ImageResult<LayerPath> clean_path(std::string_view raw, std::size_t most_bytes) {
  if (raw.size() > most_bytes) {
    return image_fail(ImageFault::too_large,
                      concat("a name in a layer is longer than ", most_bytes, " bytes: ", shown(raw)),
                      "build the image with shorter names");
  }
  std::vector<std::string_view> parts;
  for (std::string_view left = raw; !left.empty();) {
    const std::size_t end = std::min(left.find('/'), left.size());
    const std::string_view part = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
      continue;
    }
    if (parts.empty()) {
      return image_fail(ImageFault::corrupt, concat("a path in a layer leads outside the image: ", shown(raw)),
                        "do not use this image");
    }
    parts.pop_back();
  }
  LayerPath out;
  if (parts.empty()) return out;
  out.name = parts.back();
  parts.pop_back();
  for (const std::string_view part : parts) out.parent += concat(out.parent.empty() ? "" : "/", part);
  return out;
}

}  // namespace drover
