#include "net/connection.h"

#include <algorithm>
#include <array>
#include <limits>

#include "net/connection_sizes.h"
#include "net/io_loop.h"
#include "net/refusal.h"

namespace drover {
namespace {

/// After so many steps others get their turn.
constexpr int kMostSteps = 64;
constexpr std::size_t kLongRead = std::size_t{8} << 10;
/// How long a peer that was told to go may be silent before it is left.
constexpr std::int64_t kLingerSilenceMs = 2'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

Connection::Connection(IoLoop& loop, Socket socket, UniqueSsl ssl, std::string peer)
    : loop_(loop),
      socket_(std::move(socket)),
      channel_(socket_.native_handle(), std::move(ssl)),
      peer_(std::move(peer)),
      since_ms_(IoLoop::now_ms()) {}

void Connection::run() {
  const auto self = shared_from_this();
  loop_.inbox()->take_turn();  // one runs at a time: they share their scratch
  for (int steps = 0; step(); ++steps) {
    if (steps < kMostSteps) continue;
    return loop_.inbox()->post([self] { self->run(); });
  }
  arm();
}

/// True: something was done, if only a close(), and there may be more to do in another state than before.
bool Connection::step() {
  switch (state_) {
    case State::greeting: return hear_greeting();
    case State::handshake: return shake_hands();
    case State::reading: return read_request() || flush();
    case State::taking: return flush();
    case State::handling: return begin_reply() || flush() || watch_peer();
    case State::replying: return flush() || continue_reply() || watch_peer();
    case State::lingering: return linger();
    case State::closed: return false;
  }
  return false;
}

void Connection::arm() {
  bool reads = write_wants_read_;
  switch (state_) {
    case State::greeting: reads = true; break;
    case State::handshake: reads |= !read_wants_write_; break;
    case State::reading: reads |= !peer_ended_ && out_.bytes() < kMostUnsent; break;
    case State::handling:
    case State::replying: reads |= may_read_ahead(); break;
    case State::lingering: reads = true; break;
    case State::taking: break;
    case State::closed: return;
  }
  if (reads && !readable_) wait_readable();
  if (read_wants_write_ || file_waits() || (!out_.empty() && !write_wants_read_)) wait_writable();
}

void Connection::wait_readable() {
  if (std::exchange(waits_readable_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](boost::system::error_code error) {
    self->waits_readable_ = false;
    if (error) return;
    self->readable_ = true;
    if (std::exchange(self->write_wants_read_, false)) self->writable_ = true;
    self->run();
  });
}

void Connection::wait_writable() {
  if (std::exchange(waits_writable_, true)) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](boost::system::error_code error) {
    self->waits_writable_ = false;
    if (error) return;
    self->writable_ = true;
    if (std::exchange(self->read_wants_write_, false)) self->readable_ = true;
    self->run();
  });
}

Channel::Moved Connection::read(std::span<char> into) {
  const Channel::Moved moved = channel_.read(into);
  switch (moved.outcome) {
    // A short read has emptied the socket, most likely; if not, the wait is short. OpenSSL gives 16 KiB at most.
    case Channel::Outcome::moved: readable_ = moved.bytes >= kLongRead || channel_.holds_bytes(); break;
    case Channel::Outcome::wants_read: readable_ = false; break;
    case Channel::Outcome::wants_write:
      readable_ = false;
      read_wants_write_ = true;
      break;
    case Channel::Outcome::ended:
      readable_ = false;
      peer_ended_ = true;
      break;
    case Channel::Outcome::failed: close(); break;
  }
  return moved;
}

void Connection::push(std::string bytes) {
  if (out_.empty()) wrote_ms_ = IoLoop::now_ms();
  out_.push(std::move(bytes));
}

bool Connection::flush() {
  if (out_.empty() || !writable_) return false;
  std::array<std::string_view, Channel::kMostPieces> pieces;
  const std::size_t count = out_.front(pieces);
  const Channel::Moved moved = channel_.write(std::span(pieces).first(count));
  switch (moved.outcome) {
    case Channel::Outcome::moved:
      out_.pop(moved.bytes);
      wrote_ms_ = IoLoop::now_ms();
      if (stream_) stream_->set_in_socket(out_.bytes());
      return true;
    case Channel::Outcome::wants_write: writable_ = false; return false;
    case Channel::Outcome::wants_read:
      writable_ = false;
      write_wants_read_ = true;
      readable_ = false;
      return false;
    case Channel::Outcome::ended:
    case Channel::Outcome::failed: close(); return true;
  }
  return false;
}

