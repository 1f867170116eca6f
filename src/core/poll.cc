// Workers, and what they say.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {

namespace {

// Polls that wait for long end together at such times: ten thousand idle workers then wake the machine twenty times a
// second, not a thousand.
constexpr std::int64_t kPollsEndEachMs = 50;
// Who does not take everything is not woken by what turns up, and asks again soon.
constexpr std::int64_t kChoosyWaitMs = 1'000;
constexpr std::size_t kLongestNote = 2000;
// Of how many jobs a worker is heard to wait for something.
constexpr std::size_t kMostNotes = 32;
// After a stall the polls of all workers may be over at once.
constexpr std::size_t kPollsEndedAtOnce = 128;
// Jobs that began together may run out of time together.
constexpr std::size_t kJobsTimedOutAtOnce = 16;
constexpr std::size_t kMostDeclined = 64;  // of which the reason is kept
// What very many wait for, one command does for so many of them.
constexpr std::size_t kMostServed = 32;

std::int64_t end_of_wait(std::int64_t now_ms, std::int64_t wait_ms) {
  const std::int64_t end_ms = now_ms + std::max<std::int64_t>(wait_ms, 0);
  if (wait_ms < 20 * kPollsEndEachMs) return end_ms;
  return end_ms - end_ms % kPollsEndEachMs;
}

}  // namespace

void Core::on(Ticket ticket, const RegisterWorker& command) {
  const auto known = volatile_.worker_by_name.find(command.name);
  if (known == volatile_.worker_by_name.end()) {
    Worker worker;
    worker.id = WorkerId{durable_.counters.next_worker++};
    worker.name = command.name;
    changes_.counters();
    volatile_.worker_by_name[command.name] = worker.id;
    volatile_.worker_grants[worker.id];
    durable_.workers.emplace(worker.id, std::move(worker));
  }
  Worker& worker = durable_.workers.at(volatile_.worker_by_name.at(command.name));
  if (worker.incarnation != command.incarnation || worker.registered_ms == 0) {
    const bool was_lost = worker.state == WorkerState::lost;
    const std::uint64_t held = planted(Plant::new_incarnation_keeps) ? 0 : take_all_from(worker.id);
    Session& session = volatile_.sessions[worker.id];
    answer_empty(session);
    session.last_poll = PollNumber{};
    session.gone.clear();
    session.watched.clear();
    session.notes.clear();
    clear_declined(worker.id);
    const bool has_drained = session.told_to_drain && held == 0;
    session.asked_to_drain = session.asked_to_drain && !has_drained && !was_lost;
    session.draining = session.asked_to_drain;
    session.told_to_drain = false;
    session.streak = {};
    worker.incarnation = command.incarnation;
    worker.registered_ms = volatile_.now_ms;
    worker.has = command.has.at_most(Resources::endless());
    worker.labels = command.labels;
    worker.fleet = command.fleet;
    appear(worker);
    note(EventKind::worker_joined, worker.name);
    say(Ticket{}, WorkerStands{worker.id, session.draining ? Standing::draining : Standing::alive});
  }
  worker.term_ms = command.term_ms;
  changes_.worker(worker.id);
  renew(worker.id);
  count_capacity(worker.id);
  say(ticket, WorkerRegistered{worker.id});
}

// It is present, with what it has. What a worker of its kind could run is worked out once for all of them.
void Core::appear(Worker& worker) {
  Session& session = volatile_.sessions[worker.id];
  if (worker.state != WorkerState::alive) {
    worker.state = WorkerState::alive;
    worker.gone_ms = 0;
    changes_.worker(worker.id);
  }
  if (session.departed_ms != 0) volatile_.departed.erase({std::exchange(session.departed_ms, 0), worker.id});
  volatile_.present.insert(worker.id);
  if (session.kind != Schedule::kNone) volatile_.schedule.part(session.kind, worker.id);
  session.kind = volatile_.schedule.join(supply_of(worker), worker.id);
  session.readiness = Readiness::away;
  restand(worker.id);
}

