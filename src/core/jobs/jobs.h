// The part of the core that knows jobs and their items: what has been done of them, what waits, what comes after what.
//
// What it does is told by concept: submit.cc (jobs begin, are cancelled, end and are forgotten), reopen.cc (retries),
// depend.cc (jobs and items that come after others), place.cc (when a job has something to hand out), hand_out.cc
// (items are handed out and come back), settle.cc (what becomes of an item when an attempt ended), marks.cc (the marks
// of ended jobs' items, which only the store keeps), on_stream.cc (jobs whose items are the messages of a stream).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/attempt_costs.h"
#include "core/catalog/catalog.h"
#include "core/jobs/item_blocks.h"
#include "core/journal.h"
#include "core/message_items.h"
#include "core/schedule/places.h"

namespace drover {

/// As long as items may be kept from spot machines: a thousand years.
inline constexpr std::int64_t kLongestShelterMs = 31'536'000'000'000;

struct JobRecords {
  std::map<JobId, Job> jobs;
  /// Of jobs that have not ended; and of those that ended without success, for as long as another job goes item by item
  /// after them. Of other ended jobs only the store has them.
  std::map<JobId, ItemBlocks> blocks;
  std::map<std::pair<JobId, ItemIndex>, OpenItem> open_items;
  std::map<std::string, Account> accounts;

  const Job* find_job(JobId id) const;
  const OpenItem* find_open(JobId job, ItemIndex item) const;
  /// nullptr: only the store has them, or there is no such job.
  const ItemBlocks* find_blocks(JobId job) const;
  /// Whether this item of a job that others come after is known to have succeeded.
  bool has_succeeded(JobId job, ItemIndex item) const;

  Result<void> restore(const PutJob& put);
  Result<void> restore(const PutBlock& put);
  Result<void> restore(const PutOpenItem& put);
  Result<void> restore(const PutAccount& put);
  void add_to(Hasher& hasher) const;
};

/// What is looked up often about one job. All but whether a page was asked for follows from records.
struct JobIndex {
  ItemIndex pending_from;             // no item before it is pending
  std::set<ItemIndex> ready;          // waiting, and may run now
  std::set<ItemIndex> sheltered;      // likewise, but not on spot machines: they were lost too often
  std::uint64_t delayed = 0;          // waiting items that may not run before a time
  std::size_t unmet = 0;              // jobs whose success it waits for
  std::uint64_t item_dependents = 0;  // jobs that have not ended and go item by item after it
  // Blocks in which items may be whose forerunners have succeeded: these, and all from `unlocked_from` on.
  std::set<std::uint64_t> unlocked;
  std::uint64_t unlocked_from = 0;
  bool page_asked = false;  // the next page of its retry is being read
};

/// A job that has ended, and how many of those that come after it have heard of it.
struct EndedJob {
  JobId id;
  JobId told_up_to = {};
};

struct JobsNow {
  std::map<JobId, JobIndex> jobs;
  std::map<Uuid, JobId> job_by_uuid;
  std::set<JobId> runnable;                                           // jobs that have not ended
  std::set<std::tuple<std::int64_t, JobId, ItemIndex>> delayed;       // waiting items that may not run before a time
  std::set<std::tuple<std::int64_t, JobId, ItemIndex>> shelter_ends;  // of sheltered items: when they may run anywhere
  std::set<std::pair<std::int64_t, JobId>> job_deadlines;
  std::map<JobId, std::set<JobId>> dependents;              // of a job: those that have not ended and come after it
  std::map<JobId, std::set<JobId>> named_by;                // of a job: all that are known and come after it
  std::vector<EndedJob> just_ended;                         // whose dependents have not all heard of it
  std::vector<JobId> maybe_unneeded;                        // ended jobs whose blocks may no longer be needed
  std::vector<ItemBlocks> unneeded;                         // blocks that are freed part by part
  std::map<JobId, std::vector<Request>> waiting_for_marks;  // of this job's items
  std::map<std::string, std::set<JobId>> on_stream;         // of a stream: the jobs on it that have not ended
};

/// Who has a job's items in their hands, and has to hear what becomes of the job.
class Holders {
 public:
  virtual ~Holders() = default;
  virtual void add(JobId job) = 0;
  virtual void forget(JobId job) = 0;
  virtual bool hold_some(JobId job) const = 0;
  virtual void each_holder(JobId job, const std::function<void(WorkerId worker, std::uint64_t items)>& visit) const = 0;
  /// They are told to stop, or to stop in another way.
  virtual void on_stopped(JobId job) = 0;
  virtual void on_resumed(JobId job) = 0;
};

class Jobs : public QueueUser, public RunningItems, public MessageTaker {
 public:
  Jobs(JobRecords& records, JobsNow& now, Journal& journal, const Catalog& catalog, Places& places)
      : records_(records), now_(now), journal_(journal), catalog_(catalog), places_(places) {}
  void set_holders(Holders& holders) { holders_ = &holders; }
  void set_messages(MessageSource& messages) { messages_ = &messages; }
  void set_costs(AttemptCosts& costs) { costs_ = &costs; }

