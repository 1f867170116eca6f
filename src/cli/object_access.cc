#include "cli/object_access.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "base/text.h"
#include "engine/system_clock.h"
#include "net/http_client.h"
#include "wire/session_credentials.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAmazon = "aws";
constexpr const char* kSocketHost = "http://localhost";

std::optional<std::string> variable_here(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::optional<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Variables with some that stand before this process's own.
StoreOpener::Variable variables_over(std::map<std::string, std::string> ours) {
  return [ours = std::move(ours)](const std::string& name) {
    const auto found = ours.find(name);
    return found == ours.end() ? variable_here(name) : std::optional(found->second);
  };
}

Result<std::map<std::string, std::string>> variables_of(const ServerAccess& server) {
  const std::size_t dot = server.token.find('.');
  if (dot == std::string::npos) {
    return fail(ErrorCode::denied, concat("the key for ", server.address, " cannot sign S3 requests"),
                "use a key that 'drover key create' made");
  }
  return std::map<std::string, std::string>{{"AWS_ENDPOINT_URL_S3", object_endpoint(server)},
                                            {"AWS_ACCESS_KEY_ID", server.token.substr(0, dot)},
                                            {"AWS_SECRET_ACCESS_KEY", server.token.substr(dot + 1)},
                                            {"AWS_SESSION_TOKEN", ""},
                                            {"AWS_REGION", std::string(kAwsRegion)},
                                            {"AWS_CA_BUNDLE", ""}};
}

}  // namespace

std::string object_endpoint(const ServerAccess& server) {
  return server.address.starts_with("unix:") ? kSocketHost : server.address;
}

void add_object_flags(const Verb& verb, ObjectFlags& flags) {
  add_common_flags(verb, flags.common);
  add_server_flag(verb, flags.server);
  verb.add_option("--endpoint", flags.endpoint,
                  "S3 endpoint to use with the AWS credentials of this shell; 'aws' is Amazon S3 (default: "
                  "$AWS_ENDPOINT_URL, else the Drover server, else Amazon S3)")
      .type_name("URL")
      .excludes("--server");
}

StoreOpener::Outside object_network(const ServerAccess* server) {
  std::optional<ServerAccess> access;
  if (server != nullptr) access = *server;
  return {.http = [access](const std::string& base, const std::string& ca_file) -> Result<std::unique_ptr<HttpClient>> {
            if (access && base == object_endpoint(*access)) {
              ClientOptions options = access->client_options();
              options.token.clear();  // requests are signed instead
              return make_http_client(options);
            }
            ClientOptions options{.base = base, .token = {}, .ca_pem = {}};
            if (!ca_file.empty()) {
              options.ca_pem = text_of_file(ca_file);
              if (!options.ca_pem) {
                return fail(ErrorCode::bad_input, concat("cannot read the certificates in $AWS_CA_BUNDLE, ", ca_file),
                            "set it to a readable PEM file, or unset it");
              }
            }
            return make_http_client(options);
          },
          .file = text_of_file,
          .now_ms = [] { return SystemWallClock().epoch_ms(); },
          .sleep = [](std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }};
}

Result<StoreOpener> object_opener(const ObjectFlags& flags) {
  if (!flags.endpoint.empty()) {
    const std::string endpoint = flags.endpoint == kAmazon ? std::string() : flags.endpoint;
    return StoreOpener(object_network(nullptr),
                       variables_over({{"AWS_ENDPOINT_URL_S3", endpoint}, {"AWS_ENDPOINT_URL", endpoint}}));
  }
  const bool says_where =
      variable_here("AWS_ENDPOINT_URL_S3").value_or("") + variable_here("AWS_ENDPOINT_URL").value_or("") != "";
  if (flags.server.server.empty() && says_where) return StoreOpener(object_network(nullptr), variables_over({}));
  auto server = find_server(flags.common, flags.server);
  // Without a server Amazon S3 is used; files and web sites need neither.
  if (!server && flags.server.server.empty() && server.error().code == ErrorCode::not_found) {
    return StoreOpener(object_network(nullptr), variables_over({}));
  }
  if (!server) return pass(server);
  auto variables = variables_of(*server);
  if (!variables) return pass(variables);
  return StoreOpener(object_network(&*server), variables_over(std::move(*variables)));
}

Result<void> open_source(const CommonFlags& common, const ServerFlags& server, ItemSource& source) {
  auto* objects = std::get_if<ObjectSource>(&source);
  if (objects == nullptr) return {};
  auto opener = object_opener({.common = common, .server = server, .endpoint = {}});
  if (!opener) return pass(opener);
  objects->opener = std::make_shared<StoreOpener>(std::move(*opener));
  return {};
}

Result<ObjectUri> object_place(const std::string& word) {
  if (looks_like_object_uri(word)) return parse_object_uri(word);
  if (word.empty()) return fail(ErrorCode::bad_input, "an empty path names no file", "write a path or a URI");
  std::error_code error;
  std::string path = fs::absolute(word, error).lexically_normal().string();
  if (error) return std::unexpected(errno_error(error.value(), word));
  if (fs::is_directory(path, error) && !path.ends_with('/')) path += '/';
  return parse_object_uri(concat("file://", path));
}

Result<std::vector<ObjectUri>> object_places(const std::vector<std::string>& words) {
  std::vector<ObjectUri> out;
  for (const std::string& word : words) {
    auto place = object_place(word);
    if (!place) return pass(place);
    out.push_back(std::move(*place));
  }
  return out;
}

}  // namespace drover
