#include "wire/message_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/body_fields.h"
#include "wire/digest.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kLongestAttributeName = 256;
constexpr std::size_t kLongestMark = 128;  // of a group or a deduplication id

bool is_attribute_name(std::string_view name) {
  const bool is_word = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
  return is_word && !name.empty() && name.size() <= kLongestAttributeName && !name.starts_with('.') &&
         !name.ends_with('.') && !name.contains("..");
}

bool is_attribute_type(std::string_view type) {
  const std::string_view kind = type.substr(0, type.find('.'));
  return (kind == "String" || kind == "Number" || kind == "Binary") && type.size() <= kLongestAttributeName &&
         is_plain_text(type);
}

/// Visible ASCII: what every API can carry.
BodyFields::Read mark(std::string& out) {
  return [&out](const json::value& value) -> std::string {
    const std::string_view text = value.is_string() ? std::string_view(value.get_string()) : "";
    const bool is_visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
    if (text.empty() || text.size() > kLongestMark || !is_visible) {
      return concat("must be a string of 1 to ", kLongestMark, " visible ASCII characters");
    }
    out = text;
    return {};
  };
}

BodyFields::Read bytes_in_base64(std::optional<std::string>& out) {
  return [&out](const json::value& value) -> std::string {
    if (value.is_string()) out = from_base64(std::string_view(value.get_string()));
    return out ? "" : "must be a string in base64";
  };
}

BodyFields::Read bytes_as_text(std::optional<std::string>& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_string()) return "must be a string";
    out = std::string(value.get_string());
    return {};
  };
}

Result<MessageAttribute> attribute_from(std::string_view name, const json::value& value) {
  MessageAttribute out{std::string(name), "String", {}};
  const auto wrong = [&](std::string_view reason) {
    return fail(
        ErrorCode::bad_input, concat("attribute '", utf8(name), "' ", reason),
        R"(write it as "red", as {"type": "Number", "value": "7"}, or as {"type": "Binary", "value_b64": "AAE="})");
  };
  if (!is_attribute_name(name)) {
    return fail(ErrorCode::bad_input, concat("invalid attribute name '", utf8(name), "'"),
                concat("use letters, digits, '_', '-' and '.', at most ", kLongestAttributeName,
                       " characters; dots cannot stand at an end or side by side"));
  }
  if (value.is_string()) {
    out.value = value.get_string();
  } else if (value.is_object()) {
    std::optional<std::string> text;
    std::optional<std::string> bytes;
    BodyFields fields;
    fields.add("type", BodyFields::text(kLongestAttributeName, out.type));
    fields.add("value", bytes_as_text(text));
    fields.add("value_b64", bytes_in_base64(bytes));
    if (auto read = fields.read(value.get_object()); !read) return wrong(concat("is invalid: ", read.error().message));
    if (!is_attribute_type(out.type)) return wrong("must have the type String, Number or Binary");
    if (text.has_value() == bytes.has_value()) return wrong("must have either 'value' or 'value_b64'");
    out.value = text ? std::move(*text) : std::move(*bytes);
  } else {
    return wrong("must be a string or an object");
  }
  if (out.value.empty()) return wrong("has no value");
  if (!out.type.starts_with("Binary") && !is_plain_text(out.value)) {
    return wrong("has control characters or bytes that are not UTF-8, which takes the type Binary");
  }
  return out;
}

Result<std::vector<MessageAttribute>> attributes_from(const json::object& object) {
  if (object.size() > kMostMessageAttributes) {
    return fail(ErrorCode::bad_input, concat("a message has at most ", kMostMessageAttributes, " attributes"),
                "put the rest into its body");
  }
  std::vector<MessageAttribute> out;
  for (const auto& [name, value] : object) {
    auto one = attribute_from(name, value);
    if (!one) return pass(one);
    out.push_back(std::move(*one));
  }
  std::ranges::sort(out, {}, &MessageAttribute::name);
  return out;
}

/// The error of one message among others; counted from 1.
std::unexpected<Error> of_message(std::size_t number, Error error) {
  error.message = concat("message ", number, ": ", error.message);
  return std::unexpected(std::move(error));
}

std::unexpected<Error> too_many() {
  return fail(ErrorCode::bad_input, concat("a request has at most ", kMostMessagesPerSend, " messages"),
              "send the rest with another request");
}

}  // namespace

std::uint64_t MessageDraft::bytes() const {
  std::uint64_t sum = body.size();
  for (const MessageAttribute& it : attributes) sum += it.name.size() + it.type.size() + it.value.size();
  return sum;
}

