#include "server/retention.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "logs/segment.h"

namespace drover {
namespace {

// As much as a commit may wait for.
constexpr std::uint64_t kRowsAtOnce = 2'000;
constexpr std::size_t kJobsAtOnce = 100;
constexpr std::int64_t kLookEachMs = 60'000;
constexpr std::int64_t kSweepEachMs = 1'000;  // messages come and go quickly
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::int64_t kMoreAfterMs = 200;  // the core has forgotten the first of them by then

}  // namespace

bool Retention::step(std::int64_t now_ms) {
  auto more = do_some(now_ms);
  if (more) return *more;
  log_.warning(concat("could not delete old jobs: ", more.error().message));
  next_look_ms_ = now_ms + kLookEachMs;
  rows_left_ = segments_left_ = young_segments_too_ = false;
  return false;
}

std::int64_t Retention::settling_ms() const {
  const bool is_odd = options_.quiet_before_ms > options_.keep_ms;
  return std::min(options_.keep_ms, is_odd ? kDayMs : kHourMs);
}

Result<bool> Retention::do_some(std::int64_t now_ms) {
  if (now_ms >= next_look_ms_) {
    const std::int64_t each_ms = options_.keep_ms > 0 ? options_.keep_ms / 4 : kLookEachMs;
    next_look_ms_ = now_ms + std::clamp(each_ms, std::int64_t{500}, kLookEachMs);
    rows_left_ = segments_left_ = true;
    if (auto looked = look(now_ms); !looked) return pass(looked);
    return true;
  }
  if (now_ms >= next_sweep_ms_) {
    next_sweep_ms_ = now_ms + kSweepEachMs;
    rows_left_ = true;
  }
  if (rows_left_) {
    auto more = store_.sweep_deleted(kRowsAtOnce);
    if (!more) return more;
    rows_left_ = *more;
    return true;
  }
  if (old_attempts_by_ms_) {
    auto more = store_.drop_old_attempts(*old_attempts_by_ms_, kRowsAtOnce);
    if (!more) return more;
    if (!*more) old_attempts_by_ms_.reset();
    return true;
  }
  const bool may_sweep = options_.keep_ms > 0 || young_segments_too_;
  if (segments_left_ && may_sweep) {
    auto more = sweep_segments(now_ms);
    if (!more) return more;
    segments_left_ = *more;
    young_segments_too_ = young_segments_too_ && segments_left_;
  }
  return segments_left_ && may_sweep;
}

Result<void> Retention::look(std::int64_t now_ms) {
  auto dropped = store_.drop_unused(now_ms, options_.keep_ms > 0 ? std::min(options_.keep_ms, kDayMs) : kDayMs);
  if (!dropped) return dropped;
  if (options_.keep_ms == 0 || now_ms < forget_from_ms_) return {};
  const std::int64_t ended_by_ms = std::min(now_ms, wall_.epoch_ms()) - options_.keep_ms;
  auto some = forget_jobs(ended_by_ms);
  if (!some) return pass(some);
  if (*some) next_look_ms_ = now_ms + kMoreAfterMs;
  old_attempts_by_ms_ = ended_by_ms;
  return {};
}

// A job that another one waits for stays for now, as does one that was retried meanwhile: the core refuses, and the
// next pass over all of them comes to it again.
Result<bool> Retention::forget_jobs(std::int64_t ended_by_ms) {
  auto ended = reader_->jobs_ended_by(ended_by_ms, asked_up_to_, kJobsAtOnce);
  if (!ended) return pass(ended);
  for (const EndedAt& it : *ended) {
    forget_(ForgetJob{it.job, ended_by_ms}, [this, id = it.job](const Result<Effect>& answer) {
      if (!answer || !std::holds_alternative<JobForgotten>(*answer)) return;
      forgotten_(id);
      log_.info(concat("job ", std::get<JobForgotten>(*answer).name, " ended long ago and was deleted"));
    });
  }
  const bool is_full = ended->size() == kJobsAtOnce;
  asked_up_to_ = is_full ? ended->back() : EndedAt{};
  return is_full;
}

// Whether a job is known that the segment speaks of, or may speak of. Items of jobs on streams are kept as long as
// other jobs.
Result<bool> Retention::is_wanted(const SegmentJobs& segment, std::int64_t now_ms, std::int64_t ahead_ms) {
  const std::int64_t old_by_ms = std::min(now_ms, wall_.epoch_ms()) - options_.keep_ms;
  const bool is_old = options_.keep_ms > 0 && segment.written_ms <= old_by_ms;
  for (const JobId id : segment.jobs) {
    auto job = reader_->job(id);
    if (job && (job->stream.empty() || !is_old)) return true;
    if (!job && job.error().code != ErrorCode::not_found) return pass(job);
  }
  if (segment.is_whole) return false;
  return reader_->has_job_created_by(segment.written_ms + ahead_ms);
}

Result<bool> Retention::sweep_segments(std::int64_t now_ms) {
  const std::int64_t wall_ms = wall_.epoch_ms();
  const std::int64_t kept_ms = young_segments_too_ ? 0 : options_.keep_ms;
  const std::int64_t written_by_ms = std::min(now_ms, wall_ms) - kept_ms;
  // Files have the wall clock's time, and jobs the server's, which may be ahead of it.
  const std::int64_t ahead_ms = std::max<std::int64_t>(now_ms - wall_ms, 0);
  std::vector<std::uint64_t> present = segments_in(options_.logs);
  // The last one is being written, or will be by nobody: it goes when there is another.
  if (!present.empty()) present.pop_back();
  for (const std::uint64_t number : present) {
    bool is_new = false;
    auto known = known_.find(number);
    if (known == known_.end()) {
      auto written_ms = segment_written_ms(options_.logs, number);
      if (!written_ms) return pass(written_ms);
      if (*written_ms > written_by_ms) continue;
      auto read = jobs_in_segment(options_.logs, number);
      if (!read) return pass(read);
      known = known_.emplace(number, std::move(*read)).first;
      is_new = true;
    }
    auto wanted = is_wanted(known->second, now_ms, ahead_ms);
    if (!wanted) return pass(wanted);
    if (!*wanted) {
      const std::string path = segment_path(options_.logs, number);
      if (::unlink(path.c_str()) != 0 && errno != ENOENT) return std::unexpected(errno_error(errno, path));
      known_.erase(known);
      log_.info(concat("removed ", path, ": the jobs in it were deleted"));
    }
    if (is_new) return true;  // that was a file to read; the next one another time
  }
  return false;
}

}  // namespace drover
