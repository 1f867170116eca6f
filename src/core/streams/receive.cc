// Receivers are given messages, or wait for some.
#include <algorithm>

#include "base/text.h"
#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

constexpr std::size_t kMostStreamsServed = 16;  // with each command
constexpr std::size_t kJobsLikeAStream = 8;     // take as long
constexpr std::size_t kMostLookedAt = 100;      // messages, for one receive: some may turn out to be dead

}  // namespace

void Streams::on(Ticket ticket, const ReceiveMessages& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  if (command.holder && !holders_.is_held(*command.holder)) {
    return journal_.refuse(ticket, ErrorCode::denied, "the attempt that receives messages has ended");
  }
  const std::int64_t wait_ms = command.wait_ms.value_or(it->stream.receive_wait_ms);
  MessagesReceived received{it->stream.id, take(*it, command)};
  if (received.messages.empty() && !it->stream.fifo && it->index.in_flight >= kMostMessagesInFlight) {
    return journal_.refuse(ticket, ErrorCode::in_use,
                           concat("stream '", it->stream.name, "' has ", kMostMessagesInFlight, " messages in flight"),
                           "delete messages that have been processed");
  }
  if (received.messages.empty() && wait_ms > 0) {
    const std::uint64_t order = it->index.next_receiver++;
    const std::int64_t until_ms = journal_.now_ms() + wait_ms;
    it->index.receivers.emplace(order, WaitingReceiver{ticket, command, until_ms});
    it->index.receiver_deadlines.emplace(until_ms, order);
    if (command.receiver != 0) it->index.by_receiver[command.receiver] = order;
  } else {
    journal_.say(ticket, std::move(received));
  }
  changed(*it);
}

void Streams::on(Ticket /*ticket*/, const StopReceiving& command) {
  const auto id = now_.stream_by_name.find(command.stream);
  if (id == now_.stream_by_name.end()) return;
  const At it = at(id->second);
  const auto order = it.index.by_receiver.find(command.receiver);
  if (order == it.index.by_receiver.end()) return;
  journal_.say(it.index.receivers.at(order->second).ticket, MessagesReceived{it.stream.id, {}});
  remove_receiver(it, order->second);
  changed(it);
}

void Streams::remove_receiver(At it, std::uint64_t order) {
  const auto found = it.index.receivers.find(order);
  it.index.receiver_deadlines.erase({found->second.until_ms, order});
  it.index.by_receiver.erase(found->second.command.receiver);
  it.index.receivers.erase(found);
}

/// Of some of the streams that have changed, those who wait are given what there is.
void Streams::serve_some() {
  for (std::size_t left = kMostStreamsServed; !now_.changed_streams.empty() && left > 0; --left) {
    const StreamId id = *now_.changed_streams.begin();
    now_.changed_streams.erase(now_.changed_streams.begin());
    if (!records_.streams.contains(id)) continue;
    serve(at(id));
    const std::size_t jobs = taker_->on_stream_changed(at(id).stream.name);
    reschedule(at(id));
    left -= std::min(left - 1, jobs / kJobsLikeAStream);
  }
}

/// In the order in which they came.
void Streams::serve(At it) {
  while (!it.index.receivers.empty()) {
    const auto first = it.index.receivers.begin();
    const auto& holder = first->second.command.holder;
    MessagesReceived received{it.stream.id, {}};
    const bool is_over = holder && !holders_.is_held(*holder) && !injected(StreamFault::ended_attempt_served);
    if (!is_over) received.messages = take(it, first->second.command);
    if (!is_over && received.messages.empty()) return;
    journal_.say(first->second.ticket, std::move(received));
    remove_receiver(it, first->first);
  }
}

std::vector<MessagesReceived::One> Streams::take(At it, const ReceiveMessages& command) {
  std::vector<MessagesReceived::One> out;
  std::size_t left = kMostLookedAt;
  while (out.size() < command.most && it.index.in_flight < kMostMessagesInFlight && left > 0) {
    if (it.stream.fifo ? !take_group(it, command, out, left) : !take_next(it, command, out)) break;
    --left;
  }
  if (left == 0) changed(it);
  return out;
}

/// One that has waited longest: one that was received before, or the first that nobody has touched. False: there is
/// none.
bool Streams::take_next(At it, const ReceiveMessages& command, std::vector<MessagesReceived::One>& out) {
  if (OpenMessage* message = next_open(it)) {
    if (!move_if_dead(it, *message)) out.push_back(hand_to(it, *message, command));
    return true;
  }
  if (it.index.untouched == 0) return false;
  out.push_back(hand_to(it, open_untouched(it), command));
  return true;
}

/// The next message, if it has a record. Null: no message is ready, or the next one has never been received.
OpenMessage* Streams::next_open(At it) {
  if (it.stream.fifo) {
    return it.index.ready_groups.empty() ? nullptr : &it.messages.open.at(it.index.ready_groups.begin()->first);
  }
  const auto ready = it.index.ready.begin();
  if (ready == it.index.ready.end()) return nullptr;
  if (it.index.untouched > 0) {
    const MessageBlock& block = it.messages.blocks.at(*it.index.untouched_blocks.begin());
    if (ready->first > sent_ms(block, block.taken)) return nullptr;
  }
  return &it.messages.open.at(ready->second);
}

OpenMessage& Streams::open_untouched(At it) {
  const MessageNumber message = take_untouched(it);
  add_open(it, {.message = message, .stream = it.stream.id, .visible_ms = journal_.now_ms()});
  return it.messages.open.at(message);
}

/// As many as there are of the group whose first message is the oldest, in order. False: there is no group.
bool Streams::take_group(At it, const ReceiveMessages& command, std::vector<MessagesReceived::One>& out,
                         std::size_t& left) {
  if (it.index.ready_groups.empty()) return false;
  const std::string name = it.index.ready_groups.begin()->second;
  for (; out.size() < command.most && it.index.in_flight < kMostMessagesInFlight && left > 1; --left) {
    const auto group = it.index.groups.find(name);
    if (group == it.index.groups.end() || group->second.members.empty()) break;
    auto member = group->second.members.begin();
    if (injected(StreamFault::group_out_of_order) && group->second.members.size() > 1) ++member;
    OpenMessage& message = it.messages.open.at(*member);
    if (it.index.hidden.contains({message.visible_ms, message.message})) break;
    if (!move_if_dead(it, message)) out.push_back(hand_to(it, message, command));
  }
  return true;
}

/// Hidden for a millisecond at least, so that one receive does not return it twice.
MessagesReceived::One Streams::hand_to(At it, OpenMessage& message, const ReceiveMessages& command) {
  const std::int64_t now_ms = journal_.now_ms();
  std::int64_t visibility_ms = command.visibility_ms.value_or(it.stream.visibility_ms);
  if (injected(StreamFault::visible_too_soon)) visibility_ms /= 2;
  set_holder(message, command.holder.value_or(Token{}));
  receive(it, message, now_ms + std::max<std::int64_t>(visibility_ms, 1));
  return {message.message, message.receives, message.first_received_ms};
}

void Streams::receive(At it, OpenMessage& message, std::int64_t hidden_until_ms) {
  unindex(it, message);
  ++message.receives;
  message.received_ms = journal_.now_ms();
  if (message.first_received_ms == 0) message.first_received_ms = journal_.now_ms();
  message.visible_ms = hidden_until_ms;
  index(it, message);
  open_.add({it.stream.id, message.message});
}

}  // namespace drover
