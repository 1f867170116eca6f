#include "api/message_exchange.h"

#include <algorithm>
#include <utility>

namespace drover {
namespace {

DeliveredMessage delivered(const MessagesReceived& received, const MessagesReceived::One& one,
                           std::shared_ptr<const MessageContent> content) {
  return {.receipt = {received.stream, one.message, one.receive},
          .receives = one.receive,
          .first_received_ms = one.first_received_ms,
          .content = std::move(content),
          .dead_letter_of = {}};
}

/// The name of the stream that a message was moved from; empty: it was not moved, or that stream was deleted.
Result<std::string> origin_of(Backend& backend, MessageNumber message) {
  auto moved = backend.ledger().dead_letter(message);
  if (!moved) return pass(moved);
  const std::optional<DeadLetter>& letter = *moved;
  if (!letter) return std::string();
  const auto streams = backend.list_streams("");
  const auto source = std::ranges::find_if(streams, [&](const auto& it) { return it->id == letter->source; });
  return source == streams.end() ? std::string() : (*source)->name;
}

}  // namespace

void MessageExchange::send(std::string stream, std::vector<OutgoingMessage> messages, Resume resume,
                           std::function<void(Result<MessagesSent>)> answered, std::uint64_t feed) {
  SendMessages command{.stream = std::move(stream), .messages = {}, .feed = feed};
  std::vector<Cached> contents;
  contents.reserve(messages.size());
  command.messages.reserve(messages.size());
  for (OutgoingMessage& it : messages) {
    auto bytes = std::make_shared<const std::string>(encode_message(it.content));
    contents.push_back({std::make_shared<const MessageContent>(std::move(it.content)), bytes->size() + kBytesOfEntry});
    const MessageContent& content = *contents.back().content;
    // Other streams may have groups in what they say; those mean nothing to the core.
    const bool is_fifo = !content.deduplication.empty();
    command.messages.push_back({.id = content.id,
                                .content = std::move(bytes),
                                .bytes = it.bytes,
                                .delay_ms = it.delay_ms,
                                .group = is_fifo ? content.group : std::string(),
                                .deduplication = content.deduplication,
                                .feed_number = it.feed_number});
  }
  EffectTaken taken = resumed(std::move(resume), [answered = std::move(answered)](Result<Effect> effect) {
    if (!effect) return answered(pass(effect));
    answered(std::move(std::get<MessagesSent>(*effect)));
  });
  backend_.post(std::move(command),
                [this, contents = std::move(contents), taken = std::move(taken)](Result<Effect> effect) mutable {
                  // Now: the next answer may hand them to a receiver.
                  if (effect) remember(std::get<MessagesSent>(*effect), std::move(contents));
                  taken(std::move(effect));
                });
}

void MessageExchange::receive(ReceiveMessages command, const Holder& holder, Resume resume,
                              const WhenLeaves& when_leaves,
                              std::function<void(Result<std::vector<DeliveredMessage>>)> answered) {
  // It may leave before the command is posted.
  std::function<void()> stop;
  const auto has_left = when_leaves ? std::make_shared<std::atomic<bool>>(false) : nullptr;
  if (when_leaves) {
    command.receiver = next_receiver_++;
    stop = [this, stream = command.stream, receiver = command.receiver] {
      backend_.post(StopReceiving{stream, receiver}, [](const Result<Effect>&) {});
    };
    when_leaves([stop, has_left] {
      *has_left = true;
      stop();
    });
  }
  backend_.post(std::move(command),
                resumed(std::move(resume), [this, holder, answered = std::move(answered)](Result<Effect> effect) {
                  if (!effect) return answered(pass(effect));
                  auto& received = std::get<MessagesReceived>(*effect);
                  if (auto all = from_cache(received)) return answered(std::move(*all));
                  backend_.later(holder,
                                 [this, received = std::move(received), answered] { answered(from_ledger(received)); });
                }));
  if (has_left && *has_left) stop();
}

std::optional<std::vector<DeliveredMessage>> MessageExchange::from_cache(const MessagesReceived& received) {
  std::vector<DeliveredMessage> out;
  out.reserve(received.messages.size());
  const std::scoped_lock lock(mutex_);
  for (const MessagesReceived::One& one : received.messages) {
    // What is cached was sent: a dead letter has a number of its own.
    const auto found = cached_.find(one.message);
    if (found == cached_.end()) return std::nullopt;
    out.push_back(delivered(received, one, found->second.content));
  }
  return out;
}

Result<std::vector<DeliveredMessage>> MessageExchange::from_ledger(const MessagesReceived& received) {
  StoreReader& ledger = backend_.ledger();
  std::vector<DeliveredMessage> out;
  for (const MessagesReceived::One& one : received.messages) {
    auto stored = ledger.message(one.message);
    if (!stored) return pass(stored);
    const std::optional<std::string>& bytes = *stored;
    if (!bytes) continue;
    auto content = decode_message(*bytes);
    if (!content) return pass(content);
    auto origin = origin_of(backend_, one.message);
    if (!origin) return pass(origin);
    out.push_back(delivered(received, one, std::make_shared<const MessageContent>(std::move(*content))));
    out.back().dead_letter_of = std::move(*origin);
  }
  return out;
}

void MessageExchange::remember(const MessagesSent& sent, std::vector<Cached> contents) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (sent.messages[i].is_duplicate) continue;
    cached_bytes_ += contents[i].bytes;
    cached_.emplace_hint(cached_.end(), sent.messages[i].message, std::move(contents[i]));
  }
  while (cached_bytes_ > kCachedBytes) drop(cached_.begin());
}

void MessageExchange::drop(std::map<MessageNumber, Cached>::iterator it) {
  cached_bytes_ -= it->second.bytes;
  cached_.erase(it);
}

void MessageExchange::forget_deleted(const std::vector<Receipt>& receipts,
                                     const std::vector<ReceiptOutcome>& outcomes) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    if (outcomes.at(i) != ReceiptOutcome::done) continue;
    if (const auto found = cached_.find(receipts[i].message); found != cached_.end()) drop(found);
  }
}

}  // namespace drover
