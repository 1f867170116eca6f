#include "run/slot/pipe_hold.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace drover::slot {
namespace {

constexpr std::size_t kHeldBytes = std::size_t{1} << 20;
constexpr std::size_t kTakenAtOnce = std::size_t{256} << 10;
constexpr std::size_t kDroppedAtOnce = std::size_t{96} << 10;

}  // namespace

bool PipeHold::open() {
  if (in_ || is_refused_) return !is_refused_;
  int ends[2];
  is_refused_ = ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0;
  if (is_refused_) return false;
  out_ = Descriptor(ends[0]);
  in_ = Descriptor(ends[1]);
  nowhere_ = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  is_refused_ = !nowhere_ || ::fcntl(in_.get(), F_SETPIPE_SZ, static_cast<int>(kHeldBytes)) < 0;
  return !is_refused_;
}

std::size_t PipeHold::take(int pipe, LogStream stream, std::int64_t time_ms) {
  if (!open()) return 0;
  const auto take = [&] {
    return ::splice(pipe, nullptr, in_.get(), nullptr, kTakenAtOnce, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  };
  if (held_ + kDroppedAtOnce > kHeldBytes) drop_some();
  ssize_t took = take();
  if (took < 0 && errno == EAGAIN && !pieces_.empty()) {
    drop_some();
    took = take();
  }
  if (took <= 0) return 0;
  pieces_.push_back({stream, time_ms, static_cast<std::size_t>(took)});
  held_ += static_cast<std::size_t>(took);
  return static_cast<std::size_t>(took);
}

void PipeHold::drop_some() {
  const ssize_t gone = ::splice(out_.get(), nullptr, nowhere_.get(), nullptr, kDroppedAtOnce, SPLICE_F_NONBLOCK);
  if (gone <= 0) return;
  dropped_ += static_cast<std::uint64_t>(gone);
  forget(static_cast<std::size_t>(gone));
}

std::size_t PipeHold::take_out(std::span<char> buffer) {
  const ssize_t got = ::read(out_.get(), buffer.data(), std::min(buffer.size(), pieces_.front().size));
  if (got <= 0) {  // cannot be: it is there
    dropped_ += held_;
    held_ = 0;
    pieces_.clear();
    return 0;
  }
  forget(static_cast<std::size_t>(got));
  return static_cast<std::size_t>(got);
}

void PipeHold::forget(std::size_t size) {
  held_ -= size;
  while (size > 0) {
    Piece& oldest = pieces_.front();
    const std::size_t part = std::min(size, oldest.size);
    oldest.size -= part;
    size -= part;
    if (oldest.size == 0) pieces_.pop_front();
  }
}

}  // namespace drover::slot
