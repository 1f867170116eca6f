#include <algorithm>

#include "api/ec2/ec2.h"
#include "api/ec2/security_group_rules.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::string_view kDefaultGroup = "sg-0d0be700000000001";
constexpr std::size_t kMostRules = 60;  // of a group: AWS's own quota

std::unexpected<Fault> too_many_rules() {
  return failed("RulesPerSecurityGroupLimitExceeded",
                concat("A security group can have at most ", kMostRules, " rules"));
}

json::array open_egress() {
  return {json::object{{"IpProtocol", "-1"}, {"CidrIpv4", "0.0.0.0/0"}}};
}

bool has_rule_from(const json::object& group, const std::string& other) {
  return std::ranges::any_of(group.at("rules").get_array(), [&](const json::value& it) {
    return member_text(it.get_object(), "ReferencedGroupId") == other;
  });
}

bool is_group_text(std::string_view text) {
  constexpr std::string_view kSigns = "._-:/()#,@[]+=&;{}!$* ";
  constexpr std::size_t kLongest = 255;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || kSigns.contains(static_cast<char>(c));
  });
}

/// The permissions of a request, which can also name a single one with members of its own.
json::array permissions_in(const json::object& input) {
  json::array out;
  if (const json::value* it = input.if_contains("IpPermissions")) out = it->get_array();
  json::object one;
  for (const char* member : {"IpProtocol", "FromPort", "ToPort"}) {
    if (const json::value* it = input.if_contains(member)) one[member] = *it;
  }
  if (const json::value* it = input.if_contains("CidrIp")) one["IpRanges"] = json::array{json::object{{"CidrIp", *it}}};
  if (const json::value* it = input.if_contains("SourceSecurityGroupName")) {
    json::object pair{{"GroupName", *it}};
    if (const json::value* owner = input.if_contains("SourceSecurityGroupOwnerId")) pair["UserId"] = *owner;
    one["UserIdGroupPairs"] = json::array{std::move(pair)};
    // AWS allows all traffic from a group that is named like this.
    one.emplace("IpProtocol", "-1");
  }
  if (!one.empty()) out.push_back(std::move(one));
  return out;
}

}  // namespace

const Ec2Api::Kind Ec2Api::kSecurityGroups{
    .type = "security-group",
    .prefix = "sg-",
    .documents = "ec2.security-group",
    .list = "SecurityGroups",
    .id = {"GroupIds", "GroupId", "InvalidGroup.NotFound"},
    .name = {"GroupNames", "GroupName", "InvalidGroup.NotFound"},
    .filters = {{"group-id", "GroupId"},
                {"group-name", "GroupName"},
                {"vpc-id", "VpcId"},
                {"description", "Description"},
                {"owner-id", "OwnerId"},
                {"ip-permission.cidr", "IpPermissions.IpRanges.CidrIp"},
                {"ip-permission.ipv6-cidr", "IpPermissions.Ipv6Ranges.CidrIpv6"},
                {"ip-permission.from-port", "IpPermissions.FromPort"},
                {"ip-permission.to-port", "IpPermissions.ToPort"},
                {"ip-permission.protocol", "IpPermissions.IpProtocol"},
                {"ip-permission.group-id", "IpPermissions.UserIdGroupPairs.GroupId"}},
    .load = &Ec2Api::load_security_groups};

void Ec2Api::serve_security_groups() {
  on_edit("CreateSecurityGroup", &Ec2Api::create_security_group);
  on_edit("DeleteSecurityGroup", &Ec2Api::delete_security_group);
  on_edit("AuthorizeSecurityGroupIngress", &Ec2Api::authorize_ingress);
  on_edit("RevokeSecurityGroupIngress", &Ec2Api::revoke_ingress);
  on_read("DescribeSecurityGroups", &Ec2Api::describe_security_groups);
}

