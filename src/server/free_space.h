// Room on the disk: new work is refused before there is none for what becomes of the old.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace drover {

class FreeSpace {
 public:
  /// `mark` 0: whatever is left may be used.
  FreeSpace(std::string folder, std::uint64_t mark) : folder_(std::move(folder)), mark_(mark) {}
  /// An error while the folder's disk has less free than the mark. From any thread.
  Result<void> check() const;

 private:
  const std::string folder_;
  const std::uint64_t mark_;
};

}  // namespace drover
