// For tests: people who change streams, and those who send, receive and delete messages.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/command_source.h"

namespace drover {

class StreamCommands : public CommandSource {
 public:
  using CommandSource::CommandSource;

  std::uint64_t weight() const override { return 16; }

  Command next(const Core& core, const LedgerModel& /*ledger*/) override {
    const std::string stream = world_.any_stream();
    if (core.durable().streams.size() < 3 && !random_.one_in(3)) return set(stream);
    switch (random_.below(24)) {
      case 0: return set(stream);
      case 1:
      case 2:
        return !random_.one_in(3)  ? send(stream)
               : random_.one_in(3) ? Command(DropStream{stream})
                                   : Command(PurgeStream{stream});
      case 3: return AskStreams{random_.one_in(2) ? std::optional(stream) : std::nullopt};
      case 4: return StopReceiving{stream, random_.below(50)};
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: return send(stream);
      case 12:
      case 13:
      case 14:
      case 15: return remove(stream);
      case 16:
      case 17: return hold(stream);
      default: return receive(core, stream);
    }
  }

  void hear(const Answer& answer, const Command* command) override {
    const auto* received = std::get_if<MessagesReceived>(&answer.effect);
    if (received == nullptr) return;
    const auto* asked = command == nullptr ? nullptr : std::get_if<ReceiveMessages>(command);
    for (const MessagesReceived::One& it : received->messages) {
      receipts_.push_back(
          {asked == nullptr ? world_.any_stream() : asked->stream, {received->stream, it.message, it.receive}});
    }
    if (receipts_.size() > kMostReceipts) receipts_.erase(receipts_.begin(), receipts_.end() - kMostReceipts);
  }

 private:
  static constexpr std::ptrdiff_t kMostReceipts = 40;
  struct Held {
    std::string stream;
    Receipt receipt;
  };

  Command set(const std::string& name) {
    StreamSpec spec{.name = name, .fifo = name.ends_with(".fifo")};
    spec.visibility_ms = static_cast<std::int64_t>(random_.below(4)) * 3'000;
    if (random_.one_in(4)) spec.delay_ms = static_cast<std::int64_t>(random_.below(60)) * 1000;
    if (random_.one_in(3)) spec.retention_ms = random_.one_in(2) ? kShortestRetentionMs : 600'000;
    if (random_.one_in(3)) spec.receive_wait_ms = 5'000;
    if (random_.one_in(2)) {
      spec.max_receives = 1 + random_.below(3);
      spec.dead_letters = world_.any_stream(spec.fifo && !random_.one_in(8));
    }
    spec.deduplicates_by_group = random_.one_in(3);
    spec.text = random_.one_in(2) ? "{}" : "";
    SetStream command{std::move(spec), std::nullopt};
    if (random_.one_in(6)) command.version = random_.below(3);
    return command;
  }

  Command send(const std::string& stream) {
    SendMessages command{stream, {}};
    do {
      NewMessage message;
      message.id.bytes[0] = static_cast<std::uint8_t>(++sent_);
      message.content = std::make_shared<const std::string>("message " + std::to_string(sent_));
      message.bytes = random_.one_in(30) ? MessageBlock::kBytes / 2 : 100;
      if (random_.one_in(5)) message.delay_ms = static_cast<std::int64_t>(random_.below(20)) * 1000;
      if (stream.ends_with(".fifo")) {
        message.group = "group" + std::to_string(random_.below(3));
        message.deduplication = std::to_string(random_.one_in(5) ? random_.below(sent_) : sent_);
      }
      command.messages.push_back(std::move(message));
    } while (command.messages.size() < kMostSentAtOnce && !random_.one_in(3));
    if (random_.one_in(4)) {
      command.feed = 1 + random_.below(2);
      std::uint64_t number = random_.below(sent_ + 1);
      for (NewMessage& it : command.messages) it.feed_number = ++number;
    }
    return command;
  }

  Command receive(const Core& core, const std::string& stream) {
    ReceiveMessages command{.stream = stream, .most = 1 + random_.below(kMostReceivedAtOnce)};
    if (random_.one_in(3)) command.visibility_ms = static_cast<std::int64_t>(random_.below(5)) * 5'000;
    if (random_.one_in(3)) command.wait_ms = static_cast<std::int64_t>(random_.below(20)) * 1000;
    command.receiver = random_.below(50);
    const auto& grants = core.durable().grants;
    if (!grants.empty() && random_.one_in(2)) {
      const Grant& grant = std::next(grants.begin(), static_cast<std::ptrdiff_t>(random_.below(grants.size())))->second;
      command.holder = Token{grant.id, ItemIndex{grant.first.value + random_.below(grant.count + 1)}};
    }
    return command;
  }

  /// Receipts that somebody has, for a stream that is theirs or another's.
  std::vector<Receipt> some_receipts(std::string& stream) {
    std::vector<Receipt> out;
    if (receipts_.empty()) return out;
    const Held& first = world_.pick(receipts_);
    if (!random_.one_in(10)) stream = first.stream;
    out.push_back(first.receipt);
    while (random_.one_in(2)) out.push_back(world_.pick(receipts_).receipt);
    return out;
  }

  Command remove(std::string stream) {
    auto receipts = some_receipts(stream);
    return DeleteMessages{stream, std::move(receipts)};
  }

  Command hold(std::string stream) {
    SetVisibility command;
    for (const Receipt& it : some_receipts(stream)) {
      command.messages.push_back({it, random_.one_in(3) ? 0 : static_cast<std::int64_t>(random_.below(50'000)) * 1000});
    }
    command.stream = std::move(stream);
    return command;
  }

  std::vector<Held> receipts_;
  std::uint64_t sent_ = 0;
};

}  // namespace drover
