// A copy of an attempt to keep until the page is written: without what the page does not show.
#pragma once

#include "core/records.h"

namespace drover::page {

inline Attempt slim(const Attempt& attempt) {
  constexpr std::size_t kLongest = 1000;
  Attempt kept = attempt;
  kept.log.extents = {};
  if (kept.log.last_line.size() > kLongest) kept.log.last_line.resize(kLongest);
  if (kept.reason.size() > kLongest) kept.reason.resize(kLongest);
  return kept;
}

}  // namespace drover::page
