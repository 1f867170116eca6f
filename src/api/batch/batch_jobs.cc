#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "api/batch/job_view.h"
#include "base/utf8.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

/// The members of a definition's container that a job's has too; an array's parent has no more than these.
json::object container_json(const JobProperties& properties) {
  const json::value* said = properties.if_contains("containerProperties");
  return said == nullptr ? json::object() : said->get_object();
}

void add_last_attempt(const Job& job, const std::vector<Attempt>& attempts, json::object& container) {
  if (attempts.empty()) return;
  const json::object last = attempt_json(job, attempts.back());
  for (const auto& [member, value] : last.at("container").get_object()) container[member] = value;
}

}  // namespace

void BatchApi::serve_jobs() {
  on_read("DescribeJobs", Action::read, [this](const Call& call) { return describe_jobs(call); });
  on("CancelJob", Action::change_job,
     [this](const Call& call, Answered answered) { cancel(call, std::move(answered)); });
  on("TerminateJob", Action::change_job,
     [this](const Call& call, Answered answered) { stop(call, false, std::move(answered)); });
}

// By its whole id; nothing: there is no such job.
std::optional<JobView> BatchApi::find_job(const BatchJobId& id) const {
  auto found = backend().find_job(id.uuid);
  // A job may be named like the id of another.
  if (!found || found->job.uuid.text() != id.uuid) return std::nullopt;
  if (id.child && (!is_array(found->job) || id.child->value >= found->job.total)) return std::nullopt;
  return std::move(*found);
}

BatchApi::Found<json::object> BatchApi::job_json(const Call& call, const BatchJobId& id, const JobView& view) const {
  const Job& job = view.job;
  auto text = backend().definition(job.definition);
  if (!text) return std::unexpected(fault(text.error()));
  auto stored = stored_properties(*text, job);
  if (!stored) return std::unexpected(fault(stored.error()));
  const JobProperties& properties = *stored;
  const std::string shown_id = id.child ? concat(id.uuid, ":", id.child->value) : id.uuid;
  const std::string named = job.named_definition.empty() ? concat(kNativeDefinition, ":1") : job.named_definition;
  json::object out{{"jobArn", account().arn("batch", call.region, concat("job/", shown_id))},
                   {"jobName", utf8(job.name)},
                   {"jobId", shown_id},
                   {"jobQueue", account().arn("batch", call.region, concat("job-queue/", job.place.queue))},
                   {"status", status_of(view)},
                   {"createdAt", job.created_ms},
                   {"jobDefinition", account().arn("batch", call.region, concat("job-definition/", named))}};
  for (const char* member : {"parameters", "retryStrategy", "timeout", "dependsOn", "tags", "propagateTags",
                             "platformCapabilities", "schedulingPriority"}) {
    if (const json::value* it = properties.if_contains(member)) out[member] = *it;
  }
  for (const char* member : {"parameters", "tags"}) {
    if (!out.contains(member)) out[member] = json::object();
  }
  if (!out.contains("dependsOn")) out["dependsOn"] = json::array();
  if (!job.place.share.empty()) out["shareIdentifier"] = utf8(job.place.share);
  if (!job.reason.empty()) out["statusReason"] = utf8(job.reason);
  json::object container = container_json(properties);
  json::array shown_attempts;
  if (is_array(job) && !id.child) {
    out["arrayProperties"] = json::object{{"size", job.total}, {"statusSummary", status_summary(view)}};
    if (job.started_ms > 0) out["startedAt"] = job.started_ms;
    if (job.ended()) out["stoppedAt"] = job.ended_ms;
  } else {
    const ItemIndex index = id.child.value_or(ItemIndex{0});
    auto items = backend().items(job, {.from = index, .limit = 1, .state = {}});
    if (!items) return std::unexpected(fault(items.error()));
    auto attempts = backend().attempts(job.id, index);
    if (!attempts) return std::unexpected(fault(attempts.error()));
    if (!items->empty()) {
      const ItemView& item = items->front();
      if (id.child) {
        out["status"] = status_of(job, item.state);
        out["arrayProperties"] = json::object{{"index", index.value}};
      }
      if (item.since_ms > 0) out["startedAt"] = item.since_ms;
    }
    for (const Attempt& it : *attempts) shown_attempts.push_back(attempt_json(job, it));
    add_last_attempt(job, *attempts, container);
    const bool is_over = out.at("status") == "SUCCEEDED" || out.at("status") == "FAILED";
    if (is_over && !attempts->empty()) {
      out["startedAt"] = attempts->back().started_ms;
      out["stoppedAt"] = attempts->back().ended_ms;
      if (!out.contains("statusReason")) out["statusReason"] = status_reason(attempts->back());
    } else if (is_over) {
      out["stoppedAt"] = job.ended_ms;
    } else if (out.at("status") == "RUNNING") {
      container["logStreamName"] = log_stream(job, index, attempts->size() + 1);
    }
  }
  out["attempts"] = std::move(shown_attempts);
  out["container"] = std::move(container);
  if (auto shown = show_tags(concat("job/", shown_id), out); !shown) return std::unexpected(std::move(shown.error()));
  return out;
}

// Those that there are not are left out.
Outcome BatchApi::describe_jobs(const Call& call) {
  json::array out;
  for (const json::value& it : call.input.at("jobs").get_array()) {
    const auto id = parse_job_id(it.get_string());
    const auto view = id ? find_job(*id) : std::nullopt;
    if (!view) continue;
    auto shown = job_json(call, *id, *view);
    if (!shown) return std::unexpected(std::move(shown.error()));
    out.push_back(std::move(*shown));
  }
  return json::object{{"jobs", std::move(out)}};
}

// What has started goes on, and the answer is the same.
void BatchApi::cancel(const Call& call, Answered answered) {
  const auto id = parse_job_id(call.input.at("jobId").get_string());
  const auto view = id ? find_job(*id) : std::nullopt;
  if (view && view->in_hands > 0 && !is_array(view->job)) return answered(json::object());
  stop(call, true, std::move(answered));
}

void BatchApi::stop(const Call& call, bool spares_running, Answered answered) {
  const auto id = parse_job_id(call.input.at("jobId").get_string());
  const auto view = id ? find_job(*id) : std::nullopt;
  // AWS says yes to any id that could be one.
  if (!view) return answered(id ? Outcome(json::object()) : client_error("jobId is not the id of a job"));
  if (id->child) {
    return answered(client_error("a child of an array cannot be cancelled or terminated alone; name the array"));
  }
  if (view->job.ended()) return answered(json::object());
  backend().post(CancelJob{view->job.id, std::string(call.input.at("reason").get_string()), spares_running},
                 [this, answered = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
                   if (!effect) return (*answered)(std::unexpected(fault(effect.error())));
                   (*answered)(json::object());
                 });
}

}  // namespace drover::aws
