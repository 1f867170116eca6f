// The part of the core that knows workers: their sessions and polls, what they hold, and whether they can be trusted
// with it.
//
// What it does is told by concept: session.cc (workers register, say something, and are renewed), poll.cc (their polls
// are answered, or wait), grant.cc (items are lent and taken back), departure.cc (workers that are lost, leave, are
// fenced and are forgotten), quarantine.cc (machines on which everything fails).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/attempt_listener.h"
#include "core/jobs/jobs.h"
#include "core/journal.h"
#include "core/machine_workers.h"
#include "core/schedule/places.h"
#include "core/workers/session_states.h"

namespace drover {

struct WorkerRecords {
  std::map<GrantId, Grant> grants;
  std::map<WorkerId, Worker> workers;

  /// When the job is known that it refers to.
  Result<void> restore(const PutGrant& put, const JobRecords& jobs);
  Result<void> restore(const PutWorker& put);
  void add_to(Hasher& hasher) const;
};

/// What is in workers' hands of one job, and how they do with it. Everything but what was learned follows from records.
struct JobInHands {
  std::set<GrantId> grants;
  std::set<WorkerId> told_to_stop;  // who has been given its stop order
  std::set<WorkerId> declined_by;   // whose last poll declined it, and said why
  std::set<WorkerId> noted_by;      // who holds some of it, and said what that waits for
  // Since the core began:
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;   // tries
  std::int64_t success_us = 0;  // how long one takes
};

/// Tries that failed quickly on one worker, one after another, without one that succeeded.
struct FailureStreak {
  struct Elsewhere {
    std::uint64_t successes = 0;
    std::uint64_t failures = 0;
    std::uint64_t own = 0;  // failures that are the worker's own
  };
  std::uint64_t failures = 0;
  std::map<JobId, Elsewhere> jobs;  // as they stood when the streak reached them
};

/// A worker's live connection to the core.
struct Session {
  PollState polls;
  DrainState drain;
  std::int64_t expires_ms = 0;              // by the lease clock; 0: never
  std::int64_t departed_ms = 0;             // since when it is to be forgotten; 0: it is not
  std::shared_ptr<const Labels> labels;     // of the worker, to be shared; null: it has not been present
  std::set<Token> gone;                     // what it runs and does not hold, and was not told of
  std::set<Token> watched;                  // what it runs that somebody follows, and was not told of
  bool stops_due = true;                    // it may hold items of a job whose stop order it was not given
  Schedule::KindId kind = Schedule::kNone;  // none: it is not present
  Readiness readiness = Readiness::away;    // as its kind has it
  std::int64_t free_since_ms = 0;           // since when it has held nothing, while it does not
  std::map<JobId, std::string> notes;       // what it waits for before it can run what it holds of a job
  std::map<JobId, std::string> declined;    // jobs that its last poll declined, and why
  std::uint64_t counted_milli_cpus = 0;     // in the capacity of all
  FailureStreak streak;
};

struct ParkedPoll {
  Ticket ticket;
  WorkerId worker;
  PollNumber number;
  std::uint64_t want = 0;
  std::int64_t until_ms = 0;
  Resources room;
  std::vector<JobId> not_now = {};
};

/// A job that was stopped, and up to which grant its workers have been marked to be told.
struct StoppedJob {
  JobId id;
  GrantId told_up_to = {};
};

struct WorkersNow {
  std::int64_t stalled_ms = 0;       // for how long, since it began, the core could not step
  std::int64_t spared_until_ms = 0;  // nobody is lost before: what was sent during a stall is still being read
  std::map<JobId, JobInHands> in_hands;
  std::map<GrantId, std::uint64_t> grant_left;  // items still in the grant's hands
  std::map<WorkerId, std::set<GrantId>> worker_grants;
  std::map<std::string, WorkerId> worker_by_name;
  std::map<WorkerId, Session> sessions;
  std::vector<StoppedJob> just_stopped;        // whose workers have not all been thought of
  std::set<WorkerId> to_tell;                  // somebody who waits has something to hear
  std::map<std::uint64_t, ParkedPoll> parked;  // in the order in which they came
  std::uint64_t next_parked = 1;
  std::set<WorkerId> present;
  std::set<std::pair<std::int64_t, WorkerId>> expiries;  // of leases, by the lease clock
  std::set<std::pair<std::int64_t, WorkerId>> departed;  // who is to be forgotten, by when it departed
  std::set<std::pair<std::int64_t, std::uint64_t>> poll_deadlines;
};

/// How long a worker that was lost, left or was fenced is remembered.
inline constexpr std::int64_t kDepartedKeptMs = 24 * std::int64_t{3'600'000};

class Workers : public Holders, public AttemptHolders, public MachineWorkers {
 public:
  Workers(WorkerRecords& records, WorkersNow& now, Journal& journal, Places& places, Jobs& jobs)
      : records_(records), now_(now), journal_(journal), places_(places), jobs_(jobs) {}
  void set_listener(AttemptListener& listener) { listener_ = &listener; }
  void set_machines(MachineListener& machines) { machines_ = &machines; }

