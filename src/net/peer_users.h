// Which users of this machine are at the other end of a TCP connection from this machine to itself.
#pragma once

#include <sys/types.h>
#include <set>
#include <string>

#include "base/result.h"

namespace drover {

struct TcpEnds {
  std::string peer_ip;  // as text, without brackets
  int peer_port = 0;
  std::string own_ip;
  int own_port = 0;
};

/// The owners of the peer's socket and of every socket that listens where this connection went. Until a connection is
/// accepted the kernel names no owner of it, so the listener counts: it is the one that can accept it. Empty: nobody on
/// this machine (in this network namespace) listens there.
Result<std::set<uid_t>> users_behind(const TcpEnds& ends);

/// The same, from the text of /proc/net/tcp or /proc/net/tcp6.
std::set<uid_t> users_behind(const TcpEnds& ends, std::string_view table);

}  // namespace drover
