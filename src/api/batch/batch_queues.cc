#include <algorithm>
#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "api/batch/share_policy.h"
#include "api/registry_lookup.h"

namespace drover::aws {

namespace json = boost::json;

void BatchApi::serve_queues() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateJobQueue", admin, [this](const Call& call) { return create_queue(call); });
  on_edit("UpdateJobQueue", admin, [this](const Call& call) { return update_queue(call); });
  on_edit("DeleteJobQueue", admin, [this](const Call& call) { return delete_queue(call); });
  on_read("DescribeJobQueues", Action::read, [this](const Call& call) { return describe_queues(call); });
}

BatchApi::Found<std::vector<Queue>> BatchApi::all_queues() const {
  auto queues = drover::all_queues(backend().ledger());
  if (!queues) return std::unexpected(fault(queues.error()));
  return std::move(*queues);
}

BatchApi::Found<std::unique_ptr<Queue>> BatchApi::find_queue(const std::string& name) const {
  auto all = all_queues();
  if (!all) return std::unexpected(std::move(all.error()));
  const auto found = std::ranges::find(*all, name, &Queue::name);
  if (found == all->end()) return nullptr;
  return std::make_unique<Queue>(std::move(*found));
}

// What a create and an update have in common: only what was sent is changed.
std::expected<void, Fault> BatchApi::take_settings(const Call& call, Queue& queue, Object& document) const {
  if (const json::value* it = call.input.if_contains("priority")) {
    queue.priority = static_cast<std::uint32_t>(it->get_int64());
  }
  if (const json::value* it = call.input.if_contains("state")) queue.closed = it->get_string() == "DISABLED";
  if (const json::value* it = call.input.if_contains("schedulingPolicyArn")) {
    auto policy = find_policy(std::string(it->get_string()));
    if (!policy) return std::unexpected(std::move(policy.error()));
    apply_share_policy(policy->value, queue);
    document["schedulingPolicyArn"] = *it;
  }
  const json::value* order = call.input.if_contains("computeEnvironmentOrder");
  if (order == nullptr) return {};
  std::vector<std::pair<std::int64_t, std::string>> fleets;
  for (const json::value& it : order->get_array()) {
    const std::string reference(it.get_object().at("computeEnvironment").get_string());
    auto environment = find_environment(reference);
    if (!environment) return std::unexpected(std::move(environment.error()));
    fleets.emplace_back(it.get_object().at("order").get_int64(), environment->name);
  }
  std::ranges::sort(fleets);
  queue.fleets.clear();
  json::array kept;
  for (const auto& [position, name] : fleets) {
    if (std::ranges::find(queue.fleets, name) != queue.fleets.end()) {
      return client_error(concat("computeEnvironmentOrder names ", name, " twice"));
    }
    queue.fleets.push_back(name);
    kept.push_back(json::object{
        {"order", position},
        {"computeEnvironment", account().arn("batch", call.region, concat("compute-environment/", name))}});
  }
  document["computeEnvironmentOrder"] = std::move(kept);
  return {};
}

EditOutcome BatchApi::create_queue(const Call& call) {
  const std::string name(call.input.at("jobQueueName").get_string());
  if (!is_batch_name(name)) {
    return client_error("jobQueueName must have letters, digits, '-' and '_', and begin with a letter or digit");
  }
  auto known = find_queue(name);
  if (!known) return std::unexpected(std::move(known.error()));
  auto known_document = queue_documents().find(name);
  if (!known_document) return std::unexpected(fault(known_document.error()));
  if (*known) return client_error("Object already exists");
  Queue queue{.name = name};
  Object document;
  if (auto taken = take_settings(call, queue, document); !taken) return std::unexpected(std::move(taken.error()));
  if (const json::value* tags = call.input.if_contains("tags")) document["tags"] = *tags;
  // One that is left from a queue that is gone is replaced.
  if (*known_document) (*known_document)->value = document;
  return Edit{
      {*known_document ? queue_documents().replace(**known_document) : queue_documents().add(name, document)},
      {{"jobQueueName", name}, {"jobQueueArn", account().arn("batch", call.region, concat("job-queue/", name))}},
      {SetQueue{queue}}};
}

