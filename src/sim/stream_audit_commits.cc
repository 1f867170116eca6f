// What becomes durable of streams, held against what was asked for.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/stage.h"
#include "sim/stream_audit.h"

namespace drover::sim {
namespace {

template <class Kind, class Visit>
void each(const Batch& batch, const Visit& visit) {
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* it = std::get_if<Kind>(&mutation)) visit(*it);
  }
}

}  // namespace

// In an order in which they make sense: within a batch, messages come before they are moved, and are deleted before
// others are handed out.
void StreamAudit::committed(const Batch& batch) {
  // What a server had not made durable when it died is as if it had never happened.
  if (std::exchange(server_, stage_.server.generation()) != stage_.server.generation()) ended_ms_.clear();
  // Another batch of the same millisecond does not say the time again.
  each<PutCounters>(batch, [&](const PutCounters& it) { now_ms_ = it.counters.now_ms; });
  const bool matters = std::ranges::any_of(batch.mutations, [](const Mutation& it) {
    return std::holds_alternative<PutJob>(it) || std::holds_alternative<PutStream>(it) ||
           std::holds_alternative<DeleteStream>(it) || std::holds_alternative<PutMessageBlock>(it) ||
           std::holds_alternative<DeleteMessageBlock>(it) || std::holds_alternative<PutOpenMessage>(it) ||
           std::holds_alternative<DeleteOpenMessage>(it) || std::holds_alternative<AddMessage>(it) ||
           std::holds_alternative<MoveMessage>(it);
  });
  if (!matters) return note_ended_attempts();
  handed_.clear();
  const auto take_it = [&](const auto& it) { take(it); };
  each<PutStream>(batch, [&](const PutStream& it) { names_[it.stream.id] = it.stream.name; });
  each<PutMessageBlock>(batch, take_it);
  each<AddMessage>(batch, take_it);
  each<MoveMessage>(batch, take_it);
  each<PutStream>(batch, take_it);
  each<DeleteStream>(batch, take_it);
  each<DeleteOpenMessage>(batch, take_it);
  each<PutOpenMessage>(batch, take_it);
  each<DeleteMessageBlock>(batch, take_it);
  each<PutJob>(batch, [&](const PutJob& it) { inspect_ended(it.job); });
  inspect_groups();
  note_ended_attempts();
}

/// The core is ahead of what becomes durable: what it applies from now on comes later than what ended by now.
void StreamAudit::note_ended_attempts() {
  if (!stage_.server.up()) return;
  std::erase_if(attempts_, [&](Token it) {
    if (is_held(it)) return false;
    // The number of a grant that was never durable is given once more after a restart.
    const Core& core = stage_.server.core();
    if (it.grant.value < core.durable().counters.next_grant) ended_ms_.emplace(it, core.now_ms());
    return true;
  });
}

bool StreamAudit::is_expired(const Message& message) const {
  return message.since_ms + spec(message).retention_ms <= now_ms_;
}

/// One whose block is not there was purged in the same batch.
StreamAudit::Message& StreamAudit::add(MessageNumber number, std::string content, std::string group,
                                       std::int64_t visible_ms) {
  Message& message = messages_[number];
  message.number = number;
  message.content = std::move(content);
  message.group = std::move(group);
  message.order = next_order_++;
  message.since_ms = now_ms_;
  message.visible_ms = visible_ms;
  const auto block = blocks_.find(MessageBlock::first_of(number));
  message.gone = block == blocks_.end();
  if (!message.gone) {
    message.stream = block->second;
    live_[message.stream].insert(number);
  }
  return message;
}

void StreamAudit::end(Message& message) {
  message.gone = true;
  message.gone_ms = now_ms_;
  live_[message.stream].erase(message.number);
  if (!message.group.empty()) left_ms_[{message.stream, message.group}] = now_ms_;
}

void StreamAudit::take(const AddMessage& it) {
  const auto sent = sent_.find(*it.content);
  if (sent == sent_.end()) return stage_.auditor.fail("a stream has a message that nobody sent");
  if (messages_.contains(it.message)) return stage_.auditor.fail("two messages have one number");
  const Message& message = add(it.message, *it.content, sent->second.group, now_ms_ + sent->second.delay_ms);
  if (!message.gone && name(message.stream) != sent->second.stream) fail(message, "is in another stream");
  if (!message.group.empty()) inspect_order_of_sending(message, sent->second);
  if (sent->second.is_fed && !added_ms_.try_emplace(message.content, now_ms_).second) fail(message, "was taken twice");
}

void StreamAudit::inspect_order_of_sending(const Message& message, const SentMessage& sent) {
  const auto [added, is_first] = added_ms_.try_emplace(message.content, now_ms_);
  if (!is_first && now_ms_ - std::exchange(added->second, now_ms_) < kDeduplicationMs) {
    fail(message, "was taken twice");
  }
  // One that comes long after its first is another message.
  std::uint64_t& last = last_places_[{sent.sender, sent.group}];
  if (is_first && sent.place != ++last) fail(message, "was taken out of order");
}

void StreamAudit::take(const MoveMessage& it) {
  const auto found = messages_.find(it.from);
  if (found == messages_.end() || found->second.gone) return stage_.auditor.fail("a dead letter was no message");
  Message& message = found->second;
  const StreamSpec& of = spec(message);
  if (of.max_receives == 0 || it.to.receives != of.max_receives) {
    fail(message, concat("is a dead letter after ", it.to.receives, " receives instead of ", of.max_receives));
  }
  if (it.to.source != message.stream) fail(message, "is a dead letter of another stream");
  let_go(message);
  if (is_claimed(message, it.to.receives + 1, now_ms_)) fail(message, "became a dead letter while it was held");
  end(message);
  Message& letter = add(it.to.message, message.content, message.group, now_ms_);
  letter.letter = it.to;
  if (!letter.gone && name(letter.stream) != of.dead_letters) fail(message, "went to a wrong stream");
}

