// Faults in how commits, reports and answers pass between the core, the store and the workers.
#pragma once

#include <vector>

#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> seam_mutants() {
  return {
      {"answers leave before the commit", SeamFault::answers_before_commit},
      {"commits swapped", SeamFault::commits_swapped},
      {"store drops counters", store_drops<PutCounters>()},
      {"store forgets a batch's last block", SeamFault::store_forgets_last_block},
      {"given-up polls not told", SeamFault::given_up_not_told},
      {"reports not repeated", SeamFault::reports_not_repeated},
      {"a returned token forgotten", SeamFault::returned_token_forgotten},
      {"an end told twice, differently", SeamFault::told_twice_differently},
      {"no renewal while busy", SeamFault::silent_when_busy},
      {"incarnation used again", SeamFault::incarnation_reused},
      {"strict lease ignored", SeamFault::strict_lease_ignored},
      {"what is gone runs on", SeamFault::gone_ignored},
      {"stop orders ignored", SeamFault::stop_orders_ignored},
      {"attempt numbers ignored", SeamFault::wrong_attempt_run},
      {"asks not told", SeamFault::asks_not_told},
      {"results kept on disk wiped", SeamFault::spool_wiped_at_start},
      {"an outage taken for a missing image", SeamFault::outage_taken_for_missing_image},
  };
}
// clang-format on

}  // namespace drover::sim
