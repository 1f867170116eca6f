// The path of a Unix socket in a form that fits into a socket's address, which holds 107 bytes of it.
#pragma once

#include <string>

#include "base/result.h"

namespace drover {

class SocketPath {
 public:
  /// A path that is too long goes through a descriptor of its folder, which is open for as long as this object lives.
  static Result<SocketPath> open(const std::string& path);
  ~SocketPath();
  SocketPath(SocketPath&& other) noexcept;
  SocketPath& operator=(SocketPath&&) = delete;

  /// For sun_path, in this process only.
  const std::string& text() const { return text_; }

 private:
  SocketPath() = default;

  std::string text_;
  int folder_ = -1;
};

}  // namespace drover
