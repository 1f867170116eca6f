// Room on the disk: new work is refused before there is none for what becomes of the old.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
  /// What was seen last, and when: many ask within a moment.
  struct Seen {
    std::atomic<std::uint64_t> free = 0;
    std::atomic<std::int64_t> at_ns = 0;
  };

  std::uint64_t free_now(std::uint64_t bytes) const;

  const std::string folder_;
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  const std::uint64_t mark_;
  const std::string kept_for_;
};

}  // namespace drover
