#include <algorithm>
#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "base/entropy.h"
#include "wire/fleet_rules.h"

namespace drover::aws {

namespace json = boost::json;

void BatchApi::serve_environments() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateComputeEnvironment", admin, [this](const Call& call) { return create_environment(call); });
  on_edit("UpdateComputeEnvironment", admin, [this](const Call& call) { return update_environment(call); });
  on_edit("DeleteComputeEnvironment", admin, [this](const Call& call) { return delete_environment(call); });
  on_read("DescribeComputeEnvironments", Action::read,
          [this](const Call& call) { return describe_environments(call); });
}

namespace {

/// Machines of an environment that is not managed join by themselves.
FleetSpec fleet_of(const std::string& name, const json::object& environment) {
  FleetRules rules{.provider = "none"};
  if (const json::value* it = environment.if_contains("computeResources")) {
    const json::object& resources = it->get_object();
    const std::string_view type = resources.at("type").get_string();
    rules.provider = "ec2";
    rules.spot = type == "SPOT" || type == "FARGATE_SPOT";
    if (const json::value* bid = resources.if_contains("bidPercentage"); bid != nullptr && bid->get_int64() > 0) {
      rules.bid_percent = static_cast<std::uint32_t>(bid->get_int64());
    }
    if (const json::value* shapes = resources.if_contains("instanceTypes")) {
      for (const json::value& shape : shapes->get_array()) rules.shapes.emplace_back(shape.get_string());
    }
  }
  return fleet_spec(name, rules);
}

}  // namespace

BatchApi::Found<Stored> BatchApi::find_environment(const std::string& reference) const {
  auto found = environments().find(name_in(reference));
  if (!found) return std::unexpected(fault(found.error()));
  if (!*found) return client_error(concat(reference, " does not exist"));
  return std::move(**found);
}

EditOutcome BatchApi::create_environment(const Call& call) {
  const std::string name(call.input.at("computeEnvironmentName").get_string());
  if (!is_batch_name(name)) {
    return client_error(
        "computeEnvironmentName must have letters, digits, '-' and '_', and begin with a letter or digit");
  }
  if (call.input.contains("eksConfiguration")) {
    return client_error("eksConfiguration is not supported: jobs do not run on EKS");
  }
  const bool is_managed = call.input.at("type").get_string() == "MANAGED";
  if (is_managed != call.input.contains("computeResources")) {
    return client_error(is_managed ? "computeResources is required for a MANAGED environment"
                                   : "computeResources must not be given for an UNMANAGED environment");
  }
  auto known = environments().find(name);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return client_error("Object already exists");
  auto fleets = backend().ledger().fleets();
  if (!fleets) return std::unexpected(fault(fleets.error()));
  if (std::ranges::find(*fleets, name, &Fleet::name) != fleets->end()) {
    return client_error(concat("a fleet with the name ", name, " was made with drover"));
  }
  json::object environment = call.input;
  const std::string uuid = random_uuid().text();
  const std::string arn = account().arn("batch", call.region, concat("compute-environment/", name));
  environment["computeEnvironmentArn"] = arn;
  environment["ecsClusterArn"] = account().arn("ecs", call.region, concat("cluster/", name, "_Batch_", uuid));
  environment["uuid"] = uuid;
  environment["status"] = "VALID";
  environment["statusReason"] = "ComputeEnvironment Healthy";
  environment["containerOrchestrationType"] = "ECS";
  if (!environment.contains("state")) environment["state"] = "ENABLED";
  if (!environment.contains("tags")) environment["tags"] = json::object();
  return Edit{{environments().add(name, environment)},
              {{"computeEnvironmentName", name}, {"computeEnvironmentArn", arn}},
              {SetFleet{fleet_of(name, environment)}}};
}

EditOutcome BatchApi::update_environment(const Call& call) {
  auto environment = find_environment(std::string(call.input.at("computeEnvironment").get_string()));
  if (!environment) return std::unexpected(std::move(environment.error()));
  json::object& value = environment->value;
  for (const char* member : {"state", "unmanagedvCpus", "serviceRole", "updatePolicy"}) {
    if (const json::value* it = call.input.if_contains(member)) value[member] = *it;
  }
  if (const json::value* given = call.input.if_contains("computeResources")) {
    if (!value.contains("computeResources")) {
      return client_error("computeResources must not be given for an UNMANAGED environment");
    }
    for (const auto& [member, it] : given->get_object()) {
      if (member != "updateToLatestImageVersion") value["computeResources"].get_object()[member] = it;
    }
  }
  return Edit{
      {environments().replace(*environment)},
      {{"computeEnvironmentName", environment->name}, {"computeEnvironmentArn", value.at("computeEnvironmentArn")}},
      {SetFleet{fleet_of(environment->name, value)}}};
}

EditOutcome BatchApi::delete_environment(const Call& call) {
  auto found = environments().find(name_in(call.input.at("computeEnvironment").get_string()));
  if (!found) return std::unexpected(fault(found.error()));
  if (!*found) return Edit{};  // as AWS has it
  if ((*found)->value.at("state").get_string() != "DISABLED") {
    return client_error("Cannot delete, state must be DISABLED");
  }
  auto queues = all_queues();
  if (!queues) return std::unexpected(std::move(queues.error()));
  for (const Queue& queue : *queues) {
    if (std::ranges::find(queue.fleets, (*found)->name) != queue.fleets.end()) {
      return client_error(concat("Cannot delete, found existing JobQueue relationship: ", queue.name));
    }
  }
  Edit edit{{environments().remove(**found)}, {}, {DropFleet{(*found)->name}}};
  if (auto dropped = drop_tags(concat("compute-environment/", (*found)->name), edit.changes); !dropped) {
    return std::unexpected(std::move(dropped.error()));
  }
  return edit;
}

Outcome BatchApi::describe_environments(const Call& call) {
  auto all = environments().all();
  if (!all) return std::unexpected(fault(all.error()));
  const json::value* chosen = call.input.if_contains("computeEnvironments");
  json::array out;
  for (Stored& it : *all) {
    const bool is_chosen = chosen == nullptr || chosen->get_array().empty() ||
                           std::ranges::any_of(chosen->get_array(), [&](const json::value& one) {
                             return name_in(one.get_string()) == it.name;
                           });
    if (!is_chosen) continue;
    if (auto shown = show_tags(concat("compute-environment/", it.name), it.value); !shown) {
      return std::unexpected(std::move(shown.error()));
    }
    out.push_back(std::move(it.value));
  }
  return batch_page(call.input, "computeEnvironments", std::move(out));
}

}  // namespace drover::aws
