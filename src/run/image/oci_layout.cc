#include "run/image/oci_layout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "run/image/content_digest.h"

namespace drover {
namespace {

constexpr std::size_t kMostDocument = std::size_t{8} << 20;

std::unexpected<ImageError> unreadable(const std::string& path, int error) {
  return image_fail(error == ENOENT || error == ENOTDIR ? ImageFault::missing : ImageFault::corrupt,
                    concat(path, ": ", std::strerror(error)),
                    "check the path; it must exist on every machine that runs the job");
}

/// A pipe in somebody's folder must not hold us up: not even to be opened.
ImageResult<Descriptor> open_plain(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return unreadable(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode))
    return image_fail(ImageFault::corrupt, concat(path, " is not a regular file"), "create the layout again");
  return file;
}

ImageResult<std::string> read_small(const std::string& path) {
  auto file = open_plain(path);
  if (!file) return pass(file);
  std::string out;
  char piece[65536];
  while (true) {
    const ssize_t got = ::read(file->get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return out;
    out.append(piece, static_cast<std::size_t>(got));
    if (out.size() > kMostDocument)
      return image_fail(ImageFault::too_large, concat(path, " is too large for a manifest"), "create the layout again");
  }
}

}  // namespace

std::string OciLayout::blob_path(const std::string& digest) const {
  return concat(folder_, "/blobs/sha256/", digest_digits(digest));
}

ImageResult<void> OciLayout::check() const {
  struct stat status{};
  if (::stat(folder_.c_str(), &status) != 0) return unreadable(folder_, errno);
  if (::access(concat(folder_, "/index.json").c_str(), F_OK) == 0) return {};
  return image_fail(ImageFault::missing, concat(folder_, " is not an OCI layout: it has no index.json"),
                    "check the path; for a plain root file system use rootfs:PATH, for an archive from docker save use "
                    "docker-archive:PATH");
}

ImageResult<std::string> OciLayout::index() const {
  return read_small(concat(folder_, "/index.json"));
}

ImageResult<Descriptor> OciLayout::blob(const std::string& digest) const {
  return open_plain(blob_path(digest));
}

ImageResult<std::string> OciLayout::document(const std::string& digest) const {
  auto text = read_small(blob_path(digest));
  if (!text) return pass(text);
  if (digest_of(*text) != digest) {
    return image_fail(ImageFault::bad_digest, concat("blob ", digest, " does not match its digest"),
                      "create the layout again");
  }
  return text;
}

}  // namespace drover
