#include <boost/json/array.hpp>

#include "api/iam/iam.h"
#include "base/url.h"
#include "wire/aws/managed_policies.h"
#include "wire/aws/policy.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view member) {
  return std::string(object.at(member).get_string());
}

std::unexpected<Fault> malformed(const Error& error) {
  return failed("MalformedPolicyDocument", error.message);
}

}  // namespace

void IamApi::serve_roles() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateRole", admin, [this](const Call& call) { return create_role(call); });
  on_edit("DeleteRole", admin, [this](const Call& call) { return delete_role(call); });
  on_edit("AttachRolePolicy", admin, [this](const Call& call) { return attach_policy(call); });
  on_edit("DetachRolePolicy", admin, [this](const Call& call) { return detach_policy(call); });
  on_edit("PutRolePolicy", admin, [this](const Call& call) { return put_inline_policy(call); });
  on_edit("DeleteRolePolicy", admin, [this](const Call& call) { return delete_inline_policy(call); });
  on_read("GetRole", Action::read, [this](const Call& call) -> Outcome {
    auto role = role_of(call);
    if (!role) return std::unexpected(std::move(role.error()));
    return json::object{{"Role", role_json(role->value)}};
  });
  on_read("ListRoles", Action::read, [this](const Call& call) { return list_roles(call); });
  on_read("ListAttachedRolePolicies", Action::read, [this](const Call& call) { return list_attached_policies(call); });
  on_read("ListRolePolicies", Action::read, [this](const Call& call) { return list_inline_policies(call); });
  on_read("GetRolePolicy", Action::read, [this](const Call& call) { return get_inline_policy(call); });
}

// Without what is attached to it. Documents are percent-encoded, which clients know.
json::object IamApi::role_json(json::object role) {
  role.erase("attached");
  role.erase("inline");
  role["AssumeRolePolicyDocument"] = percent_encoded(role.at("AssumeRolePolicyDocument").get_string());
  return role;
}

IamApi::Found<Stored> IamApi::role_of(const Call& call) const {
  return find(roles(), "role", text_of(call.input, "RoleName"));
}

EditOutcome IamApi::create_role(const Call& call) {
  const std::string name = text_of(call.input, "RoleName");
  if (auto good = check_names(call.input, "RoleName"); !good) return std::unexpected(std::move(good.error()));
  auto known = roles().find(name);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return failed("EntityAlreadyExists", concat("Role with name ", name, " already exists."), 409);
  const std::string trust = text_of(call.input, "AssumeRolePolicyDocument");
  if (auto policy = policy_from_json(trust, PolicyKind::trust); !policy) return malformed(policy.error());
  json::object role = call.input;
  if (const json::value* boundary = role.if_contains("PermissionsBoundary")) {
    role["PermissionsBoundary"] =
        json::object{{"PermissionsBoundaryType", "PermissionsBoundaryPolicy"}, {"PermissionsBoundaryArn", *boundary}};
  }
  const std::string path = path_in(role);
  role["Path"] = path;
  role["RoleId"] = new_unique_id("AROA");
  role["Arn"] = account().arn("iam", "", concat("role", path, name));
  role["CreateDate"] = now_ms_();
  if (!role.contains("MaxSessionDuration")) role["MaxSessionDuration"] = 3600;
  json::object stored = role;
  stored["attached"] = json::array();
  stored["inline"] = json::object();
  return Edit{{roles().add(name, stored)}, {{"Role", role_json(std::move(role))}}};
}

EditOutcome IamApi::delete_role(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  const auto conflict = [](const char* what) {
    return failed("DeleteConflict", concat("Cannot delete entity, must ", what, " first."), 409);
  };
  if (!role->value.at("attached").get_array().empty()) return conflict("detach all policies");
  if (!role->value.at("inline").get_object().empty()) return conflict("delete policies");
  auto all = profiles().all();
  if (!all) return std::unexpected(fault(all.error()));
  for (const Stored& profile : *all) {
    for (const json::value& it : profile.value.at("roles").get_array()) {
      if (it == json::value(role->name)) return conflict("remove roles from instance profile");
    }
  }
  // Jobs may still name it.
  auto former = former_roles().find(role->name);
  if (!former) return std::unexpected(fault(former.error()));
  const json::object left{{"Arn", role->value.at("Arn")}};
  if (*former) (*former)->value = left;
  return Edit{
      {roles().remove(*role), *former ? former_roles().replace(**former) : former_roles().add(role->name, left)}};
}

