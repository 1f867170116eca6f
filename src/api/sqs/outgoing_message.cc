#include "api/sqs/outgoing_message.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/sqs/sqs_fault.h"
#include "ports/entropy.h"
#include "wire/digest.h"
#include "wire/message_content.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostAttributes = 10;
constexpr std::size_t kLongestAttributeName = 256;
constexpr std::size_t kLongestOrderId = 128;
constexpr std::string_view kTraceHeader = "AWSTraceHeader";
constexpr std::size_t kLongestTraceHeader = 1024;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::unexpected<Fault> bad_characters() {
  return refused(SqsError::bad_contents,
                 "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to "
                 "#xFFFD | #x10000 to #x10FFFF");
}

/// Of groups and deduplication: what is printable in ASCII, but for the space.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestOrderId &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

bool is_attribute_name(std::string_view name) {
  const std::string small = in_small_letters(name);
  return !name.empty() && name.size() <= kLongestAttributeName && !small.starts_with("aws.") &&
         !small.starts_with("amazon.") && name.front() != '.' && name.back() != '.' && !name.contains("..") &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

const json::string* string_in(const json::object& object, std::string_view name) {
  const json::value* it = object.if_contains(name);
  return it == nullptr ? nullptr : &it->get_string();
}

std::expected<MessageAttribute, Fault> attribute_of(std::string_view name, const json::object& given) {
  const auto bad = [&](std::string_view reason) {
    return refused(SqsError::bad_parameter, concat("The message attribute '", utf8(name), "' ", reason));
  };
  const std::string type(given.at("DataType").get_string());
  const std::string kind = type.substr(0, type.find('.'));
  if (type.empty() || type.size() > kLongestAttributeName)
    return bad("must contain a non-empty message attribute type.");
  if ((kind != "String" && kind != "Number" && kind != "Binary") || !is_plain_text(type)) {
    return bad(
        "has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.");
  }
  if (given.contains("StringListValues") || given.contains("BinaryListValues")) {
    return refused(SqsError::unsupported, "Message attribute list values in SendMessage operation are not supported.");
  }
  const json::string* value = string_in(given, kind == "Binary" ? "BinaryValue" : "StringValue");
  if (value == nullptr || value->empty()) {
    return bad(concat("must contain a non-empty message attribute value for message attribute type '", kind, "'."));
  }
  if (given.contains(kind == "Binary" ? "StringValue" : "BinaryValue")) return bad("must have only one value.");
  if (kind != "Binary" && !is_plain_text(*value)) return bad_characters();
  if (kind == "Number" && !is_number(*value)) {
    return refused(SqsError::bad_parameter,
                   concat("Can't cast the value of message (user) attribute '", utf8(name), "' to a number."));
  }
  return MessageAttribute{std::string(name), type, std::string(*value)};
}

using Attributes = std::expected<std::vector<MessageAttribute>, Fault>;

Attributes attributes_of(const json::object& input) {
  std::vector<MessageAttribute> out;
  const json::value* given = input.if_contains("MessageAttributes");
  if (given == nullptr) return out;
  if (given->get_object().size() > kMostAttributes) {
    return refused(SqsError::bad_parameter, concat("Number of message attributes [", given->get_object().size(),
                                                   "] exceeds the allowed maximum [", kMostAttributes, "]."));
  }
  for (const auto& [name, it] : given->get_object()) {
    if (!is_attribute_name(name)) {
      return refused(SqsError::bad_parameter,
                     concat("The message attribute name '", utf8(name),
                            "' is invalid. Attribute name can contain A-Z, a-z, 0-9, underscore (_), hyphen (-), and "
                            "period (.) characters, and must not start with AWS. or Amazon."));
    }
    auto attribute = attribute_of(name, it.get_object());
    if (!attribute) return std::unexpected(std::move(attribute.error()));
    out.push_back(std::move(*attribute));
  }
  std::ranges::sort(out, {}, &MessageAttribute::name);
  return out;
}

Attributes system_attributes_of(const json::object& input) {
  std::vector<MessageAttribute> out;
  const json::value* given = input.if_contains("MessageSystemAttributes");
  if (given == nullptr) return out;
  for (const auto& [name, it] : given->get_object()) {
    if (name != kTraceHeader) {
      return refused(SqsError::bad_parameter, concat("Message system attribute name '", utf8(name),
                                                     "' is invalid. The only one is AWSTraceHeader."));
    }
    auto attribute = attribute_of(name, it.get_object());
    if (!attribute) return std::unexpected(std::move(attribute.error()));
    if (attribute->type != "String") {
      return refused(SqsError::bad_parameter,
                     "The message system attribute 'AWSTraceHeader' must be of type 'String'.");
    }
    if (attribute->value.size() > kLongestTraceHeader) {
      return refused(SqsError::bad_parameter, concat("The message system attribute 'AWSTraceHeader' has more than ",
                                                     kLongestTraceHeader, " bytes."));
    }
    out.push_back(std::move(*attribute));
  }
  return out;
}

std::expected<void, Fault> check_id(std::string_view parameter, std::string_view id) {
  if (is_id(id)) return {};
  return bad_value(parameter, id,
                   concat(parameter, " can only include alphanumeric and punctuation characters. 1 to 128 in length."));
}

/// Groups and deduplication.
std::expected<void, Fault> set_order(const json::object& input, const StreamSpec& queue, MessageContent& content) {
  const json::string* group = string_in(input, "MessageGroupId");
  const json::string* deduplication = string_in(input, "MessageDeduplicationId");
  if (group != nullptr) {
    if (auto good = check_id("MessageGroupId", *group); !good) return good;
    content.group = *group;
  }
  if (!queue.fifo) {
    if (deduplication == nullptr) return {};
    return bad_value("MessageDeduplicationId", std::string_view(*deduplication),
                     "The request includes a parameter that is not valid for this queue type.");
  }
  if (group == nullptr) return missing("MessageGroupId");
  if (deduplication != nullptr) {
    content.deduplication = *deduplication;
    return check_id("MessageDeduplicationId", *deduplication);
  }
  if (!queue.deduplicates_content) {
    return refused(SqsError::bad_parameter,
                   "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
                   "explicitly");
  }
  content.deduplication = hex(sha256(content.body));
  return {};
}

std::expected<std::optional<std::int64_t>, Fault> delay_of(const json::object& input, const StreamSpec& queue) {
  const json::value* delay = input.if_contains("DelaySeconds");
  if (delay == nullptr) return std::nullopt;
  const std::int64_t seconds = delay->get_int64();
  constexpr std::int64_t kMost = kLongestDelayMs / 1000;
  if (seconds < 0 || seconds > kMost) {
    return bad_value("DelaySeconds", seconds, concat("DelaySeconds must be >= 0 and <= ", kMost, "."));
  }
  if (queue.fifo) {
    return bad_value("DelaySeconds", seconds, "The request include parameter that is not valid for this queue type.");
  }
  return seconds * 1000;
}

}  // namespace

