// The bytes of one connection, in plain or encrypted. Nothing here waits: whoever gets `wants_read` or `wants_write`
// waits for the socket and asks again. So an idle connection needs no buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

struct ssl_st;

namespace drover {

struct SslDeleter {
  void operator()(ssl_st* ssl) const;
};
using UniqueSsl = std::unique_ptr<ssl_st, SslDeleter>;

class Channel {
 public:
  /// More pieces than these are not looked at in one write.
  static constexpr std::size_t kMostPieces = 16;
  enum class Outcome : std::uint8_t { moved, wants_read, wants_write, ended, failed };
  struct Moved {
    Outcome outcome = Outcome::moved;
    std::size_t bytes = 0;
  };

  /// The socket belongs to the caller, does not block, and outlives this. Without an `ssl` nothing is encrypted.
  Channel(int socket, UniqueSsl ssl) : socket_(socket), ssl_(std::move(ssl)) {}

  bool encrypted() const { return ssl_ != nullptr; }
  enum class Greeting : std::uint8_t { none_yet, plain_http, other };
  /// What the peer's first byte looks like; it is not taken.
  Greeting greeting() const;
  /// From now on nothing is encrypted.
  void go_plain() { ssl_.reset(); }
  /// `moved`: done, there is nothing more to agree on.
  Moved handshake();
  Moved read(std::span<char> into);
  /// Writes some of the pieces, first things first.
  Moved write(std::span<const std::string_view> pieces);
  /// True: a read may give bytes although the socket has none.
  bool holds_bytes() const;
  /// Says that no more will be written.
  void end_writing();
  /// Closing the socket will reset the connection.
  void abandon();

 private:
  Moved of_ssl(int result, std::size_t bytes) const;

  int socket_;
  UniqueSsl ssl_;
  bool abandoned_ = false;
};

}  // namespace drover
