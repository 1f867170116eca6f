// What becomes of an item when an attempt at it has ended.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/usage_bounds.h"
#include "core/cost_faults.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {
namespace {

constexpr std::int64_t kLongestSettledMs = 1'000'000'000'000;  // no attempt is charged for more than thirty years

// A worker's clock may be ahead: what has ended is not in the future.
Attempt attempt_row(const Job& job, const Grant& grant, const OpenItem& item, const EndedAttempt& ended,
                    std::int64_t now_ms) {
  const Outcome& outcome = ended.outcome;
  const Usage usage = bounded(ended.usage);
  Attempt row;
  row.job = item.job;
  row.epoch = job.epoch;
  row.item = item.item;
  row.attempt = AttemptNumber{item.attempts};
  row.ending = outcome.ending;
  if (outcome.ending == Ending::exited) row.exit_code = outcome.exit_code;
  if (outcome.signal != 0) row.signal = outcome.signal;
  row.reason = outcome.success() ? outcome.reason : describe(outcome);
  row.worker = grant.worker;
  row.ended_ms = std::min(usage.started_ms + (usage.wall_us + 500) / 1000, now_ms);
  row.started_ms = std::min(usage.started_ms, row.ended_ms);
  row.wall_us = usage.wall_us;
  row.user_us = usage.user_us;
  row.system_us = usage.system_us;
  row.peak_memory_kib = usage.peak_memory_kib;
  row.read_bytes = usage.read_bytes;
  row.written_bytes = usage.written_bytes;
  row.gpu_busy_us = usage.gpu_busy_us;
  row.peak_gpu_memory_kib = usage.peak_gpu_memory_kib;
  row.gpu_energy_mj = usage.gpu_energy_mj;
  row.slot = ended.slot == kNoSlot ? 0 : ended.slot;
  row.log = ended.log;
  return row;
}

Jobs::Ended ended_as(const Attempt& row, const OpenItem& item) {
  return {.state = row.state,
          .ending = row.ending,
          .wall_us = row.wall_us,
          .ran_since_ms = item.counted ? std::optional(item.started_ms) : std::nullopt};
}

}  // namespace

void Jobs::note_running(const Grant& grant, ItemIndex index, std::int64_t started_ms) {
  OpenItem item = open_item_or_new(grant.job, index);
  if (item.counted) return;
  const Job& job = at(item.job);
  item.grant = grant.id;
  item.counted = true;
  // A worker's clock may be anywhere.
  item.started_ms = std::clamp(started_ms, std::min(job.created_ms, journal_.now_ms()), journal_.now_ms());
  ++item.attempts;
  put(item);
  places_.begins_to_run(job, item.started_ms);
}

Jobs::Ended Jobs::settle(const Grant& grant, const EndedAttempt& ended) {
  OpenItem item = open_item_or_new(grant.job, ended.token.item);
  if (!item.counted) ++item.attempts;
  const Outcome& outcome = ended.outcome;
  if (outcome.ending == Ending::lost) return lose(grant, item, ended);

  Job& job = job_at(grant.job);
  Attempt row = attempt_row(job, grant, item, ended, journal_.now_ms());
  row.state = outcome.success()                   ? AttemptState::succeeded
              : outcome.ending == Ending::stopped ? AttemptState::cancelled
                                                  : AttemptState::failed;
  charge(job, row);
  if (outcome.success()) {
    ++job.succeeded;
    return finish(item, std::move(row), ItemMark::succeeded);
  }
  if (outcome.ending == Ending::stopped) {
    ++job.cancelled;
    return finish(item, std::move(row), ItemMark::ended);
  }
  ++item.tries;
  if (after_failure(job.policy, outcome, item.tries) == Verdict::give_up) {
    ++job.failed;
    return finish(item, std::move(row), ItemMark::ended);
  }
  const Ended how = ended_as(row, item);
  journal_.write(AddAttempt{std::move(row)});
  make_waiting(item, journal_.now_ms() + (injected(JobFault::retry_delay_skipped) ? 0 : job.policy.retry_delay_ms));
  return how;
}

Jobs::Ended Jobs::lose_running(const Grant& grant, ItemIndex index, const char* reason) {
  const OpenItem item = *find_open(grant.job, index);
  const std::int64_t wall_us = std::max<std::int64_t>(0, journal_.now_ms() - item.started_ms) * 1000;
  return lose(grant, item,
              EndedAttempt{.token = {grant.id, item.item},
                           .outcome = Outcome{.ending = Ending::lost, .reason = reason},
                           .usage = Usage{.started_ms = item.started_ms, .wall_us = wall_us}});
}