std::uint64_t bytes_of(const MessageContent& content) {
  std::uint64_t out = content.body.size();
  for (const MessageAttribute& it : content.attributes) out += it.name.size() + it.type.size() + it.value.size();
  return out;
}

std::expected<OutgoingMessage, Fault> outgoing_message(const json::object& input, const StreamSpec& queue,
                                                       const Sender& sender) {
  OutgoingMessage out;
  MessageContent& content = out.content;
  content.id = random_uuid();
  content.sender = sender.id;
  content.sent_ms = sender.now_ms;
  content.body = input.at("MessageBody").get_string();
  if (content.body.empty()) return missing("MessageBody");
  if (!is_plain_text(content.body)) return bad_characters();
  content.body_md5 = md5(content.body);
  auto attributes = attributes_of(input);
  if (!attributes) return std::unexpected(std::move(attributes.error()));
  content.attributes = std::move(*attributes);
  auto system = system_attributes_of(input);
  if (!system) return std::unexpected(std::move(system.error()));
  content.system_attributes = std::move(*system);
  if (auto good = set_order(input, queue, content); !good) return std::unexpected(std::move(good.error()));
  auto delay = delay_of(input, queue);
  if (!delay) return std::unexpected(std::move(delay.error()));
  out.delay_ms = *delay;
  out.bytes = bytes_of(content);
  if (out.bytes > queue.max_message_bytes) {
    return refused(SqsError::bad_parameter,
                   concat("One or more parameters are invalid. Reason: Message must be shorter than ",
                          queue.max_message_bytes, " bytes."));
  }
  return out;
}

}  // namespace drover::aws
