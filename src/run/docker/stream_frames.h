// Both streams of a container in one connection, as Docker sends them: a byte that names the stream, three of nothing,
// four of length with the highest first, and so many bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/words.h"

namespace drover {

/// Takes them apart, wherever the connection cut them.
class StreamFrames {
 public:
  /// take(stream, bytes) for all that is there.
  template <class Take>
  void read(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      if (left_ > 0) {
        const std::string_view piece = bytes.substr(0, std::min<std::size_t>(left_, bytes.size()));
        take(stream_, piece);
        left_ -= static_cast<std::uint32_t>(piece.size());
        bytes.remove_prefix(piece.size());
        continue;
      }
      header_[header_size_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (header_size_ == header_.size()) read_header();
    }
  }

  /// Whether the connection ended between two frames.
  bool is_whole() const { return left_ == 0 && header_size_ == 0; }

 private:
  static constexpr unsigned char kStderr = 2;

  void read_header() {
    stream_ = header_[0] == kStderr ? LogStream::err : LogStream::out;
    left_ =
        std::uint32_t{header_[4]} << 24 | std::uint32_t{header_[5]} << 16 | std::uint32_t{header_[6]} << 8 | header_[7];
    header_size_ = 0;
  }

  std::array<unsigned char, 8> header_{};
  std::size_t header_size_ = 0;
  LogStream stream_ = LogStream::out;
  std::uint32_t left_ = 0;  // of the frame
};

}  // namespace drover