// To be called after whatever might change how the worker stands to new items.
void Core::restand(WorkerId id) {
  Session& session = volatile_.sessions.at(id);
  if (session.kind == Schedule::kNone) return;
  const Readiness now = !durable_.workers.at(id).is_present()     ? Readiness::away
                        : !is_given_work(id)                      ? Readiness::apart
                        : !volatile_.worker_grants.at(id).empty() ? Readiness::busy
                        : session.parked != 0                     ? Readiness::idle
                                                                  : Readiness::free;
  volatile_.schedule.set_readiness(session.kind, id, std::exchange(session.readiness, now), now);
}

void Core::clear_declined(WorkerId worker) {
  for (const auto& [job, reason] : std::exchange(volatile_.sessions.at(worker).declined, {})) {
    if (const auto index = volatile_.jobs.find(job); index != volatile_.jobs.end()) {
      index->second.declined_by.erase(worker);
    }
  }
}

// What all machines have that are there.
void Core::count_capacity(WorkerId id) {
  constexpr std::uint64_t kMostOfOne = 1'000'000'000'000;
  const Worker& worker = durable_.workers.at(id);
  Session& session = volatile_.sessions.at(id);
  const bool is_there = worker.is_present() && worker.quarantine.empty();
  const std::uint64_t milli_cpus = is_there ? std::min(worker.has.milli_cpus, kMostOfOne) : 0;
  restand(id);
  const std::uint64_t before = std::exchange(session.counted_milli_cpus, milli_cpus);
  volatile_.schedule.capacity_milli_cpus += milli_cpus - before;
  if (milli_cpus <= before) return;
  for (const auto& [name, lane] : volatile_.schedule.lanes()) {
    if (lane.reserved_percent > 0) less_is_kept(lane);
  }
}

// A poll that nobody waits for any more, or that is of no use to whom it belongs.
void Core::answer_empty(const Session& session) {
  if (session.parked == 0) return;
  const ParkedPoll poll = unpark(session.parked);
  say(poll.ticket, PollAnswer{.number = poll.number});
}

Worker* Core::worker_named(Ticket ticket, const std::string& name) {
  const auto known = volatile_.worker_by_name.find(name);
  if (known != volatile_.worker_by_name.end()) return &durable_.workers.at(known->second);
  refuse(ticket, ErrorCode::not_found, concat("worker '", name, "' not found"), "list workers with 'drover workers'");
  return nullptr;
}

void Core::on(Ticket ticket, const AskToDrain& command) {
  const Worker* worker = worker_named(ticket, command.worker);
  if (worker == nullptr) return;
  // It has left or was fenced: there is nothing it could do about it, and who comes next by its name is not meant.
  if (worker->registered_ms == 0) return say(ticket, WorkerToBeGone{worker->id, 0});
  volatile_.sessions[worker->id].asked_to_drain = true;
  volatile_.to_tell.insert(worker->id);
  begin_to_drain(*worker);
  say(ticket, WorkerToBeGone{worker->id, volatile_.worker_grants.at(worker->id).size()});
}

void Core::begin_to_drain(const Worker& worker) {
  volatile_.sessions[worker.id].draining = true;
  restand(worker.id);
  note(EventKind::worker_draining, worker.name);
  say(Ticket{}, WorkerStands{worker.id, Standing::draining});
}

void Core::on(Ticket ticket, const Watch& command) {
  const OpenItem* open = durable_.find_open(command.job, command.item);
  if (open == nullptr || !open->counted) return say(ticket, Watched{});
  const WorkerId worker = durable_.grants.at(open->grant).worker;
  const Token token{open->grant, open->item};
  Session& session = volatile_.sessions.at(worker);
  session.watched.insert(token);
  say(ticket, Watched{Watched::Running{worker, token, AttemptNumber{open->attempts}}});
  // Nobody else has something to do by it.
  if (const std::uint64_t parked = session.parked; parked != 0 && answer_poll(volatile_.parked.at(parked))) {
    unpark(parked);
  }
}

