#include "sim/auditor.h"

#include <algorithm>

#include "base/text.h"
#include "ports/item_marks.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// For so long, beside outages, nobody is there to stop a job.
constexpr std::int64_t kSlowestStopMs = 5 * 60'000;

bool begins_or_equals(const std::string& pattern, const std::string& text) {
  if (pattern.empty()) return true;
  if (text.empty()) return false;
  if (pattern.back() != '*') return pattern == text;
  return text.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

// AWS Batch's rules once more, from their documentation and not from core/policy.cc.
bool rules_say_exit(const Policy& policy, const Attempt& attempt) {
  std::string code;
  if (attempt.ending == Ending::exited) code = std::to_string(attempt.exit_code.value_or(-1));
  if (attempt.ending != Ending::exited && attempt.signal) code = std::to_string(128 + *attempt.signal);
  std::string status = "Essential container in task exited";
  if (attempt.ending == Ending::not_started) status = "Task failed to start";
  if (attempt.ending == Ending::lost) status = "Host EC2 (instance ID) terminated.";
  const std::string reason = attempt.ending == Ending::lost ? "lost" : attempt.reason;
  for (const ExitRule& rule : policy.rules) {
    if (begins_or_equals(rule.on_status_reason, status) && begins_or_equals(rule.on_reason, reason) &&
        begins_or_equals(rule.on_exit_code, code)) {
      return rule.action == RuleAction::exit;
    }
  }
  return false;
}

}  // namespace

void Auditor::submitted(const Uuid& uuid, const Submit& submit) {
  submits_.emplace(uuid, submit);
}

void Auditor::accepted(const Uuid& uuid, JobId id) {
  const auto [known, first] = accepted_.emplace(uuid, id);
  if (!first && known->second != id) fail("one submission became two jobs");
}

void Auditor::reopen_asked(JobId job, const std::vector<SettledItem>& items) {
  for (const SettledItem& it : items) reopen_asked_.insert({{job, it.item}, it.attempt});
}

const Submit* Auditor::submit_of(const Uuid& uuid) const {
  const auto it = submits_.find(uuid);
  return it == submits_.end() ? nullptr : &it->second;
}

const Submit* Auditor::job_of(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second;
}

std::string Auditor::name(JobId job, ItemIndex item) const {
  const Submit* submit = job_of(job);
  return concat("item ", item.value, " of job ", submit == nullptr ? 0 : submit->job);
}

void Auditor::committed(const Batch& batch, std::int64_t applied_ms) {
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<PutJob>(&mutation)) take(it->job, applied_ms);
    if (const auto* it = std::get_if<UnsettleAttempt>(&mutation)) take(*it);
    if (const auto* it = std::get_if<AddAttempt>(&mutation)) take(it->attempt, applied_ms);
    if (const auto* it = std::get_if<DeleteJob>(&mutation)) take(*it);
    if (const auto* it = std::get_if<AddEvent>(&mutation)) {
      // Its leases are over: what its disk has is of no use to anybody.
      if (it->event.kind == EventKind::worker_lost) disk_lost(it->event.name);
    }
  }
  for (const Job& job : std::exchange(first_seen_, {})) inspect_after(job);
  // A job that stopped because of another one: that other one may come later in its batch.
  for (const Mutation& mutation : batch.mutations) {
    const auto* it = std::get_if<PutJob>(&mutation);
    if (it == nullptr || it->job.stop != StopCause::dependency || !stopped_by_others_.insert(it->job.id).second)
      continue;
    const bool true_reason = std::ranges::any_of(after_[it->job.id], [&](const Dependency& after) {
      const auto other = latest_.find(after.job);
      // One that is taken up again may have failed and gone on within a batch.
      return !has_succeeded(after.job) && (other == latest_.end() || other->second.ended() || other->second.epoch > 0);
    });
    if (!true_reason)
      fail(concat("job ", job_of(it->job.id)->job, ": stopped for a job before it, all of which do well"));
  }
}

