// Where an attempt's output is: the frames, in the order in which they were written.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace drover {

/// Neighbouring frames of one segment.
struct Extent {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  bool covers(std::uint64_t other_segment, std::uint64_t at) const {
    return segment == other_segment && at >= offset && at < offset + size;
  }
  bool operator==(const Extent&) const = default;
};

class ExtentList {
 public:
  /// Frames are added as they are written; one that was added last is not added again.
  void add(const Extent& frame);
  bool covers(std::uint64_t segment, std::uint64_t offset) const;

  const std::vector<Extent>& all() const { return extents_; }
  bool empty() const { return extents_.empty(); }

  /// As it stands in an attempt's row.
  Bytes encode() const;
  /// What cannot be read is left out.
  static ExtentList decode(std::string_view bytes);

 private:
  std::vector<Extent> extents_;
};

}  // namespace drover
