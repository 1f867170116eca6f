// Streams come, change and go.
#include <algorithm>

#include "base/text.h"
#include "core/record_hash.h"
#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

constexpr std::size_t kMostFreed = 1'000;  // records, with each command
constexpr std::uint64_t kMostViews = 100;

/// Some of them go; fewer are left to be freed.
template <class Container>
void free_from(Container& container, std::size_t& left) {
  while (!container.empty() && left > 0) {
    container.erase(container.begin());
    --left;
  }
}

}  // namespace

Result<void> StreamRecords::restore(const PutStream& put) {
  streams.insert_or_assign(put.stream.id, put.stream);
  messages.try_emplace(put.stream.id);
  return {};
}

Result<void> StreamRecords::restore(const PutMessageBlock& put) {
  const auto stream = streams.find(put.block.stream);
  if (stream == streams.end() || put.block.first < stream->second.purged_before) return {};
  messages.at(put.block.stream).blocks.insert_or_assign(put.block.first, put.block);
  return {};
}

Result<void> StreamRecords::restore(const PutOpenMessage& put) {
  const auto of_stream = messages.find(put.message.stream);
  if (of_stream == messages.end()) return {};
  const auto block = of_stream->second.blocks.find(MessageBlock::first_of(put.message.message));
  if (block == of_stream->second.blocks.end()) return {};
  if (put.message.message.value >= block->first.value + block->second.taken) {
    return contradicts_itself("a message was received before it was sent");
  }
  of_stream->second.open.insert_or_assign(put.message.message, put.message);
  return {};
}

Result<void> StreamRecords::restore(const PutSentBefore& put) {
  if (streams.contains(put.sent.stream)) sent_before[put.sent.stream].insert_or_assign(put.sent.key, put.sent);
  return {};
}

void StreamRecords::add_to(Hasher& hasher) const {
  for (const auto& [id, stream] : streams) add_record(hasher, stream);
  for (const auto& [id, of_stream] : messages) {
    for (const auto& [first, block] : of_stream.blocks) add_record(hasher, block);
    for (const auto& [number, message] : of_stream.open) add_record(hasher, message);
  }
  for (const auto& [id, of_stream] : sent_before) {
    for (const auto& [key, sent] : of_stream) add_record(hasher, sent);
  }
}

void Streams::load() {
  for (const auto& [id, stream] : records_.streams) {
    now_.stream_by_name[stream.name] = id;
    now_.streams_now[id];
  }
  for (const auto& [id, stream] : records_.streams) {
    const At it = at(id);
    for (const auto& [first, block] : it.messages.blocks) {
      it.index.open_in_block[first] = 0;
      it.index.untouched += block.count - block.taken;
      if (block.taken < block.count) it.index.untouched_blocks.insert(first);
    }
    for (auto& [number, message] : it.messages.open) {
      ++it.index.open_in_block.at(MessageBlock::first_of(number));
      if (injected(StreamFault::restart_forgets_delay) && message.receives == 0) message.visible_ms = 0;
      index(it, message);
      if (message.holder.grant) now_.held_messages[message.holder].emplace(id, number);
      if (message.job) now_.item_messages[{message.job, message.job_item}] = {id, number};
    }
    if (const auto sent = records_.sent_before.find(id); sent != records_.sent_before.end()) {
      for (const auto& [key, before] : sent->second) it.index.sent_before.emplace(before.sent_ms, key);
    }
    for (const auto& [first, open] : it.index.open_in_block) {
      if (open == 0 && !it.index.untouched_blocks.contains(first)) now_.done_blocks.emplace_back(id, first);
    }
    reschedule(it);
    if (it.messages.blocks.empty()) changed(it);  // a job that was to end with it may not have heard of that
  }
  for (const auto& [attempt, held] : now_.held_messages) {
    if (!holders_.is_held(attempt)) now_.attempts_over.push_back(attempt);
  }
  for (const auto& [item, message] : now_.item_messages) {
    const bool is_listed = !now_.jobs_over.empty() && now_.jobs_over.back() == item.first;
    if (!is_listed && taker_->is_over(item.first)) now_.jobs_over.push_back(item.first);
  }
}