// With the batch that submits it, jobs that it comes after may be forgotten already.
void Auditor::inspect_after(const Job& job) {
  std::vector<Dependency> expected;
  for (Dependency it : after_.at(job.id)) {
    if (forgotten_successes_.contains(it.job)) continue;
    if (forgotten_.contains(it.job)) it.job = JobId{};
    expected.push_back(it);
  }
  if (job.after != expected) fail(concat("job ", jobs_.at(job.id)->job, ": comes after other jobs than it was to"));
}

void Auditor::take(const Job& job, std::int64_t now_ms) {
  const Submit* submit = submit_of(job.uuid);
  if (submit == nullptr) return fail("a job that nobody submitted");
  if (jobs_.emplace(job.id, submit).second) {
    after_[job.id] = asked_after_[job.uuid];
    first_seen_.push_back(job);
  }
  if (forgotten_.contains(job.id)) fail("a job changed after it was forgotten");
  if (job.stop != StopCause::dependency) stopped_by_others_.erase(job.id);
  latest_.insert_or_assign(job.id, job);
  if (job.stop == StopCause::cancelled && !job.ended()) {
    cancelled_since_ms_.emplace(job.id, now_ms);
  } else {
    cancelled_since_ms_.erase(job.id);
  }
}

void Auditor::inspect_cancelled(std::int64_t now_ms) {
  for (const auto& [id, since_ms] : cancelled_since_ms_) {
    if (now_ms - since_ms <= kHour + longest_outage_ms_) continue;
    fail(concat("job ", job_of(id)->job, ": cancelled an hour ago, and not ended"));
  }
}

void Auditor::take(const Attempt& attempt, std::int64_t now_ms) {
  const Submit* job = job_of(attempt.job);
  if (job == nullptr) return fail("an attempt at an item of no job");
  if (forgotten_.contains(attempt.job)) return fail("an attempt at an item of a forgotten job");
  ++attempts_;
  ItemBook& item = items_[{attempt.job, attempt.item}];
  const std::string what = name(attempt.job, attempt.item);
  if (attempt.attempt.value != item.rows.size() + 1) {
    return fail(concat(what, ": attempt ", attempt.attempt.value, " after ", item.rows.size()));
  }
  if (!item.rows.empty() && item.rows.back().settled) return fail(concat(what, ": ran again after it was settled"));
  hold_against_fate(*job, attempt);
  cpu_ms_[job->job] += attempt.wall_us / 1000 * static_cast<std::int64_t>(job->ask.milli_cpus) / 1000;
  if (attempt.ending == Ending::lost) {
    ++item.losses;
    if (no_losses_) fail(concat(what, ": lost although nothing happened to its worker (", attempt.reason, ")"));
  } else {
    ++item.tries;
    item.not_before_ms = now_ms + job->policy.retry_delay_ms;
  }
  const bool settles = must_settle(*job, item, attempt);
  if (settles != attempt.settled) {
    fail(concat(what, ": attempt ", attempt.attempt.value, settles ? " had to settle it" : " must not settle it"));
  }
  item.rows.push_back({attempt.state, attempt.ending, attempt.settled});
  if (!attempt.settled) return;
  ++settled_;
  ++settled_by_hour_[now_ms / kHour];
}

void Auditor::take(const UnsettleAttempt& it) {
  const auto item = items_.find({it.job, it.item});
  if (item == items_.end() || item->second.rows.size() != it.attempt.value || !item->second.rows.back().settled) {
    return fail(
        concat(name(it.job, it.item), ": taken up again, but attempt ", it.attempt.value, " did not settle it"));
  }
  if (item->second.rows.back().state == AttemptState::succeeded) fail("a success was taken back");
  if (!reopen_asked_.contains({{it.job, it.item}, it.attempt})) fail("an item was taken up again unasked");
  item->second.rows.back().settled = false;
  item->second.not_before_ms = 0;
  item->second.tries = 0;
  item->second.losses = 0;
}

void Auditor::take(const DeleteJob& it) {
  const auto latest = latest_.find(it.job);
  if (latest == latest_.end()) return fail("a job was forgotten that never was");
  inspect_job(latest->second);  // says so if it has not ended
  if (latest->second.state == JobState::succeeded) forgotten_successes_.insert(it.job);
  latest_.erase(latest);
  forgotten_.insert(it.job);
  items_.erase(items_.lower_bound({it.job, ItemIndex{0}}), items_.lower_bound({JobId{it.job.value + 1}, ItemIndex{0}}));
}

