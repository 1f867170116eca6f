#include "sim/stream_audit.h"

#include <algorithm>

#include "base/text.h"
#include "sim/stage.h"

namespace drover::sim {
namespace {

// A receive need not have been given what became visible this shortly before its wait was over.
constexpr std::int64_t kAtOnceMs = 1000;

}  // namespace

Asked StreamAudit::asked() const {
  return {stage_.server.clock_ms(), stage_.events.now_ms(), stage_.server.generation()};
}

bool StreamAudit::is_held(Token attempt) const {
  if (!stage_.server.up()) return false;
  const Durable& durable = stage_.server.core().durable();
  const auto grant = durable.grants.find(attempt.grant);
  if (grant == durable.grants.end() || !grant->second.covers(attempt.item)) return false;
  if (durable.blocks.at(grant->second.job).get(attempt.item) != ItemMark::open) return false;
  const OpenItem* open = durable.find_open(grant->second.job, attempt.item);
  return open == nullptr || open->grant == attempt.grant;
}

std::string StreamAudit::name(StreamId stream) const {
  const auto found = names_.find(stream);
  return found == names_.end() ? "a deleted stream" : found->second;
}

void StreamAudit::fail(const Message& message, std::string_view what) const {
  stage_.auditor.fail(concat(name(message.stream), ": message '", message.content, "' ", what));
}

StreamAudit::Message* StreamAudit::find(const Receipt& receipt) {
  const auto found = messages_.find(receipt.message);
  return found == messages_.end() ? nullptr : &found->second;
}

std::vector<const StreamAudit::Message*> StreamAudit::live(StreamId stream) const {
  std::vector<const Message*> out;
  const auto numbers = live_.find(stream);
  if (numbers == live_.end()) return out;
  for (const MessageNumber it : numbers->second) out.push_back(&messages_.at(it));
  return out;
}

std::set<MessageNumber> StreamAudit::all_of(const std::string& stream) const {
  for (const auto& [id, numbers] : live_) {
    if (name(id) == stream) return numbers;
  }
  return {};
}

// Whoever is answered has heard of every batch before.
void StreamAudit::purged(const std::set<MessageNumber>& messages) {
  for (const MessageNumber it : messages) {
    const Message& message = messages_.at(it);
    if (!message.gone) fail(message, "is there after a purge");
  }
}

std::string StreamAudit::sends(const SentMessage& message) {
  std::string content = concat(message.stream, " ", sent_.size() + 1);
  sent_.emplace(content, message);
  return content;
}

void StreamAudit::acknowledged(const std::string& content, const MessagesSent::One& one) {
  const bool is_fed = sent_.at(content).is_fed;
  if (is_fed && one.is_duplicate) {
    if (!added_ms_.contains(content)) {
      stage_.auditor.fail(concat("message '", content, "' is said to have come before, and is not durable"));
    }
    return;
  }
  const auto found = messages_.find(one.message);
  if (found == messages_.end()) {
    stage_.auditor.fail(concat("message '", content, "' was acknowledged and is not durable"));
  } else if (found->second.content != content) {
    fail(found->second, concat("was taken for '", content, "'"));
  }
}

bool StreamAudit::is_claimed(const Message& message, std::uint64_t receive, std::int64_t at_ms) const {
  if (!message.claim || message.claim->receive >= receive || at_ms >= message.claim->until_ms) return false;
  return !message.claim->holder || is_held(*message.claim->holder);
}

void StreamAudit::received(const ReceiveMessages& command, const Asked& asked, const MessagesReceived& answer,
                           const std::vector<GivenMessage>& given) {
  const std::int64_t visibility_ms = command.visibility_ms.value_or(specs_.at(command.stream).visibility_ms);
  std::map<std::string, std::uint64_t> last_of_group;
  if (given.size() > command.most) stage_.auditor.fail(concat(command.stream, ": a receive was given too much"));
  for (const GivenMessage& it : given) {
    const auto found = messages_.find(it.one.message);
    if (found == messages_.end()) return stage_.auditor.fail("a message was received that nobody has sent");
    Message& message = found->second;
    if (message.stream != answer.stream) fail(message, "was received from another stream");
    if (it.content ? *it.content != message.content : !message.gone) fail(message, "does not say what was sent");
    if (message.letter && !message.gone &&
        (!it.letter || it.letter->source != message.letter->source ||
         it.letter->receives != message.letter->receives)) {
      fail(message, "is a dead letter, and nobody knows from where");
    }
    if (!message.heard_of.insert(it.one.receive).second) fail(message, "was given to two with one receipt");
    // One that expires or is purged in the same batch is gone before it was seen to be received.
    const bool went_meanwhile = message.gone && message.gone_ms >= asked.at_ms;
    if (it.one.receive > message.receives && !went_meanwhile) fail(message, "was received, which is not durable");
    const auto at = message.received_ms.find(it.one.receive);
    const std::int64_t took_ms = stage_.events.now_ms() - asked.true_ms;
    // The clock of a server that was started since may be anywhere.
    const bool is_same_clock = asked.server == stage_.server.generation();
    if (is_same_clock && at != message.received_ms.end() &&
        (at->second < asked.at_ms || at->second > asked.at_ms + took_ms)) {
      fail(message, "was received at another time");
    }
    const auto first = message.received_ms.find(1);
    if (first != message.received_ms.end() && first->second != it.one.first_received_ms) {
      fail(message, "was first received at another time");
    }
    if (!message.group.empty() && std::exchange(last_of_group[message.group], message.order) > message.order) {
      fail(message, "was received behind one that came after it");
    }
    if (message.claim && message.claim->receive > it.one.receive) continue;
    const std::int64_t since_ms = at == message.received_ms.end() ? asked.at_ms : at->second;
    message.claim = {it.one.receive, since_ms + visibility_ms, command.holder};
    const auto next = message.received_ms.upper_bound(it.one.receive);
    if (next != message.received_ms.end() && is_claimed(message, next->first, next->second)) {
      fail(message, "was given to another receiver too soon");
    }
  }
}

/// It was visible at this time, and nobody has taken it since.
bool StreamAudit::could_be_received(const Message& message, std::int64_t before_ms) const {
  if (message.visible_ms > before_ms || message.since_ms > before_ms || is_expired(message)) return false;
  if (!message.received_ms.empty() && message.received_ms.rbegin()->second > before_ms) return false;
  const std::uint64_t most = spec(message).max_receives;
  return most == 0 || message.receives < most;
}

/// And none of its group was in flight: not one of those that are left, nor one that was deleted since.
bool StreamAudit::could_be_received(const std::vector<const Message*>& group, std::int64_t before_ms) const {
  const Message& first = *group.front();
  const auto left = left_ms_.find({first.stream, first.group});
  if (left != left_ms_.end() && left->second > before_ms) return false;
  return could_be_received(first, before_ms) && std::ranges::none_of(group, [&](const Message* it) {
           return it->receives > 0 && !could_be_received(*it, before_ms);
         });
}

void StreamAudit::found_nothing(const ReceiveMessages& command, const Asked& asked) {
  // One that does not wait is applied before the server looks at its clock.
  const std::int64_t wait_ms = command.wait_ms.value_or(0);
  if (wait_ms == 0 || (command.holder && !is_held(*command.holder))) return;
  // What could be received when its wait was over, or before, had to be given to it.
  const std::int64_t before_ms = asked.at_ms + wait_ms - kAtOnceMs;
  for (const auto& [id, numbers] : live_) {
    if (name(id) != command.stream) continue;
    now_ms_ = std::max(now_ms_, asked.at_ms + stage_.events.now_ms() - asked.true_ms);
    std::map<std::string, std::vector<const Message*>> groups;
    for (const Message* it : live(id)) {
      if (!it->group.empty()) {
        groups[it->group].push_back(it);
      } else if (could_be_received(*it, before_ms)) {
        return fail(*it, "was there when a receive found nothing");
      }
    }
    for (const auto& [group, members] : groups) {
      if (could_be_received(members, before_ms)) {
        return fail(*members.front(), "was the first of its group when a receive found nothing");
      }
    }
  }
}

void StreamAudit::delete_asked(const Receipt& receipt) {
  if (Message* message = find(receipt)) message->deletes.insert(receipt.receive);
}

/// The receipt was still good when the command was applied, whenever that was.
bool StreamAudit::was_valid(const Message& message, const Receipt& receipt, const Asked& asked) const {
  if (!stage_.server.up() || stage_.server.generation() != asked.server || !names_.contains(receipt.stream)) {
    return false;
  }
  return message.claim && message.claim->receive == receipt.receive &&
         is_claimed(message, receipt.receive + 1, stage_.server.clock_ms());
}

void StreamAudit::deleted(const Receipt& receipt, const Asked& asked, ReceiptOutcome outcome) {
  const Message* message = find(receipt);
  if (message == nullptr || !was_valid(*message, receipt, asked)) return;
  if (outcome != ReceiptOutcome::done) fail(*message, "could not be deleted with a receipt that was valid");
  if (!message->gone) fail(*message, "is there after it was deleted");
}

void StreamAudit::visibility_asked(const Receipt& receipt, const Asked& asked, std::int64_t visibility_ms) {
  Message* message = find(receipt);
  if (message == nullptr) return;
  message->visibility_asked = true;
  if (!message->claim || message->claim->receive != receipt.receive) return;
  message->claim->until_ms = std::min(message->claim->until_ms, asked.at_ms + visibility_ms);
}

void StreamAudit::visibility_set(const Receipt& receipt, const Asked& asked, std::int64_t visibility_ms,
                                 ReceiptOutcome outcome) {
  Message* message = find(receipt);
  if (message == nullptr) return;
  const bool is_good = outcome == ReceiptOutcome::done || (outcome == ReceiptOutcome::gone && message->gone);
  if (!is_good && was_valid(*message, receipt, asked))
    fail(*message, "could not be kept hidden with a receipt that was valid");
  if (outcome != ReceiptOutcome::done || !message->claim || message->claim->receive != receipt.receive) return;
  message->claim->until_ms = asked.at_ms + visibility_ms;
}

bool StreamAudit::is_drained() const {
  return std::ranges::all_of(live_, [](const auto& it) { return it.second.empty(); });
}

std::string StreamAudit::left() const {
  std::string out;
  for (const auto& [id, numbers] : live_) {
    if (numbers.empty()) continue;
    const Message& first = messages_.at(*numbers.begin());
    out += concat(out.empty() ? "" : "; ", name(id), " has ", numbers.size(), ", such as '", first.content,
                  "', received ", first.receives, " times");
  }
  return out;
}

void StreamAudit::look() {
  if (!stage_.server.settled()) return;
  const Core& core = stage_.server.core();
  const std::int64_t clock_ms = stage_.server.clock_ms();
  if (core.next_deadline().value_or(clock_ms + 1) <= clock_ms) return;
  for (const auto& [id, messages] : core.durable().messages) {
    std::size_t count = messages.open.size();
    for (const auto& [first, block] : messages.blocks) count += block.count - block.taken;
    const auto expected = live(id);
    if (count != expected.size()) {
      stage_.auditor.fail(concat(name(id), ": has ", count, " messages instead of ", expected.size()));
    }
    for (const Message* it : expected) {
      const StreamSpec& of = spec(*it);
      const std::int64_t latest_ms =
          it->since_ms + of.retention_ms + std::max<std::int64_t>(1000, of.retention_ms / 1000);
      if (clock_ms > latest_ms) fail(*it, "is there although its time is over");
      const bool is_claimed_now = it->claim && it->claim->receive == it->receives;
      const std::optional<Token> attempt = is_claimed_now ? it->claim->holder : std::nullopt;
      if (attempt && !is_held(*attempt) && it->visible_ms > clock_ms) {
        fail(*it, "is hidden although the attempt that received it has ended");
      }
      if (it->holder.grant && !is_held(it->holder)) fail(*it, "is held by an attempt that has ended");
      if (it->item && is_over(*it->item)) fail(*it, "is held by an item that is settled, or whose job is over");
    }
  }
}

}  // namespace drover::sim