// A lost attempt is not the item's fault: no try is spent.
Jobs::Ended Jobs::lose(const Grant& grant, OpenItem item, const EndedAttempt& ended) {
  Job& job = job_at(grant.job);
  Attempt row = attempt_row(job, grant, item, ended, journal_.now_ms());
  row.state = AttemptState::lost;
  charge(job, row);
  ++item.losses;
  if (injected(JobFault::loss_spends_a_try)) ++item.tries;
  if (after_loss(job.policy, item.losses) == Verdict::give_up) {
    row.state = AttemptState::failed;
    row.reason = concat(row.reason, "; gave up after ", item.losses, item.losses == 1 ? " loss" : " losses");
    ++job.failed;
    return finish(item, std::move(row), ItemMark::ended);
  }
  const Ended how = ended_as(row, item);
  journal_.write(AddAttempt{std::move(row)});
  make_waiting(item, journal_.now_ms());
  return how;
}

// The item is settled by this attempt.
Jobs::Ended Jobs::finish(const OpenItem& item, Attempt attempt, ItemMark mark) {
  const Ended how = ended_as(attempt, item);
  attempt.settled = true;
  journal_.write(AddAttempt{std::move(attempt)});
  if (records_.open_items.erase({item.job, item.item}) > 0) open_items_.add({item.job, item.item});
  set_mark(item.job, item.item, mark);
  Job& job = job_at(item.job);
  tell_message(job, item, how.state);
  jobs_.add(job.id);
  if (mark == ItemMark::succeeded) unlock(job, item.item);
  if (job.stop == StopCause::none && job.failed > job.failed_before &&
      job.failed - job.failed_before + (injected(JobFault::early_stop_one_too_soon) ? 1 : 0) >
          job.policy.max_failures) {
    stop(job, StopCause::too_many_failures,
         concat("stopped early: ", plural(job.failed - job.failed_before, "item"), " failed; the limit is ",
                job.policy.max_failures));
  }
  return how;
}

// What an attempt has used is written down, and what that cost: for its job, and for its share.
void Jobs::charge(Job& job, Attempt& row) {
  const std::int64_t wall_ms = std::clamp<std::int64_t>((row.wall_us + 500) / 1000, 0, kLongestSettledMs);
  const std::int64_t asked_mib = static_cast<std::int64_t>(job.ask.memory_bytes >> 20);
  std::int64_t accelerators = 0;
  for (const std::uint64_t count : job.ask.accelerators)
    accelerators += static_cast<std::int64_t>(std::min<std::uint64_t>(count, 1'000'000));
  const bool wasted = row.state == AttemptState::failed || row.state == AttemptState::lost;
  JobUsage usage;
  usage.cpu_ms = std::clamp<std::int64_t>((row.user_us + row.system_us + 500) / 1000, 0, kLongestSettledMs);
  usage.reserved_cpu_ms =
      static_cast<std::int64_t>(Wide{charged_milli_cpus(job)} * static_cast<std::uint64_t>(wall_ms) / 1000);
  usage.memory_mib_s = std::min(std::max(asked_mib, row.peak_memory_kib >> 10), std::int64_t{1} << 22) * wall_ms / 1000;
  usage.accelerator_ms = accelerators * wall_ms;
  usage.gpu_busy_ms = std::min((row.gpu_busy_us + 500) / 1000, usage.accelerator_ms);
  usage.gpu_energy_j = (row.gpu_energy_mj + 500) / 1000;
  const bool is_free = row.state == AttemptState::lost && injected(CostFault::loss_not_charged);
  if (const auto cost = is_free ? std::nullopt : costs_->charge(row.worker, job.ask, row.wall_us)) {
    row.cost_microdollars = cost->microdollars;
    if (!injected(CostFault::job_not_charged)) usage.cost_microdollars = cost->microdollars;
    row.on_demand_microdollars = usage.on_demand_microdollars = cost->on_demand_microdollars;
  }
  if (row.state != AttemptState::lost) costs_->on_item_ended(row.worker);
  if (wasted) {
    if (!injected(CostFault::waste_not_counted)) usage.wasted_microdollars = usage.cost_microdollars;
    usage.wasted_cpu_ms = usage.cpu_ms;
    usage.wasted_reserved_ms = usage.reserved_cpu_ms;
  }
  usage.attempts = 1;
  usage.failed_attempts = row.state == AttemptState::failed ? 1 : 0;
  usage.lost_attempts = row.state == AttemptState::lost ? 1 : 0;
  job.used += usage;
  jobs_.add(job.id);
  places_.charge(job, wall_ms);
}

}  // namespace drover
