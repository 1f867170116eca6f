// What the helper has to say, until drover has heard it.
#pragma once

#include <cstdint>
#include <string>

#include "run/slot_protocol.h"

namespace drover::slot {

/// Bytes on their way into the socket.
///
/// A position counts from the first byte that was ever added. Unlike an index into bytes() it stays valid when bytes
/// that were sent are removed.
class Outbox {
 public:
  std::string& bytes() { return bytes_; }
  /// Of the next byte that is added.
  std::uint64_t position() const { return removed_ + bytes_.size(); }
  bool is_unsent(std::uint64_t position) const { return position >= removed_ + sent_; }
  /// `position` is unsent, or was just added.
  std::size_t index_of(std::uint64_t position) const { return static_cast<std::size_t>(position - removed_); }
  std::size_t unsent() const { return bytes_.size() - sent_; }
  bool empty() const { return unsent() == 0; }

  /// As much as the socket takes now.
  void send();
  /// Gives back the memory that a long output took. Call it when it is empty.
  void shrink();

 private:
  void remove_sent();

  std::string bytes_;
  std::size_t sent_ = 0;       // of bytes_
  std::uint64_t removed_ = 0;  // before the first of bytes_
};

}  // namespace drover::slot
