// Faults in how commits, reports and answers pass between the core, the store and the workers.
#pragma once

#include <vector>

#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> seam_mutants() {
  return {
      {"answers leave before the commit", SeamPlant::answers_before_commit},
      {"commits swapped", SeamPlant::commits_swapped},
      {"store drops counters", store_drops<PutCounters>()},
      {"store forgets a batch's last block", SeamPlant::store_forgets_last_block},
      {"given-up polls not told", SeamPlant::given_up_not_told},
      {"reports not repeated", SeamPlant::reports_not_repeated},
      {"a returned token forgotten", SeamPlant::returned_token_forgotten},
      {"an end told twice, differently", SeamPlant::told_twice_differently},
      {"no renewal while busy", SeamPlant::silent_when_busy},
      {"incarnation used again", SeamPlant::incarnation_reused},
      {"strict lease ignored", SeamPlant::strict_lease_ignored},
      {"what is gone runs on", SeamPlant::gone_ignored},
      {"stop orders ignored", SeamPlant::stop_orders_ignored},
      {"attempt numbers ignored", SeamPlant::wrong_attempt_run},
      {"asks not told", SeamPlant::asks_not_told},
      {"results kept on disk wiped", SeamPlant::spool_wiped_at_start},
      {"an outage taken for a missing image", SeamPlant::outage_taken_for_missing_image},
  };
}
// clang-format on

}  // namespace drover::sim
