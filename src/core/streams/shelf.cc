// Where messages are: in which block, and whether they are hidden or ready.
#include <algorithm>

#include "base/check.h"
#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

// Messages of one block were sent within this part of the time for which they are kept, or within a second: they
// expire together.
constexpr std::int64_t kPartOfRetention = 1000;
constexpr std::int64_t kShortestSpanMs = 1000;

}  // namespace

Streams::At Streams::at(StreamId id) {
  return {records_.streams.at(id), records_.messages.at(id), now_.streams_now.at(id)};
}

/// The place of a new message: one that has a record, or that is untouched for now.
MessageNumber Streams::append(At it, bool has_record, std::uint64_t bytes) {
  auto& filling = it.index.filling[has_record ? 1 : 0];
  if (filling) {
    const MessageBlock& block = it.messages.blocks.at(filling->first);
    const std::int64_t span_ms = std::max(kShortestSpanMs, it.stream.retention_ms / kPartOfRetention);
    if (block.count == MessageBlock::kMessages || filling->bytes + bytes > MessageBlock::kBytes ||
        journal_.now_ms() - block.first_sent_ms > span_ms) {
      const MessageNumber first = filling->first;
      filling.reset();
      drop_block_if_done(it, first);
    }
  }
  if (!filling) {
    const MessageNumber first = journal_.new_message_block();
    it.messages.blocks.emplace(first, MessageBlock{.first = first,
                                                   .stream = it.stream.id,
                                                   .first_sent_ms = journal_.now_ms(),
                                                   .last_sent_ms = journal_.now_ms()});
    it.index.open_in_block[first] = 0;
    filling.emplace(first);
  }
  MessageBlock& block = it.messages.blocks.at(filling->first);
  filling->bytes += bytes;
  block.last_sent_ms = journal_.now_ms();
  const MessageNumber message{block.first.value + block.count++};
  if (has_record) {
    block.taken = block.count;
  } else {
    ++it.index.untouched;
    it.index.untouched_blocks.insert(block.first);
  }
  blocks_.add({it.stream.id, block.first});
  return message;
}

/// The first message that nobody has touched is somebody's now: it needs a record.
MessageNumber Streams::take_untouched(At it) {
  MessageBlock& block = it.messages.blocks.at(*it.index.untouched_blocks.begin());
  const MessageNumber message{block.first.value + block.taken++};
  --it.index.untouched;
  if (block.taken == block.count) it.index.untouched_blocks.erase(block.first);
  blocks_.add({it.stream.id, block.first});
  return message;
}

void Streams::add_open(At it, OpenMessage message) {
  ++it.index.open_in_block.at(MessageBlock::first_of(message.message));
  open_.add({it.stream.id, message.message});
  const auto& kept = it.messages.open.emplace(message.message, std::move(message)).first->second;
  index(it, kept);
}

void Streams::remove_open(At it, MessageNumber message) {
  const auto found = it.messages.open.find(message);
  unindex(it, found->second);
  set_holder(found->second, {});
  set_item(found->second, {}, {});
  it.messages.open.erase(found);
  open_.add({it.stream.id, message});
  const MessageNumber first = MessageBlock::first_of(message);
  --it.index.open_in_block.at(first);
  drop_block_if_done(it, first);
}

void Streams::drop_block_if_done(At it, MessageNumber first) {
  const auto is_filling = [&](const auto& filling) { return filling && filling->first == first; };
  if (it.index.open_in_block.at(first) > 0 || std::ranges::any_of(it.index.filling, is_filling)) return;
  const auto block = it.messages.blocks.find(first);
  if (block->second.taken < block->second.count) return;
  it.messages.blocks.erase(block);
  it.index.open_in_block.erase(first);
  blocks_.drop({it.stream.id, first});
  journal_.count_change();
  gone_blocks_.push_back(first);
}

/// It stands where its record says. One that is dead is taken for hidden until it was moved.
void Streams::index(At it, const OpenMessage& message) {
  MessageGroup* group = it.stream.fifo ? &it.index.groups[message.group] : nullptr;
  if (message.visible_ms > journal_.now_ms() || is_dead(it, message)) {
    it.index.hidden.emplace(message.visible_ms, message.message);
    if (message.receives > 0) ++it.index.in_flight;
    if (group != nullptr && message.receives > 0) {
      ++group->in_flight;
    } else if (group != nullptr) {
      group->members.insert(message.message);
    }
  } else if (group != nullptr) {
    group->members.insert(message.message);
  } else {
    it.index.ready.emplace(message.visible_ms, message.message);
  }
  if (group != nullptr) refresh_group(it, message.group);
}

void Streams::unindex(At it, const OpenMessage& message) {
  const bool was_hidden = it.index.hidden.erase({message.visible_ms, message.message}) > 0;
  if (was_hidden && message.receives > 0) --it.index.in_flight;
  if (!it.stream.fifo) {
    if (!was_hidden) it.index.ready.erase({message.visible_ms, message.message});
    return;
  }
  MessageGroup& group = it.index.groups.at(message.group);
  if (was_hidden && message.receives > 0) {
    --group.in_flight;
  } else {
    group.members.erase(message.message);
  }
  refresh_group(it, message.group);
}

/// A group can be received from while none of it is in flight, and its first message is visible.
void Streams::refresh_group(At it, const std::string& name) {
  const auto found = it.index.groups.find(name);
  MessageGroup& group = found->second;
  std::optional<MessageNumber> ready;
  if (!group.members.empty() && (group.in_flight == 0 || injected(StreamFault::group_not_blocked))) {
    const OpenMessage& first = it.messages.open.at(*group.members.begin());
    if (!it.index.hidden.contains({first.visible_ms, first.message})) ready = first.message;
  }
  if (group.ready_as != ready) {
    if (group.ready_as) it.index.ready_groups.erase(*group.ready_as);
    if (ready) it.index.ready_groups.emplace(*ready, name);
    group.ready_as = ready;
  }
  if (group.members.empty() && group.in_flight == 0) it.index.groups.erase(found);
}

void Streams::hide(At it, OpenMessage& message, std::int64_t until_ms) {
  unindex(it, message);
  message.visible_ms = until_ms;
  index(it, message);
  open_.add({it.stream.id, message.message});
}

void Streams::set_holder(OpenMessage& message, Token holder) {
  const std::pair key{message.stream, message.message};
  if (message.holder.grant) {
    const auto held = now_.held_messages.find(message.holder);
    if (held != now_.held_messages.end() && held->second.erase(key) > 0 && held->second.empty()) {
      now_.held_messages.erase(held);
    }
  }
  message.holder = holder;
  if (holder.grant) now_.held_messages[holder].insert(key);
}

void Streams::set_item(OpenMessage& message, JobId job, ItemIndex item) {
  if (message.job) now_.item_messages.erase({message.job, message.job_item});
  message.job = job;
  message.job_item = item;
  if (job) now_.item_messages[{job, item}] = {message.stream, message.message};
}

/// About when it was sent: as if the block's messages had come evenly.
std::int64_t Streams::sent_ms(const MessageBlock& block, std::uint64_t offset) {
  if (block.count < 2) return block.first_sent_ms;
  const std::int64_t span_ms = block.last_sent_ms - block.first_sent_ms;
  return block.first_sent_ms + span_ms * static_cast<std::int64_t>(offset) / static_cast<std::int64_t>(block.count - 1);
}

}  // namespace drover
