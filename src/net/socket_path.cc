#include "net/socket_path.h"

#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

Result<SocketPath> SocketPath::open(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::bad_input, "the socket path is empty", "write it as unix:/PATH");
  SocketPath out;
  out.text_ = path;
  if (path.size() <= kLongest) return out;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || path.size() - slash > kLongest / 2) {
    return fail(ErrorCode::bad_input, concat("the socket path ", path, " is too long"), "choose a shorter one");
  }
  const std::string folder = path.substr(0, slash + 1);
  out.folder_ = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (out.folder_ < 0) return std::unexpected(errno_error(errno, folder));
  out.text_ = concat("/proc/self/fd/", out.folder_, path.substr(slash));
  return out;
}

SocketPath::~SocketPath() {
  if (folder_ >= 0) ::close(folder_);
}

SocketPath::SocketPath(SocketPath&& other) noexcept
    : text_(std::move(other.text_)), folder_(std::exchange(other.folder_, -1)) {}

}  // namespace drover