bool Core::accept_report(Ticket ticket, const Report& report) {
  const auto worker = durable_.workers.find(report.worker);
  if (worker != durable_.workers.end() && worker->second.registered_ms != 0 &&
      worker->second.incarnation != report.incarnation) {
    refuse(ticket, ErrorCode::in_use, concat("another worker has registered as '", worker->second.name, "'"),
           "start one of them with another --name");
    return false;
  }
  if (worker == durable_.workers.end() || worker->second.registered_ms == 0) {
    refuse(ticket, ErrorCode::not_found, concat("worker ", report.worker.value, " is not registered"),
           "register first");
    return false;
  }
  for (const EndedAttempt& ended : report.ended) settle(report.worker, ended);
  for (const RunningAttempt& running : report.running) note_running(report.worker, running);
  for (const JobNote& it : report.notes) take_note(report.worker, it);
  give_back(report.worker, report.returned);
  quarantine_if_due(report.worker);
  renew(report.worker);
  if (Session& session = volatile_.sessions.at(report.worker);
      report.leaving == Leaving::draining && !session.draining) {
    session.told_to_drain = true;  // it knows
    begin_to_drain(worker->second);
    answer_empty(session);  // it asks for nothing more
  }
  return true;
}

// Only of what it holds something of: nobody else's business is a worker's.
void Core::take_note(WorkerId worker, const JobNote& note) {
  auto& notes = volatile_.sessions.at(worker).notes;
  const auto job = durable_.jobs.find(note.job);
  if (job == durable_.jobs.end()) {
    notes.erase(note.job);
    return;
  }
  const bool is_its_business = holds_some(worker, note.job);
  if (!is_its_business || note.text.empty() || note.is_final) {
    notes.erase(note.job);
  } else if (notes.size() < kMostNotes || notes.contains(note.job)) {
    notes[note.job] = note.text.substr(0, kLongestNote);
  }
  if (!is_its_business || !note.is_final || job->second.ended() || job->second.stop != StopCause::none) return;
  stop(job->second, StopCause::cannot_run, note.text.substr(0, kLongestNote));
}

bool Core::holds_some(WorkerId worker, JobId job) const {
  return std::ranges::any_of(volatile_.worker_grants.at(worker),
                             [&](GrantId id) { return durable_.grants.at(id).job == job; });
}

void Core::on(Ticket ticket, const Report& command) {
  if (!accept_report(ticket, command)) return;
  if (command.leaving == Leaving::gone) {
    Worker& worker = durable_.workers.at(command.worker);
    Session& session = volatile_.sessions.at(worker.id);
    session.draining = session.asked_to_drain = false;
    depart(worker, WorkerState::left);
    note(EventKind::worker_left, worker.name);
    say(Ticket{}, WorkerStands{worker.id, Standing::left});
  }
  say(ticket, ReportTaken{});
}

