// What must hold between the records of streams and what follows from them.
#include <algorithm>

#include "core/sanity.h"

namespace drover {
namespace {

class StreamInspection : Inspection {
 public:
  StreamInspection(const Core& core, Faults& faults) : Inspection(core, faults) {}

  void inspect() {
    expect(durable_.streams.size() == volatile_.streams_now.size(), "streams have an index each");
    expect(durable_.streams.size() == volatile_.stream_by_name.size(), "streams have a name each");
    expect(durable_.streams.size() == durable_.messages.size(), "streams have messages each");
    for (const auto& [id, stream] : durable_.streams) {
      if (!volatile_.streams_now.contains(id) || !durable_.messages.contains(id)) continue;
      inspect(stream, durable_.messages.at(id), volatile_.streams_now.at(id));
    }
    std::size_t held = 0;
    for (const auto& [attempt, messages] : volatile_.held_messages) {
      for (const auto& [stream, number] : messages) {
        const auto of_stream = durable_.messages.find(stream);
        if (of_stream == durable_.messages.end()) continue;
        const auto message = of_stream->second.open.find(number);
        if (message != of_stream->second.open.end() && message->second.holder == attempt) ++held;
      }
    }
    expect(held == holders_, "messages that attempts hold are found by attempt");
  }

 private:
  void inspect(const Stream& stream, const StreamMessages& messages, const StreamIndex& index) {
    std::uint64_t untouched = 0;
    for (const auto& [first, block] : messages.blocks) {
      expect(first == block.first && block.stream == stream.id, "a block is where it belongs");
      expect(first.value % MessageBlock::kMessages == 0 && first >= stream.purged_before, "a block begins somewhere");
      expect(block.taken <= block.count && block.count <= MessageBlock::kMessages, "a block is not overfull");
      expect(block.first_sent_ms <= block.last_sent_ms && block.last_sent_ms <= now_ms_, "messages were sent before");
      expect(!stream.fifo || block.taken == block.count, "messages of groups have records");
      untouched += block.count - block.taken;
      expect(index.untouched_blocks.contains(first) == (block.taken < block.count), "untouched messages are found");
    }
    expect(untouched == index.untouched, "untouched messages are counted");
    expect(messages.blocks.size() == index.open_in_block.size(), "each block's records are counted");
    std::map<MessageNumber, std::uint64_t> open_in_block;
    std::uint64_t hidden = 0;
    std::uint64_t in_flight = 0;
    std::map<std::string, std::uint64_t> in_flight_of;
    for (const auto& [number, message] : messages.open) {
      ++open_in_block[MessageBlock::first_of(number)];
      inspect(stream, messages, index, message);
      if (message.holder.grant) ++holders_;
      const bool is_hidden = index.hidden.contains({message.visible_ms, number});
      hidden += is_hidden ? 1 : 0;
      if (!is_hidden || message.receives == 0) continue;
      ++in_flight;
      ++in_flight_of[message.group];
    }
    expect(hidden == index.hidden.size() && in_flight == index.in_flight, "hidden messages are counted");
    for (const auto& [first, count] : open_in_block) {
      const auto counted = index.open_in_block.find(first);
      expect(counted != index.open_in_block.end() && counted->second == count, "a block's records are counted");
    }
    if (!stream.fifo) expect(index.ready.size() + hidden == messages.open.size(), "messages are hidden or ready");
    std::size_t members = 0;
    std::size_t ready = 0;
    for (const auto& [name, group] : index.groups) {
      expect(group.in_flight == in_flight_of[name], "the messages of a group in flight are counted");
      expect(group.in_flight > 0 || !group.members.empty(), "a group has messages");
      expect(!group.ready_as || (group.in_flight == 0 && group.ready_as == *group.members.begin()),
             "a group with messages in flight is left alone");
      members += group.members.size() + group.in_flight;
      ready += group.ready_as ? 1 : 0;
    }
    if (stream.fifo) expect(members == messages.open.size(), "each message of a FIFO stream is in a group");
    expect(ready == index.ready_groups.size(), "groups that can be received from are found");
    expect(index.receivers.size() == index.receiver_deadlines.size(), "receivers wait for a time");
    const bool is_full = index.in_flight >= kMostMessagesInFlight;
    const bool has_some = index.untouched > 0 || !index.ready.empty() || !index.ready_groups.empty();
    expect(index.receivers.empty() || !has_some || is_full || volatile_.changed_streams.contains(stream.id),
           "nobody waits for what is there");
    const auto sent = durable_.sent_before.find(stream.id);
    expect(index.sent_before.size() == (sent == durable_.sent_before.end() ? 0 : sent->second.size()),
           "what was sent before is found");
    expect(index.due_ms.has_value() ? volatile_.due.contains({*index.due_ms, stream.id}) : messages.open.empty(),
           "a stream knows when something is to be done");
  }

  void inspect(const Stream& stream, const StreamMessages& messages, const StreamIndex& index,
               const OpenMessage& message) {
    const auto block = messages.blocks.find(MessageBlock::first_of(message.message));
    expect(block != messages.blocks.end() && message.message.value < block->first.value + block->second.taken,
           "a message with a record is in a block");
    expect(message.stream == stream.id, "a message is in one stream");
    expect(stream.fifo == !message.group.empty(), "messages of FIFO streams have a group");
    expect(message.received_ms <= now_ms_ && message.first_received_ms <= message.received_ms,
           "it was received before");
    expect((message.receives == 0) == (message.received_ms == 0), "receives are counted");
    expect(message.visible_ms <= now_ms_ || index.hidden.contains({message.visible_ms, message.message}),
           "what is not visible yet is hidden");
    const bool is_held = message.visible_ms > now_ms_ && message.receives > 0 && !message.job;
    expect(!is_held || message.visible_ms - message.received_ms <= kLongestVisibilityMs,
           "nobody hides a message for longer than allowed");
    if (message.job) inspect_item(message);
  }

  void inspect_item(const OpenMessage& message) {
    expect(message.visible_ms == kUntilSettledMs && message.receives > 0, "a job's item holds its message");
    const auto found = volatile_.item_messages.find({message.job, message.job_item});
    expect(found != volatile_.item_messages.end() && found->second.second == message.message,
           "the message of an item is found");
    const auto& over = volatile_.jobs_over;
    if (std::ranges::find(over, message.job) != over.end()) return;
    const Job* job = durable_.find_job(message.job);
    const ItemBlocks* blocks = durable_.find_blocks(message.job);
    expect(job != nullptr && !job->ended() && blocks != nullptr, "a job that has ended holds no message");
    if (blocks == nullptr) return;
    const ItemMark mark = blocks->get(message.job_item);
    expect(mark == ItemMark::pending || mark == ItemMark::open, "a settled item holds no message");
  }

  std::size_t holders_ = 0;
};

}  // namespace

void inspect_streams(const Core& core, Faults& faults) {
  StreamInspection(core, faults).inspect();
}

}  // namespace drover
