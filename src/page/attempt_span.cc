#include "page/attempt_span.h"

#include <algorithm>

namespace drover::page {
namespace {

// Beyond these a number is damage, and sums of sane ones do not overflow.
constexpr std::int64_t kLongestMs = 100LL * 365 * 86'400'000;
constexpr std::int64_t kLatestMs = 253'402'300'799'000;  // the end of the year 9999

}  // namespace

std::int64_t length_us(const Attempt& attempt) {
  if (attempt.wall_us > 0) return std::min(attempt.wall_us, kLongestMs * 1000);
  if (attempt.started_ms <= 0 || attempt.ended_ms <= attempt.started_ms) return 0;
  return std::min(attempt.ended_ms - attempt.started_ms, kLongestMs) * 1000;
}

std::optional<AttemptSpan> span_of(const Attempt& attempt) {
  if (attempt.started_ms <= 0 || attempt.started_ms > kLatestMs) return std::nullopt;
  return AttemptSpan{attempt.started_ms * 1000, length_us(attempt)};
}

}  // namespace drover::page
