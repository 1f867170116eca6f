// Frames of logs that a worker sends ahead of the report that refers to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/words.h"

namespace drover {

/// Frames of logs ahead of the report that refers to them, and what running attempts have printed by now, for those who
/// follow it.
struct WorkerUpload {
  struct Shown {
    Token token;
    Bytes extents;                      // of what was uploaded before
    std::vector<std::uint32_t> frames;  // of this upload, behind them

    bool operator==(const Shown&) const = default;
  };
  std::vector<std::string> frames;
  WorkerId worker;  // of those that are shown
  std::vector<Shown> shown;

  bool operator==(const WorkerUpload&) const = default;
};

}  // namespace drover