Result<MessageDraft> message_from_json(const json::value& value) {
  if (!value.is_object()) {
    return fail(ErrorCode::bad_input, "a message must be a JSON object", R"(write {"body": "some text"})");
  }
  MessageDraft out;
  std::optional<std::string> body;
  std::optional<std::string> body_b64;
  json::object attributes;
  BodyFields fields;
  fields.add("body", bytes_as_text(body));
  fields.add("body_b64", bytes_in_base64(body_b64));
  fields.add("attributes", [&](const json::value& given) -> std::string {
    if (!given.is_object()) return "must be an object";
    attributes = given.get_object();
    return {};
  });
  fields.add("delay", BodyFields::time(out.delay_ms));
  fields.add("group", mark(out.group));
  fields.add("deduplication", mark(out.deduplication));
  if (auto read = fields.read(value.get_object()); !read) return pass(read);
  if (body.has_value() == body_b64.has_value()) {
    return fail(ErrorCode::bad_input, "a message must have either 'body' or 'body_b64'",
                R"(write {"body": "some text"}; bytes that are not UTF-8 go into 'body_b64', in base64)");
  }
  out.body = body ? std::move(*body) : std::move(*body_b64);
  auto read = attributes_from(attributes);
  if (!read) return pass(read);
  out.attributes = std::move(*read);
  return out;
}

json::object message_to_json(const MessageDraft& message) {
  json::object out;
  put_bytes(out, "body", message.body);
  if (!message.attributes.empty()) out["attributes"] = attributes_to_json(message.attributes);
  if (message.delay_ms) out["delay"] = concat(*message.delay_ms, "ms");
  if (!message.group.empty()) out["group"] = message.group;
  if (!message.deduplication.empty()) out["deduplication"] = message.deduplication;
  return out;
}

Result<std::vector<MessageDraft>> messages_from_json(std::string_view text) {
  std::vector<MessageDraft> out;
  const auto take = [&](const json::value& value) -> Result<void> {
    if (out.size() == kMostMessagesPerSend) return too_many();
    auto message = message_from_json(value);
    if (!message) return of_message(out.size() + 1, std::move(message.error()));
    out.push_back(std::move(*message));
    return {};
  };
  const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size())); };
  json::stream_parser parser;
  for (skip_blanks(); !text.empty(); skip_blanks()) {
    json::error_code error;
    const std::size_t used = parser.write_some(text.data(), text.size(), error);
    if (!error && !parser.done()) parser.finish(error);
    if (error) {
      return of_message(out.size() + 1, {ErrorCode::bad_input, concat("not valid JSON: ", error.message()),
                                         R"(send an array of messages, or one a line: {"body": "some text"})"});
    }
    const json::value value = parser.release();
    parser.reset();
    if (value.is_array() && out.empty() && text.find_first_not_of(" \t\r\n", used) == std::string_view::npos) {
      for (const json::value& one : value.get_array()) {
        if (auto taken = take(one); !taken) return pass(taken);
      }
    } else if (auto taken = take(value); !taken) {
      return pass(taken);
    }
    text.remove_prefix(used);
  }
  return out;
}

Result<void> check_message(const StreamSpec& stream, MessageDraft& message) {
  if (message.body.empty()) return fail(ErrorCode::bad_input, "the body is empty", "send at least one byte");
  if (message.bytes() > stream.max_message_bytes) {
    return fail(ErrorCode::bad_input,
                concat("the message has ", message.bytes(), " bytes, and stream '", stream.name, "' accepts at most ",
                       stream.max_message_bytes),
                "store the data elsewhere and send a reference to it");
  }
  if (message.delay_ms && (*message.delay_ms < 0 || *message.delay_ms > kLongestDelayMs)) {
    return fail(ErrorCode::bad_input, "the delay is longer than 15 minutes", "use a delay of at most 15m");
  }
  if (!stream.fifo) {
    if (message.group.empty() && message.deduplication.empty()) return {};
    return fail(ErrorCode::bad_input,
                concat("stream '", stream.name, "' is not a FIFO stream: its messages have no '",
                       message.group.empty() ? "deduplication" : "group", "'"),
                "omit it, or send to a stream whose name ends in .fifo");
  }
  if (message.delay_ms) {
    return fail(ErrorCode::bad_input,
                concat("stream '", stream.name, "' is a FIFO stream: single messages cannot be delayed"),
                "omit the delay, or set one for the whole stream");
  }
  if (message.group.empty()) {
    return fail(ErrorCode::bad_input,
                concat("stream '", stream.name, "' is a FIFO stream, and the message has no group"),
                "add a group; messages of one group are received in order");
  }
  if (!message.deduplication.empty()) return {};
  if (!stream.deduplicates_content) {
    return fail(ErrorCode::bad_input,
                concat("stream '", stream.name, "' is a FIFO stream, and the message has no deduplication id"),
                "add one, or set 'deduplicate_content' of the stream");
  }
  message.deduplication = hex(sha256(message.body));
  return {};
}

json::object attributes_to_json(const std::vector<MessageAttribute>& attributes) {
  json::object out;
  for (const MessageAttribute& it : attributes) {
    json::object one{{"type", it.type}};
    put_bytes(one, "value", it.value);
    out[it.name] = std::move(one);
  }
  return out;
}

}  // namespace drover
