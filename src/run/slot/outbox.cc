#include "run/slot/outbox.h"

#include <sys/socket.h>

namespace drover::slot {
namespace {

// So much that was sent is moved out of the way, for an attempt that prints without end.
constexpr std::size_t kMovedBytes = std::size_t{256} << 10;

}  // namespace

void Outbox::send() {
  if (empty()) return;
  const ssize_t sent = ::send(kSlotSocket, bytes_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) sent_ += static_cast<std::size_t>(sent);
  if (empty() || sent_ > kMovedBytes) remove_sent();
}

void Outbox::remove_sent() {
  bytes_.erase(0, sent_);
  removed_ += sent_;
  sent_ = 0;
}

void Outbox::shrink() {
  remove_sent();
  std::string().swap(bytes_);  // assigning an empty one would keep the capacity
}

}  // namespace drover::slot
