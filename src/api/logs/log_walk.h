// The attempts whose logs FilterLogEvents reads, one after another: the oldest job first, and the attempts of a job in
// the order of its items. A walk can stop before any attempt and resume there later.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ports/backend.h"

namespace drover::aws {

/// A line of an attempt. Jobs are numbered in the order of their creation, so a position keeps its place when its job
/// is removed.
struct WalkPosition {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt = AttemptNumber{1};
  std::uint64_t line = 0;

  /// "JOB.ITEM.ATTEMPT.LINE"
  std::string text() const;
  static std::optional<WalkPosition> parse(std::string_view text);
  auto operator<=>(const WalkPosition&) const = default;
};

/// Which attempts are read.
struct WalkScope {
  std::set<std::string> streams;  // empty: all
  std::string prefix;             // of the stream's name
  std::int64_t start_ms = 0;
  std::int64_t end_ms = std::numeric_limits<std::int64_t>::max();  // exclusive

  bool has_time(std::int64_t begin_ms, std::int64_t last_ms) const { return begin_ms < end_ms && last_ms >= start_ms; }
  /// Whether attempts of the job can be in scope.
  bool has_job(const Job& job) const;
};

struct WalkTask {
  std::shared_ptr<const JobView> job;
  ItemIndex item;
  AttemptNumber attempt;
  std::uint64_t line = 0;  // the first to read

  WalkPosition position() const { return {job->job.id, item, attempt, line}; }
};

/// Gathers the tasks of a span of a job's items. Running items are added before the rows of attempts are read: an
/// attempt that ends in between is found twice, not missed, and is one task.
class SpanTasks {
 public:
  /// `most_rows` limits how many rows at or after `from` are taken.
  SpanTasks(const WalkScope& scope, std::shared_ptr<const JobView> job, const WalkPosition& from, ItemIndex last,
            std::uint64_t most_rows);

  void add(const OpenItem& open);
  /// In the order of item and attempt. False: no more rows are needed.
  bool add(const Attempt& row);

  std::uint64_t rows() const { return rows_; }
  /// Behind all that was looked at: a row that did not fit, or the first item after the span.
  const WalkPosition& next() const { return next_; }
  /// Those before next(), in order.
  std::deque<WalkTask> tasks() const;

 private:
  using Key = std::pair<ItemIndex, AttemptNumber>;

  const WalkScope& scope_;
  const std::shared_ptr<const JobView> job_;
  const WalkPosition from_;
  const ItemIndex last_;
  const std::uint64_t most_rows_;
  std::uint64_t rows_ = 0;
  std::set<Key> found_;
  WalkPosition next_;
};

class LogWalk {
 public:
  LogWalk(Backend& backend, WalkScope scope, const WalkPosition& from)
      : backend_(backend), scope_(std::move(scope)), from_(from), next_(from) {}

  const WalkScope& scope() const { return scope_; }
  /// Looks for tasks until there are some, or many rows have been read. From within Backend::later().
  Result<void> look();
  bool has_task() const { return !tasks_.empty(); }
  WalkTask take();
  /// There is no task left, and none to be found.
  bool is_over() const { return is_over_ && tasks_.empty(); }
  /// Where to resume: at the next task, or behind what was looked at.
  WalkPosition position() const { return tasks_.empty() ? next_ : tasks_.front().position(); }
  /// Rows of the ledger and jobs, all in all.
  std::uint64_t looked_at() const { return looked_at_; }

 private:
  struct JobName {
    JobId id;
    Uuid uuid;
  };

  Result<void> find_named_streams();
  void find_jobs();
  /// The next job in scope becomes job_, if there is one.
  void begin_job();
  Result<void> look_at_span();

  Backend& backend_;
  const WalkScope scope_;
  const WalkPosition from_;
  WalkPosition next_;                   // where to look for tasks; its line does not matter
  std::deque<JobName> jobs_;            // to look at after job_, the oldest first
  bool has_all_jobs_ = false;           // none have to be listed after jobs_
  std::shared_ptr<const JobView> job_;  // that is looked at; none: between two
  std::deque<WalkTask> tasks_;
  std::uint64_t looked_at_ = 0;
  bool is_over_ = false;
};

}  // namespace drover::aws
