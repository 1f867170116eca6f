// Asking one server by HTTP, with libcurl.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "ports/http_client.h"

namespace drover {

struct ClientOptions {
  std::string base;                   // "http://host:port", "https://host:port", "unix:/path/to.sock"
  std::string token;                  // sent as a bearer token, if not empty
  std::optional<std::string> ca_pem;  // these alone are trusted; nothing: whom the system trusts
  bool trusts_anybody = false;        // only to fetch what is checked by other means
  std::int64_t connect_timeout_ms = 10'000;
};

/// Fails with `bad_input` if the options cannot be right; the server need not be there yet.
Result<std::unique_ptr<HttpClient>> make_http_client(const ClientOptions& options);

}  // namespace drover
