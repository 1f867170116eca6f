#include "base/text.h"
#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

std::string deduplication_key(const Stream& stream, const NewMessage& message) {
  return stream.deduplicates_by_group ? concat(message.group, " ", message.deduplication) : message.deduplication;
}

}  // namespace

void Streams::on(Ticket ticket, const SendMessages& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  MessagesSent sent;
  for (const NewMessage& message : command.messages) {
    const bool has_come = command.feed != 0 && !note_fed(*it, command.feed, message.feed_number);
    sent.messages.push_back(has_come ? MessagesSent::One{{}, message.id, true} : send(*it, message));
  }
  journal_.say(ticket, std::move(sent));
  changed(*it);
}

/// False: it has come before.
bool Streams::note_fed(At it, std::uint64_t feed, std::uint64_t number) {
  if (it.stream.feed == feed && number <= it.stream.fed_to && !injected(StreamFault::fed_twice)) return false;
  it.stream.feed = feed;
  it.stream.fed_to = number;
  streams_.add(it.stream.id);
  return true;
}

MessagesSent::One Streams::send(At it, const NewMessage& message) {
  const std::string key = it.stream.fifo ? deduplication_key(it.stream, message) : std::string();
  if (const SentBefore* before = it.stream.fifo ? find_duplicate(it, key) : nullptr) {
    return {before->message, before->id, true};
  }
  std::int64_t delay_ms = it.stream.fifo ? it.stream.delay_ms : message.delay_ms.value_or(it.stream.delay_ms);
  if (injected(StreamFault::delay_skipped)) delay_ms = 0;
  const bool has_record = it.stream.fifo || delay_ms > 0;
  const MessageNumber number = append(it, has_record, message.bytes);
  if (has_record) {
    add_open(it, {.message = number,
                  .stream = it.stream.id,
                  .group = message.group,
                  .visible_ms = journal_.now_ms() + delay_ms});
  }
  if (it.stream.fifo) {
    SentBefore& kept = records_.sent_before[it.stream.id][key];
    if (kept.stream) it.index.sent_before.erase({kept.sent_ms, key});
    kept = {it.stream.id, key, number, message.id, journal_.now_ms()};
    it.index.sent_before.emplace(kept.sent_ms, key);
    sent_before_.add({it.stream.id, key});
  }
  journal_.write(AddMessage{number, message.content});
  return {number, message.id, false};
}

/// One that was sent long ago does not count.
const SentBefore* Streams::find_duplicate(At it, const std::string& key) const {
  const auto of_stream = records_.sent_before.find(it.stream.id);
  if (of_stream == records_.sent_before.end() || injected(StreamFault::duplicate_taken)) return nullptr;
  const auto found = of_stream->second.find(key);
  if (found == of_stream->second.end() || found->second.sent_ms + kDeduplicationMs <= journal_.now_ms()) return nullptr;
  return &found->second;
}

}  // namespace drover
