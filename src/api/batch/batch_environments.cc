#include <algorithm>
#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "base/text.h"
#include "base/utf8.h"
#include "ports/entropy.h"
#include "wire/fleet_rules.h"

namespace drover::aws {

namespace json = boost::json;

constexpr std::int64_t kMostVcpus = 1'000'000;

void BatchApi::serve_environments() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateComputeEnvironment", admin, [this](const Call& call) { return create_environment(call); });
  on_edit("UpdateComputeEnvironment", admin, [this](const Call& call) { return update_environment(call); });
  on_edit("DeleteComputeEnvironment", admin, [this](const Call& call) { return delete_environment(call); });
  on_read("DescribeComputeEnvironments", Action::read,
          [this](const Call& call) { return describe_environments(call); });
}

namespace {

std::int64_t vcpus_in(const json::object& resources, std::string_view member) {
  const json::value* it = resources.if_contains(member);
  return it == nullptr ? 0 : it->get_int64();
}

/// Takes what is desired out of a managed environment: it is an order, and described as what there is. An error, in
/// words: its vCPUs do not fit together.
std::expected<DesiredVcpus, std::string> take_desired(json::object& environment, std::int64_t now_ms) {
  json::value* managed = environment.if_contains("computeResources");
  if (managed == nullptr) return DesiredVcpus{};
  json::object& resources = managed->get_object();
  const std::int64_t least = vcpus_in(resources, "minvCpus");
  const std::int64_t most = vcpus_in(resources, "maxvCpus");
  if (most < least) {
    return std::unexpected(concat("maxvCpus (", most, ") must not be less than minvCpus (", least, ")"));
  }
  if (most > kMostVcpus) return std::unexpected(concat("maxvCpus must not be greater than ", kMostVcpus));
  if (!resources.contains("desiredvCpus")) return DesiredVcpus{};
  const std::int64_t desired = vcpus_in(resources, "desiredvCpus");
  if (desired < least || desired > most) {
    return std::unexpected(
        concat("desiredvCpus (", desired, ") must be from minvCpus (", least, ") to maxvCpus (", most, ")"));
  }
  resources.erase("desiredvCpus");
  return DesiredVcpus{static_cast<std::uint64_t>(desired), now_ms};
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
  if (const auto fleet = std::ranges::find(*fleets, name, &Fleet::name); fleet != fleets->end()) {
    // AWS keeps an environment, and its name, until its machines have drained.
    if (fleet->deleting) {
      return client_error(
          concat("Object already exists: ", name, " is still being deleted; retry after its machines have drained"));
    }
    return client_error(
        concat("a fleet named ", name, " already exists; use another name, or delete it: drover fleet delete ", name));
  }
  json::object environment = call.input;
  const auto desired = take_desired(environment, now_ms_());
  if (!desired) return client_error(desired.error());
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
  auto fleet = environment_fleet(name, environment, machines_, *desired);
  if (!fleet) return client_error(fleet.error());
  return Edit{{environments().add(name, environment)},
              {{"computeEnvironmentName", name}, {"computeEnvironmentArn", arn}},
              {SetFleet{std::move(*fleet)}}};
}

// The server may have been started with another provider since: an environment keeps the one that has its machines.
Result<ManagedMachines> BatchApi::machines_for(const std::string& environment) {
  auto fleets = backend().ledger().fleets();
  if (!fleets) return pass(fleets);
  const auto fleet = std::ranges::find(*fleets, environment, &Fleet::name);
  if (fleet == fleets->end() || !fleet->has_launched) return machines_;
  const auto rules = fleet_rules_from_json(fleet->text);
  if (!rules) return machines_;
  ManagedMachines kept = machines_;
  kept.provider = rules->provider;
  kept.command = rules->command;
  return kept;
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
  const auto desired = take_desired(value, now_ms_());
  if (!desired) return client_error(desired.error());
  const auto machines = machines_for(environment->name);
  if (!machines) return std::unexpected(fault(machines.error()));
  auto fleet = environment_fleet(environment->name, value, *machines, *desired);
  if (!fleet) return client_error(fleet.error());
  return Edit{
      {environments().replace(*environment)},
      {{"computeEnvironmentName", environment->name}, {"computeEnvironmentArn", value.at("computeEnvironmentArn")}},
      {SetFleet{std::move(*fleet)}}};
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

namespace {

/// What a managed environment has now, and why it may have nothing.
void show_machines(const std::vector<Fleet>& fleets, const std::vector<Machine>& machines, Stored& environment) {
  json::value* resources = environment.value.if_contains("computeResources");
  if (resources == nullptr) return;
  std::uint64_t milli_cpus = 0;
  for (const Machine& it : machines) {
    if (it.fleet == environment.name && it.state < MachineState::draining) milli_cpus += it.has.milli_cpus;
  }
  resources->get_object()["desiredvCpus"] = milli_cpus / 1000;
  const auto fleet = std::ranges::find(fleets, environment.name, &Fleet::name);
  const std::string unknown = unknown_types(environment.value);
  const std::string_view type = resources->get_object().at("type").get_string();
  const bool is_spot = type == "SPOT" || type == "FARGATE_SPOT";
  const std::string trouble = fleet == fleets.end() ? "" : utf8(is_spot ? fleet->spot_trouble : fleet->trouble);
  if (!trouble.empty()) {
    environment.value["statusReason"] = concat("The last machine could not be launched: ", trouble);
  } else if (!unknown.empty()) {
    environment.value["statusReason"] =
        concat("ComputeEnvironment Healthy, but without unknown instance types: ", unknown);
  }
}

}  // namespace

Outcome BatchApi::describe_environments(const Call& call) {
  auto all = environments().all();
  if (!all) return std::unexpected(fault(all.error()));
  const auto fleets = backend().ledger().fleets();
  if (!fleets) return std::unexpected(fault(fleets.error()));
  const auto machines = backend().ledger().machines();
  if (!machines) return std::unexpected(fault(machines.error()));
  const json::value* chosen = call.input.if_contains("computeEnvironments");
  json::array out;
  for (Stored& it : *all) {
    const bool is_chosen = chosen == nullptr || chosen->get_array().empty() ||
                           std::ranges::any_of(chosen->get_array(), [&](const json::value& one) {
                             return name_in(one.get_string()) == it.name;
                           });
    if (!is_chosen) continue;
    show_machines(*fleets, *machines, it);
    if (auto shown = show_tags(concat("compute-environment/", it.name), it.value); !shown) {
      return std::unexpected(std::move(shown.error()));
    }
    out.push_back(std::move(it.value));
  }
  return batch_page(call.input, "computeEnvironments", std::move(out));
}

}  // namespace drover::aws
