#include <boost/json/array.hpp>

#include "api/batch/batch.h"

namespace drover::aws {

namespace json = boost::json;

// The tags of every resource are a document by its name, such as "job-queue/short": when they were changed after the
// resource was made. Until then the resource itself says them.
void BatchApi::serve_tags() {
  on_read("ListTagsForResource", Action::read, [this](const Call& call) -> Outcome {
    auto tags = tags_of(call);
    if (!tags) return std::unexpected(std::move(tags.error()));
    return json::object{{"tags", std::move(tags->value)}};
  });
  on_edit("TagResource", Action::submit, [this](const Call& call) { return tag(call); });
  on_edit("UntagResource", Action::submit, [this](const Call& call) { return untag(call); });
}

std::string resource_in(std::string_view arn) {
  std::size_t at = 0;
  for (int colons = 0; colons < 5; ++colons) {
    at = arn.find(':', at);
    if (at == std::string_view::npos) return {};
    ++at;
  }
  return std::string(arn.substr(at));
}

BatchApi::Found<json::object> BatchApi::own_tags(const Call& call, const std::string& resource) const {
  if (resource.empty()) {
    return client_error(
        concat("resourceArn ", std::string_view(call.input.at("resourceArn").get_string()), " is not an ARN"));
  }
  const std::size_t slash = resource.find('/');
  const std::string kind = resource.substr(0, slash);
  const std::string name = slash == std::string::npos ? "" : resource.substr(slash + 1);
  const auto in = [](const json::object& value) {
    const json::value* tags = value.if_contains("tags");
    return tags == nullptr ? json::object() : tags->get_object();
  };
  if (name.find('/') != std::string::npos) return client_error(concat(resource, " does not exist"));
  if (kind == "compute-environment") {
    auto found = find_environment(name);
    if (!found) return std::unexpected(std::move(found.error()));
    return in(found->value);
  }
  if (kind == "scheduling-policy") {
    auto found = find_policy(name);
    if (!found) return std::unexpected(std::move(found.error()));
    return in(found->value);
  }
  if (kind == "job-queue") {
    auto found = find_queue(name);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return client_error(concat(resource, " does not exist"));
    auto shown = queue_json(call, **found);
    if (!shown) return std::unexpected(std::move(shown.error()));
    return in(*shown);
  }
  if (kind == "job-definition") {
    if (name.find(':') == std::string::npos) return client_error("a job definition's ARN ends in its revision");
    auto found = find_definition(name);
    if (!found) return std::unexpected(std::move(found.error()));
    auto shown = definition_json(call, *found);
    if (!shown) return std::unexpected(std::move(shown.error()));
    return in(*shown);
  }
  const auto id = kind == "job" ? parse_job_id(name) : std::nullopt;
  const auto view = id ? find_job(*id) : std::nullopt;
  if (!view) return client_error(concat(resource, " does not exist"));
  auto shown = job_json(call, *id, *view);
  if (!shown) return std::unexpected(std::move(shown.error()));
  return in(*shown);
}

// Whoever may make such a resource may change its tags.
std::expected<void, Fault> BatchApi::may_tag(const Call& call) const {
  const std::string resource = resource_in(call.input.at("resourceArn").get_string());
  const bool is_job = resource.starts_with("job/") || resource.starts_with("job-definition/");
  if (is_job || call.asker.caller.has_session() || call.asker.caller.may(Action::administrate)) return {};
  return failed(
      "AccessDeniedException",
      concat("a key with scope '", to_string(call.asker.caller.scope), "' cannot change the tags of ", resource), 403);
}

BatchApi::Found<Stored> BatchApi::tags_of(const Call& call) const {
  const std::string resource = resource_in(call.input.at("resourceArn").get_string());
  auto own = own_tags(call, resource);
  if (!own) return std::unexpected(std::move(own.error()));
  auto changed = tags().find(resource);
  if (!changed) return std::unexpected(fault(changed.error()));
  if (*changed) return std::move(**changed);
  return Stored{resource, std::move(*own), 0, 0};
}

EditOutcome BatchApi::tag(const Call& call) {
  if (auto allowed = may_tag(call); !allowed) return std::unexpected(std::move(allowed.error()));
  constexpr std::size_t kMostTags = 50;
  constexpr std::size_t kLongestKey = 128;
  constexpr std::size_t kLongestValue = 256;
  auto now = tags_of(call);
  if (!now) return std::unexpected(std::move(now.error()));
  for (const auto& [key, value] : call.input.at("tags").get_object()) {
    if (key.empty() || key.size() > kLongestKey || value.get_string().size() > kLongestValue) {
      return client_error("tags must have keys of 1 to 128 bytes and values of at most 256");
    }
    now->value[key] = value;
  }
  if (now->value.size() > kMostTags) return client_error("a resource can have at most 50 tags");
  return Edit{{tags().replace(*now)}};
}

EditOutcome BatchApi::untag(const Call& call) {
  if (auto allowed = may_tag(call); !allowed) return std::unexpected(std::move(allowed.error()));
  auto now = tags_of(call);
  if (!now) return std::unexpected(std::move(now.error()));
  for (const json::value& key : call.input.at("tagKeys").get_array()) now->value.erase(key.get_string());
  return Edit{{tags().replace(*now)}};
}

std::expected<void, Fault> BatchApi::drop_tags(const std::string& resource,
                                               std::vector<SetDocuments::Change>& changes) const {
  auto changed = tags().find(resource);
  if (!changed) return std::unexpected(fault(changed.error()));
  if (*changed) changes.push_back(tags().remove(**changed));
  return {};
}

// What was changed replaces what a resource says itself.
std::expected<void, Fault> BatchApi::show_tags(const std::string& resource, json::object& shown) const {
  auto changed = tags().find(resource);
  if (!changed) return std::unexpected(fault(changed.error()));
  if (*changed) shown["tags"] = std::move((*changed)->value);
  return {};
}

}  // namespace drover::aws
