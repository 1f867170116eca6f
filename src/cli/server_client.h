// The CLI as a client of a server: where it is, with which key, and calls whose errors are the server's own words.
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/verb.h"
#include "net/http_client.h"
#include "ports/http_client.h"

namespace CLI {
class App;
}

namespace drover {

struct ServerFlags {
  std::string server;  // else $DROVER_SERVER, else the server of this machine and user
};
void add_server_flag(CLI::App& verb, ServerFlags& flags);

/// Whether the user speaks of a server rather than of a run on this machine.
bool names_server(const ServerFlags& flags);

/// What it takes to speak to a server.
struct ServerAccess {
  std::string address;
  std::string token;
  std::optional<std::string> ca_pem;
  std::string ca_file;  // that it was read from; empty: none

  ClientOptions client_options() const { return {.base = address, .token = token, .ca_pem = ca_pem}; }
};
/// The address as above; the key from $DROVER_KEY, else, for the server on this machine and no other, that one's; the
/// authority from the file $DROVER_CA, else that server's.
Result<ServerAccess> find_server(const CommonFlags& common, const ServerFlags& flags);

/// Whether a request that got no answer may be sent again: it means the same twice as once.
enum class Repeat : std::uint8_t { never, allowed };

class ServerClient {
 public:
  static Result<ServerClient> connect(const CommonFlags& common, const ServerFlags& flags);

  Result<boost::json::value> get(const std::string& path);
  /// The same for somebody who waits at a terminal: once, and an answer or an error within that time.
  Result<boost::json::value> get_soon(const std::string& path, std::int64_t deadline_ms);
  Result<boost::json::value> post(const std::string& path, const boost::json::value& body,
                                  Repeat repeat = Repeat::never);
  Result<boost::json::value> put(const std::string& path, const boost::json::value& body);
  Result<boost::json::value> remove(const std::string& path);
  /// Sends a body piece by piece.
  Result<boost::json::value> upload(const std::string& path, std::function<Result<std::string>()> source);
  /// Passes the body on as it comes.
  Result<void> stream(const std::string& path, const std::function<Result<void>(std::string_view)>& take,
                      std::vector<HttpHeader> headers = {});

 private:
  explicit ServerClient(std::unique_ptr<HttpClient> client) : client_(std::move(client)) {}
  Result<boost::json::value> call(const HttpCall& call);

  std::unique_ptr<HttpClient> client_;
};

/// For a path or a query: everything but letters, digits and -_.~ escaped.
std::string url_escape(std::string_view text);

}  // namespace drover
