// The machine. Commands go in; effects and mutations come out; nothing else is touched: no clock, no file, no socket,
// no thread. The same commands at the same times, in the same batches, give the same state, byte for byte.
//
// What it does is told by concept: submit.cc (jobs begin, are reopened, cancelled, end and are forgotten), poll.cc
// (workers and what they say), grant.cc (items handed out and taken back), settle.cc (what becomes of an item when an
// attempt ended), departure.cc (workers that are lost, leave, are fenced and are forgotten), places.cc (when a job has
// something to hand out, and what its share has used), queues.cc (queues, definitions, fleets), quarantine.cc (machines
// on which everything fails), marks.cc (the marks of ended jobs' items, which only the store keeps). Who is next is
// decided in schedule.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/changes.h"
#include "core/command.h"
#include "core/state.h"

namespace drover {

class Core {
 public:
  Core() : Core(Durable{}, 0) {}
  /// Goes on from what a store has loaded. Every worker that holds something gets a full term from `now_ms`.
  Core(Durable durable, std::int64_t now_ms);

  /// Does one thing. `now_ms` never goes back.
  void apply(Ticket ticket, const Command& command, std::int64_t now_ms);

  /// What was said since the last call; to be let out only when the mutations are durable.
  std::vector<Answer> take_answers();
  /// What must become durable since the last call, as one batch.
  std::vector<Mutation> take_mutations();

  /// The jobs that changed since the last call, in the eyes of people.
  std::vector<JobId> take_touched();
  ItemCounts counts(JobId job) const;
  std::uint64_t in_hands(JobId job) const { return volatile_.jobs.at(job).in_hands; }

  /// When a Tick is due, if nothing happens before.
  std::optional<std::int64_t> next_deadline() const;
  /// Whether a worker's silence would be noticed at some time: then it matters for how long the core could not step.
  bool has_leases() const { return !volatile_.expiries.empty(); }

  const Durable& durable() const { return durable_; }
  const Volatile& volatile_part() const { return volatile_; }

 private:
  // submit.cc
  void on(Ticket ticket, const SubmitJob& command);
  void on(Ticket ticket, const ReopenJob& command);
  void on(Ticket ticket, const CancelJob& command);
  void on(Ticket ticket, const ForgetJob& command);
  void on(Ticket ticket, const ReopenMore& command);
  void take_up_again(Job& job, const SettledItem& settled);
  void ask_for_page(const Job& job);
  void end_reopening(Job& job);
  void tell_workers_to_stop();
  void stop(Job& job, StopCause cause, std::string reason);
  void end_if_done(Job& job);
  void begin(Job& job);
  void forget_as_forerunner(const Job& job);
  bool check_dependencies(Ticket ticket, const SubmitJob& command);

  // marks.cc
  void on(Ticket ticket, const MarksRead& command);
  void wait_for_marks(JobId job, Ticket ticket, Command command);
  std::optional<JobId> lacking_marks(const std::vector<Dependency>& after) const;
  bool lacks_marks(const Job& job) const;
  bool is_needed_in_memory(JobId id) const;
  void count_item_dependent(const Job& job, bool appears);
  void let_go_of_blocks();
  void free_some_blocks();

  // poll.cc
  void on(Ticket ticket, const RegisterWorker& command);
  void on(Ticket ticket, const AskToDrain& command);
  void on(Ticket ticket, const Watch& command);
  Worker* worker_named(Ticket ticket, const std::string& name);
  void on(Ticket ticket, const Report& command);
  void on(Ticket ticket, const Poll& command);
  void on(Ticket ticket, const Tick& command);
  void on(Ticket ticket, const Stalled& command);
  bool accept_report(Ticket ticket, const Report& report);
  void take_note(WorkerId worker, const JobNote& note);
  bool holds_some(WorkerId worker, JobId job) const;
  void renew(WorkerId worker);
  void set_expiry(WorkerId worker, Session& session, std::int64_t expires_ms);
  bool answer_poll(const ParkedPoll& poll);
  void park(const ParkedPoll& poll);
  ParkedPoll unpark(std::uint64_t sequence);
  void serve_parked();
  std::optional<std::uint64_t> who_waits_for(Schedule::ClassId of) const;
  bool is_given_work(WorkerId worker) const;
  void begin_to_drain(const Worker& worker);
  void answer_empty(const Session& session);
  void appear(Worker& worker);
  void restand(WorkerId worker);
  void clear_declined(WorkerId worker);
  void count_capacity(WorkerId worker);

