// The unit of log files: many records, compressed together. A frame is a zstd skippable frame that holds two sizes,
// then a zstd frame with a checksum; so `zstdcat` reads a segment too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// A frame is closed when it holds so much before compression.
inline constexpr std::size_t kFrameBytes = std::size_t{256} << 10;

struct FrameSizes {
  std::uint32_t packed = 0;  // of the zstd frame
  std::uint32_t raw = 0;
};
inline constexpr std::size_t kFrameHeader = 16;
/// More than any frame has.
inline constexpr std::uint32_t kLargestFrame = std::uint32_t{64} << 20;

/// What the first kFrameHeader bytes of a frame say; nothing: that is no frame.
std::optional<FrameSizes> read_frame_header(std::string_view bytes);

/// What a segment ends with that was closed in order.
std::string segment_end_mark();

/// What compressing may cost: about 300 MB a second and core, 500 (and half as much saved), or next to nothing.
enum class PackEffort : std::uint8_t { normal, little, none };

class FramePacker {
 public:
  FramePacker();
  ~FramePacker();
  /// Header and compressed bytes, good until the next call.
  std::string_view pack(std::string_view raw, PackEffort effort = PackEffort::normal);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class FrameUnpacker {
 public:
  FrameUnpacker();
  ~FrameUnpacker();
  /// `packed` is what follows the header. Nothing: it is damaged.
  bool unpack(std::string_view packed, std::uint32_t raw_size, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drover
