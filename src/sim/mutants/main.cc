// sim_mutants: plants one fault after the other, and says how many seeds it takes to find each. The core, the
// agent and the stepper are compiled into this program once more, with their plants.
//
//   sim_mutants [--seeds MOST] [--only NAME]
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "agent/plant.h"
#include "core/plant.h"
#include "sim/apart.h"
#include "sim/world.h"

namespace drover {
Plant planted_now = Plant::none;
AgentPlant planted_in_agent = AgentPlant::none;
}  // namespace drover

namespace {

using namespace drover;
using namespace drover::sim;

constexpr std::int64_t kHours = 8;

struct Mutant {
  const char* name;
  SeamPlant seam = SeamPlant::none;
  Plant core = Plant::none;
  AgentPlant agent = AgentPlant::none;
};

// clang-format off
const Mutant kMutants[] = {
    {"answers leave before the commit", SeamPlant::answers_before_commit},
    {"commits swapped", SeamPlant::commits_swapped},
    {"store drops counters", SeamPlant::store_drops_counters},
    {"store drops jobs", SeamPlant::store_drops_jobs},
    {"store drops blocks", SeamPlant::store_drops_blocks},
    {"store drops open items", SeamPlant::store_drops_open_items},
    {"store drops deleted open items", SeamPlant::store_drops_deleted_items},
    {"store drops grants", SeamPlant::store_drops_grants},
    {"store drops deleted grants", SeamPlant::store_drops_deleted_grants},
    {"store drops workers", SeamPlant::store_drops_workers},
    {"store drops attempts", SeamPlant::store_drops_attempts},
    {"store drops what was unsettled", SeamPlant::store_drops_unsettling},
    {"store drops deleted jobs", SeamPlant::store_drops_deleted_jobs},
    {"store drops queues", SeamPlant::store_drops_queues},
    {"store drops what shares have used", SeamPlant::store_drops_shares},
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
    {"core: a late report believed", SeamPlant::none, Plant::late_report_believed},
    {"core: a loss spends a try", SeamPlant::none, Plant::loss_spends_a_try},
    {"core: a restart forgets terms", SeamPlant::none, Plant::restart_forgets_terms},
    {"core: an expiry keeps grants", SeamPlant::none, Plant::expiry_keeps_grants},
    {"core: given-up grants kept", SeamPlant::none, Plant::given_up_grants_kept},
    {"core: a stop told only once", SeamPlant::none, Plant::stop_told_only_once},
    {"core: a new incarnation keeps grants", SeamPlant::none, Plant::new_incarnation_keeps},
    {"core: early stop one too soon", SeamPlant::none, Plant::early_stop_one_too_soon},
    {"core: one loss too many", SeamPlant::none, Plant::one_loss_too_many},
    {"core: reopening forgets the count", SeamPlant::none, Plant::reopening_forgets_count},
    {"core: a return forgets tries", SeamPlant::none, Plant::return_forgets_history},
    {"core: retry delay skipped", SeamPlant::none, Plant::retry_delay_skipped},
    {"core: a cancel leaves its job open", SeamPlant::none, Plant::cancel_leaves_job_open},
    {"core: an unfit worker served", SeamPlant::none, Plant::unfit_worker_served},
    {"core: whoever waits is not told of work", SeamPlant::none, Plant::parked_worker_forgotten},
    {"core: a queue's priority ignored", SeamPlant::none, Plant::queue_priority_ignored},
    {"core: a job's priority ignored", SeamPlant::none, Plant::job_priority_ignored},
    {"core: weights ignored", SeamPlant::none, Plant::weight_ignored},
    {"core: usage forgotten", SeamPlant::none, Plant::usage_forgotten},
    {"core: a disabled queue served", SeamPlant::none, Plant::disabled_queue_served},
    {"core: the job before it ignored", SeamPlant::none, Plant::dependency_ignored},
    {"core: the item before it ignored", SeamPlant::none, Plant::item_dependency_ignored},
    {"core: sequential items out of order", SeamPlant::none, Plant::sequential_out_of_order},
    {"core: one more than max_running", SeamPlant::none, Plant::one_more_than_max_running},
    {"core: a black hole not fenced", SeamPlant::none, Plant::black_hole_not_fenced},
    {"core: a stall counts against leases", SeamPlant::none, Plant::stall_counts_against_leases},
    {"engine: tick before the inbox", SeamPlant::none, Plant::tick_before_inbox},
    {"core: a restart forgets polls", SeamPlant::none, Plant::restart_forgets_polls},
    {"core: a returned running item ignored", SeamPlant::none, Plant::returned_running_item_ignored},
    {"core: a restart revives lost workers", SeamPlant::none, Plant::restart_revives_lost_workers},
    {"core: departed workers remembered", SeamPlant::none, Plant::departed_workers_remembered},
    {"agent: lost results doubled", SeamPlant::none, Plant::none, AgentPlant::lost_results_doubled},
    {"agent: reports without a bound", SeamPlant::none, Plant::none, AgentPlant::reports_unbounded},
    {"agent: declined jobs asked for", SeamPlant::none, Plant::none, AgentPlant::declined_jobs_wanted},
};
// clang-format on

RunResult act_planted(const Mutant& mutant, std::uint64_t seed) {
  return act_apart([&] {
    planted_now = mutant.core;
    planted_in_agent = mutant.agent;
    // What an assertion says belongs in the table, not between its lines.
    if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, 2);
    return act_out(make_script(seed, kHours), mutant.seam);
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t most = 100;
  std::string_view only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--seeds") most = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--only") only = argv[i + 1];
  }
  int missed = 0;
  std::printf("%-38s %-6s %s\n", "fault", "seeds", "found as");
  for (const Mutant& mutant : kMutants) {
    if (!only.empty() && only != mutant.name) continue;
    std::uint64_t seed = 1;
    RunResult result = act_planted(mutant, seed);
    while (!result.failure && seed < most) result = act_planted(mutant, ++seed);
    missed += result.failure ? 0 : 1;
    std::printf("%-38s %-6s %s\n", mutant.name, result.failure ? std::to_string(seed).c_str() : "MISSED",
                result.failure.value_or("").c_str());
    std::fflush(stdout);
  }
  return missed == 0 ? 0 : 1;
}
