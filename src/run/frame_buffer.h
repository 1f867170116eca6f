// The receiving side of a frame stream.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "run/slot_protocol.h"

namespace drover {

/// Bytes from a socket, cut into frames. It grows for a large frame and gives the memory back after it.
class FrameBuffer {
 public:
  static constexpr std::size_t kKeptCapacity = std::size_t{64} << 10;
  /// It does not give back so much.
  explicit FrameBuffer(std::size_t kept_capacity = kKeptCapacity) : kept_capacity_(kept_capacity) {}

  /// Where the next bytes go; never empty once next() has given out every whole frame.
  std::span<char> space() {
    if (begin_ > 0 || wanted() > capacity_) make_room();
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void filled(std::size_t count) { end_ += count; }

  /// The next whole frame, kind and body, good until the next call; empty when there is none.
  std::span<const char> next() {
    if (!has_size() || end_ - begin_ < whole_frame()) {
      if (begin_ == end_ && capacity_ > kept_capacity_) give_back();
      return {};
    }
    const std::span<const char> frame(bytes_.get() + begin_ + sizeof(FrameSize), whole_frame() - sizeof(FrameSize));
    begin_ += whole_frame();
    return frame;
  }

 private:
  static constexpr std::size_t kCapacity = std::size_t{16} << 10;

  bool has_size() const { return end_ - begin_ >= sizeof(FrameSize); }
  std::size_t whole_frame() const {
    FrameSize size = 0;
    std::memcpy(&size, bytes_.get() + begin_, sizeof(size));
    return sizeof(size) + size;
  }
  std::size_t wanted() const { return has_size() ? std::max(kCapacity, whole_frame()) : kCapacity; }

  void give_back() {
    bytes_.reset();
    capacity_ = begin_ = end_ = 0;
  }

  /// Moves what is left to the front, of a larger buffer if its frame needs that.
  void make_room() {
    const std::size_t left = end_ - begin_;
    if (const std::size_t size = wanted(); size > capacity_) {
      auto larger = std::make_unique_for_overwrite<char[]>(size);
      if (left > 0) std::memcpy(larger.get(), bytes_.get() + begin_, left);
      bytes_ = std::move(larger);
      capacity_ = size;
    } else if (left > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, left);
    }
    begin_ = 0;
    end_ = left;
  }

  std::size_t kept_capacity_;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace drover
