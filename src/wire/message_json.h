// Messages of streams as JSON, and what a stream accepts: the same for the API and for the command line, which checks
// messages before it sends them.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/streams/stream_records.h"
#include "wire/message_content.h"

namespace drover {

/// Messages in one request. All of them are accepted, or none.
inline constexpr std::size_t kMostMessagesPerSend = 500;
inline constexpr std::size_t kMostMessageAttributes = 10;

/// A message as its sender writes it.
struct MessageDraft {
  std::string body;  // any bytes
  std::vector<MessageAttribute> attributes = {};
  std::optional<std::int64_t> delay_ms = {};
  std::string group = {};
  std::string deduplication = {};

  bool operator==(const MessageDraft&) const = default;

  /// What counts against the limit of the stream.
  std::uint64_t bytes() const;
};

/// {"body": "…", "attributes": {"colour": "red"}, "delay": "10s", "group": "…", "deduplication": "…"}. A body that is
/// not UTF-8 is "body_b64".
Result<MessageDraft> message_from_json(const boost::json::value& value);
boost::json::object message_to_json(const MessageDraft& message);
/// An array of messages, or one after another, as in JSON lines.
Result<std::vector<MessageDraft>> messages_from_json(std::string_view text);

/// Whether the stream accepts the message. Where a stream tells messages apart by their bodies, it gets its
/// deduplication id.
Result<void> check_message(const StreamSpec& stream, MessageDraft& message);

boost::json::object attributes_to_json(const std::vector<MessageAttribute>& attributes);

}  // namespace drover
