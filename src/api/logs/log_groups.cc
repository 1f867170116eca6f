// Groups and streams that clients make, and what they say about any group: retention, tags.
#include <array>

#include "api/aws/page.h"
#include "api/logs/logs.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::array kRetentionDays{1,   3,   5,   7,   14,   30,   60,   90,   120,  150,  180,
                                    365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653};

std::string group_name_in(const json::object& input) {
  return std::string(input.at("logGroupName").get_string());
}

bool is_log_name(std::string_view name, std::string_view signs) {
  return std::ranges::all_of(
      name, [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || signs.contains(c); });
}

std::unexpected<Fault> bad_parameter(std::string message) {
  return failed("InvalidParameterException", std::move(message));
}

}  // namespace

std::string group_in_arn(std::string_view arn) {
  constexpr std::string_view kBefore = ":log-group:";
  const std::size_t at = arn.find(kBefore);
  if (at == std::string_view::npos) return {};
  std::string_view name = arn.substr(at + kBefore.size());
  if (name.ends_with(":*")) name.remove_suffix(2);
  return std::string(name);
}

void LogsApi::serve_groups() {
  constexpr auto submit = Action::submit;
  on_edit("CreateLogGroup", submit, [this](const Call& call) { return create_group(call); });
  on_edit("DeleteLogGroup", submit, [this](const Call& call) { return delete_group(call); });
  on_edit("CreateLogStream", submit, [this](const Call& call) { return create_stream(call); });
  on_edit("DeleteLogStream", submit, [this](const Call& call) { return delete_stream(call); });
  on_edit("PutRetentionPolicy", submit, [this](const Call& call) { return put_retention(call); });
  on_edit("DeleteRetentionPolicy", submit, [this](const Call& call) {
    return change_group(call, [](json::object& group) { group.erase("retentionInDays"); });
  });
  on_edit("TagLogGroup", submit, [this](const Call& call) { return tag(call); });
  on_edit("TagResource", submit, [this](const Call& call) { return tag(call); });
  on_edit("UntagLogGroup", submit, [this](const Call& call) { return untag(call); });
  on_edit("UntagResource", submit, [this](const Call& call) { return untag(call); });
  on_read("ListTagsLogGroup", Action::read, [this](const Call& call) { return list_tags(call); });
  on_read("ListTagsForResource", Action::read, [this](const Call& call) { return list_tags(call); });
  on_read("DescribeLogGroups", Action::read, [this](const Call& call) { return describe_groups(call); });
}

LogsApi::Found<Stored> LogsApi::find_group(const std::string& name) const {
  auto found = groups().find(name);
  if (!found) return std::unexpected(fault(found.error()));
  if (*found) return std::move(**found);
  if (name == kBatchLogGroup) return Stored{name, {{"creationTime", 0}}, 0, 0};
  return no_such_log("group");
}

LogsApi::Found<Stored> LogsApi::group_of(const Call& call) const {
  if (const json::value* arn = call.input.if_contains("resourceArn"))
    return find_group(group_in_arn(arn->get_string()));
  return find_group(group_name_in(call.input));
}

EditOutcome LogsApi::create_group(const Call& call) {
  const std::string name = group_name_in(call.input);
  if (!is_log_name(name, "_-/.#")) {
    return bad_parameter("logGroupName must have letters, digits and _ - / . # only");
  }
  if (call.input.contains("kmsKeyId"))
    return bad_parameter("kmsKeyId is not supported: logs are not encrypted by group");
  if (find_group(name)) return failed("ResourceAlreadyExistsException", "The specified log group already exists");
  json::object group{{"creationTime", now_ms_()}};
  if (const json::value* tags = call.input.if_contains("tags")) group["tags"] = *tags;
  return Edit{{groups().add(name, group)}};
}

EditOutcome LogsApi::delete_group(const Call& call) {
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  if (group->name == kBatchLogGroup) {
    return bad_parameter("the log group /aws/batch/job holds the logs of jobs, which go with their jobs: 'drover rm'");
  }
  auto all = streams().all();
  if (!all) return std::unexpected(fault(all.error()));
  Edit edit{{groups().remove(*group)}};
  for (const Stored& it : *all) {
    if (it.value.at("group") == json::value(group->name)) edit.changes.push_back(streams().remove(it));
  }
  return edit;
}

EditOutcome LogsApi::create_stream(const Call& call) {
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  if (group->name == kBatchLogGroup) {
    return bad_parameter("the streams of the log group /aws/batch/job are made by jobs");
  }
  const std::string stream(call.input.at("logStreamName").get_string());
  if (stream.find_first_of(":*") != std::string::npos) return bad_parameter("logStreamName must not have ':' or '*'");
  const std::string name = concat(group->name, ":", stream);
  auto known = streams().find(name);
  if (!known) return std::unexpected(fault(known.error()));
  if (*known) return failed("ResourceAlreadyExistsException", "The specified log stream already exists");
  // The group is written too: it must still be there.
  return Edit{{groups().replace(*group),
               streams().add(name, {{"group", group->name}, {"name", stream}, {"creationTime", now_ms_()}})}};
}