std::optional<Streams::At> Streams::find(Ticket ticket, const std::string& name) {
  const auto found = now_.stream_by_name.find(name);
  if (found != now_.stream_by_name.end()) return at(found->second);
  journal_.refuse(ticket, ErrorCode::not_found, concat("stream '", name, "' not found"),
                  "list streams with 'drover stream list'");
  return std::nullopt;
}

void Streams::on(Ticket ticket, const SetStream& command) {
  if (command.spec.text.size() > kMostStreamText) {
    return journal_.refuse(ticket, ErrorCode::bad_input,
                           concat("the policy, the tags and other settings of stream '", command.spec.name, "' have ",
                                  command.spec.text.size(), " bytes; the limit is ", kMostStreamText));
  }
  const auto known = now_.stream_by_name.find(command.spec.name);
  const bool is_new = known == now_.stream_by_name.end();
  const std::uint64_t version = is_new ? 0 : records_.streams.at(known->second).version;
  if (command.version && *command.version != version) {
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("stream '", command.spec.name, is_new ? "' not found" : "' has changed meanwhile"),
                           "read it again");
  }
  const StreamId id = is_new ? journal_.new_stream() : known->second;
  Stream& stream = records_.streams[id];
  const bool was_fifo = stream.fifo;
  static_cast<StreamSpec&>(stream) = command.spec;
  if (is_new) {
    stream.id = id;
    stream.created_ms = journal_.now_ms();
    records_.messages[id];
    now_.streams_now[id];
    now_.stream_by_name[stream.name] = id;
  } else {
    stream.fifo = was_fifo;
  }
  ++stream.version;
  stream.changed_ms = journal_.now_ms();
  streams_.add(id);
  journal_.say(ticket, StreamSet{stream});
  changed(at(id));
}

void Streams::on(Ticket ticket, const DropStream& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  const StreamId id = it->stream.id;
  for (const auto& [order, receiver] : it->index.receivers) {
    journal_.refuse(receiver.ticket, ErrorCode::not_found, concat("stream '", command.stream, "' was deleted"));
  }
  if (it->index.due_ms) now_.due.erase({*it->index.due_ms, id});
  StreamIndexes::Discarded& gone = now_.discarded.emplace_back();
  gone.messages = std::move(it->messages);
  gone.index = std::move(it->index);
  if (const auto sent = records_.sent_before.extract(id); !sent.empty()) gone.sent_before = std::move(sent.mapped());
  now_.stream_by_name.erase(command.stream);
  now_.streams_now.erase(id);
  records_.messages.erase(id);
  records_.streams.erase(id);
  streams_.drop(id);
  journal_.count_change();
  gone_streams_.push_back(id);
  journal_.say(ticket, StreamDropped{});
  taker_->on_stream_changed(command.stream);
}

void Streams::on(Ticket ticket, const PurgeStream& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  if (!injected(StreamFault::purge_changes_nothing)) discard_messages(*it);
  it->stream.purged_ms = journal_.now_ms();
  streams_.add(it->stream.id);
  journal_.say(ticket, StreamPurged{});
  changed(*it);
}

/// All messages go at once: what lies before the next block is no more.
void Streams::discard_messages(At it) {
  it.stream.purged_before = journal_.next_message_block();
  StreamIndexes::Discarded& gone = now_.discarded.emplace_back();
  gone.messages = std::exchange(it.messages, {});
  gone.index = std::exchange(it.index, {});
  std::swap(it.index.receivers, gone.index.receivers);
  std::swap(it.index.by_receiver, gone.index.by_receiver);
  std::swap(it.index.receiver_deadlines, gone.index.receiver_deadlines);
  std::swap(it.index.sent_before, gone.index.sent_before);
  it.index.next_receiver = gone.index.next_receiver;
  it.index.due_ms = gone.index.due_ms;
}

