#include <algorithm>
#include <boost/json/array.hpp>

#include "api/batch/batch.h"
#include "base/text.h"
#include "ports/entropy.h"

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

std::int64_t vcpus_in(const json::object& resources, std::string_view member, std::int64_t otherwise) {
  const json::value* it = resources.if_contains(member);
  return it == nullptr ? otherwise : it->get_int64();
}

/// What is wrong; empty: nothing.
std::string check_vcpus(const json::object& resources) {
  const std::int64_t least = vcpus_in(resources, "minvCpus", 0);
  const std::int64_t most = vcpus_in(resources, "maxvCpus", 0);
  const std::int64_t desired = vcpus_in(resources, "desiredvCpus", least);
  if (most < least) return concat("maxvCpus (", most, ") must not be less than minvCpus (", least, ")");
  if (most > kMostVcpus) return concat("maxvCpus must not be greater than ", kMostVcpus);
  if (desired < least || desired > most) return "desiredvCpus must be between minvCpus and maxvCpus";
  return {};
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
  if (is_managed) {
    if (auto wrong = check_vcpus(call.input.at("computeResources").get_object()); !wrong.empty()) {
      return client_error(wrong);
    }
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
  auto fleet = environment_fleet(name, environment, machines_, now_ms_());
  if (!fleet) return client_error(fleet.error());
  return Edit{{environments().add(name, environment)},
              {{"computeEnvironmentName", name}, {"computeEnvironmentArn", arn}},
              {SetFleet{std::move(*fleet)}}};
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
  if (value.contains("computeResources")) {
    if (auto wrong = check_vcpus(value.at("computeResources").get_object()); !wrong.empty()) return client_error(wrong);
  }
  auto fleet = environment_fleet(environment->name, value, machines_, now_ms_());
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

// What its machines have now, and why there are none.
std::expected<void, Fault> BatchApi::show_machines(Stored& environment) const {
  json::value* resources = environment.value.if_contains("computeResources");
  if (resources == nullptr) return {};
  auto machines = backend().ledger().machines();
  if (!machines) return std::unexpected(fault(machines.error()));
  std::uint64_t milli_cpus = 0;
  for (const Machine& it : *machines) {
    if (it.fleet == environment.name && it.state < MachineState::draining) milli_cpus += it.has.milli_cpus;
  }
  resources->get_object()["desiredvCpus"] = milli_cpus / 1000;
  auto fleets = backend().ledger().fleets();
  if (!fleets) return std::unexpected(fault(fleets.error()));
  const auto fleet = std::ranges::find(*fleets, environment.name, &Fleet::name);
  const std::string unknown = unknown_types(environment.value);
  if (fleet != fleets->end() && !fleet->trouble.empty()) {
    environment.value["statusReason"] = concat("The last machine could not be launched: ", fleet->trouble);
  } else if (!unknown.empty()) {
    environment.value["statusReason"] =
        concat("ComputeEnvironment Healthy, but nothing is known of instance types ", unknown);
  }
  return {};
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
    if (auto shown = show_machines(it); !shown) return std::unexpected(std::move(shown.error()));
    if (auto shown = show_tags(concat("compute-environment/", it.name), it.value); !shown) {
      return std::unexpected(std::move(shown.error()));
    }
    out.push_back(std::move(it.value));
  }
  return batch_page(call.input, "computeEnvironments", std::move(out));
}

}  // namespace drover::aws
