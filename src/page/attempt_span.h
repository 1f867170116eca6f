// When an attempt ran, whatever the wall clock did meanwhile.
#pragma once

#include <cstdint>
#include <optional>

#include "core/records.h"

namespace drover::page {

struct AttemptSpan {
  std::int64_t start_us = 0;  // epoch
  std::int64_t length_us = 0;

  std::int64_t end_us() const { return start_us + length_us; }
};

/// How long it ran: what its slot measured with a clock that cannot step back. Only where nothing was measured, as of
/// a lost attempt, the two times on the wall's clock have to do.
std::int64_t length_us(const Attempt& attempt);

/// Its place in time; nothing when nobody knows when it began.
std::optional<AttemptSpan> span_of(const Attempt& attempt);

}  // namespace drover::page
