#include "cli/server_client.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
    return fmt::format("the server of this machine keeps its data in {0}: add --data {0}", kPackagedData);
  }
  return "start one with 'drover server', or name one with --server or $DROVER_SERVER";
}

/// With its scheme, and without a slash at its end.
std::string whole_address(std::string address) {
  if (!address.contains("://") && !address.starts_with("unix:")) address.insert(0, "http://");
  while (address.ends_with('/') && !address.ends_with("//")) address.pop_back();
  return address;
}

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

void add_server_flag(CLI::App& verb, ServerFlags& flags) {
  verb.add_option("--server", flags.server, "A server's address (default: $DROVER_SERVER)")->type_name("URL");
}

bool names_server(const ServerFlags& flags) {
  return !flags.server.empty() || !setting("DROVER_SERVER").empty();
}

Result<ServerAccess> find_server(const CommonFlags& common, const ServerFlags& flags) {
  const std::string root = data_root(common.data);
  const auto here = file_text(server_address_file(root));
  const std::string own = here ? whole_address(here->substr(0, here->find('\n'))) : "";
  const std::string named = flags.server.empty() ? setting("DROVER_SERVER") : flags.server;
  if (named.empty() && !here) {
    return fail(ErrorCode::not_found, concat("no server has ever run with the data in ", root), where_else());
  }
  ServerAccess access;
  access.address = named.empty() ? own : whole_address(named);
  access.token = setting("DROVER_KEY");
  // The key of the server here may do everything there: it goes nowhere else.
  if (access.token.empty() && here && access.address != own) {
    return fail(ErrorCode::denied,
                concat("there is no key for ", access.address, ": that of the server here is for ", own, " alone"),
                "put one into $DROVER_KEY, or leave --server and $DROVER_SERVER away if the server here is meant");
  }
  if (access.token.empty()) {
    SystemWallClock wall;
    auto key = read_admin_key(server_key_file(root), wall.epoch_ms());
    if (!key) {
      return fail(ErrorCode::denied, concat("there is no key for ", access.address, ": ", key.error().message),
                  "put one into $DROVER_KEY; 'drover key create' on the server's machine makes one");
    }
    access.token = key->bearer().reveal();
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
  return ServerClient(std::move(*client));
}

Result<json::value> ServerClient::call(const HttpCall& call) {
  auto response = client_->call(call);
  if (!response) {
    Error error = response.error();
    if (error.code == ErrorCode::unreachable && error.next.empty()) {
      error.next = "is 'drover server' running there? --server and $DROVER_SERVER name another";
    }
    return std::unexpected(std::move(error));
  }
  if (response->status >= 300) return std::unexpected(error_from_problem(response->status, response->body));
  if (response->body.empty()) return json::value(nullptr);
  json::error_code error;
  json::value value = json::parse(response->body, error);
  if (error) return fail(ErrorCode::io, "the server's answer is not JSON", "is that a Drover server?");
  return value;
}

Result<json::value> ServerClient::get(const std::string& path) {
  return call(
      {.method = "GET", .path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}, .may_repeat = true});
}

Result<json::value> ServerClient::get_soon(const std::string& path, std::int64_t deadline_ms) {
  return call({.path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}, .deadline_ms = deadline_ms});
}

Result<json::value> ServerClient::post(const std::string& path, const json::value& body, Repeat repeat) {
  return call({.method = "POST",
               .path = path,
               .headers = {{"Content-Type", "application/json"}},
               .body = json::serialize(body),
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