  void on(Ticket ticket, const SubmitJob& command);
  void on(Ticket ticket, const ReopenJob& command);
  void on(Ticket ticket, const ReopenMore& command);
  void on(Ticket ticket, const CancelJob& command);
  void on(Ticket ticket, const ForgetJob& command);
  void on(Ticket ticket, const MarksRead& command);

  /// From records, before anybody is known to hold something; and then, when holders are.
  void load();
  void load_places();

  // With every command, and when time has passed.
  void wake_delayed();
  void tell_dependents();
  void stop_late_jobs();
  void free_some_blocks();
  std::optional<std::int64_t> next_deadline() const;
  /// Something was left for the next command.
  bool has_more_to_do() const { return !now_.just_ended.empty() || !now_.unneeded.empty(); }

  const Job* find(JobId id) const { return records_.find_job(id); }
  const Job& at(JobId id) const { return records_.jobs.at(id); }
  const OpenItem* find_open(JobId job, ItemIndex item) const { return records_.find_open(job, item); }
  ItemCounts counts(JobId job) const;

  /// Items as they are handed out: a range of neighbours.
  struct HandedOut {
    ItemIndex first;
    std::uint64_t count = 0;
    std::vector<AttemptNumber> attempts = {};  // of items that were tried before
  };
  /// None: it is on a stream, where others have taken what there was.
  HandedOut hand_out(JobId job, GrantId grant, std::uint64_t want, bool to_spot);
  /// They are in the worker's hands.
  void on_handed_out(JobId job, WorkerId worker, std::uint64_t count);
  bool owns(const Grant& grant, ItemIndex item) const;
  /// Those of its items that were named as running.
  std::vector<ItemIndex> running_of(const Grant& grant) const;
  /// An item that a grant owns runs since this time.
  void note_running(const Grant& grant, ItemIndex item, std::int64_t started_ms);
  /// An attempt at an item that a grant owns has ended, as far as others need to know.
  struct Ended {
    AttemptState state = AttemptState::lost;
    Ending ending = Ending::lost;
    std::int64_t wall_us = 0;
    std::optional<std::int64_t> ran_since_ms;  // since when its share was charged for it by the moment
  };
  Ended settle(const Grant& grant, const EndedAttempt& ended);
  /// It was named as running, and nobody will hear how it ended.
  Ended lose_running(const Grant& grant, ItemIndex item, const char* reason);
  /// It comes back unstarted: as if nobody had had it, or with a row of its own.
  void make_pending(JobId job, ItemIndex item);
  void make_waiting(JobId job, ItemIndex item);
  /// One item has left its holder's hands.
  void on_given_back(JobId job);
  void stop(JobId job, StopCause cause, std::string reason) { stop(job_at(job), cause, std::move(reason)); }

  /// Whether a question about its items has to wait until their marks were read; then the command comes again.
  bool must_wait_for_marks(const Job& job) const { return lacks_marks(job); }
  void wait_for_marks(JobId job, Ticket ticket, Command command);
  std::vector<Request> take_resumed() { return std::exchange(resumed_, {}); }

