// Whom an image means by a user's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace drover {

struct ImageUser {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;  // all of them
  std::string home = "/";
};

/// "", "name", "1000", "name:group", "1000:1000", by the image's own files. `layers`: its folders, the topmost first.
Result<ImageUser> find_image_user(const std::string& wanted, const std::vector<std::string>& layers);

}  // namespace drover
