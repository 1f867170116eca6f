// Brings events of objects from the outbox of the buckets to streams, each of them once. A row stays in the outbox
// until the core has the message; the core knows up to which number it has them, so what is sent again changes nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/message_exchange.h"
#include "ports/buckets.h"

namespace drover {

class ObjectEvents {
 public:
  struct Outside {
    std::function<OutgoingMessage(const ObjectEvent&)> message;
    /// For people: a stream that is gone, a store in trouble.
    std::function<void(const std::string&)> notice;
  };

  ObjectEvents(Buckets& buckets, MessageExchange& exchange, Outside outside);
  ~ObjectEvents() { stop(); }
  ObjectEvents(const ObjectEvents&) = delete;
  ObjectEvents& operator=(const ObjectEvents&) = delete;

  /// There are new ones. From any thread, after stop() too.
  void wake();
  /// What was sent is answered first.
  void stop();

 private:
  void run();
  /// False: there was trouble, and it is tried again later.
  bool bring_all();
  bool bring(const std::vector<ObjectEvent>& events);
  Result<MessagesSent> send(const std::string& stream, std::vector<OutgoingMessage> messages);

  Buckets& buckets_;
  MessageExchange& exchange_;
  const Outside outside_;
  std::uint64_t brought_ = 0;  // up to this number
  std::string last_trouble_;   // said once

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  bool has_new_ = true;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace drover