  void on(Ticket ticket, const RegisterWorker& command);
  void on(Ticket ticket, const Report& command);
  void on(Ticket ticket, const Poll& command);
  void on(Ticket ticket, const Watch& command);
  void on(Ticket ticket, const AskToDrain& command);
  void on(Ticket ticket, const Fence& command);
  void on(Ticket ticket, const Readmit& command);
  void on(Ticket ticket, const Stalled& command);

  /// From records, when jobs are known.
  void load();

  // With every command, and when time has passed.
  void tell_to_stop();
  void serve_parked();
  void lose_silent();
  void end_polls();
  void forget_departed();
  std::optional<std::int64_t> next_deadline() const;
  /// Something was left for the next command.
  bool has_more_to_do() const { return !now_.just_stopped.empty() || !now_.to_tell.empty() || places_.has_turned_up(); }
  /// Whether a worker's silence would be noticed at some time.
  bool has_leases() const { return !now_.expiries.empty(); }
  /// Leases are measured on a clock that stands still while the core cannot step.
  std::int64_t lease_clock_ms() const { return journal_.now_ms() - now_.stalled_ms; }

  void add(JobId job) override { now_.in_hands[job]; }
  void forget(JobId job) override { now_.in_hands.erase(job); }
  bool hold_some(JobId job) const override { return !now_.in_hands.at(job).grants.empty(); }
  void each_holder(JobId job, const std::function<void(WorkerId worker, std::uint64_t items)>& visit) const override;
  void on_stopped(JobId job) override;
  void on_resumed(JobId job) override { now_.in_hands.at(job).told_to_stop.clear(); }

  bool is_held(Token attempt) const override;

  bool is_known(const std::string& worker) const override { return now_.worker_by_name.contains(worker); }
  const Worker& at(WorkerId worker) const override { return records_.workers.at(worker); }
  void drain(const std::string& worker) override;
  void fence(const std::string& worker) override;

  void take_changes(std::vector<Mutation>& out);
  void take_deletions(std::vector<Mutation>& out);

 private:
  static constexpr std::size_t kLongestNote = 2000;  // that is kept of what a worker says about a job

  Worker* worker_named(Ticket ticket, const std::string& name);
  // session.cc
  bool accept_report(Ticket ticket, const Report& report);
  void take_note(WorkerId worker, const JobNote& note);
  void drop_note(WorkerId worker, JobId job);
  void drop_notes(WorkerId worker);
  void renew(WorkerId worker);
  void set_expiry(WorkerId worker, Session& session, std::int64_t expires_ms);
  bool is_given_work(WorkerId worker) const;
  void begin_to_drain(const Worker& worker);
  void drain(const Worker& worker);
  void appear(Worker& worker);
  void restand(WorkerId worker);
  void count_capacity(WorkerId worker);
  // poll.cc
  void take_declined(const Poll& poll);
  void clear_declined(WorkerId worker);
  void give_up(WorkerId worker, const std::vector<PollNumber>& polls);
  bool answer_poll(const ParkedPoll& poll);
  void answer_empty(const Session& session);
  void park(const ParkedPoll& poll);
  ParkedPoll unpark(std::uint64_t sequence);
  // grant.cc
  std::vector<Lease> grant_items(const ParkedPoll& poll);
  Lease grant_from(const Job& job, WorkerId worker, PollNumber poll, std::uint64_t want);
  std::vector<StopOrder> stop_orders(WorkerId worker);
  bool holds_some_of(WorkerId worker, JobId job) const;
  void note_running(WorkerId worker, const RunningAttempt& running);
  void settle(WorkerId worker, const EndedAttempt& ended);
  void give_back(WorkerId worker, const std::vector<Token>& returned);
  void release_grant(GrantId id, const char* reason);
  void take_what_does_not_fit(const Worker& worker);
  void one_less(Token item, std::optional<std::int64_t> ran_since_ms = std::nullopt);
  // departure.cc
  std::uint64_t take_all_from(WorkerId worker);
  void depart(Worker& worker, WorkerState how);
  void fence(Worker& worker);
  void wait_to_be_forgotten(WorkerId worker, std::int64_t since_ms);
  // quarantine.cc
  void judge(WorkerId worker, JobId job, const Jobs::Ended& ended);
  void quarantine_if_due(WorkerId worker);

  WorkerRecords& records_;
  WorkersNow& now_;
  Journal& journal_;
  Places& places_;
  Jobs& jobs_;
  AttemptListener* listener_ = nullptr;
  MachineListener* machines_ = nullptr;
  Changed<GrantId> grants_{journal_};
  Changed<WorkerId> workers_{journal_};
  std::vector<FormerWorker> forgotten_;
};

}  // namespace drover
