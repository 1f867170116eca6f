// One connection of a peer with bad manners: says its piece, each part in its time, and gathers what comes back.
#pragma once

#include <cstdint>
#include <string>

#include "bad_request.h"

namespace hostile {

std::int64_t now_ms();

class Peer {
 public:
  /// Connects; give it to nobody while is_open() is false.
  Peer(const Target& target, BadRequest request, std::int64_t patience_ms);
  ~Peer();
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&&) = delete;

  bool is_open() const { return socket_ >= 0; }
  int socket() const { return socket_; }
  const BadRequest& request() const { return request_; }
  const std::string& heard() const { return heard_; }
  std::int64_t began_ms() const { return began_ms_; }

  /// Sends what is due and takes what has come. False: it is over.
  bool go_on();
  /// When there is something to send, or no more patience.
  std::int64_t next_ms() const;
  /// It waited longer than it wanted to.
  bool lost_patience() const { return lost_patience_; }

 private:
  bool send_due();
  bool take();

  int socket_ = -1;
  BadRequest request_;
  std::int64_t began_ms_;
  std::int64_t until_ms_;
  std::size_t piece_ = 0;
  std::size_t sent_ = 0;  // of that piece
  std::int64_t due_ms_;
  bool is_blocked_ = false;  // the socket takes no more just now
  bool said_all_ = false;
  bool lost_patience_ = false;
  std::string heard_;
};

}  // namespace hostile
