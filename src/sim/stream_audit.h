// What must be true of streams and their messages, worked out from what senders, receivers and keepers said and heard,
// and from what has become durable:
//
// - a message that was acknowledged is there until somebody deletes it with the receipt of its last receive, it was
//   received too often, its time is over, or its stream is purged or deleted;
// - nobody is given a message that somebody else still holds, that is still delayed, or that comes after another one of
//   its group; nobody waits for one that can be received, and no attempt that has ended is given one;
// - a message is received max_receives times at most, and is then a dead letter;
// - what was sent to a FIFO stream twice is there once, and what was said is what is read;
// - an item of a job holds its message until it is settled, and then it is deleted, or counts as received, or is as it
//   was before; a job that was to end when its stream is empty did not leave a message behind.
//
// Times are the server's own unless they are called true: its clock may jump when it starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/core.h"
#include "ports/store.h"

namespace drover::sim {

struct Stage;

/// When a command was first sent. It is applied no earlier.
struct Asked {
  std::int64_t at_ms = 0;
  std::int64_t true_ms = 0;
  std::uint64_t server = 0;  // the generation that it was sent to
};

/// A message as its sender knows it.
struct SentMessage {
  std::string stream;
  std::string group;
  std::int64_t delay_ms = 0;
  std::uint64_t sender = 0;
  std::uint64_t place = 0;  // among those of its sender in its group, from 1
  bool is_fed = false;      // from an outbox, which says it until it is sure
};

/// A message as its receiver gets it.
struct GivenMessage {
  MessagesReceived::One one;
  std::optional<std::string> content;
  std::optional<DeadLetter> letter;
};

class StreamAudit {
 public:
  explicit StreamAudit(Stage& stage) : stage_(stage) {}

  /// Now, for a server that is up.
  Asked asked() const;
  /// A worker runs it, as far as the server knows.
  bool is_held(Token attempt) const;

  // Keepers.
  void shall_be(const StreamSpec& spec) { specs_[spec.name] = spec; }
  const StreamSpec& spec(const std::string& stream) const { return specs_.at(stream); }
  void purge_asked(const std::string& stream) { may_be_purged_.insert(stream); }
  void drop_asked(const std::string& stream) { may_be_dropped_.insert(stream); }
  /// All that is there now, by number: what a purge that is asked for now has to delete.
  std::set<MessageNumber> all_of(const std::string& stream) const;
  void purged(const std::set<MessageNumber>& messages);

  // Senders.
  /// What it is to say.
  std::string sends(const SentMessage& message);
  void acknowledged(const std::string& content, const MessagesSent::One& one);

  // Receivers.
  /// Somebody receives in the name of this attempt.
  void receives_for(Token attempt) { attempts_.insert(attempt); }
  void received(const ReceiveMessages& command, const Asked& asked, const MessagesReceived& answer,
                const std::vector<GivenMessage>& given);
  void found_nothing(const ReceiveMessages& command, const Asked& asked);
  void delete_asked(const Receipt& receipt);
  void deleted(const Receipt& receipt, const Asked& asked, ReceiptOutcome outcome);
  void visibility_asked(const Receipt& receipt, const Asked& asked, std::int64_t visibility_ms);
  void visibility_set(const Receipt& receipt, const Asked& asked, std::int64_t visibility_ms, ReceiptOutcome outcome);

  void committed(const Batch& batch);
  /// What holds at any time when nothing is under way.
  void look();
  /// No message is left.
  bool is_drained() const;
  /// Those that are left, in words.
  std::string left() const;

 private:
  /// What its receiver may rely on.
  struct Claim {
    std::uint64_t receive = 0;
    std::int64_t until_ms = 0;  // at least
    std::optional<Token> holder;
  };
  using Item = std::pair<JobId, ItemIndex>;
  struct Message {
    MessageNumber number;
    StreamId stream;
    std::string content;
    std::string group;
    std::uint64_t order = 0;      // in which it came
    std::int64_t since_ms = 0;    // in its stream
    std::int64_t visible_ms = 0;  // or delayed until
    std::uint64_t receives = 0;
    std::map<std::uint64_t, std::int64_t> received_ms = {};  // by receive
    Token holder = {};
    std::optional<Item> item = {};  // of a job, which holds it
    std::optional<DeadLetter> letter = {};
    bool gone = false;
    std::int64_t gone_ms = 0;
    std::set<std::uint64_t> heard_of = {};  // receives
    std::set<std::uint64_t> deletes = {};   // receives whose receipts were used for it
    bool visibility_asked = false;
    std::optional<Claim> claim = {};
  };

  void fail(const Message& message, std::string_view what) const;
  std::string name(StreamId stream) const;
  const StreamSpec& spec(const Message& message) const { return specs_.at(name(message.stream)); }
  Message* find(const Receipt& receipt);
  bool is_expired(const Message& message) const;
  /// Its receiver still holds it for certain.
  bool is_claimed(const Message& message, std::uint64_t receive, std::int64_t at_ms) const;
  bool was_valid(const Message& message, const Receipt& receipt, const Asked& asked) const;
  bool could_be_received(const Message& message, std::int64_t before_ms) const;
  bool could_be_received(const std::vector<const Message*>& group, std::int64_t before_ms) const;
  std::vector<const Message*> live(StreamId stream) const;

  // What became durable.
  void take(const PutMessageBlock& it) { blocks_[it.block.first] = it.block.stream; }
  void take(const AddMessage& it);
  void take(const MoveMessage& it);
  void take(const PutStream& it);
  void take(const DeleteStream& it);
  void take(const DeleteOpenMessage& it);
  void take(const PutOpenMessage& it);
  void take(const DeleteMessageBlock& it);
  void inspect_order_of_sending(const Message& message, const SentMessage& sent);
  void inspect_handed(const Message& message, const OpenMessage& now);
  void inspect_groups() const;
  void inspect_ended(const Job& job) const;
  bool is_over(const Item& item) const;
  void let_go(Message& message);
  void note_ended_attempts();
  Message& add(MessageNumber number, std::string content, std::string group, std::int64_t visible_ms);
  void end(Message& message);

  Stage& stage_;
  std::int64_t now_ms_ = 0;  // of the batch
  std::map<std::string, StreamSpec> specs_;
  std::set<std::string> may_be_purged_;
  std::set<std::string> may_be_dropped_;
  std::map<StreamId, std::string> names_;
  std::map<MessageNumber, StreamId> blocks_;                                    // by their first
  std::map<std::string, SentMessage> sent_;                                     // by content
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> last_places_;  // by sender and group
  std::map<std::string, std::int64_t> added_ms_;                                // by content, last
  std::map<MessageNumber, Message> messages_;
  std::map<StreamId, std::set<MessageNumber>> live_;
  std::map<std::pair<StreamId, std::string>, std::int64_t> left_ms_;  // by group, when a message of it last went
  std::set<MessageNumber> handed_;                                    // in the batch
  std::uint64_t next_order_ = 1;
  std::set<Token> attempts_;                // in whose name somebody receives
  std::map<Token, std::int64_t> ended_ms_;  // those that have ended, by the server's books, at the latest
  std::uint64_t server_ = 0;                // the generation whose books these are
};

}  // namespace drover::sim
