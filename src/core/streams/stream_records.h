// What lasts of streams. A stream's messages have numbers that rise; neighbours are a block. Messages that nobody has
// taken yet cost nothing but their place in a block. One that was received, is delayed, or belongs to a group has a
// record of its own until it is deleted. What a message says is in the store only.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/uuid.h"
#include "base/words.h"

namespace drover {

inline constexpr std::int64_t kLongestVisibilityMs = std::int64_t{12} * 3600 * 1000;  // of a receive, in all
inline constexpr std::int64_t kLongestDelayMs = std::int64_t{900} * 1000;
inline constexpr std::int64_t kShortestRetentionMs = std::int64_t{60} * 1000;
inline constexpr std::int64_t kLongestRetentionMs = std::int64_t{14} * 24 * 3600 * 1000;
inline constexpr std::int64_t kLongestReceiveWaitMs = std::int64_t{20} * 1000;
inline constexpr std::uint64_t kMostReceivesBeforeDead = 1000;
inline constexpr std::uint64_t kMostReceivedAtOnce = 10;
inline constexpr std::uint64_t kMostSentAtOnce = 10;
inline constexpr std::uint64_t kMostMessagesInFlight = 120'000;  // of one stream
inline constexpr std::int64_t kDeduplicationMs = std::int64_t{5} * 60 * 1000;
inline constexpr std::size_t kMostStreamText = std::size_t{64} << 10;
// A message that is a job's item is hidden until the item is settled.
inline constexpr std::int64_t kUntilSettledMs = 9'000'000'000'000'000;
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 20;

/// How a stream behaves, as it was asked for.
struct StreamSpec {
  std::string name;
  bool fifo = false;                    // messages of a group in order, and no duplicates; never changes
  std::int64_t visibility_ms = 30'000;  // how long a received message is hidden, unless the receive says otherwise
  std::int64_t delay_ms = 0;            // before a new message can be received, unless the send says otherwise
  std::int64_t retention_ms = std::int64_t{4} * 24 * 3600 * 1000;
  std::int64_t receive_wait_ms = 0;  // of a receive that does not say
  std::uint64_t max_message_bytes = kMostMessageBytes;
  std::uint64_t max_receives = 0;      // then a message goes to `dead_letters`; 0: never
  std::string dead_letters;            // the name of a stream
  bool deduplicates_content = false;   // of a FIFO stream: messages without an id are told apart by their bodies
  bool deduplicates_by_group = false;  // of a FIFO stream: the same id in another group is another message
  std::string text;                    // JSON: what APIs keep with it, such as its policy and its tags
  std::string owner;                   // whose key it was created with

  bool operator==(const StreamSpec&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("fifo", self.fifo);
    visit("visibility_ms", self.visibility_ms);
    visit("delay_ms", self.delay_ms);
    visit("retention_ms", self.retention_ms);
    visit("receive_wait_ms", self.receive_wait_ms);
    visit("max_message_bytes", self.max_message_bytes);
    visit("max_receives", self.max_receives);
    visit("dead_letters", self.dead_letters);
    visit("deduplicates_content", self.deduplicates_content);
    visit("deduplicates_by_group", self.deduplicates_by_group);
    visit("text", self.text);
    visit("owner", self.owner);
  }
};

struct Stream : StreamSpec {
  StreamId id;
  std::uint64_t version = 0;  // from 1; rises when the spec changes
  std::int64_t created_ms = 0;
  std::int64_t changed_ms = 0;
  std::int64_t purged_ms = 0;   // last time; 0: never
  MessageNumber purged_before;  // messages below this number are gone
  std::uint64_t feed = 0;       // the outbox that messages came from last; 0: none did
  std::uint64_t fed_to = 0;     // those with numbers up to this one have come

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("stream", self.id);
    StreamSpec::fields(self, visit);
    visit("version", self.version);
    visit("created_ms", self.created_ms);
    visit("changed_ms", self.changed_ms);
    visit("purged_ms", self.purged_ms);
    visit("purged_before", self.purged_before);
    visit("feed", self.feed);
    visit("fed_to", self.fed_to);
  }
};

/// Neighbouring messages of a stream. Those before `taken` have records of their own, or are gone; from there on,
/// nobody has touched them.
struct MessageBlock {
  static constexpr std::uint64_t kMessages = 4096;                 // numbers that each has to itself
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;  // a block with more is full

  MessageNumber first;  // a multiple of kMessages
  StreamId stream;
  std::uint64_t count = 0;
  std::uint64_t taken = 0;
  std::int64_t first_sent_ms = 0;
  std::int64_t last_sent_ms = 0;

  static MessageNumber first_of(MessageNumber message) { return MessageNumber{message.value / kMessages * kMessages}; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("first", self.first);
    visit("stream", self.stream);
    visit("count", self.count);
    visit("taken", self.taken);
    visit("first_sent_ms", self.first_sent_ms);
    visit("last_sent_ms", self.last_sent_ms);
  }
};

/// A message that was received, is delayed, or belongs to a group.
struct OpenMessage {
  MessageNumber message;
  StreamId stream;
  std::string group;                   // of a FIFO stream
  std::uint64_t receives = 0;          // how often; the last one's number
  std::int64_t visible_ms = 0;         // can be received from then on
  std::int64_t received_ms = 0;        // last
  std::int64_t first_received_ms = 0;  // 0: never
  Token holder = {};                   // the attempt that received it last, if it was one and has not ended
  JobId job = {};                      // whose item it is; none: nobody's
  ItemIndex job_item = {};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("message", self.message);
    visit("stream", self.stream);
    visit("message_group", self.group);
    visit("receives", self.receives);
    visit("visible_ms", self.visible_ms);
    visit("received_ms", self.received_ms);
    visit("first_received_ms", self.first_received_ms);
    visit("holder_grant", self.holder.grant);
    visit("holder_item", self.holder.item);
    visit("job", self.job);
    visit("job_item", self.job_item);
  }
};

/// A message that a FIFO stream has taken lately: the same once more changes nothing.
struct SentBefore {
  StreamId stream;
  std::string key;  // the deduplication id; where groups are told apart, behind the group
  MessageNumber message;
  Uuid id;  // the message's, for people
  std::int64_t sent_ms = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("stream", self.stream);
    visit("key", self.key);
    visit("message", self.message);
    visit("id", self.id);
    visit("sent_ms", self.sent_ms);
  }
};

/// A message that was received too often, in the stream that it went to.
struct DeadLetter {
  MessageNumber message;
  StreamId source;
  std::uint64_t receives = 0;
  std::int64_t moved_ms = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("message", self.message);
    visit("source", self.source);
    visit("receives", self.receives);
    visit("moved_ms", self.moved_ms);
  }
};

}  // namespace drover