EditOutcome LogsApi::delete_stream(const Call& call) {
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  auto known = streams().find(concat(group->name, ":", std::string_view(call.input.at("logStreamName").get_string())));
  if (!known) return std::unexpected(fault(known.error()));
  if (!*known) return no_such_log("stream");
  return Edit{{streams().remove(**known)}};
}

EditOutcome LogsApi::change_group(const Call& call, const std::function<void(json::object& group)>& change) const {
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  change(group->value);
  return Edit{{groups().replace(*group)}};
}

EditOutcome LogsApi::put_retention(const Call& call) {
  const std::int64_t days = call.input.at("retentionInDays").get_int64();
  if (std::ranges::find(kRetentionDays, days) == kRetentionDays.end()) {
    return bad_parameter(concat("retentionInDays cannot be ", days,
                                "; CloudWatch Logs knows 1, 3, 5, 7, 14, 30, 60, 90 "
                                "and some longer times"));
  }
  return change_group(call, [&](json::object& group) { group["retentionInDays"] = days; });
}

EditOutcome LogsApi::tag(const Call& call) {
  constexpr std::size_t kMostTags = 50;
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  json::value& tags = group->value["tags"];
  if (!tags.is_object()) tags = json::object();
  for (const auto& [key, value] : call.input.at("tags").get_object()) tags.get_object()[key] = value;
  if (tags.get_object().size() > kMostTags)
    return failed("TooManyTagsException", "a log group can have at most 50 tags");
  return Edit{{groups().replace(*group)}};
}

EditOutcome LogsApi::untag(const Call& call) {
  const json::value* keys = call.input.if_contains("tagKeys");
  if (keys == nullptr) keys = &call.input.at("tags");
  return change_group(call, [&](json::object& group) {
    json::value& tags = group["tags"];
    if (!tags.is_object()) tags = json::object();
    for (const json::value& key : keys->get_array()) tags.get_object().erase(key.get_string());
  });
}

Outcome LogsApi::list_tags(const Call& call) {
  auto group = group_of(call);
  if (!group) return std::unexpected(std::move(group.error()));
  const json::value* tags = group->value.if_contains("tags");
  return json::object{{"tags", tags == nullptr ? json::value(json::object()) : *tags}};
}

Outcome LogsApi::describe_groups(const Call& call) {
  auto all = groups().all();
  if (!all) return std::unexpected(fault(all.error()));
  if (std::ranges::none_of(*all, [](const Stored& it) { return it.name == kBatchLogGroup; })) {
    auto jobs = find_group(std::string(kBatchLogGroup));
    if (!jobs) return std::unexpected(std::move(jobs.error()));
    const auto place = std::ranges::find_if(*all, [](const Stored& it) { return it.name > kBatchLogGroup; });
    all->insert(place, std::move(*jobs));
  }
  const json::value* prefix = call.input.if_contains("logGroupNamePrefix");
  const json::value* part = call.input.if_contains("logGroupNamePattern");
  json::array out;
  for (Stored& it : *all) {
    if (prefix != nullptr && !it.name.starts_with(std::string_view(prefix->get_string()))) continue;
    if (part != nullptr && !it.name.contains(std::string_view(part->get_string()))) continue;
    json::object shown = std::move(it.value);
    shown.erase("tags");
    shown["logGroupName"] = it.name;
    shown["arn"] = account().arn("logs", call.region, concat("log-group:", it.name, ":*"));
    shown["storedBytes"] = 0;
    out.push_back(std::move(shown));
  }
  return page_of({"nextToken", "limit", "InvalidParameterException"}, call.input, "logGroups", std::move(out));
}

Outcome LogsApi::describe_made_streams(const Call& call, const std::string& group) {
  if (auto known = find_group(group); !known) return std::unexpected(std::move(known.error()));
  auto all = streams().all();
  if (!all) return std::unexpected(fault(all.error()));
  const json::value* prefix = call.input.if_contains("logStreamNamePrefix");
  json::array out;
  for (const Stored& it : *all) {
    const std::string_view name = it.value.at("name").get_string();
    if (it.value.at("group") != json::value(group)) continue;
    if (prefix != nullptr && !name.starts_with(std::string_view(prefix->get_string()))) continue;
    out.push_back(
        json::object{{"logStreamName", name},
                     {"creationTime", it.value.at("creationTime")},
                     {"arn", account().arn("logs", call.region, concat("log-group:", group, ":log-stream:", name))},
                     {"storedBytes", 0}});
  }
  return page_of({"nextToken", "limit", "InvalidParameterException"}, call.input, "logStreams", std::move(out));
}

}  // namespace drover::aws
