#include "api/sqs/delivered_message.h"

#include <algorithm>
#include <array>

#include "api/sqs/message_md5.h"
#include "api/sqs/receipt_handle.h"
#include "api/sqs/sqs_fault.h"
#include "wire/aws/arena.h"
#include "wire/base64.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 10> kSystemAttributes{"All",
                                                             "SenderId",
                                                             "SentTimestamp",
                                                             "ApproximateReceiveCount",
                                                             "ApproximateFirstReceiveTimestamp",
                                                             "SequenceNumber",
                                                             "MessageDeduplicationId",
                                                             "MessageGroupId",
                                                             "AWSTraceHeader",
                                                             "DeadLetterQueueSourceArn"};
constexpr std::size_t kSequenceDigits = 20;
constexpr std::size_t kMostMembers = 6;    // of a message
constexpr std::size_t kBesidesBody = 768;  // bytes of a message without attributes

/// "All", ".*", "name", "prefix.*".
bool names_attribute(std::string_view wanted, std::string_view name) {
  if (wanted == "All" || wanted == ".*") return true;
  return wanted.ends_with(".*") ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
}

json::object system_attributes(const DeliveredMessage& message, const WantedAttributes& wanted,
                               const QueuePlace& place) {
  const MessageContent& content = *message.content;
  json::object out;
  const auto put = [&](std::string_view name, std::string_view value) {
    if (!value.empty() && wanted.wants(name)) out[name] = value;
  };
  put("SenderId", content.sender);
  put("SentTimestamp", concat(content.sent_ms));
  put("ApproximateReceiveCount", concat(message.receives));
  put("ApproximateFirstReceiveTimestamp", concat(message.first_received_ms));
  put("MessageGroupId", content.group);
  put("MessageDeduplicationId", content.deduplication);
  if (place.is_fifo) put("SequenceNumber", sequence_number(message.receipt.message));
  for (const MessageAttribute& it : content.system_attributes) put(it.name, it.value);
  if (!message.dead_letter_of.empty()) {
    put("DeadLetterQueueSourceArn", place.account.arn("sqs", place.region, message.dead_letter_of));
  }
  return out;
}

json::object value_json(const MessageAttribute& attribute) {
  const bool is_binary = attribute.type.starts_with("Binary");
  return {{is_binary ? "BinaryValue" : "StringValue", attribute.value}, {"DataType", attribute.type}};
}

json::object message_json(const DeliveredMessage& message, const WantedAttributes& wanted, const QueuePlace& place,
                          json::storage_ptr memory) {
  const MessageContent& content = *message.content;
  json::object out(kMostMembers, std::move(memory));
  out.emplace("MessageId", content.id.text());
  out.emplace("ReceiptHandle", receipt_handle(message.receipt));
  // Drover's own API sends any bytes. Clients of SQS could not read them, nor the other messages of the answer.
  const bool is_text = is_plain_text(content.body);
  out.emplace("Body", is_text ? content.body : base64(content.body));
  const bool has_md5 = is_text && !content.body_md5.empty();
  out.emplace("MD5OfBody", has_md5 ? hex(content.body_md5) : md5_hex(out.at("Body").get_string()));
  if (!wanted.system.empty()) {
    if (json::object shown = system_attributes(message, wanted, place); !shown.empty()) {
      out["Attributes"] = std::move(shown);
    }
  }
  std::vector<MessageAttribute> chosen;
  std::ranges::copy_if(content.attributes, std::back_inserter(chosen), [&](const MessageAttribute& it) {
    return std::ranges::any_of(wanted.of_message,
                               [&](const std::string& name) { return names_attribute(name, it.name); });
  });
  if (chosen.empty()) return out;
  if (const std::string md5 = md5_of_attributes(chosen); !md5.empty()) out["MD5OfMessageAttributes"] = md5;
  json::object shown;
  for (const MessageAttribute& it : chosen) shown[it.name] = value_json(it);
  out["MessageAttributes"] = std::move(shown);
  return out;
}

}  // namespace

std::expected<WantedAttributes, Fault> wanted_attributes(const json::object& input) {
  WantedAttributes out;
  for (const std::string_view member : {"AttributeNames", "MessageSystemAttributeNames"}) {
    const json::value* names = input.if_contains(member);
    if (names == nullptr) continue;
    for (const json::value& it : names->get_array()) {
      const std::string_view name = it.get_string();
      if (std::ranges::find(kSystemAttributes, name) == kSystemAttributes.end()) {
        return refused(SqsError::bad_attribute_name, concat("Unknown Attribute ", utf8(name), "."));
      }
      out.system.emplace(name);
    }
  }
  if (const json::value* names = input.if_contains("MessageAttributeNames")) {
    for (const json::value& it : names->get_array()) out.of_message.emplace_back(it.get_string());
  }
  return out;
}

json::array messages_json(const std::vector<DeliveredMessage>& messages, const WantedAttributes& wanted,
                          const QueuePlace& place) {
  std::size_t bytes = 0;
  for (const DeliveredMessage& it : messages) bytes += it.content->body.size() + kBesidesBody;
  const json::storage_ptr memory = arena(bytes);
  json::array out(memory);
  out.reserve(messages.size());
  for (const DeliveredMessage& it : messages) out.push_back(message_json(it, wanted, place, memory));
  return out;
}

std::string sequence_number(MessageNumber message) {
  const std::string digits = concat(message.value);
  return concat(std::string(kSequenceDigits - digits.size(), '0'), digits);
}

}  // namespace drover::aws