  // departure.cc
  void on(Ticket ticket, const Fence& command);
  std::uint64_t take_all_from(WorkerId worker);
  void depart(Worker& worker, WorkerState how);
  void wait_to_be_forgotten(WorkerId worker, std::int64_t since_ms);
  void lose_silent_workers();
  void forget_departed();

  // grant.cc
  std::vector<Lease> grant_items(const ParkedPoll& poll);
  std::vector<JobId> hide(const std::vector<JobId>& jobs);
  void show_again(const std::vector<JobId>& hidden);
  std::uint64_t at_once(const Job& job) const;
  Lease grant_from(Job& job, WorkerId worker, PollNumber poll, std::uint64_t want);
  std::pair<ItemIndex, std::uint64_t> untouched(const Job& job, std::uint64_t want);
  std::vector<StopOrder> stop_orders(WorkerId worker);
  bool owns(const Grant& grant, ItemIndex item) const;
  void release_grant(GrantId id, bool worker_is_gone);
  void lose_running(const Grant& grant, const OpenItem& item, const char* reason);
  void give_back(WorkerId worker, const std::vector<Token>& returned);
  void one_less(GrantId id, std::optional<std::int64_t> ran_since_ms = std::nullopt);
  void make_waiting(OpenItem item, std::int64_t not_before_ms);
  void make_pending(JobId job, ItemIndex item);
  void wake_delayed();

  // settle.cc
  void note_running(WorkerId worker, const RunningAttempt& running);
  void settle(WorkerId worker, const EndedAttempt& ended);
  void lose(const Grant& grant, OpenItem item, const EndedAttempt& ended);
  void finish(const Grant& grant, const OpenItem& item, Attempt attempt, ItemMark mark);
  OpenItem open_item_or_new(JobId job, ItemIndex item) const;

  // places.cc
  Schedule::Lane& lane_of(const std::string& queue);
  void take_place(const Job& job);
  void leave_place(const Job& job);
  void into_hands(const Job& job, WorkerId worker, std::uint64_t count);
  void out_of_hands(const Job& job, WorkerId worker, std::optional<std::int64_t> ran_since_ms);
  void less_is_kept(const Schedule::Lane& lane);
  void begins_to_run(const Job& job, std::int64_t started_ms);
  void count_running(const Job& job, std::int64_t started_ms);
  void runs_no_more(const Job& job, std::int64_t started_ms);
  void charge(Job& job, const Attempt& row);
  void age_usage(const std::string& name, Schedule::Lane& lane);
  static bool waits_for_items(const Job& job);
  bool is_unlocked(const Job& job, ItemIndex item) const;
  void count_unmet(const Job& job);
  bool has_work(const Job& job);
  void reconsider(Job& job);
  void end_if_starved(Job& job);
  void tell_dependents();
  void tell_dependent(Job& job, const Job& ended);
  static void look_again(JobIndex& index, std::uint64_t block);
  void unlock(const Job& job, ItemIndex item);

  // queues.cc
  void on(Ticket ticket, const SetQueue& command);
  void on(Ticket ticket, const DropQueue& command);
  std::set<JobId> unended_in(const std::string& queue) const;
  void on(Ticket ticket, const AddRevision& command);
  void on(Ticket ticket, const RetireRevision& command);
  void on(Ticket ticket, const SetFleet& command);
  void on(Ticket ticket, const DropFleet& command);

  // quarantine.cc
  void on(Ticket ticket, const Readmit& command);
  void judge(WorkerId worker, const Job& job, const Attempt& row);
  void quarantine_if_due(WorkerId worker);

  // why.cc
  void on(Ticket ticket, const AskWhy& command);
  friend Why why(const Core& core, JobId job, std::optional<ItemIndex> item);

  // core.cc
  void note(EventKind kind, const Job& job, std::string detail = {});
  void note(EventKind kind, const std::string& name, std::string detail = {});
  void say(Ticket to, Effect effect) { answers_.push_back({to, std::move(effect)}); }
  void refuse(Ticket to, ErrorCode code, std::string message, std::string next = {});
  void put(const OpenItem& item);
  void set_mark(JobId job, ItemIndex item, ItemMark mark);
  Job& job_at(JobId id) { return durable_.jobs.at(id); }

  Durable durable_;
  Volatile volatile_;
  Changes changes_;
  std::vector<Answer> answers_;
  std::map<JobId, std::vector<Request>> waiting_for_marks_;  // of this job's items
};

}  // namespace drover
