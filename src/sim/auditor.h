// Holds everything that becomes durable against what must be true, and the end against what had to come of it. It
// knows what every attempt does (fate.h) and works out by itself what follows from that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/core.h"
#include "ports/store.h"
#include "sim/fate.h"
#include "sim/happenings/jobs.h"

namespace drover::sim {

class Auditor {
 public:
  /// The first thing that was wrong.
  const std::optional<std::string>& failure() const { return failure_; }
  void fail(std::string_view what) {
    if (!failure_) failure_.emplace(what);
  }

  // What people asked for.
  void submitted(const Uuid& uuid, const Submit& submit);
  /// With what it is to come after, as the server knows it.
  void comes_after(const Uuid& uuid, const std::vector<Dependency>& after) { asked_after_[uuid] = after; }
  void accepted(const Uuid& uuid, JobId id);
  void cancel_asked(JobId id) { cancel_asked_.insert(id); }
  bool is_forgotten(JobId id) const { return forgotten_.contains(id); }
  void reopen_asked(JobId job, const std::vector<SettledItem>& items);

  /// The process of a worker has ended, and its disk has the result of this attempt.
  void kept(const std::string& worker, JobId job, ItemIndex item, AttemptNumber attempt) {
    kept_[{{job, item}, attempt}] = worker;
  }
  void disk_lost(const std::string& worker) {
    std::erase_if(kept_, [&](const auto& it) { return it.second == worker; });
  }
  /// The result of this attempt is on the disk of this worker, and it may tell it.
  bool is_kept(const Attempt& attempt, const std::string& worker) const {
    const auto it = kept_.find({{attempt.job, attempt.item}, attempt.attempt});
    return it != kept_.end() && it->second == worker && !may_run_twice(worker);
  }

  /// A batch is durable, which was applied at this time.
  void committed(const Batch& batch, std::int64_t applied_ms);
  /// Cancelled jobs end soon, whatever happens: to be asked now and then.
  void inspect_cancelled(std::int64_t now_ms);
  /// From now on nothing happens that could lose an attempt.
  void expect_no_losses() { no_losses_ = true; }
  bool expects_losses() const { return !no_losses_; }

  /// For so long at a time the server may do nothing.
  void expect_outages(std::int64_t longest_ms) { longest_outage_ms_ = longest_ms; }
  /// Somebody takes this worker for dead: what it runs may run elsewhere too.
  void expect_fence(const std::string& worker) { fenced_.insert(worker); }
  /// On this machine all fails: it may be given nothing more.
  void expect_quarantine(const std::string& worker) { may_be_apart_.insert(worker); }
  bool may_be_quarantined(const std::string& worker) const { return may_be_apart_.contains(worker); }
  /// This attempt, or one run of it, fails because of its machine.
  void spoilt(JobId job, ItemIndex item, AttemptNumber attempt) { spoilt_.insert({{job, item}, attempt}); }

  // A worker that keeps its leases strictly runs an item.
  /// A run of an attempt begins, anywhere.
  void begun(JobId job, ItemIndex item, AttemptNumber attempt, std::int64_t now_ms);
  /// The server's clock may have jumped over a delay.
  void expect_jumps() { jumps_ = true; }
  void strictly_begun(JobId job, ItemIndex item, const std::string& worker);
  void strictly_over(JobId job, ItemIndex item);

  /// How the item was settled; nothing: it is not.
  std::optional<AttemptState> settled_as(JobId job, ItemIndex item) const;
  /// An attempt at it has failed, if only for a time.
  bool has_failed(JobId job, ItemIndex item) const;
  /// The job has ended, or was forgotten.
  bool is_over(JobId job) const;

  /// Everything was given time to end.
  void at_end(const Core& core, StoreReader& reader);

  const Submit* job_of(JobId id) const;
  const Submit* submit_of(const Uuid& uuid) const;
  /// Of whom something is open, in words.
  std::string unfinished(const Durable& durable) const;

  /// What a job's attempts took together, times the CPUs they asked for.
  const std::map<std::uint64_t, std::int64_t>& cpu_ms() const { return cpu_ms_; }
  /// When the first of its items began.
  const std::map<std::uint64_t, std::int64_t>& begun_ms() const { return begun_ms_; }
  std::uint64_t settled() const { return settled_; }
  std::uint64_t attempts() const { return attempts_; }
  /// How often an item was started, anywhere.
  std::uint64_t runs() const { return runs_; }
  const std::map<std::int64_t, std::uint64_t>& settled_by_hour() const { return settled_by_hour_; }

 private:
  using ItemKey = std::pair<JobId, ItemIndex>;
  struct Row {
    AttemptState state;
    Ending ending;
    bool settled;
  };
  struct ItemBook {
    std::vector<Row> rows;
    std::uint32_t tries = 0;  // since it was last taken up
    std::uint32_t losses = 0;
    std::int64_t not_before_ms = 0;
  };
  void take(const Job& job, std::int64_t now_ms);
  void inspect_after(const Job& job);
  void take(const Attempt& attempt, std::int64_t now_ms);
  void take(const UnsettleAttempt& it);
  void take(const DeleteJob& it);
  void hold_against_fate(const Submit& job, const Attempt& attempt);
  bool may_run_twice(const std::string& worker) const {
    return may_be_apart_.contains(worker) || fenced_.contains(worker);
  }
  bool must_settle(const Submit& job, const ItemBook& item, const Attempt& attempt) const;
  void inspect_order(JobId job, ItemIndex item, AttemptNumber attempt);
  void inspect_stop(const Submit& submit, const Job& job);
  bool has_succeeded(JobId job) const;
  bool has_succeeded(JobId job, ItemIndex item) const;
  void inspect_job(const Job& job);
  void inspect_marks(const Job& job, const ItemBlocks& blocks);
  void inspect_ledger(const Job& job, StoreReader& reader);
  std::string name(JobId job, ItemIndex item) const;

  std::optional<std::string> failure_;
  std::map<Uuid, Submit> submits_;
  std::map<Uuid, JobId> accepted_;
  std::map<JobId, const Submit*> jobs_;
  std::set<JobId> cancel_asked_;
  std::map<JobId, Job> latest_;  // as last made durable
  std::set<JobId> forgotten_;
  std::set<JobId> forgotten_successes_;
  std::map<Uuid, std::vector<Dependency>> asked_after_;
  std::vector<Job> first_seen_;  // with the batch under inspection
  std::map<JobId, std::vector<Dependency>> after_;
  std::set<JobId> stopped_by_others_;
  std::set<std::string> may_be_apart_;
  std::set<std::string> fenced_;
  std::int64_t longest_outage_ms_ = 0;
  std::set<std::pair<ItemKey, AttemptNumber>> spoilt_;
  std::map<std::uint64_t, std::int64_t> cpu_ms_;
  std::map<std::uint64_t, std::int64_t> begun_ms_;
  std::set<std::pair<ItemKey, AttemptNumber>> reopen_asked_;
  std::map<ItemKey, ItemBook> items_;
  std::map<JobId, std::int64_t> cancelled_since_ms_;  // and not ended
  std::map<ItemKey, std::string> strict_runs_;
  std::map<std::pair<ItemKey, AttemptNumber>, std::string> kept_;  // and by whom
  bool no_losses_ = false;
  bool jumps_ = false;
  std::uint64_t settled_ = 0;
  std::uint64_t attempts_ = 0;
  std::uint64_t runs_ = 0;
  std::map<std::int64_t, std::uint64_t> settled_by_hour_;
};

}  // namespace drover::sim
