// Sends and receives messages for the APIs that do. The core knows messages by number only; what they say is put into
// the store with them, and filled in here when they are received: from a cache of what was just sent, else from the
// ledger.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/holder.h"
#include "ports/backend.h"
#include "wire/message_content.h"

namespace drover {

/// A message to be sent.
struct OutgoingMessage {
  MessageContent content;  // with its id and its time; of a FIFO stream, with its group and deduplication id
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> delay_ms = {};
  std::uint64_t feed_number = 0;  // of one from an outbox
};

struct DeliveredMessage {
  Receipt receipt;
  std::uint64_t receives = 0;
  std::int64_t first_received_ms = 0;
  std::shared_ptr<const MessageContent> content;
  std::string dead_letter_of;  // the name of the stream that it came from; empty: it was sent here
};

class MessageExchange {
 public:
  explicit MessageExchange(Backend& backend) : backend_(backend) {}

  /// Answered when all are durable, where `resume` does its work. `feed`: the outbox that they come from; 0: none.
  void send(std::string stream, std::vector<OutgoingMessage> messages, Resume resume,
            std::function<void(Result<MessagesSent>)> answered, std::uint64_t feed = 0);
  /// Answered likewise, or on a thread that may wait for disks. A message that was deleted in the meantime is left out.
  /// A receive that may wait passes `when_leaves`, which calls back when its client has left: a client that is gone is
  /// handed no message.
  using WhenLeaves = std::function<void(std::function<void()> call)>;
  void receive(ReceiveMessages command, const Holder& holder, Resume resume, const WhenLeaves& when_leaves,
               std::function<void(Result<std::vector<DeliveredMessage>>)> answered);
  /// What became of receipts that were to be deleted: what was is not needed any more.
  void forget_deleted(const std::vector<Receipt>& receipts, const std::vector<ReceiptOutcome>& outcomes);

 private:
  /// What was sent, and how much of the cache it takes.
  struct Cached {
    std::shared_ptr<const MessageContent> content;
    std::size_t bytes = 0;
  };
  void remember(const MessagesSent& sent, std::vector<Cached> contents);
  void drop(std::map<MessageNumber, Cached>::iterator it);
  /// Nothing: the cache does not have all of them.
  std::optional<std::vector<DeliveredMessage>> from_cache(const MessagesReceived& received);
  /// From within Backend::later().
  Result<std::vector<DeliveredMessage>> from_ledger(const MessagesReceived& received);

  static constexpr std::size_t kCachedBytes = std::size_t{64} << 20;
  static constexpr std::size_t kBytesOfEntry = 512;  // besides what a message says

  Backend& backend_;
  std::atomic<std::uint64_t> next_receiver_ = 1;
  std::mutex mutex_;                        // guards everything below
  std::map<MessageNumber, Cached> cached_;  // the lowest numbers leave first
  std::size_t cached_bytes_ = 0;
};

}  // namespace drover
