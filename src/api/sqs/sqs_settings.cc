// What of a queue is changed: its attributes, tags and permissions.
#include <algorithm>
#include <boost/json/array.hpp>

#include "api/sqs/queue_policy.h"
#include "api/sqs/sqs.h"
#include "api/sqs/sqs_fault.h"

namespace drover::aws {

namespace json = boost::json;

namespace {
std::vector<std::string> texts_in(const json::value& list) {
  std::vector<std::string> out;
  for (const json::value& it : list.get_array()) out.emplace_back(it.get_string());
  return out;
}

}  // namespace

void SqsApi::edit(const Call& call, Change change, Answered answered, int more_times) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  SetStream command{.spec = **queue, .version = (*queue)->version};
  if (auto done = change(call, command.spec); !done) return answered(std::unexpected(std::move(done.error())));
  if (command.spec == static_cast<const StreamSpec&>(**queue)) return answered(json::object());
  auto later = std::make_shared<Answered>(std::move(answered));
  backend().post(std::move(command),
                 [this, call, change = std::move(change), later, more_times](const Result<Effect>& effect) {
                   if (effect) return (*later)(json::object());
                   if (effect.error().code != ErrorCode::conflict || more_times == 0) {
                     return (*later)(std::unexpected(fault_for(call.protocol, effect.error())));
                   }
                   edit(call, change, std::move(*later), more_times - 1);
                 });
}

SqsApi::Found<void> SqsApi::set_queue_attributes(const Call& call, StreamSpec& queue) const {
  return set_attributes(call.input.at("Attributes").get_object(), QueueAge::exists, neighbours(), queue);
}

SqsApi::Found<void> SqsApi::tag(const Call& call, StreamSpec& queue) const {
  return add_tags(call.input.at("Tags").get_object(), queue);
}

SqsApi::Found<void> SqsApi::untag(const Call& call, StreamSpec& queue) const {
  QueueText text = queue_text(queue);
  for (const std::string& key : texts_in(call.input.at("TagKeys"))) text.tags.erase(key);
  set_queue_text(queue, text);
  return {};
}

Outcome SqsApi::list_tags(const Call& call) const {
  auto queue = queue_of(call);
  if (!queue) return std::unexpected(std::move(queue.error()));
  json::object tags;
  for (const auto& [key, value] : queue_text(**queue).tags) tags[key] = value;
  return tags.empty() ? json::object() : json::object{{"Tags", std::move(tags)}};
}

SqsApi::Found<void> SqsApi::add_permission(const Call& call, StreamSpec& queue) const {
  QueueText text = queue_text(queue);
  std::string& policy = text.attributes["Policy"];
  auto more = with_permission(policy,
                              {.label = std::string(call.input.at("Label").get_string()),
                               .accounts = texts_in(call.input.at("AWSAccountIds")),
                               .actions = texts_in(call.input.at("Actions"))},
                              account().arn("sqs", call.region, queue.name));
  if (!more) return std::unexpected(std::move(more.error()));
  policy = std::move(*more);
  set_queue_text(queue, text);
  return {};
}

SqsApi::Found<void> SqsApi::remove_permission(const Call& call, StreamSpec& queue) const {
  QueueText text = queue_text(queue);
  const std::string* policy = text.attribute("Policy");
  auto less = without_permission(policy == nullptr ? "" : *policy, std::string(call.input.at("Label").get_string()));
  if (!less) return std::unexpected(std::move(less.error()));
  if (less->empty()) {
    text.attributes.erase("Policy");
  } else {
    text.attributes["Policy"] = std::move(*less);
  }
  set_queue_text(queue, text);
  return {};
}

}  // namespace drover::aws
