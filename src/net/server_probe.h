// The steps of a connection one by one, so that the one that fails can be named: resolve, connect, TLS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace drover {

/// "https://host:port" in its parts; an IPv6 address has lost its brackets.
struct ServerPlace {
  bool encrypted = false;
  std::string host;
  std::string port;
};
/// Nothing: it is no such address.
std::optional<ServerPlace> parse_place(const std::string& address);

/// The addresses of a name, as text. A resolver that takes longer than `patience_ms` is left to itself.
Result<std::vector<std::string>> resolve_host(const std::string& host, std::int64_t patience_ms);

/// Microseconds until the first of the addresses took the connection.
Result<std::int64_t> probe_tcp(const std::vector<std::string>& addresses, const std::string& port,
                               std::int64_t patience_ms);

struct TlsSeen {
  std::string issuer;             // of the server's certificate, for people
  std::int64_t ends_ms = 0;       // when that certificate expires
  std::string trouble;            // why it is not trusted; empty: it is
  bool is_own_authority = false;  // trusted by `ca_pem`, not by what the system trusts
};
/// Shakes hands with the first of the addresses, sends nothing.
Result<TlsSeen> probe_tls(const ServerPlace& place, const std::vector<std::string>& addresses,
                          const std::optional<std::string>& ca_pem, std::int64_t patience_ms);

}  // namespace drover