/// Whoever speaks plain HTTP to a port for TLS is told so: silence would tell them nothing.
bool Connection::hear_greeting() {
  const auto go_on = [this] {
    state_ = State::handshake;  // with the time that is left
    return true;
  };
  if (!channel_.encrypted()) return go_on();
  switch (channel_.greeting()) {
    case Channel::Greeting::none_yet: readable_ = false; return false;
    case Channel::Greeting::other: return go_on();
    case Channel::Greeting::plain_http:
      channel_.go_plain();
      refuse(refusal_of_plain_http());
      return true;
  }
  return false;
}

bool Connection::shake_hands() {
  const Channel::Moved moved = channel_.handshake();
  switch (moved.outcome) {
    case Channel::Outcome::moved: enter(State::reading); return true;
    case Channel::Outcome::wants_read: readable_ = false; return false;
    case Channel::Outcome::wants_write: read_wants_write_ = true; return false;
    case Channel::Outcome::ended:
    case Channel::Outcome::failed: close(); return true;
  }
  return false;
}

void Connection::enter(State state) {
  state_ = state;
  since_ms_ = IoLoop::now_ms();
}

std::int64_t Connection::deadline_ms() const {
  const HttpLimits& limits = loop_.server().limits;
  if (!out_.empty() || file_waits()) return wrote_ms_ + limits.progress_ms;
  switch (state_) {
    case State::greeting:
    case State::handshake: return since_ms_ + limits.header_ms;
    case State::reading:
      if (!parser_) return since_ms_ + limits.idle_ms;
      return since_ms_ + (head_is_done_ ? limits.progress_ms : limits.header_ms);
    case State::lingering: return std::min(since_ms_ + std::min(kLingerSilenceMs, limits.progress_ms), linger_end_ms_);
    case State::taking:
    case State::handling:
    case State::replying:
    case State::closed: break;
  }
  return kNever;
}

void Connection::look_at_clock(std::int64_t now_ms) {
  if (now_ms < deadline_ms()) return;
  if (!out_.empty() || file_waits()) return cut();
  if (state_ != State::reading || !parser_) return close();
  refuse(408);
  run();
}

void Connection::close_if_idle() {
  const auto self = shared_from_this();
  const bool is_idle = state_ == State::reading && !parser_ && out_.empty() && unread_.empty();
  if (is_idle || state_ == State::greeting || state_ == State::handshake) close();
}

bool Connection::linger() {
  if (!readable_) return false;
  const Channel::Moved moved = read(loop_.scratch());
  if (moved.outcome == Channel::Outcome::ended) close();
  since_ms_ = IoLoop::now_ms();
  return moved.outcome == Channel::Outcome::moved;
}

void Connection::keep(Answer answer) {
  if (state_ == State::handling) {
    answer_ = std::move(answer);
    return;
  }
  if (answer.stream) answer.stream->peer_left();
  loop_.server().pool.discard(std::move(answer.source));
  loop_.server().pool.discard(std::move(answer.file));
}

void Connection::cut() {
  channel_.abandon();
  close();
}

void Connection::close() {
  if (state_ == State::closed) return;
  const auto self = shared_from_this();
  state_ = State::closed;
  if (exchange_) exchange_->peer_left();
  if (stream_) stream_->peer_left();
  if (answer_ && answer_->stream) answer_->stream->peer_left();
  DiskPool& pool = loop_.server().pool;
  if (answer_) {
    pool.discard(std::move(answer_->source));
    pool.discard(std::move(answer_->file));
  }
  pool.discard(std::move(file_));
  file_.reset();
  pool.discard(std::move(sink_));
  pool.discard(std::move(source_));
  channel_.end_writing();
  boost::system::error_code ignored;
  static_cast<void>(socket_.close(ignored));
  out_.clear();
  parser_.reset();
  unread_ = {};
  loop_.forget(*this);
}

}  // namespace drover
