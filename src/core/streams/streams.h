// The part of the core that keeps streams: queues of messages that receivers take, hold for a while, and delete.
//
// A message that nobody has touched is a place in a block. When it is received it gets a record: hidden until its
// visibility timeout, then ready to be received again, until it is deleted, is received too often, or expires. Messages
// of a FIFO stream, and delayed ones, have a record from the beginning.
//
// What it does is told by concept: stream_settings.cc (streams come, change and go), send.cc, receive.cc, receipts.cc
// (what a receiver does with what it holds), items.cc (messages that are items of jobs), message_times.cc (what happens
// when time passes), shelf.cc (where messages are in blocks, and how they change between hidden and ready).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "core/attempt_listener.h"
#include "core/command.h"
#include "core/journal.h"
#include "core/message_items.h"
#include "core/mutation.h"

namespace drover {

/// The messages of one stream.
struct StreamMessages {
  std::map<MessageNumber, MessageBlock> blocks;  // by their first
  std::map<MessageNumber, OpenMessage> open;
};

struct StreamRecords {
  std::map<StreamId, Stream> streams;
  std::map<StreamId, StreamMessages> messages;                             // of each stream
  std::map<StreamId, std::map<std::string, SentBefore>> sent_before = {};  // of FIFO streams

  /// Streams come first, then blocks, then messages. What belongs to a stream or a block that is gone is left out: a
  /// store deletes it step by step.
  Result<void> restore(const PutStream& put);
  Result<void> restore(const PutMessageBlock& put);
  Result<void> restore(const PutOpenMessage& put);
  Result<void> restore(const PutSentBefore& put);
  void add_to(Hasher& hasher) const;
};

/// Messages of a FIFO stream that are received in order.
struct MessageGroup {
  std::set<MessageNumber> members;        // that are not in flight
  std::uint64_t in_flight = 0;            // while there are some, nobody is given others
  std::optional<MessageNumber> ready_as;  // by what it is found among those that can be received
};

/// A receive that waits for messages.
struct WaitingReceiver {
  Ticket ticket;
  ReceiveMessages command;
  std::int64_t until_ms = 0;
};

/// What follows from the records of one stream, and who waits.
struct StreamIndex {
  std::uint64_t untouched = 0;
  std::set<MessageNumber> untouched_blocks;
  std::map<MessageNumber, std::uint64_t> open_in_block;     // for each block
  std::set<std::pair<std::int64_t, MessageNumber>> hidden;  // in flight or delayed, by when they become visible
  std::uint64_t in_flight = 0;                              // of those that are hidden
  std::set<std::pair<std::int64_t, MessageNumber>> ready;   // open and visible, by since when; not of FIFO streams
  std::map<std::string, MessageGroup> groups;
  std::map<MessageNumber, std::string> ready_groups;
  std::set<std::pair<std::int64_t, std::string>> sent_before;  // by when

  /// The block that new messages go to: untouched ones, and those with a record of their own.
  struct Filling {
    MessageNumber first;
    std::uint64_t bytes = 0;
  };
  std::array<std::optional<Filling>, 2> filling;  // since the core began

  std::map<std::uint64_t, WaitingReceiver> receivers;  // in the order in which they came
  std::map<std::uint64_t, std::uint64_t> by_receiver;
  std::set<std::pair<std::int64_t, std::uint64_t>> receiver_deadlines;
  std::uint64_t next_receiver = 1;

  std::optional<std::int64_t> due_ms;  // as it stands in StreamIndexes::due
};

struct StreamIndexes {
  std::map<StreamId, StreamIndex> streams_now;
  std::map<std::string, StreamId> stream_by_name;
  std::set<std::pair<std::int64_t, StreamId>> due;                              // when something is to be done
  std::map<Token, std::set<std::pair<StreamId, MessageNumber>>> held_messages;  // by attempts
  std::set<StreamId> changed_streams;                                           // receivers may wait for it
  std::vector<Token> attempts_over;                                             // whose messages are to be released
  std::map<std::pair<JobId, ItemIndex>, std::pair<StreamId, MessageNumber>> item_messages;  // some may be gone
  std::vector<JobId> jobs_over;  // whose items' messages are to be released
  /// That the core before this one was filling, and of which nothing is left.
  std::vector<std::pair<StreamId, MessageNumber>> done_blocks;
  /// What was purged or dropped, and is freed part by part.
  struct Discarded {
    StreamMessages messages;
    StreamIndex index;
    std::map<std::string, SentBefore> sent_before;
  };
  std::list<Discarded> discarded;
};

class Streams : public AttemptListener, public MessageSource {
 public:
  Streams(StreamRecords& records, StreamIndexes& now, Journal& journal, const AttemptHolders& holders)
      : records_(records), now_(now), journal_(journal), holders_(holders) {}
  void set_taker(MessageTaker& taker) { taker_ = &taker; }

