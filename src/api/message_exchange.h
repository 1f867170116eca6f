// Sends and receives messages for the APIs that do. The core knows messages by number only; what they say is put into
// the store with them, and filled in here when they are received: from a cache of what was just sent, else from the
// ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/holder.h"
#include "ports/backend.h"
#include "wire/message_content.h"

namespace drover {

/// A message to be sent.
struct OutgoingMessage {
  MessageContent content;  // with its id and its time
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> delay_ms = {};
};

struct DeliveredMessage {
  Receipt receipt;
  std::uint64_t receives = 0;
  std::int64_t first_received_ms = 0;
  MessageContent content;
  std::string dead_letter_of;  // the name of the stream that it came from; empty: it was sent here
};

class MessageExchange {
 public:
  explicit MessageExchange(Backend& backend) : backend_(backend) {}

  /// Answered when all are durable.
  void send(std::string stream, std::vector<OutgoingMessage> messages,
            std::function<void(Result<MessagesSent>)> answered);
  /// Answered on any thread. One that was deleted in the meantime is left out.
  void receive(ReceiveMessages command, const Holder& holder,
               std::function<void(Result<std::vector<DeliveredMessage>>)> answered);

 private:
  using Content = std::shared_ptr<const std::string>;
  void remember(MessageNumber message, Content content);
  Content recall(MessageNumber message);
  Result<std::vector<DeliveredMessage>> fill_in(const MessagesReceived& received, bool may_read);

  static constexpr std::size_t kCachedBytes = std::size_t{64} << 20;

  Backend& backend_;
  std::mutex mutex_;                         // guards everything below
  std::map<MessageNumber, Content> cached_;  // the oldest numbers leave first
  std::size_t cached_bytes_ = 0;
};

}  // namespace drover