// The default group has a document from its first change on.
Ec2Api::Found<std::vector<Stored>> Ec2Api::load_security_groups(const Call& /*call*/) const {
  auto all = documents(kSecurityGroups).all();
  if (!all) return std::unexpected(fault(all.error()));
  if (std::ranges::find(*all, "default", &Stored::name) == all->end()) {
    const json::object from_itself{
        {"SecurityGroupRuleId", "sgr-0d0be700000000001"}, {"IpProtocol", "-1"}, {"ReferencedGroupId", kDefaultGroup}};
    all->insert(all->begin(), Stored{"default",
                                     {{"Description", "default VPC security group"},
                                      {"GroupName", "default"},
                                      {"GroupId", kDefaultGroup},
                                      {"rules", json::array{from_itself}}}});
  }
  for (Stored& it : *all) {
    it.value["OwnerId"] = account().id;
    it.value["VpcId"] = kVpc;
  }
  return std::move(*all);
}

EditOutcome Ec2Api::create_security_group(const Call& call) const {
  const std::string name(member_text(call.input, "GroupName"));
  if (!is_group_text(name) || name.starts_with(kSecurityGroups.prefix)) {
    return failed(
        "InvalidParameterValue",
        "GroupName must have 1 to 255 letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*, and not begin with sg-");
  }
  if (!is_group_text(member_text(call.input, "Description"))) {
    return failed("InvalidParameterValue",
                  "GroupDescription must have 1 to 255 letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*");
  }
  if (call.input.contains("VpcId") && member_text(call.input, "VpcId") != kVpc) {
    return failed("InvalidVpcID.NotFound",
                  concat("The vpc ID '", member_text(call.input, "VpcId"), "' does not exist"));
  }
  auto known = find(kSecurityGroups, call, kSecurityGroups.name, name);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) {
    return failed("InvalidGroup.Duplicate",
                  concat("The security group '", name, "' already exists for VPC '", kVpc, "'"));
  }
  auto tags = tags_in(kSecurityGroups, call);
  if (!tags) return std::unexpected(std::move(tags.error()));
  const std::string id = new_ec2_id(kSecurityGroups.prefix);
  json::object group{
      {"GroupId", id}, {"GroupName", name}, {"Description", call.input.at("Description")}, {"rules", json::array()}};
  json::object output{{"GroupId", id}};
  if (!tags->empty()) output["Tags"] = group["Tags"] = std::move(*tags);
  return Edit{{documents(kSecurityGroups).add(name, group)}, std::move(output)};
}

EditOutcome Ec2Api::delete_security_group(const Call& call) const {
  auto group = chosen(kSecurityGroups, call);
  if (!group) return std::unexpected(std::move(group.error()));
  const std::string id(member_text(group->value, "GroupId"));
  if (id == kDefaultGroup) {
    return failed("CannotDelete",
                  concat("the specified group: \"", id, "\" name: \"default\" cannot be deleted by a user"));
  }
  auto all = all_of(kSecurityGroups, call);
  if (!all) return std::unexpected(std::move(all.error()));
  for (const Stored& it : *all) {
    if (it.name != group->name && has_rule_from(it.value, id)) {
      return failed("DependencyViolation",
                    concat("resource ", id, " has a dependent object: a rule of ", member_text(it.value, "GroupId")));
    }
  }
  return Edit{{documents(kSecurityGroups).remove(*group)}};
}

Ec2Api::Found<Ec2Api::Array> Ec2Api::rules_in(const Call& call, std::vector<Stored>& referred) const {
  auto groups = all_of(kSecurityGroups, call);
  if (!groups) return std::unexpected(std::move(groups.error()));
  const auto find_source = [&](const Object& pair) -> Found<std::string> {
    const std::string_view member = pair.contains("GroupId") ? "GroupId" : "GroupName";
    const bool is_ours = !pair.contains("UserId") || member_text(pair, "UserId") == account().id;
    const Stored* group = find_by(*groups, member, member_text(pair, member));
    if (group == nullptr || !is_ours) {
      return failed("InvalidGroup.NotFound",
                    concat("The security group '", member_text(pair, member), "' does not exist"));
    }
    referred.push_back(*group);
    return std::string(member_text(group->value, "GroupId"));
  };
  Array out;
  for (const json::value& permission : permissions_in(call.input)) {
    auto rules = rules_of(permission.get_object(), find_source);
    if (!rules) return std::unexpected(std::move(rules.error()));
    if (out.size() + rules->size() > kMostRules) return too_many_rules();
    for (json::value& rule : *rules) {
      const auto is_same = [&](const json::value& it) { return is_same_rule(it.get_object(), rule.get_object()); };
      if (std::ranges::any_of(out, is_same)) {
        return failed("InvalidParameterValue", "The same permission must not appear multiple times");
      }
      out.push_back(std::move(rule));
    }
  }
  return out;
}

