#include <algorithm>

#include "api/aws/page.h"
#include "api/ec2/ec2.h"
#include "wire/aws/pattern.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::string_view kTagFilter = "tag:";

/// As filters write it.
std::string filter_text(const json::value& value) {
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_int64()) return concat(value.get_int64());
  return value.is_string() ? std::string(value.get_string()) : std::string();
}

/// What is at a path such as "IpPermissions.IpRanges.CidrIp"; many where lists are on the way.
void collect_texts(const json::value& from, std::string_view path, std::vector<std::string>& out) {
  if (from.is_array()) {
    for (const json::value& it : from.get_array()) collect_texts(it, path, out);
    return;
  }
  if (path.empty()) return out.push_back(filter_text(from));
  const std::size_t dot = std::min(path.find('.'), path.size());
  const json::value* member = from.is_object() ? from.get_object().if_contains(path.substr(0, dot)) : nullptr;
  if (member != nullptr) collect_texts(*member, path.substr(std::min(dot + 1, path.size())), out);
}

/// The values of one tag. What describe-tags lists is a tag itself.
void collect_tag(const json::value& resource, std::string_view key, std::vector<std::string>& out) {
  const auto add = [&](const json::object& tag) {
    if (member_text(tag, "Key") == key) out.emplace_back(member_text(tag, "Value"));
  };
  const json::value* tags = resource.get_object().if_contains("Tags");
  if (tags == nullptr) return add(resource.get_object());
  for (const json::value& it : tags->get_array()) add(it.get_object());
}

void remove_from(json::array& list, const auto& is_removed) {
  const auto removed = std::ranges::remove_if(list, is_removed);
  list.erase(removed.begin(), removed.end());
}

/// One filter of a request.
struct ResourceFilter {
  std::string_view path;  // of a member; empty: of a tag
  std::string tag;
  std::vector<Pattern> patterns;

  bool takes(const json::value& resource) const {
    std::vector<std::string> texts;
    if (path.empty()) {
      collect_tag(resource, tag, texts);
    } else {
      collect_texts(resource, path, texts);
    }
    return std::ranges::any_of(texts, [&](const std::string& text) {
      return std::ranges::any_of(
          patterns, [&](const Pattern& pattern) { return pattern.matches(text, Comparison::exact, {}) == Match::yes; });
    });
  }
};

using FilterPaths = std::vector<std::pair<std::string_view, std::string_view>>;

std::expected<ResourceFilter, Fault> resource_filter(const FilterPaths& paths, bool has_tags,
                                                     const json::object& from) {
  ResourceFilter out;
  const std::string_view name = member_text(from, "Name");
  const auto known = std::ranges::find(paths, name, &FilterPaths::value_type::first);
  if (known != paths.end()) {
    out.path = known->second;
  } else if (has_tags && name.starts_with(kTagFilter) && name != kTagFilter) {
    out.tag = name.substr(kTagFilter.size());
  } else {
    return failed("InvalidParameterValue", concat("The filter '", name, "' is invalid"));
  }
  const json::value* values = from.if_contains("Values");
  if (values == nullptr || values->get_array().empty()) {
    return failed("InvalidParameterValue", concat("The filter '", name, "' has no Values"));
  }
  for (const json::value& it : values->get_array()) {
    out.patterns.emplace_back(it.get_string(), Wildcards::expanded, Variables::literal);
  }
  return out;
}

}  // namespace

// An id that does not exist is an error; a filter that matches nothing is not.
Outcome Ec2Api::describe(const Kind& kind, const Call& call, Array all) {
  for (const Key& key : {kind.id, kind.name}) {
    const json::value* asked = call.input.if_contains(key.asked);
    if (asked == nullptr || asked->get_array().empty()) continue;
    const json::array& wanted = asked->get_array();
    for (const json::value& it : wanted) {
      if (std::ranges::none_of(all, [&](const json::value& one) { return one.at(key.member) == it; })) {
        return failed(std::string(key.not_found), concat("'", std::string_view(it.get_string()), "' does not exist"));
      }
    }
    remove_from(all,
                [&](const json::value& one) { return std::ranges::find(wanted, one.at(key.member)) == wanted.end(); });
  }
  FilterPaths paths = kind.filters;
  if (!kind.documents.empty()) paths.insert(paths.end(), {{"tag-key", "Tags.Key"}, {"tag-value", "Tags.Value"}});
  const json::value* filters = call.input.if_contains("Filters");
  for (std::size_t i = 0; filters != nullptr && i < filters->get_array().size(); ++i) {
    auto filter = resource_filter(paths, !kind.type.empty(), filters->get_array()[i].get_object());
    if (!filter) return std::unexpected(std::move(filter.error()));
    remove_from(all, [&](const json::value& it) { return !filter->takes(it); });
  }
  if (call.operation->output->find("NextToken") == nullptr) return json::object{{kind.list, std::move(all)}};
  json::object page = call.input;
  page.emplace("MaxResults", kind.most);
  return page_of({"NextToken", "MaxResults", "InvalidNextToken"}, page, kind.list, std::move(all));
}

Outcome Ec2Api::describe(const Kind& kind, const Call& call) const {
  auto all = all_of(kind, call);
  if (!all) return std::unexpected(std::move(all.error()));
  json::array shown;
  for (Stored& it : *all) shown.push_back(std::move(it.value));
  return describe(kind, call, std::move(shown));
}

}  // namespace drover::aws
