// The slots of a worker: they start, end and stop items as fate.h has it in store for each attempt.
#include "base/text.h"
#include "sim/sim_worker.h"

namespace drover::sim {

void SimWorker::do_actions() {
  for (auto actions = process_->agent.take_actions(); !actions.empty(); actions = process_->agent.take_actions()) {
    for (const AgentAction& action : actions) std::visit([this](const auto& it) { act(it); }, action);
  }
}

Fate SimWorker::fate(const AgentItem& item) const {
  const Submit* job = world_.auditor.job_of(item.job);
  if (job == nullptr) {
    world_.auditor.fail("a lease of a job that is not durable");
    return {};
  }
  return fate_of(job->nature, item.token.item, item.attempt);
}

void SimWorker::act(const StartItem& start) {
  if (start.slot >= process_->slots.size()) process_->slots.resize(start.slot + 1);
  Slot& slot = process_->slots[start.slot];
  const Fate fate = this->fate(start.item);
  // Some commands cannot even be put together; the others are found missing when it is their turn.
  if (fate.outcome.ending == Ending::not_started && fate.duration_ms % 2 == 0) {
    return process_->agent.on_refused(start.slot, start.item.token, fate.outcome.reason, clock_ms());
  }
  slot.queue.push_back(start.item);
  if (slot.queue.size() == 1) begin(start.slot);
}

void SimWorker::begin(std::size_t at) {
  Slot& slot = process_->slots[at];
  const AgentItem& item = slot.queue.front();
  ++slot.run;
  slot.since_ms = clock_ms();
  slot.ignored_a_kill = false;
  world_.auditor.begun(item.job, item.token.item, item.attempt, world_.events.now_ms());
  const Submit* job = world_.auditor.job_of(item.job);
  if (job != nullptr && job->image > 0 && !images_.contains(image_name(job->image))) {
    world_.auditor.fail("an item runs whose image is not there");
  }
  inspect_room();
  if (plan_.strict_lease) world_.auditor.strictly_begun(item.job, item.token.item, name());
  Fate fate = this->fate(item);
  if (is_spoilt()) {
    fate = spoilt_fate(fate);
    world_.auditor.spoilt(item.job, item.token.item, item.attempt);
  }
  if (fate.duration_ms == Fate::kForEver) return;
  later(fate.outcome.ending == Ending::not_started ? 0 : fate.duration_ms,
        [this, at, run = slot.run, outcome = fate.outcome] { end(at, run, outcome, false); });
}

// What runs here has room side by side, and chose this machine.
void SimWorker::inspect_room() const {
  Resources asked;
  for (const Slot& slot : process_->slots) {
    const Submit* job = slot.queue.empty() ? nullptr : world_.auditor.job_of(slot.queue.front().job);
    if (job == nullptr) continue;
    asked = asked.plus(job->ask);
    if (!has_all(plan_.labels, job->require)) world_.auditor.fail(concat("job ", job->job, " runs without its labels"));
    if (is_spot(plan_.labels) ? job->spot.use == SpotUse::never : job->spot.use == SpotUse::only) {
      world_.auditor.fail(concat("job ", job->job, " runs on a machine of the wrong market"));
    }
  }
  if (!asked.fits(plan_.has)) world_.auditor.fail(concat("worker ", index_, " runs more than it has room for"));
}

void SimWorker::run_is_over(const Slot& slot) {
  if (!slot.queue.empty() && plan_.strict_lease) {
    world_.auditor.strictly_over(slot.queue.front().job, slot.queue.front().token.item);
  }
}

void SimWorker::end(std::size_t at, std::uint64_t run, const Outcome& outcome, bool was_stopped) {
  Slot& slot = process_->slots[at];
  if (slot.run != run) return;
  run_is_over(slot);
  ++slot.run;
  const AgentItem item = slot.queue.front();
  slot.queue.pop_front();
  process_->ended[item.token] = item;
  EndedAttempt ended{.token = item.token, .outcome = outcome};
  ended.usage.started_ms = slot.since_ms;
  ended.usage.wall_us = (clock_ms() - slot.since_ms) * 1000 * plan_.fast_clock;
  process_->agent.on_ended(at, std::move(ended), was_stopped, clock_ms());
  if (!slot.queue.empty()) begin(at);
  wake();
}

void SimWorker::act(const StopItem& stop) {
  Slot& slot = process_->slots[stop.slot];
  if (slot.queue.empty() || slot.queue.front().token != stop.token) return;
  const Fate fate = this->fate(slot.queue.front());
  const bool kill = stop.how == StopHow::kill;
  if (!kill && !fate.heeds_term) return;
  // A process that waits for its disk takes a second kill to notice.
  if (kill && fate.dying_ms == 39 && !std::exchange(slot.ignored_a_kill, true)) return;
  later(fate.dying_ms, [this, at = stop.slot, run = slot.run, signal = kill ? 9 : 15] {
    end(at, run, Outcome{Ending::signalled, 0, signal, ""}, true);
  });
}

void SimWorker::act(const RecallSlot& recall) {
  later(1, [this, at = recall.slot] {
    Slot& slot = process_->slots[at];
    while (slot.queue.size() > 1) {
      const Token token = slot.queue.back().token;
      slot.queue.pop_back();
      process_->agent.on_returned(at, token, clock_ms());
    }
    wake();
  });
}

void SimWorker::kill_slot(const KillSlot& how) {
  if (!up() || how.slot >= process_->slots.size() || !process_->slots[how.slot].up) return;
  Slot& slot = process_->slots[how.slot];
  run_is_over(slot);
  slot.queue.clear();
  slot.up = false;
  ++slot.run;
  process_->agent.on_slot_died(how.slot, "the slot was killed", clock_ms());
  wake();
  later(how.down_ms, [this, at = how.slot] {
    process_->slots[at].up = true;
    process_->agent.on_slot_up(at, clock_ms());
    wake();
  });
}

}  // namespace drover::sim