// What ended by itself must have ended as this attempt does.
void Auditor::hold_against_fate(const Submit& job, const Attempt& attempt) {
  const Fate fate = fate_of(job.nature, attempt.item, attempt.attempt);
  const bool hangs = fate.duration_ms == Fate::kForEver;
  const auto wrong = [&] {
    fail(concat(name(attempt.job, attempt.item), ": attempt ", attempt.attempt.value, " cannot have ended as ",
                to_string(attempt.state), ", ", to_string(attempt.ending), " (", attempt.reason, ")"));
  };
  switch (attempt.ending) {
    case Ending::lost:
      if (attempt.state != AttemptState::lost && attempt.state != AttemptState::failed) wrong();
      // An image that does not come costs an item nothing.
      if (job.image > 0 && attempt.reason.find(image_name(job.image)) != std::string::npos) wrong();
      return;
    case Ending::stopped:
      if (attempt.state != AttemptState::cancelled) wrong();
      if (!cancel_asked_.contains(attempt.job) && job.job_timeout_ms == 0) wrong();
      return;
    case Ending::timed_out:
      if (attempt.state != AttemptState::failed || !hangs || job.policy.timeout_ms == 0) wrong();
      return;
    default:
      if (spoilt_.contains({{attempt.job, attempt.item}, attempt.attempt}) && attempt.state == AttemptState::failed &&
          attempt.exit_code == spoilt_fate(fate).outcome.exit_code) {
        return;
      }
      const Outcome said{attempt.ending, attempt.exit_code.value_or(0), attempt.signal.value_or(0),
                         fate.outcome.reason};
      const AttemptState state = fate.outcome.success() ? AttemptState::succeeded : AttemptState::failed;
      if (hangs || said != fate.outcome || attempt.state != state) wrong();
  }
}

bool Auditor::must_settle(const Submit& job, const ItemBook& item, const Attempt& attempt) const {
  if (attempt.state == AttemptState::succeeded || attempt.state == AttemptState::cancelled) return true;
  if (attempt.ending == Ending::timed_out) return true;
  if (attempt.ending == Ending::lost) {
    return item.losses >= job.policy.lost_limit || rules_say_exit(job.policy, attempt);
  }
  return item.tries >= job.policy.max_tries || rules_say_exit(job.policy, attempt);
}

bool Auditor::has_succeeded(JobId job) const {
  const auto latest = latest_.find(job);
  return latest != latest_.end() ? latest->second.state == JobState::succeeded : forgotten_successes_.contains(job);
}

bool Auditor::has_succeeded(JobId job, ItemIndex item) const {
  if (has_succeeded(job)) return true;
  const auto book = items_.find({job, item});
  return book != items_.end() && book->second.rows.back().settled &&
         book->second.rows.back().state == AttemptState::succeeded;
}

std::optional<AttemptState> Auditor::settled_as(JobId job, ItemIndex item) const {
  const auto book = items_.find({job, item});
  if (book == items_.end() || !book->second.rows.back().settled) return std::nullopt;
  return book->second.rows.back().state;
}

bool Auditor::has_failed(JobId job, ItemIndex item) const {
  const auto book = items_.find({job, item});
  return book != items_.end() &&
         std::ranges::any_of(book->second.rows, [](const Row& it) { return it.state == AttemptState::failed; });
}

bool Auditor::is_over(JobId job) const {
  const auto latest = latest_.find(job);
  return latest == latest_.end() || latest->second.ended();
}

// What must have come before an item. A success is never taken back, so it does not matter how late a lease is.
void Auditor::inspect_order(JobId job, ItemIndex item, AttemptNumber attempt) {
  const Submit* submit = job_of(job);
  const auto latest = latest_.find(job);
  if (submit == nullptr || latest == latest_.end()) return;
  for (const Dependency& it : after_.at(job)) {
    const bool met = it.each ? has_succeeded(it.job, item) : has_succeeded(it.job);
    // What was settled and taken up again had met it before.
    if (!met && attempt.value == 1) fail(concat(name(job, item), ": begins before what it comes after has succeeded"));
  }
  if (!submit->sequential) return;
  for (std::uint64_t before = 0; before < item.value; ++before) {
    const auto book = items_.find({job, ItemIndex{before}});
    const bool settled = book != items_.end() && book->second.rows.back().settled;
    const bool passed_over = settled && latest->second.epoch > 0;  // whoever took the job up again did not name it
    if (!passed_over && !has_succeeded(job, ItemIndex{before})) {
      return fail(concat(name(job, item), ": begins before item ", before, " has succeeded"));
    }
  }
}

