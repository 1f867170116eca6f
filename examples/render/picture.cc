#include "picture.h"

#include <fmt/format.h>
#include <png.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace render {

namespace {

png_image describe(int width, int height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  return image;
}

}  // namespace

std::expected<Picture, Trouble> read_png(const std::string& path) {
  png_image image = describe(0, 0);
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) {
    return trouble(fmt::format("cannot read the picture {}: {}", path, image.message), "render it again");
  }
  image.format = PNG_FORMAT_RGB;
  Picture picture(static_cast<int>(image.width), static_cast<int>(image.height));
  if (png_image_finish_read(&image, nullptr, picture.bytes.data(), 0, nullptr) == 0) {
    return trouble(fmt::format("cannot read the picture {}: {}", path, image.message), "render it again");
  }
  return picture;
}

std::expected<void, Trouble> write_png(const Picture& picture, const std::string& path) {
  const std::string unfinished = fmt::format("{}.{}.part", path, getpid());
  png_image image = describe(picture.width, picture.height);
  if (png_image_write_to_file(&image, unfinished.c_str(), 0, picture.bytes.data(), 0, nullptr) == 0) {
    return trouble(fmt::format("cannot write the picture {}: {}", path, image.message),
                   "check that its folder exists and can be written");
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(unfinished.c_str());
    return trouble(fmt::format("cannot name the picture {}: {}", path, std::strerror(error)),
                   "check that no folder has that name");
  }
  return {};
}

}  // namespace render
