#include "api/message_exchange.h"

#include <algorithm>
#include <utility>

namespace drover {
namespace {

Result<DeliveredMessage> delivered(const MessagesReceived& received, const MessagesReceived::One& one,
                                   std::string_view bytes) {
  auto content = decode_message(bytes);
  if (!content) return pass(content);
  return DeliveredMessage{.receipt = {received.stream, one.message, one.receive},
                          .receives = one.receive,
                          .first_received_ms = one.first_received_ms,
                          .content = std::move(*content),
                          .dead_letter_of = {}};
}

/// The name of the stream that a message was moved from; empty: it was not moved, or that stream was deleted.
Result<std::string> origin_of(StoreReader& ledger, MessageNumber message) {
  auto moved = ledger.dead_letter(message);
  if (!moved) return pass(moved);
  const std::optional<DeadLetter>& letter = *moved;
  if (!letter) return std::string();
  auto streams = ledger.streams();
  if (!streams) return pass(streams);
  const auto source = std::ranges::find(*streams, letter->source, &Stream::id);
  return source == streams->end() ? std::string() : source->name;
}

}  // namespace

void MessageExchange::send(std::string stream, std::vector<OutgoingMessage> messages,
                           std::function<void(Result<MessagesSent>)> answered) {
  SendMessages command{.stream = std::move(stream), .messages = {}};
  std::vector<Content> contents;
  for (OutgoingMessage& it : messages) {
    contents.push_back(std::make_shared<const std::string>(encode_message(it.content)));
    // Other streams may have groups in what they say; those mean nothing to the core.
    const bool is_fifo = !it.content.deduplication.empty();
    command.messages.push_back({.id = it.content.id,
                                .content = contents.back(),
                                .bytes = it.bytes,
                                .delay_ms = it.delay_ms,
                                .group = is_fifo ? std::move(it.content.group) : std::string(),
                                .deduplication = std::move(it.content.deduplication)});
  }
  backend_.post(std::move(command),
                [this, contents = std::move(contents), answered = std::move(answered)](Result<Effect> effect) {
                  if (!effect) return answered(pass(effect));
                  auto& sent = std::get<MessagesSent>(*effect);
                  for (std::size_t i = 0; i < contents.size(); ++i) {
                    if (!sent.messages[i].is_duplicate) remember(sent.messages[i].message, contents[i]);
                  }
                  answered(std::move(sent));
                });
}

void MessageExchange::receive(ReceiveMessages command, const Holder& holder,
                              std::function<void(Result<std::vector<DeliveredMessage>>)> answered) {
  backend_.post(std::move(command), [this, holder, answered = std::move(answered)](Result<Effect> effect) {
    if (!effect) return answered(pass(effect));
    auto& received = std::get<MessagesReceived>(*effect);
    if (auto all = from_cache(received)) return answered(std::move(*all));
    backend_.later(holder, [this, received = std::move(received), answered] { answered(from_ledger(received)); });
  });
}

std::optional<Result<std::vector<DeliveredMessage>>> MessageExchange::from_cache(const MessagesReceived& received) {
  std::vector<DeliveredMessage> out;
  for (const MessagesReceived::One& one : received.messages) {
    // What is cached was sent: a dead letter has a number of its own.
    const Content content = recall(one.message);
    if (!content) return std::nullopt;
    auto message = delivered(received, one, *content);
    if (!message) return pass(message);
    out.push_back(std::move(*message));
  }
  return out;
}

Result<std::vector<DeliveredMessage>> MessageExchange::from_ledger(const MessagesReceived& received) {
  StoreReader& ledger = backend_.ledger();
  std::vector<DeliveredMessage> out;
  for (const MessagesReceived::One& one : received.messages) {
    auto content = ledger.message(one.message);
    if (!content) return pass(content);
    const std::optional<std::string>& bytes = *content;
    if (!bytes) continue;
    auto message = delivered(received, one, *bytes);
    if (!message) return pass(message);
    auto origin = origin_of(ledger, one.message);
    if (!origin) return pass(origin);
    message->dead_letter_of = std::move(*origin);
    out.push_back(std::move(*message));
  }
  return out;
}

void MessageExchange::remember(MessageNumber message, Content content) {
  const std::scoped_lock lock(mutex_);
  const auto [it, is_new] = cached_.try_emplace(message, std::move(content));
  if (!is_new) return;
  cached_bytes_ += it->second->size() + kBytesOfEntry;
  while (cached_bytes_ > kCachedBytes) drop(cached_.begin());
}

void MessageExchange::drop(std::map<MessageNumber, Content>::iterator it) {
  cached_bytes_ -= it->second->size() + kBytesOfEntry;
  cached_.erase(it);
}

void MessageExchange::forget(MessageNumber message) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = cached_.find(message); found != cached_.end()) drop(found);
}

MessageExchange::Content MessageExchange::recall(MessageNumber message) {
  const std::scoped_lock lock(mutex_);
  const auto found = cached_.find(message);
  return found == cached_.end() ? nullptr : found->second;
}

}  // namespace drover
