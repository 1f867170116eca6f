#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/batch/batch.h"
#include "api/registry_lookup.h"
#include "wire/submission.h"

namespace drover::aws {

namespace json = boost::json;

void BatchApi::serve_definitions() {
  on("RegisterJobDefinition", Action::submit,
     [this](const Call& call, Answered answered) { register_definition(call, std::move(answered)); });
  on("DeregisterJobDefinition", Action::submit,
     [this](const Call& call, Answered answered) { deregister_definition(call, std::move(answered)); });
  on_read("DescribeJobDefinitions", Action::read, [this](const Call& call) { return describe_definitions(call); });
}

// It is stored as a job of the native API, and checked as one, with the properties beside it.
void BatchApi::register_definition(const Call& call, Answered answered) {
  const std::string name(call.input.at("jobDefinitionName").get_string());
  if (!is_batch_name(name)) {
    return answered(
        client_error("jobDefinitionName must have letters, digits, '-' and '_', and begin with a letter or digit"));
  }
  if (auto good = check_properties(call.input); !good) return answered(std::unexpected(std::move(good.error())));
  auto job = native_job(call.input);
  if (!job) return answered(std::unexpected(std::move(job.error())));
  json::object properties = call.input;
  properties.erase("jobDefinitionName");
  (*job)["aws_batch"] = json::serialize(properties);
  auto document = job_document(json::serialize(*job));
  if (!document) return answered(std::unexpected(fault(document.error())));
  auto checked = submission_from(*document, {.command = false, .items = false});
  if (!checked) return answered(std::unexpected(fault(checked.error())));
  auto stored = backend().add_definition(submission_to_json(*checked));
  if (!stored) return answered(std::unexpected(fault(stored.error())));
  backend().post(AddRevision{name, *stored, call.asker.owner()},
                 [this, name, region = call.region,
                  answered = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
                   if (!effect) return (*answered)(std::unexpected(fault(effect.error())));
                   const std::uint64_t revision = std::get<RevisionAdded>(*effect).revision;
                   (*answered)(json::object{{"jobDefinitionName", name},
                                            {"jobDefinitionArn", definition_arn(region, name, revision)},
                                            {"revision", revision}});
                 });
}

std::string BatchApi::definition_arn(const std::string& region, const std::string& name, std::uint64_t revision) const {
  return account().arn("batch", region, concat("job-definition/", name, ":", revision));
}

BatchApi::Found<NamedDefinition> BatchApi::find_definition(const std::string& reference) const {
  auto found = find_named_definition(backend().ledger(), name_in(reference));
  if (!found && found.error().code == ErrorCode::not_found) {
    return client_error(concat("JobDefinition ", reference, " does not exist"));
  }
  if (!found) return std::unexpected(fault(found.error()));
  return std::move(*found);
}

void BatchApi::deregister_definition(const Call& call, Answered answered) {
  const std::string reference(call.input.at("jobDefinition").get_string());
  if (name_in(reference).find(':') == std::string::npos) {
    return answered(client_error("jobDefinition must be NAME:REVISION or an ARN"));
  }
  auto found = find_definition(reference);
  if (!found) return answered(std::unexpected(std::move(found.error())));
  backend().post(RetireRevision{found->name, found->revision},
                 [this, answered = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
                   if (!effect) return (*answered)(std::unexpected(fault(effect.error())));
                   (*answered)(json::object());
                 });
}

BatchApi::Found<json::object> BatchApi::definition_json(const Call& call, const NamedDefinition& definition) const {
  auto text = backend().definition(definition.definition);
  if (!text) return std::unexpected(fault(text.error()));
  auto document = job_document(*text);
  if (!document) return std::unexpected(fault(document.error()));
  auto job = submission_from(*document, {.command = false, .items = false});
  if (!job) return std::unexpected(fault(job.error()));
  json::object out = properties_of(job->definition, *job);
  out["jobDefinitionName"] = definition.name;
  out["jobDefinitionArn"] = definition_arn(call.region, definition.name, definition.revision);
  out["revision"] = definition.revision;
  out["status"] = definition.active ? "ACTIVE" : "INACTIVE";
  out["containerOrchestrationType"] = "ECS";
  if (!out.contains("tags")) out["tags"] = json::object();
  const std::string resource = concat("job-definition/", definition.name, ":", definition.revision);
  if (auto shown = show_tags(resource, out); !shown) return std::unexpected(std::move(shown.error()));
  return out;
}

Outcome BatchApi::describe_definitions(const Call& call) {
  auto all = backend().ledger().named_definitions();
  if (!all) return std::unexpected(fault(all.error()));
  const json::value* chosen = call.input.if_contains("jobDefinitions");
  const json::value* name = call.input.if_contains("jobDefinitionName");
  const json::value* status = call.input.if_contains("status");
  const auto is_wanted = [&](const NamedDefinition& it) {
    if (status != nullptr && status->get_string() != (it.active ? "ACTIVE" : "INACTIVE")) return false;
    if (name != nullptr && name->get_string() != it.name) return false;
    if (chosen == nullptr || chosen->get_array().empty()) return true;
    return std::ranges::any_of(chosen->get_array(), [&](const json::value& one) {
      const std::string wanted = name_in(one.get_string());
      return wanted == it.name || wanted == concat(it.name, ":", it.revision);
    });
  };
  // Only those on the page are read.
  json::array numbers;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (is_wanted((*all)[i])) numbers.emplace_back(i);
  }
  auto page = batch_page(call.input, "jobDefinitions", std::move(numbers));
  if (!page) return page;
  for (json::value& it : (*page)["jobDefinitions"].get_array()) {
    auto shown = definition_json(call, (*all)[it.to_number<std::size_t>()]);
    if (!shown) return std::unexpected(std::move(shown.error()));
    it = std::move(*shown);
  }
  return page;
}

}  // namespace drover::aws
