// What can be asked of streams, and what is answered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/streams/stream_records.h"

namespace drover {

/// A stream as it shall be from now on. `fifo` of one that is there stays as it is.
struct SetStream {
  StreamSpec spec;
  std::optional<std::uint64_t> version;  // that it must have now; 0: there must be none. Nothing: whatever is there
};
struct DropStream {
  std::string stream;
};
/// All of its messages are deleted.
struct PurgeStream {
  std::string stream;
};

struct NewMessage {
  Uuid id;
  std::shared_ptr<const std::string> content;  // as wire/message_content.h writes it
  std::uint64_t bytes = 0;                     // that count: of its body and attributes
  std::optional<std::int64_t> delay_ms = {};
  std::string group = {};          // of a FIFO stream, required
  std::string deduplication = {};  // of a FIFO stream, required
  std::uint64_t feed_number = 0;   // of one from an outbox
};
/// All of them, in this order. Bounds are the sender's matter.
struct SendMessages {
  std::string stream;
  std::vector<NewMessage> messages;
  /// The outbox that they come from, with numbers that rise; 0: from none. What has come before changes nothing, so an
  /// outbox that is not sure sends again.
  std::uint64_t feed = 0;
};

/// Answered when there are some, at the latest after `wait_ms`.
struct ReceiveMessages {
  std::string stream;
  std::uint64_t most = 1;
  std::optional<std::int64_t> visibility_ms = {};
  std::optional<std::int64_t> wait_ms = {};
  std::optional<Token> holder = {};  // the attempt that receives: what it holds becomes visible when it ends
  std::uint64_t receiver = 0;        // a number for StopReceiving; 0: nobody will say it
};
/// Whoever waits under this number has left. The receive is answered without messages.
struct StopReceiving {
  std::string stream;
  std::uint64_t receiver = 0;
};

/// Names one receive of one message.
struct Receipt {
  StreamId stream;
  MessageNumber message;
  std::uint64_t receive = 0;

  bool operator==(const Receipt&) const = default;
};

struct DeleteMessages {
  std::string stream;
  std::vector<Receipt> receipts;
};

struct SetVisibility {
  struct One {
    Receipt receipt;
    std::int64_t visibility_ms = 0;  // from now on; 0: it can be received at once
  };
  std::string stream;
  std::vector<One> messages;
};

/// Nothing: the streams after this name, at most so many.
struct AskStreams {
  std::optional<std::string> stream;
  std::string after = {};
  std::uint64_t most = 100;
};

struct StreamSet {
  Stream stream;
};
struct StreamDropped {};
struct StreamPurged {};
struct MessagesSent {
  struct One {
    MessageNumber message;
    Uuid id;                    // of a duplicate: that of the message before
    bool is_duplicate = false;  // of one that was sent before
  };
  std::vector<One> messages;  // in the order of the command
};
struct MessagesReceived {
  struct One {
    MessageNumber message;
    std::uint64_t receive = 0;  // the number of this receive, from 1
    std::int64_t first_received_ms = 0;
  };
  StreamId stream;
  std::vector<One> messages;
};
/// What a receipt was good for.
enum class ReceiptOutcome : std::uint8_t {
  done,           // of a delete: the message is gone, or somebody else has received it since
  foreign,        // it is another stream's
  expired,        // the time of that receive has run out
  gone,           // there is no such message any more
  not_in_flight,  // the message waits
  too_long,       // it would be hidden for longer than a receive may last in all
};
struct MessagesDeleted {
  std::vector<ReceiptOutcome> outcomes;  // in the order of the command
};
struct VisibilitySet {
  std::vector<ReceiptOutcome> outcomes;
};
/// A stream and how full it is.
struct StreamView {
  Stream stream;
  std::uint64_t visible = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
  std::int64_t oldest_ms = 0;   // about when the oldest message was sent; 0 if empty
  std::uint64_t receivers = 0;  // that wait
};
struct StreamsNow {
  std::vector<StreamView> streams;  // by name
};

}  // namespace drover
