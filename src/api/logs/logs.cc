#include "api/logs/logs.h"

#include <boost/json/array.hpp>
#include <mutex>
#include <utility>

#include "api/aws/page.h"
#include "base/units.h"

extern "C" const char drover_logs_operations_begin[];
extern "C" const char drover_logs_operations_end[];

namespace drover::aws {

namespace json = boost::json;

namespace {

/// What a running item has printed, until it says that this is all by now.
class AttemptStream : public HttpStream {
 public:
  using Done = std::move_only_function<void(std::expected<void, Fault>)>;
  AttemptStream(std::function<bool(std::string_view)> take, Done done)
      : take_(std::move(take)), done_(std::move(done)) {}

  bool write(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    return take_(bytes);
  }
  std::size_t unsent() const override { return 0; }
  void when_unsent_below(std::size_t /*bytes*/, std::function<void()> call) override { call(); }
  void end() override {
    if (auto done = take_back()) done({});
  }
  /// It was refused: somebody else says so.
  Done take_back() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, nullptr);
  }

 private:
  std::mutex mutex_;  // guards all below
  const std::function<bool(std::string_view)> take_;
  Done done_;
};

std::expected<LogPage::Wanted, Fault> page_wanted(const json::object& input) {
  LogPage::Wanted out;
  if (const json::value* it = input.if_contains("limit")) out.limit = static_cast<std::uint64_t>(it->get_int64());
  if (const json::value* it = input.if_contains("startTime")) out.start_ms = it->get_int64();
  if (const json::value* it = input.if_contains("endTime")) out.end_ms = it->get_int64();
  const json::value* head = input.if_contains("startFromHead");
  out.is_forward = head != nullptr && head->get_bool();
  const json::value* token = input.if_contains("nextToken");
  if (token == nullptr) return out;
  const std::string_view text = token->get_string();
  const auto number = text.size() > 2 ? parse_number(text.substr(2)) : fail(ErrorCode::bad_input, {});
  if (!number || (!text.starts_with("f/") && !text.starts_with("b/"))) {
    return failed("InvalidParameterException", "The specified nextToken is invalid.");
  }
  out.is_forward = text.starts_with("f/");
  (out.is_forward ? out.from : out.until) = *number;
  return out;
}

}  // namespace

std::unexpected<Fault> no_such_log(std::string_view what) {
  return failed("ResourceNotFoundException", concat("The specified log ", what, " does not exist."));
}

LogsApi::LogsApi(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "logs",
              .protocol = Protocol::json,
              .bad_input = "InvalidParameterException",
              .target = "Logs_20140328."},
             {drover_logs_operations_begin, drover_logs_operations_end}),
      now_ms_(std::move(now_ms)) {
  on("GetLogEvents", Action::read,
     [this](const Call& call, Answered answered) { get_events(call, std::move(answered)); });
  on("FilterLogEvents", Action::read,
     [this](const Call& call, Answered answered) { filter_events(call, std::move(answered)); });
  serve_groups();
  on_read("DescribeLogStreams", Action::read, [this](const Call& call) { return describe_streams(call); });
}

// Operations on a group are checked as AWS does, with the ARN of a stream without a name: policies write
// "log-group:NAME:*". That of DescribeLogGroups has no group's name either. Those that take an ARN are about that.
std::vector<std::string> LogsApi::resources(const Call& call) const {
  const auto text_of = [&](std::string_view member) {
    const json::value* it = call.input.if_contains(member);
    return it == nullptr ? std::string() : std::string(it->get_string());
  };
  if (const std::string arn = text_of("resourceArn"); !arn.empty()) {
    return {account().arn("logs", call.region, concat("log-group:", group_in_arn(arn)))};
  }
  return {account().arn("logs", call.region,
                        concat("log-group:", text_of("logGroupName"), ":log-stream:", text_of("logStreamName")))};
}

void LogsApi::get_events(const Call& call, Answered answered) {
  const std::string name(call.input.at("logStreamName").get_string());
  auto wanted = page_wanted(call.input);
  if (!wanted) return answered(std::unexpected(std::move(wanted.error())));
  auto group = group_of(call);
  if (!group) return answered(std::unexpected(std::move(group.error())));
  auto page = std::make_shared<LogPage>(*wanted);
  if (group->name != kBatchLogGroup) {
    auto made = streams().find(concat(group->name, ":", name));
    if (!made) return answered(std::unexpected(fault(made.error())));
    if (!*made) return answered(no_such_log("stream"));
    return answered(page->finish());
  }
  const auto task = parse_log_stream(name);
  if (!task) return answered(no_such_log("stream"));
  const auto view = backend().find_job(task->job);
  if (!view || task->item.value >= view->job.total || log_stream(view->job, task->item, task->attempt.value) != name) {
    return answered(no_such_log("stream"));
  }
  read_attempt(
      call.asker, *view, *task, [page](std::string_view piece) { return page->add(piece); },
      [page, answered = std::move(answered)](const Found<void>& done) mutable {
        if (!done) return answered(std::unexpected(done.error()));
        answered(page->finish());
      });
}