EditOutcome BatchApi::update_queue(const Call& call) {
  const std::string name = name_in(call.input.at("jobQueue").get_string());
  auto queue = find_queue(name);
  if (!queue) return std::unexpected(std::move(queue.error()));
  if (!*queue) return client_error(concat(name, " does not exist"));
  auto document = queue_documents().find(name);
  if (!document) return std::unexpected(fault(document.error()));
  Stored stored = *document ? std::move(**document) : Stored{name, {}, 0, 0};
  if (auto taken = take_settings(call, **queue, stored.value); !taken) {
    return std::unexpected(std::move(taken.error()));
  }
  return Edit{
      {queue_documents().replace(stored)},
      {{"jobQueueName", name}, {"jobQueueArn", account().arn("batch", call.region, concat("job-queue/", name))}},
      {SetQueue{**queue}}};
}

EditOutcome BatchApi::delete_queue(const Call& call) {
  const std::string name = name_in(call.input.at("jobQueue").get_string());
  auto queue = find_queue(name);
  if (!queue) return std::unexpected(std::move(queue.error()));
  if (!*queue) return Edit{};  // as AWS has it
  if (!(*queue)->closed && (*queue)->enabled) return client_error("Cannot delete, state must be DISABLED");
  auto document = queue_documents().find(name);
  if (!document) return std::unexpected(fault(document.error()));
  // The queue first: one that has jobs stays as it is.
  Edit edit{{}, {}, {DropQueue{name}}};
  SetDocuments gone;
  if (*document) gone.changes.push_back(queue_documents().remove(**document));
  if (auto dropped = drop_tags(concat("job-queue/", name), gone.changes); !dropped) {
    return std::unexpected(std::move(dropped.error()));
  }
  if (!gone.changes.empty()) edit.then.emplace_back(std::move(gone));
  return edit;
}

BatchApi::Found<json::object> BatchApi::queue_json(const Call& call, const Queue& queue) const {
  auto document = queue_documents().find(queue.name);
  if (!document) return std::unexpected(fault(document.error()));
  json::object out = *document ? std::move((*document)->value) : json::object();
  out["jobQueueName"] = queue.name;
  out["jobQueueArn"] = account().arn("batch", call.region, concat("job-queue/", queue.name));
  out["state"] = queue.closed || !queue.enabled ? "DISABLED" : "ENABLED";
  out["status"] = "VALID";
  out["statusReason"] = "JobQueue Healthy";
  out["priority"] = queue.priority;
  if (!out.contains("tags")) out["tags"] = json::object();
  // The native API may have changed them.
  json::array order;
  const json::value* said = out.if_contains("computeEnvironmentOrder");
  for (std::size_t i = 0; i < queue.fleets.size(); ++i) {
    const bool is_known = said != nullptr && said->get_array().size() == queue.fleets.size() &&
                          name_in(said->get_array()[i].at("computeEnvironment").get_string()) == queue.fleets[i];
    order.push_back(is_known
                        ? said->get_array()[i]
                        : json::value(json::object{
                              {"order", i + 1},
                              {"computeEnvironment",
                               account().arn("batch", call.region, concat("compute-environment/", queue.fleets[i]))}}));
  }
  out["computeEnvironmentOrder"] = std::move(order);
  if (auto shown = show_tags(concat("job-queue/", queue.name), out); !shown) {
    return std::unexpected(std::move(shown.error()));
  }
  return out;
}

Outcome BatchApi::describe_queues(const Call& call) {
  auto all = all_queues();
  if (!all) return std::unexpected(std::move(all.error()));
  const json::value* chosen = call.input.if_contains("jobQueues");
  json::array out;
  for (const Queue& it : *all) {
    const bool is_chosen = chosen == nullptr || chosen->get_array().empty() ||
                           std::ranges::any_of(chosen->get_array(), [&](const json::value& one) {
                             return name_in(one.get_string()) == it.name;
                           });
    if (!is_chosen) continue;
    auto shown = queue_json(call, it);
    if (!shown) return std::unexpected(std::move(shown.error()));
    out.push_back(std::move(*shown));
  }
  return batch_page(call.input, "jobQueues", std::move(out));
}

}  // namespace drover::aws
