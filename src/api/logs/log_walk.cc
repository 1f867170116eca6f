#include "api/logs/log_walk.h"

#include <algorithm>
#include <array>

#include "api/logs/stream_name.h"
#include "base/text.h"
#include "base/units.h"

namespace drover::aws {
namespace {

constexpr std::size_t kJobsAtOnce = 10'000;    // that are listed
constexpr std::uint64_t kRowsAtOnce = 10'000;  // that are read from one span
constexpr std::uint64_t kSpanItems = 100'000;  // whose running ones are looked up at once

}  // namespace

std::string WalkPosition::text() const {
  return concat(job.value, ".", item.value, ".", attempt.value, ".", line);
}

std::optional<WalkPosition> WalkPosition::parse(std::string_view text) {
  std::array<std::uint64_t, 4> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    const std::size_t end = is_last ? text.size() : text.find('.');
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = parse_number(text.substr(0, end));
    if (!number) return std::nullopt;
    parts.at(i) = *number;
    text.remove_prefix(is_last ? end : end + 1);
  }
  const auto [job, item, attempt, line] = parts;
  if (job == 0 || attempt == 0 || attempt > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return WalkPosition{JobId{job}, ItemIndex{item}, AttemptNumber{static_cast<std::uint32_t>(attempt)}, line};
}

bool WalkScope::has_job(const Job& job) const {
  if (job.total == 0) return false;
  if (!has_time(job.created_ms, job.ended() ? job.ended_ms : std::numeric_limits<std::int64_t>::max())) return false;
  if (prefix.empty()) return true;
  const std::string stem = stream_stem(job);
  return stem.starts_with(prefix) || prefix.starts_with(stem);
}

SpanTasks::SpanTasks(const WalkScope& scope, std::shared_ptr<const JobView> job, const WalkPosition& from,
                     ItemIndex last, std::uint64_t most_rows)
    : scope_(scope),
      job_(std::move(job)),
      from_(from),
      last_(last),
      most_rows_(most_rows),
      next_{from.job, ItemIndex{last.value + 1}} {}

void SpanTasks::add(const OpenItem& open) {
  if (open.waiting() || !open.counted || open.started_ms >= scope_.end_ms) return;
  found_.emplace(open.item, AttemptNumber{open.attempts});
}

bool SpanTasks::add(const Attempt& row) {
  if (row.item > last_) return false;
  if (row.item == from_.item && row.attempt < from_.attempt) return true;
  if (rows_ == most_rows_) {
    next_ = {from_.job, row.item, row.attempt};
    return false;
  }
  ++rows_;
  if (scope_.has_time(row.started_ms, row.ended_ms)) found_.emplace(row.item, row.attempt);
  return true;
}

std::deque<WalkTask> SpanTasks::tasks() const {
  std::deque<WalkTask> out;
  const Key end{next_.item, next_.attempt};
  for (auto it = found_.lower_bound({from_.item, from_.attempt}); it != found_.end() && *it < end; ++it) {
    const auto& [item, attempt] = *it;
    if (log_stream(job_->job, item, attempt.value).starts_with(scope_.prefix)) out.push_back({job_, item, attempt});
  }
  return out;
}

Result<void> LogWalk::look() {
  if (!scope_.streams.empty()) {
    is_over_ = true;
    return find_named_streams();
  }
  const std::uint64_t end = looked_at_ + kRowsAtOnce;
  while (tasks_.empty() && !is_over_ && looked_at_ < end) {
    if (!job_) begin_job();
    is_over_ = !job_;
    if (is_over_) break;
    if (auto looked = look_at_span(); !looked) return looked;
    // A token is valid only for an existing item, or for the start of a job.
    if (next_.item.value < job_->job.total) continue;
    next_ = {JobId{job_->job.id.value + 1}};
    job_ = nullptr;
  }
  return {};
}

WalkTask LogWalk::take() {
  WalkTask task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

// Their names say which attempts they are.
Result<void> LogWalk::find_named_streams() {
  const WalkPosition from{from_.job, from_.item, from_.attempt};
  for (const std::string& name : scope_.streams) {
    const auto named = parse_log_stream(name);
    if (!named) continue;
    auto view = backend_.find_job(named->job);
    if (!view || named->item.value >= view->job.total) continue;
    if (log_stream(view->job, named->item, named->attempt.value) != name) continue;
    auto attempts = backend_.attempts(view->job.id, named->item);
    if (!attempts) return pass(attempts);
    looked_at_ += 1 + attempts->size();
    const auto row = std::ranges::find(*attempts, named->attempt, &Attempt::attempt);
    if (row != attempts->end() && !scope_.has_time(row->started_ms, row->ended_ms)) continue;
    WalkTask task{std::make_shared<const JobView>(std::move(*view)), named->item, named->attempt};
    if (task.position() < from) continue;
    if (task.position() == from) task.line = from_.line;
    tasks_.push_back(std::move(task));
  }
  std::ranges::sort(tasks_, {}, &WalkTask::position);
  return {};
}

void LogWalk::find_jobs() {
  has_all_jobs_ = true;
  if (const auto uuid = job_in_prefix(scope_.prefix)) {
    const auto view = backend_.find_job(uuid->text());
    if (view && view->job.uuid == *uuid && view->job.id >= next_.job && scope_.has_job(view->job)) {
      jobs_.push_back({view->job.id, *uuid});
    }
    return;
  }
  // Jobs come with the newest first, and only their names are kept. One before the position suits, and ends the list.
  JobFilter filter{.limit = 1};
  filter.suits = [&](const JobView& it) {
    if (it.job.id < next_.job) return true;
    if (!scope_.has_job(it.job)) return false;
    jobs_.push_front({it.job.id, it.job.uuid});
    if (jobs_.size() > kJobsAtOnce) {
      jobs_.pop_back();
      has_all_jobs_ = false;
    }
    return false;
  };
  backend_.list_jobs(filter);
}

void LogWalk::begin_job() {
  while (!job_) {
    if (jobs_.empty() && !has_all_jobs_) find_jobs();
    if (jobs_.empty()) return;
    const JobName name = jobs_.front();
    jobs_.pop_front();
    ++looked_at_;
    auto view = backend_.find_job(name.uuid.text());
    if (!view || view->job.id != name.id) {  // It was removed since.
      next_ = {JobId{name.id.value + 1}};
      continue;
    }
    if (next_.job != name.id) next_ = {name.id};
    job_ = std::make_shared<const JobView>(std::move(*view));
  }
}

Result<void> LogWalk::look_at_span() {
  const Job& job = job_->job;
  const bool may_run = !job.ended() && job_->in_hands > 0;
  const std::uint64_t end = may_run ? std::min(next_.item.value + kSpanItems, job.total) : job.total;
  const ItemIndex last{end - 1};
  SpanTasks span(scope_, job_, next_, last, kRowsAtOnce);
  if (may_run) {
    auto read = backend_.ledger().each_open_item(job.id, {next_.item, last}, [&](const OpenItem& it) { span.add(it); });
    if (!read) return read;
  }
  auto read = backend_.ledger().each_attempt(job.id, next_.item, [&](const Attempt& it) { return span.add(it); });
  if (!read) return read;
  looked_at_ += 1 + span.rows();
  tasks_ = span.tasks();
  next_ = span.next();
  // Only the attempt that the walk resumes at has lines that were shown.
  if (!tasks_.empty() && tasks_.front().position() == WalkPosition{from_.job, from_.item, from_.attempt}) {
    tasks_.front().line = from_.line;
  }
  return {};
}

}  // namespace drover::aws
