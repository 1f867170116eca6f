// Polls are answered when there is something to say, and wait until then.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/workers/worker_faults.h"
#include "core/workers/workers.h"

namespace drover {
namespace {

// Polls that wait for long end together at such times: ten thousand idle workers then wake the machine twenty times a
// second, not a thousand.
constexpr std::int64_t kPollsEndEachMs = 50;
// Who does not take everything is not woken by what turns up, and asks again soon.
constexpr std::int64_t kChoosyWaitMs = 1'000;
// After a stall the polls of all workers may be over at once.
constexpr std::size_t kPollsEndedAtOnce = 128;
constexpr std::size_t kMostDeclined = 64;  // of which the reason is kept
// What very many wait for, one command does for so many of them.
constexpr std::size_t kMostServed = 32;

std::int64_t end_of_wait(std::int64_t now_ms, std::int64_t wait_ms) {
  const std::int64_t end_ms = now_ms + std::max<std::int64_t>(wait_ms, 0);
  if (wait_ms < 20 * kPollsEndEachMs) return end_ms;
  return end_ms - end_ms % kPollsEndEachMs;
}

}  // namespace

void Workers::on(Ticket ticket, const Poll& command) {
  const WorkerId worker = command.report.worker;
  if (!accept_report(ticket, command.report)) return;
  Session& session = now_.sessions.at(worker);
  if (!session.polls.hear(command.number)) {
    // Overtaken on its way, or come twice: nothing may be granted by it. An empty answer would be taken for the one
    // that the first of the two was given, which may have carried leases.
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("poll ", command.number.value, " was already received, or superseded by a later one"),
                           "discard it and poll again");
  }
  clear_declined(worker);
  take_declined(command);
  if (!command.given_up.empty() && !injected(WorkerFault::given_up_grants_kept)) give_up(worker, command.given_up);
  answer_empty(session);
  const std::int64_t wait_ms = command.not_now.empty() ? command.wait_ms : std::min(command.wait_ms, kChoosyWaitMs);
  const ParkedPoll poll{.ticket = ticket,
                        .worker = worker,
                        .number = command.number,
                        .want = command.want,
                        .until_ms = end_of_wait(journal_.now_ms(), wait_ms),
                        .room = command.room,
                        .not_now = command.not_now};
  if (answer_poll(poll)) return;
  // Who told something waits for thanks: what it ran is in its spool until then, and it cannot go.
  const bool has_told = !command.report.ended.empty() || !command.report.returned.empty();
  if (command.wait_ms <= 0 || has_told) return journal_.say(ticket, PollAnswer{.number = command.number});
  park(poll);
}

// Which jobs it can start nothing of yet, and why.
void Workers::take_declined(const Poll& poll) {
  if (poll.not_now.empty()) return;
  Session& session = now_.sessions.at(poll.report.worker);
  const std::set<JobId> not_now(poll.not_now.begin(), poll.not_now.end());
  for (const JobNote& it : poll.report.notes) {
    if (session.declined.size() == kMostDeclined) break;
    const bool says_why = not_now.contains(it.job) && !it.text.empty() && jobs_.find(it.job) != nullptr;
    if (!says_why) continue;
    session.declined[it.job] = it.text.substr(0, kLongestNote);
    now_.in_hands.at(it.job).declined_by.insert(poll.report.worker);
  }
}

// Answers that never came: what they granted goes back, and what they ordered is said again.
void Workers::give_up(WorkerId worker, const std::vector<PollNumber>& polls) {
  const std::set<PollNumber> given_up(polls.begin(), polls.end());
  Session& session = now_.sessions.at(worker);
  session.drain.on_answer_lost();
  session.stops_due = true;
  const std::set<GrantId> held = now_.worker_grants.at(worker);
  for (const GrantId id : held) {
    const Grant& grant = records_.grants.at(id);
    if (!injected(WorkerFault::stop_told_only_once)) now_.in_hands.at(grant.job).told_to_stop.erase(worker);
    if (given_up.contains(grant.poll)) release_grant(id, "lost: its lease never reached the worker");
  }
}

void Workers::clear_declined(WorkerId worker) {
  for (const auto& [job, reason] : std::exchange(now_.sessions.at(worker).declined, {})) {
    if (const auto found = now_.in_hands.find(job); found != now_.in_hands.end()) {
      found->second.declined_by.erase(worker);
    }
  }
}

