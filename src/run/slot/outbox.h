// What the helper has to say, until drover has heard it.
#pragma once

#include <cstdint>
#include <string>

#include "run/slot_protocol.h"

namespace drover::slot {

/// Bytes on their way into the socket. Those in front of `first_unsent()` are gone already.
class Outbox {
 public:
  std::string& bytes() { return bytes_; }
  std::size_t first_unsent() const { return sent_; }
  std::size_t unsent() const { return bytes_.size() - sent_; }
  bool empty() const { return unsent() == 0; }

  /// As much as the socket takes now.
  void send();
  /// Gives back the memory that a long output took. Call it when it is empty.
  void shrink() { std::string().swap(bytes_); }  // assigning an empty one would keep the room

 private:
  std::string bytes_;
  std::size_t sent_ = 0;
};

}  // namespace drover::slot
