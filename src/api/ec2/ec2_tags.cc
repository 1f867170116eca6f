#include <algorithm>

#include "api/ec2/ec2.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

using TagMap = std::map<std::string, std::string>;

TagMap read_tags(const json::object& resource) {
  TagMap out;
  const json::value* tags = resource.if_contains("Tags");
  for (std::size_t i = 0; tags != nullptr && i < tags->get_array().size(); ++i) {
    const json::object& tag = tags->get_array()[i].get_object();
    out.emplace(member_text(tag, "Key"), member_text(tag, "Value"));
  }
  return out;
}

json::array tag_list(const TagMap& tags) {
  json::array out;
  for (const auto& [key, value] : tags) out.push_back(json::object{{"Key", key}, {"Value", value}});
  return out;
}

std::expected<void, Fault> check_tags(const TagMap& tags) {
  constexpr std::size_t kMostTags = 50;
  if (tags.size() > kMostTags) {
    return failed("TagLimitExceeded", concat("A resource can have at most ", kMostTags, " tags"));
  }
  if (std::ranges::any_of(tags, [](const auto& it) { return it.first.starts_with("aws:"); })) {
    return failed("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use");
  }
  return {};
}

}  // namespace

void Ec2Api::serve_tags() {
  on_edit("CreateTags", &Ec2Api::create_tags);
  on_edit("DeleteTags", &Ec2Api::delete_tags);
  on_read("DescribeTags", &Ec2Api::describe_tags);
}

const std::vector<const Ec2Api::Kind*>& Ec2Api::tagged_kinds() {
  static const std::vector<const Kind*> kinds{&kImages, &kKeyPairs, &kTemplates, &kSecurityGroups, &kSubnets, &kVpcs};
  return kinds;
}

Ec2Api::Found<json::array> Ec2Api::tags_in(const Kind& kind, const Call& call) {
  TagMap out;
  const json::value* specifications = call.input.if_contains("TagSpecifications");
  for (std::size_t i = 0; specifications != nullptr && i < specifications->get_array().size(); ++i) {
    const json::object& it = specifications->get_array()[i].get_object();
    if (const std::string_view type = member_text(it, "ResourceType"); type != kind.type) {
      return failed("InvalidParameterValue",
                    concat("'", type, "' is not a valid ResourceType of TagSpecifications for this operation; use '",
                           kind.type, "'"));
    }
    const json::value* tags = it.if_contains("Tags");
    for (std::size_t j = 0; tags != nullptr && j < tags->get_array().size(); ++j) {
      const json::object& tag = tags->get_array()[j].get_object();
      if (!out.emplace(member_text(tag, "Key"), member_text(tag, "Value")).second) {
        return failed("InvalidParameterValue", concat("Duplicate tag key '", member_text(tag, "Key"), "' specified."));
      }
    }
  }
  if (auto good = check_tags(out); !good) return std::unexpected(std::move(good.error()));
  return tag_list(out);
}

EditOutcome Ec2Api::change_tags(const Call& call, const std::function<void(Tags&)>& change) const {
  Edit edit;
  std::set<std::string_view> ids;
  for (const json::value& it : call.input.at("Resources").get_array()) ids.insert(it.get_string());
  for (const Kind* kind : tagged_kinds()) {
    if (std::ranges::none_of(ids, [&](std::string_view id) { return id.starts_with(kind->prefix); })) continue;
    auto all = all_of(*kind, call);
    if (!all) return std::unexpected(std::move(all.error()));
    for (auto id = ids.begin(); id != ids.end();) {
      if (!id->starts_with(kind->prefix)) {
        ++id;
        continue;
      }
      Stored* resource = find_by(*all, kind->id.member, *id);
      if (resource == nullptr) {
        return failed(std::string(kind->id.not_found), concat("The ", kind->type, " ID '", *id, "' does not exist"));
      }
      Tags tags = read_tags(resource->value);
      change(tags);
      if (auto good = check_tags(tags); !good) return std::unexpected(std::move(good.error()));
      resource->value["Tags"] = tag_list(tags);
      if (tags.empty()) resource->value.erase("Tags");
      edit.changes.push_back(documents(*kind).replace(*resource));
      id = ids.erase(id);
    }
  }
  if (!ids.empty()) return failed("InvalidID", concat("The ID '", *ids.begin(), "' is not valid"));
  return edit;
}

EditOutcome Ec2Api::create_tags(const Call& call) const {
  return change_tags(call, [&](Tags& tags) {
    for (const auto& [key, value] : read_tags(call.input)) tags.insert_or_assign(key, value);
  });
}

// A tag that is named with a value is deleted only if it has that value; without tags, all are deleted.
EditOutcome Ec2Api::delete_tags(const Call& call) const {
  return change_tags(call, [&](Tags& tags) {
    const json::value* named = call.input.if_contains("Tags");
    if (named == nullptr || named->get_array().empty()) return tags.clear();
    for (const json::value& it : named->get_array()) {
      const auto tag = tags.find(std::string(member_text(it.get_object(), "Key")));
      const json::value* value = it.get_object().if_contains("Value");
      if (tag != tags.end() && (value == nullptr || tag->second == std::string_view(value->get_string())))
        tags.erase(tag);
    }
  });
}

Outcome Ec2Api::describe_tags(const Call& call) const {
  static const Kind kind{
      .type = "tag",
      .prefix = {},
      .documents = {},
      .list = "Tags",
      .id = {},
      .name = {},
      .filters = {
          {"key", "Key"}, {"value", "Value"}, {"resource-id", "ResourceId"}, {"resource-type", "ResourceType"}}};
  json::array all;
  for (const Kind* of : tagged_kinds()) {
    auto resources = all_of(*of, call);
    if (!resources) return std::unexpected(std::move(resources.error()));
    for (const Stored& it : *resources) {
      for (const auto& [key, value] : read_tags(it.value)) {
        all.push_back(json::object{
            {"Key", key}, {"Value", value}, {"ResourceId", it.value.at(of->id.member)}, {"ResourceType", of->type}});
      }
    }
  }
  return describe(kind, call, std::move(all));
}

}  // namespace drover::aws
