// FilterLogEvents: a walk through the logs of many attempts, a page at a time. It reads no log whose attempt ran at
// another time than is asked for, and stops after a bounded number of logs, with a token to go on with.
#include <algorithm>
#include <deque>
#include <set>

#include "api/logs/filter_pattern.h"
#include "api/logs/logs.h"
#include "base/units.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::size_t kMostWalkedJobs = 10'000;
constexpr std::size_t kMostLogs = 500;                            // that are read for a page
constexpr std::uint64_t kMostPageBytes = std::uint64_t{1} << 20;  // of its messages
constexpr std::uint64_t kMostRunning = 1000;                      // items that are looked at while they run

/// First a job's attempts that have ended, in the order of its items; then those that run.
enum class WalkPhase : std::uint8_t { ended, running };

/// A line of an attempt, where a page begins: "e/UUID.ITEM.ATTEMPT.LINE".
struct WalkPosition {
  WalkPhase phase = WalkPhase::ended;
  TaskName task;
  std::uint64_t line = 0;

  std::string text() const {
    return concat(phase == WalkPhase::ended ? "e/" : "r/", task.job, ".", task.item.value, ".", task.attempt.value, ".",
                  line);
  }
  static std::optional<WalkPosition> parse(std::string_view text) {
    const std::size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || !(text.starts_with("e/") || text.starts_with("r/"))) return std::nullopt;
    const auto task = parse_log_stream(text.substr(0, dot));
    const auto line = parse_number(text.substr(dot + 1));
    if (!task || !line) return std::nullopt;
    return WalkPosition{text.starts_with("e/") ? WalkPhase::ended : WalkPhase::running, *task, *line};
  }
};

struct WalkWish {
  FilterPattern pattern;
  std::set<std::string> streams;  // none: all
  std::string prefix;
  std::int64_t start_ms = 0;
  std::int64_t end_ms = std::numeric_limits<std::int64_t>::max();
  std::uint64_t limit = 10'000;

  bool has_stream(const std::string& name) const {
    return name.starts_with(prefix) && (streams.empty() || streams.contains(name));
  }
};

}  // namespace

class FilterWalk : public std::enable_shared_from_this<FilterWalk> {
 public:
  FilterWalk(LogsApi& api, Asker asker, WalkWish wish, AwsApi::Answered answered)
      : api_(api), asker_(std::move(asker)), wish_(std::move(wish)), answered_(std::move(answered)) {}

  void begin(const std::optional<WalkPosition>& from) {
    find_jobs();
    if (from) {
      const auto named = [&](const JobView& it) { return it.job.uuid.text() == from->task.job; };
      job_ = static_cast<std::size_t>(std::ranges::find_if(jobs_, named) - jobs_.begin());
      phase_ = from->phase;
      from_ = *from;
      // It may have ended since, and is gone on with all the same.
      if (phase_ == WalkPhase::running && job_ < jobs_.size()) tasks_.push_back(from->task);
    }
    go_on();
  }

 private:
  const Job& job() const { return jobs_[job_].job; }

  // Jobs that were there at the time asked for, the oldest first.
  void find_jobs() {
    JobFilter filter{.limit = 1000};
    while (jobs_.size() < kMostWalkedJobs) {
      std::vector<JobView> some = api_.backend().list_jobs(filter);
      if (some.empty()) break;
      filter.before = some.back().job.id;
      for (JobView& it : some) {
        const bool is_over_before = it.job.ended() && it.job.ended_ms < wish_.start_ms;
        if (it.job.created_ms < wish_.end_ms && !is_over_before) jobs_.push_back(std::move(it));
      }
    }
    std::ranges::reverse(jobs_);
  }

  void go_on() {
    while (!stop_) {
      if (tasks_.empty()) {
        if (job_ >= jobs_.size()) break;
        if (auto found = find_tasks(); !found) return answered_(std::unexpected(api_.fault(found.error())));
        continue;
      }
      if (++logs_ > kMostLogs) {
        stop_ = WalkPosition{phase_, tasks_.front(), 0};
        break;
      }
      const TaskName task = std::move(tasks_.front());
      tasks_.pop_front();
      return read(task);
    }
    finish();
  }

  // The next tasks of this job and phase; none are left: the next phase, or the next job.
  Result<void> find_tasks() {
    if (phase_ == WalkPhase::ended && !is_done_) {
      const TaskName begin = std::exchange(from_.task, {});
      is_done_ = true;
      return api_.backend().ledger().each_attempt(job().id, begin.item, [&](const Attempt& it) {
        if (it.item == begin.item && it.attempt < begin.attempt) return true;
        if (it.started_ms >= wish_.end_ms || it.ended_ms < wish_.start_ms) return true;
        if (wish_.has_stream(log_stream(job(), it.item, it.attempt.value))) {
          tasks_.push_back({job().uuid.text(), it.item, it.attempt});
        }
        return tasks_.size() <= kMostLogs;
      });
    }
    if (phase_ == WalkPhase::ended) {
      phase_ = WalkPhase::running;
      return find_running(ItemIndex{0});
    }
    if (from_.phase == WalkPhase::running) {
      return find_running(ItemIndex{std::exchange(from_, {}).task.item.value + 1});
    }
    phase_ = WalkPhase::ended;
    is_done_ = false;
    ++job_;
    return {};
  }

