// Room on the disk: new work is refused before there is none for what becomes of the old.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace drover {

class FreeSpace {
 public:
  /// `mark` 0: whatever is left may be used. `kept_for` says in the error what the rest is kept for.
  FreeSpace(std::string folder, std::uint64_t mark, std::string kept_for)
      : folder_(std::move(folder)), mark_(mark), kept_for_(std::move(kept_for)) {}
  /// An error if the folder's disk would have less free than the mark after `bytes` more were written. From any thread.
  Result<void> check(std::uint64_t bytes = 0) const;

 private:
  const std::string folder_;
  const std::uint64_t mark_;
  const std::string kept_for_;
};

}  // namespace drover