  void on(Ticket ticket, const SetStream& command);
  void on(Ticket ticket, const DropStream& command);
  void on(Ticket ticket, const PurgeStream& command);
  void on(Ticket ticket, const SendMessages& command);
  void on(Ticket ticket, const ReceiveMessages& command);
  void on(Ticket ticket, const StopReceiving& command);
  void on(Ticket ticket, const DeleteMessages& command);
  void on(Ticket ticket, const SetVisibility& command);
  void on(Ticket ticket, const AskStreams& command);

  /// From records, when it is known what workers hold.
  void load();

  // With every command, and when time has passed.
  void release_some();
  void serve_some();
  void free_some();
  void pass_time();
  std::optional<std::int64_t> next_deadline() const;
  /// Something was left for the next command.
  bool has_more_to_do() const {
    return !now_.attempts_over.empty() || !now_.jobs_over.empty() || !now_.discarded.empty() ||
           !now_.changed_streams.empty() || !now_.done_blocks.empty();
  }

  void on_attempt_over(Token attempt) override;

  bool has_stream(const std::string& stream) const override { return now_.stream_by_name.contains(stream); }
  bool has_ready(const std::string& stream) override;
  bool is_empty(const std::string& stream) const override;
  std::uint64_t take(const std::string& stream, JobId job, ItemIndex first, std::uint64_t most) override;
  void on_settled(JobId job, ItemIndex item, MessageResult result) override;
  void on_job_over(JobId job) override;

  void take_changes(std::vector<Mutation>& out);
  void take_deletions(std::vector<Mutation>& out);

 private:
  /// A stream with all that is known of it.
  struct At {
    Stream& stream;
    StreamMessages& messages;
    StreamIndex& index;
  };
  At at(StreamId id);
  /// Nothing if no stream has this name; the caller is told.
  std::optional<At> find(Ticket ticket, const std::string& name);
  /// There may be something for those who wait, or another time at which something is to be done.
  void changed(At it) { now_.changed_streams.insert(it.stream.id); }

  // stream_settings.cc
  void discard_messages(At it);
  static StreamView view_of(At it);
  static std::int64_t oldest_ms(At it);
  // send.cc
  bool note_fed(At it, std::uint64_t feed, std::uint64_t number);
  MessagesSent::One send(At it, const NewMessage& message);
  const SentBefore* find_duplicate(At it, const std::string& key) const;
  // receive.cc
  std::vector<MessagesReceived::One> take(At it, const ReceiveMessages& command);
  bool take_group(At it, const ReceiveMessages& command, std::vector<MessagesReceived::One>& out, std::size_t& left);
  bool take_next(At it, const ReceiveMessages& command, std::vector<MessagesReceived::One>& out);
  OpenMessage* next_open(At it);
  OpenMessage& open_untouched(At it);
  MessagesReceived::One hand_to(At it, OpenMessage& message, const ReceiveMessages& command);
  void receive(At it, OpenMessage& message, std::int64_t hidden_until_ms);
  void serve(At it);
  void remove_receiver(At it, std::uint64_t order);
  // receipts.cc
  ReceiptOutcome delete_one(At it, const Receipt& receipt);
  ReceiptOutcome set_visibility(At it, const SetVisibility::One& one);
  // items.cc
  bool clear_way(At it);
  bool release_one_of(JobId job);
  void settle(std::pair<StreamId, MessageNumber> where, MessageResult result);
  // message_times.cc
  bool become_visible(At it, MessageNumber message);
  bool is_dead(At it, const OpenMessage& message) const;
  bool move_if_dead(At it, const OpenMessage& message);
  void expire_some(At it, std::uint64_t& left);
  void forget_some(At it, std::uint64_t& left);
  void pass_time(At it, std::uint64_t& left);
  void reschedule(At it);
  static std::optional<std::int64_t> expiry_of_first_block(At it);
  // shelf.cc
  MessageNumber append(At it, bool has_record, std::uint64_t bytes);
  void add_open(At it, OpenMessage message);
  void remove_open(At it, MessageNumber message);
  void index(At it, const OpenMessage& message);
  void unindex(At it, const OpenMessage& message);
  void hide(At it, OpenMessage& message, std::int64_t until_ms);
  void set_holder(OpenMessage& message, Token holder);
  void set_item(OpenMessage& message, JobId job, ItemIndex item);
  void refresh_group(At it, const std::string& name);
  MessageNumber take_untouched(At it);
  void drop_block_if_done(At it, MessageNumber first);
  static std::int64_t sent_ms(const MessageBlock& block, std::uint64_t offset);

  StreamRecords& records_;
  StreamIndexes& now_;
  Journal& journal_;
  const AttemptHolders& holders_;
  MessageTaker* taker_ = nullptr;
  Changed<StreamId> streams_{journal_};
  Changed<std::pair<StreamId, MessageNumber>> blocks_{journal_};
  Changed<std::pair<StreamId, MessageNumber>> open_{journal_};
  Changed<std::pair<StreamId, std::string>> sent_before_{journal_};
  std::vector<MessageNumber> gone_blocks_;
  std::vector<StreamId> gone_streams_;
};

}  // namespace drover