EditOutcome Ec2Api::authorize_ingress(const Call& call) const {
  auto group = chosen(kSecurityGroups, call);
  if (!group) return std::unexpected(std::move(group.error()));
  std::vector<Stored> referred;
  auto added = rules_in(call, referred);
  if (!added) return std::unexpected(std::move(added.error()));
  if (added->empty()) return failed("MissingParameter", "The request must contain the parameter IpPermissions");
  json::array& rules = group->value["rules"].get_array();
  json::array shown;
  for (json::value& it : *added) {
    json::object& rule = it.get_object();
    const auto is_same = [&](const json::value& other) { return is_same_rule(other.get_object(), rule); };
    if (std::ranges::any_of(rules, is_same)) {
      return failed("InvalidPermission.Duplicate",
                    concat("the specified rule \"", rule_text(rule), "\" already exists"));
    }
    rule["SecurityGroupRuleId"] = new_ec2_id("sgr-");
    shown.push_back(shown_rule(rule, member_text(group->value, "GroupId"), account().id));
    rules.push_back(std::move(rule));
  }
  if (rules.size() > kMostRules) return too_many_rules();
  Edit edit{{documents(kSecurityGroups).replace(*group)}, {{"Return", true}, {"SecurityGroupRules", std::move(shown)}}};
  // The groups that the rules refer to are written too: they must still be there. The default group always is.
  std::set<std::string> written{group->name, "default"};
  for (const Stored& it : referred) {
    if (written.insert(it.name).second) edit.changes.push_back(documents(kSecurityGroups).replace(it));
  }
  return edit;
}

EditOutcome Ec2Api::revoke_ingress(const Call& call) const {
  auto group = chosen(kSecurityGroups, call);
  if (!group) return std::unexpected(std::move(group.error()));
  std::vector<Stored> referred;
  auto removed = rules_in(call, referred);
  if (!removed) return std::unexpected(std::move(removed.error()));
  json::array& rules = group->value["rules"].get_array();
  for (const json::value& it : *removed) {
    const auto is_same = [&](const json::value& rule) { return is_same_rule(rule.get_object(), it.get_object()); };
    const auto found = std::ranges::find_if(rules, is_same);
    if (found == rules.end()) {
      return failed("InvalidPermission.NotFound", "The specified rule does not exist in this security group.");
    }
    rules.erase(found);
  }
  const json::value* ids = call.input.if_contains("SecurityGroupRuleIds");
  for (std::size_t i = 0; ids != nullptr && i < ids->get_array().size(); ++i) {
    const json::value& id = ids->get_array()[i];
    const auto has_id = [&](const json::value& rule) { return rule.at("SecurityGroupRuleId") == id; };
    const auto found = std::ranges::find_if(rules, has_id);
    if (found == rules.end()) {
      return failed("InvalidSecurityGroupRuleId.NotFound",
                    concat("The security group rule ID '", std::string_view(id.get_string()), "' does not exist"));
    }
    rules.erase(found);
  }
  if (removed->empty() && ids == nullptr) {
    return failed("MissingParameter", "The request must contain the parameter IpPermissions or SecurityGroupRuleIds");
  }
  return Edit{{documents(kSecurityGroups).replace(*group)}, {{"Return", true}}};
}

Outcome Ec2Api::describe_security_groups(const Call& call) const {
  auto all = all_of(kSecurityGroups, call);
  if (!all) return std::unexpected(std::move(all.error()));
  json::array shown;
  for (Stored& it : *all) {
    it.value["IpPermissions"] = permissions_of(it.value.at("rules").get_array(), account().id);
    it.value["IpPermissionsEgress"] = permissions_of(open_egress(), account().id);
    it.value.erase("rules");
    shown.push_back(std::move(it.value));
  }
  return describe(kSecurityGroups, call, std::move(shown));
}

}  // namespace drover::aws
