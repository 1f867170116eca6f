#include "sim/with_fault.h"

#include <algorithm>

namespace drover::sim {
namespace {

Batch without_last_block(Batch batch) {
  const auto is_block = [](const Mutation& it) { return std::holds_alternative<PutBlock>(it); };
  if (std::ranges::count_if(batch.mutations, is_block) < 2) return batch;
  const auto last = std::ranges::find_if(batch.mutations.rbegin(), batch.mutations.rend(), is_block);
  batch.mutations.erase(std::next(last).base());
  return batch;
}

}  // namespace

Batch with_fault(Batch batch, const SeamFaults& faults) {
  if (faults.store_drops != nullptr) std::erase_if(batch.mutations, faults.store_drops);
  if (faults.fault == SeamFault::store_forgets_last_block) return without_last_block(std::move(batch));
  return batch;
}

SessionCall with_fault(SessionCall call, SeamFault fault) {
  auto* poll = std::get_if<PollCall>(&call.what);
  auto* report = std::get_if<ReportCall>(&call.what);
  if (fault == SeamFault::given_up_not_told && poll != nullptr) poll->poll.given_up.clear();
  if (fault == SeamFault::returned_token_forgotten) {
    if (poll != nullptr) poll->poll.returned.clear();
    if (report != nullptr) report->report.returned.clear();
  }
  if (fault == SeamFault::told_twice_differently && report != nullptr) {
    for (EndedAttempt& it : report->report.ended) it.outcome = {Ending::exited, 1, 0, ""};
  }
  return call;
}

Effect with_fault(Effect effect, SeamFault fault) {
  auto* answer = std::get_if<PollAnswer>(&effect);
  if (answer == nullptr) return effect;
  if (fault == SeamFault::gone_ignored) answer->gone.clear();
  if (fault == SeamFault::stop_orders_ignored) answer->stops.clear();
  if (fault == SeamFault::wrong_attempt_run) {
    for (Lease& lease : answer->leases) lease.attempts.clear();
  }
  if (fault == SeamFault::asks_not_told) {
    for (Lease& lease : answer->leases) lease.ask = {};
  }
  return effect;
}

}  // namespace drover::sim
