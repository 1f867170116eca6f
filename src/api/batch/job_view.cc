#include "api/batch/job_view.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

drover::Outcome outcome_of(const Attempt& attempt) {
  return {.ending = attempt.ending,
          .exit_code = attempt.exit_code.value_or(0),
          .signal = attempt.signal.value_or(0),
          .reason = attempt.reason};
}

}  // namespace

std::optional<BatchJobId> parse_job_id(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto uuid = Uuid::parse(text.substr(0, colon));
  if (!uuid) return std::nullopt;
  BatchJobId out{uuid->text(), std::nullopt};
  if (colon != std::string_view::npos) {
    const auto index = parse_number(text.substr(colon + 1));
    if (!index) return std::nullopt;
    out.child = ItemIndex{*index};
  }
  // There is no second spelling: policies name jobs by their ids.
  if (text != (out.child ? concat(out.uuid, ":", out.child->value) : out.uuid)) return std::nullopt;
  return out;
}

// An array is pending until it has ended.
std::string_view status_of(const JobView& view) {
  const Job& job = view.job;
  if (job.state == JobState::succeeded) return "SUCCEEDED";
  if (job.ended()) return "FAILED";
  if (job.state == JobState::pending || is_array(job)) return "PENDING";
  if (view.counts.running > 0) return "RUNNING";
  return view.in_hands > 0 ? "STARTING" : "RUNNABLE";
}

std::string_view status_of(const Job& job, std::string_view state) {
  if (state == "succeeded") return "SUCCEEDED";
  if (state == "failed" || state == "cancelled") return "FAILED";
  if (state == "running") return "RUNNING";
  return job.state == JobState::pending ? "PENDING" : "RUNNABLE";
}

json::object status_summary(const JobView& view) {
  const ItemCounts& counts = view.counts;
  const std::uint64_t starting = view.in_hands > counts.running ? view.in_hands - counts.running : 0;
  const std::uint64_t waiting = counts.pending + counts.waiting;
  const std::uint64_t left = waiting > starting ? waiting - starting : 0;
  const bool is_pending = view.job.state == JobState::pending;
  return {{"SUBMITTED", 0},
          {"PENDING", is_pending ? left : 0},
          {"RUNNABLE", is_pending ? 0 : left},
          {"STARTING", starting},
          {"RUNNING", counts.running},
          {"SUCCEEDED", counts.succeeded},
          {"FAILED", counts.failed + counts.cancelled}};
}

Result<JobProperties> stored_properties(std::string_view definition, const JobSpec& spec) {
  json::error_code error;
  const json::value whole = json::parse(definition, error);
  const json::value* said = !error && whole.is_object() ? whole.get_object().if_contains("aws_batch") : nullptr;
  if (said != nullptr && said->is_string()) {
    json::value properties = json::parse(said->get_string(), error);
    if (!error && properties.is_object()) return std::move(properties.get_object());
  }
  auto read = definition_from_json(definition);
  if (!read) return pass(read);
  return properties_of(*read, spec);
}

JobProperties properties_of(const Definition& definition, const JobSpec& spec) {
  json::error_code error;
  json::value said = json::parse(definition.aws_batch.empty() ? "null" : definition.aws_batch, error);
  if (!error && said.is_object()) return std::move(said.get_object());
  json::array command;
  for (const std::string& it : definition.command) command.emplace_back(utf8(it));
  json::array environment;
  for (const auto& [name, value] : definition.environment) {
    environment.push_back(json::object{{"name", utf8(name)}, {"value", utf8(value)}});
  }
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  const Resources ask = ask_of(definition.limits);
  json::array resources{json::object{{"type", "VCPU"}, {"value", concat((ask.milli_cpus + 999) / 1000)}},
                        json::object{{"type", "MEMORY"}, {"value", concat(ask.memory_bytes / kMib)}}};
  if (spec.ask.accelerators[0] > 0) {
    resources.push_back(json::object{{"type", "GPU"}, {"value", concat(spec.ask.accelerators[0])}});
  }
  json::object out{
      {"type", "container"},
      {"containerProperties",
       json::object{{"image", definition.container ? definition.container->image : std::string(kNativeDefinition)},
                    {"command", std::move(command)},
                    {"environment", std::move(environment)},
                    {"resourceRequirements", std::move(resources)}}},
      {"retryStrategy", json::object{{"attempts", spec.policy.max_tries}}}};
  if (spec.policy.timeout_ms > 0) {
    out["timeout"] = json::object{{"attemptDurationSeconds", (spec.policy.timeout_ms + 999) / 1000}};
  }
  return out;
}

std::string status_reason(const Attempt& attempt) {
  if (attempt.ending == Ending::timed_out) return "Job attempt duration exceeded timeout";
  return exit_words(outcome_of(attempt)).status_reason;
}

json::object attempt_json(const Job& job, const Attempt& attempt) {
  const ExitWords words = exit_words(outcome_of(attempt));
  json::object container{{"logStreamName", log_stream(job, attempt.item, attempt.attempt.value)}};
  if (const auto code = parse_number(words.exit_code)) container["exitCode"] = *code;
  if (!attempt.reason.empty()) container["reason"] = utf8(attempt.reason);
  return {{"container", std::move(container)},
          {"startedAt", attempt.started_ms},
          {"stoppedAt", attempt.ended_ms},
          {"statusReason", status_reason(attempt)}};
}

}  // namespace drover::aws