void StreamAudit::take(const PutStream& it) {
  for (const Message* message : live(it.stream.id)) {
    if (message->number >= it.stream.purged_before) break;
    if (!may_be_purged_.contains(it.stream.name)) fail(*message, "was purged, which nobody asked for");
    end(messages_.at(message->number));
  }
}

void StreamAudit::take(const DeleteStream& it) {
  if (!names_.contains(it.stream)) return;  // it came in the same batch
  const std::string of = name(it.stream);
  if (!may_be_dropped_.contains(of)) stage_.auditor.fail(concat(of, ": was deleted, which nobody asked for"));
  for (const Message* message : live(it.stream)) end(messages_.at(message->number));
  live_.erase(it.stream);
  names_.erase(it.stream);
}

void StreamAudit::take(const DeleteOpenMessage& it) {
  const auto found = messages_.find(it.message);
  if (found == messages_.end() || found->second.gone) return;
  Message& message = found->second;
  if (message.item && stage_.auditor.settled_as(message.item->first, message.item->second) == AttemptState::succeeded) {
    return end(message);
  }
  if (!is_expired(message)) let_go(message);
  const bool was_asked = message.deletes.contains(message.receives);
  const bool has_run_out = !message.group.empty() && message.visible_ms <= now_ms_ && !message.visibility_asked;
  if (!is_expired(message)) {
    if (!was_asked) {
      fail(message, message.deletes.empty() ? "was lost" : "was deleted with the receipt of an earlier receive");
    } else if (has_run_out) {
      fail(message, "was deleted with a receipt whose time had run out");
    }
  }
  end(message);
}

void StreamAudit::take(const PutOpenMessage& it) {
  const auto found = messages_.find(it.message.message);
  if (found == messages_.end()) return stage_.auditor.fail("a message is received that nobody has sent");
  Message& message = found->second;
  if (message.gone) return fail(message, "is there again");
  const std::optional<Item> item =
      it.message.job ? std::optional(Item{it.message.job, it.message.job_item}) : std::nullopt;
  if (message.item != item) let_go(message);
  if (it.message.receives > message.receives) {
    inspect_handed(message, it.message);
    message.received_ms[it.message.receives] = now_ms_;
    handed_.insert(message.number);
  } else if (it.message.receives < message.receives || (item && message.item != item)) {
    fail(message, concat("was received ", message.receives, " times, and now ", it.message.receives));
  }
  message.item = item;
  message.receives = it.message.receives;
  message.holder = it.message.holder;
  if (it.message.receives > 0) message.visible_ms = it.message.visible_ms;
}

void StreamAudit::inspect_handed(const Message& message, const OpenMessage& now) {
  const std::uint64_t receives = now.receives;
  const std::uint64_t most = spec(message).max_receives;
  if (most > 0 && receives > most) fail(message, concat("was received ", receives, " times"));
  const auto ended = ended_ms_.find(now.holder);
  if (ended != ended_ms_.end() && now.received_ms > ended->second)
    fail(message, "was given to an attempt that had ended");
  if (message.receives == 0 && message.visible_ms > now_ms_) fail(message, "was received before its delay was over");
  if (is_claimed(message, receives, now_ms_)) fail(message, "was given to another receiver too soon");
  if (message.item) fail(message, "was given to another receiver while an item held it");
}

bool StreamAudit::is_over(const Item& item) const {
  return stage_.auditor.is_over(item.first) || stage_.auditor.settled_as(item.first, item.second).has_value();
}

/// The item that held it does so no longer. One that failed has received it, and one that was not run has not.
void StreamAudit::let_go(Message& message) {
  if (!message.item) return;
  const Item item = *message.item;
  if (!is_over(item)) return fail(message, "was let go before the item that held it was settled");
  message.item.reset();
  if (stage_.auditor.has_failed(item.first, item.second)) {
    const std::int64_t since_ms = message.received_ms[message.receives];
    message.claim = {message.receives, since_ms + spec(message).visibility_ms, std::nullopt};
    return;
  }
  message.received_ms.erase(message.receives--);
  if (message.receives == 0) message.visible_ms = now_ms_;
}

/// A job that was to end with its stream leaves nothing behind that was there before.
void StreamAudit::inspect_ended(const Job& job) const {
  if (job.stream.empty() || !job.ended() || job.stop != StopCause::none) return;
  for (const auto& [id, numbers] : live_) {
    if (name(id) != job.stream) continue;
    for (const Message* it : live(id)) {
      if (it->since_ms < job.ended_ms) fail(*it, "was there when a job ended that was to take all");
    }
  }
}

/// Whoever was given one of a group was given all before it, in one go.
void StreamAudit::inspect_groups() const {
  for (const MessageNumber number : handed_) {
    const Message& message = messages_.at(number);
    if (message.group.empty() || message.gone) continue;
    for (const Message* it : live(message.stream)) {
      if (it->group != message.group || it->order >= message.order) continue;
      if (handed_.contains(it->number) && !message.item && !it->item) continue;
      fail(message, concat("was received before '", it->content, "' of its group was deleted"));
    }
  }
}

void StreamAudit::take(const DeleteMessageBlock& it) {
  const auto block = blocks_.extract(it.first);
  if (block.empty()) return;
  for (const Message* message : live(block.mapped())) {
    if (MessageBlock::first_of(message->number) != it.first) continue;
    if (!is_expired(*message)) fail(*message, "was lost with its block");
    end(messages_.at(message->number));
  }
}

}  // namespace drover::sim
