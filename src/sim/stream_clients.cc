#include "sim/stream_clients.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// Longer than any message is hidden or delayed.
constexpr std::int64_t kLongestDrainMs = kHour;
constexpr std::int64_t kPatienceMs = 4 * kSecond;
constexpr std::uint64_t kOutbox = 17;  // its name in the core

}  // namespace

StreamClients::StreamClients(Stage& stage)
    : stage_(stage), random_(stage.script.seed ^ 0x73747265616d), audit_(stage) {}

// Commands that are said once: what a lost answer has brought is in nobody's hands.
void StreamClients::ask_once(const Command& command, std::int64_t patience_ms, Then then) {
  const auto waiting = std::make_shared<Then>(std::move(then));
  const auto end = [waiting](const Parcel* parcel) {
    if (const Then it = std::exchange(*waiting, nullptr)) it(parcel);
  };
  stage_.events.after(patience_ms, [end] { end(nullptr); });
  stage_.network.bring([this, command, end, server = stage_.server.generation()] {
    if (!stage_.server.up() || stage_.server.generation() != server) return;
    stage_.server.request(command, [this, end](const Effect& effect) {
      stage_.network.bring([end, parcel = parcel_of(effect)] { end(&parcel); });
    });
  });
}

void StreamClients::insist(const Command& command, int tries, const Then& then) {
  if (tries == 0) return then(nullptr);
  ask_once(command, kPatienceMs, [this, command, tries, then](const Parcel* parcel) {
    if (parcel != nullptr) return then(parcel);
    insist(command, tries - 1, then);
  });
}

// As the server does it: contents are read when the answer is let out.
StreamClients::Parcel StreamClients::parcel_of(const Effect& effect) {
  Parcel parcel{effect, {}};
  const auto* received = std::get_if<MessagesReceived>(&effect);
  if (received == nullptr) return parcel;
  for (const MessagesReceived::One& one : received->messages) {
    parcel.given.push_back({one, stage_.server.store().message(one.message).value_or(std::nullopt),
                            stage_.server.store().dead_letter(one.message).value_or(std::nullopt)});
  }
  return parcel;
}

void StreamClients::change(const StreamSpec& spec) {
  kept_[spec.name] = spec;
  audit_.shall_be(spec);
  if (!std::exchange(looks_, true)) look();
  stage_.clients.ask(SetStream{spec, std::nullopt}, [this](const Effect& effect) {
    if (!std::holds_alternative<StreamSet>(effect)) stage_.auditor.fail("a stream was refused");
  });
}

void StreamClients::purge(const std::string& stream) {
  audit_.purge_asked(stream);
  stage_.clients.ask(PurgeStream{stream}, [this, messages = audit_.all_of(stream)](const Effect& effect) {
    if (std::holds_alternative<StreamPurged>(effect)) return audit_.purged(messages);
    if (!is_unknown(effect)) stage_.auditor.fail("a purge was refused");
  });
}

void StreamClients::remove(const std::string& stream) {
  audit_.drop_asked(stream);
  stage_.clients.ask(DropStream{stream}, [this](const Effect& effect) {
    if (!std::holds_alternative<StreamDropped>(effect) && !is_unknown(effect)) {
      stage_.auditor.fail("the deletion of a stream got another answer");
    }
  });
}

void StreamClients::send(const SendToStream& how) {
  if (!kept_.contains(how.stream)) return;
  ++sending_;
  const auto sender = std::make_shared<Sender>(Sender{how, ++senders_});
  sender->is_outbox = how.doubts && !kept_.at(how.stream).fifo && feeding_.insert(how.stream).second;
  send_more(sender);
}

void StreamClients::send_more(const SenderRef& sender) {
  const SendToStream& how = sender->how;
  if (sender->sent >= how.messages) {
    --sending_;
    if (sender->is_outbox) feeding_.erase(how.stream);
    return;
  }
  const StreamSpec& spec = kept_.at(how.stream);
  SendMessages batch{.stream = how.stream, .messages = {}, .feed = sender->is_outbox ? kOutbox : 0};
  const std::uint64_t count = std::min(1 + random_.below(how.at_once), how.messages - sender->sent);
  for (; batch.messages.size() < count; ++sender->sent) {
    SentMessage sent{.stream = how.stream, .sender = sender->number, .is_fed = sender->is_outbox};
    sent.delay_ms = spec.fifo ? spec.delay_ms : how.delay_ms.value_or(spec.delay_ms);
    if (spec.fifo) {
      sent.group = concat("group ", sender->number, ".", random_.below(how.groups));
      sent.place = ++sender->places[sent.group];
    }
    NewMessage message{.content = std::make_shared<const std::string>(audit_.sends(sent))};
    message.bytes = 100;
    if (!spec.fifo) message.delay_ms = how.delay_ms;
    message.group = sent.group;
    if (spec.fifo) message.deduplication = *message.content;
    if (sender->is_outbox) message.feed_number = ++fed_[how.stream];
    message.id.bytes[0] = static_cast<std::uint8_t>(++uuids_);
    batch.messages.push_back(std::move(message));
  }
  send_batch(sender, batch, how.doubts && (spec.fifo || sender->is_outbox));
}

void StreamClients::send_batch(const SenderRef& sender, const SendMessages& batch, bool again) {
  stage_.clients.ask(batch, [this, sender, batch, again](const Effect& effect) {
    if (const auto* sent = std::get_if<MessagesSent>(&effect)) {
      if (sent->messages.size() != batch.messages.size()) return stage_.auditor.fail("some messages were not sent");
      for (std::size_t i = 0; i < batch.messages.size(); ++i) {
        audit_.acknowledged(*batch.messages[i].content, sent->messages[i]);
      }
    } else if (!is_unknown(effect)) {
      stage_.auditor.fail("messages were refused");
    }
    const auto pause_ms =
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(sender->how.pause_ms) + 1));
    stage_.events.after(pause_ms, [this, sender, batch, again] {
      if (again) return send_batch(sender, batch, false);
      send_more(sender);
    });
  });
}

// When nobody does anything any more, whatever is left has to come.
void StreamClients::drain() {
  drains_since_ms_ = stage_.events.now_ms();
  for (const auto& [name, spec] : kept_) {
    ReceiveFromStream how{.stream = name, .for_ms = 10 * kHour, .at_once = kMostReceivedAtOnce, .wait_ms = 5 * kSecond};
    how.visibility_ms = kMinute;
    const ReceiverRef receiver = std::make_shared<Receiver>(Receiver{how});
    receiver->drains = true;
    begin(receiver);
  }
}

void StreamClients::look() {
  audit_.look();
  if (drains_since_ms_ && !idle() && stage_.events.now_ms() - *drains_since_ms_ > kLongestDrainMs) {
    stage_.auditor.fail(concat("messages are never received: ", audit_.left()));
  }
  stage_.events.after(kMinute, [this] { look(); });
}

void StreamClients::tend() {
  if (!stage_.server.up()) return;
  for (const auto& [name, spec] : kept_) {
    if (!stage_.server.core().volatile_part().stream_by_name.contains(name)) change(spec);
  }
  if (!stage_.auditor.expects_losses() && !drains_since_ms_) drain();
}

void StreamClients::committed(const Batch& batch, std::int64_t /*applied_ms*/) {
  audit_.committed(batch);
}

bool StreamClients::idle() const {
  return kept_.empty() || (drains_since_ms_ && sending_ == 0 && audit_.is_drained());
}

void StreamClients::at_end() {
  audit_.look();
}

}  // namespace drover::sim