void Workers::on(Ticket ticket, const Watch& command) {
  const OpenItem* open = jobs_.find_open(command.job, command.item);
  if (open == nullptr || !open->counted) return journal_.say(ticket, Watched{});
  const WorkerId worker = records_.grants.at(open->grant).worker;
  const Token token{open->grant, open->item};
  Session& session = now_.sessions.at(worker);
  session.watched.insert(token);
  journal_.say(ticket, Watched{Watched::Running{worker, token, AttemptNumber{open->attempts}}});
  // Nobody else has something to do by it.
  if (const std::uint64_t parked = session.polls.parked(); parked != 0 && answer_poll(now_.parked.at(parked))) {
    unpark(parked);
  }
}

bool Workers::answer_poll(const ParkedPoll& poll) {
  Session& session = now_.sessions.at(poll.worker);
  PollAnswer answer{.number = poll.number,
                    .leases = is_given_work(poll.worker) ? grant_items(poll) : std::vector<Lease>(),
                    .stops = stop_orders(poll.worker),
                    .gone = {session.gone.begin(), session.gone.end()},
                    .watched = {session.watched.begin(), session.watched.end()},
                    .drain = session.drain.is_to_be_told()};
  session.gone.clear();
  session.watched.clear();
  if (answer.leases.empty() && answer.stops.empty() && answer.gone.empty() && answer.watched.empty() && !answer.drain) {
    return false;
  }
  session.drain.on_told();
  journal_.say(poll.ticket, std::move(answer));
  return true;
}

// A poll that nobody waits for any more, or that is of no use to whom it belongs.
void Workers::answer_empty(const Session& session) {
  if (!session.polls.waits()) return;
  const ParkedPoll poll = unpark(session.polls.parked());
  journal_.say(poll.ticket, PollAnswer{.number = poll.number});
}

void Workers::end_polls() {
  for (std::size_t ended = 0; ended < kPollsEndedAtOnce; ++ended) {
    if (now_.poll_deadlines.empty() || now_.poll_deadlines.begin()->first > journal_.now_ms()) return;
    const ParkedPoll poll = unpark(now_.poll_deadlines.begin()->second);
    journal_.say(poll.ticket, PollAnswer{.number = poll.number});
  }
}

void Workers::park(const ParkedPoll& poll) {
  const std::uint64_t sequence = now_.next_parked++;
  now_.parked.emplace(sequence, poll);
  now_.poll_deadlines.insert({poll.until_ms, sequence});
  Session& session = now_.sessions.at(poll.worker);
  session.polls.park(sequence);
  if (poll.want > 0 && poll.not_now.empty() && is_given_work(poll.worker)) {
    places_.wait(session.kind, poll.room, sequence);
  }
  restand(poll.worker);
}

ParkedPoll Workers::unpark(std::uint64_t sequence) {
  const auto it = now_.parked.find(sequence);
  DROVER_CHECK(it != now_.parked.end(), "a poll is answered once");
  const ParkedPoll poll = it->second;
  now_.parked.erase(it);
  now_.poll_deadlines.erase({poll.until_ms, sequence});
  Session& session = now_.sessions.at(poll.worker);
  session.polls.unpark();
  places_.wait_no_more(session.kind, poll.room, sequence);
  restand(poll.worker);
  return poll;
}

// Work or an order may have turned up for somebody who waits. Whoever waits has been offered all there was: only what
// turned up since is worth a look.
void Workers::serve_parked() {
  // Not all of very many are answered by one command: the others follow with the next ones.
  std::size_t left = kMostServed;
  while (!now_.to_tell.empty() && left > 0) {
    const WorkerId worker = *now_.to_tell.begin();
    now_.to_tell.erase(now_.to_tell.begin());
    const auto session = now_.sessions.find(worker);
    const std::uint64_t parked = session == now_.sessions.end() ? 0 : session->second.polls.parked();
    if (parked == 0) continue;
    --left;
    if (answer_poll(now_.parked.at(parked))) unpark(parked);
  }
  places_.serve_those_who_wait(
      left, [this](std::uint64_t poll) { return now_.parked.at(poll).worker; },
      [this](std::uint64_t poll) {
        if (!answer_poll(now_.parked.at(poll))) return false;
        unpark(poll);
        return true;
      });
}

}  // namespace drover
