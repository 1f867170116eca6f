// How a connection answers.
#include <fcntl.h>

#include <charconv>

#include "base/check.h"
#include "net/connection.h"
#include "net/connection_sizes.h"
#include "net/io_loop.h"
#include "net/response_head.h"

namespace drover {
namespace {

/// A longer body leaves as it is, without being copied behind its head.
constexpr std::size_t kSmallBody = std::size_t{8} << 10;

std::optional<std::uint64_t> stated_length(const HttpResponse& response) {
  const std::string* text = find_header(response.headers, "content-length");
  if (text == nullptr) return std::nullopt;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return length;
}

bool asks_to_close(const HttpResponse& response) {
  const std::string* text = find_header(response.headers, "connection");
  return text != nullptr && *text == "close";
}

}  // namespace

bool Connection::begin_reply() {
  if (!answer_) return false;
  Answer answer = std::move(*answer_);
  answer_.reset();
  exchange_.reset();
  HttpResponse& head = answer.head;
  if (answer.file)
    head.headers.push_back({"Content-Length", std::to_string(answer.file->size + answer.file->size_behind)});
  const std::optional<std::uint64_t> stated = stated_length(head);
  const bool comes_later = answer.source || answer.stream || answer.file;
  ResponseShape shape{.framing = BodyFraming::sized, .length = head.body.size()};
  if (head.status == 204 || head.status == 304) {
    shape.framing = BodyFraming::none;
  } else if (comes_later && !stated) {
    shape.framing = is_http_1_0_ ? BodyFraming::until_close : BodyFraming::chunked;
  } else if (comes_later || is_head_) {
    shape.length = stated.value_or(shape.length);
  }
  shape.close = !keep_alive_ || !request_was_whole_ || loop_.server().stopping || asks_to_close(head) ||
                shape.framing == BodyFraming::until_close;
  shape.say_keep_alive = is_http_1_0_;

  enter(State::replying);
  keep_alive_ = !shape.close;
  chunked_ = shape.framing == BodyFraming::chunked;
  std::string first = response_head(head, shape);
  if (is_head_ || shape.framing == BodyFraming::none) {
    push(std::move(first));
    drop_body(std::move(answer));
  } else if (comes_later) {
    push(std::move(first));
    if (shape.framing == BodyFraming::sized) owed_ = shape.length;
    if (answer.file && channel_.encrypted()) answer.source = read_file_part(*std::exchange(answer.file, {}));
    file_ = std::move(answer.file);
    source_ = std::move(answer.source);
    stream_ = std::move(answer.stream);
    return true;
  } else if (head.body.size() <= kSmallBody) {
    push(std::move(first.append(head.body)));
  } else {
    push(std::move(first));
    push(std::move(head.body));
  }
  body_is_done_ = true;
  // The next request may already be there: replies to several leave together.
  if (keep_alive_ && out_.bytes() < kMostUnsent) finish_reply();
  return true;
}

void Connection::drop_body(Answer answer) {
  loop_.server().pool.discard(std::move(answer.source));
  loop_.server().pool.discard(std::move(answer.file));
  if (answer.stream) answer.stream->peer_left();
}

bool Connection::continue_reply() {
  if (body_is_done_) {
    if (!out_.empty()) return false;
    finish_reply();
    return true;
  }
  if (stream_) {
    if (out_.bytes() >= kMostUnsent) return false;
    StreamBuffer::Taken taken = stream_->take();
    const bool was_empty = taken.bytes.empty();
    if (!was_empty) push_body(std::move(taken.bytes));
    if (taken.ended && state_ != State::closed) finish_body();
    if (state_ == State::closed) return true;
    stream_->set_in_socket(out_.bytes());
    return !was_empty || taken.ended;
  }
  if (source_is_asked_ || !out_.empty()) return false;
  if (!file_) {
    ask_source();
  } else if (writable_) {
    send_file();
    return body_is_done_ || state_ == State::closed;
  }
  return false;
}

void Connection::send_file() {
  const FileSent sent = send_cached_part(socket_.native_handle(), *file_);
  if (sent == FileSent::not_in_memory) return send_file_from_disk();
  file_was_sent(sent);
  // The rest comes with the loop's next look at its sockets, when others have had their turn.
  if (sent == FileSent::some && file_) writable_ = false;
}

// The socket is still there when the pool comes to it, even if the connection is not.
void Connection::send_file_from_disk() {
  Descriptor socket(::fcntl(socket_.native_handle(), F_DUPFD_CLOEXEC, 0));
  if (!socket) return read_file(std::move(*file_));
  source_is_asked_ = true;
  loop_.server().pool.post(holder_name(), [connection = weak_from_this(), inbox = loop_.inbox(),
                                           socket = std::move(socket), file = std::move(*file_)]() mutable {
    const FileSent sent = send_file_part(socket.get(), file);
    socket.reset();
    inbox->post([connection = std::move(connection), file = std::move(file), sent]() mutable {
      if (const auto it = connection.lock()) it->file_came_back(std::move(file), sent);
    });
  });
}

// What is left of it goes the longer way.
void Connection::read_file(HttpFilePart part) {
  file_.reset();
  owed_ = part.size + part.size_behind;
  source_ = read_file_part(std::move(part));
  ask_source();
}

void Connection::file_came_back(HttpFilePart file, FileSent sent) {
  if (state_ == State::closed) return loop_.server().pool.discard(std::optional(std::move(file)));
  DROVER_CHECK(state_ == State::replying && source_is_asked_, "a file comes back once");
  source_is_asked_ = false;
  file_ = std::move(file);
  file_was_sent(sent);
  run();
}

void Connection::file_was_sent(FileSent sent) {
  wrote_ms_ = IoLoop::now_ms();  // it is sent only when there is room, so this is progress
  if (sent == FileSent::cannot_be_sent) return read_file(std::move(*file_));
  if (sent == FileSent::failed) return cut();
  if (sent == FileSent::socket_full) writable_ = false;
  if (file_->size == 0 && file_->size_behind == 0) {
    loop_.server().pool.discard(std::exchange(file_, {}));
    body_is_done_ = true;
  }
}

void Connection::ask_source() {
  source_is_asked_ = true;
  loop_.server().pool.post(holder_name(), [connection = weak_from_this(), inbox = loop_.inbox(),
                                           source = std::move(source_)]() mutable {
    auto piece = source->next();
    inbox->post([connection = std::move(connection), source = std::move(source), piece = std::move(piece)]() mutable {
      if (const auto it = connection.lock()) it->source_gave(std::move(source), std::move(piece));
    });
  });
}

void Connection::source_gave(std::unique_ptr<HttpBodySource> source, Result<std::string> piece) {
  if (state_ == State::closed) return loop_.server().pool.discard(std::move(source));
  DROVER_CHECK(state_ == State::replying && source_is_asked_, "a source comes back once");
  source_is_asked_ = false;
  source_ = std::move(source);
  if (!piece) return cut();
  if (piece->empty()) {
    finish_body();
  } else {
    push_body(std::move(*piece));
  }
  run();
}

void Connection::push_body(std::string bytes) {
  if (owed_) {
    if (bytes.size() > *owed_) return cut();
    *owed_ -= bytes.size();
  }
  if (!chunked_) return push(std::move(bytes));
  char size[20];
  const auto [end, error] = std::to_chars(std::begin(size), std::end(size), bytes.size(), 16);
  push(std::string(size, end) + "\r\n");
  push(std::move(bytes));
  push("\r\n");
}

void Connection::finish_body() {
  if (owed_.value_or(0) > 0) return cut();
  if (chunked_) push("0\r\n\r\n");
  loop_.server().pool.discard(std::move(source_));
  body_is_done_ = true;
}

void Connection::finish_reply() {
  body_is_done_ = false;
  stream_.reset();
  owed_.reset();
  if (keep_alive_) return enter(State::reading);
  if (peer_ended_ || (request_was_whole_ && unread_.empty())) return close();
  // Closing now would throw away the reply with what the peer still sends.
  channel_.end_writing();
  enter(State::lingering);
  linger_end_ms_ = since_ms_ + loop_.server().limits.progress_ms;
  unread_ = {};
  readable_ = true;
}

}  // namespace drover