void Auditor::begun(JobId job, ItemIndex item, AttemptNumber attempt, std::int64_t now_ms) {
  ++runs_;
  inspect_order(job, item, attempt);
  if (const Submit* submit = job_of(job)) begun_ms_.emplace(submit->job, now_ms);
  const auto it = items_.find({job, item});
  if (it == items_.end() || jumps_ || attempt.value <= it->second.rows.size()) return;
  if (now_ms < it->second.not_before_ms) fail(concat(name(job, item), ": ran again too soon"));
}

void Auditor::strictly_begun(JobId job, ItemIndex item, const std::string& worker) {
  const auto [run, alone] = strict_runs_.emplace(ItemKey{job, item}, worker);
  // What a worker in quarantine holds goes to others at once, whatever it still does with it; and so when it is fenced.
  if (alone || may_run_twice(run->second) || may_run_twice(worker)) return;
  fail(concat(name(job, item), ": runs on ", run->second, " and ", worker,
              " at once, which both keep their leases strictly"));
}

void Auditor::strictly_over(JobId job, ItemIndex item) {
  strict_runs_.erase({job, item});
}

std::string Auditor::unfinished(const Durable& durable) const {
  std::string out;
  for (const auto& [id, job] : durable.jobs) {
    if (job.ended()) continue;
    const Submit* submit = job_of(id);
    std::size_t grants = 0;
    for (const auto& [grant, it] : durable.grants) grants += it.job == id ? 1 : 0;
    out += concat(out.empty() ? "" : "; ", "job ", submit == nullptr ? 0 : submit->job, " has ",
                  job.total - job.succeeded - job.failed - job.cancelled, " of ", job.total, " items open, ", grants,
                  " grants");
  }
  return out;
}

void Auditor::at_end(const Core& core, StoreReader& reader) {
  const Durable& durable = core.durable();
  for (const auto& [uuid, id] : accepted_) {
    const Job* job = durable.find_job(id);
    if (forgotten_.contains(id)) {
      if (job != nullptr) fail("a forgotten job is there");
      const auto read = reader.each_attempt(id, ItemIndex{0}, [&](const Attempt&) {
        fail("the ledger has attempts of a forgotten job");
        return false;
      });
      if (!read) fail(read.error().message);
      continue;
    }
    if (job == nullptr || job->uuid != uuid) fail("an accepted job is gone");
  }
  if (!durable.grants.empty()) fail("all jobs have ended, and there are grants");
  for (const auto& [key, item] : durable.open_items) {
    if (durable.jobs.at(key.first).stop == StopCause::none) fail(concat(name(key.first, key.second), ": still open"));
  }
  for (const auto& [id, job] : durable.jobs) {
    inspect_job(job);
    const auto marks = read_item_marks(reader, id, job.total);
    if (!marks) return fail(marks.error().message);
    inspect_marks(job, *marks);
    inspect_ledger(job, reader);
  }
}

void Auditor::inspect_marks(const Job& job, const ItemBlocks& blocks) {
  for (auto it = items_.lower_bound({job.id, ItemIndex{0}}); it != items_.end() && it->first.first == job.id; ++it) {
    const Row& last = it->second.rows.back();
    if (!last.settled) continue;
    const ItemMark mark = last.state == AttemptState::succeeded ? ItemMark::succeeded : ItemMark::ended;
    if (blocks.get(it->first.second) != mark) {
      fail(concat(name(job.id, it->first.second), ": is settled, and its block says otherwise"));
    }
  }
}