EditOutcome IamApi::attach_policy(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  const std::string arn = text_of(call.input, "PolicyArn");
  Edit edit;
  if (find_managed_policy(arn) == nullptr) {
    auto policy = find(policies(), "policy", arn);
    if (!policy) return std::unexpected(std::move(policy.error()));
    // Written too: it must still be there.
    edit.changes.push_back(policies().replace(*policy));
  }
  json::array& attached = role->value["attached"].get_array();
  if (std::ranges::find(attached, json::value(arn)) != attached.end()) return Edit{};
  attached.emplace_back(arn);
  edit.changes.push_back(roles().replace(*role));
  return edit;
}

EditOutcome IamApi::detach_policy(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  json::array& attached = role->value["attached"].get_array();
  const auto found = std::ranges::find(attached, call.input.at("PolicyArn"));
  if (found == attached.end()) {
    return failed("NoSuchEntity", concat("Policy ", text_of(call.input, "PolicyArn"), " was not found."), 404);
  }
  attached.erase(found);
  return Edit{{roles().replace(*role)}};
}

EditOutcome IamApi::put_inline_policy(const Call& call) {
  if (auto good = check_names(call.input, "PolicyName"); !good) return std::unexpected(std::move(good.error()));
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  const std::string document = text_of(call.input, "PolicyDocument");
  if (auto policy = policy_from_json(document, PolicyKind::identity); !policy) return malformed(policy.error());
  role->value["inline"].get_object()[text_of(call.input, "PolicyName")] = document;
  return Edit{{roles().replace(*role)}};
}

EditOutcome IamApi::delete_inline_policy(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  const std::string name = text_of(call.input, "PolicyName");
  if (role->value["inline"].get_object().erase(name) == 0) {
    return failed("NoSuchEntity", concat("The role policy with name ", name, " cannot be found."), 404);
  }
  return Edit{{roles().replace(*role)}};
}

Outcome IamApi::list_roles(const Call& call) {
  auto all = roles().all();
  if (!all) return std::unexpected(fault(all.error()));
  const json::value* prefix = call.input.if_contains("PathPrefix");
  json::array out;
  for (const Stored& it : *all) {
    if (prefix == nullptr || it.value.at("Path").get_string().starts_with(prefix->get_string())) {
      out.push_back(role_json(it.value));
    }
  }
  return iam_page(call.input, "Roles", std::move(out));
}

Outcome IamApi::list_attached_policies(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  json::array out;
  for (const json::value& it : role->value.at("attached").get_array()) {
    const std::string_view arn = it.get_string();
    out.push_back(json::object{{"PolicyName", arn.substr(arn.rfind('/') + 1)}, {"PolicyArn", arn}});
  }
  return iam_page(call.input, "AttachedPolicies", std::move(out));
}

Outcome IamApi::list_inline_policies(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  json::array out;
  for (const auto& [name, document] : role->value.at("inline").get_object()) out.emplace_back(name);
  return iam_page(call.input, "PolicyNames", std::move(out));
}

Outcome IamApi::get_inline_policy(const Call& call) {
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  const json::value* document = role->value.at("inline").get_object().if_contains(text_of(call.input, "PolicyName"));
  if (document == nullptr) {
    return failed("NoSuchEntity",
                  concat("The role policy with name ", text_of(call.input, "PolicyName"), " cannot be found."), 404);
  }
  return json::object{{"RoleName", role->name},
                      {"PolicyName", call.input.at("PolicyName")},
                      {"PolicyDocument", percent_encoded(document->get_string())}};
}

}  // namespace drover::aws
