// What happens to messages when time passes: hidden ones become visible, dead ones go to another stream, old ones
// expire.
#include <algorithm>

#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

constexpr std::uint64_t kMostInOneStep = 200;     // messages, receivers and the like, with each command
constexpr std::uint64_t kStepsOfDeadLetter = 10;  // its content is written again, and may be long
// Nobody knows any more how large a message is that has become a dead letter.
constexpr std::uint64_t kBytesOfDeadLetter = MessageBlock::kBytes / 64;

}  // namespace

void Streams::pass_time() {
  std::uint64_t left = kMostInOneStep;
  while (left > 0 && !now_.due.empty() && now_.due.begin()->first <= journal_.now_ms()) {
    const At it = at(now_.due.begin()->second);
    pass_time(it, left);
    reschedule(it);
    changed(it);
  }
}

void Streams::pass_time(At it, std::uint64_t& left) {
  const std::int64_t now_ms = journal_.now_ms();
  expire_some(it, left);
  while (left > 0 && !it.index.hidden.empty() && it.index.hidden.begin()->first <= now_ms) {
    left -= become_visible(it, it.index.hidden.begin()->second) ? std::min(left, kStepsOfDeadLetter) : 1;
  }
  forget_some(it, left);
  serve(it);
  for (; left > 0 && !it.index.receiver_deadlines.empty() && it.index.receiver_deadlines.begin()->first <= now_ms;
       --left) {
    const std::uint64_t order = it.index.receiver_deadlines.begin()->second;
    journal_.say(it.index.receivers.at(order).ticket, MessagesReceived{it.stream.id, {}});
    remove_receiver(it, order);
  }
}

/// It can be received again, unless that was tried too often: whether it was moved.
bool Streams::become_visible(At it, MessageNumber number) {
  const OpenMessage& message = it.messages.open.at(number);
  if (move_if_dead(it, message)) return true;
  unindex(it, message);
  index(it, message);
  return false;
}

bool Streams::is_dead(At it, const OpenMessage& message) const {
  if (it.stream.max_receives == 0) return false;
  const std::uint64_t more = injected(StreamFault::one_receive_too_many) ? 1 : 0;
  const std::uint64_t fewer = injected(StreamFault::one_receive_too_few) && it.stream.max_receives > 1 ? 1 : 0;
  if (message.receives < it.stream.max_receives + more - fewer) return false;
  const auto target = now_.stream_by_name.find(it.stream.dead_letters);
  if (target == now_.stream_by_name.end() || target->second == it.stream.id) return false;
  return records_.streams.at(target->second).fifo == it.stream.fifo;
}

bool Streams::move_if_dead(At it, const OpenMessage& message) {
  if (!is_dead(it, message)) return false;
  const At target = at(now_.stream_by_name.at(it.stream.dead_letters));
  const MessageNumber number = append(target, target.stream.fifo, kBytesOfDeadLetter);
  if (target.stream.fifo) {
    add_open(target,
             {.message = number, .stream = target.stream.id, .group = message.group, .visible_ms = journal_.now_ms()});
  }
  journal_.write(MoveMessage{message.message, {number, it.stream.id, message.receives, journal_.now_ms()}});
  remove_open(it, message.message);
  changed(target);
  changed(it);
  return true;
}

std::optional<std::int64_t> Streams::expiry_of_first_block(At it) {
  if (it.messages.blocks.empty()) return std::nullopt;
  std::int64_t retention_ms = it.stream.retention_ms;
  if (injected(StreamFault::expires_too_soon)) retention_ms /= 2;
  if (injected(StreamFault::expires_too_late)) retention_ms *= 2;
  return it.messages.blocks.begin()->second.last_sent_ms + retention_ms;
}

/// Messages of a block expire together, the untouched ones at once.
void Streams::expire_some(At it, std::uint64_t& left) {
  for (auto due = expiry_of_first_block(it); left > 0 && due && *due <= journal_.now_ms();
       due = expiry_of_first_block(it)) {
    MessageBlock& block = it.messages.blocks.begin()->second;
    const MessageNumber first = block.first;
    it.index.untouched -= block.count - block.taken;
    if (it.index.untouched_blocks.erase(first) > 0) {
      block.taken = block.count;
      blocks_.add({it.stream.id, first});
    }
    for (auto& filling : it.index.filling) {
      if (filling && filling->first == first) filling.reset();
    }
    while (left > 0 && it.messages.blocks.contains(first)) {
      --left;
      const auto open = it.messages.open.lower_bound(first);
      if (open == it.messages.open.end() || MessageBlock::first_of(open->first) != first) {
        drop_block_if_done(it, first);
      } else {
        remove_open(it, open->first);
      }
    }
  }
}

/// What was sent before no longer counts.
void Streams::forget_some(At it, std::uint64_t& left) {
  const std::int64_t before_ms = journal_.now_ms() - kDeduplicationMs;
  for (; left > 0 && !it.index.sent_before.empty() && it.index.sent_before.begin()->first <= before_ms; --left) {
    const std::string key = it.index.sent_before.begin()->second;
    it.index.sent_before.erase(it.index.sent_before.begin());
    records_.sent_before.at(it.stream.id).erase(key);
    sent_before_.add({it.stream.id, key});
  }
}

void Streams::reschedule(At it) {
  std::optional<std::int64_t> due_ms = expiry_of_first_block(it);
  const auto no_later = [&](std::int64_t ms) { due_ms = due_ms ? std::min(*due_ms, ms) : ms; };
  if (!it.index.hidden.empty()) no_later(it.index.hidden.begin()->first);
  if (!it.index.receiver_deadlines.empty()) no_later(it.index.receiver_deadlines.begin()->first);
  if (!it.index.sent_before.empty()) no_later(it.index.sent_before.begin()->first + kDeduplicationMs);
  if (due_ms == it.index.due_ms) return;
  if (it.index.due_ms) now_.due.erase({*it.index.due_ms, it.stream.id});
  if (due_ms) now_.due.emplace(*due_ms, it.stream.id);
  it.index.due_ms = due_ms;
}

std::optional<std::int64_t> Streams::next_deadline() const {
  if (now_.due.empty()) return std::nullopt;
  return now_.due.begin()->first;
}

}  // namespace drover
