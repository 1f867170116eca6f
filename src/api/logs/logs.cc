#include "api/logs/logs.h"

#include <boost/json/array.hpp>
#include <mutex>
#include <utility>

#include "base/units.h"

extern "C" const char drover_logs_operations_begin[];
extern "C" const char drover_logs_operations_end[];

namespace drover::aws {

namespace json = boost::json;

namespace {

std::unexpected<Fault> no_such(std::string_view what) {
  return failed("ResourceNotFoundException", concat("The specified log ", what, " does not exist."));
}

/// What a running item has printed, until it says that this is all by now.
class PageStream : public HttpStream {
 public:
  PageStream(const LogPage::Wanted& wanted, AwsApi::Answered answered)
      : page_(wanted), answered_(std::move(answered)) {}

  bool write(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    page_.add(bytes);
    return true;
  }
  std::size_t unsent() const override { return 0; }
  void when_unsent_below(std::size_t /*bytes*/, std::function<void()> call) override { call(); }
  void end() override {
    const std::lock_guard lock(mutex_);
    if (auto answered = std::exchange(answered_, nullptr)) answered(page_.finish());
  }
  /// It was refused: somebody else answers.
  AwsApi::Answered take_back() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answered_, nullptr);
  }

 private:
  std::mutex mutex_;  // guards all below
  LogPage page_;
  AwsApi::Answered answered_;
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

LogsApi::LogsApi(Backend& backend, const Account& account)
    : AwsApi(backend,
             {.service = "logs",
              .protocol = Protocol::json,
              .bad_input = "InvalidParameterException",
              .target = "Logs_20140328."},
             {drover_logs_operations_begin, drover_logs_operations_end}),
      account_(account) {
  on("GetLogEvents", Action::read,
     [this](const Call& call, Answered answered) { get_events(call, std::move(answered)); });
  on_read("DescribeLogGroups", Action::read, [this](const Call& call) { return describe_groups(call); });
  on_read("DescribeLogStreams", Action::read, [this](const Call& call) { return describe_streams(call); });
}

void LogsApi::get_events(const Call& call, Answered answered) {
  if (call.input.at("logGroupName").get_string() != kBatchLogGroup) return answered(no_such("group"));
  const std::string name(call.input.at("logStreamName").get_string());
  const auto task = parse_log_stream(name);
  const auto view = task ? backend().find_job(task->job) : fail(ErrorCode::not_found, {});
  if (!view || task->item.value >= view->job.total || log_stream(view->job, task->item, task->attempt.value) != name) {
    return answered(no_such("stream"));
  }
  auto wanted = page_wanted(call.input);
  if (!wanted) return answered(std::unexpected(std::move(wanted.error())));
  auto attempts = backend().attempts(view->job.id, task->item);
  if (!attempts) return answered(std::unexpected(fault(attempts.error())));
  const LogQuestion question{.job = view->job.id,
                             .item = task->item,
                             .attempt = task->attempt,
                             .form = LogForm::json,
                             .holder = call.asker.holder,
                             .may_still = call.asker.is_valid};
  const bool is_over = std::ranges::any_of(*attempts, [&](const Attempt& it) { return it.attempt == task->attempt; });
  if (!is_over) {
    // It runs, or has not been started: then there is no stream yet.
    const bool may_run = task->attempt.value == attempts->size() + 1 && !view->job.ended() && view->in_hands > 0;
    if (!may_run) return answered(no_such("stream"));
    auto stream = std::make_shared<PageStream>(*wanted, std::move(answered));
    auto begun = backend().log_of_running(question, [&] { return stream; });
    if (!begun) stream->take_back()(std::unexpected(fault(begun.error())));
    return;
  }
  auto source = backend().log(question, *attempts);
  if (!source) return answered(std::unexpected(fault(source.error())));
  LogPage page(*wanted);
  while (true) {
    auto piece = (*source)->next();
    if (!piece) return answered(std::unexpected(fault(piece.error())));
    if (piece->empty()) break;
    page.add(*piece);
  }
  answered(page.finish());
}

Outcome LogsApi::describe_groups(const Call& call) {
  const json::value* prefix = call.input.if_contains("logGroupNamePrefix");
  json::array groups;
  if (prefix == nullptr || kBatchLogGroup.starts_with(std::string_view(prefix->get_string()))) {
    groups.push_back(
        json::object{{"logGroupName", kBatchLogGroup},
                     {"creationTime", 0},
                     {"arn", account_.arn("logs", call.region, concat("log-group:", kBatchLogGroup, ":*"))}});
  }
  return json::object{{"logGroups", std::move(groups)}};
}

json::object LogsApi::stream_json(const Call& call, const Job& job, const Attempt& attempt) const {
  const std::string name = log_stream(job, attempt.item, attempt.attempt.value);
  return {{"logStreamName", name},
          {"creationTime", attempt.started_ms},
          {"firstEventTimestamp", attempt.started_ms},
          {"lastEventTimestamp", attempt.ended_ms},
          {"lastIngestionTime", attempt.ended_ms},
          {"arn", account_.arn("logs", call.region, concat("log-group:", kBatchLogGroup, ":log-stream:", name))},
          {"storedBytes", attempt.log.bytes}};
}

// Streams of attempts that have ended, those of the newest jobs first. The token names the attempt to go on with.
Outcome LogsApi::describe_streams(const Call& call) {
  if (call.input.at("logGroupName").get_string() != kBatchLogGroup) return no_such("group");
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

}  // namespace drover::aws