  std::optional<std::string> unended_job_in(const std::string& queue) const override;
  void before_queue_changes(const std::string& queue, bool forget_usage) override;
  void after_queue_changed(const Queue& queue, bool has_become_fair) override;
  void after_queue_dropped(const std::string& queue) override { places_.drop_lane(queue); }
  void each_running(JobId job, std::uint64_t count,
                    const std::function<void(const Job& job, std::int64_t started_ms)>& visit) const override;

  std::size_t on_stream_changed(const std::string& stream) override;
  bool is_over(JobId job) const override;
  bool has_failed(JobId job, ItemIndex item) const override;

  void take_changes(std::vector<Mutation>& out);
  void take_deletions(std::vector<Mutation>& out);
  /// To be called when what has changed in them is written down.
  void let_go_of_blocks();

 private:
  // submit.cc
  void begin(Job& job);
  void stop(Job& job, StopCause cause, std::string reason);
  void end_if_done(Job& job);
  void forget_as_forerunner(const Job& job);
  bool check_dependencies(Ticket ticket, const SubmitJob& command);
  // place.cc
  void take_place(const Job& job);
  void leave_place(const Job& job);
  bool has_work(const Job& job);
  bool has_only_sheltered_work(const Job& job);
  void reconsider(Job& job);
  // reopen.cc
  void take_up_again(Job& job, const SettledItem& settled);
  void ask_for_page(const Job& job);
  static void end_reopening(Job& job);
  // marks.cc
  std::optional<JobId> lacking_marks(const std::vector<Dependency>& after) const;
  bool lacks_marks(const Job& job) const;
  bool is_needed_in_memory(JobId id) const;
  void count_item_dependent(const Job& job, bool appears);
  // depend.cc
  static bool waits_for_items(const Job& job);
  bool is_unlocked(const Job& job, ItemIndex item) const;
  void count_unmet(const Job& job);
  void end_if_starved(Job& job);
  void tell_dependent(Job& job, const Job& ended);
  static void look_again(JobIndex& index, std::uint64_t block);
  void unlock(const Job& job, ItemIndex item);
  // on_stream.cc
  bool check_stream(Ticket ticket, const SubmitJob& command);
  void set_on_stream(const Job& job, bool is_there);
  std::uint64_t take_messages(Job& job, std::uint64_t want);
  void tell_message(const Job& job, const OpenItem& item, AttemptState state);
  bool is_all_settled(const Job& job) const;
  // hand_out.cc
  std::pair<ItemIndex, std::uint64_t> untouched(const Job& job, std::uint64_t want);
  void make_waiting(OpenItem item, std::int64_t not_before_ms);
  void make_ready(const Job& job, ItemIndex item);
  OpenItem open_item_or_new(JobId job, ItemIndex item) const;
  void put(const OpenItem& item);
  void set_mark(JobId job, ItemIndex item, ItemMark mark);
  // settle.cc
  Ended lose(const Grant& grant, OpenItem item, const EndedAttempt& ended);
  Ended finish(const OpenItem& item, Attempt attempt, ItemMark mark);
  void charge(Job& job, Attempt& row);

  Job& job_at(JobId id) { return records_.jobs.at(id); }

  JobRecords& records_;
  JobsNow& now_;
  Journal& journal_;
  const Catalog& catalog_;
  Places& places_;
  Holders* holders_ = nullptr;
  MessageSource* messages_ = nullptr;
  AttemptCosts* costs_ = nullptr;
  std::vector<Request> resumed_;
  std::vector<JobId> leaving_;  // the jobs of a queue that is about to change
  Changed<JobId> jobs_{journal_};
  Changed<std::pair<JobId, std::uint64_t>> blocks_{journal_};
  Changed<std::pair<JobId, ItemIndex>> open_items_{journal_};
  Changed<std::string> accounts_{journal_};
  std::vector<JobId> forgotten_;
};

}  // namespace drover
