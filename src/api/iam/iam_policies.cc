#include "api/iam/iam.h"
#include "wire/aws/managed_policies.h"
#include "wire/aws/policy.h"

namespace drover::aws {

namespace json = boost::json;

void IamApi::serve_policies() {
  on_edit("CreatePolicy", Action::administrate, [this](const Call& call) { return create_policy(call); });
  on_edit("DeletePolicy", Action::administrate, [this](const Call& call) { return delete_policy(call); });
  on_read("GetPolicy", Action::read, [this](const Call& call) { return get_policy(call); });
}

EditOutcome IamApi::create_policy(const Call& call) {
  const std::string name(call.input.at("PolicyName").get_string());
  if (auto good = check_names(call.input, "PolicyName"); !good) return std::unexpected(std::move(good.error()));
  const std::string path = path_in(call.input);
  const std::string arn = account().arn("iam", "", concat("policy", path, name));
  auto known = policies().find(arn);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return failed("EntityAlreadyExists", concat("A policy called ", name, " already exists."), 409);
  const std::string_view document = call.input.at("PolicyDocument").get_string();
  if (auto policy = policy_from_json(document, PolicyKind::identity); !policy) {
    return failed("MalformedPolicyDocument", policy.error().message);
  }
  json::object policy{{"PolicyName", name},   {"PolicyId", new_unique_id("ANPA")}, {"Arn", arn},
                      {"Path", path},         {"DefaultVersionId", "v1"},          {"AttachmentCount", 0},
                      {"IsAttachable", true}, {"CreateDate", now_ms_()},           {"UpdateDate", now_ms_()}};
  for (const char* member : {"Description", "Tags"}) {
    if (const json::value* it = call.input.if_contains(member)) policy[member] = *it;
  }
  json::object stored = policy;
  stored["document"] = document;
  return Edit{{policies().add(arn, stored)}, {{"Policy", std::move(policy)}}};
}

EditOutcome IamApi::delete_policy(const Call& call) {
  auto policy = find(policies(), "policy", std::string(call.input.at("PolicyArn").get_string()));
  if (!policy) return std::unexpected(std::move(policy.error()));
  auto all = roles().all();
  if (!all) return std::unexpected(fault(all.error()));
  for (const Stored& role : *all) {
    const json::array& attached = role.value.at("attached").get_array();
    if (std::ranges::find(attached, json::value(policy->name)) != attached.end()) {
      return failed("DeleteConflict", "Cannot delete a policy attached to entities.", 409);
    }
  }
  return Edit{{policies().remove(*policy)}};
}

Outcome IamApi::get_policy(const Call& call) {
  if (const ManagedPolicy* managed = find_managed_policy(call.input.at("PolicyArn").get_string())) {
    return json::object{{"Policy", json::object{{"PolicyName", managed->name},
                                                {"Arn", managed->arn},
                                                {"Path", managed->path},
                                                {"DefaultVersionId", "v1"},
                                                {"IsAttachable", true}}}};
  }
  auto policy = find(policies(), "policy", std::string(call.input.at("PolicyArn").get_string()));
  if (!policy) return std::unexpected(std::move(policy.error()));
  auto all = roles().all();
  if (!all) return std::unexpected(fault(all.error()));
  json::object out = policy->value;
  out.erase("document");
  out["AttachmentCount"] = std::ranges::count_if(*all, [&](const Stored& role) {
    const json::array& attached = role.value.at("attached").get_array();
    return std::ranges::find(attached, json::value(policy->name)) != attached.end();
  });
  return json::object{{"Policy", std::move(out)}};
}

}  // namespace drover::aws