void Core::on(Ticket ticket, const Poll& command) {
  const WorkerId worker = command.report.worker;
  if (!accept_report(ticket, command.report)) return;
  Session& session = volatile_.sessions.at(worker);
  if (command.number <= session.last_poll) {
    // Overtaken on its way, or come twice: nothing may be granted by it. An empty answer would be taken for the one
    // that the first of the two was given, which may have carried leases.
    return refuse(ticket, ErrorCode::conflict,
                  concat("poll ", command.number.value, " was already received, or superseded by a later one"),
                  "discard it and poll again");
  }
  session.last_poll = command.number;
  clear_declined(worker);
  if (!command.not_now.empty()) {
    const std::set<JobId> not_now(command.not_now.begin(), command.not_now.end());
    for (const JobNote& it : command.report.notes) {
      if (session.declined.size() == kMostDeclined) break;
      const bool says_why = not_now.contains(it.job) && !it.text.empty() && durable_.jobs.contains(it.job);
      if (!says_why) continue;
      session.declined[it.job] = it.text.substr(0, kLongestNote);
      volatile_.jobs.at(it.job).declined_by.insert(worker);
    }
  }
  if (!command.given_up.empty() && !planted(Plant::given_up_grants_kept)) {
    const std::set<PollNumber> given_up(command.given_up.begin(), command.given_up.end());
    session.told_to_drain = false;
    session.stops_due = true;
    const std::set<GrantId> held = volatile_.worker_grants.at(worker);
    for (const GrantId id : held) {
      const JobId job = durable_.grants.at(id).job;
      if (!planted(Plant::stop_told_only_once)) volatile_.jobs.at(job).told_to_stop.erase(worker);
      const PollNumber poll = durable_.grants.at(id).poll;
      if (given_up.contains(poll)) release_grant(id, false);
    }
  }
  answer_empty(session);
  const std::int64_t wait_ms = command.not_now.empty() ? command.wait_ms : std::min(command.wait_ms, kChoosyWaitMs);
  const ParkedPoll poll{.ticket = ticket,
                        .worker = worker,
                        .number = command.number,
                        .want = command.want,
                        .until_ms = end_of_wait(volatile_.now_ms, wait_ms),
                        .room = command.room,
                        .not_now = command.not_now};
  if (answer_poll(poll)) return;
  // Who told something waits for thanks: what it ran is in its spool until then, and it cannot go.
  const bool has_told = !command.report.ended.empty() || !command.report.returned.empty();
  if (command.wait_ms <= 0 || has_told) return say(ticket, PollAnswer{.number = command.number});
  park(poll);
}

void Core::on(Ticket /*ticket*/, const Tick& /*command*/) {
  const std::int64_t now_ms = volatile_.now_ms;
  lose_silent_workers();
  for (std::size_t timed_out = 0; timed_out < kJobsTimedOutAtOnce; ++timed_out) {
    if (volatile_.job_deadlines.empty() || volatile_.job_deadlines.begin()->first > now_ms) break;
    Job& job = job_at(volatile_.job_deadlines.begin()->second);
    volatile_.job_deadlines.erase(volatile_.job_deadlines.begin());
    if (job.stop == StopCause::none || job.stop == StopCause::too_many_failures) {
      stop(job, StopCause::timed_out, concat("stopped: it ran longer than ", job.job_timeout_ms / 1000, " s"));
    }
  }
  for (std::size_t ended = 0; ended < kPollsEndedAtOnce; ++ended) {
    if (volatile_.poll_deadlines.empty() || volatile_.poll_deadlines.begin()->first > now_ms) break;
    const ParkedPoll poll = unpark(volatile_.poll_deadlines.begin()->second);
    say(poll.ticket, PollAnswer{.number = poll.number});
  }
  forget_departed();
}

void Core::on(Ticket /*ticket*/, const Stalled& command) {
  if (planted(Plant::stall_counts_against_leases)) return;
  volatile_.stalled_ms += std::max<std::int64_t>(command.ms, 0);
}

void Core::renew(WorkerId id) {
  Worker& worker = durable_.workers.at(id);
  Session& session = volatile_.sessions.at(id);
  if (session.kind == Schedule::kNone) appear(worker);
  set_expiry(id, session, worker.term_ms == 0 ? 0 : volatile_.lease_clock_ms() + worker.term_ms);
}

void Core::set_expiry(WorkerId worker, Session& session, std::int64_t expires_ms) {
  if (session.expires_ms != 0) volatile_.expiries.erase({session.expires_ms, worker});
  const bool came_or_went = (session.expires_ms == 0) != (expires_ms == 0);
  session.expires_ms = expires_ms;
  if (expires_ms != 0) volatile_.expiries.insert({expires_ms, worker});
  if (came_or_went || session.counted_milli_cpus == 0) count_capacity(worker);
}

