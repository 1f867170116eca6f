#include "cli/server_client.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "engine/system_clock.h"
#include "keys/key_ring.h"
#include "server/server.h"
#include "store/run_folder.h"
#include "wire/problem_json.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where the Debian package's server keeps its data. Only its user and root may look.
constexpr std::string_view kPackagedData = "/var/lib/drover";

/// What to do where there is no server's data.
std::string where_else() {
  std::error_code ignored;
  if (std::filesystem::exists(server_address_file(std::string(kPackagedData)), ignored)) {
    return fmt::format("the server on this machine keeps its data in {0}: add --data {0}", kPackagedData);
  }
  return "start one with 'drover server', or name one with --server or $DROVER_SERVER";
}

bool is_loopback(std::string_view host) {
  return host.starts_with("127.") || host.starts_with("[::1]") || host == "localhost" ||
         host.starts_with("localhost:") || host.starts_with("localhost/");
}

/// With its scheme, and without a slash at its end. A key goes through a network in clear only where http:// is
/// written.
std::string whole_address(std::string address) {
  if (!address.contains("://") && !address.starts_with("unix:")) {
    address.insert(0, is_loopback(address) ? "http://" : "https://");
  }
  while (address.ends_with('/') && !address.ends_with("//")) address.pop_back();
  return address;
}

/// The socket of the server with this data, if this user may open it.
std::string usable_socket(const std::string& root) {
  const std::string path = server_socket_file(root);
  struct stat status{};
  const bool is_there = ::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  return is_there && ::access(path.c_str(), R_OK | W_OK) == 0 ? concat("unix:", path) : "";
}

/// Who can read a file that is for its owner alone.
std::vector<uid_t> readers_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {0};
  return {0, status.st_uid};
}

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// What OpenSSL says of an answer in plain HTTP.
bool is_tls_to_plain(std::string_view message) {
  return message.contains("wrong version number") || message.contains("packet length too long") ||
         message.contains("record layer failure");
}

}  // namespace

void add_server_flag(const Verb& verb, ServerFlags& flags) {
  verb.add_option("--server", flags.server, "Address of the server (default: $DROVER_SERVER)").type_name("URL");
}

void add_place_flags(const Verb& verb, ServerFlags& flags) {
  add_server_flag(verb, flags);
  verb.add_flag("--local", flags.local, "Use the runs on this machine even if $DROVER_SERVER is set")
      .excludes("--server");
}

std::string local_suffix() {
  return setting("DROVER_SERVER").empty() ? "" : " --local";
}

bool names_server(const ServerFlags& flags) {
  if (flags.local) return false;
  return !flags.server.empty() || !setting("DROVER_SERVER").empty();
}

Result<ServerAccess> find_server(const CommonFlags& common, const ServerFlags& flags) {
  const std::string root = data_root(common.data);
  const auto here = file_text(server_address_file(root));
  const std::string own = here ? whole_address(here->substr(0, here->find('\n'))) : "";
  const std::string named = flags.server.empty() ? setting("DROVER_SERVER") : flags.server;
  if (named.empty() && !here) {
    return fail(ErrorCode::not_found, concat("no server has ever used the data folder ", root), where_else());
  }
  ServerAccess access;
  const bool is_own_without_scheme = !own.empty() && !named.contains("://") && own.ends_with(concat("://", named));
  access.address = named.empty() || is_own_without_scheme ? own : whole_address(named);
  if (here && access.address == own && !own.starts_with("unix:")) access.socket = usable_socket(root);
  access.token = setting("DROVER_KEY");
  // The key of the server here may do everything there: it goes nowhere else.
  if (access.token.empty() && here && access.address != own) {
    return fail(ErrorCode::denied,
                concat("no key for ", access.address, ": the key of the server on this machine is only for ", own),
                "set $DROVER_KEY, or omit --server and $DROVER_SERVER to use the server on this machine");
  }
  if (access.token.empty()) {
    SystemWallClock wall;
    auto key = read_admin_key(server_key_file(root), wall.epoch_ms());
    if (!key) {
      return fail(ErrorCode::denied, concat("no key for ", access.address, ": ", key.error().message),
                  "set $DROVER_KEY; create a key with 'drover key create' on the server's machine");
    }
    access.token = key->bearer().reveal();
    access.token_readers = readers_of(server_key_file(root));
  }
  const std::string ca = setting("DROVER_CA");
  access.ca_file = std::filesystem::absolute(ca.empty() ? concat(root, "/server/ca.pem") : ca).string();
  access.ca_pem = file_text(access.ca_file);
  if (!ca.empty() && !access.ca_pem) return fail(ErrorCode::not_found, concat("cannot read $DROVER_CA, ", ca));
  if (!access.ca_pem) access.ca_file.clear();
  return access;
}

