#include "engine/stepper.h"

#include <algorithm>
#include <iterator>

#include "engine/engine_faults.h"

namespace drover {

void Step::append(Step next) {
  std::ranges::move(next.batch.mutations, std::back_inserter(batch.mutations));
  std::ranges::move(next.answers, std::back_inserter(answers));
}

std::int64_t Stepper::stalled_ms(std::int64_t now_ms) const {
  const std::int64_t gap_ms = core_.has_leases() ? now_ms - last_ms_ : 0;
  return gap_ms > 2 * kBeatMs ? gap_ms - kBeatMs : 0;
}

std::optional<std::int64_t> Stepper::next_deadline() const {
  const auto deadline = core_.next_deadline();
  if (!core_.has_leases()) return deadline;
  const std::int64_t beat_ms = last_ms_ + kBeatMs;
  return deadline ? std::min(*deadline, beat_ms) : beat_ms;
}

std::optional<Step> Stepper::step(std::int64_t now_ms) {
  bool applied = false;
  const auto apply = [&](Ticket ticket, const Command& command) {
    core_.apply(ticket, command, now_ms);
    applied = true;
  };
  const auto tick_if_due = [&] {
    const auto deadline = core_.next_deadline();
    if (deadline && *deadline <= now_ms) apply(Ticket{}, Tick{});
  };

  if (injected(EngineFault::tick_before_inbox)) tick_if_due();
  if (const std::int64_t stalled = stalled_ms(now_ms); stalled > 0) apply(Ticket{}, Stalled{stalled});
  last_ms_ = now_ms;
  for (const Request& request : inbox_) apply(request.ticket, request.command);
  inbox_.clear();
  tick_if_due();
  if (!applied) return std::nullopt;

  Step step;
  step.batch.mutations = core_.take_mutations();
  // Whoever is answered can rely on having heard of every change before.
  std::optional<EventId> last_event;
  for (const Mutation& mutation : step.batch.mutations) {
    if (const auto* gone = std::get_if<DeleteJob>(&mutation)) step.answers.push_back({Ticket{}, JobGone{gone->job}});
    if (const auto* gone = std::get_if<ForgetWorker>(&mutation)) {
      step.answers.push_back({Ticket{}, WorkerForgotten{gone->worker.id}});
    }
    if (const auto* add = std::get_if<AddEvent>(&mutation)) last_event = add->event.id;
  }
  for (const JobId id : core_.take_touched()) {
    const Job* job = core_.durable().find_job(id);
    if (job != nullptr) step.answers.push_back({Ticket{}, JobChanged{*job, core_.counts(id), core_.in_hands(id)}});
  }
  if (last_event) step.answers.push_back({Ticket{}, Happened{*last_event}});
  std::ranges::move(core_.take_answers(), std::back_inserter(step.answers));
  return step;
}

}  // namespace drover
