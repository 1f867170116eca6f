#include "sim/fate.h"

#include "base/hash.h"
#include "base/random.h"

namespace drover::sim {
namespace {

Outcome failure(Random& random) {
  switch (random.below(6)) {
    case 0: return {Ending::exited, 3, 0, ""};
    case 1: return {Ending::exited, 75, 0, ""};
    case 2: return {Ending::signalled, 0, 11, ""};
    case 3: return {Ending::out_of_memory, 0, 9, ""};
    case 4: return {Ending::not_started, 0, 0, "could not start: no such file"};
    default: return {Ending::exited, 1, 0, ""};
  }
}

}  // namespace

Fate fate_of(const JobNature& nature, ItemIndex item, AttemptNumber attempt) {
  Hasher hasher;
  hasher.add(nature.seed);
  hasher.add(item.value);
  hasher.add(attempt.value);
  Random random(hasher.value());
  Fate fate;
  const auto typical = static_cast<std::uint64_t>(nature.typical_ms);
  fate.duration_ms = static_cast<std::int64_t>(random.one_in(20) ? random.below(4 * typical + 1)
                                                                 : typical / 2 + random.below(typical + 1));
  if (random.below(100) < nature.fail_percent) fate.outcome = failure(random);
  if (random.below(100) < nature.hang_percent) {
    fate.outcome = {};
    fate.duration_ms = Fate::kForEver;
  }
  fate.heeds_term = random.below(100) >= nature.stubborn_percent;
  fate.dying_ms = static_cast<std::int64_t>(random.below(40));
  return fate;
}

Fate spoilt_fate(const Fate& fate) {
  Fate spoilt = fate;
  spoilt.outcome = {Ending::exited, 126, 0, ""};
  spoilt.duration_ms = 5 + 3 * fate.dying_ms;
  return spoilt;
}

}  // namespace drover::sim
