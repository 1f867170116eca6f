#include <algorithm>
#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "api/batch/share_policy.h"

namespace drover::aws {

namespace json = boost::json;

void BatchApi::serve_policies() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateSchedulingPolicy", admin, [this](const Call& call) { return create_policy(call); });
  on_edit("UpdateSchedulingPolicy", admin, [this](const Call& call) { return update_policy(call); });
  on_edit("DeleteSchedulingPolicy", admin, [this](const Call& call) { return delete_policy(call); });
  on_read("DescribeSchedulingPolicies", Action::read, [this](const Call& call) { return describe_policies(call); });
  on_read("ListSchedulingPolicies", Action::read, [this](const Call& call) { return list_policies(call); });
}

BatchApi::Found<Stored> BatchApi::find_policy(const std::string& arn) const {
  auto found = policies().find(name_in(arn));
  if (!found) return std::unexpected(fault(found.error()));
  if (!*found) return client_error(concat("scheduling policy ", arn, " does not exist"));
  return std::move(**found);
}

EditOutcome BatchApi::create_policy(const Call& call) {
  const std::string name(call.input.at("name").get_string());
  if (!is_batch_name(name)) {
    return client_error("name must have letters, digits, '-' and '_', and begin with a letter or digit");
  }
  auto known = policies().find(name);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return client_error("Object already exists");
  json::object policy = call.input;
  const std::string arn = account().arn("batch", call.region, concat("scheduling-policy/", name));
  policy["arn"] = arn;
  return Edit{{policies().add(name, policy)}, {{"name", name}, {"arn", arn}}};
}

// Queues that use it follow.
EditOutcome BatchApi::update_policy(const Call& call) {
  auto policy = find_policy(std::string(call.input.at("arn").get_string()));
  if (!policy) return std::unexpected(std::move(policy.error()));
  if (const json::value* it = call.input.if_contains("fairsharePolicy")) policy->value["fairsharePolicy"] = *it;
  auto queues = all_queues();
  if (!queues) return std::unexpected(std::move(queues.error()));
  Edit edit{{policies().replace(*policy)}, {}, {}};
  for (Queue& queue : *queues) {
    auto document = queue_documents().find(queue.name);
    if (!document) return std::unexpected(fault(document.error()));
    const json::value* arn = *document ? (*document)->value.if_contains("schedulingPolicyArn") : nullptr;
    if (arn == nullptr || name_in(arn->get_string()) != policy->name) continue;
    apply_share_policy(policy->value, queue);
    edit.then.emplace_back(SetQueue{queue});
  }
  return edit;
}

EditOutcome BatchApi::delete_policy(const Call& call) {
  auto policy = find_policy(std::string(call.input.at("arn").get_string()));
  if (!policy) return std::unexpected(std::move(policy.error()));
  auto documents = queue_documents().all();
  if (!documents) return std::unexpected(fault(documents.error()));
  for (const Stored& it : *documents) {
    const json::value* arn = it.value.if_contains("schedulingPolicyArn");
    if (arn != nullptr && name_in(arn->get_string()) == policy->name) {
      return client_error(concat("Cannot delete, the job queue ", it.name, " uses the scheduling policy"));
    }
  }
  Edit edit{{policies().remove(*policy)}};
  if (auto dropped = drop_tags(concat("scheduling-policy/", policy->name), edit.changes); !dropped) {
    return std::unexpected(std::move(dropped.error()));
  }
  return edit;
}

Outcome BatchApi::describe_policies(const Call& call) {
  json::array out;
  for (const json::value& it : call.input.at("arns").get_array()) {
    auto found = policies().find(name_in(it.get_string()));
    if (!found) return std::unexpected(fault(found.error()));
    if (!*found) continue;
    if (auto shown = show_tags(concat("scheduling-policy/", (*found)->name), (*found)->value); !shown) {
      return std::unexpected(std::move(shown.error()));
    }
    out.push_back(std::move((*found)->value));
  }
  return json::object{{"schedulingPolicies", std::move(out)}};
}

Outcome BatchApi::list_policies(const Call& call) {
  auto all = policies().all();
  if (!all) return std::unexpected(fault(all.error()));
  json::array out;
  for (const Stored& it : *all) out.push_back(json::object{{"arn", it.value.at("arn")}});
  return batch_page(call.input, "schedulingPolicies", std::move(out));
}

}  // namespace drover::aws
