// Those who keep streams, send to them, and receive from them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/happenings/streams.h"
#include "sim/stream_audit.h"
#include "sim/world_part.h"

namespace drover::sim {

class StreamClients : public WorldPart {
 public:
  explicit StreamClients(Stage& stage);

  void change(const StreamSpec& spec);
  void purge(const std::string& stream);
  void remove(const std::string& stream);
  void send(const SendToStream& how);
  void receive(const ReceiveFromStream& how);

  // Of WorldPart.
  /// Creates what was removed; when all faults are over, receives and deletes whatever is left.
  void tend() override;
  void committed(const Batch& batch, std::int64_t applied_ms) override;
  bool idle() const override;
  void at_end() override;

 private:
  /// An answer, with what the server has read from its store for it.
  struct Parcel {
    Effect effect;
    std::vector<GivenMessage> given;
  };
  using Then = std::function<void(const Parcel*)>;  // nothing: no answer came
  struct Sender {
    SendToStream how;
    std::uint64_t number = 0;
    std::uint64_t sent = 0;
    std::map<std::string, std::uint64_t> places = {};  // of the last one, by group
    bool is_outbox = false;                            // sends again what it sent, with its numbers
  };
  struct Receiver {
    ReceiveFromStream how;
    std::int64_t until_ms = 0;
    std::optional<Token> attempt = {};
    bool drains = false;
  };
  using SenderRef = std::shared_ptr<Sender>;
  using ReceiverRef = std::shared_ptr<Receiver>;
  using Receipts = std::vector<Receipt>;

  static constexpr std::int64_t kPatienceOfReceiverMs = 8'000;  // beyond what it waits for messages
  static constexpr int kTries = 3;

  void ask_once(const Command& command, std::int64_t patience_ms, Then then);
  void insist(const Command& command, int tries, const Then& then);
  Parcel parcel_of(const Effect& effect);

  void send_more(const SenderRef& sender);
  void send_batch(const SenderRef& sender, const SendMessages& batch, bool again);

  bool is_alive(const Receiver& receiver) const;
  void begin(const ReceiverRef& receiver);
  void receive_more(const ReceiverRef& receiver);
  void later(const ReceiverRef& receiver, std::int64_t ms);
  void on_answer(const ReceiverRef& receiver, const ReceiveMessages& command, const Asked& asked, const Parcel& parcel);
  void work(const ReceiverRef& receiver, Receipts receipts);
  void set_visibility(const std::string& stream, const Receipts& receipts, std::int64_t ms);
  void remove_all(const ReceiverRef& receiver, const Receipts& receipts);
  /// The fleet of the machine that has the worker; null: it is no machine of a fleet.
  const std::string* fleet_of(WorkerId worker) const;
  std::optional<Token> any_attempt(const std::string& fleet);
  void drain();
  void look();

  Stage& stage_;
  Random random_;
  StreamAudit audit_;
  std::map<std::string, StreamSpec> kept_;
  std::map<std::string, std::uint64_t> fed_;  // the last number that an outbox sent to a stream
  std::set<std::string> feeding_;             // streams that an outbox is sending to: one at a time
  std::uint64_t senders_ = 0;
  std::uint64_t sending_ = 0;    // senders that are not done
  std::uint64_t receivers_ = 0;  // waits, each under a number of its own
  std::uint64_t uuids_ = 0;
  bool looks_ = false;
  std::optional<std::int64_t> drains_since_ms_;
};

}  // namespace drover::sim