// Whether it gets items at all. Else its poll waits for orders only.
bool Core::is_given_work(WorkerId worker) const {
  return !volatile_.sessions.at(worker).draining && durable_.workers.at(worker).quarantine.empty();
}

bool Core::answer_poll(const ParkedPoll& poll) {
  Session& session = volatile_.sessions.at(poll.worker);
  PollAnswer answer{.number = poll.number,
                    .leases = is_given_work(poll.worker) ? grant_items(poll) : std::vector<Lease>(),
                    .stops = stop_orders(poll.worker),
                    .gone = {session.gone.begin(), session.gone.end()},
                    .watched = {session.watched.begin(), session.watched.end()},
                    .drain = session.draining && !session.told_to_drain};
  session.gone.clear();
  session.watched.clear();
  if (answer.leases.empty() && answer.stops.empty() && answer.gone.empty() && answer.watched.empty() && !answer.drain) {
    return false;
  }
  session.told_to_drain = session.draining;
  say(poll.ticket, std::move(answer));
  return true;
}

void Core::park(const ParkedPoll& poll) {
  const std::uint64_t sequence = volatile_.next_parked++;
  volatile_.parked.emplace(sequence, poll);
  volatile_.poll_deadlines.insert({poll.until_ms, sequence});
  Session& session = volatile_.sessions.at(poll.worker);
  session.parked = sequence;
  if (poll.want > 0 && poll.not_now.empty() && is_given_work(poll.worker)) {
    volatile_.schedule.wait(session.kind, poll.room, sequence);
  }
  restand(poll.worker);
}

ParkedPoll Core::unpark(std::uint64_t sequence) {
  const auto it = volatile_.parked.find(sequence);
  DROVER_CHECK(it != volatile_.parked.end(), "a poll is answered once");
  const ParkedPoll poll = it->second;
  volatile_.parked.erase(it);
  volatile_.poll_deadlines.erase({poll.until_ms, sequence});
  Session& session = volatile_.sessions.at(poll.worker);
  session.parked = 0;
  volatile_.schedule.wait_no_more(session.kind, poll.room, sequence);
  restand(poll.worker);
  return poll;
}

// Work or an order may have turned up for somebody who waits. Whoever waits has been offered all there was: only what
// turned up since is worth a look.
void Core::serve_parked() {
  // Not all of very many are answered by one command: the others follow with the next ones.
  std::size_t left = kMostServed;
  while (!volatile_.to_tell.empty() && left > 0) {
    const WorkerId worker = *volatile_.to_tell.begin();
    volatile_.to_tell.erase(volatile_.to_tell.begin());
    const auto session = volatile_.sessions.find(worker);
    const std::uint64_t parked = session == volatile_.sessions.end() ? 0 : session->second.parked;
    if (parked == 0) continue;
    --left;
    if (answer_poll(volatile_.parked.at(parked))) unpark(parked);
  }
  // What is handed out may itself make room: a share that begins leaves less to be kept for others.
  while (!volatile_.turned_up.empty() && left > 0) {
    const Schedule::ClassId of = *volatile_.turned_up.begin();
    volatile_.turned_up.erase(of);
    while (volatile_.schedule.has_offers(of)) {
      if (left == 0) {
        volatile_.turned_up.insert(of);
        break;
      }
      --left;
      const auto waiting = who_waits_for(of);
      if (!waiting || planted(Plant::parked_worker_forgotten) || !answer_poll(volatile_.parked.at(*waiting))) break;
      unpark(*waiting);
    }
  }
}

// A worker that holds something of the class already makes no room for more of it.
std::optional<std::uint64_t> Core::who_waits_for(Schedule::ClassId of) const {
  return volatile_.schedule.who_waits_for(of, [&](std::uint64_t poll) {
    return !volatile_.sessions.at(volatile_.parked.at(poll).worker).held.contains(of);
  });
}

}  // namespace drover