void Auditor::inspect_job(const Job& job) {
  const Submit* submit = job_of(job.id);
  if (submit == nullptr) return fail("a job that nobody submitted");
  const std::string what = concat("job ", submit->job);
  if (submit->stream.empty() && job.total != submit->total) fail(concat(what, ": has another size"));
  if (!job.ended()) return fail(concat(what, ": has not ended"));
  std::map<AttemptState, std::uint64_t> settled;
  for (auto it = items_.lower_bound({job.id, ItemIndex{0}}); it != items_.end() && it->first.first == job.id; ++it) {
    const Row& last = it->second.rows.back();
    if (!last.settled) continue;
    ++settled[last.state];
  }
  if (settled[AttemptState::succeeded] != job.succeeded || settled[AttemptState::failed] != job.failed ||
      settled[AttemptState::cancelled] != job.cancelled) {
    fail(concat(what, ": its counts are not those of its settled items"));
  }
  const bool all = job.succeeded + job.failed + job.cancelled == job.total;
  if (!all && job.stop == StopCause::none) fail(concat(what, ": ended with items left"));
  if (is_cancel(job.stop) && !cancel_asked_.contains(job.id)) fail(concat(what, ": cancelled unasked"));
  inspect_stop(*submit, job);
  // One on a stream that is stopped has succeeded if its stream was empty just then.
  const bool may_be_done = job.stream.empty() || job.stop == StopCause::none || job.state == JobState::succeeded;
  JobState state = job.succeeded == job.total && may_be_done ? JobState::succeeded : JobState::failed;
  if (state != JobState::succeeded && is_cancel(job.stop)) state = JobState::cancelled;
  if (job.state != state) fail(concat(what, ": ended as ", to_string(job.state), " instead of ", to_string(state)));
}

void Auditor::inspect_stop(const Submit& submit, const Job& job) {
  const std::string what = concat("job ", submit.job);
  if (job.stop == StopCause::cannot_run && submit.image != kMissingImage) {
    fail(concat(what, ": stopped for its image, which is there"));
  }
  const bool failed_too_often = job.failed - job.failed_before > submit.max_failures();
  if (job.stop == StopCause::none && failed_too_often) fail(concat(what, ": had to be stopped early"));
  if (job.stop == StopCause::too_many_failures && !failed_too_often) {
    fail(concat(what, ": stopped early without a reason"));
  }
  const std::int64_t took_ms = job.started_ms == 0 ? 0 : job.ended_ms - job.started_ms;
  if (job.stop == StopCause::timed_out && (submit.job_timeout_ms == 0 || took_ms < submit.job_timeout_ms)) {
    fail(concat(what, ": stopped for its time, which was not over"));
  }
  if (job.stop == StopCause::none && submit.job_timeout_ms > 0 && !jumps_ &&
      took_ms > submit.job_timeout_ms + longest_outage_ms_ + kSlowestStopMs) {
    fail(concat(what, ": had to be stopped when its time was over"));
  }
  if (job.stop != StopCause::none || job.state != JobState::succeeded) return;
  for (const Dependency& it : after_[job.id]) {
    if (!it.each && !has_succeeded(it.job)) fail(concat(what, ": succeeded before the job it comes after"));
  }
}

// The ledger that people read says what was heard of here.
void Auditor::inspect_ledger(const Job& job, StoreReader& reader) {
  std::map<ItemIndex, std::size_t> read;
  const auto done = reader.each_attempt(job.id, ItemIndex{0}, [&](const Attempt& attempt) {
    const auto item = items_.find({job.id, attempt.item});
    const std::size_t at = read[attempt.item]++;
    if (item == items_.end() || at >= item->second.rows.size() || attempt.attempt.value != at + 1) {
      fail(concat(name(job.id, attempt.item), ": the ledger has an attempt that was never added"));
      return false;
    }
    const Row& row = item->second.rows[at];
    if (row.state != attempt.state || row.ending != attempt.ending || row.settled != attempt.settled) {
      fail(concat(name(job.id, attempt.item), ": the ledger says something else of attempt ", at + 1));
    }
    return true;
  });
  if (!done) return fail(done.error().message);
  for (auto it = items_.lower_bound({job.id, ItemIndex{0}}); it != items_.end() && it->first.first == job.id; ++it) {
    if (read[it->first.second] != it->second.rows.size()) {
      fail(concat(name(job.id, it->first.second), ": the ledger misses an attempt"));
    }
  }
}

}  // namespace drover::sim
