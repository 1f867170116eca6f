#include "run/installed_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kUsualPlaces = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string find_in(std::string_view folders, std::string_view name) {
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::string path = concat(folders.substr(0, end), "/", name);
    if (path.front() == '/' && ::access(path.c_str(), X_OK) == 0) return path;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

}  // namespace

std::string installed_program(std::string_view name) {
  const char* own = std::getenv("PATH");
  std::string found = own != nullptr ? find_in(own, name) : std::string();
  return found.empty() ? find_in(kUsualPlaces, name) : found;
}

}  // namespace drover
