#include <algorithm>
#include <ranges>
#include <set>

#include "api/ec2/ec2.h"
#include "base/units.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

std::int64_t latest_version(const Stored& of) {
  return of.value.at("LatestVersionNumber").get_int64();
}

std::string version_document(std::string_view template_id, std::int64_t number) {
  return concat(template_id, "/", number);
}

/// As clients see it: the document does not have what the template says.
json::object shown_version(const Stored& of, json::object version) {
  version.erase("ClientToken");
  for (const char* member : {"LaunchTemplateId", "LaunchTemplateName"}) version[member] = of.value.at(member);
  version["DefaultVersion"] = of.value.at("DefaultVersionNumber") == version.at("VersionNumber");
  return version;
}

}  // namespace

void Ec2Api::serve_template_versions() {
  on_edit("CreateLaunchTemplateVersion", &Ec2Api::create_template_version);
  on_read("DescribeLaunchTemplateVersions", &Ec2Api::describe_template_versions);
}

Ec2Api::Object Ec2Api::new_template_version(const Call& call, std::int64_t number) const {
  json::object out{
      {"VersionNumber", number}, {"CreateTime", now_ms_()}, {"CreatedBy", access().arn_of(call.asker.caller)}};
  for (const char* member : {"VersionDescription", "LaunchTemplateData"}) {
    if (const json::value* it = call.input.if_contains(member)) out[member] = *it;
  }
  return out;
}

SetDocuments::Change Ec2Api::add_template_version(std::string_view template_id, const Object& version) const {
  return template_versions().add(version_document(template_id, version.at("VersionNumber").get_int64()), version);
}

Ec2Api::Found<std::int64_t> Ec2Api::version_number(const Stored& of, std::string_view version) const {
  if (version == "$Latest") return latest_version(of);
  if (version == "$Default") return of.value.at("DefaultVersionNumber").get_int64();
  const auto number = parse_number(version);
  if (!number) {
    return failed("InvalidParameterValue", concat("The version '", version, "' is not a number, $Latest or $Default"));
  }
  if (*number < 1 || *number > static_cast<std::uint64_t>(latest_version(of))) {
    return failed("InvalidLaunchTemplateId.VersionNotFound",
                  concat("Could not find the specified version ", version, " for the launch template with ID ",
                         member_text(of.value, "LaunchTemplateId")));
  }
  return static_cast<std::int64_t>(*number);
}

Ec2Api::Found<Stored> Ec2Api::template_version(const Stored& of, std::int64_t number) const {
  const std::string name = version_document(member_text(of.value, "LaunchTemplateId"), number);
  auto found = template_versions().find(name);
  if (!found) return std::unexpected(fault(found.error()));
  // The template was deleted after it was read.
  if (!*found) {
    return failed(std::string(kTemplates.id.not_found), concat("The launch-template '", of.name, "' does not exist"));
  }
  return std::move(**found);
}

EditOutcome Ec2Api::create_template_version(const Call& call) const {
  auto of = chosen(kTemplates, call);
  if (!of) return std::unexpected(std::move(of.error()));
  const std::string_view token = member_text(call.input, "ClientToken");
  for (std::int64_t number = latest_version(*of); !token.empty() && number >= 1; --number) {
    auto earlier = template_version(*of, number);
    if (!earlier) return std::unexpected(std::move(earlier.error()));
    if (member_text(earlier->value, "ClientToken") != token) continue;
    return Edit{{}, {{"LaunchTemplateVersion", shown_version(*of, std::move(earlier->value))}}};
  }
  json::object version = new_template_version(call, latest_version(*of) + 1);
  if (!token.empty()) version["ClientToken"] = token;
  if (call.input.contains("SourceVersion")) {
    auto number = version_number(*of, member_text(call.input, "SourceVersion"));
    if (!number) return std::unexpected(std::move(number.error()));
    auto source = template_version(*of, *number);
    if (!source) return std::unexpected(std::move(source.error()));
    json::object& data = version["LaunchTemplateData"].get_object();
    for (const auto& [member, value] : source->value.at("LaunchTemplateData").get_object()) data.emplace(member, value);
  }
  of->value["LatestVersionNumber"] = version.at("VersionNumber");
  return Edit{
      {documents(kTemplates).replace(*of), add_template_version(member_text(of->value, "LaunchTemplateId"), version)},
      {{"LaunchTemplateVersion", shown_version(*of, version)}}};
}