  Result<void> find_running(ItemIndex from) {
    if (job().ended() || jobs_[job_].in_hands == 0) return {};
    auto items = api_.backend().items(job(), {.from = from, .limit = kMostRunning, .state = "running"});
    if (!items) return pass(items);
    for (const ItemView& it : *items) {
      auto before = api_.backend().attempts(job().id, it.item);
      if (!before) return pass(before);
      const AttemptNumber attempt{static_cast<std::uint32_t>(before->size() + 1)};
      if (wish_.has_stream(log_stream(job(), it.item, attempt.value))) {
        tasks_.push_back({job().uuid.text(), it.item, attempt});
      }
    }
    return {};
  }

  void read(const TaskName& task) {
    auto lines = std::make_shared<LogLines>();
    const std::uint64_t first = std::exchange(from_.line, 0);
    const std::string stream = log_stream(job(), task.item, task.attempt.value);
    api_.read_attempt(
        asker_, jobs_[job_], task,
        [self = shared_from_this(), lines, first, task, stream](std::string_view piece) {
          lines->add(piece, [&](LogLine line) {
            if (line.number >= first) self->take(task, stream, std::move(line));
          });
        },
        [self = shared_from_this()](const std::expected<void, Fault>& done) {
          // One that went meanwhile is passed over.
          if (!done && done.error().status >= 500) return self->answered_(std::unexpected(done.error()));
          self->api_.backend().later(self->asker_.holder, [self] { self->go_on(); });
        });
  }

  void take(const TaskName& task, const std::string& stream, LogLine line) {
    if (stop_ || line.time_ms < wish_.start_ms || line.time_ms >= wish_.end_ms) return;
    if (!wish_.pattern.matches(line.text)) return;
    if (events_.size() == wish_.limit || (!events_.empty() && bytes_ + line.text.size() > kMostPageBytes)) {
      stop_ = WalkPosition{phase_, task, line.number};
      return;
    }
    bytes_ += line.text.size();
    events_.push_back(
        {line.time_ms,
         {{"logStreamName", stream},
          {"timestamp", line.time_ms},
          {"message", line.text},
          {"ingestionTime", line.time_ms},
          {"eventId", concat(task.job, ".", task.item.value, ".", task.attempt.value, ".", line.number)}}});
  }

  void finish() {
    std::ranges::stable_sort(events_, {}, &Shown::time_ms);
    json::array events;
    for (Shown& it : events_) events.push_back(std::move(it.event));
    json::object out{{"events", std::move(events)}, {"searchedLogStreams", json::array()}};
    if (stop_) out["nextToken"] = stop_->text();
    answered_(std::move(out));
  }

  struct Shown {
    std::int64_t time_ms = 0;
    json::object event;
  };

  LogsApi& api_;
  const Asker asker_;
  const WalkWish wish_;
  AwsApi::Answered answered_;
  std::vector<JobView> jobs_;
  std::size_t job_ = 0;
  WalkPhase phase_ = WalkPhase::ended;
  bool is_done_ = false;        // with the attempts of this job that have ended
  WalkPosition from_;           // where the walk begins; empty as soon as it has
  std::deque<TaskName> tasks_;  // of this job and phase, not read yet
  std::size_t logs_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Shown> events_;
  std::optional<WalkPosition> stop_;
};

void LogsApi::filter_events(const Call& call, Answered answered) {
  const auto bad = [&](std::string message) { answered(failed("InvalidParameterException", std::move(message))); };
  WalkWish wish;
  if (const json::value* it = call.input.if_contains("filterPattern")) {
    auto pattern = FilterPattern::parse(it->get_string());
    if (!pattern) return bad(pattern.error().message);
    wish.pattern = std::move(*pattern);
  }
  if (const json::value* it = call.input.if_contains("startTime")) wish.start_ms = it->get_int64();
  if (const json::value* it = call.input.if_contains("endTime")) wish.end_ms = it->get_int64() + 1;
  if (const json::value* it = call.input.if_contains("limit")) wish.limit = static_cast<std::uint64_t>(it->get_int64());
  if (const json::value* it = call.input.if_contains("logStreamNamePrefix")) wish.prefix = it->get_string();
  if (const json::value* it = call.input.if_contains("logStreamNames")) {
    if (!wish.prefix.empty()) return bad("logStreamNames and logStreamNamePrefix exclude each other");
    for (const json::value& name : it->get_array()) wish.streams.emplace(name.get_string());
  }
  std::optional<WalkPosition> from;
  if (const json::value* it = call.input.if_contains("nextToken")) {
    from = WalkPosition::parse(it->get_string());
    if (!from) return bad("The specified nextToken is invalid.");
  }
  auto group = group_of(call);
  if (!group) return answered(std::unexpected(std::move(group.error())));
  if (group->name != kBatchLogGroup) {
    return answered(json::object{{"events", json::array()}, {"searchedLogStreams", json::array()}});
  }
  std::make_shared<FilterWalk>(*this, call.asker, std::move(wish), std::move(answered))->begin(from);
}

}  // namespace drover::aws
