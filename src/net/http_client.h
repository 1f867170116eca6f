// Asking one server by HTTP, with libcurl.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/http_client.h"

namespace drover {

/// Where a connection may lead, asked with each address before it is connected to.
using MayConnect = std::function<bool(const sockaddr&)>;

struct ClientOptions {
  std::string base;                   // "http://host:port", "https://host:port", "unix:/path/to.sock"
  std::string token;                  // sent as a bearer token, if not empty
  std::optional<std::string> ca_pem;  // these alone are trusted; nothing: whom the system trusts
  bool trusts_anybody = false;        // only to fetch what is checked by other means
  /// Not empty: over plain HTTP nothing is sent unless the peer is a process of one of these users of this machine.
  std::vector<uid_t> only_to_users = {};
  std::int64_t connect_timeout_ms = 10'000;
  /// A machine that acknowledges nothing for this long is given up, however long the call may still take. A slow line
  /// or a server that thinks is not: their machines do acknowledge.
  std::int64_t silence_ms = 20'000;
  /// Nothing: anywhere, through the environment's proxy if there is one. With it no proxy is used, since only the proxy
  /// would know the address. What it refuses is answered with `denied`.
  MayConnect may_connect{};
  std::size_t most_answer_bytes = std::size_t{64} << 20;  // of an answer that is not taken piece by piece
};

/// Fails with `bad_input` if the options cannot be right; the server need not be there yet.
Result<std::unique_ptr<HttpClient>> make_http_client(const ClientOptions& options);

}  // namespace drover
