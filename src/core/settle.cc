// What becomes of an item when an attempt at it has ended.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/usage_bounds.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {
namespace {

Attempt attempt_row(const Job& job, const Grant& grant, const OpenItem& item, const EndedAttempt& ended) {
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
  row.started_ms = usage.started_ms;
  row.ended_ms = usage.started_ms + (usage.wall_us + 500) / 1000;
  row.wall_us = usage.wall_us;
  row.user_us = usage.user_us;
  row.system_us = usage.system_us;
  row.peak_memory_kib = usage.peak_memory_kib;
  row.read_bytes = usage.read_bytes;
  row.written_bytes = usage.written_bytes;
  row.slot = ended.slot == kNoSlot ? 0 : ended.slot;
  row.log = ended.log;
  return row;
}

/// Since when its share is charged for it by the moment.
std::optional<std::int64_t> since(const OpenItem& item) {
  return item.counted ? std::optional(item.started_ms) : std::nullopt;
}

}  // namespace

OpenItem Core::open_item_or_new(JobId job, ItemIndex item) const {
  const OpenItem* open = durable_.find_open(job, item);
  return open != nullptr ? *open : OpenItem{.job = job, .item = item};
}

void Core::note_running(WorkerId worker, const RunningAttempt& running) {
  const auto grant = durable_.grants.find(running.token.grant);
  if (grant == durable_.grants.end() || grant->second.worker != worker || !owns(grant->second, running.token.item)) {
    // It was out of reach for too long. Nobody else would ever tell it to stop.
    volatile_.sessions.at(worker).gone.insert(running.token);
    volatile_.to_tell.insert(worker);
    return;
  }
  OpenItem item = open_item_or_new(grant->second.job, running.token.item);
  if (item.counted) return;
  const Job& job = job_at(item.job);
  item.grant = grant->first;
  item.counted = true;
  // A worker's clock may be anywhere.
  item.started_ms = std::clamp(running.started_ms, std::min(job.created_ms, volatile_.now_ms), volatile_.now_ms);
  ++item.attempts;
  put(item);
  begins_to_run(job, item.started_ms);
}

void Core::settle(WorkerId worker, const EndedAttempt& ended) {
  const auto found = durable_.grants.find(ended.token.grant);
  // A late report changes nothing: somebody else holds the item by now, or it is settled.
  if (found == durable_.grants.end() || found->second.worker != worker) return;
  const Grant grant = found->second;
  if (!owns(grant, ended.token.item) && !planted(Plant::late_report_believed)) return;

  OpenItem item = open_item_or_new(grant.job, ended.token.item);
  if (!item.counted) ++item.attempts;
  const Outcome& outcome = ended.outcome;
  if (outcome.ending == Ending::lost) return lose(grant, item, ended);

  Job& job = job_at(grant.job);
  Attempt row = attempt_row(job, grant, item, ended);
  row.state = outcome.success()                   ? AttemptState::succeeded
              : outcome.ending == Ending::stopped ? AttemptState::cancelled
                                                  : AttemptState::failed;
  charge(job, row);
  if (ended.slot != kNoSlot) judge(worker, job, row);
  if (outcome.success()) {
    ++job.succeeded;
    return finish(grant, item, std::move(row), ItemMark::succeeded);
  }
  if (outcome.ending == Ending::stopped) {
    ++job.cancelled;
    return finish(grant, item, std::move(row), ItemMark::ended);
  }
  ++item.tries;
  if (after_failure(job.policy, outcome, item.tries) == Verdict::give_up) {
    ++job.failed;
    return finish(grant, item, std::move(row), ItemMark::ended);
  }
  changes_.add(std::move(row));
  const auto ran_since = since(item);
  make_waiting(item, volatile_.now_ms + (planted(Plant::retry_delay_skipped) ? 0 : job.policy.retry_delay_ms));
  one_less(grant.id, ran_since);
}

// A lost attempt is not the item's fault: no try is spent.
void Core::lose(const Grant& grant, OpenItem item, const EndedAttempt& ended) {
  Job& job = job_at(grant.job);
  Attempt row = attempt_row(job, grant, item, ended);
  row.state = AttemptState::lost;
  charge(job, row);
  ++item.losses;
  if (planted(Plant::loss_spends_a_try)) ++item.tries;
  if (after_loss(job.policy, item.losses) == Verdict::give_up) {
    row.state = AttemptState::failed;
    row.reason = concat(row.reason, "; gave up after ", item.losses, item.losses == 1 ? " loss" : " losses");
    ++job.failed;
    return finish(grant, item, std::move(row), ItemMark::ended);
  }
  changes_.add(std::move(row));
  const auto ran_since = since(item);
  make_waiting(item, volatile_.now_ms);
  one_less(grant.id, ran_since);
}

// The item is settled by this attempt.
void Core::finish(const Grant& grant, const OpenItem& item, Attempt attempt, ItemMark mark) {
  attempt.settled = true;
  changes_.add(std::move(attempt));
  if (durable_.open_items.erase({item.job, item.item}) > 0) changes_.open_item(item.job, item.item);
  set_mark(item.job, item.item, mark);
  Job& job = job_at(item.job);
  changes_.job(job.id);
  if (mark == ItemMark::succeeded) unlock(job, item.item);
  if (job.stop == StopCause::none && job.failed > job.failed_before &&
      job.failed - job.failed_before + (planted(Plant::early_stop_one_too_soon) ? 1 : 0) > job.policy.max_failures) {
    stop(job, StopCause::too_many_failures,
         concat("stopped early: ", plural(job.failed - job.failed_before, "item"), " failed; the limit is ",
                job.policy.max_failures));
  }
  one_less(grant.id, since(item));
}

}  // namespace drover
