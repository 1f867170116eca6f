#include "cli/worker_access.h"

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "base/text.h"
#include "keys/certificates.h"
#include "keys/join_token.h"
#include "keys/private_file.h"
#include "store/run_folder.h"
#include "wire/digest.h"
#include "wire/problem_json.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::chrono::seconds kJoinPause{2};

std::string random_nonce() {
  std::random_device device;
  std::string nonce;
  for (int i = 0; i < 8; ++i) nonce += std::to_string(device());
  return nonce;
}

std::string access_file(const std::string& root, const std::string& name) {
  return concat(root, "/workers/", name, "/access.json");
}

/// A server as an earlier joining left it, and a hash of the token that it took.
struct Joined {
  ServerAccess access;
  std::string token_sha256;
};

std::string hash_of(std::string_view join_token) {
  return hex(sha256(join_token));
}

Result<Joined> read_access(const std::string& path) {
  auto text = read_private_file(path);
  if (!text) return pass(text);
  json::error_code error;
  const json::value value = json::parse(text->reveal(), error);
  const json::object* object = error ? nullptr : value.if_object();
  const auto field = [&](const char* name) {
    const json::value* it = object == nullptr ? nullptr : object->if_contains(name);
    return it != nullptr && it->is_string() ? std::string(it->get_string()) : std::string();
  };
  ServerAccess access{.address = field("address"), .token = field("token"), .ca_pem = std::nullopt, .ca_file = {}};
  if (const std::string ca = field("ca"); !ca.empty()) access.ca_pem = ca;
  if (access.address.empty() || access.token.empty()) {
    return fail(ErrorCode::damaged, concat(path, " does not contain a worker key"), "delete it and join again");
  }
  return Joined{std::move(access), field("joined_with_sha256")};
}

Result<void> write_access(const std::string& path, const Joined& joined) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return std::unexpected(errno_error(error.value(), path));
  json::object out{
      {"address", joined.access.address}, {"token", joined.access.token}, {"joined_with_sha256", joined.token_sha256}};
  if (joined.access.ca_pem) out["ca"] = *joined.access.ca_pem;
  return replace_file(path, json::serialize(out), Readers::owner);
}

Result<std::string> fetch_authority(const std::string& address, const std::string& fingerprint) {
  auto client = make_http_client({.base = address, .token = {}, .ca_pem = {}, .trusts_anybody = true});
  if (!client) return pass(client);
  auto response = (*client)->call({.path = "/ca.pem", .headers = {}, .body = {}, .body_source = {}, .take = {}});
  if (!response) return pass(response);
  if (response->status != 200) return std::unexpected(error_from_problem(response->status, response->body));
  return certificate_with_fingerprint(response->body, fingerprint);
}

bool is_away(const Error& error) {
  return error.code == ErrorCode::unreachable || error.code == ErrorCode::timeout;
}

/// The key in the answer to a request for one.
Result<std::string> ask_for_key(const ServerAccess& access, const std::string& path, const json::object& body,
                                bool may_repeat) {
  auto client = make_http_client(access.client_options());
  if (!client) return pass(client);
  auto response = (*client)->call({.method = "POST",
                                   .path = path,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .body = json::serialize(body),
                                   .body_source = {},
                                   .take = {},
                                   .may_repeat = may_repeat});
  if (!response) return pass(response);
  if (response->status != 201) return std::unexpected(error_from_problem(response->status, response->body));
  json::error_code error;
  const json::value value = json::parse(response->body, error);
  const json::value* given = error || !value.is_object() ? nullptr : value.get_object().if_contains("token");
  if (given == nullptr || !given->is_string()) return fail(ErrorCode::io, "the server's response has no key");
  return std::string(given->get_string());
}

Result<ServerAccess> join_at(const std::string& address, const JoinToken& token, const std::string& name,
                             const std::string& nonce) {
  ServerAccess access{.address = address, .token = {}, .ca_pem = std::nullopt, .ca_file = {}};
  if (!token.ca_fingerprint.empty()) {
    auto authority = fetch_authority(address, token.ca_fingerprint);
    if (!authority) return pass(authority);
    access.ca_pem = *authority;
  }
  auto key = ask_for_key(access, "/join", {{"secret", token.secret.reveal()}, {"nonce", nonce}, {"name", name}}, true);
  if (!key) return pass(key);
  access.token = *key;
  return access;
}

/// Until it is there: a server that is not is waited for.
Result<ServerAccess> patiently(const CommonFlags& common, const std::function<Result<ServerAccess>()>& ask) {
  auto access = ask();
  for (bool is_first = true; !access && is_away(access.error()); is_first = false) {
    if (is_first && !common.quiet) print_notice(concat(access.error().message, "; trying again until it is reachable"));
    std::this_thread::sleep_for(kJoinPause);
    access = ask();
  }
  return access;
}

/// The admin key in the server's folder stays there: it is used once, to get a key that is good for this worker alone.
Result<ServerAccess> local_access(const CommonFlags& common, const ServerFlags& flags, const std::string& name) {
  return patiently(common, [&]() -> Result<ServerAccess> {
    auto access = find_server(common, flags);
    if (!access || access->token_readers.empty()) return access;
    auto key = ask_for_key(*access, "/api/v1/keys", {{"scope", "worker"}, {"label", name}, {"worker", name}}, false);
    if (!key) return pass(key);
    access->token = *key;
    return access;
  });
}

}  // namespace

Result<ServerAccess> worker_access(const CommonFlags& common, const ServerFlags& flags, const std::string& join_token,
                                   const std::string& name) {
  const std::string path = access_file(data_root(common.data), name);
  if (join_token.empty() && (names_server(flags) || !std::filesystem::exists(path))) {
    return local_access(common, flags, name);
  }
  auto before = read_access(path);
  if (join_token.empty() && !before) return pass(before);
  // Whoever starts it each time with the token of the first time means the key that this one gave.
  if (before && (join_token.empty() || before->token_sha256 == hash_of(join_token))) return before->access;
  auto token = parse_join_token(join_token);
  if (!token) return pass(token);
  const std::string nonce = random_nonce();
  auto joined = patiently(common, [&] {
    Result<ServerAccess> one = fail(ErrorCode::bad_input, "the join token contains no server address");
    for (const std::string& address : token->addresses) {
      one = join_at(address, *token, name, nonce);
      if (one || one.error().code == ErrorCode::denied) break;
    }
    return one;
  });
  if (!joined) return pass(joined);
  if (auto written = write_access(path, {*joined, hash_of(join_token)}); !written) return pass(written);
  return joined;
}

}  // namespace drover
