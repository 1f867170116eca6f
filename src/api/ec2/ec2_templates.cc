#include <algorithm>
#include <cctype>

#include "api/ec2/ec2.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

bool is_template_name(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || std::string_view("().-/_").contains(static_cast<char>(c));
  });
}

/// As clients see it.
json::object shown_template(json::object stored) {
  stored.erase("ClientToken");
  return stored;
}

}  // namespace

const Ec2Api::Kind Ec2Api::kTemplates{
    .type = "launch-template",
    .prefix = "lt-",
    .documents = "ec2.launch-template",
    .list = "LaunchTemplates",
    .id = {"LaunchTemplateIds", "LaunchTemplateId", "InvalidLaunchTemplateId.NotFound"},
    .name = {"LaunchTemplateNames", "LaunchTemplateName", "InvalidLaunchTemplateName.NotFoundException"},
    .filters = {{"launch-template-id", "LaunchTemplateId"}, {"launch-template-name", "LaunchTemplateName"}},
    .most = 200};

void Ec2Api::serve_templates() {
  on_edit("CreateLaunchTemplate", &Ec2Api::create_template);
  on_edit("ModifyLaunchTemplate", &Ec2Api::modify_template);
  on_edit("DeleteLaunchTemplate", &Ec2Api::delete_template);
  on_read("DescribeLaunchTemplates", &Ec2Api::describe_templates);
}

EditOutcome Ec2Api::create_template(const Call& call) const {
  const std::string name(member_text(call.input, "LaunchTemplateName"));
  if (!is_template_name(name)) {
    return failed("InvalidLaunchTemplateName.MalformedException",
                  "LaunchTemplateName must have letters, digits and ().-/_ only");
  }
  auto known = find(kTemplates, call, kTemplates.name, name);
  if (!known) return std::unexpected(std::move(known.error()));
  const std::string_view token = member_text(call.input, "ClientToken");
  if (*known && !token.empty() && member_text((*known)->value, "ClientToken") == token) {
    return Edit{{}, {{"LaunchTemplate", shown_template(std::move((*known)->value))}}};
  }
  if (*known) {
    return failed("InvalidLaunchTemplateName.AlreadyExistsException",
                  concat("Launch template name already in use: ", name));
  }
  auto tags = tags_in(kTemplates, call);
  if (!tags) return std::unexpected(std::move(tags.error()));
  const std::string id = new_ec2_id(kTemplates.prefix);
  json::object made{{"LaunchTemplateId", id},    {"LaunchTemplateName", name},
                    {"CreateTime", now_ms_()},   {"CreatedBy", access().arn_of(call.asker.caller)},
                    {"DefaultVersionNumber", 1}, {"LatestVersionNumber", 1}};
  if (!tags->empty()) made["Tags"] = std::move(*tags);
  if (!token.empty()) made["ClientToken"] = token;
  return Edit{{documents(kTemplates).add(name, made), add_template_version(id, new_template_version(call, 1))},
              {{"LaunchTemplate", shown_template(made)}}};
}

EditOutcome Ec2Api::modify_template(const Call& call) const {
  auto found = chosen(kTemplates, call);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!call.input.contains("DefaultVersion")) {
    return failed("MissingParameter", "The request must contain the parameter SetDefaultVersion");
  }
  auto number = version_number(*found, member_text(call.input, "DefaultVersion"));
  if (!number) return std::unexpected(std::move(number.error()));
  found->value["DefaultVersionNumber"] = *number;
  return Edit{{documents(kTemplates).replace(*found)}, {{"LaunchTemplate", shown_template(found->value)}}};
}

EditOutcome Ec2Api::delete_template(const Call& call) const {
  auto found = chosen(kTemplates, call);
  if (!found) return std::unexpected(std::move(found.error()));
  Edit edit{{documents(kTemplates).remove(*found)}};
  for (std::int64_t number = 1; number <= found->value.at("LatestVersionNumber").get_int64(); ++number) {
    auto version = template_version(*found, number);
    if (!version) return std::unexpected(std::move(version.error()));
    edit.changes.push_back(template_versions().remove(*version));
  }
  edit.output["LaunchTemplate"] = shown_template(std::move(found->value));
  return edit;
}

Outcome Ec2Api::describe_templates(const Call& call) const {
  auto all = all_of(kTemplates, call);
  if (!all) return std::unexpected(std::move(all.error()));
  json::array shown;
  for (Stored& it : *all) shown.push_back(shown_template(std::move(it.value)));
  return describe(kTemplates, call, std::move(shown));
}

}  // namespace drover::aws
