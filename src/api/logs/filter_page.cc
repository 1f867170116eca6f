// FilterLogEvents: a page of the events in the logs of many attempts. The work for a page is bounded by events, bytes,
// logs, rows of the ledger and time; a page that reaches a limit has a token to resume with, and may have no events.
#include <algorithm>
#include <chrono>
#include <limits>

#include "api/logs/filter_pattern.h"
#include "api/logs/log_lines.h"
#include "api/logs/log_walk.h"
#include "api/logs/logs.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostLogs = 500;                            // that are read for a page
constexpr std::uint64_t kMostRows = 200'000;                      // that are looked at for a page
constexpr std::uint64_t kMostPageBytes = std::uint64_t{1} << 20;  // of its messages
// A page ends between two logs after this time. The server waits some seconds for the log of an item that runs, so that
// a page takes a few seconds longer at most.
constexpr milliseconds kLongestPage{2'000};
// A log that takes longer than this is continued on the next page.
constexpr milliseconds kLongestLog{1'000};

struct FilterWish {
  FilterPattern pattern;
  WalkScope scope;
  std::uint64_t limit = 10'000;
};

/// A log, while it is read.
struct Reading {
  explicit Reading(WalkTask it)
      : task(std::move(it)),
        name{task.job->job.uuid.text(), task.item, task.attempt},
        stream(log_stream(task.job->job, task.item, task.attempt.value)),
        lines(task.line) {}

  const WalkTask task;
  const TaskName name;
  const std::string stream;
  LogLines lines;
  Clock::time_point since = Clock::time_point::max();  // when the first wanted line had come
};

}  // namespace

class FilterPage : public std::enable_shared_from_this<FilterPage> {
 public:
  FilterPage(LogsApi& api, Asker asker, FilterWish wish, const WalkPosition& from, AwsApi::Answered answered)
      : api_(api),
        asker_(std::move(asker)),
        pattern_(std::move(wish.pattern)),
        limit_(wish.limit),
        walk_(api.backend(), std::move(wish.scope), from),
        answered_(std::move(answered)) {}

  /// Each page reads a log or looks at some rows, however late it is: a client that follows the tokens gets to the end.
  void go_on() {
    if (stop_ || walk_.is_over()) return finish();
    const bool has_read_enough = logs_ >= kMostLogs || Clock::now() - begun_ >= kLongestPage;
    if (walk_.has_task()) {
      if (logs_ > 0 && has_read_enough) return stop_here();
      return read();
    }
    if (walk_.looked_at() > 0 && (has_read_enough || walk_.looked_at() >= kMostRows)) return stop_here();
    if (auto looked = walk_.look(); !looked) return answered_(std::unexpected(api_.fault(looked.error())));
    go_on_later();
  }

 private:
  // Others that wait for the disk have their turn in between.
  void go_on_later() {
    api_.backend().later(asker_.holder, [self = shared_from_this()] { self->go_on(); });
  }

  void stop_here() {
    stop_ = walk_.position();
    finish();
  }

  void read() {
    ++logs_;
    auto reading = std::make_shared<Reading>(walk_.take());
    api_.read_attempt(
        asker_, *reading->task.job, reading->name,
        [self = shared_from_this(), reading](std::string_view piece) { return self->take(*reading, piece); },
        [self = shared_from_this(), reading](const std::expected<void, Fault>& done) {
          // A log that was removed meanwhile is passed over. One that cannot be read does not hide those behind it.
          if (!done && done.error().status > 500) return self->answered_(std::unexpected(done.error()));
          if (!done && done.error().status == 500) self->show_damage(*reading, done.error());
          self->go_on_later();
        });
  }

  /// False: the rest of the log is not needed for this page.
  bool take(Reading& it, std::string_view piece) {
    if (stop_) return false;
    it.lines.add(piece, [&](LogLine line) { return take(it, std::move(line)); });
    if (stop_) return false;
    if (it.lines.passed() <= it.task.line) return true;
    const auto now = Clock::now();
    it.since = std::min(it.since, now);
    if (now - it.since >= kLongestLog) stop_at(it, it.lines.passed());
    return !stop_;
  }

  bool take(const Reading& it, LogLine line) {
    const bool is_wanted = scope_has(line.time_ms) && pattern_.matches(line.text);
    if (!is_wanted) return true;
    if (!events_.empty() && bytes_ + line.text.size() > kMostPageBytes) {
      stop_at(it, line.number);
      return false;
    }
    bytes_ += line.text.size();
    const std::string id = concat(it.name.job, ".", it.name.item.value, ".", it.name.attempt.value, ".", line.number);
    events_.push_back({line.time_ms,
                       {{"logStreamName", it.stream},
                        {"timestamp", line.time_ms},
                        {"message", line.text},
                        {"ingestionTime", line.time_ms},
                        {"eventId", id}}});
    if (events_.size() == limit_) stop_at(it, line.number + 1);
    return !stop_;
  }

  void show_damage(const Reading& it, const Fault& why) {
    events_.push_back({it.task.job->job.created_ms,
                       {{"logStreamName", it.stream},
                        {"timestamp", it.task.job->job.created_ms},
                        {"message", concat("[drover: the rest of the log cannot be read: ", why.message, "]")},
                        {"ingestionTime", it.task.job->job.created_ms},
                        {"eventId", concat(it.name.job, ".", it.name.item.value, ".", it.name.attempt.value)}}});
  }

  bool scope_has(std::int64_t time_ms) const { return walk_.scope().has_time(time_ms, time_ms); }

  void stop_at(const Reading& it, std::uint64_t line) {
    stop_ = it.task.position();
    stop_->line = line;
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
  const FilterPattern pattern_;
  const std::uint64_t limit_;
  LogWalk walk_;
  AwsApi::Answered answered_;
  const Clock::time_point begun_ = Clock::now();
  std::size_t logs_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Shown> events_;
  std::optional<WalkPosition> stop_;  // where the next page begins
};

void LogsApi::filter_events(const Call& call, Answered answered) {
  const auto bad = [&](std::string message) { answered(failed("InvalidParameterException", std::move(message))); };
  FilterWish wish;
  WalkScope& scope = wish.scope;
  if (const json::value* it = call.input.if_contains("filterPattern")) {
    auto pattern = FilterPattern::parse(it->get_string());
    if (!pattern) return bad(pattern.error().message);
    wish.pattern = std::move(*pattern);
  }
  if (const json::value* it = call.input.if_contains("startTime")) scope.start_ms = it->get_int64();
  if (const json::value* it = call.input.if_contains("endTime")) {
    scope.end_ms = std::min(it->get_int64(), std::numeric_limits<std::int64_t>::max() - 1) + 1;
  }
  if (const json::value* it = call.input.if_contains("limit")) wish.limit = static_cast<std::uint64_t>(it->get_int64());
  if (const json::value* it = call.input.if_contains("logStreamNamePrefix")) scope.prefix = it->get_string();
  if (const json::value* it = call.input.if_contains("logStreamNames")) {
    if (!scope.prefix.empty()) return bad("logStreamNames and logStreamNamePrefix exclude each other");
    for (const json::value& name : it->get_array()) scope.streams.emplace(name.get_string());
  }
  WalkPosition from;
  if (const json::value* it = call.input.if_contains("nextToken")) {
    const auto said = WalkPosition::parse(it->get_string());
    const auto job = said ? backend().find_job(said->job) : std::nullopt;
    // Of a job that was removed, nothing can be checked.
    const bool is_beyond = said && job && said->item.value > 0 && said->item.value >= job->total;
    if (!said || is_beyond) return bad("The specified nextToken is invalid.");
    from = *said;
  }
  auto group = group_of(call);
  if (!group) return answered(std::unexpected(std::move(group.error())));
  if (group->name != kBatchLogGroup) {
    return answered(json::object{{"events", json::array()}, {"searchedLogStreams", json::array()}});
  }
  std::make_shared<FilterPage>(*this, call.asker, std::move(wish), from, std::move(answered))->go_on();
}

}  // namespace drover::aws
