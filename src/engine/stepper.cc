#include "engine/stepper.h"

#include <algorithm>
#include <iterator>

namespace drover {

std::optional<Step> Stepper::step(std::int64_t now_ms) {
  const auto deadline = core_.next_deadline();
  const bool tick_due = deadline && *deadline <= now_ms;
  if (inbox_.empty() && !tick_due) return std::nullopt;

  Step step;
  if (tick_due) core_.apply(Ticket{}, Tick{}, now_ms);
  for (const Request& request : inbox_) core_.apply(request.ticket, request.command, now_ms);
  inbox_.clear();
  step.batch.mutations = core_.take_mutations();
  // Whoever is answered can rely on having heard of every change before.
  std::optional<EventId> last_event;
  for (const Mutation& mutation : step.batch.mutations) {
    if (const auto* gone = std::get_if<DeleteJob>(&mutation)) step.answers.push_back({Ticket{}, JobGone{gone->job}});
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
