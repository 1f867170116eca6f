// Machines on which everything fails at once take item after item from those on which it would succeed. Such a one is
// found by its own failures, one after another and quick, while the same jobs do well elsewhere; it is then given
// nothing more until a person says so.
#include <algorithm>

#include "base/text.h"
#include "core/workers/worker_faults.h"
#include "core/workers/workers.h"

namespace drover {
namespace {

constexpr std::uint64_t kLeastFailures = 8;
constexpr std::uint64_t kLeastSuccesses = 8;
// How unlikely such a row must be by chance, in powers of two, given how often tries fail elsewhere.
constexpr std::uint64_t kBitsOfDoubt = 30;
constexpr std::int64_t kQuickUs = 1'000'000;

// log2(a / b) in 256ths, for a >= b > 0.
std::uint64_t log2_256ths(std::uint64_t a, std::uint64_t b) {
  std::uint64_t whole = 0;
  // 32 bits of a/b are enough.
  while (a >= std::uint64_t{1} << 32) {
    a >>= 1;
    b = std::max<std::uint64_t>(1, b >> 1);
  }
  std::uint64_t ratio = (a << 31) / b;  // in 2^31sts
  while (ratio >= std::uint64_t{1} << 32) {
    ratio >>= 1;
    ++whole;
  }
  std::uint64_t parts = 0;
  for (int bit = 7; bit >= 0; --bit) {
    ratio = ratio * ratio >> 31;
    if (ratio < std::uint64_t{1} << 32) continue;
    ratio >>= 1;
    parts |= std::uint64_t{1} << bit;
  }
  return whole * 256 + parts;
}

}  // namespace

// What this try says of its worker.
void Workers::judge(WorkerId worker, JobId job, const Jobs::Ended& ended) {
  JobInHands& in_hands = now_.in_hands.at(job);
  FailureStreak& streak = now_.sessions.at(worker).streak;
  if (ended.state == AttemptState::succeeded) {
    ++in_hands.successes;
    in_hands.success_us = in_hands.successes == 1 ? ended.wall_us : (in_hands.success_us * 7 + ended.wall_us) / 8;
    streak = {};
    return;
  }
  if (ended.state != AttemptState::failed || ended.ending == Ending::timed_out || ended.ending == Ending::lost) return;
  const FailureStreak::Elsewhere now{in_hands.successes, in_hands.failures};
  ++in_hands.failures;
  if (ended.wall_us > std::max(kQuickUs, in_hands.success_us / 2)) {
    // A slow one says nothing of its worker; nor is it one from elsewhere.
    if (const auto seen = streak.jobs.find(job); seen != streak.jobs.end()) ++seen->second.failures;
    return;
  }
  ++streak.jobs.try_emplace(job, now).first->second.own;
  ++streak.failures;
}

void Workers::quarantine_if_due(WorkerId id) {
  FailureStreak& streak = now_.sessions.at(id).streak;
  Worker& worker = records_.workers.at(id);
  if (streak.failures < kLeastFailures || !worker.quarantine.empty() || injected(WorkerFault::black_hole_not_fenced))
    return;
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  std::uint64_t own = 0;
  std::string job_name;
  for (const auto& [job, then] : streak.jobs) {
    const auto found = now_.in_hands.find(job);
    if (found == now_.in_hands.end()) continue;
    const std::uint64_t more = found->second.successes - then.successes;
    if (more == 0) continue;  // nobody can do it, for all that is known
    successes += more;
    failures += found->second.failures - then.failures - then.own;
    own += then.own;
    job_name = jobs_.at(job).name;
  }
  if (own < kLeastFailures || successes < kLeastSuccesses) return;
  if (own * log2_256ths(successes + failures + 2, failures + 1) < kBitsOfDoubt * 256) return;
  worker.quarantine = concat("its last ", own, " items failed immediately, while ", successes,
                             " items of the same job succeeded elsewhere (job ", job_name, ")");
  streak = {};
  // It is alive, and is told that what it runs is no longer its own: nobody else would ever tell it to stop.
  for (const GrantId held : now_.worker_grants.at(id)) {
    const Grant& grant = records_.grants.at(held);
    for (const ItemIndex item : jobs_.running_of(grant)) now_.sessions.at(id).gone.insert({held, item});
  }
  now_.to_tell.insert(id);
  take_all_from(id);
  count_capacity(id);
  const Session& session = now_.sessions.at(id);
  if (session.polls.waits()) {
    places_.wait_no_more(session.kind, now_.parked.at(session.polls.parked()).room, session.polls.parked());
  }
  workers_.add(id);
  journal_.note(EventKind::worker_quarantined, worker.name, worker.quarantine);
}

void Workers::on(Ticket ticket, const Readmit& command) {
  Worker* worker = worker_named(ticket, command.worker);
  if (worker == nullptr) return;
  // One that was set apart and is away is still so when it comes back.
  if (worker->state != WorkerState::alive && worker->quarantine.empty()) {
    const bool has_left = worker->state == WorkerState::left;
    return journal_.refuse(
        ticket, ErrorCode::conflict,
        concat("worker ", worker->name, has_left ? " has left" : concat(" is ", to_string(worker->state))),
        "restart it on its machine: it gets items again once it registers");
  }
  if (!worker->quarantine.empty()) {
    worker->quarantine.clear();
    now_.sessions.at(worker->id).streak = {};
    workers_.add(worker->id);
    journal_.note(EventKind::worker_readmitted, worker->name);
    count_capacity(worker->id);
    answer_empty(now_.sessions.at(worker->id));  // it asks again, and is given what there is
  }
  journal_.say(ticket, WorkerReadmitted{});
}

}  // namespace drover