Ec2Api::Found<std::vector<Stored>> Ec2Api::templates_asked(const Call& call) const {
  const json::value* versions = call.input.if_contains("Versions");
  const bool fits_every_template = versions != nullptr && !versions->get_array().empty() &&
                                   std::ranges::all_of(versions->get_array(), [](const json::value& it) {
                                     return it.get_string().starts_with('$');
                                   });
  const bool names_one = call.input.contains(kTemplates.id.member) || call.input.contains(kTemplates.name.member);
  if (fits_every_template && !names_one) return all_of(kTemplates, call);
  auto one = chosen(kTemplates, call);
  if (!one) return std::unexpected(std::move(one.error()));
  return std::vector{std::move(*one)};
}

Ec2Api::Found<std::set<std::int64_t>> Ec2Api::versions_asked(const Stored& of, const Call& call) const {
  const json::value* versions = call.input.if_contains("Versions");
  const json::value* least = call.input.if_contains("MinVersion");
  const json::value* most = call.input.if_contains("MaxVersion");
  std::set<std::int64_t> out;
  if (versions != nullptr && !versions->get_array().empty()) {
    if (least != nullptr || most != nullptr) {
      return failed("InvalidParameterCombination", "Versions cannot be combined with MinVersion or MaxVersion");
    }
    for (const json::value& it : versions->get_array()) {
      auto number = version_number(of, it.get_string());
      if (!number) return std::unexpected(std::move(number.error()));
      out.insert(*number);
    }
    return out;
  }
  const auto first = least == nullptr ? Result<std::uint64_t>(1) : parse_number(least->get_string());
  const auto last = most == nullptr ? Result<std::uint64_t>(latest_version(of)) : parse_number(most->get_string());
  if (!first || !last) return failed("InvalidParameterValue", "MinVersion and MaxVersion must be numbers");
  for (std::int64_t number = 1; number <= latest_version(of); ++number) {
    const auto it = static_cast<std::uint64_t>(number);
    if (it >= *first && it <= *last) out.insert(number);
  }
  return out;
}

// The newest comes first.
Outcome Ec2Api::describe_template_versions(const Call& call) const {
  static const Kind kind{.type = {},
                         .prefix = {},
                         .documents = {},
                         .list = "LaunchTemplateVersions",
                         .id = {},
                         .name = {},
                         .filters = {{"ebs-optimized", "LaunchTemplateData.EbsOptimized"},
                                     {"iam-instance-profile", "LaunchTemplateData.IamInstanceProfile.Arn"},
                                     {"image-id", "LaunchTemplateData.ImageId"},
                                     {"instance-type", "LaunchTemplateData.InstanceType"},
                                     {"is-default-version", "DefaultVersion"}},
                         .most = 200};
  auto templates = templates_asked(call);
  if (!templates) return std::unexpected(std::move(templates.error()));
  json::array shown;
  for (const Stored& of : *templates) {
    auto numbers = versions_asked(of, call);
    if (!numbers) return std::unexpected(std::move(numbers.error()));
    for (const std::int64_t number : *numbers | std::views::reverse) {
      auto version = template_version(of, number);
      if (!version) return std::unexpected(std::move(version.error()));
      shown.push_back(shown_version(of, std::move(version->value)));
    }
  }
  return describe(kind, call, std::move(shown));
}

}  // namespace drover::aws