Result<ServerClient> ServerClient::connect(const CommonFlags& common, const ServerFlags& flags) {
  auto access = find_server(common, flags);
  if (!access) return pass(access);
  auto client = make_http_client(access->client_options());
  if (!client) return pass(client);
  return ServerClient(std::move(*client), access->address, common.quiet);
}

Result<HttpResponse> ServerClient::send(const HttpCall& call) {
  if (!call.may_repeat) return client_->call(call);
  // Once without patience: whoever waits at a terminal should know for what.
  HttpCall once = call;
  once.may_repeat = false;
  auto response = client_->call(once);
  if (response || response.error().code != ErrorCode::unreachable) {
    const bool is_final = response
                              ? response->status < 500
                              : response.error().code == ErrorCode::denied || is_tls_to_plain(response.error().message);
    if (is_final) return response;
  } else if (!quiet_) {
    print_notice(fmt::format("{}; trying again for up to {} s", response.error().message, call.deadline_ms / 1000));
  }
  return client_->call(call);
}

Result<json::value> ServerClient::call(const HttpCall& call) {
  auto response = send(call);
  if (!response) {
    Error error = response.error();
    if (is_tls_to_plain(error.message)) {
      error = {ErrorCode::bad_input, concat(address_, ": the server does not use TLS on this port"),
               concat("use http://", std::string_view(address_).substr(address_.find("//") + 2),
                      " if you trust the network, or start the server with TLS")};
    }
    if (error.code == ErrorCode::unreachable && error.next.empty()) {
      error.next =
          "check that 'drover server' is running there, or name another server with --server or $DROVER_SERVER";
    }
    return std::unexpected(std::move(error));
  }
  if (response->status >= 300) return std::unexpected(error_from_problem(response->status, response->body));
  if (response->body.empty()) return json::value(nullptr);
  json::error_code error;
  json::value value = json::parse(response->body, error);
  if (error)
    return fail(ErrorCode::io, "the server's response is not JSON",
                "check that a Drover server is running at this address");
  return value;
}

Result<json::value> ServerClient::get(const std::string& path) {
  return call(
      {.method = "GET", .path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}, .may_repeat = true});
}

bool may_answer_later(const Error& error) {
  return error.code == ErrorCode::unreachable || error.code == ErrorCode::timeout || error.code == ErrorCode::io ||
         error.code == ErrorCode::stopped;
}

Result<json::value> ServerClient::get_soon(const std::string& path, std::int64_t deadline_ms) {
  return call({.path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}, .deadline_ms = deadline_ms});
}

Result<json::value> ServerClient::post(const std::string& path, const json::value& body, Repeat repeat) {
  return post_text(path, json::serialize(body), repeat);
}

Result<json::value> ServerClient::post_text(const std::string& path, std::string body, Repeat repeat) {
  return call({.method = "POST",
               .path = path,
               .headers = {{"Content-Type", "application/json"}},
               .body = std::move(body),
               .body_source = {},
               .take = {},
               .may_repeat = repeat == Repeat::allowed});
}

// Whoever puts the same thing twice has put it once.
Result<json::value> ServerClient::put(const std::string& path, const json::value& body) {
  return call({.method = "PUT",
               .path = path,
               .headers = {{"Content-Type", "application/json"}},
               .body = json::serialize(body),
               .body_source = {},
               .take = {},
               .may_repeat = true});
}

Result<json::value> ServerClient::remove(const std::string& path) {
  return call({.method = "DELETE", .path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}});
}

Result<json::value> ServerClient::upload(const std::string& path, std::function<Result<std::string>()> source) {
  return call({.method = "POST",
               .path = path,
               .headers = {{"Content-Type", "text/plain"}},
               .body = {},
               .body_source = std::move(source),
               .take = {},
               .deadline_ms = 0});
}

Result<void> ServerClient::stream(const std::string& path, const std::function<Result<void>(std::string_view)>& take,
                                  std::vector<HttpHeader> headers) {
  auto response = client_->call({.method = "GET",
                                 .path = path,
                                 .headers = std::move(headers),
                                 .body = {},
                                 .body_source = {},
                                 .take = take,
                                 .deadline_ms = 0});
  if (!response) return pass(response);
  if (response->status >= 300) return std::unexpected(error_from_problem(response->status, response->body));
  return {};
}

std::string url_escape(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("%{:02X}", c);
    }
  }
  return out;
}

}  // namespace drover
