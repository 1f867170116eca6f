// Workers register, say something, and are renewed.
#include <algorithm>

#include "base/text.h"
#include "core/workers/worker_faults.h"
#include "core/workers/workers.h"

namespace drover {
namespace {

// Of how many jobs a worker is heard to wait for something.
constexpr std::size_t kMostNotes = 32;
// After a stall of this length polls may wait in the sockets' buffers, and reading all of them takes a while.
constexpr std::int64_t kLongStallMs = 5000;
constexpr std::int64_t kReadingMs = 5000;

}  // namespace

void Workers::on(Ticket ticket, const RegisterWorker& command) {
  const auto known = now_.worker_by_name.find(command.name);
  if (known == now_.worker_by_name.end()) {
    Worker worker;
    worker.id = journal_.new_worker();
    worker.name = command.name;
    now_.worker_by_name[command.name] = worker.id;
    now_.worker_grants[worker.id];
    records_.workers.emplace(worker.id, std::move(worker));
  }
  Worker& worker = records_.workers.at(now_.worker_by_name.at(command.name));
  if (worker.incarnation != command.incarnation || worker.registered_ms == 0) {
    const bool was_lost = worker.state == WorkerState::lost;
    const std::uint64_t held = injected(WorkerFault::new_incarnation_keeps) ? 0 : take_all_from(worker.id);
    Session& session = now_.sessions[worker.id];
    answer_empty(session);
    // One that was fenced and registers again goes on counting: a poll of it that was answered before may come again.
    if (worker.incarnation != command.incarnation) session.polls.begin_anew();
    session.gone.clear();
    session.watched.clear();
    drop_notes(worker.id);
    clear_declined(worker.id);
    session.drain.on_new_process(held > 0, was_lost);
    session.streak = {};
    worker.incarnation = command.incarnation;
    worker.registered_ms = journal_.now_ms();
    worker.has = command.has.at_most(Resources::endless());
    worker.labels = command.labels;
    if (worker.fleet != command.fleet) {
      machines_->on_worker_departed(worker.name, worker.fleet, "registered for another fleet");
    }
    worker.fleet = command.fleet;
    appear(worker);
    journal_.note(EventKind::worker_joined, worker.name);
    journal_.say(Ticket{}, WorkerStands{worker.id, session.drain.is_draining() ? Standing::draining : Standing::alive});
  } else if (const Resources left = command.has.at_most(worker.has); worker.has != left) {
    // The same process has less than before: a device failed. It never has more, so late messages do no harm.
    worker.has = left;
    answer_empty(now_.sessions[worker.id]);
    take_what_does_not_fit(worker);
    appear(worker);
  }
  worker.term_ms = command.term_ms;
  workers_.add(worker.id);
  renew(worker.id);
  count_capacity(worker.id);
  journal_.say(ticket, WorkerRegistered{worker.id});
  machines_->on_worker_present(worker.name, worker.fleet);
}

// It is present, with what it has. What a worker of its kind could run is worked out once for all of them.
void Workers::appear(Worker& worker) {
  Session& session = now_.sessions[worker.id];
  if (worker.state != WorkerState::alive) {
    worker.state = WorkerState::alive;
    worker.gone_ms = 0;
    workers_.add(worker.id);
  }
  if (session.departed_ms != 0) now_.departed.erase({std::exchange(session.departed_ms, 0), worker.id});
  now_.present.insert(worker.id);
  if (session.labels == nullptr || *session.labels != worker.labels) {
    session.labels = std::make_shared<const Labels>(worker.labels);
  }
  if (session.kind != Schedule::kNone) places_.part(session.kind, worker.id);
  session.kind = places_.join(supply_of(worker), worker.id);
  session.readiness = Readiness::away;
  restand(worker.id);
}

// To be called after whatever might change how the worker stands to new items.
void Workers::restand(WorkerId id) {
  Session& session = now_.sessions.at(id);
  if (session.kind == Schedule::kNone) return;
  const Readiness now = !records_.workers.at(id).is_present() ? Readiness::away
                        : !is_given_work(id)                  ? Readiness::apart
                        : !now_.worker_grants.at(id).empty()  ? Readiness::busy
                        : session.polls.waits()               ? Readiness::idle
                                                              : Readiness::free;
  const bool held_something = session.readiness == Readiness::busy || session.readiness == Readiness::away;
  if (held_something && now_.worker_grants.at(id).empty()) session.free_since_ms = journal_.now_ms();
  places_.set_readiness(session.kind, id, std::exchange(session.readiness, now), now);
}

// What all machines have that are there.
void Workers::count_capacity(WorkerId id) {
  constexpr std::uint64_t kMostOfOne = 1'000'000'000'000;
  const Worker& worker = records_.workers.at(id);
  Session& session = now_.sessions.at(id);
  const bool is_there = worker.is_present() && worker.quarantine.empty();
  const std::uint64_t milli_cpus = is_there ? std::min(worker.has.milli_cpus, kMostOfOne) : 0;
  restand(id);
  const std::uint64_t before = std::exchange(session.counted_milli_cpus, milli_cpus);
  places_.change_capacity(before, milli_cpus);
}

Worker* Workers::worker_named(Ticket ticket, const std::string& name) {
  const auto known = now_.worker_by_name.find(name);
  if (known != now_.worker_by_name.end()) return &records_.workers.at(known->second);
  journal_.refuse(ticket, ErrorCode::not_found, concat("worker '", name, "' not found"),
                  "list workers with 'drover workers'");
  return nullptr;
}

void Workers::on(Ticket ticket, const AskToDrain& command) {
  const Worker* worker = worker_named(ticket, command.worker);
  if (worker == nullptr) return;
  // It has left or was fenced: there is nothing it could do about it, and who comes next by its name is not meant.
  if (worker->registered_ms == 0) return journal_.say(ticket, WorkerToBeGone{worker->id, 0});
  drain(*worker);
  journal_.say(ticket, WorkerToBeGone{worker->id, now_.worker_grants.at(worker->id).size()});
}

void Workers::drain(const Worker& worker) {
  now_.sessions[worker.id].drain.ask();
  now_.to_tell.insert(worker.id);
  begin_to_drain(worker);
}

// Of a machine that is not needed any more.
void Workers::drain(const std::string& name) {
  const auto known = now_.worker_by_name.find(name);
  if (known == now_.worker_by_name.end()) return;
  const Worker& worker = records_.workers.at(known->second);
  if (worker.registered_ms != 0 && !now_.sessions.at(worker.id).drain.is_draining()) drain(worker);
}

void Workers::begin_to_drain(const Worker& worker) {
  restand(worker.id);
  journal_.note(EventKind::worker_draining, worker.name);
  journal_.say(Ticket{}, WorkerStands{worker.id, Standing::draining});
}

bool Workers::accept_report(Ticket ticket, const Report& report) {
  const auto worker = records_.workers.find(report.worker);
  if (worker != records_.workers.end() && worker->second.registered_ms != 0 &&
      worker->second.incarnation != report.incarnation) {
    journal_.refuse(ticket, ErrorCode::in_use, concat("another worker has registered as '", worker->second.name, "'"),
                    "start one of them with another --name");
    return false;
  }
  if (worker == records_.workers.end() || worker->second.registered_ms == 0) {
    journal_.refuse(ticket, ErrorCode::not_found, concat("worker ", report.worker.value, " is not registered"),
                    "register first");
    return false;
  }
  for (const EndedAttempt& ended : report.ended) settle(report.worker, ended);
  for (const RunningAttempt& running : report.running) note_running(report.worker, running);
  for (const JobNote& it : report.notes) take_note(report.worker, it);
  give_back(report.worker, report.returned);
  quarantine_if_due(report.worker);
  renew(report.worker);
  if (Session& session = now_.sessions.at(report.worker);
      report.leaving == Leaving::draining && !session.drain.is_draining()) {
    session.drain.begin_of_itself();
    begin_to_drain(worker->second);
    answer_empty(session);  // it asks for nothing more
  }
  return true;
}

// Only of what it holds something of: nobody else's business is a worker's.
void Workers::take_note(WorkerId worker, const JobNote& note) {
  auto& notes = now_.sessions.at(worker).notes;
  const Job* job = jobs_.find(note.job);
  if (job == nullptr) return drop_note(worker, note.job);
  const bool is_its_business = holds_some_of(worker, note.job);
  if (!is_its_business || note.text.empty() || note.is_final) {
    drop_note(worker, note.job);
  } else if (notes.size() < kMostNotes || notes.contains(note.job)) {
    notes[note.job] = note.text.substr(0, kLongestNote);
    now_.in_hands.at(note.job).noted_by.insert(worker);
  }
  if (!is_its_business || !note.is_final || job->ended() || job->stop != StopCause::none) return;
  jobs_.stop(job->id, StopCause::cannot_run, note.text.substr(0, kLongestNote));
}

void Workers::drop_note(WorkerId worker, JobId job) {
  if (now_.sessions.at(worker).notes.erase(job) == 0) return;
  if (const auto found = now_.in_hands.find(job); found != now_.in_hands.end()) found->second.noted_by.erase(worker);
}

void Workers::drop_notes(WorkerId worker) {
  const auto& notes = now_.sessions.at(worker).notes;
  while (!notes.empty()) drop_note(worker, notes.begin()->first);
}

void Workers::on(Ticket ticket, const Report& command) {
  if (!accept_report(ticket, command)) return;
  if (command.leaving == Leaving::gone) {
    Worker& worker = records_.workers.at(command.worker);
    Session& session = now_.sessions.at(worker.id);
    session.drain.on_left();
    depart(worker, WorkerState::left);
    journal_.note(EventKind::worker_left, worker.name);
    journal_.say(Ticket{}, WorkerStands{worker.id, Standing::left});
  }
  journal_.say(ticket, ReportTaken{});
}

void Workers::on(Ticket /*ticket*/, const Stalled& command) {
  if (injected(WorkerFault::stall_counts_against_leases)) return;
  now_.stalled_ms += std::max<std::int64_t>(command.ms, 0);
  if (command.ms >= kLongStallMs) now_.spared_until_ms = journal_.now_ms() + kReadingMs;
}

void Workers::renew(WorkerId id) {
  Worker& worker = records_.workers.at(id);
  Session& session = now_.sessions.at(id);
  const bool is_back = session.kind == Schedule::kNone;
  if (is_back) appear(worker);
  set_expiry(id, session, worker.term_ms == 0 ? 0 : lease_clock_ms() + worker.term_ms);
  if (is_back) machines_->on_worker_present(worker.name, worker.fleet);
}

void Workers::set_expiry(WorkerId worker, Session& session, std::int64_t expires_ms) {
  if (session.expires_ms != 0) now_.expiries.erase({session.expires_ms, worker});
  const bool came_or_went = (session.expires_ms == 0) != (expires_ms == 0);
  session.expires_ms = expires_ms;
  if (expires_ms != 0) now_.expiries.insert({expires_ms, worker});
  if (came_or_went || session.counted_milli_cpus == 0) count_capacity(worker);
}

// Whether it gets items at all. Else its poll waits for orders only.
bool Workers::is_given_work(WorkerId worker) const {
  return !now_.sessions.at(worker).drain.is_draining() && records_.workers.at(worker).quarantine.empty();
}

}  // namespace drover
