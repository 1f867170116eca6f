// What each attempt at each item will do, known before it runs: the workers act it out, and the auditor holds the
// ledger against it.
#pragma once

#include <cstdint>

#include "base/words.h"

namespace drover::sim {

/// What a job's items are like.
struct JobNature {
  std::uint64_t seed = 0;
  std::int64_t typical_ms = 1000;
  std::uint32_t fail_percent = 0;
  std::uint32_t hang_percent = 0;      // these never end by themselves
  std::uint32_t stubborn_percent = 0;  // these do not heed SIGTERM

  bool operator==(const JobNature&) const = default;
};

struct Fate {
  Outcome outcome;               // if nobody stops it
  std::int64_t duration_ms = 0;  // kForEver: it hangs
  bool heeds_term = true;
  std::int64_t dying_ms = 0;  // from the signal that ends it to its end

  static constexpr std::int64_t kForEver = -1;
};

/// The same for every run of one attempt, wherever and however often it is run.
Fate fate_of(const JobNature& nature, ItemIndex item, AttemptNumber attempt);

/// What becomes of it on a machine on which nothing works.
Fate spoilt_fate(const Fate& fate);

}  // namespace drover::sim
