// What receivers do with what they hold: they delete it, or hold it for longer or shorter.
#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

constexpr std::size_t kMostReleased = 200;  // messages of attempts that are over, with each command

}  // namespace

void Streams::on(Ticket ticket, const DeleteMessages& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  MessagesDeleted out;
  for (const Receipt& receipt : command.receipts) out.outcomes.push_back(delete_one(*it, receipt));
  journal_.say(ticket, std::move(out));
  changed(*it);
}

ReceiptOutcome Streams::delete_one(At it, const Receipt& receipt) {
  if (receipt.stream != it.stream.id) return ReceiptOutcome::foreign;
  const auto found = it.messages.open.find(receipt.message);
  if (found == it.messages.open.end()) return ReceiptOutcome::done;
  const OpenMessage& message = found->second;
  // One that an item of a job holds has no receipt.
  const bool is_last =
      (message.receives == receipt.receive || injected(StreamFault::stale_receipt_deletes)) && !message.job;
  const bool has_run_out =
      message.visible_ms <= journal_.now_ms() && !injected(StreamFault::expired_fifo_receipt_deletes);
  if (it.stream.fifo && (!is_last || has_run_out)) return ReceiptOutcome::expired;
  if (is_last && receipt.receive > 0) remove_open(it, receipt.message);
  return ReceiptOutcome::done;
}

void Streams::on(Ticket ticket, const SetVisibility& command) {
  const auto it = find(ticket, command.stream);
  if (!it) return;
  VisibilitySet out;
  for (const SetVisibility::One& one : command.messages) out.outcomes.push_back(set_visibility(*it, one));
  journal_.say(ticket, std::move(out));
  changed(*it);
}

ReceiptOutcome Streams::set_visibility(At it, const SetVisibility::One& one) {
  if (one.receipt.stream != it.stream.id) return ReceiptOutcome::foreign;
  const auto found = it.messages.open.find(one.receipt.message);
  if (found == it.messages.open.end()) return ReceiptOutcome::gone;
  OpenMessage& message = found->second;
  const std::int64_t now_ms = journal_.now_ms();
  if (message.receives != one.receipt.receive || message.job) return ReceiptOutcome::expired;
  if (message.visible_ms <= now_ms) return ReceiptOutcome::not_in_flight;
  if (now_ms + one.visibility_ms > message.received_ms + kLongestVisibilityMs) return ReceiptOutcome::too_long;
  if (injected(StreamFault::extension_ignored) && one.visibility_ms > 0) return ReceiptOutcome::done;
  hide(it, message, now_ms + one.visibility_ms);
  if (one.visibility_ms == 0) move_if_dead(it, message);
  return ReceiptOutcome::done;
}

void Streams::on_attempt_over(Token attempt) {
  if (!now_.held_messages.contains(attempt) || injected(StreamFault::attempt_keeps_messages)) return;
  now_.attempts_over.push_back(attempt);
}

/// Messages that an attempt received and has not deleted are visible at once when it ends, and those of a job's items
/// when it is over. Some of them now, the others with the next commands.
void Streams::release_some() {
  std::size_t left = kMostReleased;
  for (; !now_.jobs_over.empty() && left > 0; --left) {
    if (!release_one_of(now_.jobs_over.back())) now_.jobs_over.pop_back();
  }
  for (; !now_.attempts_over.empty() && left > 0; --left) {
    const auto held = now_.held_messages.find(now_.attempts_over.back());
    if (held == now_.held_messages.end()) {
      now_.attempts_over.pop_back();
      continue;
    }
    const auto [stream, number] = *held->second.begin();
    if (!records_.messages.contains(stream) || !at(stream).messages.open.contains(number)) {
      // It was purged.
      held->second.erase(held->second.begin());
      if (held->second.empty()) now_.held_messages.erase(held);
      continue;
    }
    const At it = at(stream);
    OpenMessage& message = it.messages.open.at(number);
    set_holder(message, {});
    open_.add({stream, number});
    if (message.visible_ms > journal_.now_ms()) {
      hide(it, message, journal_.now_ms());
      move_if_dead(it, message);
    }
    changed(it);
  }
}

}  // namespace drover