void LogsApi::read_attempt(const Asker& asker, const JobView& view, const TaskName& task,
                           std::function<bool(std::string_view)> take,
                           std::move_only_function<void(Found<void>)> done) {
  auto attempts = backend().attempts(view.job.id, task.item);
  if (!attempts) return done(std::unexpected(fault(attempts.error())));
  const LogQuestion question{.job = view.job.id,
                             .item = task.item,
                             .attempt = task.attempt,
                             .whole_lines = true,
                             .form = LogForm::json,
                             .holder = asker.holder,
                             .may_still = asker.is_valid};
  const bool is_over = std::ranges::any_of(*attempts, [&](const Attempt& it) { return it.attempt == task.attempt; });
  if (!is_over) {
    // It runs, or has not been started: then there is no stream yet.
    const bool may_run = task.attempt.value == attempts->size() + 1 && !view.job.ended() && view.in_hands > 0;
    if (!may_run) return done(no_such_log("stream"));
    auto stream = std::make_shared<AttemptStream>(std::move(take), std::move(done));
    auto begun = backend().log_of_running(question, [&] { return stream; });
    if (!begun) stream->take_back()(std::unexpected(fault(begun.error())));
    return;
  }
  auto source = backend().log(question, *attempts);
  if (!source) return done(std::unexpected(fault(source.error())));
  while (true) {
    auto piece = (*source)->next();
    if (!piece) return done(std::unexpected(fault(piece.error())));
    if (piece->empty() || !take(*piece)) return done({});
  }
}

json::object LogsApi::stream_json(const Call& call, const Job& job, const Attempt& attempt) const {
  const std::string name = log_stream(job, attempt.item, attempt.attempt.value);
  return {{"logStreamName", name},
          {"creationTime", attempt.started_ms},
          {"firstEventTimestamp", attempt.started_ms},
          {"lastEventTimestamp", attempt.ended_ms},
          {"lastIngestionTime", attempt.ended_ms},
          {"arn", account().arn("logs", call.region, concat("log-group:", kBatchLogGroup, ":log-stream:", name))},
          {"storedBytes", attempt.log.bytes}};
}

// Streams of attempts that have ended, those of the newest jobs first. The token names the attempt to go on with.
Outcome LogsApi::describe_streams(const Call& call) {
  const std::string group(call.input.at("logGroupName").get_string());
  if (group != kBatchLogGroup) return describe_made_streams(call, group);
  if (call.input.contains("orderBy") || call.input.contains("descending")) return describe_sorted_streams(call);
  constexpr std::uint64_t kUsual = 50;
  constexpr std::uint64_t kMostJobs = 1000;
  const json::value* limit = call.input.if_contains("limit");
  const std::uint64_t most = limit == nullptr ? kUsual : static_cast<std::uint64_t>(limit->get_int64());
  const json::value* prefix = call.input.if_contains("logStreamNamePrefix");
  std::optional<TaskName> from;
  if (const json::value* token = call.input.if_contains("nextToken")) {
    from = parse_log_stream(token->get_string());
    if (!from) return failed("InvalidParameterException", "The specified nextToken is invalid.");
  }
  // A prefix that names a job needs no other.
  const auto named = prefix == nullptr ? std::nullopt : parse_log_stream(prefix->get_string());
  std::vector<JobView> jobs;
  if (named) {
    if (auto one = backend().find_job(named->job)) jobs.push_back(std::move(*one));
  } else {
    jobs = backend().list_jobs({.limit = kMostJobs});
  }
  json::array streams;
  json::object out;
  for (const JobView& view : jobs) {
    if (from && view.job.uuid.text() != from->job) continue;
    const auto begin = std::exchange(from, std::nullopt).value_or(TaskName{});
    auto read = backend().ledger().each_attempt(view.job.id, begin.item, [&](const Attempt& attempt) {
      if (attempt.item == begin.item && attempt.attempt < begin.attempt) return true;
      json::object it = stream_json(call, view.job, attempt);
      if (prefix != nullptr && !it.at("logStreamName").get_string().starts_with(prefix->get_string())) return true;
      if (streams.size() == most) {
        out["nextToken"] = concat(view.job.uuid.text(), ".", attempt.item.value, ".", attempt.attempt.value);
        return false;
      }
      streams.push_back(std::move(it));
      return true;
    });
    if (!read) return std::unexpected(fault(read.error()));
    if (out.contains("nextToken")) break;
  }
  out["logStreams"] = std::move(streams);
  return out;
}

// The newest streams there are, sorted as asked.
Outcome LogsApi::describe_sorted_streams(const Call& call) {
  constexpr std::size_t kMostSorted = 10'000;
  const json::value* order = call.input.if_contains("orderBy");
  const json::value* descending = call.input.if_contains("descending");
  const json::value* prefix = call.input.if_contains("logStreamNamePrefix");
  const bool is_by_time = order != nullptr && order->get_string() == "LastEventTime";
  if (is_by_time && prefix != nullptr) {
    return failed("InvalidParameterException", "Cannot order by LastEventTime with a logStreamNamePrefix.");
  }
  struct Listed {
    std::int64_t last_ms = 0;
    std::string name;
    json::object shown;
  };
  std::vector<Listed> all;
  for (const JobView& view : backend().list_jobs({.limit = 1000})) {
    if (all.size() >= kMostSorted) break;
    auto read = backend().ledger().each_attempt(view.job.id, ItemIndex{0}, [&](const Attempt& attempt) {
      std::string name = log_stream(view.job, attempt.item, attempt.attempt.value);
      if (prefix == nullptr || name.starts_with(std::string_view(prefix->get_string()))) {
        all.push_back({attempt.ended_ms, std::move(name), stream_json(call, view.job, attempt)});
      }
      return all.size() < kMostSorted;
    });
    if (!read) return std::unexpected(fault(read.error()));
  }
  std::ranges::sort(all, {}, [&](const Listed& it) {
    return std::pair(is_by_time ? it.last_ms : std::int64_t{0}, std::string_view(it.name));
  });
  if (descending != nullptr && descending->get_bool()) std::ranges::reverse(all);
  json::array streams;
  for (Listed& it : all) streams.push_back(std::move(it.shown));
  return page_of({"nextToken", "limit", "InvalidParameterException"}, call.input, "logStreams", std::move(streams));
}

}  // namespace drover::aws
