// Messages that clients of SQS send, checked as SQS does.
#pragma once

#include <boost/json/object.hpp>
#include <expected>

#include "api/aws/fault.h"
#include "api/message_exchange.h"
#include "core/streams/stream_records.h"

namespace drover::aws {

/// Who sends, and when.
struct Sender {
  std::string id;
  std::int64_t now_ms = 0;
};

/// From the members of SendMessage, or of an entry of SendMessageBatch.
std::expected<OutgoingMessage, Fault> outgoing_message(const boost::json::object& input, const StreamSpec& queue,
                                                       const Sender& sender);

/// What counts: the body and all of the attributes.
std::uint64_t bytes_of(const MessageContent& content);

}  // namespace drover::aws
