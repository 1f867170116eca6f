// How a connection reads requests.
#include "base/check.h"
#include "net/connection.h"
#include "net/connection_sizes.h"
#include "net/io_loop.h"
#include "net/refusal.h"

namespace drover {

bool Connection::read_request() {
  if (out_.bytes() >= kMostUnsent) return false;
  if (std::exchange(unread_is_new_, false)) {
    const std::size_t used = parse(unread_);
    if (state_ == State::closed) return true;
    keep_unread(unread_.substr(used));
    return true;
  }
  if (peer_ended_ || (loop_.server().stopping && !parser_)) {
    // Replies to what it sent before leave first.
    if (!out_.empty()) return false;
    close();
    return true;
  }
  if (!readable_) return give_gathered();
  const std::span<char> scratch = loop_.scratch();
  const Channel::Moved got = read(scratch);
  if (got.outcome != Channel::Outcome::moved) return peer_ended_ || state_ == State::closed;
  if (head_is_done_) since_ms_ = IoLoop::now_ms();
  const std::string_view bytes(scratch.data(), got.bytes);
  if (unread_.empty()) {
    const std::size_t used = parse(bytes);
    if (state_ == State::closed) return true;
    keep_unread(std::string(bytes.substr(used)));
  } else {
    unread_ += bytes;
    unread_is_new_ = true;
  }
  return true;
}

void Connection::keep_unread(std::string bytes) {
  unread_ = std::move(bytes);
  unread_is_new_ = !unread_.empty() && !parser_wants_more_;
}

/// Gives how much was used.
std::size_t Connection::parse(std::string_view bytes) {
  std::size_t used = 0;
  parser_wants_more_ = false;
  while (state_ == State::reading && used < bytes.size() && out_.bytes() < kMostUnsent) {
    if (!parser_) begin_request();
    const RequestParser::Step step = parser_->feed(bytes.substr(used));
    used += step.used;
    switch (step.event) {
      case RequestParser::Event::head: begin_body(); break;
      case RequestParser::Event::whole: end_body(); break;
      case RequestParser::Event::broken: refuse(parser_->refusal()); break;
      case RequestParser::Event::more:
        parser_wants_more_ = true;
        if (parser_->body().size() >= kSinkPiece) give_gathered();
        return used;
    }
  }
  return used;
}

void Connection::begin_request() {
  parser_ = std::make_unique<RequestParser>(loop_.server().limits.header_bytes);
  since_ms_ = IoLoop::now_ms();
  head_is_done_ = false;
  request_was_whole_ = false;
  is_head_ = false;
  is_http_1_0_ = false;
  keep_alive_ = false;
}

void Connection::begin_body() {
  head_is_done_ = true;
  HttpHead& head = parser_->head();
  head.peer = peer_;
  head.encrypted = channel_.encrypted();
  is_head_ = head.method == "HEAD";
  is_http_1_0_ = parser_->is_http_1_0();
  keep_alive_ = parser_->keep_alive();
  HttpPlan plan = loop_.server().handler.plan(head);
  sink_ = std::move(plan.sink);
  handle_ = std::move(plan.handle);
  asks_as_stranger_ = plan.is_from_stranger;
  if (plan.refusal) return refuse(std::move(*plan.refusal));
  if (plan.holder && !loop_.count_for(*this, *plan.holder)) return refuse(429);
  if (parser_->stated_length() > plan.most_bytes) return refuse(413);
  // Also before a body without bytes: boto3, which is answered at once, misreads the next answer on the connection.
  if (parser_->wants_continue() && !is_http_1_0_) push("HTTP/1.1 100 Continue\r\n\r\n");
  if (!parser_->awaits_body()) return end_body();
  parser_->limit_body(plan.most_bytes);
}

void Connection::end_body() {
  if (sink_) return give_to_sink(Piece::last);
  request_was_whole_ = true;
  hand_over();
}

const std::string& Connection::holder_name() const {
  static const std::string nobody;
  return holder_ ? holder_->name : nobody;
}

void Connection::refuse(int status) {
  refuse(refusal(status));
}

void Connection::refuse(HttpResponse response) {
  loop_.server().pool.discard(std::move(sink_));
  handle_ = nullptr;
  request_was_whole_ = false;
  parser_.reset();
  enter(State::handling);
  answer_ = Answer{.head = std::move(response)};
}

/// There is nothing more to read just now: true if there was something for a sink to take.
bool Connection::give_gathered() {
  if (!sink_ || parser_->body().empty()) return false;
  give_to_sink(Piece::one_of_many);
  return true;
}

void Connection::give_to_sink(Piece which) {
  enter(State::taking);
  loop_.server().pool.post(
      holder_name(), [connection = weak_from_this(), inbox = loop_.inbox(), sink = std::move(sink_),
                      piece = std::exchange(parser_->body(), {}), which]() mutable {
        bool went_well = piece.empty() || sink->take(piece).has_value();
        if (went_well && which == Piece::last) went_well = sink->finish().has_value();
        inbox->post([connection = std::move(connection), sink = std::move(sink), went_well, which]() mutable {
          if (const auto it = connection.lock()) it->sink_took(std::move(sink), went_well, which);
        });
      });
}

void Connection::sink_took(std::unique_ptr<HttpBodySink> sink, bool went_well, Piece which) {
  if (state_ == State::closed) return loop_.server().pool.discard(std::move(sink));
  DROVER_CHECK(state_ == State::taking, "a sink comes back once");
  sink_ = std::move(sink);
  enter(State::reading);
  request_was_whole_ = which == Piece::last;
  if (request_was_whole_ || !went_well) hand_over();
  run();
}

/// The request goes to its handler, which may answer before it returns.
void Connection::hand_over() {
  HttpRequest request{std::move(parser_->head()), std::move(parser_->body()), std::move(sink_)};
  parser_.reset();
  if (!asks_as_stranger_) loop_.get_to_know(*this);
  enter(State::handling);
  loop_.begin_turn();
  exchange_ = std::make_shared<Exchange>(loop_.inbox(), weak_from_this());
  in_handler_ = true;
  std::exchange(handle_, nullptr)(std::move(request), HttpReply(exchange_));
  in_handler_ = false;
  begin_reply();
}

bool Connection::may_read_ahead() const {
  const bool is_owed = state_ == State::handling || (stream_ && !body_is_done_);
  return is_owed && !peer_ended_ && unread_.size() < kMostReadAhead;
}

/// While a reply is owed: reads a little ahead, and so sees it if the peer leaves. One that only says that it will send
/// no more may still be waiting for its reply, and gets it; a stream that nobody will ever end does not.
bool Connection::watch_peer() {
  if (!readable_ || !may_read_ahead()) return false;
  const std::span<char> scratch = loop_.scratch();
  const Channel::Moved got = read(scratch.first(kMostReadAhead - unread_.size()));
  if (state_ == State::closed) return true;
  if (got.outcome == Channel::Outcome::moved) {
    unread_.append(scratch.data(), got.bytes);
    unread_is_new_ = true;
    return true;
  }
  if (got.outcome == Channel::Outcome::ended) {
    if (exchange_) exchange_->peer_left();
    if (stream_) close();
  }
  return false;
}

}  // namespace drover
