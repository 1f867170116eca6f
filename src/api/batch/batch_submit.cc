#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "api/batch/batch.h"
#include "api/batch/job_view.h"
#include "wire/submission.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

/// Whole jobs, items of arrays, or one item after the other.
std::expected<void, Fault> add_dependencies(const json::object& input, json::object& job) {
  const json::value* all = input.if_contains("dependsOn");
  if (all == nullptr) return {};
  json::array after;
  for (const json::value& it : all->get_array()) {
    const json::value* id = it.get_object().if_contains("jobId");
    const json::value* type = it.get_object().if_contains("type");
    if (type != nullptr && type->get_string() == "SEQUENTIAL") {
      if (id != nullptr) return client_error("dependsOn of type SEQUENTIAL must not have a jobId");
      job["sequential"] = true;
      continue;
    }
    if (id == nullptr) return client_error("dependsOn must have a jobId, or be of type SEQUENTIAL");
    const auto known = parse_job_id(id->get_string());
    if (!known || known->child)
      return client_error(concat("dependsOn: ", std::string_view(id->get_string()), " is not a job's id"));
    after.push_back(json::object{{"job", known->uuid}, {"each", type != nullptr}});
  }
  if (!after.empty()) job["after"] = std::move(after);
  return {};
}

}  // namespace

void BatchApi::serve_submit() {
  on("SubmitJob", Action::submit, [this](const Call& call, Answered answered) { submit(call, std::move(answered)); });
}

// The definition with what the submission says over it, in the words of AWS; then as one job of ours.
BatchApi::Found<Submission> BatchApi::submission_of(const Call& call) const {
  for (const auto& [member, why] : {std::pair("nodeOverrides", "is not supported: a job runs on one machine"),
                                    std::pair("eksPropertiesOverride", "is not supported: jobs do not run on EKS")}) {
    if (call.input.contains(member)) return client_error(concat(member, " ", why));
  }
  auto named = find_definition(std::string(call.input.at("jobDefinition").get_string()));
  if (!named) return std::unexpected(std::move(named.error()));
  if (!named->active) return client_error(concat("JobDefinition ", named->name, ":", named->revision, " is INACTIVE"));
  auto text = backend().definition(named->definition);
  if (!text) return std::unexpected(fault(text.error()));
  auto document = job_document(*text);
  if (!document) return std::unexpected(fault(document.error()));
  auto base = submission_from(*document, {.command = false, .items = false});
  if (!base) return std::unexpected(fault(base.error()));
  if (base->definition.aws_batch.empty()) {
    return client_error(
        concat("JobDefinition ", named->name, ":", named->revision,
               " was registered with drover, and can say more than AWS Batch knows; submit it with drover"));
  }
  JobProperties properties = with_overrides(properties_of(base->definition, *base), call.input);
  if (auto good = check_properties(properties); !good) return std::unexpected(std::move(good.error()));
  auto job = native_job(properties);
  if (!job) return std::unexpected(std::move(job.error()));
  if (!job->contains("role")) {
    auto role = instance_role(name_in(call.input.at("jobQueue").get_string()));
    if (!role) return std::unexpected(std::move(role.error()));
    if (!role->empty()) (*job)["role"] = *role;
  }
  // The definition's tags are its own.
  properties.erase("tags");
  for (const char* member : {"tags", "dependsOn"}) {
    if (const json::value* it = call.input.if_contains(member)) properties[member] = *it;
  }
  (*job)["aws_batch"] = json::serialize(properties);
  (*job)["name"] = call.input.at("jobName");
  (*job)["queue"] = name_in(call.input.at("jobQueue").get_string());
  if (auto taken = take_share(call, *job); !taken) return std::unexpected(std::move(taken.error()));
  if (auto added = add_dependencies(call.input, *job); !added) return std::unexpected(std::move(added.error()));
  const json::value* array = call.input.if_contains("arrayProperties");
  const json::value* size = array == nullptr ? nullptr : array->get_object().if_contains("size");
  (*job)["range"] = json::array{0, size == nullptr ? 0 : size->get_int64() - 1};
  auto whole = job_document(json::serialize(*job));
  if (!whole) return std::unexpected(fault(whole.error()));
  auto out = submission_from(*whole, {.command = false});
  if (!out) return std::unexpected(fault(out.error()));
  out->spot.on_demand_after_losses = 0;  // AWS knows no such rule
  out->named_definition = concat(named->name, ":", named->revision);
  return std::move(*out);
}

// Jobs of a fair queue have a share, and no others.
std::expected<void, Fault> BatchApi::take_share(const Call& call, json::object& job) const {
  const json::value* share = call.input.if_contains("shareIdentifier");
  auto queue = find_queue(name_in(call.input.at("jobQueue").get_string()));
  if (!queue) return std::unexpected(std::move(queue.error()));
  const bool is_fair = *queue && (*queue)->order == QueueOrder::fair;
  if (is_fair && share == nullptr)
    return client_error("shareIdentifier is required: the job queue has a scheduling policy");
  if (*queue && !is_fair && share != nullptr) {
    return client_error("shareIdentifier must not be given: the job queue has no scheduling policy");
  }
  if (share != nullptr) job["share"] = *share;
  return {};
}

// That of the machines of the queue's first environment: a job without a role of its own has theirs.
BatchApi::Found<std::string> BatchApi::instance_role(const std::string& queue) const {
  auto known = find_queue(queue);
  if (!known) return std::unexpected(std::move(known.error()));
  if (!*known || (*known)->fleets.empty()) return std::string();
  auto environment = environments().find((*known)->fleets.front());
  if (!environment) return std::unexpected(fault(environment.error()));
  const json::value* resources = *environment ? (*environment)->value.if_contains("computeResources") : nullptr;
  const json::value* profile = resources == nullptr ? nullptr : resources->get_object().if_contains("instanceRole");
  if (profile == nullptr) return std::string();
  auto stored = Documents(backend().ledger(), "iam.profile").find(role_name_in(profile->get_string()));
  if (!stored) return std::unexpected(fault(stored.error()));
  if (!*stored || (*stored)->value.at("roles").get_array().empty()) return std::string();
  return std::string((*stored)->value.at("roles").get_array().front().get_string());
}

void BatchApi::submit(const Call& call, Answered answered) {
  if (!is_batch_name(call.input.at("jobName").get_string())) {
    return answered(client_error("jobName must have letters, digits, '-' and '_', and begin with a letter or digit"));
  }
  auto submission = submission_of(call);
  if (!submission) return answered(std::unexpected(std::move(submission.error())));
  submitter_.submit(
      std::move(*submission), call.asker.holder, call.asker.owner(),
      [this, region = call.region,
       answered = std::make_shared<Answered>(std::move(answered))](const Result<SubmittedJob>& job) {
        if (!job) return (*answered)(std::unexpected(fault(job.error())));
        const std::string id = job->uuid.text();
        (*answered)(json::object{
            {"jobArn", account().arn("batch", region, concat("job/", id))}, {"jobName", job->name}, {"jobId", id}});
      });
}

}  // namespace drover::aws
