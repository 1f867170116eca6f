#include <boost/json/array.hpp>

#include "api/iam/iam.h"

namespace drover::aws {

namespace json = boost::json;

void IamApi::serve_profiles() {
  constexpr auto admin = Action::administrate;
  on_edit("CreateInstanceProfile", admin, [this](const Call& call) { return create_profile(call); });
  on_edit("DeleteInstanceProfile", admin, [this](const Call& call) { return delete_profile(call); });
  on_edit("AddRoleToInstanceProfile", admin, [this](const Call& call) { return add_role_to_profile(call); });
  on_edit("RemoveRoleFromInstanceProfile", admin, [this](const Call& call) { return remove_role_from_profile(call); });
  on_read("GetInstanceProfile", Action::read, [this](const Call& call) { return get_profile(call); });
  on_read("ListInstanceProfiles", Action::read, [this](const Call& call) { return list_profiles(call); });
  on_read("ListInstanceProfilesForRole", Action::read, [this](const Call& call) { return list_profiles(call); });
}

IamApi::Found<Stored> IamApi::profile_of(const Call& call) const {
  return find(profiles(), "instance profile", std::string(call.input.at("InstanceProfileName").get_string()));
}

/// As clients see it: with its roles, not only their names.
IamApi::Found<json::object> IamApi::profile_json(const Stored& profile) const {
  json::object out = profile.value;
  json::array roles;
  for (const json::value& it : profile.value.at("roles").get_array()) {
    auto role = find(this->roles(), "role", std::string(it.get_string()));
    if (!role) return std::unexpected(std::move(role.error()));
    roles.push_back(role_json(std::move(role->value)));
  }
  out.erase("roles");
  out["Roles"] = std::move(roles);
  return out;
}

EditOutcome IamApi::create_profile(const Call& call) {
  const std::string name(call.input.at("InstanceProfileName").get_string());
  if (auto good = check_names(call.input, "InstanceProfileName"); !good)
    return std::unexpected(std::move(good.error()));
  auto known = profiles().find(name);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return failed("EntityAlreadyExists", concat("Instance Profile ", name, " already exists."), 409);
  const std::string path = path_in(call.input);
  json::object profile{{"Path", path},
                       {"InstanceProfileName", name},
                       {"InstanceProfileId", new_unique_id("AIPA")},
                       {"Arn", account().arn("iam", "", concat("instance-profile", path, name))},
                       {"CreateDate", now_ms_()}};
  if (const json::value* tags = call.input.if_contains("Tags")) profile["Tags"] = *tags;
  json::object stored = profile;
  stored["roles"] = json::array();
  profile["Roles"] = json::array();
  return Edit{{profiles().add(name, stored)}, {{"InstanceProfile", std::move(profile)}}};
}

EditOutcome IamApi::delete_profile(const Call& call) {
  auto profile = profile_of(call);
  if (!profile) return std::unexpected(std::move(profile.error()));
  if (!profile->value.at("roles").get_array().empty()) {
    return failed("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.", 409);
  }
  return Edit{{profiles().remove(*profile)}};
}

EditOutcome IamApi::add_role_to_profile(const Call& call) {
  auto profile = profile_of(call);
  if (!profile) return std::unexpected(std::move(profile.error()));
  auto role = role_of(call);
  if (!role) return std::unexpected(std::move(role.error()));
  json::array& roles = profile->value["roles"].get_array();
  if (!roles.empty()) return failed("LimitExceeded", "An instance profile can have only one role.", 409);
  roles.emplace_back(role->name);
  // The role is written too: it must still be there.
  return Edit{{profiles().replace(*profile), this->roles().replace(*role)}};
}

EditOutcome IamApi::remove_role_from_profile(const Call& call) {
  auto profile = profile_of(call);
  if (!profile) return std::unexpected(std::move(profile.error()));
  json::array& roles = profile->value["roles"].get_array();
  const auto found = std::ranges::find(roles, call.input.at("RoleName"));
  if (found == roles.end()) {
    return failed("NoSuchEntity", "The role is not in the instance profile.", 404);
  }
  roles.erase(found);
  return Edit{{profiles().replace(*profile)}};
}

Outcome IamApi::get_profile(const Call& call) {
  auto profile = profile_of(call);
  if (!profile) return std::unexpected(std::move(profile.error()));
  auto shown = profile_json(*profile);
  if (!shown) return std::unexpected(std::move(shown.error()));
  return json::object{{"InstanceProfile", std::move(*shown)}};
}

// All of them, or those that have a role.
Outcome IamApi::list_profiles(const Call& call) {
  const json::value* role = call.input.if_contains("RoleName");
  const json::value* prefix = call.input.if_contains("PathPrefix");
  if (role != nullptr) {
    if (auto known = role_of(call); !known) return std::unexpected(std::move(known.error()));
  }
  auto all = profiles().all();
  if (!all) return std::unexpected(fault(all.error()));
  json::array out;
  for (const Stored& it : *all) {
    const json::array& roles = it.value.at("roles").get_array();
    if (role != nullptr && std::ranges::find(roles, *role) == roles.end()) continue;
    if (prefix != nullptr && !it.value.at("Path").get_string().starts_with(prefix->get_string())) continue;
    auto shown = profile_json(it);
    if (!shown) return std::unexpected(std::move(shown.error()));
    out.push_back(std::move(*shown));
  }
  return iam_page(call.input, "InstanceProfiles", std::move(out));
}

}  // namespace drover::aws
