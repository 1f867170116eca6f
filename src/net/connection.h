// One peer: its requests read, handed on and answered, one after another.
//
// Whatever happens (bytes, room for bytes, a reply, a piece from the pool, a deadline) ends in run(), which takes steps
// until nothing more can be done without waiting, and then says what it waits for. A connection that only waits has no
// buffer: bytes are read into the thread's scratch space and kept only where they are half of something. Requests that
// a peer sends ahead wait in the socket, but for a little.
//
// connection.cc has the steps common to all, connection_input.cc requests, connection_reply.cc replies.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "net/channel.h"
#include "net/exchange.h"
#include "net/file_body.h"
#include "net/outbox.h"
#include "net/request_parser.h"

namespace drover {

class IoLoop;

using Socket = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

/// Lives on its loop's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(IoLoop& loop, Socket socket, UniqueSsl ssl, std::string peer);

  /// Does all that can be done now.
  void run();
  /// Ends it if it has waited too long.
  void look_at_clock(std::int64_t now_ms);
  /// Ends it if nothing of a request has come and nothing of a reply is left.
  void close_if_idle();
  void close();
  /// Ends it so that the peer sees an error, and what is not sent yet is not sent.
  void cut();

  /// True while the handler is being called: what it answers is kept, and sent when it returns.
  bool is_in_handler() const { return in_handler_; }
  void keep(Answer answer);

 private:
  friend class IoLoop;

  enum class State : std::uint8_t {
    greeting,  // nothing has come yet where TLS is spoken
    handshake,
    reading,   // a request, or waiting for one
    taking,    // the pool has a piece of the body
    handling,  // somebody owes a reply
    replying,
    lingering,  // all is said, and what the peer still sends is thrown away so that it reads it
    closed,
  };

  enum class Piece : std::uint8_t { one_of_many, last };

  bool step();
  void arm();
  void wait_readable();
  void wait_writable();
  bool flush();
  void push(std::string bytes);
  Channel::Moved read(std::span<char> into);
  std::int64_t deadline_ms() const;
  void enter(State state);

  bool hear_greeting();
  bool shake_hands();
  bool read_request();
  std::size_t parse(std::string_view bytes);
  void keep_unread(std::string bytes);
  void begin_request();
  void begin_body();
  void end_body();
  void refuse(int status);
  void refuse(HttpResponse response);
  const std::string& holder_name() const;
  bool give_gathered();
  void give_to_sink(Piece which);
  void sink_took(std::unique_ptr<HttpBodySink> sink, bool went_well, Piece which);
  void hand_over();
  bool watch_peer();
  bool may_read_ahead() const;

  bool begin_reply();
  bool continue_reply();
  void drop_body(Answer answer);
  void ask_source();
  void source_gave(std::unique_ptr<HttpBodySource> source, Result<std::string> piece);
  /// Until the peer has room for more of it.
  bool file_waits() const { return file_ && !source_is_asked_ && !writable_; }
  void send_file();
  void send_file_from_disk();
  void read_file(HttpFilePart part);
  void file_came_back(HttpFilePart file, FileSent sent);
  void file_was_sent(FileSent sent);
  void push_body(std::string bytes);
  void finish_body();
  void finish_reply();
  bool linger();

  IoLoop& loop_;
  Socket socket_;
  Channel channel_;
  std::string peer_;
  std::list<std::shared_ptr<Connection>>::iterator place_;  // in its loop, among the known or the strangers
  bool is_known_ = false;
  bool asks_as_stranger_ = false;  // this request
  std::optional<Holder> holder_;   // whom it counts for

  State state_ = State::greeting;
  std::int64_t since_ms_;      // of this state, or of the last byte of a body
  std::int64_t wrote_ms_ = 0;  // the last progress of what is in out_
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool readable_ = true;  // as far as is known
  bool writable_ = true;
  bool read_wants_write_ = false;  // TLS has its own mind
  bool write_wants_read_ = false;
  bool peer_ended_ = false;  // it will send no more

  std::unique_ptr<RequestParser> parser_;  // from a request's first byte to its last
  bool head_is_done_ = false;
  std::string unread_;          // bytes that were read and not yet used
  bool unread_is_new_ = false;  // the parser has not seen all of it
  bool parser_wants_more_ = false;
  std::unique_ptr<HttpBodySink> sink_;
  std::move_only_function<void(HttpRequest, HttpReply)> handle_;

  std::shared_ptr<Exchange> exchange_;
  bool in_handler_ = false;
  std::optional<Answer> answer_;
  bool request_was_whole_ = false;
  bool is_head_ = false;  // a HEAD request: no body, whatever the answer says
  bool is_http_1_0_ = false;
  bool keep_alive_ = false;

  Outbox out_;
  std::unique_ptr<HttpBodySource> source_;
  std::optional<HttpFilePart> file_;  // what is left of it
  std::shared_ptr<StreamBuffer> stream_;
  bool source_is_asked_ = false;  // or the file is being sent
  bool body_is_done_ = false;     // all of it is in out_
  bool chunked_ = false;
  std::optional<std::uint64_t> owed_;  // bytes of the body that were promised and not yet given
  std::int64_t linger_end_ms_ = 0;
};

}  // namespace drover
