#include "run/docker/slot_events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace drover {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 20;
constexpr std::size_t kLargePiece = std::size_t{64} << 10;
// What is read within this time travels and is kept as one piece.
constexpr std::int64_t kOnePieceMs = 10;

}  // namespace

SlotEvents::SlotEvents() : ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void SlotEvents::wake() {
  const std::uint64_t one = 1;
  DROVER_CHECK(::write(ready_.get(), &one, sizeof(one)) == sizeof(one), "an event counter takes an event");
}

void SlotEvents::add(SlotEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  if (events_.size() == 1) wake();
}

void SlotEvents::print(Token token, LogStream stream, std::int64_t time_ms, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  printed_bytes_ += bytes.size();
  auto* last = events_.empty() ? nullptr : std::get_if<AttemptPrinted>(&events_.back());
  if (last != nullptr && last->token == token && last->stream == stream && time_ms - last->time_ms <= kOnePieceMs &&
      last->bytes.size() < kLargePiece) {
    last->bytes += bytes;
    return;
  }
  events_.emplace_back(AttemptPrinted{token, stream, time_ms, std::string(bytes)});
  if (events_.size() == 1) wake();
}

bool SlotEvents::is_full() {
  const std::lock_guard lock(mutex_);
  somebody_waits_ = printed_bytes_ >= kMostWaiting;
  return somebody_waits_;
}

SlotEvents::Taken SlotEvents::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(ready_.get(), &count, sizeof(count));
  printed_bytes_ = 0;
  return {std::exchange(events_, {}), std::exchange(somebody_waits_, false)};
}

}  // namespace drover
