#include "objects/aws_credentials.h"

#include <boost/json/parse.hpp>

#include "base/text.h"
#include "wire/aws/times.h"

namespace drover {
namespace {

namespace json = boost::json;

/// They are fetched anew so long before they expire.
constexpr std::int64_t kBeforeEndMs = std::int64_t{5} * 60 * 1000;
/// On a machine that is none of Amazon's nobody answers there.
constexpr std::int64_t kPatienceMs = 1'000;
constexpr std::string_view kContainers = "http://169.254.170.2";
constexpr std::string_view kMachines = "http://169.254.169.254";

std::string text_of(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

/// {"AccessKeyId": …, "SecretAccessKey": …, "Token": …, "Expiration": …}
Result<std::pair<S3Credentials, std::int64_t>> credentials_from(std::string_view body, std::string_view where) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  if (error || !value.is_object()) return fail(ErrorCode::damaged, concat(where, " gave something else than JSON"));
  const json::object& said = value.get_object();
  S3Credentials out{
      .id = text_of(said, "AccessKeyId"), .secret = text_of(said, "SecretAccessKey"), .token = text_of(said, "Token")};
  if (out.id.empty() || out.secret.empty()) return fail(ErrorCode::damaged, concat(where, " gave no credentials"));
  return std::pair(std::move(out), aws::parse_iso_time(text_of(said, "Expiration")).value_or(0));
}

Result<std::string> ask(HttpClient& http, const HttpCall& call, std::string_view where) {
  auto answer = http.call(call);
  if (!answer) return pass(answer);
  if (answer->status != 200) return fail(ErrorCode::denied, concat(where, " answered with status ", answer->status));
  return std::move(answer->body);
}

}  // namespace

std::optional<std::string> ini_value(std::string_view text, std::string_view section, std::string_view name) {
  bool is_inside = false;
  while (!text.empty()) {
    std::string_view line = trimmed(take_until(text, '\n'));
    if (line.ends_with('\r')) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[') && line.ends_with(']')) {
      is_inside = trimmed(line.substr(1, line.size() - 2)) == section;
      continue;
    }
    if (!is_inside) continue;
    std::string_view value = line;
    if (trimmed(take_until(value, '=')) == name) return std::string(trimmed(value));
  }
  return std::nullopt;
}

Result<S3Credentials> AwsCredentials::get(bool refused) {
  const bool ends_soon = found_ && found_->expires_ms > 0 && found_->expires_ms - kBeforeEndMs <= outside_.now_ms();
  if (!found_ || refused || ends_soon) {
    auto looked = look();
    if (!looked) return pass(looked);
    found_ = std::move(*looked);
  }
  return found_->credentials;
}

Result<AwsCredentials::Found> AwsCredentials::look() const {
  if (auto found = from_environment()) return std::move(*found);
  if (auto found = from_files()) return std::move(*found);
  auto container = from_container();
  if (!container) return pass(container);
  if (std::optional<Found>& found = *container) return std::move(*found);
  auto machine = from_machine();
  if (!machine) return pass(machine);
  if (std::optional<Found>& found = *machine) return std::move(*found);
  return fail(ErrorCode::denied,
              "no AWS credentials were found in the environment, in ~/.aws/credentials or in the machine's metadata",
              "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with AWS_PROFILE");
}

std::optional<AwsCredentials::Found> AwsCredentials::from_environment() const {
  const auto id = outside_.variable("AWS_ACCESS_KEY_ID");
  const auto secret = outside_.variable("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret || id->empty() || secret->empty()) return std::nullopt;
  return Found{{*id, *secret, outside_.variable("AWS_SESSION_TOKEN").value_or("")}, 0};
}

std::optional<std::string> AwsCredentials::setting(std::string_view name) const {
  const std::string profile = outside_.variable("AWS_PROFILE").value_or("default");
  const std::string home = outside_.variable("HOME").value_or("");
  const std::string keys = outside_.variable("AWS_SHARED_CREDENTIALS_FILE").value_or(home + "/.aws/credentials");
  if (const auto text = outside_.file(keys)) {
    if (auto value = ini_value(*text, profile, name)) return value;
  }
  const std::string settings = outside_.variable("AWS_CONFIG_FILE").value_or(home + "/.aws/config");
  const auto text = outside_.file(settings);
  if (!text) return std::nullopt;
  return ini_value(*text, profile == "default" ? profile : concat("profile ", profile), name);
}

std::optional<AwsCredentials::Found> AwsCredentials::from_files() const {
  const auto id = setting("aws_access_key_id");
  const auto secret = setting("aws_secret_access_key");
  if (!id || !secret) return std::nullopt;
  return Found{{*id, *secret, setting("aws_session_token").value_or("")}, 0};
}

std::string AwsCredentials::region() const {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = outside_.variable(name); region && !region->empty()) return *region;
  }
  return setting("region").value_or("");
}

Result<std::optional<AwsCredentials::Found>> AwsCredentials::from_container() const {
  std::string base;
  std::string path;
  if (const auto relative = outside_.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    base = kContainers;
    path = *relative;
  } else if (const auto full = outside_.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    const std::size_t host = full->find("://");
    const std::size_t slash = host == std::string::npos ? std::string::npos : full->find('/', host + 3);
    if (slash == std::string::npos) {
      return fail(ErrorCode::bad_input, concat("AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL: ", *full));
    }
    base = full->substr(0, slash);
    path = full->substr(slash);
  } else {
    return std::nullopt;
  }
  HttpCall call{.path = path, .deadline_ms = 5 * kPatienceMs, .may_repeat = true};
  std::optional<std::string> token = outside_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = outside_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) token = outside_.file(*file);
  if (token) call.headers.push_back({"Authorization", std::string(trimmed(*token))});
  auto http = outside_.http(base);
  if (!http) return pass(http);
  auto body = ask(**http, call, base);
  if (!body) return pass(body);
  auto read = credentials_from(*body, base);
  if (!read) return pass(read);
  return Found{std::move(read->first), read->second};
}

// As version 2 of the service wants it: first a token, then the role, then its credentials.
Result<std::optional<AwsCredentials::Found>> AwsCredentials::from_machine() const {
  if (is_same_but_for_case(outside_.variable("AWS_EC2_METADATA_DISABLED").value_or(""), "true")) return std::nullopt;
  const std::string base = outside_.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(std::string(kMachines));
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  auto http = outside_.http(base);
  if (!http) return pass(http);
  auto token = ask(**http,
                   {.method = "PUT",
                    .path = "/latest/api/token",
                    .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                    .deadline_ms = kPatienceMs},
                   base);
  if (!token) return std::nullopt;  // it is no machine of Amazon's, or has no such service
  const std::vector<HttpHeader> headers{{"X-aws-ec2-metadata-token", *token}};
  auto role = ask(**http, {.path = roles, .headers = headers, .deadline_ms = kPatienceMs}, base);
  if (!role) return std::nullopt;  // it has no role
  std::string_view names = *role;
  auto body =
      ask(**http,
          {.path = concat(roles, trimmed(take_until(names, '\n'))), .headers = headers, .deadline_ms = 5 * kPatienceMs},
          base);
  if (!body) return pass(body);
  auto read = credentials_from(*body, base);
  if (!read) return pass(read);
  return Found{std::move(read->first), read->second};
}

}  // namespace drover
