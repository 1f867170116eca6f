#include "api/batch/batch.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>

#include "api/aws/page.h"

extern "C" const char drover_batch_operations_begin[];
extern "C" const char drover_batch_operations_end[];

namespace drover::aws {

namespace json = boost::json;

BatchApi::BatchApi(Backend& backend, const Account& account, ManagedMachines machines,
                   std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account, {.service = "batch", .protocol = Protocol::rest_json, .bad_input = "ClientException"},
             {drover_batch_operations_begin, drover_batch_operations_end}),
      machines_(std::move(machines)),
      now_ms_(std::move(now_ms)),
      submitter_(backend) {
  serve_environments();
  serve_queues();
  serve_policies();
  serve_definitions();
  serve_submit();
  serve_jobs();
  serve_lists();
  serve_tags();
}

// Lists and descriptions are of everything; what changes or uses a resource is about that. A resource has one ARN, in
// whatever way the request names it.
std::vector<std::string> BatchApi::resources(const Call& call) const {
  const std::string& operation = call.operation->name;
  const bool is_of_one = operation == "ListTagsForResource";
  if (!is_of_one && (operation.starts_with("Describe") || operation.starts_with("List"))) return {"*"};
  std::vector<std::string> out;
  const auto add = [&](std::string_view resource) { out.push_back(account().arn("batch", call.region, resource)); };
  for (const auto& [member, kind] :
       {std::pair("jobDefinition", "job-definition/"), std::pair("jobDefinitionName", "job-definition/"),
        std::pair("jobQueue", "job-queue/"), std::pair("jobQueueName", "job-queue/"),
        std::pair("computeEnvironment", "compute-environment/"),
        std::pair("computeEnvironmentName", "compute-environment/"), std::pair("jobId", "job/"),
        std::pair("name", "scheduling-policy/")}) {
    const json::value* it = call.input.if_contains(member);
    if (it == nullptr) continue;
    std::string name = name_in(it->get_string());
    // The job gets the newest revision, unless it names one.
    if (operation == "SubmitJob" && std::string_view(member) == "jobDefinition" && !name.contains(':')) {
      if (const auto newest = find_definition(name)) name = concat(newest->name, ":", newest->revision);
    }
    add(concat(kind, name));
  }
  if (const json::value* it = call.input.if_contains("computeEnvironmentOrder")) {
    for (const json::value& one : it->get_array()) {
      add(concat("compute-environment/", name_in(one.get_object().at("computeEnvironment").get_string())));
    }
  }
  for (const char* member : {"arn", "schedulingPolicyArn"}) {
    if (const json::value* it = call.input.if_contains(member)) {
      add(concat("scheduling-policy/", name_in(it->get_string())));
    }
  }
  if (const json::value* it = call.input.if_contains("resourceArn")) add(resource_in(it->get_string()));
  return out.empty() ? std::vector<std::string>{"*"} : out;
}

std::vector<std::string> BatchApi::passed_roles(const Call& call) const {
  std::vector<std::string> out;
  const auto add = [&](const json::object& in, const char* member) {
    if (const json::value* it = in.if_contains(member)) out.emplace_back(it->get_string());
  };
  add(call.input, "serviceRole");
  if (const json::value* container = call.input.if_contains("containerProperties")) {
    add(container->get_object(), "jobRoleArn");
    add(container->get_object(), "executionRoleArn");
  }
  return out;
}

std::string name_in(std::string_view reference) {
  if (!reference.starts_with("arn:")) return std::string(reference);
  return std::string(reference.substr(reference.rfind('/') + 1));
}

bool is_batch_name(std::string_view name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !name.empty() && name.size() <= 128 && is_plain(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, [&](unsigned char c) { return is_plain(c) || c == '_' || c == '-'; });
}

std::unexpected<Fault> client_error(std::string message) {
  return failed("ClientException", std::move(message));
}

Outcome batch_page(const json::object& input, std::string_view member, json::array list) {
  return page_of({"nextToken", "maxResults", "ClientException"}, input, member, std::move(list));
}

}  // namespace drover::aws