void Streams::free_some() {
  std::size_t left = kMostFreed;
  for (; !now_.done_blocks.empty() && left > 0; --left) {
    const auto [id, first] = now_.done_blocks.back();
    now_.done_blocks.pop_back();
    if (records_.streams.contains(id) && at(id).messages.blocks.contains(first)) drop_block_if_done(at(id), first);
  }
  while (!now_.discarded.empty() && left > 0) {
    StreamIndexes::Discarded& it = now_.discarded.front();
    free_from(it.messages.blocks, left);
    free_from(it.messages.open, left);
    free_from(it.sent_before, left);
    free_from(it.index.untouched_blocks, left);
    free_from(it.index.open_in_block, left);
    free_from(it.index.hidden, left);
    free_from(it.index.ready, left);
    free_from(it.index.ready_groups, left);
    free_from(it.index.sent_before, left);
    while (!it.index.groups.empty() && left > 0) {
      free_from(it.index.groups.begin()->second.members, left);
      if (left > 0) it.index.groups.erase(it.index.groups.begin());
    }
    free_from(it.index.receivers, left);
    free_from(it.index.by_receiver, left);
    free_from(it.index.receiver_deadlines, left);
    if (left > 0) now_.discarded.pop_front();
  }
}

void Streams::on(Ticket ticket, const AskStreams& command) {
  StreamsNow out;
  if (command.stream) {
    const auto it = find(ticket, *command.stream);
    if (!it) return;
    out.streams.push_back(view_of(*it));
  } else {
    const std::uint64_t most = std::min(command.most, kMostViews);
    for (auto it = now_.stream_by_name.upper_bound(command.after);
         it != now_.stream_by_name.end() && out.streams.size() < most; ++it) {
      out.streams.push_back(view_of(at(it->second)));
    }
  }
  journal_.say(ticket, std::move(out));
}

StreamView Streams::view_of(At it) {
  return {.stream = it.stream,
          .visible = it.index.untouched + it.messages.open.size() - it.index.hidden.size(),
          .in_flight = it.index.in_flight,
          .delayed = it.index.hidden.size() - it.index.in_flight,
          .oldest_ms = oldest_ms(it),
          .receivers = it.index.receivers.size()};
}

std::int64_t Streams::oldest_ms(At it) {
  std::int64_t oldest = 0;
  const auto consider = [&](MessageNumber number) {
    const MessageBlock& block = it.messages.blocks.at(MessageBlock::first_of(number));
    const std::int64_t at_ms = sent_ms(block, number.value - block.first.value);
    oldest = oldest == 0 ? at_ms : std::min(oldest, at_ms);
  };
  if (!it.messages.open.empty()) consider(it.messages.open.begin()->first);
  if (!it.index.untouched_blocks.empty()) {
    const MessageBlock& block = it.messages.blocks.at(*it.index.untouched_blocks.begin());
    consider(MessageNumber{block.first.value + block.taken});
  }
  return oldest;
}

void Streams::take_changes(std::vector<Mutation>& out) {
  for (const auto& [stream, first] : blocks_.take()) {
    const auto of_stream = records_.messages.find(stream);
    const auto* blocks = of_stream == records_.messages.end() ? nullptr : &of_stream->second.blocks;
    const auto block = blocks == nullptr ? decltype(blocks->end())() : blocks->find(first);
    // One that was purged, or dropped with its stream, may hold messages of this very batch. A store finds them by
    // their block, which it is told of before it hears of the purge.
    const bool is_there = blocks != nullptr && block != blocks->end();
    out.emplace_back(PutMessageBlock{is_there ? block->second : MessageBlock{.first = first, .stream = stream}});
  }
  streams_.take<PutStream>(records_.streams, out);
  for (const auto& [stream, number] : open_.take()) {
    const auto of_stream = records_.messages.find(stream);
    if (of_stream == records_.messages.end()) continue;
    const auto message = of_stream->second.open.find(number);
    if (message != of_stream->second.open.end()) {
      out.emplace_back(PutOpenMessage{message->second});
    } else {
      out.emplace_back(DeleteOpenMessage{number});
    }
  }
  for (const auto& [stream, key] : sent_before_.take()) {
    const auto of_stream = records_.sent_before.find(stream);
    if (of_stream == records_.sent_before.end()) continue;
    if (const auto sent = of_stream->second.find(key); sent != of_stream->second.end()) {
      out.emplace_back(PutSentBefore{sent->second});
    } else {
      out.emplace_back(DeleteSentBefore{stream, key});
    }
  }
}

void Streams::take_deletions(std::vector<Mutation>& out) {
  for (const MessageNumber first : std::exchange(gone_blocks_, {})) out.emplace_back(DeleteMessageBlock{first});
  for (const StreamId id : std::exchange(gone_streams_, {})) out.emplace_back(DeleteStream{id});
}

}  // namespace drover
