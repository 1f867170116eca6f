// What a message of a stream says, and how the store keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"

namespace drover {

struct MessageAttribute {
  std::string name;
  std::string type;   // "String", "Number" or "Binary", perhaps with more behind a dot
  std::string value;  // bytes

  bool operator==(const MessageAttribute&) const = default;
};

struct MessageContent {
  Uuid id;
  std::string sender;  // the key's id
  std::int64_t sent_ms = 0;
  std::string body;
  std::vector<MessageAttribute> attributes = {};         // by name
  std::vector<MessageAttribute> system_attributes = {};  // such as AWSTraceHeader
  std::string group = {};
  std::string deduplication = {};
  std::string body_md5 = {};  // 16 bytes, of a message sent by SQS, whose receivers get it; else empty

  bool operator==(const MessageContent&) const = default;
};

/// Whether XML can carry it: UTF-8 without control characters other than tabs and line ends.
bool is_plain_text(std::string_view text);

std::string encode_message(const MessageContent& content);
Result<MessageContent> decode_message(std::string_view bytes);

}  // namespace drover
