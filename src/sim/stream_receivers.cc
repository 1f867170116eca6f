// Programs that receive messages and work with them: they delete most, hold on to some, give some back, are too slow
// for others, and die.
#include <algorithm>
#include <iterator>

#include "sim/stage.h"
#include "sim/stream_clients.h"
#include "sim/times.h"

namespace drover::sim {

void StreamClients::receive(const ReceiveFromStream& how) {
  if (!kept_.contains(how.stream)) return;
  for (std::uint64_t i = 0; i < how.receivers; ++i) {
    begin(std::make_shared<Receiver>(Receiver{how}));
  }
}

void StreamClients::begin(const ReceiverRef& receiver) {
  receiver->until_ms = stage_.events.now_ms() + receiver->how.for_ms;
  receive_more(receiver);
}

const std::string* StreamClients::fleet_of(WorkerId worker) const {
  const Durable& durable = stage_.server.core().durable();
  const auto machine = durable.machines.find(durable.workers.at(worker).name);
  return machine == durable.machines.end() ? nullptr : &machine->second.fleet;
}

/// One that a worker has, started or not; of one fleet's machines, if it is named.
std::optional<Token> StreamClients::any_attempt(const std::string& fleet) {
  if (!stage_.server.up()) return std::nullopt;
  std::vector<const Grant*> all, of_fleets;
  for (const auto& [id, it] : stage_.server.core().durable().grants) {
    const std::string* of = fleet_of(it.worker);
    if (!fleet.empty() && (of == nullptr || *of != fleet)) continue;
    all.push_back(&it);
    if (of != nullptr) of_fleets.push_back(&it);
  }
  if (all.empty()) return std::nullopt;
  // These few decide when their machines may go.
  const auto& some = !of_fleets.empty() && random_.one_in(2) ? of_fleets : all;
  const Grant& grant = *some[random_.below(some.size())];
  const Token token{grant.id, ItemIndex{grant.first.value + random_.below(grant.count)}};
  return audit_.is_held(token) ? std::optional(token) : std::nullopt;
}

bool StreamClients::is_alive(const Receiver& receiver) const {
  if (receiver.drains) return !idle();
  return stage_.events.now_ms() < receiver.until_ms && !stage_.auditor.failure();
}

void StreamClients::later(const ReceiverRef& receiver, std::int64_t ms) {
  stage_.events.after(ms, [this, receiver] { receive_more(receiver); });
}

void StreamClients::receive_more(const ReceiverRef& receiver) {
  if (!is_alive(*receiver)) return;
  if (!stage_.server.up()) return later(receiver, 5 * kSecond);
  const ReceiveFromStream& how = receiver->how;
  // When one has ended, the next takes its place.
  std::optional<Token>& attempt = receiver->attempt;
  if (how.are_attempts && !(attempt && audit_.is_held(*attempt))) attempt = any_attempt(how.fleet);
  const ReceiveMessages command{.stream = how.stream,
                                .most = how.at_once,
                                .visibility_ms = how.visibility_ms,
                                .wait_ms = how.wait_ms,
                                .holder = attempt,
                                .receiver = ++receivers_};
  const Asked asked = audit_.asked();
  if (attempt) audit_.receives_for(*attempt);
  ask_once(command, how.wait_ms + kPatienceOfReceiverMs, [this, receiver, command, asked](const Parcel* parcel) {
    if (!is_alive(*receiver)) return;
    if (parcel != nullptr) return on_answer(receiver, command, asked, *parcel);
    // The server notices that the connection is closed, or not.
    if (random_.one_in(2)) ask_once(StopReceiving{command.stream, command.receiver}, 0, [](const Parcel*) {});
    later(receiver, kSecond);
  });
}

void StreamClients::on_answer(const ReceiverRef& receiver, const ReceiveMessages& command, const Asked& asked,
                              const Parcel& parcel) {
  const auto* received = std::get_if<MessagesReceived>(&parcel.effect);
  if (received == nullptr) {
    const auto* refused = std::get_if<Refused>(&parcel.effect);
    const std::optional<Token>& attempt = receiver->attempt;
    const bool is_denied = refused != nullptr && refused->error.code == ErrorCode::denied;
    if (is_denied && attempt && !audit_.is_held(*attempt)) return later(receiver, kSecond);
    if (!is_unknown(parcel.effect)) return stage_.auditor.fail("a receive was refused");
    return later(receiver, 10 * kSecond);
  }
  if (received->messages.empty()) {
    audit_.found_nothing(command, asked);
    return later(receiver, command.wait_ms.value_or(0) > 0 ? 0 : 5 * kSecond);
  }
  audit_.received(command, asked, *received, parcel.given);
  Receipts receipts;
  for (const MessagesReceived::One& it : received->messages) {
    receipts.push_back({received->stream, it.message, it.receive});
  }
  if (receiver->drains) return remove_all(receiver, receipts);
  work(receiver, std::move(receipts));
}

// Some are given back or forgotten; the others are deleted after some time, which may be too late, unless they are held
// for longer.
void StreamClients::work(const ReceiverRef& receiver, Receipts receipts) {
  const ReceiveFromStream& how = receiver->how;
  const auto done =
      std::ranges::partition(receipts, [&](const Receipt&) { return random_.below(100) >= how.fail_percent; }).begin();
  const Receipts failed(done, receipts.end());
  receipts.erase(done, receipts.end());
  const auto work_ms = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(how.work_ms) + 1));
  if (!failed.empty() && random_.one_in(2)) set_visibility(how.stream, failed, 0);
  if (random_.one_in(3)) {
    const auto more_ms = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(how.work_ms) * 2 + 1));
    set_visibility(how.stream, receipts, kSecond + more_ms);
  }
  stage_.events.after(work_ms, [this, receiver, receipts = std::move(receipts)] {
    if (!is_alive(*receiver)) return;
    if (receiver->attempt && !audit_.is_held(*receiver->attempt)) return later(receiver, kSecond);
    remove_all(receiver, receipts);
  });
}

void StreamClients::set_visibility(const std::string& stream, const Receipts& receipts, std::int64_t ms) {
  if (receipts.empty() || !stage_.server.up()) return;
  const Asked asked = audit_.asked();
  SetVisibility command{stream, {}};
  for (const Receipt& it : receipts) {
    command.messages.push_back({it, ms});
    audit_.visibility_asked(it, asked, ms);
  }
  insist(command, kTries, [this, receipts, asked, ms](const Parcel* parcel) {
    const auto* set = parcel == nullptr ? nullptr : std::get_if<VisibilitySet>(&parcel->effect);
    for (std::size_t i = 0; set != nullptr && i < receipts.size(); ++i) {
      audit_.visibility_set(receipts[i], asked, ms, set->outcomes.at(i));
    }
  });
}

void StreamClients::remove_all(const ReceiverRef& receiver, const Receipts& receipts) {
  if (receipts.empty() || !stage_.server.up()) return later(receiver, kSecond);
  const Asked asked = audit_.asked();
  for (const Receipt& it : receipts) audit_.delete_asked(it);
  insist(DeleteMessages{receiver->how.stream, receipts}, kTries,
         [this, receiver, receipts, asked](const Parcel* parcel) {
           const auto* deleted = parcel == nullptr ? nullptr : std::get_if<MessagesDeleted>(&parcel->effect);
           for (std::size_t i = 0; deleted != nullptr && i < receipts.size(); ++i) {
             audit_.deleted(receipts[i], asked, deleted->outcomes.at(i));
           }
           receive_more(receiver);
         });
}

}  // namespace drover::sim
