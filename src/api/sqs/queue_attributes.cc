#include "api/sqs/queue_attributes.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "api/sqs/sqs_fault.h"
#include "base/units.h"
#include "wire/aws/policy.h"

namespace drover::aws {
namespace {

namespace json = boost::json;
using Done = std::expected<void, Fault>;

/// A number of seconds that the core obeys.
struct SecondsAttribute {
  std::string_view name;
  std::int64_t StreamSpec::* kept;
  std::uint64_t least;
  std::uint64_t most;
};
constexpr std::array<SecondsAttribute, 4> kSeconds{{
    {"VisibilityTimeout", &StreamSpec::visibility_ms, 0, kLongestVisibilityMs / 1000},
    {"DelaySeconds", &StreamSpec::delay_ms, 0, kLongestDelayMs / 1000},
    {"MessageRetentionPeriod", &StreamSpec::retention_ms, kShortestRetentionMs / 1000, kLongestRetentionMs / 1000},
    {"ReceiveMessageWaitTimeSeconds", &StreamSpec::receive_wait_ms, 0, kLongestReceiveWaitMs / 1000},
}};

/// What is kept, returned, and has no effect here.
constexpr std::array<std::string_view, 3> kKmsAttributes{"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds",
                                                         "SqsManagedSseEnabled"};
constexpr std::array<std::string_view, 4> kFifoAttributes{"FifoQueue", "ContentBasedDeduplication",
                                                          "DeduplicationScope", "FifoThroughputLimit"};
constexpr std::array<std::string_view, 3> kCounts{
    "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"};
constexpr std::array<std::string_view, 8> kOthers{
    "All",      "MaximumMessageSize", "Policy",           "RedrivePolicy",
    "QueueArn", "RedriveAllowPolicy", "CreatedTimestamp", "LastModifiedTimestamp"};
constexpr std::uint64_t kLeastMaximumSize = 1024;
constexpr std::uint64_t kLeastKeyReuseSeconds = 60;
constexpr std::uint64_t kMostKeyReuseSeconds = 86'400;
constexpr std::size_t kMostSourceQueues = 10;

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::unexpected<Fault> bad_attribute(std::string_view name) {
  return refused(SqsError::bad_attribute_value, concat("Invalid value for the parameter ", name, "."));
}

std::unexpected<Fault> unknown_attribute(std::string_view name) {
  return refused(SqsError::bad_attribute_name, concat("Unknown Attribute ", utf8(name), "."));
}

std::optional<std::uint64_t> number_within(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto number = parse_number(text);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

std::optional<bool> truth(std::string_view text) {
  const std::string word = in_small_letters(text);
  if (word != "true" && word != "false") return std::nullopt;
  return word == "true";
}

std::optional<json::object> object_of(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::string string_or_none(const json::object& object, std::string_view name) {
  const json::value* it = object.if_contains(name);
  return it != nullptr && it->is_string() ? std::string(it->get_string()) : std::string();
}

/// "5" and 5 alike.
std::optional<std::uint64_t> receive_count(const json::value& value) {
  if (value.is_string()) return number_within(value.get_string(), 1, kMostReceivesBeforeDead);
  if (!value.is_int64() || value.get_int64() < 1) return std::nullopt;
  const auto number = static_cast<std::uint64_t>(value.get_int64());
  return number > kMostReceivesBeforeDead ? std::nullopt : std::optional(number);
}

Done set_redrive(std::string_view text, const QueueNeighbours& neighbours, StreamSpec& spec) {
  if (text.empty()) {
    spec.max_receives = 0;
    spec.dead_letters.clear();
    return {};
  }
  const auto bad = [&](std::string_view reason) { return bad_value("RedrivePolicy", text, reason); };
  const auto policy = object_of(text);
  if (!policy) return bad("Redrive policy is not a valid JSON map.");
  for (const std::string_view name : {"deadLetterTargetArn", "maxReceiveCount"}) {
    if (!policy->contains(name)) {
      return bad(concat("Redrive policy does not contain mandatory attribute: ", name, "."));
    }
  }
  if (policy->size() > 2)
    return bad("Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].");
  const auto count = receive_count(policy->at("maxReceiveCount"));
  if (!count) {
    return bad(concat("Invalid value for maxReceiveCount: ", json::serialize(policy->at("maxReceiveCount")),
                      ", valid values are from 1 to ", kMostReceivesBeforeDead, " both inclusive."));
  }
  const std::string name = queue_in_arn(string_or_none(*policy, "deadLetterTargetArn"), neighbours.account);
  const std::shared_ptr<const Stream> target = name.empty() ? nullptr : neighbours.find(name);
  if (!target) return bad("Dead letter target does not exist or is not configured correctly.");
  if (name == spec.name) return bad("A queue cannot be its own dead-letter queue.");
  if (target->fifo != spec.fifo) return bad("Dead-letter queue must be same type of queue as the source.");
  if (!takes_dead_letters_of(*target, spec.name, neighbours.account)) {
    return bad("The redrive allow policy of the dead-letter queue does not permit this source queue.");
  }
  spec.max_receives = *count;
  spec.dead_letters = name;
  return {};
}

Done check_redrive_allow(std::string_view text) {
  const auto bad = [&](std::string_view reason) { return bad_value("RedriveAllowPolicy", text, reason); };
  const auto policy = object_of(text);
  if (!policy) return bad("Redrive allow policy is not a valid JSON map.");
  const std::string permission = string_or_none(*policy, "redrivePermission");
  if (!contains(std::array<std::string_view, 3>{"allowAll", "denyAll", "byQueue"}, permission)) {
    return bad("Supported values for redrivePermission are [allowAll, byQueue, denyAll].");
  }
  const json::value* sources = policy->if_contains("sourceQueueArns");
  if ((sources != nullptr) != (permission == "byQueue")) {
    return bad("sourceQueueArns is required with redrivePermission byQueue, and only with that.");
  }
  if (sources == nullptr) return {};
  const bool is_good = sources->is_array() && !sources->get_array().empty() &&
                       sources->get_array().size() <= kMostSourceQueues &&
                       std::ranges::all_of(sources->get_array(), [](const json::value& it) { return it.is_string(); });
  if (!is_good) return bad(concat("sourceQueueArns must be a list of 1 to ", kMostSourceQueues, " ARNs of queues."));
  return {};
}

/// What the stream's text keeps; an empty value removes it.
Done set_kept(std::string_view name, const std::string& value, QueueText& text) {
  if (value.empty()) {
    if (const auto found = text.attributes.find(name); found != text.attributes.end()) text.attributes.erase(found);
    return {};
  }
  if (name == "Policy") {
    if (auto policy = policy_from_json(value, PolicyKind::resource); !policy) {
      return refused(SqsError::bad_attribute_value,
                     concat("Invalid value for the parameter Policy. Reason: ", policy.error().message));
    }
  } else if (name == "RedriveAllowPolicy") {
    if (auto good = check_redrive_allow(value); !good) return good;
  } else if (name == "KmsDataKeyReusePeriodSeconds") {
    if (!number_within(value, kLeastKeyReuseSeconds, kMostKeyReuseSeconds)) return bad_attribute(name);
  } else if (name == "SqsManagedSseEnabled") {
    if (!truth(value)) return bad_attribute(name);
  } else if (name == "FifoThroughputLimit" && value != "perQueue" && value != "perMessageGroupId") {
    return bad_attribute(name);
  }
  text.attributes[std::string(name)] = value;
  return {};
}

Done set_fifo(std::string_view name, const std::string& value, StreamSpec& spec, QueueText& text) {
  if (!spec.fifo) return unknown_attribute(name);
  if (name == "FifoQueue") {
    if (truth(value) != true) {
      return refused(SqsError::bad_attribute_value,
                     "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.");
    }
    return {};
  }
  if (name == "ContentBasedDeduplication") {
    const auto on = truth(value);
    if (!on) return bad_attribute(name);
    spec.deduplicates_content = *on;
    return {};
  }
  if (name == "DeduplicationScope") {
    if (value != "queue" && value != "messageGroup") return bad_attribute(name);
    spec.deduplicates_by_group = value == "messageGroup";
    return {};
  }
  return set_kept(name, value, text);
}

Done set_one(std::string_view name, const std::string& value, const QueueNeighbours& neighbours, StreamSpec& spec,
             QueueText& text) {
  if (const auto seconds = std::ranges::find(kSeconds, name, &SecondsAttribute::name); seconds != kSeconds.end()) {
    const auto number = number_within(value, seconds->least, seconds->most);
    if (!number) return bad_attribute(name);
    spec.*seconds->kept = static_cast<std::int64_t>(*number) * 1000;
    return {};
  }
  if (name == "MaximumMessageSize") {
    const auto number = number_within(value, kLeastMaximumSize, kMostMessageBytes);
    if (!number) return bad_attribute(name);
    spec.max_message_bytes = *number;
    return {};
  }
  if (name == "RedrivePolicy") return set_redrive(value, neighbours, spec);
  if (contains(kFifoAttributes, name)) return set_fifo(name, value, spec, text);
  const bool is_kept = name == "Policy" || name == "RedriveAllowPolicy" || contains(kKmsAttributes, name);
  return is_kept ? set_kept(name, value, text) : unknown_attribute(name);
}

}  // namespace

const std::string* QueueText::attribute(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

QueueText queue_text(const StreamSpec& spec) {
  QueueText out;
  const auto object = spec.text.empty() ? std::nullopt : object_of(spec.text);
  if (!object) return out;
  const auto read = [&](std::string_view name, auto& into) {
    const json::value* it = object->if_contains(name);
    if (it == nullptr || !it->is_object()) return;
    for (const auto& [key, value] : it->get_object()) {
      if (value.is_string()) into[std::string(key)] = std::string(value.get_string());
    }
  };
  read("attributes", out.attributes);
  read("tags", out.tags);
  return out;
}

void set_queue_text(StreamSpec& spec, const QueueText& text) {
  json::object object = spec.text.empty() ? json::object() : object_of(spec.text).value_or(json::object());
  const auto write = [&](std::string_view name, const auto& from) {
    object.erase(name);
    if (from.empty()) return;
    json::object inner;
    for (const auto& [key, value] : from) inner[key] = value;
    object[name] = std::move(inner);
  };
  write("attributes", text.attributes);
  write("tags", text.tags);
  spec.text = object.empty() ? std::string() : json::serialize(object);
}

Done set_attributes(const json::object& given, QueueAge age, const QueueNeighbours& neighbours, StreamSpec& spec) {
  // What the others may be depends on it.
  if (const json::value* fifo = given.if_contains("FifoQueue"); fifo != nullptr && age == QueueAge::is_new) {
    const auto is_fifo = truth(fifo->get_string());
    if (is_fifo != true) return bad_attribute("FifoQueue");
    spec.fifo = true;
  }
  QueueText text = queue_text(spec);
  for (const auto& [name, value] : given) {
    if (auto done = set_one(name, std::string(value.get_string()), neighbours, spec, text); !done) return done;
  }
  const std::string* limit = text.attribute("FifoThroughputLimit");
  if (limit != nullptr && *limit == "perMessageGroupId" && !spec.deduplicates_by_group) {
    return refused(SqsError::bad_attribute_value,
                   "Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId requires "
                   "DeduplicationScope messageGroup.");
  }
  set_queue_text(spec, text);
  return {};
}

std::expected<std::string, Fault> differing_attribute(const json::object& given, const QueueNeighbours& neighbours,
                                                      const StreamSpec& existing) {
  const QueueText before = queue_text(existing);
  for (const auto& [name, value] : given) {
    StreamSpec changed = existing;
    QueueText text = before;
    auto set = set_one(name, std::string(value.get_string()), neighbours, changed, text);
    if (!set) return std::unexpected(std::move(set.error()));
    if (changed != existing || text.attributes != before.attributes) return std::string(name);
  }
  return std::string();
}

bool is_queue_attribute(std::string_view name) {
  return contains(kOthers, name) || contains(kCounts, name) || contains(kFifoAttributes, name) ||
         contains(kKmsAttributes, name) || std::ranges::find(kSeconds, name, &SecondsAttribute::name) != kSeconds.end();
}

bool is_count(std::string_view name) {
  return name == "All" || contains(kCounts, name);
}

json::object attributes_of(const StreamView& view, const Account& account, std::string_view region) {
  const Stream& stream = view.stream;
  json::object out{{"QueueArn", account.arn("sqs", region, stream.name)},
                   {kCounts[0], concat(view.visible)},
                   {kCounts[1], concat(view.in_flight)},
                   {kCounts[2], concat(view.delayed)},
                   {"CreatedTimestamp", concat(stream.created_ms / 1000)},
                   {"LastModifiedTimestamp", concat(stream.changed_ms / 1000)},
                   {"MaximumMessageSize", concat(stream.max_message_bytes)}};
  for (const SecondsAttribute& it : kSeconds) out[it.name] = concat(stream.*it.kept / 1000);
  if (stream.max_receives > 0) {
    out["RedrivePolicy"] =
        json::serialize(json::object{{"deadLetterTargetArn", account.arn("sqs", region, stream.dead_letters)},
                                     {"maxReceiveCount", stream.max_receives}});
  }
  out["SqsManagedSseEnabled"] = "false";
  if (stream.fifo) {
    out["FifoQueue"] = "true";
    out["ContentBasedDeduplication"] = stream.deduplicates_content ? "true" : "false";
    out["DeduplicationScope"] = stream.deduplicates_by_group ? "messageGroup" : "queue";
    out["FifoThroughputLimit"] = "perQueue";
  }
  for (const auto& [name, value] : queue_text(stream).attributes) out[name] = value;
  return out;
}

std::string queue_in_arn(std::string_view arn, const Account& account) {
  constexpr std::string_view kBegin = "arn:aws:sqs:";
  if (!arn.starts_with(kBegin)) return {};
  const std::size_t region_end = arn.find(':', kBegin.size());
  if (region_end == std::string_view::npos) return {};
  const std::string_view rest = arn.substr(region_end + 1);
  const std::string owner = account.id + ":";
  return rest.starts_with(owner) ? std::string(rest.substr(owner.size())) : std::string();
}

bool takes_dead_letters_of(const StreamSpec& target, const std::string& source, const Account& account) {
  const QueueText text = queue_text(target);
  const std::string* stated = text.attribute("RedriveAllowPolicy");
  const auto policy = stated == nullptr ? std::nullopt : object_of(*stated);
  if (!policy) return true;
  const std::string permission = string_or_none(*policy, "redrivePermission");
  if (permission != "byQueue") return permission == "allowAll";
  const json::value* sources = policy->if_contains("sourceQueueArns");
  return sources != nullptr && sources->is_array() &&
         std::ranges::any_of(sources->get_array(), [&](const json::value& it) {
           return it.is_string() && queue_in_arn(it.get_string(), account) == source;
         });
}

std::expected<void, Fault> add_tags(const json::object& tags, StreamSpec& queue) {
  constexpr std::size_t kMostTags = 50;
  constexpr std::size_t kLongestKey = 128;
  constexpr std::size_t kLongestValue = 256;
  QueueText text = queue_text(queue);
  for (const auto& [key, value] : tags) {
    if (key.empty() || key.size() > kLongestKey || value.get_string().size() > kLongestValue) {
      return bad_value("Tags", std::string_view(key), "A key has 1 to 128 characters, and a value at most 256.");
    }
    text.tags[std::string(key)] = std::string(value.get_string());
  }
  if (text.tags.size() > kMostTags) {
    return refused(SqsError::bad_parameter, concat("Too many tags added for queue ", queue.name, "."));
  }
  set_queue_text(queue, text);
  return {};
}

}  // namespace drover::aws
