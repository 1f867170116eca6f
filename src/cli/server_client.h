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

namespace drover {

struct ServerFlags {
  std::string server;  // else $DROVER_SERVER, else the server of this machine and user
  bool local = false;  // a run on this machine is meant, whatever $DROVER_SERVER says
};
void add_server_flag(const Verb& verb, ServerFlags& flags);
/// The same and --local, for verbs that know runs on this machine too.
void add_place_flags(const Verb& verb, ServerFlags& flags);
/// What a hint about a run on this machine needs behind it: " --local" while $DROVER_SERVER is set.
std::string local_suffix();

/// Whether the user speaks of a server rather than of a run on this machine.
bool names_server(const ServerFlags& flags);

/// What it takes to speak to a server.
struct ServerAccess {
  std::string address;
  std::string socket = {};  // "unix:/PATH", of the server here; empty: it is reached by its address
  std::string token;
  std::optional<std::string> ca_pem;
  std::string ca_file;  // that it was read from; empty: none
  /// The token is an admin key out of the server's folder. It is sent to processes of these users alone: they can read
  /// it there. Empty: the token was given.
  std::vector<uid_t> token_readers = {};

  ClientOptions client_options() const {
    return {
        .base = socket.empty() ? address : socket, .token = token, .ca_pem = ca_pem, .only_to_users = token_readers};
  }
};
/// The address as above; the key from $DROVER_KEY, else, for the server on this machine and no other, that one's; the
/// authority from the file $DROVER_CA, else that server's. The server on this machine is reached through its socket
/// where this user may open it.
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
  /// The same for a body that is JSON already.
  Result<boost::json::value> post_text(const std::string& path, std::string body, Repeat repeat);
  Result<boost::json::value> put(const std::string& path, const boost::json::value& body);
  Result<boost::json::value> remove(const std::string& path);
  /// Sends a body piece by piece.
  Result<boost::json::value> upload(const std::string& path, std::function<Result<std::string>()> source);
  /// Passes the body on as it comes.
  Result<void> stream(const std::string& path, const std::function<Result<void>(std::string_view)>& take,
                      std::vector<HttpHeader> headers = {});

 private:
  ServerClient(std::unique_ptr<HttpClient> client, std::string address, bool quiet)
      : client_(std::move(client)), address_(std::move(address)), quiet_(quiet) {}
  Result<HttpResponse> send(const HttpCall& call);
  Result<boost::json::value> call(const HttpCall& call);

  std::unique_ptr<HttpClient> client_;
  std::string address_;
  bool quiet_ = false;
};

/// Whether the server did not answer, and may do so when it is asked again: it is being restarted, or stalls.
bool may_answer_later(const Error& error);

/// For a path or a query: everything but letters, digits and -_.~ escaped.
std::string url_escape(std::string_view text);

}  // namespace drover
