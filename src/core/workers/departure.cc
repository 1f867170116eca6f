// Workers that are lost, leave or are fenced. What they hold goes back to its jobs. They are remembered for a day: a
// lost one may come back, and people look at what happened to their machines. Then they are forgotten, since machines
// come and go by the thousand. Only their names remain in the ledger, for the attempts that refer to them.
//
// A network that fails may take all workers at once, so a tick does a bounded part of this and is due again at once.
#include <algorithm>

#include "base/check.h"
#include "core/workers/worker_faults.h"
#include "core/workers/workers.h"

namespace drover {
namespace {

constexpr std::size_t kLostAtOnce = 32;
constexpr std::uint64_t kLostItemsAtOnce = 64;
constexpr std::size_t kForgottenAtOnce = 128;

}  // namespace

// Whatever it holds goes back to its job.
std::uint64_t Workers::take_all_from(WorkerId worker) {
  const std::set<GrantId> held = now_.worker_grants.at(worker);
  for (const GrantId grant : held) release_grant(grant, "lost: its worker went away");
  return held.size();
}

// It is told so, where it does not know yet.
void Workers::take_what_does_not_fit(const Worker& worker) {
  const std::set<GrantId> held = now_.worker_grants.at(worker.id);
  for (const GrantId id : held) {
    const Grant& grant = records_.grants.at(id);
    if (jobs_.at(grant.job).ask.fits(worker.has)) continue;
    for (const ItemIndex item : jobs_.running_of(grant)) now_.sessions.at(worker.id).gone.insert({id, item});
    now_.to_tell.insert(worker.id);
    release_grant(id, "lost: its worker no longer has what it asks for");
  }
}

void Workers::depart(Worker& worker, WorkerState how) {
  if (how != WorkerState::lost || !injected(WorkerFault::expiry_keeps_grants)) take_all_from(worker.id);
  Session& session = now_.sessions.at(worker.id);
  answer_empty(session);
  set_expiry(worker.id, session, 0);
  if (how != WorkerState::lost) {
    // Whatever the worker says next, it is told to register.
    worker.registered_ms = 0;
  }
  worker.state = how;
  worker.gone_ms = journal_.now_ms();
  workers_.add(worker.id);
  count_capacity(worker.id);
  now_.present.erase(worker.id);
  if (session.kind != Schedule::kNone) places_.part(std::exchange(session.kind, Schedule::kNone), worker.id);
  session.readiness = Readiness::away;
  session.watched.clear();
  drop_notes(worker.id);
  clear_declined(worker.id);
  session.streak = {};
  wait_to_be_forgotten(worker.id, journal_.now_ms());
  machines_->on_worker_departed(worker.name, worker.fleet, to_string(how));
}

void Workers::wait_to_be_forgotten(WorkerId worker, std::int64_t since_ms) {
  Session& session = now_.sessions.at(worker);
  if (session.departed_ms != 0) now_.departed.erase({session.departed_ms, worker});
  session.departed_ms = 0;
  if (injected(WorkerFault::departed_workers_remembered)) return;
  session.departed_ms = std::max<std::int64_t>(since_ms, 1);
  now_.departed.insert({session.departed_ms, worker});
}

void Workers::on(Ticket ticket, const Fence& command) {
  Worker* worker = worker_named(ticket, command.worker);
  if (worker == nullptr) return;
  const std::uint64_t held = now_.worker_grants.at(worker->id).size();
  fence(*worker);
  journal_.say(ticket, WorkerToBeGone{worker->id, held});
}

void Workers::fence(Worker& worker) {
  depart(worker, WorkerState::fenced);
  journal_.note(EventKind::worker_fenced, worker.name);
}

// Of a machine that is gone. One that has departed stays as it is.
void Workers::fence(const std::string& name) {
  const auto known = now_.worker_by_name.find(name);
  if (known == now_.worker_by_name.end()) return;
  Worker& worker = records_.workers.at(known->second);
  if (worker.is_present()) fence(worker);
}

void Workers::lose_silent() {
  if (journal_.now_ms() < now_.spared_until_ms) return;
  std::uint64_t items = 0;
  for (std::size_t lost = 0; lost < kLostAtOnce && items < kLostItemsAtOnce; ++lost) {
    const auto first = now_.expiries.begin();
    if (first == now_.expiries.end() || first->first > lease_clock_ms()) return;
    Worker& worker = records_.workers.at(first->second);
    for (const GrantId grant : now_.worker_grants.at(worker.id)) items += now_.grant_left.at(grant);
    journal_.note(EventKind::worker_lost, worker.name);
    depart(worker, WorkerState::lost);
  }
}

void Workers::forget_departed() {
  for (std::size_t forgotten = 0; forgotten < kForgottenAtOnce; ++forgotten) {
    const auto first = now_.departed.begin();
    if (first == now_.departed.end() || first->first + kDepartedKeptMs > journal_.now_ms()) return;
    const WorkerId id = first->second;
    const auto worker = records_.workers.find(id);
    DROVER_CHECK(now_.worker_grants.at(id).empty(), "a departed worker holds nothing");
    journal_.count_change();
    workers_.drop(id);
    forgotten_.push_back({id, worker->second.name, journal_.now_ms()});
    now_.departed.erase(first);
    now_.worker_by_name.erase(worker->second.name);
    now_.worker_grants.erase(id);
    now_.sessions.erase(id);
    records_.workers.erase(worker);
  }
}

}  // namespace drover
